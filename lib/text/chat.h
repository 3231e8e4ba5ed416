/* SPDX-License-Identifier: MIT
 *
 * The common chat forms, recognised from the template's text and the vocabulary, and the prompt of
 * a conversation in such a form. (A template engine that executes any template comes beside this.)
 */
#ifndef EW_TEXT_CHAT_H
#define EW_TEXT_CHAT_H

#include "text/tokenizer.h"

/* chat_template: tokenizer.chat_template, or empty when there is none. */
ew_chat_form chat_recognise(str chat_template, const tokenizer *t);

/* The conversation as pieces: *pieces (mem_free) with views into *text (mem_free) and into the
 * messages. The form's bos is left to tok_encode(add_special). EW_EINVAL for a role the form lacks.
 */
ew_status chat_pieces(ew_chat_form f, const ew_message *messages, size_t n_message, bool add_reply,
                      tok_piece **pieces, size_t *n_piece, char **text, ew_error *err);

#endif
