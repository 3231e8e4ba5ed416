/* SPDX-License-Identifier: MIT
 *
 * The common chat forms, recognised from the template's text and the vocabulary, and the prompt of
 * a conversation in such a form. (A template engine that executes any template comes beside this.)
 */
#ifndef EW_TEXT_CHAT_H
#define EW_TEXT_CHAT_H

#include "text/tokenizer.h"

/* What stands before and after a message. */
typedef struct {
    str open, close;
} chat_turn;

typedef enum {
    SYSTEM_TURN,  /* has a turn of its own */
    SYSTEM_FIRST, /* at the beginning of the user's message after it */
    SYSTEM_LAST   /* at the beginning of the user's last message */
} chat_system;

/* A form with the details of one model's template. Views into the template and the tokenizer. */
typedef struct {
    ew_chat_form form;
    chat_turn user, assistant, system; /* system: around it where it is part of a user's message */
    chat_system place;
    str again;            /* before each user's turn but the first */
    str reply;            /* opens the assistant's turn */
    str default_system;   /* of a conversation without one; empty: none */
    bool has_bare_system; /* a system turn even without a message */
    bool trims;           /* white space around messages goes away */
    bool trims_whole;     /* around a user's message together with the system's in it */
    str bos;              /* written by the template where the tokenizer adds none; empty: not so */
} chat_style;

/* chat_template: tokenizer.chat_template, or empty when there is none. */
ew_chat_form chat_recognise(str chat_template, const tokenizer *t);

/* The details of form f as this template has them; where it has another form, the usual ones. */
void chat_style_read(chat_style *s, ew_chat_form f, str chat_template, const tokenizer *t);

/* The conversation as pieces: *pieces (mem_free) with views into the style and the messages. The
 * tokenizer's own bos is left to tok_encode(add_special). EW_EINVAL for a role that is not known,
 * or a system message that no user's message follows where it must be part of one. */
ew_status chat_pieces(const chat_style *s, const ew_message *messages, size_t n_message,
                      bool add_reply, tok_piece **pieces, size_t *n_piece, ew_error *err);

#endif
