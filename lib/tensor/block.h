/* SPDX-License-Identifier: MIT
 *
 * Block layouts as they lie in files. w[i] is element i of the block. Every member is made of
 * bytes, so that a block may stand at any address: read halves with f16_at() of kernels/half.h.
 *
 * Halves of a nibble byte: in the 32-element types the low nibble of qs[j] is element j and the
 * high nibble element j + 16. */
#ifndef EW_TENSOR_BLOCK_H
#define EW_TENSOR_BLOCK_H

#include <stdint.h>

enum {
    BLOCK_SMALL = 32, /* elements of a simple block */
    BLOCK_SUPER = 256 /* elements of a block with sub-block scales */
};

typedef struct {
    uint8_t d[2];   /* f16 */
    uint8_t qs[16]; /* w = d * (nibble - 8) */
} block_q4_0;
_Static_assert(sizeof(block_q4_0) == 18, "q4_0: 18 bytes on disk");

typedef struct {
    uint8_t d[2];   /* f16 */
    uint8_t m[2];   /* f16 */
    uint8_t qs[16]; /* w = d * nibble + m */
} block_q4_1;
_Static_assert(sizeof(block_q4_1) == 20, "q4_1: 20 bytes on disk");

typedef struct {
    uint8_t d[2];   /* f16 */
    uint8_t qh[4];  /* bit i: the fifth bit of element i */
    uint8_t qs[16]; /* w = d * (value5 - 16) */
} block_q5_0;
_Static_assert(sizeof(block_q5_0) == 22, "q5_0: 22 bytes on disk");

typedef struct {
    uint8_t d[2];   /* f16 */
    uint8_t m[2];   /* f16 */
    uint8_t qh[4];  /* bit i: the fifth bit of element i */
    uint8_t qs[16]; /* w = d * value5 + m */
} block_q5_1;
_Static_assert(sizeof(block_q5_1) == 24, "q5_1: 24 bytes on disk");

typedef struct {
    uint8_t d[2];  /* f16 */
    int8_t qs[32]; /* w = d * q */
} block_q8_0;
_Static_assert(sizeof(block_q8_0) == 34, "q8_0: 34 bytes on disk");

typedef struct {
    uint8_t d[2];   /* f16 */
    uint8_t qs[16]; /* w = d * table[nibble], a table of 16 uneven steps */
} block_iq4_nl;
_Static_assert(sizeof(block_iq4_nl) == 18, "iq4_nl: 18 bytes on disk");

typedef struct {
    uint8_t e;      /* power of two: the scale is 2^(e - 128) of the doubled table */
    uint8_t qs[16]; /* w = scale * table[nibble], e2m1 values doubled */
} block_mxfp4;
_Static_assert(sizeof(block_mxfp4) == 17, "mxfp4: 17 bytes on disk");

/* Two-bit values of Q2_K and Q3_K: element i, with half h = i / 128, r = i % 128, is bits
 * 2 * (r / 32) of qs[32 * h + r % 32]. */

typedef struct {
    uint8_t sc[16]; /* runs of 16: scale in the low nibble, minimum in the high */
    uint8_t qs[64];
    uint8_t d[2];    /* f16 */
    uint8_t dmin[2]; /* f16; w = d * scale * v - dmin * minimum */
} block_q2_k;
_Static_assert(sizeof(block_q2_k) == 84, "q2_k: 84 bytes on disk");

typedef struct {
    uint8_t hmask[32]; /* third bit: bit 4 * h + r / 32 of hmask[r % 32]; clear means v - 4 */
    uint8_t qs[64];
    uint8_t sc[12]; /* sixteen 6-bit scales: low nibbles in 0..7, high pairs in 8..11 */
    uint8_t d[2];   /* f16; w = d * (scale - 32) * v */
} block_q3_k;
_Static_assert(sizeof(block_q3_k) == 110, "q3_k: 110 bytes on disk");

/* Four-bit values of Q4_K and Q5_K: element i, with chunk c = i / 64 and r = i % 64, is the low
 * (r < 32) or high nibble of qs[32 * c + r % 32]. Scales and minimums: eight of 6 bits each. */

typedef struct {
    uint8_t d[2];    /* f16 */
    uint8_t dmin[2]; /* f16; w = d * scale * v - dmin * minimum */
    uint8_t sc[12];
    uint8_t qs[128];
} block_q4_k;
_Static_assert(sizeof(block_q4_k) == 144, "q4_k: 144 bytes on disk");

typedef struct {
    uint8_t d[2];    /* f16 */
    uint8_t dmin[2]; /* f16; w = d * scale * v - dmin * minimum */
    uint8_t sc[12];
    uint8_t qh[32]; /* bit j of qh[l]: fifth bit of element 32 * j + l */
    uint8_t qs[128];
} block_q5_k;
_Static_assert(sizeof(block_q5_k) == 176, "q5_k: 176 bytes on disk");

/* Element i, with h = i / 128, r = i % 128, g = r / 32, l = r % 32: low four bits in
 * ql[64 * h + 32 * (g % 2) + l] (high nibble when g >= 2), two more at 2 * g of qh[32 * h + l]. */
typedef struct {
    uint8_t ql[128];
    uint8_t qh[64];
    int8_t sc[16];
    uint8_t d[2]; /* f16; w = d * sc[i / 16] * (v - 32) */
} block_q6_k;
_Static_assert(sizeof(block_q6_k) == 210, "q6_k: 210 bytes on disk");

typedef struct {
    uint8_t d[2];      /* f16 */
    uint8_t sh[2];     /* high two bits of the eight 6-bit scales */
    uint8_t sl[4];     /* low four bits */
    uint8_t qs[8][16]; /* each row like an iq4_nl block; w = d * (scale - 32) * table[nibble] */
} block_iq4_xs;
_Static_assert(sizeof(block_iq4_xs) == 136, "iq4_xs: 136 bytes on disk");

/* Ternary, five to a byte: a byte is ceil(256 / 243 * number), the number's base-3 digits are the
 * elements, most significant first. Digit k of qs[j], j < 32, is element 32 * k + j; of
 * qs[32 + j], j < 16, element 160 + 16 * k + j; digit k < 4 of qh[j], element 240 + 4 * k + j. */
typedef struct {
    uint8_t qs[48];
    uint8_t qh[4];
    uint8_t d[2]; /* f16; w = d * (digit - 1) */
} block_tq1_0;
_Static_assert(sizeof(block_tq1_0) == 54, "tq1_0: 54 bytes on disk");

/* Ternary, two bits each, in the order of Q2_K's values. */
typedef struct {
    uint8_t qs[64];
    uint8_t d[2]; /* f16; w = d * (v - 1) */
} block_tq2_0;
_Static_assert(sizeof(block_tq2_0) == 66, "tq2_0: 66 bytes on disk");

#endif
