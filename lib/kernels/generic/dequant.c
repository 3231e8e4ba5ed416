/* SPDX-License-Identifier: MIT
 *
 * Weights to floats, value for value what the reference decoder of the format gives. */
#include "kernels/generic/generic.h"
#include "kernels/generic/unpack.h"

typedef void unpack_small(small_block *u, const void *src);
typedef void unpack_super(super_block *u, const void *src);

static inline void dequant_small(float *dst, const void *src, size_t n, size_t bytes,
                                 unpack_small *unpack) {
    const uint8_t *p = src;

    for (size_t at = 0; at < n; at += BLOCK_SMALL, p += bytes) {
        small_block u;

        unpack(&u, p);
        for (size_t i = 0; i < BLOCK_SMALL; i++) dst[at + i] = u.d * (float)u.v[i] - u.off;
    }
}

static inline void dequant_super(float *dst, const void *src, size_t n, size_t bytes,
                                 unpack_super *unpack) {
    const uint8_t *p = src;

    for (size_t at = 0; at < n; at += BLOCK_SUPER, p += bytes) {
        super_block u;

        unpack(&u, p);
        for (size_t j = 0; j < 16; j++) {
            const float d = u.d * (float)u.sc[j], off = u.dmin * (float)u.mn[j];

            for (size_t i = 16 * j; i < 16 * j + 16; i++) dst[at + i] = d * (float)u.v[i] - off;
        }
    }
}

#define DEQUANT(kind, type)                                          \
 static void dequant_##type(float *dst, const void *src, size_t n) { \
  dequant_##kind(dst, src, n, sizeof(block_##type), unpack_##type);  \
 }

DEQUANT(small, q4_0)
DEQUANT(small, q4_1)
DEQUANT(small, q5_0)
DEQUANT(small, q5_1)
DEQUANT(small, q8_0)
DEQUANT(small, iq4_nl)
DEQUANT(small, mxfp4)
DEQUANT(super, q2_k)
DEQUANT(super, q3_k)
DEQUANT(super, q4_k)
DEQUANT(super, q5_k)
DEQUANT(super, q6_k)
DEQUANT(super, iq4_xs)
DEQUANT(super, tq1_0)
DEQUANT(super, tq2_0)

static void dequant_f32(float *dst, const void *src, size_t n) {
    memcpy(dst, src, n * sizeof *dst);
}

static void dequant_f16(float *dst, const void *src, size_t n) {
    const uint8_t *p = src;

    for (size_t i = 0; i < n; i++) dst[i] = f16_at(p + 2 * i);
}

static void dequant_bf16(float *dst, const void *src, size_t n) {
    const uint8_t *p = src;

    for (size_t i = 0; i < n; i++) dst[i] = bf16_f32(u16_at(p + 2 * i));
}

void generic_fill_dequant(kern_table *t) {
    t->dequant[TYPE_F32] = dequant_f32;
    t->dequant[TYPE_F16] = dequant_f16;
    t->dequant[TYPE_BF16] = dequant_bf16;
    t->dequant[TYPE_Q4_0] = dequant_q4_0;
    t->dequant[TYPE_Q4_1] = dequant_q4_1;
    t->dequant[TYPE_Q5_0] = dequant_q5_0;
    t->dequant[TYPE_Q5_1] = dequant_q5_1;
    t->dequant[TYPE_Q8_0] = dequant_q8_0;
    t->dequant[TYPE_Q2_K] = dequant_q2_k;
    t->dequant[TYPE_Q3_K] = dequant_q3_k;
    t->dequant[TYPE_Q4_K] = dequant_q4_k;
    t->dequant[TYPE_Q5_K] = dequant_q5_k;
    t->dequant[TYPE_Q6_K] = dequant_q6_k;
    t->dequant[TYPE_IQ4_NL] = dequant_iq4_nl;
    t->dequant[TYPE_IQ4_XS] = dequant_iq4_xs;
    t->dequant[TYPE_MXFP4] = dequant_mxfp4;
    t->dequant[TYPE_TQ1_0] = dequant_tq1_0;
    t->dequant[TYPE_TQ2_0] = dequant_tq2_0;
}
