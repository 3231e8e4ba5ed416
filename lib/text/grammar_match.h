/* SPDX-License-Identifier: MIT
 *
 * A matcher: one text on its way through a grammar, token by token.
 *
 * Places in the text (sets of configurations, see grammar.h) are states with numbers; stacks are
 * interned as well, so that equal places are the same state. The step from a state by a byte is
 * worked out once and kept, and so is the set of tokens a state allows. All of that is a cache: at
 * CACHE_MAX bytes it is dropped and begun again with the state at hand. One thread at a time. */
#ifndef EW_TEXT_GRAMMAR_MATCH_H
#define EW_TEXT_GRAMMAR_MATCH_H

#include "base/mem.h"
#include "text/grammar.h"
#include "text/token_trie.h"

typedef struct matcher matcher;

/* g and trie are borrowed. budget (may be NULL) is charged as the cache grows (EW_MEM_SCRATCH).
 * spaced: up to four blanks may come first. */
ew_status matcher_new(matcher **out, const grammar *g, const token_trie *trie, mem_budget *budget,
                      bool spaced, ew_error *err);
void matcher_free(matcher *m);
void matcher_restart(matcher *m);

/* May this token come next? An end-of-generation token may where the text may end. */
bool matcher_allows(matcher *m, int32_t id);
/* All tokens that may come next, borrowed until the next call; NULL when the matcher failed. */
const uint64_t *matcher_mask(matcher *m);
/* Takes a token. False when it may not come next (the matcher stays where it is) or the matcher
 * failed. End-of-generation tokens change nothing. */
bool matcher_accept(matcher *m, int32_t id);
/* The same with bytes that need not be a token. */
bool matcher_feed(matcher *m, str bytes);

bool matcher_can_end(const matcher *m);     /* the text may end here */
bool matcher_is_complete(const matcher *m); /* and nothing may follow */

/* EW_OK, or what went wrong for good: no memory, or a grammar with too many readings at once. */
ew_status matcher_status(const matcher *m, ew_error *err);

/* How much work was done, for tests and measurements. */
typedef struct {
    size_t n_state, n_mask, n_drop; /* states now; masks worked out, caches dropped so far */
    size_t bytes;                   /* of the cache */
} matcher_stats;
matcher_stats matcher_stats_get(const matcher *m);

#endif
