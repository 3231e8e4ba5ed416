/* SPDX-License-Identifier: MIT
 *
 * Streaming detokenizer: takes tokens one by one and gives text that never ends inside a UTF-8
 * sequence; at most three bytes wait for their rest. A push allocates nothing. */
#ifndef EW_TEXT_DETOK_H
#define EW_TEXT_DETOK_H

#include "text/tokenizer.h"

enum {
    DETOK_MARKS = 16
};

ew_status detok_new(ew_detok **out, const tokenizer *t, ew_error *err);
/* Control tokens whose names are part of one of these marks (n, static strings) are written out,
 * where others give nothing. */
ew_status detok_new_with(ew_detok **out, const tokenizer *t, const char *const *marks, size_t n,
                         ew_error *err);

#endif
