/* SPDX-License-Identifier: MIT
 *
 * Greedy merging: of all neighbours that can be joined, those of the lowest rank first, among equal
 * ones the leftmost, until none is left. A heap holds the candidates; one whose symbols have
 * changed since is skipped when it comes up, which makes the whole O(n log n) for any text. */
#include "base/mem.h"
#include "text/vocab.h"

void merge_fini(merger *m) {
    mem_free(m->sym);
    mem_free(m->heap);
    *m = (merger){0};
}

bool merge_reserve(merger *m, size_t n) {
    m->n = 0;
    /* The heap: at most n - 1 candidates to begin with, and each of at most n - 1 joins takes one
     * away and brings two. */
    if (n > m->cap_sym) {
        const size_t cap = n < 4096 ? 8192 : n;
        merge_sym *sym = mem_resize(m->sym, cap, sizeof *sym);
        merge_step *heap = sym ? mem_resize(m->heap, cap * 2, sizeof *heap) : NULL;

        if (sym) m->sym = sym;
        if (heap) m->heap = heap;
        if (!sym || !heap) return false;
        m->cap_sym = cap;
    }
    return true;
}

void merge_add(merger *m, size_t n_bytes, int32_t id) {
    const uint32_t i = (uint32_t)m->n;
    const uint32_t off = i ? m->sym[i - 1].off + m->sym[i - 1].n : 0;

    m->sym[i] = (merge_sym){i ? i - 1 : MERGE_END, MERGE_END, off, (uint32_t)n_bytes, id};
    if (i) m->sym[i - 1].next = i;
    m->n++;
}

/* Four children a node: half the levels of a binary heap, and siblings share a cache line. */
static void sift_down(merge_step *h, size_t n, size_t i) {
    const merge_step x = h[i];

    for (size_t child; (child = 4 * i + 1) < n; i = child) {
        const size_t end = n - child < 4 ? n : child + 4;

        for (size_t k = child + 1; k < end; k++)
            if (h[k].key < h[child].key) child = k;
        if (h[child].key >= x.key) break;
        h[i] = h[child];
    }
    h[i] = x;
}

static void sift_up(merge_step *h, size_t i) {
    const merge_step x = h[i];

    for (; i && h[(i - 1) / 4].key > x.key; i = (i - 1) / 4) h[i] = h[(i - 1) / 4];
    h[i] = x;
}

/* Appends the candidate of symbols l and r, if they are one, without ordering the heap. */
static bool append(merger *m, const tokenizer *t, const char *text, merge_fn *can, uint32_t l,
                   uint32_t r) {
    const merge_sym *const a = m->sym + l, *const b = m->sym + r;
    uint32_t rank;
    int32_t joined;

    if (!can(t, text, a, b, &rank, &joined)) return false;
    m->heap[m->n_heap++] = (merge_step){(uint64_t)rank << 32 | l, r, a->n + b->n};
    return true;
}

static void push(merger *m, const tokenizer *t, const char *text, merge_fn *can, uint32_t l,
                 uint32_t r) {
    if (l == MERGE_END || r == MERGE_END) return;
    if (append(m, t, text, can, l, r)) sift_up(m->heap, m->n_heap - 1);
}

void merge_run(merger *m, const tokenizer *t, const char *text, merge_fn *can) {
    m->n_heap = 0;
    for (uint32_t i = 1; i < m->n; i++) append(m, t, text, can, i - 1, i);
    for (size_t i = (m->n_heap + 2) / 4; i-- > 0;) sift_down(m->heap, m->n_heap, i);
    while (m->n_heap) {
        const merge_step top = m->heap[0];
        const uint32_t l = (uint32_t)top.key;
        merge_sym *const a = m->sym + l, *const b = m->sym + top.right;
        uint32_t rank;

        m->heap[0] = m->heap[--m->n_heap];
        if (m->n_heap) sift_down(m->heap, m->n_heap, 0);
        /* Symbols only grow, so equal sizes mean that both are as they were. */
        if (a->n == 0 || b->n == 0 || a->n + b->n != top.size) continue;
        can(t, text, a, b, &rank, &a->id);
        a->n += b->n;
        a->next = b->next;
        b->n = 0;
        if (b->next != MERGE_END) m->sym[b->next].prev = l;
        push(m, t, text, can, a->prev, l);
        push(m, t, text, can, l, a->next);
    }
}
