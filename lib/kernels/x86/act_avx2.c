/* SPDX-License-Identifier: MIT
 *
 * Activations to 8-bit blocks, and rows into a q8_0 cache: bit for bit what the plain C gives. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/x86/x86.h"

#include <math.h>

/* The largest |x| as bits: a NaN is above infinity, that above all numbers. n % 32 == 0 */
INLINE uint32_t max_bits(const float *x, size_t n) {
    const __m256i mask = _mm256_set1_epi32(0x7fffffff);
    __m256i max = _mm256_setzero_si256();
    __m128i m;

    for (size_t i = 0; i < n; i += 8) {
        max = _mm256_max_epi32(max, _mm256_and_si256(load256(x + i), mask));
    }
    m = _mm_max_epi32(_mm256_castsi256_si128(max), _mm256_extracti128_si256(max, 1));
    m = _mm_max_epi32(m, _mm_unpackhi_epi64(m, m));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

INLINE __m256i rounded(const float *x, __m256 inv) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), inv));
}

/* 32 floats to 8 bits. */
INLINE __m256i quants(const float *x, float inv) {
    const __m256 f = _mm256_set1_ps(inv);
    const __m256i a = _mm256_packs_epi32(rounded(x, f), rounded(x + 8, f));
    const __m256i b = _mm256_packs_epi32(rounded(x + 16, f), rounded(x + 24, f));

    /* packing works within halves: fours of 0 2 4 6 | 1 3 5 7 */
    return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b),
                                       _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* 1 / scale, 0 where all quants are to be 0; sets the scale. */
INLINE float inverse(float *d, uint32_t max) {
    *d = max >= 0x7f800000u ? NAN : 0.0f;
    if (max >= 0x7f800000u || bits_f32(max) < 0x1p-100f) return 0;
    *d = bits_f32(max) / 127.0f;
    return 127.0f / bits_f32(max);
}

INLINE __m256i block_quants(const float *x, float inv) {
    return inv > 0 ? quants(x, inv) : _mm256_setzero_si256();
}

/* Sums of 16-bit pairs of bytes: lanes of runs of 16 stay in their half. */
INLINE __m256i pair_sums(__m256i q) {
    return _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);
}

INLINE int32_t sum_all(__m256i q) {
    const __m256i s = _mm256_madd_epi16(pair_sums(q), _mm256_set1_epi16(1));
    __m128i m = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));

    m = _mm_add_epi32(m, _mm_unpackhi_epi64(m, m));
    m = _mm_add_epi32(m, _mm_shuffle_epi32(m, 1));
    return _mm_cvtsi128_si32(m);
}

static void act_32(void *dst, const float *src, size_t n) {
    act_q8_32 *a = dst;

    if (n % 128) memset(a + n / 128, 0, sizeof *a);
    for (size_t b = 0; b < n / 32; b++) {
        act_q8_32 *g = a + b / 4;
        const size_t j = b % 4;
        const float inv = inverse(g->d + j, max_bits(src + 32 * b, 32));
        const __m256i q = block_quants(src + 32 * b, inv);

        store256(g->q[j], q);
        g->sum[j] = (int16_t)sum_all(q);
        g->s[j] = g->d[j] * (float)g->sum[j];
    }
}

static void act_k(void *dst, const float *src, size_t n) {
    act_q8_k *a = dst;

    for (size_t b = 0; b < n / 256; b++, src += 256) {
        const float inv = inverse(&a[b].d, max_bits(src, 256));

        for (int k = 0; k < 8; k++) {
            const __m256i q = block_quants(src + 32 * k, inv);
            const __m256i s = _mm256_madd_epi16(pair_sums(q), _mm256_set1_epi16(1));
            const __m256i t = _mm256_hadd_epi32(s, s), u = _mm256_hadd_epi32(t, t);

            store256(a[b].q + 32 * k, q);
            a[b].sums[2 * k] = (int16_t)_mm256_extract_epi32(u, 0);
            a[b].sums[2 * k + 1] = (int16_t)_mm256_extract_epi32(u, 4);
        }
    }
}

static void store_q8_0_block(uint8_t *b, const float *x) {
    float d;
    const float inv = inverse(&d, max_bits(x, 32));
    const uint16_t h = (uint16_t)_cvtss_sh(d, _MM_FROUND_TO_NEAREST_INT);

    memcpy(b, &h, sizeof h);
    store256(b + 2, block_quants(x, inv));
}

static void store_q8_0(void *dst, const float *src, size_t n) {
    uint8_t *b = dst;

    for (; n >= 32; n -= 32, src += 32, b += 34) store_q8_0_block(b, src);
    if (n) {
        float rest[32] = {0};

        memcpy(rest, src, n * sizeof *src);
        store_q8_0_block(b, rest);
    }
}

static void store_f16(void *dst, const float *src, size_t n) {
    uint16_t *p = dst;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        store128(p + i, _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
    }
    for (; i < n; i++) p[i] = (uint16_t)_cvtss_sh(src[i], _MM_FROUND_TO_NEAREST_INT);
}

void avx2_fill_act(kern_table *t) {
    t->quant_act[ACT_Q8_32] = act_32;
    t->quant_act[ACT_Q8_K] = act_k;
    t->kv_store[KVT_Q8_0] = store_q8_0;
    t->kv_store[KVT_F16] = store_f16;
}
