/* SPDX-License-Identifier: MIT
 *
 * Halves to floats and back, in plain C that a compiler can vectorise; unaligned loads. */
#ifndef EW_KERNELS_HALF_H
#define EW_KERNELS_HALF_H

#include <stdint.h>
#include <string.h>

static inline float bits_f32(uint32_t u) {
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint32_t f32_bits(float f) {
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    return u;
}

/* The half's exponent and fraction, moved into a float's place, are too small by 2^112; the
 * product puts that right and is exact, also for subnormal halves. Exponent 31 (infinity, NaN)
 * must become 255 instead of 143. */
static inline float half_f32(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, mag = (uint32_t)(h & 0x7fff) << 13;
    const uint32_t u = f32_bits(bits_f32(mag) * 0x1p112f);

    return bits_f32(sign | (mag >= 0x0f800000u ? u | 0x7f800000u : u));
}

static inline float bf16_f32(uint16_t h) {
    return bits_f32((uint32_t)h << 16);
}

static inline uint16_t u16_at(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t u32_at(const uint8_t *p) {
    return (uint32_t)u16_at(p) | (uint32_t)u16_at(p + 2) << 16;
}

static inline float f16_at(const uint8_t *p) {
    return half_f32(u16_at(p));
}

static inline float f32_at(const uint8_t *p) {
    return bits_f32(u32_at(p));
}

#endif
