/* SPDX-License-Identifier: MIT
 *
 * Work is cut by rows of the weights: each piece of a matrix is streamed once by one thread, which
 * is the whole cost of decoding. A thread's pieces are neighbours, so that kernels can fetch ahead
 * across them. They are small enough that a slow thread holds the others up by little, and large
 * enough that taking one costs nothing. */
#include "backend/cpu/ops.h"

#include "kernels/pack.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    ROW_UNIT = PACK_ROWS,   /* rows are cut at multiples of this: groups of packed weights */
    ROWS_MAX = 64,          /* rows of a piece: a tile of results stays in the second-level cache */
    PIECE_BYTES = 96 << 10, /* of weights: a few microseconds of reading */
    TOKENS_BLOCK = 32,      /* tokens multiplied with a piece before the next ones */
    TOKENS_GROUPS = 128     /* the same where weights are unpacked anew for each block */
};

void engine_log(const ew_engine *e, ew_log_level level, const char *fmt, ...) {
    char text[512];
    va_list ap;

    if (!e->log) return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    e->log(e->log_ctx, level, text);
}

size_t cpu_tile_floats(size_t chunk_tokens) {
    return chunk_tokens * ROWS_MAX;
}

/* Rows of a piece of w: a share of the matrix for each thread several times over, within limits. */
static size_t piece_rows(const weight *w, size_t n_threads) {
    size_t rows = PIECE_BYTES / w->row_bytes;
    const size_t share = w->n_out / (n_threads * 4);

    if (rows > share) rows = share;
    if (rows > ROWS_MAX) rows = ROWS_MAX;
    rows = rows / ROW_UNIT * ROW_UNIT;
    return rows ? rows : ROW_UNIT;
}

/* A piece of a matrix. */
typedef struct {
    const weight *w;
    size_t row, n_row;
    bool goes_on; /* the piece after it is this thread's next */
} piece;

/* Piece i of w, of step rows. */
static piece piece_at(const weight *w, size_t i, size_t step, bool goes_on) {
    const size_t row = i * step, left = w->n_out - row;

    return (piece){w, row, left < step ? left : step, goes_on && left > step};
}

/* n_row whole groups of 16 rows, packed or as they lie in the file. */
static void multiply_groups(const ew_engine *e, const piece *p, size_t n_row, const uint8_t *x,
                            size_t x_bytes, size_t n_tok, float *y, size_t y_stride) {
    const weight *w = p->w;
    const uint8_t *groups = w->packed ? w->packed + p->row / PACK_ROWS * w->group_bytes
                                      : w->data + p->row * w->row_bytes;

    for (size_t t = 0; t < n_tok; t += TOKENS_GROUPS) {
        const size_t m = n_tok - t < TOKENS_GROUPS ? n_tok - t : TOKENS_GROUPS;

        e->kern.matmul_groups[w->type](y + t * y_stride, y_stride, groups,
                                       w->packed ? 0 : w->row_bytes, x + t * x_bytes, x_bytes,
                                       n_row / PACK_ROWS, m, w->n_in, p->goes_on);
    }
}

/* y[t * y_stride + r] for the piece's rows and all tokens. y points at its first row. */
static void multiply(const ew_engine *e, const cpu_work *work, const piece *p, const acts *x,
                     size_t n_tok, float *y, size_t y_stride) {
    const weight *w = p->w;
    const void *in = w->form == ACT_F32 ? (const void *)x->f32 : x->q[w->form];
    const size_t x_bytes = w->form == ACT_F32 ? x->n * sizeof(float) : act_bytes(w->form, w->n_in);
    const size_t n_whole = w->group_bytes ? p->n_row / PACK_ROWS * PACK_ROWS : 0;
    const size_t n_row = p->n_row - n_whole;
    const uint8_t *rows;

    if (n_whole) multiply_groups(e, p, n_whole, in, x_bytes, n_tok, y, y_stride);
    if (!n_row) return;
    rows = w->data + (p->row + n_whole) * w->row_bytes; /* there: only whole groups are packed */
    y += n_whole;
    if (w->form != act_of(w->type)) { /* evaluation in float */
        for (size_t r = 0; r < n_row; r++) {
            e->kern.dequant[w->type](work->row, rows + r * w->row_bytes, w->n_in);
            for (size_t t = 0; t < n_tok; t++)
                y[t * y_stride + r] = e->kern.dot_f32(x->f32 + t * x->n, work->row, w->n_in);
        }
        return;
    }
    for (size_t t = 0; t < n_tok; t += TOKENS_BLOCK) {
        const size_t m = n_tok - t < TOKENS_BLOCK ? n_tok - t : TOKENS_BLOCK;

        e->kern.matmul[w->type](y + t * y_stride, y_stride, rows, w->row_bytes,
                                (const uint8_t *)in + t * x_bytes, x_bytes, n_row, m, w->n_in);
    }
}

/* A piece of one product, with its bias and sum. */
static void product_piece(const ew_engine *e, cpu_work *work, const product *p, const piece *at,
                          const acts *x, size_t n_tok) {
    float *out = p->is_add ? work->tile : p->y + at->row;
    const size_t n = at->n_row, stride = p->is_add ? n : p->y_stride;

    multiply(e, work, at, x, n_tok, out, stride);
    if (p->bias)
        for (size_t t = 0; t < n_tok; t++) e->kern.add_f32(out + t * stride, p->bias + at->row, n);
    if (p->is_add)
        for (size_t t = 0; t < n_tok; t++)
            e->kern.add_f32(p->y + t * p->y_stride + at->row, out + t * stride, n);
}

void cpu_products(const ew_engine *e, cpu_work *work, const product *p, size_t n_p, const acts *x,
                  size_t n_tok) {
    size_t step[CPU_PRODUCTS], first[CPU_PRODUCTS + 1] = {0}, item;
    bool goes_on;

    for (size_t i = 0; i < n_p; i++) {
        step[i] = piece_rows(p[i].w, (size_t)pool_size(e->pool));
        first[i + 1] = first[i] + (p[i].w->n_out + step[i] - 1) / step[i];
    }
    while (pool_take_near(e->pool, work->ith, first[n_p], &item, &goes_on)) {
        size_t i = 0;
        piece at;

        while (item >= first[i + 1]) i++;
        at = piece_at(p[i].w, item - first[i], step[i], goes_on);
        product_piece(e, work, &p[i], &at, x, n_tok);
    }
}

/* A piece of the first half of a feed-forward; at: of the first matrix. */
static void gate_up_piece(const ew_engine *e, cpu_work *work, const gate_up *p, const piece *at,
                          const acts *x, float *y, size_t n_tok) {
    const float *bias = p->gate ? p->b_gate : p->b_up;
    const size_t n = at->n_row, stride = at->w->n_out;
    piece up = *at;

    up.w = p->up;
    multiply(e, work, at, x, n_tok, y + at->row, stride);
    if (p->gate) multiply(e, work, &up, x, n_tok, work->tile, n);
    for (size_t t = 0; t < n_tok; t++) {
        float *g = y + t * stride + at->row, *u = p->gate ? work->tile + t * n : NULL;

        if (bias) e->kern.add_f32(g, bias + at->row, n);
        if (u && p->b_up) e->kern.add_f32(u, p->b_up + at->row, n);
        p->act(g, u, n);
    }
}

void cpu_gate_up(const ew_engine *e, cpu_work *work, const gate_up *p, const acts *x, float *y,
                 size_t n_tok) {
    const weight *first = p->gate ? p->gate : p->up;
    const size_t step = piece_rows(first, (size_t)pool_size(e->pool));
    const size_t n = (first->n_out + step - 1) / step;
    size_t item;
    bool goes_on;

    while (pool_take_near(e->pool, work->ith, n, &item, &goes_on)) {
        const piece at = piece_at(first, item, step, goes_on);

        gate_up_piece(e, work, p, &at, x, y, n_tok);
    }
}

/* ---- experts -------------------------------------------------------------------------------- */

/* A piece of one expert's matrix. */
typedef struct {
    size_t expert;
    piece at;            /* its w is that of all experts */
    size_t first, n_row; /* the expert's rows of the step */
} expert_piece;

/* Shares out the active experts' matrices in pieces. */
static bool take_piece(const ew_engine *e, const cpu_work *work, const weight *w,
                       const expert_rows *rows, expert_piece *out) {
    const size_t step = piece_rows(w, (size_t)pool_size(e->pool));
    const size_t per = (w->n_out + step - 1) / step;
    size_t item;
    bool goes_on;

    if (!pool_take_near(e->pool, work->ith, rows->n_active * per, &item, &goes_on)) return false;
    out->expert = rows->active[item / per];
    out->at = piece_at(w, item % per, step, goes_on);
    out->first = rows->first[out->expert];
    out->n_row = rows->first[out->expert + 1] - out->first;
    return true;
}

/* Activations from row `first` on. */
static acts acts_from(const acts *x, size_t first) {
    acts a = *x;

    if (a.f32) a.f32 += first * a.n;
    for (act_form f = ACT_F32; f < ACT_COUNT; f++)
        if (a.q[f]) a.q[f] = (uint8_t *)a.q[f] + first * act_bytes(f, a.n);
    return a;
}

void cpu_experts_gate_up(const ew_engine *e, cpu_work *work, const gate_up *p,
                         const expert_rows *rows, const acts *x, float *y) {
    expert_piece of;

    while (take_piece(e, work, p->up, rows, &of)) {
        const size_t i = of.expert, n_out = p->up->n_out;
        const weight gate = weight_of(p->gate, i), up = weight_of(p->up, i);
        const gate_up one = {.gate = &gate,
                             .up = &up,
                             .b_gate = p->b_gate ? p->b_gate + i * n_out : NULL,
                             .b_up = p->b_up ? p->b_up + i * n_out : NULL,
                             .act = p->act};
        const acts in = acts_from(x, rows->is_one_token ? 0 : of.first);

        of.at.w = &gate;
        gate_up_piece(e, work, &one, &of.at, &in, y + of.first * n_out, of.n_row);
    }
}

void cpu_experts_down(const ew_engine *e, cpu_work *work, const weight *down, const float *bias,
                      const expert_rows *rows, const acts *x, float *y) {
    expert_piece of;

    while (take_piece(e, work, down, rows, &of)) {
        const weight one = weight_of(down, of.expert);
        const acts in = acts_from(x, of.first);
        const product p = {.w = &one,
                           .bias = bias ? bias + of.expert * down->n_out : NULL,
                           .y = y + of.first * down->n_out,
                           .y_stride = down->n_out};

        of.at.w = &one;
        product_piece(e, work, &p, &of.at, &in, of.n_row);
    }
}

void cpu_quantise(const ew_engine *e, const acts *x, unsigned forms, size_t t) {
    for (act_form f = ACT_F32; f < ACT_COUNT; f++) {
        if (f == ACT_F32 || !(forms >> f & 1u)) continue;
        e->kern.quant_act[f]((uint8_t *)x->q[f] + t * act_bytes(f, x->n), x->f32 + t * x->n, x->n);
    }
}

void cpu_embed(const ew_engine *e, const weight *w, int32_t id, float *y) {
    if (w->packed)
        pack_row(w->type, y, w->packed, (size_t)id, w->n_in);
    else
        e->kern.dequant[w->type](y, w->data + (size_t)id * w->row_bytes, w->n_in);
}
