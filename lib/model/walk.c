/* SPDX-License-Identifier: MIT
 *
 * The transformer walk. Every stage is shared out among the threads by tokens, by weight rows or by
 * (token, key/value head); the result of each item is computed by one thread in a fixed order, so
 * neither the number of threads nor the cut of a prompt into chunks changes a single bit.
 *
 *   norm, quantise | q k v | rope, store k v | attention, quantise | output + x
 *   norm, quantise | act(gate) * up | quantise | down + x
 *
 * Where a branch's output is normalised or scaled it goes to a place of its own, and a stage more
 * adds it to x. */
#include "model/walk.h"

#include "model/arch.h"
#include "model/rope.h"

#include <math.h>
#include <string.h>

enum {
    ALIGN = 64,        /* buffers start at cache lines */
    ACT_UNIT = 256,    /* 8-bit forms hold whole blocks */
    TOKENS_TAKE = 4,   /* tokens a thread takes at a time in per-token stages */
    LOGITS_TAKE = 4096 /* a multiple of any vector's length */
};

typedef struct {
    walk_space *w;
    pool *pool;
    const kern_table *k;
    uint32_t n_tok;
    size_t n_part;
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

/* Floats are made where others are made of them, or a weight takes them. */
static void carve_acts(carver *c, acts *a, unsigned forms, bool is_made, size_t chunk, size_t n) {
    const size_t padded = (n + ACT_UNIT - 1) / ACT_UNIT * ACT_UNIT;

    a->n = n;
    if (is_made || forms & 1u << ACT_F32) a->f32 = carve(c, (uint64_t)chunk * n * sizeof(float));
    for (act_form f = ACT_F32; f < ACT_COUNT; f++)
        if (f != ACT_F32 && forms >> f & 1u) a->q[f] = carve(c, chunk * act_bytes(f, padded));
}

static void lay_out_moe(carver *c, moe_space *s, const ew_model *m, size_t chunk) {
    const hparams *hp = &m->hp;
    const size_t n_row = chunk * hp->n_expert_used;

    s->scores = carve(c, (uint64_t)chunk * hp->n_expert * sizeof *s->scores);
    s->chosen = carve(c, n_row * sizeof *s->chosen);
    s->by = carve(c, n_row * sizeof *s->by);
    s->row = carve(c, n_row * sizeof *s->row);
    s->token = carve(c, n_row * sizeof *s->token);
    s->first = carve(c, (hp->n_expert + 1) * sizeof *s->first);
    s->active = carve(c, hp->n_expert * sizeof *s->active);
    carve_acts(c, &s->in, m->forms_expert_in, false, n_row, hp->n_embd);
    carve_acts(c, &s->hidden, m->forms_expert_out, true, n_row, hp->n_ff_expert);
    s->out = carve(c, (uint64_t)n_row * hp->n_embd * sizeof *s->out);
}

/* Is a branch's output added to the residual stream as it is? */
static bool is_direct(const ew_model *m, const float *post_norm) {
    return !post_norm && m->hp.residual_scale == 1;
}

static bool has_out(const ew_model *m) {
    if (m->hp.n_expert) return true;
    for (uint32_t i = 0; i < m->hp.n_layer; i++)
        if (!is_direct(m, m->layers[i].attn_post_norm) || !is_direct(m, m->layers[i].ffn_post_norm))
            return true;
    return false;
}

static attn_sizes attention_sizes(const ew_model *m, const kv_layout *l) {
    attn_sizes z = {.n_head = m->hp.n_head_max,
                    .dim_k = m->hp.head_dim_k,
                    .dim_v = m->hp.head_dim_v,
                    .page_tokens = l->page_tokens};

    for (uint32_t i = 0; i < m->hp.n_layer; i++) {
        const uint32_t group = m->layers[i].n_head / m->layers[i].n_head_kv;

        if (group > z.group) z.group = group;
    }
    return z;
}

static uint64_t lay_out(walk_space *w, uint8_t *base) {
    const ew_model *m = w->m;
    const hparams *hp = &m->hp;
    const size_t n_thread = (size_t)pool_size(m->engine->pool), chunk = w->chunk;
    carver c = {.base = base};

    w->attn = attention_sizes(m, w->layout);
    w->x = carve(&c, (uint64_t)chunk * hp->n_embd * sizeof(float));
    carve_acts(&c, &w->in, m->forms_attn_in | m->forms_ffn_in | m->forms_head, true,
               chunk > WALK_LOGIT_ROWS ? chunk : WALK_LOGIT_ROWS, hp->n_embd);
    carve_acts(&c, &w->att, m->forms_attn_out, true, chunk,
               (size_t)hp->n_head_max * hp->head_dim_v);
    carve_acts(&c, &w->ffn, m->forms_ffn_out, true, chunk, hp->n_ff_max);
    if (hp->n_expert) lay_out_moe(&c, &w->moe, m, chunk);
    w->q = carve(&c, (uint64_t)chunk * hp->n_head_max * hp->head_dim_k * sizeof(float));
    w->k = carve(&c, (uint64_t)chunk * hp->n_head_kv_max * hp->head_dim_k * sizeof(float));
    w->v = carve(&c, (uint64_t)chunk * hp->n_head_kv_max * hp->head_dim_v * sizeof(float));
    if (has_out(m)) w->out = carve(&c, (uint64_t)chunk * hp->n_embd * sizeof(float));
    for (int i = 0; i < ROPE_SETS; i++) {
        w->rope[i].cs = carve(&c, (uint64_t)chunk * hp->rope[i].n_rot * sizeof(float));
        w->rope[i].freq = carve(&c, hp->rope[i].n_rot / 2 * sizeof(double));
    }
    w->logits = carve(&c, (uint64_t)WALK_LOGIT_ROWS * hp->n_vocab * sizeof(float));
    w->at = carve(&c, chunk * sizeof *w->at);
    w->parts = carve(&c, chunk * sizeof *w->parts);
    w->spans = carve(&c, attn_span_floats(&w->attn) * sizeof(float));
    w->attn_work = carve(&c, n_thread * attn_work_floats(&w->attn) * sizeof(float));
    w->work = carve(&c, n_thread * sizeof *w->work);
    for (size_t i = 0; i < n_thread; i++) {
        cpu_work work = {
            .ith = (int)i,
            .tile = carve(&c, cpu_tile_floats(chunk > WALK_LOGIT_ROWS ? chunk : WALK_LOGIT_ROWS) *
                                  sizeof(float)),
            .row = carve(&c, m->n_in_max * sizeof(float)),
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
                          uint32_t ctx_tokens, ew_error *err) {
    ew_status rc;

    *w = (walk_space){.m = m, .chunk = chunk, .layout = l};
    rc = big_alloc(&w->block, &m->engine->budget, EW_MEM_SCRATCH, lay_out(w, NULL),
                   "the work space of a step", err);
    if (rc) return rc;
    lay_out(w, w->block.data);
    for (int i = 0; i < ROPE_SETS; i++)
        rope_frequencies(&m->hp.rope[i], rope_is_long(&m->hp.rope[i], ctx_tokens), w->rope[i].freq,
                         &w->rope[i].magnitude);
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
            float *x = w->x + t * hp->n_embd;

            cpu_embed(w->m->engine, &w->m->embd, w->at[t].token, x);
            for (uint32_t i = 0; i < hp->n_embd && hp->embd_scale != 1; i++) x[i] *= hp->embd_scale;
            for (int i = 0; i < ROPE_SETS; i++)
                rope_table(w->rope[i].cs + t * hp->rope[i].n_rot, w->rope[i].freq,
                           w->rope[i].magnitude, hp->rope[i].n_rot / 2, w->at[t].pos);
        }
}

/* A norm of the architecture's kind over n values; without weights a copy. */
static void normalise(const step *s, float *y, const float *x, const float *w, const float *bias,
                      size_t n) {
    const float eps = s->w->m->hp.norm_eps;

    if (!w && y != x) memcpy(y, x, n * sizeof *y);
    if (!w) return;
    if (s->w->m->arch->norm == NORM_LAYER)
        s->k->layer_norm(y, x, w, bias, n, eps);
    else
        s->k->rms_norm(y, x, w, n, eps);
}

static void stage_norm(step *s, const float *norm, const float *bias, unsigned forms) {
    walk_space *w = s->w;
    const size_t n = w->m->hp.n_embd;
    size_t b, e;

    while (pool_take(s->pool, s->n_tok, TOKENS_TAKE, &b, &e))
        for (size_t t = b; t < e; t++) {
            normalise(s, w->in.f32 + t * n, w->x + t * n, norm, bias, n);
            cpu_quantise(w->m->engine, &w->in, forms, t);
        }
}

static void stage_quantise(step *s, const acts *a, size_t n_row, unsigned forms) {
    size_t b, e;

    while (pool_take(s->pool, n_row, TOKENS_TAKE, &b, &e))
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

/* W a + bias: added to the residual stream, or with a norm or a scale to come put into w->out. */
static void stage_out(step *s, const weight *wt, const float *bias, const float *post_norm,
                      const acts *a, cpu_work *work) {
    walk_space *w = s->w;
    const bool is_add = is_direct(w->m, post_norm);
    const product p = {.w = wt,
                       .bias = bias,
                       .y = is_add ? w->x : w->out,
                       .y_stride = w->m->hp.n_embd,
                       .is_add = is_add};

    cpu_products(w->m->engine, work, &p, 1, a, s->n_tok);
}

/* Adds what is in w->out to the residual stream, normalised and scaled. Its own barrier. */
static void stage_join(step *s, const float *post_norm) {
    walk_space *w = s->w;
    const size_t n = w->m->hp.n_embd;
    const float scale = w->m->hp.residual_scale;
    size_t b, e;

    if (is_direct(w->m, post_norm)) return;
    while (pool_take(s->pool, s->n_tok, TOKENS_TAKE, &b, &e))
        for (size_t t = b; t < e; t++) {
            float *y = w->out + t * n;

            normalise(s, y, y, post_norm, NULL, n);
            s->k->axpy_f32(w->x + t * n, scale, y, n);
        }
    pool_barrier(s->pool);
}

/* Norms of q's or k's heads. */
static void normalise_heads(const step *s, float *x, const float *norm, uint32_t n_head,
                            uint32_t n) {
    const norm_span span = s->w->m->arch->qk_span;

    if (!norm) return;
    if (span == SPAN_WHOLE) {
        normalise(s, x, x, norm, NULL, (size_t)n_head * n);
        return;
    }
    for (uint32_t h = 0; h < n_head; h++)
        normalise(s, x + h * n, x + h * n, span == SPAN_APART ? norm + h * n : norm, NULL, n);
}

static void rotate(const step *s, const layer *l, size_t t, float *x, uint32_t n_head) {
    const walk_space *w = s->w;
    const uint32_t n_rot = l->rope_set == ROPE_NOT ? 0 : w->m->hp.rope[l->rope_set].n_rot;
    void (*rope)(float *, const float *, size_t) =
        w->m->arch->rope == ROPE_NEOX ? s->k->rope_neox : s->k->rope_norm;

    if (!n_rot) return;
    for (uint32_t h = 0; h < n_head; h++)
        rope(x + h * l->head_dim_k, w->rope[l->rope_set].cs + t * n_rot, n_rot);
}

/* Queries are sharpened with their position. */
static void temper(const step *s, const layer *l, size_t t, float *q) {
    const hparams *hp = &s->w->m->hp;
    const double steps = floor(s->w->at[t].pos / hp->temp_floor);
    const float by = (float)(1 + hp->temp_scale * log(1 + steps));

    for (uint32_t i = 0; i < l->n_head * l->head_dim_k; i++) q[i] *= by;
}

/* Writes the keys and values of token t into its cache. */
static void store(const step *s, const layer *l, uint32_t il, size_t t) {
    const walk_space *w = s->w;
    const walk_token *at = &w->at[t];
    const float *k = w->k + t * l->wk.n_out, *v = w->v + t * l->wv.n_out;
    const uint32_t page = w->layout->page_tokens, row = at->pos % page;

    for (uint32_t h = 0; h < l->n_head_kv; h++) {
        uint8_t *keys = kv_keys(at->kv, il, h, at->pos / page);
        uint8_t *values = kv_values(at->kv, il, h, at->pos / page);

        s->k->kv_store[w->layout->k](keys + row * w->layout->k_row, k + h * l->head_dim_k,
                                     l->head_dim_k);
        s->k->kv_store[w->layout->v](values + row * w->layout->v_row, v + h * l->head_dim_v,
                                     l->head_dim_v);
    }
}

/* Normalises and rotates q and k, and writes k and v of the new tokens into the caches. */
static void stage_store(step *s, const layer *l, uint32_t il) {
    walk_space *w = s->w;
    size_t t, e;

    while (pool_take(s->pool, s->n_tok, 1, &t, &e)) {
        float *q = w->q + t * l->wq.n_out, *k = w->k + t * l->wk.n_out;

        normalise_heads(s, q, l->q_norm, l->n_head, l->head_dim_k);
        normalise_heads(s, k, l->k_norm, l->n_head_kv, l->head_dim_k);
        rotate(s, l, t, q, l->n_head);
        rotate(s, l, t, k, l->n_head_kv);
        if (w->m->hp.temp_scale != 0) temper(s, l, t, q);
        store(s, l, il, t);
    }
}

static attention layer_attention(const step *s, const layer *l, uint32_t il) {
    const walk_space *w = s->w;

    return (attention){.k = s->k,
                       .layout = w->layout,
                       .sizes = w->attn,
                       .il = il,
                       .n_head = l->n_head,
                       .n_head_kv = l->n_head_kv,
                       .dim_k = l->head_dim_k,
                       .dim_v = l->head_dim_v,
                       .scale = l->attn_scale,
                       .softcap = w->m->hp.attn_softcap,
                       .window = l->window,
                       .sinks = l->sinks,
                       .parts = w->parts,
                       .n_part = s->n_part,
                       .q = w->q,
                       .out = w->att.f32,
                       .spans = w->spans};
}

/* Joins what the threads found for the spans of a token's keys, and quantises the result. */
static void stage_join_spans(step *s, const attention *a, const acts *att) {
    attn_cursor c = {0};
    size_t b, e;

    while (pool_take(s->pool, s->n_tok, 1, &b, &e)) {
        attn_join(a, &c, (uint32_t)b);
        cpu_quantise(s->w->m->engine, att, s->w->m->forms_attn_out, b);
    }
}

/* The activation of the architecture's feed-forward. */
static glu activation(const step *s) {
    switch (s->w->m->arch->ffn) {
    case FFN_SILU:
        return s->k->silu_mul;
    case FFN_GELU:
    case FFN_GELU_PLAIN:
        return s->k->gelu_mul;
    case FFN_CLAMPED:
        return s->k->swiglu_clamped;
    }
    return NULL;
}

/* ---- the feed-forward of a dense layer ------------------------------------------------------ */

static void dense(step *s, const layer *l, cpu_work *work) {
    walk_space *w = s->w;
    const gate_up p = {.gate = weight_exists(&l->gate) ? &l->gate : NULL,
                       .up = &l->up,
                       .b_gate = l->b_gate,
                       .b_up = l->b_up,
                       .act = activation(s)};
    acts ffn = w->ffn; /* as wide as this layer's */

    ffn.n = l->n_ff;
    cpu_gate_up(w->m->engine, work, &p, &w->in, ffn.f32, s->n_tok);
    pool_barrier(s->pool);
    stage_quantise(s, &ffn, s->n_tok, w->m->forms_ffn_out);
    pool_barrier(s->pool);
    stage_out(s, &l->down, l->b_down, l->ffn_post_norm, &ffn, work);
    pool_barrier(s->pool);
    stage_join(s, l->ffn_post_norm);
}

/* ---- the feed-forward of experts ------------------------------------------------------------ */

/* What all tokens share, into w->out. */
static void shared_expert(step *s, const layer *l, cpu_work *work) {
    walk_space *w = s->w;
    const gate_up up = {.gate = &l->s_gate, .up = &l->s_up, .act = activation(s)};
    const product down = {.w = &l->s_down, .y = w->out, .y_stride = w->m->hp.n_embd};
    acts ffn = w->ffn;

    ffn.n = l->s_up.n_out;
    cpu_gate_up(w->m->engine, work, &up, &w->in, ffn.f32, s->n_tok);
    pool_barrier(s->pool);
    stage_quantise(s, &ffn, s->n_tok, w->m->forms_ffn_out);
    pool_barrier(s->pool);
    cpu_products(w->m->engine, work, &down, 1, &ffn, s->n_tok);
    pool_barrier(s->pool);
}

static void stage_choose(step *s, const layer *l) {
    const hparams *hp = &s->w->m->hp;
    const moe_space *x = &s->w->moe;
    size_t b, e;

    while (pool_take(s->pool, s->n_tok, TOKENS_TAKE, &b, &e))
        for (size_t t = b; t < e; t++)
            moe_choose(hp, l->b_choice, x->scores + t * hp->n_expert,
                       x->chosen + t * hp->n_expert_used, x->by + t * hp->n_expert_used);
}

/* The rows of an expert one after another. A single token is read where it is. */
static void stage_gather(step *s) {
    const walk_space *w = s->w;
    const acts *from = &w->in, *to = &w->moe.in;
    size_t b, e;

    while (pool_take(s->pool, (size_t)s->n_tok * w->m->hp.n_expert_used, TOKENS_TAKE, &b, &e))
        for (size_t i = b; i < e; i++) {
            const size_t t = w->moe.token[i], n = from->n * sizeof(float);

            if (to->f32) memcpy(to->f32 + i * to->n, from->f32 + t * from->n, n);
            for (act_form f = ACT_F32; f < ACT_COUNT; f++) {
                const size_t bytes = act_bytes(f, from->n);

                if (f != ACT_F32 && to->q[f])
                    memcpy((uint8_t *)to->q[f] + i * bytes, (uint8_t *)from->q[f] + t * bytes,
                           bytes);
            }
        }
}

static float sigmoid_of(const step *s, const float *router, size_t t) {
    const acts *in = &s->w->in;

    return 1 / (1 + expf(-s->k->dot_f32(router, in->f32 + t * in->n, in->n)));
}

/* Adds up each token's rows in the order of its choice, and the shared expert's. */
static void stage_combine(step *s, const layer *l) {
    const walk_space *w = s->w;
    const hparams *hp = &w->m->hp;
    const size_t n = hp->n_embd, used = hp->n_expert_used;
    size_t b, e;

    while (pool_take(s->pool, s->n_tok, 1, &b, &e)) {
        float *y = w->out + b * n;

        if (!hp->n_ff_shared) memset(y, 0, n * sizeof *y);
        if (l->s_router) {
            const float by = sigmoid_of(s, l->s_router, b);

            for (size_t i = 0; i < n; i++) y[i] *= by;
        }
        for (size_t k = 0; k < used; k++)
            s->k->axpy_f32(y, w->moe.by[b * used + k], w->moe.out + w->moe.row[b * used + k] * n,
                           n);
        if (is_direct(w->m, l->ffn_post_norm)) s->k->add_f32(w->x + b * n, y, n);
    }
}

static void experts(step *s, const layer *l, cpu_work *work, int ith) {
    walk_space *w = s->w;
    const ew_model *m = w->m;
    moe_space *x = &w->moe;
    const product route = {
        .w = &l->router, .bias = l->b_router, .y = x->scores, .y_stride = m->hp.n_expert};
    const gate_up up = {.gate = &l->x_gate,
                        .up = &l->x_up,
                        .b_gate = l->bx_gate,
                        .b_up = l->bx_up,
                        .act = activation(s)};
    expert_rows rows = {.first = x->first, .active = x->active, .is_one_token = s->n_tok == 1};

    if (m->hp.n_ff_shared) shared_expert(s, l, work);
    cpu_products(m->engine, work, &route, 1, &w->in, s->n_tok);
    pool_barrier(s->pool);
    stage_choose(s, l);
    pool_barrier(s->pool);
    if (ith == 0) moe_group(&m->hp, x, s->n_tok);
    pool_barrier(s->pool);
    rows.n_active = x->n_active;
    if (!rows.is_one_token) {
        stage_gather(s);
        pool_barrier(s->pool);
    }
    cpu_experts_gate_up(m->engine, work, &up, &rows, rows.is_one_token ? &w->in : &x->in,
                        x->hidden.f32);
    pool_barrier(s->pool);
    stage_quantise(s, &x->hidden, (size_t)s->n_tok * m->hp.n_expert_used, m->forms_expert_out);
    pool_barrier(s->pool);
    cpu_experts_down(m->engine, work, &l->x_down, l->bx_down, &rows, &x->hidden, x->out);
    pool_barrier(s->pool);
    stage_combine(s, l);
    pool_barrier(s->pool);
    stage_join(s, l->ffn_post_norm);
}

/* False when cancelled: all threads agree, since they read what thread 0 saw. */
static bool walk_layer(step *s, uint32_t il, int ith) {
    walk_space *w = s->w;
    const ew_model *m = w->m;
    const layer *l = &m->layers[il];
    const attention attn = layer_attention(s, l, il);
    cpu_work *work = &w->work[ith];
    acts att = w->att; /* as wide as this layer's */

    att.n = l->wo.n_in;
    if (ith == 0) s->is_stopped = atomic_load_explicit(s->cancel, memory_order_relaxed);
    stage_norm(s, l->attn_norm, l->attn_norm_b,
               m->forms_attn_in | (m->arch->is_parallel ? m->forms_ffn_in : 0));
    pool_barrier(s->pool);
    if (s->is_stopped) return false;
    stage_qkv(s, l, work);
    pool_barrier(s->pool);
    stage_store(s, l, il);
    pool_barrier(s->pool);
    attn_spans(&attn, s->pool, w->attn_work + (size_t)ith * attn_work_floats(&w->attn));
    pool_barrier(s->pool);
    stage_join_spans(s, &attn, &att);
    pool_barrier(s->pool);
    stage_out(s, &l->wo, l->bo, l->attn_post_norm, &att, work);
    pool_barrier(s->pool);
    stage_join(s, l->attn_post_norm);
    if (!m->arch->is_parallel) {
        stage_norm(s, l->ffn_norm, l->ffn_norm_b, m->forms_ffn_in);
        pool_barrier(s->pool);
    }
    if (l->is_moe)
        experts(s, l, work, ith);
    else
        dense(s, l, work);
    return true;
}

/* What the architecture does to logits. */
static void finish_logits(step *s) {
    const walk_space *w = s->w;
    const hparams *hp = &w->m->hp;
    size_t b, e;

    if (hp->logit_scale == 1 && hp->logit_softcap == 0) return;
    pool_barrier(s->pool);
    while (pool_take(s->pool, s->n_logit * hp->n_vocab, LOGITS_TAKE, &b, &e)) {
        for (size_t i = b; i < e; i++) w->logits[i] *= hp->logit_scale;
        if (hp->logit_softcap > 0) s->k->softcap(w->logits + b, hp->logit_softcap, e - b);
    }
}

/* Final norm and output head for the rows asked for. */
static void walk_head(step *s, int ith) {
    walk_space *w = s->w;
    const ew_model *m = w->m;
    const size_t n = m->hp.n_embd;
    const product p = {.w = &m->head, .y = w->logits, .y_stride = m->hp.n_vocab};
    size_t b, e;

    while (pool_take(s->pool, s->n_logit, 1, &b, &e)) {
        normalise(s, w->in.f32 + b * n, w->x + s->logit_of[b] * n, m->out_norm, m->out_norm_b, n);
        cpu_quantise(m->engine, &w->in, m->forms_head, b);
    }
    pool_barrier(s->pool);
    cpu_products(m->engine, &w->work[ith], &p, 1, &w->in, s->n_logit);
    finish_logits(s);
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

    for (size_t i = 0; i < n_part; i++) {
        if (parts[i].n == 0) continue;
        w->parts[s.n_part++] =
            (attn_part){.kv = parts[i].kv, .at = s.n_tok, .pos = parts[i].pos, .n = parts[i].n};
        for (uint32_t j = 0; j < parts[i].n; j++)
            w->at[s.n_tok++] = (walk_token){
                .kv = parts[i].kv, .token = parts[i].tokens[j], .pos = parts[i].pos + j};
    }
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
