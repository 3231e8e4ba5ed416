/* SPDX-License-Identifier: MIT
 *
 * Special tokens in text. Their names are kept sorted; at a position of the text, the range of
 * names that agree with it so far is narrowed byte by byte, which finds the longest one without a
 * tree and stays fast with tens of thousands of them. */
#include "base/mem.h"
#include "text/vocab.h"

#include <stdlib.h>

typedef struct {
    str name;
    int32_t id;
} entry;

static int by_name(const void *a, const void *b) {
    const entry *const x = a, *const y = b;
    const size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
    const int c = memcmp(x->name.p, y->name.p, n);

    return c ? c : (x->name.n > y->name.n) - (x->name.n < y->name.n);
}

static bool is_special(const tokenizer *t, int32_t id) {
    const uint8_t kind = t->kind[id];
    const size_t n = names_get(&t->symbols, (uint32_t)id).n;

    return n && n <= SPECIAL_MAX &&
           (kind == TOKEN_CONTROL || kind == TOKEN_USER_DEFINED || kind == TOKEN_UNKNOWN);
}

ew_status special_index(tokenizer *t, ew_error *err) {
    size_t n = 0;
    entry *all;

    for (int32_t i = 0; i < t->n; i++) n += is_special(t, i);
    all = mem_array(n, sizeof *all);
    t->special = mem_array(n, sizeof *t->special);
    if (!all || !t->special) {
        mem_free(all);
        return fail(err, EW_ENOMEM, "tokenizer: out of memory");
    }
    n = 0;
    for (int32_t i = 0; i < t->n; i++)
        if (is_special(t, i)) all[n++] = (entry){names_get(&t->symbols, (uint32_t)i), i};
    qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; i < n; i++) {
        t->special[i] = all[i].id;
        t->special_at[(uint8_t)all[i].name.p[0] + 1]++;
    }
    for (size_t b = 0; b < 256; b++) t->special_at[b + 1] += t->special_at[b];
    mem_free(all);
    return EW_OK;
}

static str special_name(const tokenizer *t, size_t i) {
    return names_get(&t->symbols, (uint32_t)t->special[i]);
}

/* The first of special[lo, hi) whose byte at depth is >= b; shorter names come first. */
static size_t lower_bound(const tokenizer *t, size_t lo, size_t hi, size_t depth, unsigned b) {
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        const str name = special_name(t, mid);

        if (name.n <= depth || (uint8_t)name.p[depth] < b)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int32_t special_match(const tokenizer *t, const char *p, size_t n, size_t n_markup) {
    size_t lo = t->special_at[(uint8_t)p[0]], hi = t->special_at[(uint8_t)p[0] + 1];
    int32_t best = -1;

    for (size_t depth = 1; lo < hi; depth++) {
        const int32_t id = t->special[lo];

        if (names_get(&t->symbols, (uint32_t)id).n == depth &&
            (t->kind[id] == TOKEN_USER_DEFINED || depth <= n_markup))
            best = id;
        if (depth == n) break;
        hi = lower_bound(t, lo, hi, depth, (uint8_t)p[depth] + 1u);
        lo = lower_bound(t, lo, hi, depth, (uint8_t)p[depth]);
    }
    return best;
}
