/* SPDX-License-Identifier: MIT
 *
 * Operations of a step on the CPU. All are called by every thread of the pool together (ith tells
 * them apart) and share the work through pool_take(); none of them waits: the caller puts a
 * pool_barrier() where the next stage reads what this one wrote, and one between two calls. */
#ifndef EW_BACKEND_CPU_OPS_H
#define EW_BACKEND_CPU_OPS_H

#include "backend/engine.h"
#include "backend/weight.h"

/* Activations of n_tok tokens: as floats, and in the 8-bit forms that the weights at hand need. */
typedef struct {
    float *f32;         /* [n_tok, n] */
    void *q[ACT_COUNT]; /* [n_tok, act_bytes(form, n)]; q[ACT_F32] is unused */
    size_t n;           /* values a token */
} acts;

/* Thread-private work space, one a thread. */
typedef struct {
    int ith;     /* the thread's number in the pool */
    float *tile; /* cpu_tile_floats(chunk) */
    float *row;  /* the longest row of any weight: dequantised when evaluating in float */
} cpu_work;

size_t cpu_tile_floats(size_t chunk_tokens);

/* One matrix product of a stage: y[t, r] (+)= W x[t] + bias. */
typedef struct {
    const weight *w;
    const float *bias; /* [n_out] or NULL */
    float *y;          /* [n_tok, y_stride] */
    size_t y_stride;
    bool is_add; /* add to y instead of storing */
} product;

/* Up to CPU_PRODUCTS products of the same activations, rows of all shared out together. */
enum {
    CPU_PRODUCTS = 4
};
void cpu_products(const ew_engine *e, cpu_work *work, const product *p, size_t n_p, const acts *x,
                  size_t n_tok);

/* g[i] = act(g[i]) * u[i] */
typedef void (*glu)(float *g, const float *u, size_t n);

/* The first half of a feed-forward: y[t, r] = act(gate x[t] + b_gate)[r] * (up x[t] + b_up)[r] */
typedef struct {
    const weight *gate; /* NULL: y = act(up x + b_up) */
    const weight *up;
    const float *b_gate, *b_up; /* [n_out] or NULL */
    glu act;                    /* with u NULL: act(g) alone */
} gate_up;

void cpu_gate_up(const ew_engine *e, cpu_work *work, const gate_up *p, const acts *x, float *y,
                 size_t n_tok);

/* Which of the step's rows each expert has: those of expert e are [first[e], first[e + 1]). */
typedef struct {
    const uint32_t *first;  /* [n_expert + 1] */
    const uint32_t *active; /* [n_active] experts that have any */
    size_t n_active;
    bool is_one_token; /* all rows are of one token, and of x there is that token's row alone */
} expert_rows;

/* The same with weights of experts: y[row, r] from x[row] by the row's own expert. Each expert's
 * matrices are read once. */
void cpu_experts_gate_up(const ew_engine *e, cpu_work *work, const gate_up *p,
                         const expert_rows *rows, const acts *x, float *y);
void cpu_experts_down(const ew_engine *e, cpu_work *work, const weight *down, const float *bias,
                      const expert_rows *rows, const acts *x, float *y);

/* Brings token t's floats into the forms of the bit set (1 << form). */
void cpu_quantise(const ew_engine *e, const acts *x, unsigned forms, size_t t);

/* Row `id` of an embedding matrix as floats. */
void cpu_embed(const ew_engine *e, const weight *w, int32_t id, float *y);

#endif
