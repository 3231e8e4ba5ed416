/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a GGUF file. What is accepted keeps the parser's promises: every value and tensor
 * lies in the file and is found by its name, no two tensors share a byte. */
#include "tests/fuzz/fuzz.h"

#include "format/gguf.h"

#include <stdlib.h>

static volatile uint64_t sink; /* keeps reads that nothing else uses */

static void need(bool ok) {
    if (!ok) abort();
}

static void read_value(const gguf *g, const gguf_kv *kv) {
    char key[256];

    for (uint64_t i = 0; i < kv->n_elem && i < 1000; i++) {
        uint64_t u = 0;
        int64_t s = 0;
        double d = 0;
        bool yes = false;
        str text = {0};

        need(gguf_kv_uint(kv, i, &u) || gguf_kv_int(kv, i, &s) || gguf_kv_float(kv, i, &d) ||
             gguf_kv_bool(kv, i, &yes) || gguf_kv_str(kv, i, &text));
        for (size_t k = 0; k < text.n; k++) sink += (uint8_t)text.p[k];
    }
    need(!gguf_kv_str(kv, kv->n_elem, &(str){0}));
    if (kv->key.n >= sizeof key) return;
    memcpy(key, kv->key.p, kv->key.n);
    key[kv->key.n] = 0;
    need(gguf_find(g, key) == kv);
}

static void read_tensor(const gguf *g, const gguf_tensor *t, const uint8_t *data, size_t size) {
    need(t->data >= data && t->n_bytes > 0 && t->n_bytes <= size);
    need(t->off_bytes <= size - t->n_bytes && t->off_bytes % g->alignment == 0);
    sink += t->data[0];
    sink += t->data[t->n_bytes - 1];
    need(gguf_find_tensor(g, t->name) == t);
    for (size_t i = 0; i < g->n_tensor && i < 64; i++) {
        const gguf_tensor *other = &g->tensor[i];

        need(other == t || other->off_bytes + other->n_bytes <= t->off_bytes ||
             t->off_bytes + t->n_bytes <= other->off_bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ew_error err = {0};
    gguf g;
    const ew_status rc = gguf_parse(&g, data, size, "input", &err);

    if (rc) {
        need(err.status == rc && err.text[0] && g.kv == NULL && g.tensor == NULL);
        return 0;
    }
    for (size_t i = 0; i < g.n_kv; i++) read_value(&g, &g.kv[i]);
    for (size_t i = 0; i < g.n_tensor; i++) read_tensor(&g, &g.tensor[i], data, size);
    gguf_close(&g);
    return 0;
}
