/* SPDX-License-Identifier: MIT
 *
 * Blocks taken apart into small integers and scales: the one place that reads the bits of each
 * weight type. Dequantising and the products are made of it, so they cannot disagree. */
#ifndef EW_KERNELS_GENERIC_UNPACK_H
#define EW_KERNELS_GENERIC_UNPACK_H

#include "kernels/half.h"
#include "tensor/block.h"

/* w[i] = d * v[i] - off */
typedef struct {
    float d, off;
    int8_t v[32];
} small_block;

/* w[i] = d * sc[i / 16] * v[i] - dmin * mn[i / 16] */
typedef struct {
    float d, dmin;
    int8_t sc[16];
    uint8_t mn[16];
    int8_t v[256];
} super_block;

static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};
/* e2m1 (0 0.5 1 1.5 2 3 4 6 and their negatives), doubled to be whole */
static const int8_t mxfp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* 2^(e - 128). The two smallest are subnormal. 255 (NaN in the OCP standard) gives 2^127, as in
 * the files' reference decoder. */
static inline float mxfp4_scale(uint8_t e) {
    return bits_f32(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

static inline void unpack_nibbles(int8_t *v, const uint8_t *qs, int off) {
    for (int j = 0; j < 16; j++) {
        v[j] = (int8_t)((qs[j] & 15) - off);
        v[j + 16] = (int8_t)((qs[j] >> 4) - off);
    }
}

static inline void unpack_fives(int8_t *v, const uint8_t *qs, const uint8_t *qh, int off) {
    const uint32_t h = u32_at(qh);

    for (int j = 0; j < 16; j++) {
        v[j] = (int8_t)(((qs[j] & 15) | (h >> j & 1) << 4) - off);
        v[j + 16] = (int8_t)((qs[j] >> 4 | (h >> (j + 16) & 1) << 4) - off);
    }
}

static inline void unpack_table(int8_t *v, const uint8_t *qs, const int8_t *table) {
    for (int j = 0; j < 16; j++) {
        v[j] = table[qs[j] & 15];
        v[j + 16] = table[qs[j] >> 4];
    }
}

static inline void unpack_q4_0(small_block *u, const void *src) {
    const block_q4_0 *b = src;

    u->d = f16_at(b->d);
    u->off = 0;
    unpack_nibbles(u->v, b->qs, 8);
}

static inline void unpack_q4_1(small_block *u, const void *src) {
    const block_q4_1 *b = src;

    u->d = f16_at(b->d);
    u->off = -f16_at(b->m);
    unpack_nibbles(u->v, b->qs, 0);
}

static inline void unpack_q5_0(small_block *u, const void *src) {
    const block_q5_0 *b = src;

    u->d = f16_at(b->d);
    u->off = 0;
    unpack_fives(u->v, b->qs, b->qh, 16);
}

static inline void unpack_q5_1(small_block *u, const void *src) {
    const block_q5_1 *b = src;

    u->d = f16_at(b->d);
    u->off = -f16_at(b->m);
    unpack_fives(u->v, b->qs, b->qh, 0);
}

static inline void unpack_q8_0(small_block *u, const void *src) {
    const block_q8_0 *b = src;

    u->d = f16_at(b->d);
    u->off = 0;
    memcpy(u->v, b->qs, sizeof u->v);
}

static inline void unpack_iq4_nl(small_block *u, const void *src) {
    const block_iq4_nl *b = src;

    u->d = f16_at(b->d);
    u->off = 0;
    unpack_table(u->v, b->qs, iq4_values);
}

static inline void unpack_mxfp4(small_block *u, const void *src) {
    const block_mxfp4 *b = src;

    u->d = mxfp4_scale(b->e);
    u->off = 0;
    unpack_table(u->v, b->qs, mxfp4_values);
}

/* Super-blocks without minimums. */
static inline void no_minimums(super_block *u) {
    u->dmin = 0;
    memset(u->mn, 0, sizeof u->mn);
}

/* The two-bit order that Q2_K, Q3_K and TQ2_0 share. */
static inline void unpack_pairs(int8_t *v, const uint8_t *qs, int off) {
    for (int h = 0; h < 2; h++) {
        for (int g = 0; g < 4; g++) {
            for (int l = 0; l < 32; l++) {
                v[128 * h + 32 * g + l] = (int8_t)((qs[32 * h + l] >> 2 * g & 3) - off);
            }
        }
    }
}

static inline void q2_scales(int8_t *sc, uint8_t *mn, const uint8_t *p) {
    for (int j = 0; j < 16; j++) {
        sc[j] = (int8_t)(p[j] & 15);
        mn[j] = p[j] >> 4;
    }
}

static inline void unpack_q2_k(super_block *u, const void *src) {
    const block_q2_k *b = src;

    u->d = f16_at(b->d);
    u->dmin = f16_at(b->dmin);
    q2_scales(u->sc, u->mn, b->sc);
    unpack_pairs(u->v, b->qs, 0);
}

static inline void q3_scales(int8_t *sc, const uint8_t *p) {
    for (int j = 0; j < 16; j++) {
        const int low = j < 8 ? p[j] & 15 : p[j - 8] >> 4;
        const int high = p[8 + j % 4] >> 2 * (j / 4) & 3;

        sc[j] = (int8_t)((low | high << 4) - 32);
    }
}

static inline void unpack_q3_k(super_block *u, const void *src) {
    const block_q3_k *b = src;

    u->d = f16_at(b->d);
    no_minimums(u);
    q3_scales(u->sc, b->sc);
    unpack_pairs(u->v, b->qs, 4);
    for (int k = 0; k < 8; k++) {
        for (int l = 0; l < 32; l++) {
            u->v[32 * k + l] = (int8_t)(u->v[32 * k + l] + ((b->hmask[l] >> k & 1) << 2));
        }
    }
}

/* Scale and minimum of sub-block j < 8: the first four are the low six bits of their bytes, whose
 * spare top bits complete the last four. */
static inline void k_scales(int8_t *sc, uint8_t *mn, const uint8_t *p) {
    for (int j = 0; j < 8; j++) {
        const int s = j < 4 ? p[j] & 63 : (p[j + 4] & 15) | (p[j - 4] >> 6) << 4;
        const int m = j < 4 ? p[j + 4] & 63 : p[j + 4] >> 4 | (p[j] >> 6) << 4;

        sc[2 * j] = sc[2 * j + 1] = (int8_t)s;
        mn[2 * j] = mn[2 * j + 1] = (uint8_t)m;
    }
}

static inline void unpack_q4_k(super_block *u, const void *src) {
    const block_q4_k *b = src;

    u->d = f16_at(b->d);
    u->dmin = f16_at(b->dmin);
    k_scales(u->sc, u->mn, b->sc);
    for (int c = 0; c < 4; c++) {
        for (int l = 0; l < 32; l++) {
            u->v[64 * c + l] = (int8_t)(b->qs[32 * c + l] & 15);
            u->v[64 * c + 32 + l] = (int8_t)(b->qs[32 * c + l] >> 4);
        }
    }
}

static inline void unpack_q5_k(super_block *u, const void *src) {
    const block_q5_k *b = src;

    u->d = f16_at(b->d);
    u->dmin = f16_at(b->dmin);
    k_scales(u->sc, u->mn, b->sc);
    for (int c = 0; c < 4; c++) {
        for (int l = 0; l < 32; l++) {
            const int q = b->qs[32 * c + l], h = b->qh[l] >> 2 * c;

            u->v[64 * c + l] = (int8_t)((q & 15) | (h & 1) << 4);
            u->v[64 * c + 32 + l] = (int8_t)(q >> 4 | (h >> 1 & 1) << 4);
        }
    }
}

static inline void unpack_q6_k(super_block *u, const void *src) {
    const block_q6_k *b = src;

    u->d = f16_at(b->d);
    no_minimums(u);
    memcpy(u->sc, b->sc, sizeof u->sc);
    for (int h = 0; h < 2; h++) {
        for (int g = 0; g < 4; g++) {
            for (int l = 0; l < 32; l++) {
                const int low = b->ql[64 * h + 32 * (g & 1) + l] >> 4 * (g >> 1) & 15;
                const int high = b->qh[32 * h + l] >> 2 * g & 3;

                u->v[128 * h + 32 * g + l] = (int8_t)((low | high << 4) - 32);
            }
        }
    }
}

static inline void unpack_iq4_xs(super_block *u, const void *src) {
    const block_iq4_xs *b = src;
    const int sh = u16_at(b->sh);

    u->d = f16_at(b->d);
    no_minimums(u);
    for (int j = 0; j < 8; j++) {
        const int s = (b->sl[j / 2] >> 4 * (j % 2) & 15) | (sh >> 2 * j & 3) << 4;

        u->sc[2 * j] = u->sc[2 * j + 1] = (int8_t)(s - 32);
        unpack_table(u->v + 32 * j, b->qs[j], iq4_values);
    }
}

/* Base-3 digit k of a byte, most significant first: the byte holds the number as a fraction of
 * 256, so 3^k times it, modulo 256, has that digit as the whole part of the next times 3. */
static inline int8_t ternary(uint8_t byte, int k) {
    static const uint8_t pow3[5] = {1, 3, 9, 27, 81};
    const uint8_t rest = (uint8_t)(byte * pow3[k]);

    return (int8_t)((rest * 3 >> 8) - 1);
}

static inline void unpack_tq1_0(super_block *u, const void *src) {
    const block_tq1_0 *b = src;

    u->d = f16_at(b->d);
    no_minimums(u);
    memset(u->sc, 1, sizeof u->sc);
    for (int k = 0; k < 5; k++) {
        for (int j = 0; j < 32; j++) u->v[32 * k + j] = ternary(b->qs[j], k);
        for (int j = 0; j < 16; j++) u->v[160 + 16 * k + j] = ternary(b->qs[32 + j], k);
    }
    for (int k = 0; k < 4; k++) {
        for (int j = 0; j < 4; j++) u->v[240 + 4 * k + j] = ternary(b->qh[j], k);
    }
}

static inline void unpack_tq2_0(super_block *u, const void *src) {
    const block_tq2_0 *b = src;

    u->d = f16_at(b->d);
    no_minimums(u);
    memset(u->sc, 1, sizeof u->sc);
    unpack_pairs(u->v, b->qs, 1);
}

#endif
