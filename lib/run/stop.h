/* SPDX-License-Identifier: MIT
 *
 * Stop strings in generated text. Text goes in as it comes and is shown as soon as it cannot be the
 * beginning of a stop string any more, so that no part of one is ever seen.
 *
 * The stop string that counts is the one that ends first; of several ending at the same byte, the
 * longest. That rule does not depend on how the text was cut into tokens. */
#ifndef EW_RUN_STOP_H
#define EW_RUN_STOP_H

#include "run/match.h"

typedef struct {
    match_set *set; /* NULL: no stop strings, everything passes */
    str held;       /* text not shown yet; a view into a stop string that begins with it */
} stop_filter;

/* EW_EINVAL for a stop string that is empty or not UTF-8 (it could cut a sequence in two). */
ew_status stop_init(stop_filter *f, const char *const *strings, size_t n, ew_error *err);
void stop_fini(stop_filter *f); /* an empty {0} is fine */

/* Takes text; show[0] and show[1], in this order and possibly empty, are to be shown now. They are
 * valid as long as text and f. True when a stop string has come up: what is shown ends before it,
 * and nothing may be fed any more. */
bool stop_feed(stop_filter *f, str text, str show[2]);

/* At the end of the text: what was held back. */
str stop_flush(stop_filter *f);

#endif
