/* SPDX-License-Identifier: MIT
 *
 * The key/value cache of one sequence, in pages that are taken as the sequence grows. A page holds
 * page_tokens tokens of all layers; inside it each (layer, key/value head) has its keys, then its
 * values, one token after another, so that attention reads memory in order.
 *
 * Layers that see a window have pages of their own. Those that lie behind the window, and behind a
 * step's tokens more for short rewinds, are given back; a session that is rewound further evaluates
 * its tokens anew. */
#ifndef EW_MODEL_KV_H
#define EW_MODEL_KV_H

#include "base/mem.h"
#include "model/model.h"

enum {
    KV_FULL,
    KV_WINDOW,
    KV_KINDS
};

typedef struct {
    kv_form k, v;
    uint32_t page_tokens;
    uint32_t n_layer;
    uint32_t window;              /* of the layers that see one */
    uint32_t chunk;               /* tokens of a step at most; set by the session */
    size_t k_row, v_row;          /* bytes of one head of one token */
    size_t page_bytes[KV_KINDS];  /* 0: no layer is of that kind */
    uint64_t row_bytes[KV_KINDS]; /* of one token in all layers of the kind */
    size_t *layer_at;             /* [n_layer] offset of each layer in a page of its kind */
    uint32_t *n_head_kv;          /* [n_layer] */
    uint8_t *kind;                /* [n_layer] */
} kv_layout;

ew_status kv_layout_init(kv_layout *l, const hparams *hp, const layer *layers, kv_form k, kv_form v,
                         uint32_t page_tokens, ew_error *err);
void kv_layout_fini(kv_layout *l);

/* Most bytes charged on the way to n tokens: whole pages. */
uint64_t kv_bytes(const kv_layout *l, uint64_t n_tokens);
/* Bytes one token takes, all layers. */
uint64_t kv_token_bytes(const kv_layout *l);
/* What the token after n others sees: tokens from kv_seen_from() on in layers with a window, all in
 * the others; and the bytes of that. */
uint32_t kv_seen_from(const kv_layout *l, uint32_t il, uint32_t n_tokens);
uint64_t kv_seen_bytes(const kv_layout *l, uint64_t n_tokens);

typedef struct {
    const kv_layout *layout; /* borrowed */
    mem_budget *budget;
    big_block *page[KV_KINDS]; /* [n_page] each */
    uint32_t n_page, max_page;
    uint32_t from; /* layers with a window hold tokens from here on */
} kv_cache;

/* max_tokens bounds the page table, which is allocated here; pages come later. */
ew_status kv_init(kv_cache *c, const kv_layout *l, mem_budget *budget, uint32_t max_tokens,
                  ew_error *err);
void kv_fini(kv_cache *c);

/* Makes room for tokens [0, n). EW_ENOMEM leaves the pages there were. */
ew_status kv_reserve(kv_cache *c, uint32_t n_tokens, ew_error *err);
/* Gives back pages that hold no token below n. */
void kv_trim(kv_cache *c, uint32_t n_tokens);
/* Gives back pages that n tokens' windows have left behind. */
void kv_leave(kv_cache *c, uint32_t n_tokens);
/* Is all there that the token after n others sees? */
bool kv_is_whole(const kv_cache *c, uint32_t n_tokens);
/* Empties the cache; windows will begin with token `from`. */
void kv_restart(kv_cache *c, uint32_t from);

/* Keys and values of a layer's head h in page p: page_tokens rows of k_row / v_row bytes. */
uint8_t *kv_keys(const kv_cache *c, uint32_t il, uint32_t h, uint32_t p);
uint8_t *kv_values(const kv_cache *c, uint32_t il, uint32_t h, uint32_t p);

#endif
