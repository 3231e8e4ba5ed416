/* SPDX-License-Identifier: MIT
 *
 * A set of distinct strings numbered in the order of their arrival, found by their text: the
 * vocabulary. One block holds all texts, an open-addressing table of numbers finds them. */
#ifndef EW_TEXT_NAMES_H
#define EW_TEXT_NAMES_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    char *text;     /* of all strings, one after the other */
    uint32_t *at;   /* n + 1 offsets into text */
    uint32_t *slot; /* number + 1 of the string that hashes here, 0: free */
    size_t n, cap;
    size_t n_text, cap_text;
    size_t n_slot;    /* a power of two, or 0 */
    size_t n_longest; /* bytes */
} names;

void names_fini(names *s); /* an empty {0} is fine */
/* Adds a string. *out is its number; an existing one's, and *is_new false, when it is there
 * already. The empty string takes a number each time and is never found. False: no memory, or
 * over 2^32 bytes. */
bool names_add(names *s, str text, uint32_t *out, bool *is_new);
int64_t names_find(const names *s, str text); /* -1: none */
size_t names_bytes(const names *s);           /* memory it takes */

static inline str names_get(const names *s, uint32_t i) {
    return (str){s->text + s->at[i], s->at[i + 1] - s->at[i]};
}

#endif
