/* SPDX-License-Identifier: MIT
 *
 * A grammar and bytes that choose among the tokens it allows. Whatever is chosen, the text goes on
 * or may end: no dead ends. */
#ifndef EW_TESTS_FUZZ_FOLLOW_H
#define EW_TESTS_FUZZ_FOLLOW_H

#include "text/grammar_match.h"

#include <stdlib.h>

enum {
    N = 259,
    EOG = 256,
    STEPS_MAX = 64
};

static str bytes_of(const void *ctx, int32_t id) {
    static char all[256];

    (void)ctx;
    if (id == 258) return str_of("\": ");
    if (id >= 256) return (str){"", 0};
    all[id] = (char)id;
    return (str){&all[id], 1};
}

static bool is_eog(const void *ctx, int32_t id) {
    (void)ctx;
    return id == EOG;
}

static bool is_used(const void *ctx, int32_t id) {
    return !is_eog(ctx, id);
}

/* The allowed token number `pick`, counted around; -1: none is. */
static int32_t pick_token(const uint64_t *bits, unsigned pick) {
    int32_t ids[N], n = 0;

    for (int32_t id = 0; id < N; id++)
        if (token_in(bits, id)) ids[n++] = id;
    return n ? ids[pick % (unsigned)n] : -1;
}

static inline void follow(const grammar *g, const uint8_t *picks, size_t n) {
    const trie_vocab v = {N, bytes_of, is_eog, is_used, NULL};
    token_trie *trie;
    matcher *m = NULL;

    if (trie_new(&trie, &v, NULL) || matcher_new(&m, g, trie, NULL, false, NULL)) abort();
    for (size_t i = 0; i < n && i < STEPS_MAX; i++) {
        const uint64_t *bits = matcher_mask(m);
        const int32_t id = bits ? pick_token(bits, picks[i]) : EOG;

        if (id < 0) abort();
        if (bits && !matcher_allows(m, id) && !matcher_status(m, NULL)) abort();
        if (id == EOG || !matcher_accept(m, id)) break;
    }
    matcher_free(m);
    trie_free(trie);
}

#endif
