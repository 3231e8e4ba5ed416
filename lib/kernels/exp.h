/* SPDX-License-Identifier: MIT
 *
 * exp() for softmax and SiLU, the same steps in every instruction set and without fused
 * multiply-adds, so that all give the same bits. Relative error under 1.3e-7 where the result is a
 * normal number; infinities and NaN as libm has them, subnormal results included.
 *
 * x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) by its Taylor series to r^7 (the next term is under
 * 6e-9); then two factors 2^(n/2), since 2^n alone may be out of a float's range. ln 2 is split
 * in two: n * EXP_LN2_HI is exact. Adding EXP_ROUND leaves n in the low bits of the sum. */
#ifndef EW_KERNELS_EXP_H
#define EW_KERNELS_EXP_H

#include "kernels/half.h"

#define EXP_MIN    -104.0f /* below: 0 */
#define EXP_MAX    89.0f   /* from here on: infinity */
#define EXP_LOG2E  1.44269504f
#define EXP_ROUND  0x1.8p23f
#define EXP_LN2_HI 0.693359375f /* 355 / 512 */
#define EXP_LN2_LO -2.12194440e-4f
#define EXP_C2     0.5f
#define EXP_C3     0.166666672f
#define EXP_C4     0.0416666679f
#define EXP_C5     0.00833333377f
#define EXP_C6     0.00138888892f
#define EXP_C7     1.98412701e-4f

/* 2^e, e in [-126, 127] as two's complement */
static inline float exp_pow2(uint32_t e) {
    return bits_f32((e + 127u) << 23);
}

static inline float exp_f32(float x) {
    float c = x < EXP_MIN ? EXP_MIN : x; /* these keep a NaN */
    float shifted, nf, r, p;
    uint32_t n, half;

    c = c > EXP_MAX ? EXP_MAX : c;
    shifted = c * EXP_LOG2E + EXP_ROUND;
    n = f32_bits(shifted) - f32_bits(EXP_ROUND);
    nf = shifted - EXP_ROUND;
    r = c - nf * EXP_LN2_HI;
    r = r - nf * EXP_LN2_LO;
    p = EXP_C7;
    p = p * r + EXP_C6;
    p = p * r + EXP_C5;
    p = p * r + EXP_C4;
    p = p * r + EXP_C3;
    p = p * r + EXP_C2;
    p = p * (r * r);
    p = (p + r) + 1.0f;
    half = n >> 1 | (n & 0x80000000u); /* n / 2, rounded down */
    return p * exp_pow2(half) * exp_pow2(n - half);
}

#endif
