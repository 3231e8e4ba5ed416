/* SPDX-License-Identifier: MIT
 *
 * Products of weight rows with activations. A weight block is taken apart once and used for every
 * token; y collects the sums. For one (row, token) the order is block after block, whatever the
 * call's shape: whole numbers exactly within a block, then one float step a block. */
#include "kernels/generic/generic.h"
#include "kernels/generic/unpack.h"

typedef void unpack_small(small_block *u, const void *src);
typedef void unpack_super(super_block *u, const void *src);

/* The arguments of a product, named once. */
typedef struct {
    float *y;
    size_t y_stride;
    const uint8_t *w;
    size_t row_bytes;
    const uint8_t *x;
    size_t x_bytes, n_row, n_tok, n;
} product;

static float small_dot(const small_block *u, const act_q8_32 *a, size_t j) {
    int32_t sum = 0;

    for (int i = 0; i < BLOCK_SMALL; i++) sum += u->v[i] * a->q[j][i];
    return u->d * a->d[j] * (float)sum - u->off * a->s[j];
}

static inline void matmul_small(product m, size_t bytes, unpack_small *unpack) {
    for (size_t r = 0; r < m.n_row; r++) {
        for (size_t t = 0; t < m.n_tok; t++) m.y[t * m.y_stride + r] = 0;
        for (size_t b = 0; b < m.n / BLOCK_SMALL; b++) {
            small_block u;

            unpack(&u, m.w + r * m.row_bytes + b * bytes);
            for (size_t t = 0; t < m.n_tok; t++) {
                const act_q8_32 *a = (const void *)(m.x + t * m.x_bytes);

                m.y[t * m.y_stride + r] += small_dot(&u, a + b / 4, b % 4);
            }
        }
    }
}

/* sum stays below 2^31: 256 products of at most 128 * 127, times a scale of at most 127 (Q6_K
 * and IQ4_XS come nearest, both under 2^28 with the ranges their values have). */
static float super_dot(const super_block *u, const act_q8_k *a) {
    int32_t sum = 0, min_sum = 0;

    for (int j = 0; j < 16; j++) {
        int32_t part = 0;

        for (int i = 16 * j; i < 16 * j + 16; i++) part += u->v[i] * a->q[i];
        sum += u->sc[j] * part;
        min_sum += u->mn[j] * a->sums[j];
    }
    return a->d * (u->d * (float)sum - u->dmin * (float)min_sum);
}

static inline void matmul_super(product m, size_t bytes, unpack_super *unpack) {
    for (size_t r = 0; r < m.n_row; r++) {
        for (size_t t = 0; t < m.n_tok; t++) m.y[t * m.y_stride + r] = 0;
        for (size_t b = 0; b < m.n / BLOCK_SUPER; b++) {
            super_block u;

            unpack(&u, m.w + r * m.row_bytes + b * bytes);
            for (size_t t = 0; t < m.n_tok; t++) {
                const act_q8_k *a = (const void *)(m.x + t * m.x_bytes);

                m.y[t * m.y_stride + r] += super_dot(&u, a + b);
            }
        }
    }
}

#define MATMUL(kind, type)                                                                        \
 static void matmul_##type(float *y, size_t y_stride, const void *w, size_t row_bytes,            \
                           const void *x, size_t x_bytes, size_t n_row, size_t n_tok, size_t n) { \
  const product m = {y, y_stride, w, row_bytes, x, x_bytes, n_row, n_tok, n};                     \
                                                                                                  \
  matmul_##kind(m, sizeof(block_##type), unpack_##type);                                          \
 }

MATMUL(small, q4_0)
MATMUL(small, q4_1)
MATMUL(small, q5_0)
MATMUL(small, q5_1)
MATMUL(small, q8_0)
MATMUL(small, iq4_nl)
MATMUL(small, mxfp4)
MATMUL(super, q2_k)
MATMUL(super, q3_k)
MATMUL(super, q4_k)
MATMUL(super, q5_k)
MATMUL(super, q6_k)
MATMUL(super, iq4_xs)
MATMUL(super, tq1_0)
MATMUL(super, tq2_0)

/* Float types, any n: a strip of the row is converted once and used for every token. */
enum {
    STRIP = 256
};
typedef void to_floats(float *dst, const uint8_t *src, size_t n);

static inline void matmul_float(product m, size_t elem_bytes, to_floats *convert) {
    float strip[STRIP];

    for (size_t r = 0; r < m.n_row; r++) {
        for (size_t t = 0; t < m.n_tok; t++) m.y[t * m.y_stride + r] = 0;
        for (size_t at = 0; at < m.n; at += STRIP) {
            const size_t len = m.n - at < STRIP ? m.n - at : STRIP;

            convert(strip, m.w + r * m.row_bytes + at * elem_bytes, len);
            for (size_t t = 0; t < m.n_tok; t++) {
                const float *x = (const void *)(m.x + t * m.x_bytes);

                m.y[t * m.y_stride + r] += generic_dot_f32(strip, x + at, len);
            }
        }
    }
}

static void f32_floats(float *dst, const uint8_t *src, size_t n) {
    memcpy(dst, src, n * sizeof *dst);
}

static void f16_floats(float *dst, const uint8_t *src, size_t n) {
    for (size_t i = 0; i < n; i++) dst[i] = f16_at(src + 2 * i);
}

static void bf16_floats(float *dst, const uint8_t *src, size_t n) {
    for (size_t i = 0; i < n; i++) dst[i] = bf16_f32(u16_at(src + 2 * i));
}

#define MATMUL_FLOAT(type, elem_bytes)                                                            \
 static void matmul_##type(float *y, size_t y_stride, const void *w, size_t row_bytes,            \
                           const void *x, size_t x_bytes, size_t n_row, size_t n_tok, size_t n) { \
  const product m = {y, y_stride, w, row_bytes, x, x_bytes, n_row, n_tok, n};                     \
                                                                                                  \
  matmul_float(m, elem_bytes, type##_floats);                                                     \
 }

MATMUL_FLOAT(f32, 4)
MATMUL_FLOAT(f16, 2)
MATMUL_FLOAT(bf16, 2)

void generic_fill_matmul(kern_table *t) {
    t->matmul[TYPE_F32] = matmul_f32;
    t->matmul[TYPE_F16] = matmul_f16;
    t->matmul[TYPE_BF16] = matmul_bf16;
    t->matmul[TYPE_Q4_0] = matmul_q4_0;
    t->matmul[TYPE_Q4_1] = matmul_q4_1;
    t->matmul[TYPE_Q5_0] = matmul_q5_0;
    t->matmul[TYPE_Q5_1] = matmul_q5_1;
    t->matmul[TYPE_Q8_0] = matmul_q8_0;
    t->matmul[TYPE_Q2_K] = matmul_q2_k;
    t->matmul[TYPE_Q3_K] = matmul_q3_k;
    t->matmul[TYPE_Q4_K] = matmul_q4_k;
    t->matmul[TYPE_Q5_K] = matmul_q5_k;
    t->matmul[TYPE_Q6_K] = matmul_q6_k;
    t->matmul[TYPE_IQ4_NL] = matmul_iq4_nl;
    t->matmul[TYPE_IQ4_XS] = matmul_iq4_xs;
    t->matmul[TYPE_MXFP4] = matmul_mxfp4;
    t->matmul[TYPE_TQ1_0] = matmul_tq1_0;
    t->matmul[TYPE_TQ2_0] = matmul_tq2_0;
}
