/* SPDX-License-Identifier: MIT
 *
 * How a model is talked to: the Jinja program of its file (or, where there is none, one of ours for
 * a form that its tokens give away) makes the prompt of a conversation, and tells by what it shows
 * how an answer is written and where it ends. Files: chat_form.c (our programs), chat.c (opening;
 * what the template implies), chat_prompt.c (conversations to tokens). */
#ifndef EW_TEXT_CHAT_H
#define EW_TEXT_CHAT_H

#include "text/jinja.h"
#include "text/reply.h"
#include "text/tokenizer.h"

struct ew_chat {
    jinja *program;
    const tokenizer *t; /* borrowed */
    char *what;         /* "the model's template", "the ChatML form" */
    reply_form form;
    bool shows_thoughts; /* the template has the marks of thoughts, not only the form */
    char *stop;          /* text that ends an answer besides the tokens that do; NULL: none */
    int32_t stop_id;     /* a token that does, though the vocabulary doesn't say so; -1: none */
};

/* text: the template, and what it is called; empty: a form recognised from the tokens. t must live
 * as long. EW_EUNSUPPORTED when there is neither. */
ew_status chat_new(ew_chat **out, str text, const char *what, const tokenizer *t, ew_error *err);
void chat_free(ew_chat *c);

/* chat_form.c: a template of ours and its form's name, by the vocabulary; NULL: none. */
const char *chat_form_text(const tokenizer *t, const char **form);

/* A conversation as the template writes it, marks included (see jinja.h). */
ew_status chat_render(const ew_chat *c, const ew_message *m, size_t n, const ew_chat_options *o,
                      jinja_text *out, ew_error *err);
/* The same as ids (mem_free). */
ew_status chat_prompt(const ew_chat *c, const ew_message *m, size_t n, const ew_chat_options *o,
                      int32_t **ids, size_t *n_ids, ew_error *err);

/* Does this token end an answer? */
bool chat_ends(const ew_chat *c, int32_t id);

/* Does the answer to this prompt begin in a thought, which the prompt has opened? */
ew_status chat_begins_in_thought(const ew_chat *c, const int32_t *prompt, size_t n, bool *out,
                                 ew_error *err);
/* The text in an answer to this prompt after which what is said begins; NULL: it begins at once. */
ew_status chat_answer_after(const ew_chat *c, const int32_t *prompt, size_t n, const char **out,
                            ew_error *err);

#endif
