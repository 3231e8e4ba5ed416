/* SPDX-License-Identifier: MIT */
#include "model/kv.h"

#include <string.h>

enum {
    HEAD_ALIGN = 64 /* keys and values of a head start at a cache line */
};

static size_t head_bytes(const kv_layout *l, size_t row) {
    return (row * l->page_tokens + HEAD_ALIGN - 1) / HEAD_ALIGN * HEAD_ALIGN;
}

ew_status kv_layout_init(kv_layout *l, const hparams *hp, const layer *layers, kv_form k, kv_form v,
                         uint32_t page_tokens, ew_error *err) {
    size_t at = 0;

    *l = (kv_layout){.k = k,
                     .v = v,
                     .page_tokens = page_tokens,
                     .n_layer = hp->n_layer,
                     .k_row = kv_row_bytes(k, hp->head_dim_k),
                     .v_row = kv_row_bytes(v, hp->head_dim_v)};
    l->layer_at = mem_array((size_t)hp->n_layer + 1, sizeof *l->layer_at);
    l->n_head_kv = mem_array(hp->n_layer, sizeof *l->n_head_kv);
    if (!l->layer_at || !l->n_head_kv) {
        kv_layout_fini(l);
        return fail(err, EW_ENOMEM, "KV cache: out of memory");
    }
    for (uint32_t i = 0; i < hp->n_layer; i++) {
        l->layer_at[i] = at;
        l->n_head_kv[i] = layers[i].n_head_kv;
        at += layers[i].n_head_kv * (head_bytes(l, l->k_row) + head_bytes(l, l->v_row));
    }
    l->layer_at[hp->n_layer] = at;
    return EW_OK;
}

void kv_layout_fini(kv_layout *l) {
    mem_free(l->layer_at);
    mem_free(l->n_head_kv);
    *l = (kv_layout){0};
}

uint64_t kv_bytes(const kv_layout *l, uint64_t n_tokens) {
    const uint64_t pages = (n_tokens + l->page_tokens - 1) / l->page_tokens;

    return pages * big_round(l->layer_at[l->n_layer]);
}

uint64_t kv_token_bytes(const kv_layout *l) {
    uint64_t heads = 0;

    for (uint32_t i = 0; i < l->n_layer; i++) heads += l->n_head_kv[i];
    return heads * (l->k_row + l->v_row);
}

ew_status kv_init(kv_cache *c, const kv_layout *l, mem_budget *budget, uint32_t max_tokens,
                  ew_error *err) {
    *c = (kv_cache){.layout = l, .budget = budget};
    c->max_page = (uint32_t)(((uint64_t)max_tokens + l->page_tokens - 1) / l->page_tokens);
    c->page = mem_array(c->max_page, sizeof *c->page);
    return c->page ? EW_OK : fail(err, EW_ENOMEM, "KV cache: out of memory");
}

void kv_fini(kv_cache *c) {
    if (c->page) kv_trim(c, 0);
    mem_free(c->page);
    *c = (kv_cache){0};
}

ew_status kv_reserve(kv_cache *c, uint32_t n_tokens, ew_error *err) {
    const kv_layout *l = c->layout;

    while ((uint64_t)c->n_page * l->page_tokens < n_tokens) {
        ew_status rc = c->n_page < c->max_page
                           ? big_alloc(&c->page[c->n_page], c->budget, EW_MEM_KV,
                                       l->layer_at[l->n_layer], "a page of the KV cache", err)
                           : fail(err, EW_EFULL, "KV cache: all %u pages are in use", c->max_page);

        if (rc) return rc;
        c->n_page++;
    }
    return EW_OK;
}

void kv_trim(kv_cache *c, uint32_t n_tokens) {
    const uint32_t per = c->layout->page_tokens;
    const uint32_t keep = (uint32_t)(((uint64_t)n_tokens + per - 1) / per);

    while (c->n_page > keep) big_free(&c->page[--c->n_page]);
}

uint8_t *kv_keys(const kv_cache *c, uint32_t il, uint32_t h, uint32_t p) {
    const kv_layout *l = c->layout;
    const size_t stride = head_bytes(l, l->k_row) + head_bytes(l, l->v_row);

    return (uint8_t *)c->page[p].data + l->layer_at[il] + h * stride;
}

uint8_t *kv_values(const kv_cache *c, uint32_t il, uint32_t h, uint32_t p) {
    return kv_keys(c, il, h, p) + head_bytes(c->layout, c->layout->k_row);
}
