/* SPDX-License-Identifier: MIT
 *
 * Products of 16 rows at a time: what all instruction sets begin with (and groups.h ends). */
#ifndef EW_KERNELS_X86_GROUPS_PARTS_H
#define EW_KERNELS_X86_GROUPS_PARTS_H

#include "kernels/pack.h"
#include "kernels/x86/simd_avx2.h"
#include "kernels/x86/x86.h"

enum {
    COLS = 256,
    QUADS = COLS / 4
};

INLINE int32_t word_at(const void *p) {
    int32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* Quads after which the planes' bits stand in the same places again. */
INLINE size_t period(const pack_layout l) {
    const size_t low = l.low.step * 8 / (size_t)l.low.bits;
    const size_t high = l.high.bits ? l.high.step * 8 / (size_t)l.high.bits : 1;

    return low > high ? low : high;
}

INLINE const act_q8_k *super_of(const uint8_t *x, size_t x_bytes, int t) {
    return (const act_q8_k *)(const void *)(x + (size_t)t * x_bytes);
}

INLINE const act_q8_32 *small_of(const uint8_t *x, size_t x_bytes, int t, size_t b) {
    return (const act_q8_32 *)(const void *)(x + (size_t)t * x_bytes) + b / 4;
}

#endif
