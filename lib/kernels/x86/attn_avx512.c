/* SPDX-License-Identifier: MIT
 *
 * Attention with AVX-512: tiles of three rows x eight vectors of sixteen. */
#include "kernels/x86/simd_avx2.h"

typedef __m512 vec;

enum {
    LANES = 16,
    TILE = 8
};

INLINE vec v_zero(void) {
    return _mm512_setzero_ps();
}

INLINE vec v_set1(float x) {
    return _mm512_set1_ps(x);
}

INLINE vec v_load(const float *p) {
    return _mm512_loadu_ps(p);
}

INLINE __mmask16 first(size_t n) {
    return (__mmask16)((1u << n) - 1u);
}

INLINE vec v_load_rest(const float *p, size_t n) {
    return _mm512_maskz_loadu_ps(first(n), p);
}

INLINE void v_store(float *p, vec v) {
    _mm512_storeu_ps(p, v);
}

INLINE void v_store_rest(float *p, vec v, size_t n) {
    _mm512_mask_storeu_ps(p, first(n), v);
}

INLINE vec v_fma(vec a, vec b, vec c) {
    return _mm512_fmadd_ps(a, b, c);
}

INLINE vec v_mul(vec a, vec b) {
    return _mm512_mul_ps(a, b);
}

/* Lanes i + 8 first, then as lanes_sum(). */
INLINE float v_sum(vec v) {
    return lanes_sum(_mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1)));
}

/* Of a and b: lanes i and i + 8 added, eight each. */
INLINE vec fold_halves(vec a, vec b) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
}

/* Of two results of fold_halves(): lanes i and i + 4 of each eight. */
INLINE vec fold_quarters(vec ab, vec cd) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
}

/* The even vectors meet the odd ones where 128-bit lanes are folded, so that lane L holds the sums
 * of 2 L and 2 L + 1. */
INLINE void v_sums(float *s, const vec *v, float scale) {
    const vec even = fold_quarters(fold_halves(v[0], v[2]), fold_halves(v[4], v[6]));
    const vec odd = fold_quarters(fold_halves(v[1], v[3]), fold_halves(v[5], v[7]));
    const __m512d even_d = _mm512_castps_pd(even), odd_d = _mm512_castps_pd(odd);
    const vec pairs = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(even_d, odd_d)),
                                    _mm512_castpd_ps(_mm512_unpackhi_pd(even_d, odd_d)));
    const vec sums = _mm512_add_ps(_mm512_shuffle_ps(pairs, pairs, _MM_SHUFFLE(2, 0, 2, 0)),
                                   _mm512_shuffle_ps(pairs, pairs, _MM_SHUFFLE(3, 1, 3, 1)));
    const __m512i low_halves = _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
    const __m512d in_order = _mm512_permutexvar_pd(low_halves, _mm512_castps_pd(sums));

    _mm256_storeu_ps(s, _mm256_mul_ps(_mm512_castps512_ps256(_mm512_castpd_ps(in_order)),
                                      _mm256_set1_ps(scale)));
}

INLINE vec values_f32(const uint8_t *run, size_t i, size_t left) {
    const float *p = (const float *)(const void *)run + i;

    return left >= LANES ? v_load(p) : v_load_rest(p, left);
}

INLINE vec values_f16(const uint8_t *run, size_t i, size_t left) {
    if (left >= LANES) return _mm512_cvtph_ps(load256(run + 2 * i));
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(left), run + 2 * i));
}

/* The product of an 11-bit scale and a byte is exact. */
INLINE vec values_q8_0(const uint8_t *run, size_t i, size_t left) {
    (void)left;
    return v_mul(v_set1(half_load(run)),
                 _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load128(run + 2 + i))));
}

#include "kernels/x86/attn_tile.h"

void avx512_fill_attn(kern_table *t) {
    fill_attn(t);
}
