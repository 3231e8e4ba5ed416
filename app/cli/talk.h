/* SPDX-License-Identifier: MIT
 *
 * A conversation with a model: the turns so far, the session that holds them, and one answer more.
 * A prompt on the command line is a conversation of one turn; a chat is many. With --raw, or
 * where it isn't known how messages are put, there are no turns but one text, to which both sides
 * add. */
#ifndef EW_CLI_TALK_H
#define EW_CLI_TALK_H

#include "base/file.h"
#include "base/str.h"
#include "cli/constrain.h"
#include "cli/sampling.h"
#include "cli/setup.h"

#include <stdio.h>

enum {
    TEXT_MAX = 1 << 28 /* bytes of a prompt, an answer or a saved conversation */
};

typedef struct {
    bool is_user;    /* otherwise the model's */
    char *text;      /* terminated, mem_free */
    char *reasoning; /* what the model thought before; NULL: nothing */
} turn;

typedef struct {
    engine_args engine_args;
    sampling_args sampling;
    constrain_args constrain;
    char *path; /* of the model file */
    ew_engine *engine;
    ew_model *model;
    ew_session *session;
    bool is_chat;  /* otherwise the model goes on with raw as it stands */
    ew_chat *chat; /* how messages are put; NULL unless is_chat */
    ew_think think;
    const char *variables; /* JSON, more of the template's; borrowed, NULL: none */
    bool hides_thoughts;
    char *system; /* system message; NULL: none */
    turn *turns;
    size_t n_turn;
    strbuf raw;     /* unless is_chat, all of the text; any bytes */
    file_lock lock; /* of the file that --session names */
    char **kept;    /* n_kept strings that options borrow and that live as long as this */
    size_t n_kept;
    uint64_t t_load_us;
    bool is_verbose;
} talk;

void talk_init(talk *t);
void talk_fini(talk *t);
/* Opens model and session; is_raw leaves the chat template out, template_file (NULL: none) replaces
 * the model's. What fails has been said; returns the exit status. */
int talk_open(talk *t, const char *path, bool is_raw, const char *template_file);
/* A new session with the options as they are now; the old one stays when that fails. */
ew_status talk_new_session(talk *t, ew_error *err);

/* A copy of text that lives as long as t; NULL: out of memory. */
const char *talk_keep(talk *t, const char *text, size_t n);
ew_status talk_set_system(talk *t, const char *text, ew_error *err); /* NULL or "": none */
/* A turn more or, without messages, more text. */
ew_status talk_add(talk *t, bool is_user, const char *text, size_t n, ew_error *err);

/* How much has been said. */
typedef struct {
    size_t n_turn, n_raw;
} talk_mark;

talk_mark talk_now(const talk *t);
void talk_back(talk *t, talk_mark to); /* forgets what was said since; {0}: all */

typedef struct {
    strbuf text, reasoning;
    ew_generate_result r;
    uint64_t seed;
    uint64_t swap_grown; /* bytes that the machine's swap grew by meanwhile */
    int write_errno;     /* of the stream; 0: all was written */
} answer;

void answer_fini(answer *a);
/* The turn or text that the answer is. */
ew_status talk_add_answer(talk *t, const answer *a, ew_error *err);
/* What the last turn, which is the model's, thought before. */
ew_status talk_set_reasoning(talk *t, const char *text, size_t n, ew_error *err);

/* Has the model go on: after the turns so far, whose last one is the user's, or after the text so
 * far. The answer goes to stream (NULL: nowhere) as it comes, and what is thought before it, unless
 * that is hidden, to standard error. Ctrl-C ends it with EW_STOP_CANCEL. It is not added to what
 * was said. */
ew_status talk_answer(talk *t, FILE *stream, answer *out, ew_error *err);

#endif
