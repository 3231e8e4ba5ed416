/* SPDX-License-Identifier: MIT
 *
 * The transformer walk. Every stage is shared out among the threads by tokens, by weight rows or by
 * (token, key/value head); the result of each item is computed by one thread in a fixed order, so
 * neither the number of threads nor the cut of a prompt into chunks changes a single bit.
 *
 *   norm, quantise | q k v | rope, store k v | attention, quantise | output + x
 *   norm, quantise | silu(gate) * up | quantise | down + x */
#include "model/walk.h"

#include "model/arch.h"
#include "model/rope.h"

#include <math.h>
#include <string.h>

enum {
    ALIGN = 64,     /* buffers start at cache lines */
    ACT_UNIT = 256, /* 8-bit forms hold whole blocks */
    TOKENS_TAKE = 4 /* tokens a thread takes at a time in per-token stages */
};

typedef struct {
    walk_space *w;
    pool *pool;
    const kern_table *k;
    uint32_t n_tok;
    const uint32_t *logit_of;
    size_t n_logit;
    atomic_bool *cancel;
    bool is_stopped; /* written by thread 0 before a barrier, read by all after it */
} step;

/* ---- work space ----------------------------------------------------------------------------- */

/* Hands out consecutive pieces of a block; with base NULL it only adds up. */
typedef struct {
    uint8_t *base;
    uint64_t at;
} carver;

static void *carve(carver *c, uint64_t bytes) {
    void *p = c->base ? c->base + c->at : NULL;

    c->at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return p;
}

static void carve_acts(carver *c, acts *a, unsigned forms, size_t chunk, size_t n) {
    const size_t padded = (n + ACT_UNIT - 1) / ACT_UNIT * ACT_UNIT;

    a->n = n;
    a->f32 = carve(c, (uint64_t)chunk * n * sizeof(float));
    for (act_form f = ACT_F32; f < ACT_COUNT; f++)
        if (f != ACT_F32 && forms >> f & 1u) a->q[f] = carve(c, chunk * act_bytes(f, padded));
}

static uint64_t lay_out(walk_space *w, uint8_t *base) {
    const ew_model *m = w->m;
    const hparams *hp = &m->hp;
    const size_t n_thread = (size_t)pool_size(m->engine->pool), chunk = w->chunk;
    carver c = {.base = base};

    w->x = carve(&c, (uint64_t)chunk * hp->n_embd * sizeof(float));
    carve_acts(&c, &w->in, m->forms_attn_in | m->forms_ffn_in | m->forms_head,
               chunk > WALK_LOGIT_ROWS ? chunk : WALK_LOGIT_ROWS, hp->n_embd);
    carve_acts(&c, &w->att, m->forms_attn_out, chunk, (size_t)hp->n_head_max * hp->head_dim_v);
    carve_acts(&c, &w->ffn, m->forms_ffn_out, chunk, hp->n_ff_max);
    w->q = carve(&c, (uint64_t)chunk * hp->n_head_max * hp->head_dim_k * sizeof(float));
    w->k = carve(&c, (uint64_t)chunk * hp->n_head_kv_max * hp->head_dim_k * sizeof(float));
    w->v = carve(&c, (uint64_t)chunk * hp->n_head_kv_max * hp->head_dim_v * sizeof(float));
    w->cs = carve(&c, (uint64_t)chunk * hp->rope.n_rot * sizeof(float));
    w->freq = carve(&c, hp->rope.n_rot / 2 * sizeof(double));
    w->logits = carve(&c, (uint64_t)WALK_LOGIT_ROWS * hp->n_vocab * sizeof(float));
    w->at = carve(&c, chunk * sizeof *w->at);
    w->work = carve(&c, n_thread * sizeof *w->work);
    for (size_t i = 0; i < n_thread; i++) {
        cpu_work work = {
            .tile = carve(&c, cpu_tile_floats(chunk > WALK_LOGIT_ROWS ? chunk : WALK_LOGIT_ROWS) *
                                  sizeof(float)),
            .row = carve(&c, m->n_in_max * sizeof(float)),
            .scores =
                carve(&c, (uint64_t)hp->n_head_max * (w->layout->page_tokens + 3) * sizeof(float)),
        };

        if (base) w->work[i] = work;
    }
    return c.at;
}

uint64_t walk_space_bytes(const ew_model *m, const kv_layout *l, uint32_t chunk) {
    walk_space w = {.m = m, .chunk = chunk, .layout = l};

    return big_round(lay_out(&w, NULL));
}

ew_status walk_space_init(walk_space *w, const ew_model *m, const kv_layout *l, uint32_t chunk,
                          ew_error *err) {
    ew_status rc;

    *w = (walk_space){.m = m, .chunk = chunk, .layout = l};
    rc = big_alloc(&w->block, &m->engine->budget, EW_MEM_SCRATCH, lay_out(w, NULL),
                   "the work space of a step", err);
    if (rc) return rc;
    lay_out(w, w->block.data);
    rope_frequencies(&m->hp.rope, w->freq, &w->magnitude);
    return EW_OK;
}

void walk_space_fini(walk_space *w) {
    big_free(&w->block);
    *w = (walk_space){0};
}

/* ---- stages --------------------------------------------------------------------------------- */

/* Embedding rows and rotary tables of all tokens. */
static void stage_embed(step *s) {
    walk_space *w = s->w;
    const hparams *hp = &w->m->hp;
    size_t b, e;

    while (pool_take(s->pool, s->n_tok, TOKENS_TAKE, &b, &e))
        for (size_t t = b; t < e; t++) {
            cpu_embed(w->m->engine, &w->m->embd, w->at[t].token, w->x + t * hp->n_embd);
            rope_table(w->cs + t * hp->rope.n_rot, w->freq, w->magnitude, hp->rope.n_rot / 2,
                       w->at[t].pos);
        }
}

static void stage_norm(step *s, const float *norm, unsigned forms) {
    walk_space *w = s->w;
    const size_t n = w->m->hp.n_embd;
    size_t b, e;

    while (pool_take(s->pool, s->n_tok, TOKENS_TAKE, &b, &e))
        for (size_t t = b; t < e; t++) {
            s->k->rms_norm(w->in.f32 + t * n, w->x + t * n, norm, n, w->m->hp.norm_eps);
            cpu_quantise(w->m->engine, &w->in, forms, t);
        }
}

static void stage_quantise(step *s, const acts *a, unsigned forms) {
    size_t b, e;

    while (pool_take(s->pool, s->n_tok, TOKENS_TAKE, &b, &e))
        for (size_t t = b; t < e; t++) cpu_quantise(s->w->m->engine, a, forms, t);
}

static void stage_qkv(step *s, const layer *l, cpu_work *work) {
    walk_space *w = s->w;
    const product p[] = {
        {.w = &l->wq, .bias = l->bq, .y = w->q, .y_stride = l->wq.n_out},
        {.w = &l->wk, .bias = l->bk, .y = w->k, .y_stride = l->wk.n_out},
        {.w = &l->wv, .bias = l->bv, .y = w->v, .y_stride = l->wv.n_out},
    };

    cpu_products(w->m->engine, work, p, 3, &w->in, s->n_tok);
}

/* Adds W a + bias to the residual stream. */
static void stage_add(step *s, const weight *wt, const float *bias, const acts *a, cpu_work *work) {
    walk_space *w = s->w;
    const product p = {
        .w = wt, .bias = bias, .y = w->x, .y_stride = w->m->hp.n_embd, .is_add = true};

    cpu_products(w->m->engine, work, &p, 1, a, s->n_tok);
}

/* Rotates q and k, and writes k and v of the new tokens into the caches. */
static void stage_store(step *s, const layer *l, uint32_t il) {
    walk_space *w = s->w;
    const hparams *hp = &w->m->hp;
    void (*rope)(float *, const float *, size_t) =
        w->m->arch->rope == ROPE_NEOX ? s->k->rope_neox : s->k->rope_norm;
    const uint32_t page = w->layout->page_tokens;
    size_t b, e;

    while (pool_take(s->pool, s->n_tok, 1, &b, &e)) {
        const walk_token *at = &w->at[b];
        const float *cs = w->cs + b * hp->rope.n_rot;
        float *q = w->q + b * l->wq.n_out, *k = w->k + b * l->wk.n_out, *v = w->v + b * l->wv.n_out;

        for (uint32_t h = 0; h < l->n_head; h++) rope(q + h * hp->head_dim_k, cs, hp->rope.n_rot);
        for (uint32_t h = 0; h < l->n_head_kv; h++) {
            const uint32_t row = at->pos % page;
            uint8_t *keys = kv_keys(at->kv, il, h, at->pos / page);
            uint8_t *values = kv_values(at->kv, il, h, at->pos / page);

            rope(k + h * hp->head_dim_k, cs, hp->rope.n_rot);
            s->k->kv_store[w->layout->k](keys + row * w->layout->k_row, k + h * hp->head_dim_k,
                                         hp->head_dim_k);
            s->k->kv_store[w->layout->v](values + row * w->layout->v_row, v + h * hp->head_dim_v,
                                         hp->head_dim_v);
        }
    }
}

/* Attention of one token's query heads that share key/value head h: running softmax over pages.
 * best, sum, keep: [group]; scores: [group, page_tokens]. */
static void attend(const step *s, const layer *l, uint32_t il, size_t t, uint32_t h,
                   const cpu_work *work) {
    const walk_space *w = s->w;
    const hparams *hp = &w->m->hp;
    const walk_token *at = &w->at[t];
    const uint32_t group = l->n_head / l->n_head_kv, page = w->layout->page_tokens;
    const float scale = 1.0f / sqrtf((float)hp->head_dim_k);
    const float *q = w->q + t * l->wq.n_out + (size_t)h * group * hp->head_dim_k;
    float *out = w->att.f32 + (t * l->n_head + (size_t)h * group) * hp->head_dim_v;
    float *best = work->scores, *sum = best + group, *keep = sum + group, *scores = keep + group;

    memset(out, 0, sizeof *out * group * hp->head_dim_v);
    for (uint32_t g = 0; g < group; g++) {
        best[g] = -INFINITY;
        sum[g] = 0;
    }
    for (uint32_t p = 0; p * page <= at->pos; p++) {
        const uint32_t left = at->pos + 1 - p * page, n = left < page ? left : page;

        s->k->attn_qk[w->layout->k](scores, page, q, kv_keys(at->kv, il, h, p), scale, group, n,
                                    hp->head_dim_k);
        for (uint32_t g = 0; g < group; g++) {
            const float top = s->k->max_f32(scores + (size_t)g * page, n);
            const float now = top > best[g] ? top : best[g];

            keep[g] = expf(best[g] - now);
            sum[g] = sum[g] * keep[g] + s->k->exp_sum(scores + (size_t)g * page, now, n);
            best[g] = now;
        }
        s->k->attn_pv[w->layout->v](out, keep, scores, page, kv_values(at->kv, il, h, p), group, n,
                                    hp->head_dim_v);
    }
    for (uint32_t g = 0; g < group; g++)
        for (uint32_t i = 0; i < hp->head_dim_v; i++) out[g * hp->head_dim_v + i] /= sum[g];
}

static void stage_attention(step *s, const layer *l, uint32_t il, const cpu_work *work) {
    size_t b, e;

    while (pool_take(s->pool, (size_t)s->n_tok * l->n_head_kv, 1, &b, &e))
        attend(s, l, il, b / l->n_head_kv, (uint32_t)(b % l->n_head_kv), work);
}

/* False when cancelled: all threads agree, since they read what thread 0 saw. */
static bool walk_layer(step *s, uint32_t il, int ith) {
    walk_space *w = s->w;
    const ew_model *m = w->m;
    const layer *l = &m->layers[il];
    cpu_work *work = &w->work[ith];
    acts att = w->att, ffn = w->ffn; /* as wide as this layer's */

    att.n = l->wo.n_in;
    ffn.n = l->n_ff;
    if (ith == 0) s->is_stopped = atomic_load_explicit(s->cancel, memory_order_relaxed);
    stage_norm(s, l->attn_norm, m->forms_attn_in);
    pool_barrier(s->pool);
    if (s->is_stopped) return false;
    stage_qkv(s, l, work);
    pool_barrier(s->pool);
    stage_store(s, l, il);
    pool_barrier(s->pool);
    stage_attention(s, l, il, work);
    pool_barrier(s->pool);
    stage_quantise(s, &att, m->forms_attn_out);
    pool_barrier(s->pool);
    stage_add(s, &l->wo, l->bo, &att, work);
    pool_barrier(s->pool);
    stage_norm(s, l->ffn_norm, m->forms_ffn_in);
    pool_barrier(s->pool);
    cpu_gate_up(m->engine, work, &l->gate, &l->up, &w->in, w->ffn.f32, s->n_tok);
    pool_barrier(s->pool);
    stage_quantise(s, &ffn, m->forms_ffn_out);
    pool_barrier(s->pool);
    stage_add(s, &l->down, NULL, &ffn, work);
    pool_barrier(s->pool);
    return true;
}

/* Final norm and output head for the rows asked for. */
static void walk_head(step *s, int ith) {
    walk_space *w = s->w;
    const ew_model *m = w->m;
    const size_t n = m->hp.n_embd;
    const product p = {.w = &m->head, .y = w->logits, .y_stride = m->hp.n_vocab};
    size_t b, e;

    while (pool_take(s->pool, s->n_logit, 1, &b, &e)) {
        s->k->rms_norm(w->in.f32 + b * n, w->x + s->logit_of[b] * n, m->out_norm, n,
                       m->hp.norm_eps);
        cpu_quantise(m->engine, &w->in, m->forms_head, b);
    }
    pool_barrier(s->pool);
    cpu_products(m->engine, &w->work[ith], &p, 1, &w->in, s->n_logit);
}

static void run_step(void *arg, int ith) {
    step *s = arg;

    stage_embed(s);
    pool_barrier(s->pool);
    for (uint32_t il = 0; il < s->w->m->hp.n_layer; il++)
        if (!walk_layer(s, il, ith)) return;
    if (s->n_logit) walk_head(s, ith);
}

static void run_head(void *arg, int ith) {
    walk_head(arg, ith);
}

ew_status walk_step(walk_space *w, const walk_part *parts, size_t n_part, const uint32_t *logit_of,
                    size_t n_logit, atomic_bool *cancel, ew_error *err) {
    step s = {.w = w,
              .pool = w->m->engine->pool,
              .k = &w->m->engine->kern,
              .logit_of = logit_of,
              .n_logit = n_logit,
              .cancel = cancel};

    for (size_t i = 0; i < n_part; i++)
        for (uint32_t j = 0; j < parts[i].n; j++)
            w->at[s.n_tok++] = (walk_token){
                .kv = parts[i].kv, .token = parts[i].tokens[j], .pos = parts[i].pos + j};
    pool_run(s.pool, run_step, &s);
    return s.is_stopped ? fail(err, EW_ECANCEL, "cancelled") : EW_OK;
}

void walk_logits(walk_space *w, const uint32_t *logit_of, size_t n_logit) {
    step s = {.w = w,
              .pool = w->m->engine->pool,
              .k = &w->m->engine->kern,
              .logit_of = logit_of,
              .n_logit = n_logit};

    pool_run(s.pool, run_head, &s);
}
