/* SPDX-License-Identifier: MIT
 *
 * Small pieces that the AVX2 kernels share. For files compiled with AVX2, FMA and F16C only. */
#ifndef EW_KERNELS_X86_SIMD_AVX2_H
#define EW_KERNELS_X86_SIMD_AVX2_H

#include "kernels/kern.h"
#include "kernels/tanh.h"

#include <immintrin.h>
#include <string.h>

/* Kernels are built from parts that take constants and functions; they must melt into one. */
#define INLINE static inline __attribute__((always_inline))

INLINE __m256i load256(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

INLINE __m128i load128(const void *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

INLINE void store256(void *p, __m256i v) {
    _mm256_storeu_si256((__m256i *)p, v);
}

INLINE void store128(void *p, __m128i v) {
    _mm_storeu_si128((__m128i *)p, v);
}

/* Eight lanes: 0+4, 1+5, 2+6, 3+7; then 0+2, 1+3; then these two. */
INLINE float lanes_sum(__m256 v) {
    const __m128 a = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 b = _mm_add_ps(a, _mm_movehl_ps(a, a));

    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

/* The same for four vectors at once, with the same additions. */
INLINE __m128 lanes_sum4(__m256 a, __m256 b, __m256 c, __m256 d) {
    __m128 p = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    __m128 r = _mm_add_ps(_mm256_castps256_ps128(c), _mm256_extractf128_ps(c, 1));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(d), _mm256_extractf128_ps(d, 1));

    _MM_TRANSPOSE4_PS(p, q, r, s);
    return _mm_add_ps(_mm_add_ps(p, r), _mm_add_ps(q, s));
}

INLINE float half_load(const uint8_t *p) {
    return _cvtsh_ss(u16_at(p));
}

/* 16 bytes with two nibbles each: low nibbles in the low half, high ones in the high half. */
INLINE __m256i nibbles(const uint8_t *p) {
    const __m256i q = _mm256_broadcastsi128_si256(load128(p));
    const __m256i shifted = _mm256_srlv_epi64(q, _mm256_setr_epi64x(0, 0, 4, 4));

    return _mm256_and_si256(shifted, _mm256_set1_epi8(15));
}

/* Pairs of products of unsigned a and signed b, added: 16-bit lanes. No saturation as long as
 * a <= 128. */
INLINE __m256i pairs_u8(__m256i a, __m256i b) {
    return _mm256_maddubs_epi16(a, b);
}

/* The same for signed a >= -127: the sign moves over to b (which is >= -127 too). */
INLINE __m256i pairs_i8(__m256i a, __m256i b) {
    return _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
}

/* exp_f32() of kernels/exp.h, step for step. */
INLINE __m256 exp_avx2(__m256 x) {
    const __m256 round = _mm256_set1_ps(EXP_ROUND), one = _mm256_set1_ps(1.0f);
    const __m256i bias = _mm256_set1_epi32(127);
    __m256 c, shifted, nf, r, p;
    __m256i n, half, rest;

    c = _mm256_max_ps(_mm256_set1_ps(EXP_MIN), x); /* a NaN comes from the second operand */
    c = _mm256_min_ps(_mm256_set1_ps(EXP_MAX), c);
    shifted = _mm256_add_ps(_mm256_mul_ps(c, _mm256_set1_ps(EXP_LOG2E)), round);
    n = _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_castps_si256(round));
    nf = _mm256_sub_ps(shifted, round);
    r = _mm256_sub_ps(c, _mm256_mul_ps(nf, _mm256_set1_ps(EXP_LN2_HI)));
    r = _mm256_sub_ps(r, _mm256_mul_ps(nf, _mm256_set1_ps(EXP_LN2_LO)));
    p = _mm256_set1_ps(EXP_C7);
    p = _mm256_add_ps(_mm256_mul_ps(p, r), _mm256_set1_ps(EXP_C6));
    p = _mm256_add_ps(_mm256_mul_ps(p, r), _mm256_set1_ps(EXP_C5));
    p = _mm256_add_ps(_mm256_mul_ps(p, r), _mm256_set1_ps(EXP_C4));
    p = _mm256_add_ps(_mm256_mul_ps(p, r), _mm256_set1_ps(EXP_C3));
    p = _mm256_add_ps(_mm256_mul_ps(p, r), _mm256_set1_ps(EXP_C2));
    p = _mm256_mul_ps(p, _mm256_mul_ps(r, r));
    p = _mm256_add_ps(_mm256_add_ps(p, r), one);
    half = _mm256_srai_epi32(n, 1);
    rest = _mm256_sub_epi32(n, half);
    half = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    rest = _mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23);
    p = _mm256_mul_ps(p, _mm256_castsi256_ps(half));
    return _mm256_mul_ps(p, _mm256_castsi256_ps(rest));
}

/* tanh_f32() and gelu_f32() of kernels/tanh.h, step for step. */
INLINE __m256 tanh_avx2(__m256 x) {
    const __m256 sign = _mm256_set1_ps(-0.0f), one = _mm256_set1_ps(1.0f);
    const __m256 a = _mm256_andnot_ps(sign, x), x2 = _mm256_mul_ps(x, x);
    const __m256 t = exp_avx2(_mm256_mul_ps(_mm256_set1_ps(-2.0f), a));
    const __m256 far = _mm256_div_ps(_mm256_sub_ps(one, t), _mm256_add_ps(one, t));
    __m256 p = _mm256_set1_ps(TANH_C9);

    p = _mm256_add_ps(_mm256_mul_ps(p, x2), _mm256_set1_ps(TANH_C7));
    p = _mm256_add_ps(_mm256_mul_ps(p, x2), _mm256_set1_ps(TANH_C5));
    p = _mm256_add_ps(_mm256_mul_ps(p, x2), _mm256_set1_ps(TANH_C3));
    p = _mm256_add_ps(x, _mm256_mul_ps(x, _mm256_mul_ps(x2, p)));
    return _mm256_blendv_ps(p, _mm256_or_ps(far, _mm256_and_ps(sign, x)),
                            _mm256_cmp_ps(a, _mm256_set1_ps(TANH_SMALL), _CMP_GE_OQ));
}

INLINE __m256 gelu_avx2(__m256 x) {
    const __m256 b = _mm256_mul_ps(_mm256_set1_ps(GELU_B), _mm256_mul_ps(x, x));
    const __m256 z = _mm256_mul_ps(x, _mm256_add_ps(_mm256_set1_ps(GELU_A), b));

    return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0f), exp_avx2(z)));
}

#endif
