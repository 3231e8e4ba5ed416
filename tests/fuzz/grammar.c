/* SPDX-License-Identifier: MIT
 *
 * GBNF and a text: up to the first NUL byte (or all) the grammar, then bytes that choose among the
 * tokens it allows. Whatever comes first, the text goes on or may end: no dead ends. */
#include "tests/fuzz/fuzz.h"

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

static int32_t find(const void *ctx, str name) {
    (void)ctx;
    return str_is(name, "<mark>") ? 257 : -1;
}

/* The allowed token number `pick`, counted around; -1: none is. */
static int32_t pick_token(const uint64_t *bits, unsigned pick) {
    int32_t ids[N], n = 0;

    for (int32_t id = 0; id < N; id++)
        if (token_in(bits, id)) ids[n++] = id;
    return n ? ids[pick % (unsigned)n] : -1;
}

static void follow(const grammar *g, const token_trie *trie, const uint8_t *picks, size_t n) {
    matcher *m;

    if (matcher_new(&m, g, trie, NULL, false, NULL)) return;
    for (size_t i = 0; i < n && i < STEPS_MAX; i++) {
        const uint64_t *bits = matcher_mask(m);
        const int32_t id = bits ? pick_token(bits, picks[i]) : EOG;

        if (id < 0) abort();
        if (bits && !matcher_allows(m, id) && !matcher_status(m, NULL)) abort();
        if (id == EOG || !matcher_accept(m, id)) break;
    }
    matcher_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const trie_vocab v = {N, bytes_of, is_eog, is_used, NULL};
    const grammar_tokens tokens = {N, find, NULL};
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    const size_t n = nul ? (size_t)(nul - data) : size;
    token_trie *trie;
    grammar *g;

    if (trie_new(&trie, &v, NULL)) return 0;
    if (grammar_from_gbnf(&g, (str){(const char *)data, n}, &tokens, NULL) == EW_OK) {
        follow(g, trie, data + n + (nul != NULL), size - n - (nul != NULL));
        grammar_free(g);
    }
    trie_free(trie);
    if (mem_live()) abort();
    return 0;
}
