/* SPDX-License-Identifier: MIT
 *
 * The kernel table: function pointers filled once from the CPU's features, constant afterwards.
 * kern_fill() gives every slot its plain C version, then each instruction set overrides what it
 * does better. Kernels are leaf code: no locks, no allocation, no globals, no errors.
 *
 * Products. A weight matrix is [n_row, n] in rows of row_bytes. Its activations are first brought
 * to the form its type multiplies with (act_of): float, or 8-bit blocks. Then
 *     y[t * y_stride + r] = sum_i W[r, i] * x[t, i]
 * for n_row rows and n_tok tokens. The result of one (row, token) does not depend on how many rows
 * or tokens a call has, so that chunking and threads never change a result. */
#ifndef EW_KERNELS_KERN_H
#define EW_KERNELS_KERN_H

#include "tensor/type.h"

#include <stdbool.h>

/* Activation forms. */
typedef enum {
    ACT_F32,   /* n floats */
    ACT_Q8_32, /* act_q8_32: n % 32 == 0 */
    ACT_Q8_K,  /* act_q8_k: n % 256 == 0 */
    ACT_COUNT
} act_form;

/* 128 activations in four blocks of 32: x = d * q with d = max|x| / 127, q rounded to nearest (ties
 * to even). Scales stand together so that one load brings four. Blocks past the end of a row are
 * zero. A block with a NaN or an infinity has d = NaN and q = 0: the fault shows in every result
 * it enters. */
typedef struct {
    float d[4];
    float s[4]; /* d * sum of q: for types with a minimum (Q4_1, Q5_1) */
    int8_t q[4][32];
    int16_t sum[4]; /* of q: for packed values, which are stored with an offset */
} act_q8_32;
_Static_assert(sizeof(act_q8_32) == 168, "act_q8_32 has no padding");

/* 256 activations x = d * q, with the sums of q over runs of 16 for types with sub-block offsets.
 */
typedef struct {
    float d;
    int8_t q[256];
    int16_t sums[16];
} act_q8_k;
_Static_assert(sizeof(act_q8_k) == 292, "act_q8_k has no padding");

typedef enum {
    KVT_F16,
    KVT_Q8_0,
    KVT_F32,
    KVT_COUNT
} kv_form;

typedef struct {
    /* dst[n] from n elements of the type; n a multiple of its block. NULL: type not supported. */
    void (*dequant[TYPE_COUNT])(float *dst, const void *src, size_t n);

    /* dst: act_bytes(form, n) from n floats. */
    void (*quant_act[ACT_COUNT])(void *dst, const float *src, size_t n);

    /* The product above; x in the form act_of[type], token t at x + t * x_bytes. y, w and x don't
     * overlap. NULL: type not supported as a matrix. */
    void (*matmul[TYPE_COUNT])(float *y, size_t y_stride, const void *w, size_t row_bytes,
                               const void *x, size_t x_bytes, size_t n_row, size_t n_tok, size_t n);

    /* The same for n_group groups of 16 rows: y row r of group g in y[t * y_stride + 16 * g + r].
     * w: rows of row_bytes, or with row_bytes 0 packed ones (pack.h); both give the same bits.
     * goes_on: the group after the last will be wanted next, and may be fetched already.
     * NULL: this CPU has no such kernel for the type. */
    void (*matmul_groups[TYPE_COUNT])(float *y, size_t y_stride, const void *w, size_t row_bytes,
                                      const void *x, size_t x_bytes, size_t n_group, size_t n_tok,
                                      size_t n, bool goes_on);
    /* Packs 16 rows of row_bytes: what pack_group() makes. There where matmul_groups is. */
    void (*pack_group[TYPE_COUNT])(uint8_t *dst, const uint8_t *src, size_t row_bytes, size_t n);

    /* sum_i x[i] * y[i]; any n */
    float (*dot_f32)(const float *x, const float *y, size_t n);
    /* y[i] += a * x[i] */
    void (*axpy_f32)(float *y, float a, const float *x, size_t n);
    /* y[i] += x[i] */
    void (*add_f32)(float *y, const float *x, size_t n);
    /* y[i] = x[i] / sqrt(mean(x^2) + eps) * w[i]; y may be x */
    void (*rms_norm)(float *y, const float *x, const float *w, size_t n, float eps);
    /* g[i] = g[i] / (1 + exp(-g[i])) * u[i] */
    void (*silu_mul)(float *g, const float *u, size_t n);
    /* g[i] = gelu(g[i]) * u[i], gelu(x) = x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)));
     * u NULL: gelu alone */
    void (*gelu_mul)(float *g, const float *u, size_t n);
    /* With g' = min(g, 7) and u' = u within [-7, 7]: g[i] = g' / (1 + exp(-1.702 g')) * (u' + 1) */
    void (*swiglu_clamped)(float *g, const float *u, size_t n);
    /* y[i] = (x[i] - mean) / sqrt(variance + eps) * w[i] + b[i]; y may be x, b NULL */
    void (*layer_norm)(float *y, const float *x, const float *w, const float *b, size_t n,
                       float eps);
    /* x[i] = cap * tanh(x[i] / cap) */
    void (*softcap)(float *x, float cap, size_t n);
    /* Rotates pairs of one head by cs[2p] = cos, cs[2p+1] = sin for p < n_rot / 2:
     * norm: elements (2p, 2p+1); neox: (p, p + n_rot/2). */
    void (*rope_norm)(float *x, const float *cs, size_t n_rot);
    void (*rope_neox)(float *x, const float *cs, size_t n_rot);

    /* One head of one token into the cache: n floats -> kv_row_bytes(form, n) bytes. */
    void (*kv_store[KVT_COUNT])(void *dst, const float *src, size_t n);
    /* The way back. Every value is exact, and attn_qk and attn_pv with KVT_F32 over rows that were
     * loaded give the same bits as over the rows themselves: many queries load them once. */
    void (*kv_load[KVT_COUNT])(float *dst, const void *src, size_t n);
    /* s[h * s_stride + t] = scale * dot(q + h * n, K[t]) for n_head query heads that share the
     * keys K (n_tok rows of kv_row_bytes(form, n), one after another): each row is read once. next:
     * what the caller will read after this, as much as these rows; it is brought nearer meanwhile.
     * NULL: nothing. */
    void (*attn_qk[KVT_COUNT])(float *s, size_t s_stride, const float *q, const void *k,
                               float scale, size_t n_head, size_t n_tok, size_t n,
                               const void *next);
    /* o[h * n + i] = o[h * n + i] * keep[h] + sum_t p[h * p_stride + t] * V[t, i], added token by
     * token. Where keep[h] is 0, o is not read. next: as above. */
    void (*attn_pv[KVT_COUNT])(float *o, const float *keep, const float *p, size_t p_stride,
                               const void *v, size_t n_head, size_t n_tok, size_t n,
                               const void *next);
    /* x[i] = exp(x[i] - max) for n values; returns their sum (added in a fixed order). */
    float (*exp_sum)(float *x, float max, size_t n);
    float (*max_f32)(const float *x, size_t n); /* n >= 1; NaN if there is one */

    /* Sum of the 64-bit words of n bytes (n % 64 == 0): reads memory as fast as the core can. */
    uint64_t (*read_sum)(const void *p, size_t n);

    const char *isa; /* the strongest set used: "avx2" */
} kern_table;

/* features: EW_CPU_* bits; generic C is always filled in first. */
void kern_fill(kern_table *t, uint32_t features);

/* What this machine's CPU has (the only place that asks), and what to call it. */
uint32_t cpu_features(void);

/* The form a weight type multiplies with; ACT_F32 for float types. */
act_form act_of(elem_type t);
size_t act_bytes(act_form f, size_t n);   /* of n activations, a multiple of 64 */
size_t kv_row_bytes(kv_form f, size_t n); /* one head of one token; q8_0 pads n to 32 */
bool type_is_supported(elem_type t);      /* dequant and matmul exist */

/* Halves and bytes to floats, in plain C. */
float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f); /* nearest even; overflow gives infinity, NaN stays NaN */

/* Filled by instruction set; each overrides slots of t. */
void kern_fill_generic(kern_table *t);
void kern_fill_avx2(kern_table *t);   /* x86-64 builds only */
void kern_fill_avx512(kern_table *t); /* the same */

#endif
