/* SPDX-License-Identifier: MIT */
#include "model/attention.h"

#include "kernels/exp.h"

#include <math.h>
#include <string.h>

enum {
    SPAN_TOKENS = 512, /* of keys; whole pages */
    BLOCK_ROWS = 64,   /* of queries that go over a page together */
    CONVERT_ROWS = 9,  /* from so many rows on a page is converted to floats first */
    SPANS_KEPT = 256,  /* results of spans that one token may have: 128 Ki keys */
    LINE_FLOATS = 16   /* pieces of work space start at cache lines */
};

/* Rows of running softmaxes. A row that has seen no key yet has sum 0. */
typedef struct {
    float *best, *sum; /* [rows] */
    float *out;        /* [rows, dim_v] */
} softmax;

/* A thread's work space. */
typedef struct {
    float *q;            /* [rows, dim_k] */
    float *scores;       /* [rows, page_tokens] */
    float *keep, *whole; /* [rows] factors of what a row has so far; ones */
    float *keys;         /* [page_tokens, dim_k] converted */
    float *values;       /* [page_tokens, dim_v] */
    softmax span, all;
} attn_work;

/* Rows of one block, keys of one page. */
typedef struct {
    const attention *a;
    attn_work w;
    const kv_cache *kv;
    uint32_t h;             /* key/value head */
    uint32_t group, pos, n; /* rows a token; position of the first token; tokens */
    uint32_t n_keys;        /* of the sequence */
    const float *q;         /* [n * group, dim_k] */
    softmax *to;
} block;

/* ---- work space ----------------------------------------------------------------------------- */

static size_t rows_max(const attn_sizes *z) {
    return z->group > BLOCK_ROWS ? z->group : BLOCK_ROWS;
}

/* Hands out pieces of a space; with base NULL it only adds up. */
static float *cut(float *base, size_t *at, size_t n) {
    float *p = base ? base + *at : NULL;

    *at += (n + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
    return p;
}

static softmax cut_softmax(float *base, size_t *at, size_t rows, size_t dim_v) {
    softmax s;

    s.best = cut(base, at, rows);
    s.sum = cut(base, at, rows);
    s.out = cut(base, at, rows * dim_v);
    return s;
}

static size_t lay_out(attn_work *w, float *base, const attn_sizes *z) {
    const size_t rows = rows_max(z);
    size_t at = 0;

    w->q = cut(base, &at, rows * z->dim_k);
    w->scores = cut(base, &at, rows * z->page_tokens);
    w->keep = cut(base, &at, rows);
    w->whole = cut(base, &at, rows);
    w->keys = cut(base, &at, (size_t)z->page_tokens * z->dim_k);
    w->values = cut(base, &at, (size_t)z->page_tokens * z->dim_v);
    w->span = cut_softmax(base, &at, rows, z->dim_v);
    w->all = cut_softmax(base, &at, rows, z->dim_v);
    return at;
}

size_t attn_work_floats(const attn_sizes *z) {
    attn_work w;

    return lay_out(&w, NULL, z);
}

static size_t kept_rows(const attn_sizes *z) {
    return (size_t)z->n_head * SPANS_KEPT;
}

size_t attn_span_floats(const attn_sizes *z) {
    size_t at = 0;

    cut_softmax(NULL, &at, kept_rows(z), z->dim_v);
    return at;
}

/* The results of spans, from row `row` on. */
static softmax kept_softmax(const attention *a, size_t row) {
    size_t at = 0;
    softmax s = cut_softmax(a->spans, &at, kept_rows(&a->sizes), a->sizes.dim_v);

    s.best += row;
    s.sum += row;
    s.out += row * a->dim_v;
    return s;
}

/* ---- softmax -------------------------------------------------------------------------------- */

static void softmax_clear(softmax *s, size_t rows) {
    for (size_t r = 0; r < rows; r++) {
        s->best[r] = -INFINITY;
        s->sum[r] = 0;
    }
}

/* Scores x[n] of a row become their exponentials; returns the factor of what was summed before. */
static float softmax_step(const kern_table *k, softmax *s, size_t row, float *x, size_t n) {
    const float before = s->best[row], top = k->max_f32(x, n);
    const float now = top > before || isnan(top) ? top : before;
    const float keep = s->sum[row] == 0 ? 0 : exp_f32(before - now);

    s->best[row] = now;
    s->sum[row] = s->sum[row] * keep + k->exp_sum(x, now, n);
    return keep;
}

/* Joins row r of b to row s of a: the span after those that a has. */
static void softmax_join(const kern_table *k, softmax *a, size_t s, const softmax *b, size_t r,
                         size_t dim_v) {
    float *to = a->out + s * dim_v, best, keep, take;
    const float *from = b->out + r * dim_v;

    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): only sizes are cut from NULL */
    if (b->sum[r] == 0) return;
    if (a->sum[s] == 0) {
        a->best[s] = b->best[r];
        a->sum[s] = b->sum[r];
        memcpy(to, from, dim_v * sizeof *to);
        return;
    }
    best = a->best[s] > b->best[r] ? a->best[s] : b->best[r];
    keep = exp_f32(a->best[s] - best);
    take = exp_f32(b->best[r] - best);
    a->best[s] = best;
    a->sum[s] = a->sum[s] * keep + b->sum[r] * take;
    k->attn_pv[KVT_F32](to, &keep, &take, 1, from, 1, 1, dim_v, NULL);
}

/* Divides a row by its sum, to which the sink adds. */
static void softmax_finish(const softmax *s, size_t row, const float *sink, float *out,
                           size_t dim_v) {
    const float *from = s->out + row * dim_v;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): only sizes are cut from NULL */
    float sum = s->sum[row], keep = 1;

    if (sink) {
        const float best = *sink > s->best[row] ? *sink : s->best[row];

        keep = exp_f32(s->best[row] - best);
        sum = sum * keep + exp_f32(*sink - best);
    }
    for (size_t i = 0; i < dim_v; i++) out[i] = from[i] * keep / sum;
}

/* ---- one block, one page -------------------------------------------------------------------- */

/* Keys that token t of the block sees are [first, end). Both grow with t. */
static uint32_t first_key(const block *b, uint32_t t) {
    const uint32_t n = b->pos + t + 1, window = b->a->window;

    return window && !b->a->is_both_ways && n > window ? n - window : 0;
}

static uint32_t end_key(const block *b, uint32_t t) {
    return b->a->is_both_ways ? b->n_keys : b->pos + t + 1;
}

static uint32_t max_u32(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static uint32_t min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Halves are converted in passing at hardly any cost, and a pass over floats is slower by what
 * their bytes take; bytes with scales are worth a pass of their own for many rows. */
static bool reads_cache(const block *b, kv_form form) {
    return form != KVT_Q8_0 || b->n * b->group < CONVERT_ROWS;
}

/* A page's rows as they are, or converted. */
typedef struct {
    const uint8_t *rows;
    size_t row_bytes;
    kv_form form;
} page_rows;

static page_rows page_of(const block *b, const uint8_t *rows, kv_form form, uint32_t dim,
                         uint32_t first, uint32_t end, float *floats) {
    const size_t bytes = kv_row_bytes(form, dim);

    if (reads_cache(b, form)) return (page_rows){rows, bytes, form};
    for (uint32_t i = first; i < end; i++)
        b->a->k->kv_load[form](floats + (size_t)i * dim, rows + i * bytes, dim);
    return (page_rows){(const uint8_t *)floats, dim * sizeof(float), KVT_F32};
}

/* Adds the values of keys [first, end), places in the page, to the rows of tokens [t, t + n). */
static void add_values(const block *b, const page_rows *v, uint32_t t, uint32_t n, uint32_t first,
                       uint32_t end, const float *keep, const uint8_t *next) {
    const attention *a = b->a;
    const uint32_t page = a->layout->page_tokens;
    const size_t row = (size_t)t * b->group;

    if (first >= end || n == 0) return;
    a->k->attn_pv[v->form](b->to->out + row * a->dim_v, keep + row,
                           b->w.scores + row * page + first, page, v->rows + first * v->row_bytes,
                           (size_t)n * b->group, end - first, a->dim_v, next);
}

/* Values of keys that all tokens [t, e) see are added together; those before and after, which only
 * some see, token by token. Each row adds its keys in ascending order. at: the page's first key. */
static void add_page(const block *b, const page_rows *v, uint32_t t, uint32_t e, uint32_t at,
                     uint32_t page_end, const uint8_t *next) {
    const uint32_t first = max_u32(first_key(b, e - 1), at);
    const uint32_t end = min_u32(end_key(b, t), page_end);
    const bool has_common = first < end;

    for (uint32_t i = t; i < e; i++) {
        const uint32_t own = max_u32(first_key(b, i), at);
        const uint32_t to = has_common ? first : min_u32(end_key(b, i), page_end);

        add_values(b, v, i, 1, own - at, to - at, b->w.keep, NULL);
        if (own < to)
            memcpy(b->w.keep + (size_t)i * b->group, b->w.whole, b->group * sizeof *b->w.keep);
    }
    if (!has_common) return;
    add_values(b, v, t, e - t, first - at, end - at, b->w.keep, next);
    for (uint32_t i = t; i < e; i++)
        add_values(b, v, i, 1, end - at, min_u32(end_key(b, i), page_end) - at, b->w.whole, NULL);
}

/* Softmax of one token's rows over the keys [first, end), places in the page. */
static void score_token(const block *b, uint32_t t, uint32_t first, uint32_t end) {
    const attention *a = b->a;

    for (uint32_t g = 0; g < b->group; g++) {
        const size_t row = (size_t)t * b->group + g;
        float *x = b->w.scores + row * a->layout->page_tokens + first;

        if (a->softcap > 0) a->k->softcap(x, a->softcap, end - first);
        b->w.keep[row] = softmax_step(a->k, b->to, row, x, end - first);
    }
}

/* Page p for all tokens that see one of its keys. */
static void attend_page(const block *b, uint32_t p) {
    const attention *a = b->a;
    const kv_layout *l = a->layout;
    const uint32_t page = l->page_tokens, at = p * page;
    const uint8_t *stored, *next = NULL;
    uint32_t t = 0, e = b->n, first, end;
    page_rows keys, values;

    while (t < e && end_key(b, t) <= at) t++;
    while (e > t && first_key(b, e - 1) >= at + page) e--;
    if (t == e) return; /* the page need not be there */
    stored = kv_values(b->kv, a->il, b->h, p);
    first = max_u32(first_key(b, t), at) - at;
    end = min_u32(end_key(b, e - 1), at + page) - at;
    keys = page_of(b, kv_keys(b->kv, a->il, b->h, p), l->k, a->dim_k, first, end, b->w.keys);
    a->k->attn_qk[keys.form](
        b->w.scores + (size_t)t * b->group * page + first, page,
        b->q + (size_t)t * b->group * a->dim_k, keys.rows + first * keys.row_bytes, a->scale,
        (size_t)(e - t) * b->group, end - first, a->dim_k, reads_cache(b, l->k) ? stored : NULL);
    for (uint32_t i = t; i < e; i++)
        score_token(b, i, max_u32(first_key(b, i), at) - at,
                    min_u32(end_key(b, i), at + page) - at);
    values = page_of(b, stored, l->v, a->dim_v, first, end, b->w.values);
    if (reads_cache(b, l->v) && p + 1 < b->kv->n_page) next = kv_keys(b->kv, a->il, b->h, p + 1);
    add_page(b, &values, t, e, at, at + page, next);
}

/* ---- blocks and spans ----------------------------------------------------------------------- */

static uint32_t span_pages(const attention *a) {
    return max_u32(SPAN_TOKENS / a->layout->page_tokens, 1);
}

static uint32_t block_tokens(const attention *a) {
    return max_u32(BLOCK_ROWS / (a->n_head / a->n_head_kv), 1);
}

/* The block of a part's tokens [first, first + n), as far as it concerns which keys they see. */
static block block_at(const attention *a, const attn_part *part, uint32_t first, uint32_t n) {
    return (block){.a = a,
                   .kv = part->kv,
                   .group = a->n_head / a->n_head_kv,
                   .pos = part->pos + first,
                   .n = n,
                   .n_keys = part->pos + part->n};
}

/* To the next block; is_kept: its spans are units of their own. False after the last. */
static bool cursor_next(const attention *a, attn_cursor *c, bool is_kept) {
    const uint32_t keys = span_pages(a) * a->layout->page_tokens;
    block b;

    c->unit += c->n_unit;
    c->row += (size_t)c->n * a->n_head * c->n_span;
    c->first += c->n;
    while (c->part < a->n_part && c->first == a->parts[c->part].n) {
        c->part++;
        c->first = 0;
    }
    if (c->part == a->n_part) return false;
    c->n = min_u32(a->parts[c->part].n - c->first, block_tokens(a));
    b = block_at(a, &a->parts[c->part], c->first, c->n);
    c->span = first_key(&b, 0) / keys;
    c->n_span = (end_key(&b, c->n - 1) + keys - 1) / keys - c->span;
    c->n_unit = (size_t)a->n_head_kv * (is_kept ? c->n_span : 1);
    return true;
}

/* All units of the step; *is_kept: whether the results of all spans have room. Then each span is a
 * unit, so that a long cache is shared out even where there are few heads. Otherwise there are many
 * tokens, and a unit is a block. */
static size_t count_units(const attention *a, bool *is_kept) {
    attn_cursor c = {0};

    while (cursor_next(a, &c, true)) continue;
    *is_kept = c.row <= kept_rows(&a->sizes);
    if (*is_kept) return c.unit;
    c = (attn_cursor){0};
    while (cursor_next(a, &c, false)) continue;
    return c.unit;
}

/* Where the results of the cursor's block, head h, begin. A block has them span by span, in a span
 * head by head, then token by token. */
static size_t kept_at(const attention *a, const attn_cursor *c, uint32_t span, uint32_t h) {
    const uint32_t group = a->n_head / a->n_head_kv;

    return c->row + (size_t)c->n * ((size_t)span * a->n_head + (size_t)h * group);
}

static const float *gather_queries(const block *b, uint32_t at) {
    const attention *a = b->a;
    const size_t n = (size_t)b->group * a->dim_k, stride = (size_t)a->n_head * a->dim_k;
    const float *q = a->q + at * stride + b->h * n;

    if (b->n == 1) return q;
    for (uint32_t t = 0; t < b->n; t++) memcpy(b->w.q + t * n, q + t * stride, n * sizeof *q);
    return b->w.q;
}

static void attend_span(block *b, softmax *to, uint32_t span) {
    const uint32_t page = b->a->layout->page_tokens, n = span_pages(b->a);
    const uint32_t end = (end_key(b, b->n - 1) + page - 1) / page;
    const uint32_t first = max_u32(first_key(b, 0) / page, span * n);

    b->to = to;
    softmax_clear(to, (size_t)b->n * b->group);
    for (uint32_t p = first; p < min_u32(end, (span + 1) * n); p++) attend_page(b, p);
}

static void write_rows(const block *b, const softmax *s, uint32_t at) {
    const attention *a = b->a;

    for (uint32_t r = 0; r < b->n * b->group; r++) {
        const uint32_t head = b->h * b->group + r % b->group;
        float *out = a->out + ((size_t)(at + r / b->group) * a->n_head + head) * a->dim_v;

        softmax_finish(s, r, a->sinks ? a->sinks + head : NULL, out, a->dim_v);
    }
}

static void run_unit(const attention *a, const attn_cursor *c, attn_work *w, size_t unit,
                     bool is_kept) {
    const attn_part *part = &a->parts[c->part];
    const uint32_t at = part->at + c->first;
    block b = block_at(a, part, c->first, c->n);

    b.w = *w;
    b.h = (uint32_t)(unit % a->n_head_kv);
    b.q = gather_queries(&b, at);
    if (is_kept) {
        const uint32_t s = (uint32_t)(unit / a->n_head_kv);
        softmax to = kept_softmax(a, kept_at(a, c, s, b.h));

        attend_span(&b, &to, c->span + s);
        return;
    }
    softmax_clear(&w->all, (size_t)b.n * b.group);
    for (uint32_t s = 0; s < c->n_span; s++) {
        attend_span(&b, &w->span, c->span + s);
        for (uint32_t r = 0; r < b.n * b.group; r++)
            softmax_join(a->k, &w->all, r, &w->span, r, a->dim_v);
    }
    write_rows(&b, &w->all, at);
}

void attn_spans(const attention *a, pool *p, float *work) {
    attn_cursor c = {0};
    attn_work w;
    bool is_kept;
    const size_t n_unit = count_units(a, &is_kept);
    size_t u, e;

    lay_out(&w, work, &a->sizes);
    for (size_t r = 0; r < rows_max(&a->sizes); r++) w.whole[r] = 1;
    while (pool_take(p, n_unit, 1, &u, &e)) {
        while (u >= c.unit + c.n_unit) cursor_next(a, &c, is_kept);
        run_unit(a, &c, &w, u - c.unit, is_kept);
    }
}

/* One row of a kept block: the spans' results, the first of which takes up the others. */
static void join_row(const attention *a, const attn_cursor *c, uint32_t t, uint32_t head) {
    const uint32_t group = a->n_head / a->n_head_kv;
    const size_t row = (size_t)t * group + head % group;
    softmax all = kept_softmax(a, kept_at(a, c, 0, head / group) + row);
    const size_t at = a->parts[c->part].at + c->first + t;

    for (uint32_t s = 1; s < c->n_span; s++) {
        const softmax next = kept_softmax(a, kept_at(a, c, s, head / group) + row);

        softmax_join(a->k, &all, 0, &next, 0, a->dim_v);
    }
    softmax_finish(&all, 0, a->sinks ? a->sinks + head : NULL,
                   a->out + (at * a->n_head + head) * a->dim_v, a->dim_v);
}

void attn_join(const attention *a, attn_cursor *c, uint32_t t) {
    if (c->n == 0) {
        count_units(a, &c->is_kept);
        cursor_next(a, c, c->is_kept);
    }
    if (!c->is_kept) return;
    while (a->parts[c->part].at + c->first + c->n <= t) cursor_next(a, c, true);
    t -= a->parts[c->part].at + c->first;
    for (uint32_t h = 0; h < a->n_head; h++) join_row(a, c, t, h);
}
