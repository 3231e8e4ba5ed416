/* SPDX-License-Identifier: MIT
 *
 * Attention with AVX2: tiles of three rows x four vectors of eight. */
#include "kernels/x86/simd_avx2.h"

typedef __m256 vec;

enum {
    LANES = 8,
    TILE = 4
};

INLINE vec v_zero(void) {
    return _mm256_setzero_ps();
}

INLINE vec v_set1(float x) {
    return _mm256_set1_ps(x);
}

INLINE vec v_load(const float *p) {
    return _mm256_loadu_ps(p);
}

INLINE vec v_load_rest(const float *p, size_t n) {
    float rest[LANES] = {0};

    memcpy(rest, p, n * sizeof *p);
    return _mm256_loadu_ps(rest);
}

INLINE void v_store(float *p, vec v) {
    _mm256_storeu_ps(p, v);
}

INLINE void v_store_rest(float *p, vec v, size_t n) {
    float rest[LANES];

    _mm256_storeu_ps(rest, v);
    memcpy(p, rest, n * sizeof *p);
}

INLINE vec v_fma(vec a, vec b, vec c) {
    return _mm256_fmadd_ps(a, b, c);
}

INLINE vec v_mul(vec a, vec b) {
    return _mm256_mul_ps(a, b);
}

INLINE float v_sum(vec v) {
    return lanes_sum(v);
}

INLINE void v_sums(float *s, const vec *v, float scale) {
    _mm_storeu_ps(s, _mm_mul_ps(lanes_sum4(v[0], v[1], v[2], v[3]), _mm_set1_ps(scale)));
}

INLINE vec values_f32(const uint8_t *run, size_t i, size_t left) {
    const float *p = (const float *)(const void *)run + i;

    return left >= LANES ? v_load(p) : v_load_rest(p, left);
}

INLINE vec values_f16(const uint8_t *run, size_t i, size_t left) {
    uint8_t rest[2 * LANES] = {0};

    if (left >= LANES) return _mm256_cvtph_ps(load128(run + 2 * i));
    memcpy(rest, run + 2 * i, 2 * left);
    return _mm256_cvtph_ps(load128(rest));
}

/* The product of an 11-bit scale and a byte is exact. */
INLINE vec values_q8_0(const uint8_t *run, size_t i, size_t left) {
    const __m128i q = _mm_loadl_epi64((const __m128i *)(const void *)(run + 2 + i));

    (void)left;
    return v_mul(v_set1(half_load(run)), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)));
}

#include "kernels/x86/attn_tile.h"

void avx2_fill_attn(kern_table *t) {
    fill_attn(t);
}
