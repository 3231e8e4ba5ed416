/* SPDX-License-Identifier: MIT
 *
 * Softmax's parts with AVX-512. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/x86/x86.h"

#include <math.h>

enum {
    LANES = 16
};

INLINE __mmask16 first(size_t n) {
    return (__mmask16)(n >= LANES ? 0xffffu : (1u << n) - 1u);
}

/* exp_f32() of kernels/exp.h, step for step. */
INLINE __m512 exp_avx512(__m512 x) {
    const __m512 round = _mm512_set1_ps(EXP_ROUND), one = _mm512_set1_ps(1.0f);
    const __m512i bias = _mm512_set1_epi32(127);
    __m512 c, shifted, nf, r, p;
    __m512i n, half, rest;

    c = _mm512_max_ps(_mm512_set1_ps(EXP_MIN), x); /* a NaN comes from the second operand */
    c = _mm512_min_ps(_mm512_set1_ps(EXP_MAX), c);
    shifted = _mm512_add_ps(_mm512_mul_ps(c, _mm512_set1_ps(EXP_LOG2E)), round);
    n = _mm512_sub_epi32(_mm512_castps_si512(shifted), _mm512_castps_si512(round));
    nf = _mm512_sub_ps(shifted, round);
    r = _mm512_sub_ps(c, _mm512_mul_ps(nf, _mm512_set1_ps(EXP_LN2_HI)));
    r = _mm512_sub_ps(r, _mm512_mul_ps(nf, _mm512_set1_ps(EXP_LN2_LO)));
    p = _mm512_set1_ps(EXP_C7);
    p = _mm512_add_ps(_mm512_mul_ps(p, r), _mm512_set1_ps(EXP_C6));
    p = _mm512_add_ps(_mm512_mul_ps(p, r), _mm512_set1_ps(EXP_C5));
    p = _mm512_add_ps(_mm512_mul_ps(p, r), _mm512_set1_ps(EXP_C4));
    p = _mm512_add_ps(_mm512_mul_ps(p, r), _mm512_set1_ps(EXP_C3));
    p = _mm512_add_ps(_mm512_mul_ps(p, r), _mm512_set1_ps(EXP_C2));
    p = _mm512_mul_ps(p, _mm512_mul_ps(r, r));
    p = _mm512_add_ps(_mm512_add_ps(p, r), one);
    half = _mm512_srai_epi32(n, 1);
    rest = _mm512_sub_epi32(n, half);
    half = _mm512_slli_epi32(_mm512_add_epi32(half, bias), 23);
    rest = _mm512_slli_epi32(_mm512_add_epi32(rest, bias), 23);
    p = _mm512_mul_ps(p, _mm512_castsi512_ps(half));
    return _mm512_mul_ps(p, _mm512_castsi512_ps(rest));
}

/* The sum goes by eights, as in the other sets. */
static float exp_sum(float *x, float max, size_t n) {
    const __m512 m = _mm512_set1_ps(max);
    __m256 acc = _mm256_setzero_ps();

    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 k = first(n - i);
        const __m512 e =
            _mm512_maskz_mov_ps(k, exp_avx512(_mm512_sub_ps(_mm512_maskz_loadu_ps(k, x + i), m)));

        _mm512_mask_storeu_ps(x + i, k, e);
        acc = _mm256_add_ps(acc, _mm512_castps512_ps256(e));
        acc = _mm256_add_ps(acc, _mm512_extractf32x8_ps(e, 1));
    }
    return lanes_sum(acc);
}

/* vmaxps forgets a NaN in its first operand: unordered lanes are noted apart. */
static float max_f32(const float *x, size_t n) {
    __m512 max = _mm512_set1_ps(-INFINITY);
    __mmask16 bad = 0;

    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 k = first(n - i);
        const __m512 v = _mm512_maskz_loadu_ps(k, x + i);

        max = _mm512_mask_max_ps(max, k, max, v);
        bad |= _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    }
    return bad ? NAN : _mm512_reduce_max_ps(max);
}

void avx512_fill_vec(kern_table *t) {
    t->exp_sum = exp_sum;
    t->max_f32 = max_f32;
}
