/* SPDX-License-Identifier: MIT
 *
 * The key/value cache of one sequence, in pages that are taken as the sequence grows. A page holds
 * page_tokens tokens of all layers; inside it each (layer, key/value head) has its keys, then its
 * values, one token after another, so that attention reads memory in order. */
#ifndef EW_MODEL_KV_H
#define EW_MODEL_KV_H

#include "base/mem.h"
#include "model/model.h"

typedef struct {
    kv_form k, v;
    uint32_t page_tokens;
    uint32_t n_layer;
    size_t k_row, v_row; /* bytes of one head of one token */
    size_t
        *layer_at; /* [n_layer + 1] offset of each layer in a page; the last is the page's size */
    uint32_t *n_head_kv; /* [n_layer] */
} kv_layout;

ew_status kv_layout_init(kv_layout *l, const hparams *hp, const layer *layers, kv_form k, kv_form v,
                         uint32_t page_tokens, ew_error *err);
void kv_layout_fini(kv_layout *l);

/* Bytes charged for n tokens: whole pages. */
uint64_t kv_bytes(const kv_layout *l, uint64_t n_tokens);
/* Bytes one token takes, all layers. */
uint64_t kv_token_bytes(const kv_layout *l);

typedef struct {
    const kv_layout *layout; /* borrowed */
    mem_budget *budget;
    big_block *page; /* [n_page] */
    uint32_t n_page, max_page;
} kv_cache;

/* max_tokens bounds the page table, which is allocated here; pages come later. */
ew_status kv_init(kv_cache *c, const kv_layout *l, mem_budget *budget, uint32_t max_tokens,
                  ew_error *err);
void kv_fini(kv_cache *c);

/* Makes room for tokens [0, n). EW_ENOMEM leaves the pages there were. */
ew_status kv_reserve(kv_cache *c, uint32_t n_tokens, ew_error *err);
/* Gives back pages that hold no token below n. */
void kv_trim(kv_cache *c, uint32_t n_tokens);

/* Keys and values of a layer's head h in page p: page_tokens rows of k_row / v_row bytes. */
uint8_t *kv_keys(const kv_cache *c, uint32_t il, uint32_t h, uint32_t p);
uint8_t *kv_values(const kv_cache *c, uint32_t il, uint32_t h, uint32_t p);

#endif
