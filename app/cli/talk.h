/* SPDX-License-Identifier: MIT
 *
 * A conversation with a model: the turns so far, the session that holds them, and one answer more.
 * A prompt on the command line is a conversation of one turn; a chat is many. */
#ifndef EW_CLI_TALK_H
#define EW_CLI_TALK_H

#include "base/str.h"
#include "cli/sampling.h"
#include "cli/setup.h"

#include <stdio.h>

enum {
    TEXT_MAX = 1 << 28 /* bytes of a prompt, an answer or a saved conversation */
};

typedef struct {
    bool is_user; /* otherwise the model's */
    char *text;   /* terminated, mem_free */
} turn;

typedef struct {
    engine_args engine_args;
    sampling_args sampling;
    char *path; /* of the model file */
    ew_engine *engine;
    ew_model *model;
    ew_session *session;
    ew_chat_form form; /* EW_CHAT_NONE: prompts go to the model as they are */
    char *system;      /* system message; NULL: none */
    turn *turns;
    size_t n_turn;
    char **kept; /* n_kept strings that options borrow and that live as long as this */
    size_t n_kept;
    uint64_t t_load_us;
    bool is_verbose;
} talk;

void talk_init(talk *t);
void talk_fini(talk *t);
/* Opens model and session; is_raw leaves the chat form out. What fails has been said; returns the
 * exit status. */
int talk_open(talk *t, const char *path, bool is_raw);
/* A new session with the options as they are now; the old one stays when that fails. */
ew_status talk_new_session(talk *t, ew_error *err);

/* A copy of text that lives as long as t; NULL: out of memory. */
const char *talk_keep(talk *t, const char *text, size_t n);
ew_status talk_set_system(talk *t, const char *text, ew_error *err); /* NULL or "": none */
ew_status talk_add(talk *t, bool is_user, const char *text, size_t n, ew_error *err);
void talk_drop(talk *t, size_t n_keep); /* forgets turns from n_keep on */

typedef struct {
    strbuf text;
    ew_generate_result r;
    uint64_t seed;
    uint64_t swap_grown; /* bytes that the machine's swap grew by meanwhile */
    int write_errno;     /* of the stream; 0: all was written */
} answer;

void answer_fini(answer *a);

/* Has the model go on after a prompt: in a chat form, the turns so far, whose last one is the
 * user's; otherwise the text given. The answer goes to stream (NULL: nowhere) as it comes. Ctrl-C
 * ends it with EW_STOP_CANCEL. The turns are not changed. */
ew_status talk_answer(talk *t, str raw_text, FILE *stream, answer *out, ew_error *err);

#endif
