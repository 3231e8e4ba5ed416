/* SPDX-License-Identifier: MIT
 *
 * tokenizer.ggml.merges: "left right" strings in the order of their ranks, turned into a hash table
 * from two symbols to the joined one, so that encoding compares numbers and no strings. */
#include "base/mem.h"
#include "text/vocab.h"

#include <inttypes.h>

/* The symbol with this text, added when it is none yet. False: no memory. */
static bool symbol(tokenizer *t, str text, int32_t *out) {
    uint32_t id;
    bool is_new;

    if (!names_add(&t->symbols, text, &id, &is_new) || id > INT32_MAX) return false;
    *out = (int32_t)id;
    return true;
}

/* The first merge of a pair counts. */
static void add_pair(tokenizer *t, tok_pair pair) {
    const size_t mask = t->n_pair - 1;
    size_t i = pair_hash(pair.left, pair.right) & mask;

    for (; t->pair[i].left >= 0; i = (i + 1) & mask)
        if (t->pair[i].left == pair.left && t->pair[i].right == pair.right) return;
    t->pair[i] = pair;
}

static bool make_table(tokenizer *t, uint64_t n_merge) {
    t->n_pair = 16;
    while (t->n_pair < n_merge + n_merge / 2) t->n_pair *= 2;
    t->pair = mem_array(t->n_pair, sizeof *t->pair);
    if (!t->pair) return false;
    for (size_t i = 0; i < t->n_pair; i++) t->pair[i].left = -1;
    return true;
}

/* "left right"; the left one may itself begin with a space. A merge without two halves can never
 * apply and is passed over. False: no memory. */
static bool add_merge(tokenizer *t, str s, uint32_t rank, strbuf *joined) {
    tok_pair pair = {.rank = rank};
    const char *gap = s.n > 2 ? memchr(s.p + 1, ' ', s.n - 2) : NULL;
    str left, right;

    if (!gap) return true;
    left = (str){s.p, (size_t)(gap - s.p)};
    right = (str){gap + 1, s.n - left.n - 1};
    strbuf_clear(joined);
    strbuf_str(joined, left);
    strbuf_str(joined, right);
    if (joined->failed || !symbol(t, left, &pair.left) || !symbol(t, right, &pair.right) ||
        !symbol(t, (str){joined->p, joined->n}, &pair.joined))
        return false;
    add_pair(t, pair);
    return true;
}

ew_status merges_read(tokenizer *t, const gguf *g, const char *name, ew_error *err) {
    static const char key[] = "tokenizer.ggml.merges";
    const gguf_kv *kv = gguf_find(g, key);
    strbuf joined;
    bool ok;

    if (!kv) return fail(err, EW_EFORMAT, "%s: %s is missing", name, key);
    if (kv->type != GGUF_ARRAY || kv->elem_type != GGUF_STRING)
        return fail(err, EW_EFORMAT, "%s: %s is no array of strings", name, key);
    if (kv->n_elem > TOKENS_MAX)
        return fail(err, EW_EFORMAT, "%s: %s has %" PRIu64 " elements", name, key, kv->n_elem);
    strbuf_init(&joined, UINT32_MAX);
    ok = make_table(t, kv->n_elem);
    for (uint64_t i = 0; ok && i < kv->n_elem; i++) {
        str s = {"", 0};

        gguf_kv_str(kv, i, &s);
        ok = add_merge(t, s, (uint32_t)i, &joined);
    }
    strbuf_fini(&joined);
    return ok ? EW_OK : fail(err, EW_ENOMEM, "%s: tokenizer: out of memory", name);
}
