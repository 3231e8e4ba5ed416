/* SPDX-License-Identifier: MIT
 *
 * Activations to 8-bit blocks. d = max|x| / 127, q = x / d to the nearest (ties to even). The
 * largest magnitude is found on the bit patterns, where a NaN is greater than infinity and that
 * greater than any number: a block with either gets d = NaN and q = 0, so that the fault shows in
 * the result instead of turning into some number. A block too small to have a reciprocal is 0. */
#include "kernels/generic/generic.h"
#include "kernels/half.h"

#include <math.h>

enum {
    F32_ABS = 0x7fffffff,
    F32_INF = 0x7f800000
};

/* Below, 127 / max would overflow or lose precision. */
#define ACT_TINY 0x1p-100f

/* Fills q[n], returns d. */
static float quantise(int8_t *q, const float *x, size_t n) {
    uint32_t max_bits = 0;
    float max, inv;

    for (size_t i = 0; i < n; i++) {
        const uint32_t u = f32_bits(x[i]) & F32_ABS;

        if (u > max_bits) max_bits = u;
    }
    max = bits_f32(max_bits);
    if (max_bits >= F32_INF || max < ACT_TINY) {
        memset(q, 0, n);
        return max_bits >= F32_INF ? NAN : 0.0f;
    }
    inv = 127.0f / max;
    for (size_t i = 0; i < n; i++) q[i] = (int8_t)lrintf(x[i] * inv);
    return max / 127.0f;
}

static void act_f32(void *dst, const float *src, size_t n) {
    memcpy(dst, src, n * sizeof *src);
}

static void act_32(void *dst, const float *src, size_t n) {
    act_q8_32 *a = dst;

    if (n % 128) memset(a + n / 128, 0, sizeof *a);
    for (size_t b = 0; b < n / 32; b++) {
        act_q8_32 *g = a + b / 4;
        const size_t j = b % 4;
        int32_t sum = 0;

        g->d[j] = quantise(g->q[j], src + 32 * b, 32);
        for (int i = 0; i < 32; i++) sum += g->q[j][i];
        g->sum[j] = (int16_t)sum;
        g->s[j] = g->d[j] * (float)sum;
    }
}

static void act_k(void *dst, const float *src, size_t n) {
    act_q8_k *a = dst;

    for (size_t b = 0; b < n / 256; b++) {
        a[b].d = quantise(a[b].q, src + 256 * b, 256);
        for (int j = 0; j < 16; j++) {
            int32_t sum = 0;

            for (int i = 16 * j; i < 16 * j + 16; i++) sum += a[b].q[i];
            a[b].sums[j] = (int16_t)sum;
        }
    }
}

void generic_fill_act(kern_table *t) {
    t->quant_act[ACT_F32] = act_f32;
    t->quant_act[ACT_Q8_32] = act_32;
    t->quant_act[ACT_Q8_K] = act_k;
}
