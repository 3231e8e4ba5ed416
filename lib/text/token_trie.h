/* SPDX-License-Identifier: MIT
 *
 * The texts of a vocabulary as a tree, byte by byte, in one array: a walk with an automaton meets
 * every common beginning once and skips all tokens behind one that fails. Immutable. Tokens that
 * end a generation, and those without a text, are not in it. */
#ifndef EW_TEXT_TOKEN_TRIE_H
#define EW_TEXT_TOKEN_TRIE_H

#include "base/str.h"

enum {
    TRIE_DEPTH_MAX = 4096 /* bytes; no longer token is in it */
};

/* What is needed of a vocabulary. */
typedef struct {
    int32_t n;
    str (*bytes)(const void *ctx, int32_t id);    /* what it adds to a text */
    bool (*is_eog)(const void *ctx, int32_t id);  /* ends a generation */
    bool (*is_used)(const void *ctx, int32_t id); /* may be chosen at all */
    const void *ctx;
} trie_vocab;

/* Children follow their parent, in order of their bytes. */
typedef struct {
    uint32_t skip;  /* the first node after its descendants */
    uint16_t depth; /* bytes from the root to here; 1 for the first level */
    uint8_t byte;
} trie_node;

typedef struct {
    trie_vocab v;
    trie_node *nodes;
    uint32_t *token_at; /* [n_node + 1] offsets into tokens: those that end here */
    int32_t *tokens;
    int32_t *ends; /* [n_end] tokens that end a generation */
    uint32_t n_node, n_end;
    unsigned depth; /* of the longest token */
} token_trie;

ew_status trie_new(token_trie **out, const trie_vocab *v, ew_error *err);
void trie_free(token_trie *t);
uint64_t trie_bytes(const token_trie *t); /* memory it takes */

/* A set of tokens as bits. */
static inline size_t token_words(int32_t n) {
    return ((size_t)n + 63) / 64;
}
static inline bool token_in(const uint64_t *set, int32_t id) {
    return set[id >> 6] >> (id & 63) & 1;
}
static inline void token_put(uint64_t *set, int32_t id) {
    set[id >> 6] |= (uint64_t)1 << (id & 63);
}

#endif
