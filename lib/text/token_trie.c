/* SPDX-License-Identifier: MIT */
#include "text/token_trie.h"

#include "base/mem.h"

#include <stdlib.h>

typedef struct {
    str text;
    int32_t id;
} entry;

static int by_text(const void *a, const void *b) {
    const entry *x = a, *y = b;
    const int c = memcmp(x->text.p, y->text.p, x->text.n < y->text.n ? x->text.n : y->text.n);

    if (c) return c;
    if (x->text.n != y->text.n) return x->text.n < y->text.n ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* The tokens of the tree, sorted by their texts. A NUL byte ends a text for too many programs. */
static size_t collect(entry *to, const trie_vocab *v, size_t *n_bytes) {
    size_t n = 0;

    *n_bytes = 0;
    for (int32_t id = 0; id < v->n; id++) {
        const str s = v->bytes(v->ctx, id);

        if (!s.n || s.n > TRIE_DEPTH_MAX || memchr(s.p, 0, s.n) || v->is_eog(v->ctx, id)) continue;
        to[n++] = (entry){s, id};
        *n_bytes += s.n;
    }
    if (n) qsort(to, n, sizeof *to, by_text);
    return n;
}

static void collect_ends(token_trie *t) {
    for (int32_t id = 0; id < t->v.n; id++)
        if (t->v.is_eog(t->v.ctx, id)) t->ends[t->n_end++] = id;
}

static size_t common(str a, str b) {
    size_t n = 0;

    while (n < a.n && n < b.n && a.p[n] == b.p[n]) n++;
    return n;
}

static uint32_t count_nodes(const entry *e, size_t n) {
    size_t n_node = 0;

    for (size_t i = 0; i < n; i++)
        n_node += e[i].text.n - (i ? common(e[i - 1].text, e[i].text) : 0);
    return (uint32_t)n_node;
}

static void build(token_trie *t, const entry *e, size_t n) {
    uint32_t open[TRIE_DEPTH_MAX]; /* the node at each depth less one */
    uint32_t at = 0;
    size_t depth = 0;

    for (size_t i = 0; i < n; i++) {
        const str s = e[i].text;
        const size_t same = i ? common(e[i - 1].text, s) : 0;

        while (depth > same) t->nodes[open[--depth]].skip = at;
        for (; depth < s.n; depth++) {
            open[depth] = at;
            t->nodes[at] = (trie_node){0, (uint16_t)(depth + 1), (uint8_t)s.p[depth]};
            t->token_at[at++] = (uint32_t)i;
        }
        t->tokens[i] = e[i].id;
        t->token_at[at] = (uint32_t)i + 1;
        if (s.n > t->depth) t->depth = (unsigned)s.n;
    }
    while (depth > 0) t->nodes[open[--depth]].skip = at;
}

ew_status trie_new(token_trie **out, const trie_vocab *v, ew_error *err) {
    token_trie *t = mem_array(1, sizeof *t);
    entry *e = mem_array((size_t)v->n, sizeof *e);
    size_t n, n_bytes;
    ew_status rc = EW_OK;

    *out = NULL;
    if (!t || !e) goto no_memory;
    t->v = *v;
    n = collect(e, v, &n_bytes);
    if (n_bytes >= UINT32_MAX) {
        rc = fail(err, EW_EUNSUPPORTED, "the vocabulary's texts have 4 GiB or more");
        goto out;
    }
    t->n_node = count_nodes(e, n);
    t->nodes = mem_array(t->n_node, sizeof *t->nodes);
    t->token_at = mem_array((size_t)t->n_node + 1, sizeof *t->token_at);
    t->tokens = mem_array(n, sizeof *t->tokens);
    t->ends = mem_array((size_t)v->n, sizeof *t->ends);
    if (!t->nodes || !t->token_at || !t->tokens || !t->ends) goto no_memory;
    build(t, e, n);
    collect_ends(t);
    *out = t;
    t = NULL;
    goto out;
no_memory:
    rc = fail(err, EW_ENOMEM, "the tree of the vocabulary: out of memory");
out:
    mem_free(e);
    trie_free(t);
    return rc;
}

void trie_free(token_trie *t) {
    if (!t) return;
    mem_free(t->nodes);
    mem_free(t->token_at);
    mem_free(t->tokens);
    mem_free(t->ends);
    mem_free(t);
}

uint64_t trie_bytes(const token_trie *t) {
    return (uint64_t)t->n_node * (sizeof *t->nodes + sizeof *t->token_at) +
           (uint64_t)t->v.n * (sizeof *t->tokens + sizeof *t->ends);
}
