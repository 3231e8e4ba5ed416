/* SPDX-License-Identifier: MIT
 *
 * Greedy merging: of all neighbours that can be joined, those of the lowest rank first, among equal
 * ones the leftmost, until none is left. A binary heap holds the candidates; one whose symbols have
 * changed since is skipped when it comes up, which makes the whole O(n log n) for any text. */
#include "base/mem.h"
#include "text/vocab.h"

void merge_fini(merger *m) {
    mem_free(m->sym);
    mem_free(m->heap);
    *m = (merger){0};
}

bool merge_reserve(merger *m, size_t n) {
    if (n > m->cap_sym) {
        merge_sym *sym = mem_resize(m->sym, n * 2, sizeof *sym);

        if (!sym) return false;
        m->sym = sym;
        m->cap_sym = n * 2;
    }
    /* At most n - 1 candidates to begin with, and each of at most n - 1 joins takes one away and
     * brings two. */
    if (n * 2 > m->cap_heap) {
        merge_step *heap = mem_resize(m->heap, n * 4, sizeof *heap);

        if (!heap) return false;
        m->heap = heap;
        m->cap_heap = n * 4;
    }
    m->n = 0;
    return true;
}

void merge_add(merger *m, size_t n_bytes, int32_t id) {
    const uint32_t i = (uint32_t)m->n;
    const uint32_t off = i ? m->sym[i - 1].off + m->sym[i - 1].n : 0;

    m->sym[i] = (merge_sym){i ? i - 1 : MERGE_END, MERGE_END, off, (uint32_t)n_bytes, id};
    if (i) m->sym[i - 1].next = i;
    m->n++;
}

static void sift_down(merge_step *h, size_t n, size_t i) {
    const merge_step x = h[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && h[child + 1].key < h[child].key) child++;
        if (h[child].key >= x.key) break;
        h[i] = h[child];
    }
    h[i] = x;
}

static void sift_up(merge_step *h, size_t i) {
    const merge_step x = h[i];

    for (; i && h[(i - 1) / 2].key > x.key; i = (i - 1) / 2) h[i] = h[(i - 1) / 2];
    h[i] = x;
}

/* Appends the candidate of symbols l and r, if they are one, without ordering the heap. */
static bool append(merger *m, const tokenizer *t, const char *text, merge_fn *can, uint32_t l,
                   uint32_t r) {
    const merge_sym *const a = m->sym + l, *const b = m->sym + r;
    uint32_t rank;
    int32_t joined;

    if (!can(t, text, a, b, &rank, &joined)) return false;
    m->heap[m->n_heap++] = (merge_step){
        .key = (uint64_t)rank << 32 | l, .right = r, .size = a->n + b->n, .joined = joined};
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
    for (size_t i = m->n_heap / 2; i-- > 0;) sift_down(m->heap, m->n_heap, i);
    while (m->n_heap) {
        const merge_step top = m->heap[0];
        const uint32_t l = (uint32_t)top.key;
        merge_sym *const a = m->sym + l, *const b = m->sym + top.right;

        m->heap[0] = m->heap[--m->n_heap];
        if (m->n_heap) sift_down(m->heap, m->n_heap, 0);
        /* Symbols only grow, so equal sizes mean that both are as they were. */
        if (a->n == 0 || b->n == 0 || a->n + b->n != top.size) continue;
        a->n += b->n;
        a->id = top.joined;
        a->next = b->next;
        b->n = 0;
        if (b->next != MERGE_END) m->sym[b->next].prev = l;
        push(m, t, text, can, a->prev, l);
        push(m, t, text, can, l, a->next);
    }
}
