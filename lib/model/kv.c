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
    *l = (kv_layout){.k = k,
                     .v = v,
                     .page_tokens = page_tokens,
                     .n_layer = hp->n_layer,
                     .window = hp->window,
                     .k_row = kv_row_bytes(k, hp->head_dim_k),
                     .v_row = kv_row_bytes(v, hp->head_dim_v)};
    l->layer_at = mem_array(hp->n_layer, sizeof *l->layer_at);
    l->n_head_kv = mem_array(hp->n_layer, sizeof *l->n_head_kv);
    l->kind = mem_array(hp->n_layer, sizeof *l->kind);
    if (!l->layer_at || !l->n_head_kv || !l->kind) {
        kv_layout_fini(l);
        return fail(err, EW_ENOMEM, "KV cache: out of memory");
    }
    for (uint32_t i = 0; i < hp->n_layer; i++) {
        const uint32_t n = layers[i].n_head_kv, kind = layers[i].window ? KV_WINDOW : KV_FULL;

        l->n_head_kv[i] = n;
        l->kind[i] = (uint8_t)kind;
        l->layer_at[i] = l->page_bytes[kind];
        l->page_bytes[kind] += n * (head_bytes(l, l->k_row) + head_bytes(l, l->v_row));
        l->row_bytes[kind] += (uint64_t)n * (l->k_row + l->v_row);
    }
    return EW_OK;
}

void kv_layout_fini(kv_layout *l) {
    mem_free(l->layer_at);
    mem_free(l->n_head_kv);
    mem_free(l->kind);
    *l = (kv_layout){0};
}

static uint64_t pages_of(const kv_layout *l, uint64_t n_tokens) {
    return (n_tokens + l->page_tokens - 1) / l->page_tokens;
}

/* Tokens that stay behind the last one in layers with a window. */
static uint64_t kept_tokens(const kv_layout *l) {
    return (uint64_t)l->window + l->chunk;
}

uint64_t kv_bytes(const kv_layout *l, uint64_t n_tokens) {
    const uint64_t pages = pages_of(l, n_tokens);
    /* What is kept and a step's tokens, which begin and end within pages. */
    const uint64_t most = pages_of(l, kept_tokens(l) + l->chunk) + 1;
    uint64_t n = 0;

    if (l->page_bytes[KV_FULL]) n += pages * big_round(l->page_bytes[KV_FULL]);
    if (l->page_bytes[KV_WINDOW])
        n += (pages < most ? pages : most) * big_round(l->page_bytes[KV_WINDOW]);
    return n;
}

uint64_t kv_token_bytes(const kv_layout *l) {
    return l->row_bytes[KV_FULL] + l->row_bytes[KV_WINDOW];
}

uint32_t kv_seen_from(const kv_layout *l, uint32_t il, uint32_t n_tokens) {
    return l->kind[il] == KV_WINDOW && n_tokens > l->window ? n_tokens - l->window : 0;
}

uint64_t kv_seen_bytes(const kv_layout *l, uint64_t n_tokens) {
    const uint64_t n = n_tokens < l->window ? n_tokens : l->window;

    return l->row_bytes[KV_FULL] * n_tokens + l->row_bytes[KV_WINDOW] * n;
}

ew_status kv_init(kv_cache *c, const kv_layout *l, mem_budget *budget, uint32_t max_tokens,
                  ew_error *err) {
    *c = (kv_cache){.layout = l, .budget = budget};
    c->max_page = (uint32_t)pages_of(l, max_tokens);
    for (int kind = 0; kind < KV_KINDS; kind++) {
        if (!l->page_bytes[kind]) continue;
        c->page[kind] = mem_array(c->max_page, sizeof *c->page[kind]);
        if (c->page[kind]) continue;
        kv_fini(c);
        return fail(err, EW_ENOMEM, "KV cache: out of memory");
    }
    return EW_OK;
}

void kv_fini(kv_cache *c) {
    if (c->layout) kv_trim(c, 0);
    for (int kind = 0; kind < KV_KINDS; kind++) mem_free(c->page[kind]);
    *c = (kv_cache){0};
}

/* Is page p of the kind allocated, or to be, when the cache has it? */
static bool has_page(const kv_cache *c, int kind, uint32_t p) {
    const kv_layout *l = c->layout;

    return l->page_bytes[kind] && (kind == KV_FULL || p >= c->from / l->page_tokens);
}

static void drop_last(kv_cache *c) {
    c->n_page--;
    for (int kind = 0; kind < KV_KINDS; kind++)
        if (has_page(c, kind, c->n_page)) big_free(&c->page[kind][c->n_page]);
}

ew_status kv_reserve(kv_cache *c, uint32_t n_tokens, ew_error *err) {
    const kv_layout *l = c->layout;

    while ((uint64_t)c->n_page * l->page_tokens < n_tokens) {
        ew_status rc = EW_OK;

        if (c->n_page == c->max_page)
            return fail(err, EW_EFULL, "KV cache: all %u pages are in use", c->max_page);
        for (int kind = 0; kind < KV_KINDS && !rc; kind++)
            if (has_page(c, kind, c->n_page))
                rc = big_alloc(&c->page[kind][c->n_page], c->budget, EW_MEM_KV, l->page_bytes[kind],
                               "a page of the KV cache", err);
        c->n_page++;
        if (rc) {
            drop_last(c);
            return rc;
        }
    }
    return EW_OK;
}

void kv_trim(kv_cache *c, uint32_t n_tokens) {
    const uint32_t keep = (uint32_t)pages_of(c->layout, n_tokens);

    while (c->n_page > keep) drop_last(c);
    if (n_tokens == 0)
        c->from = 0;
    else if (c->from > n_tokens)
        c->from = UINT32_MAX; /* nothing is left: never whole until restarted */
}

void kv_leave(kv_cache *c, uint32_t n_tokens) {
    const kv_layout *l = c->layout;
    const uint64_t kept = kept_tokens(l);
    const uint32_t to = n_tokens > kept ? (uint32_t)(n_tokens - kept) / l->page_tokens : 0;

    if (!l->page_bytes[KV_WINDOW] || to <= c->from / l->page_tokens) return;
    for (uint32_t p = c->from / l->page_tokens; p < to; p++) big_free(&c->page[KV_WINDOW][p]);
    c->from = to * l->page_tokens;
}

bool kv_is_whole(const kv_cache *c, uint32_t n_tokens) {
    const uint32_t window = c->layout->window;

    if (!c->layout->page_bytes[KV_WINDOW]) return true;
    return c->from == 0 || (n_tokens + 1 > window && c->from <= n_tokens + 1 - window);
}

void kv_restart(kv_cache *c, uint32_t from) {
    kv_trim(c, 0);
    c->from = from;
}

uint8_t *kv_keys(const kv_cache *c, uint32_t il, uint32_t h, uint32_t p) {
    const kv_layout *l = c->layout;
    const size_t stride = head_bytes(l, l->k_row) + head_bytes(l, l->v_row);

    return (uint8_t *)c->page[l->kind[il]][p].data + l->layer_at[il] + h * stride;
}

uint8_t *kv_values(const kv_cache *c, uint32_t il, uint32_t h, uint32_t p) {
    return kv_keys(c, il, h, p) + head_bytes(c->layout, c->layout->k_row);
}
