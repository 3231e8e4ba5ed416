/* SPDX-License-Identifier: MIT
 *
 * Several strings looked for in a stream of bytes, one byte at a time: whatever the pieces the
 * bytes come in, the answer is the same. Stop strings and the sampler's sequence breakers are such
 * sets. One Knuth-Morris-Pratt automaton a string; no allocation after creation. */
#ifndef EW_RUN_MATCH_H
#define EW_RUN_MATCH_H

#include "base/str.h"

typedef struct match_set match_set;

enum {
    MATCH_MAX_STRINGS = 1024,
    MATCH_MAX_BYTES = 1 << 16 /* of one string */
};

/* Copies the strings. EW_EINVAL for an empty one or one over the limits; what names them in the
 * error ("stop string"). */
ew_status match_new(match_set **out, const char *const *strings, size_t n, const char *what,
                    ew_error *err);
void match_free(match_set *m);
void match_reset(match_set *m);

/* Takes one byte. The length of the longest string that ends with it, or 0. */
size_t match_byte(match_set *m, char c);

/* The longest end of the bytes so far that begins a string without completing it: a view of that
 * string's own first bytes, valid as long as m. */
str match_pending(const match_set *m);

/* Is any of the strings inside text? Does not touch the stream. */
bool match_within(const match_set *m, str text);

#endif
