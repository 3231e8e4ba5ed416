/* SPDX-License-Identifier: MIT
 *
 * Products with packed weights (kernels/pack.h), AVX-512 with VNNI. A strip of 16 rows and up to
 * 256 columns is unpacked into the first-level cache once, then multiplied with all tokens: what
 * decoding one token and a prompt of hundreds do differs in nothing but the count.
 *
 * The lanes are the 16 rows; four columns of an activation are broadcast to all of them. Sums are
 * whole numbers up to the end of a sub-block's (32 columns) or super-block's (256) scale. */
#include "kernels/pack.h"
#include "kernels/x86/x86.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    COLS = 256,
    QUADS = COLS / 4,
    BLOCKS = COLS / 32,
    TILE = 8 /* tokens whose sums are kept in registers */
};

typedef struct {
    _Alignas(64) uint8_t q[QUADS][64];
    int32_t sc[16][16];                 /* super-blocks: sub-block scales */
    int16_t mn[8][32];                  /* multiplied with the activations' sums of 16, in pairs */
    float d[BLOCKS][16], m[BLOCKS][16]; /* super-blocks use the first of each */
} strip;

INLINE __m512i load512(const void *p) {
    return _mm512_loadu_si512(p);
}

INLINE __m512i every32(const void *p) {
    int32_t v;

    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

/* Moves the bits of mask `m << from` of each byte to `m << to`. Shifts of 16-bit lanes do for bytes
 * because what crosses over is masked away. */
INLINE __m512i bits(__m512i v, int from, int to, int m) {
    const __m512i mask = _mm512_set1_epi8((char)(m << to));

    if (from > to) v = _mm512_srli_epi16(v, (unsigned)(from - to));
    if (to > from) v = _mm512_slli_epi16(v, (unsigned)(to - from));
    return _mm512_and_si512(v, mask);
}

/* Quads 8j .. 8j + 7, 32 columns, from the planes of a record. */
INLINE void unpack32(uint8_t (*out)[64], const uint8_t *low, const uint8_t *high, size_t j,
                     const pack_planes planes) {
    __m512i v[8];

    for (int i = 0; i < 8; i++) {
        switch (planes) {
        case PLANES_BYTE:
            v[i] = load512(low + (8 * j + (size_t)i) * 64);
            break;
        case PLANES_NIBBLE:
        case PLANES_NIBBLE_BIT:
        case PLANES_NIBBLE_PAIR:
            v[i] = bits(load512(low + (4 * j + (size_t)i / 2) * 64), 4 * (i % 2), 0, 15);
            break;
        case PLANES_PAIR:
        case PLANES_PAIR_BIT:
            v[i] = bits(load512(low + (2 * j + (size_t)i / 4) * 64), 2 * (i % 4), 0, 3);
            break;
        }
        if (planes == PLANES_NIBBLE_BIT)
            v[i] = _mm512_or_si512(v[i], bits(load512(high + j * 64), i, 4, 1));
        if (planes == PLANES_PAIR_BIT)
            v[i] = _mm512_or_si512(v[i], bits(load512(high + j * 64), i, 2, 1));
        if (planes == PLANES_NIBBLE_PAIR)
            v[i] = _mm512_or_si512(
                v[i], bits(load512(high + (2 * j + (size_t)i / 4) * 64), 2 * (i % 4), 4, 3));
        _mm512_store_si512(out[i], v[i]);
    }
}

INLINE __m512 halves(const uint8_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

INLINE __m128i load128(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

/* A super-block's scales, and the pairs that the activations' sums are multiplied with: minimums,
 * or with an offset the scales themselves. */
INLINE void unpack_scales(strip *s, const uint8_t *rec, const pack_layout l) {
    const uint8_t *sc = rec + l.at_scale, *mn = l.has_min ? rec + l.at_min : sc;

    for (size_t j = 0; j < l.n_scale; j++)
        _mm512_store_si512(s->sc[j], _mm512_cvtepi8_epi32(load128(sc + 16 * j)));
    for (size_t j = 0; j < 8; j++) {
        const size_t first = j * l.n_scale / 8, second = first + l.n_scale / 16;
        const __m512i a = _mm512_cvtepi8_epi32(load128(mn + 16 * first));
        const __m512i b = _mm512_cvtepi8_epi32(load128(mn + 16 * second));

        _mm512_store_si512(s->mn[j], _mm512_or_si512(_mm512_and_si512(a, _mm512_set1_epi32(0xffff)),
                                                     _mm512_slli_epi32(b, 16)));
    }
    _mm512_store_ps(s->d[0], halves(rec));
    if (l.has_min) _mm512_store_ps(s->m[0], halves(rec + 2 * PACK_ROWS));
}

/* y[t][0..15] += the product of a super-block with n tokens of x[t]. */
INLINE void super_tokens(float *y, size_t y_stride, const strip *s, const uint8_t *x,
                         size_t x_bytes, const int n, const pack_layout l) {
    const size_t per = QUADS / l.n_scale;
    __m512i sum[TILE], low[TILE];

    for (int t = 0; t < n; t++) sum[t] = low[t] = _mm512_setzero_si512();
    for (size_t j = 0; j < l.n_scale; j++) {
        const __m512i sc = _mm512_load_si512(s->sc[j]);
        __m512i dot[TILE];

        for (int t = 0; t < n; t++) dot[t] = _mm512_setzero_si512();
        for (size_t i = 0; i < per; i++) {
            const __m512i w = _mm512_load_si512(s->q[j * per + i]);

            for (int t = 0; t < n; t++) {
                const act_q8_k *a = (const void *)(x + (size_t)t * x_bytes);

                dot[t] = _mm512_dpbusd_epi32(dot[t], w, every32(a->q + 4 * (j * per + i)));
            }
        }
        for (int t = 0; t < n; t++)
            sum[t] = _mm512_add_epi32(sum[t], _mm512_mullo_epi32(dot[t], sc));
    }
    if (l.has_min || l.offset)
        for (int j = 0; j < 8; j++) {
            const __m512i m = _mm512_load_si512(s->mn[j]);

            for (int t = 0; t < n; t++) {
                const act_q8_k *a = (const void *)(x + (size_t)t * x_bytes);

                low[t] = _mm512_dpwssd_epi32(low[t], m, every32(&a->sums[2 * j]));
            }
        }
    for (int t = 0; t < n; t++) {
        const act_q8_k *a = (const void *)(x + (size_t)t * x_bytes);
        const __m512 d = _mm512_mul_ps(_mm512_load_ps(s->d[0]), _mm512_set1_ps(a->d));
        __m512 v = _mm512_loadu_ps(y + (size_t)t * y_stride);

        if (l.offset)
            sum[t] =
                _mm512_sub_epi32(sum[t], _mm512_mullo_epi32(low[t], _mm512_set1_epi32(l.offset)));
        v = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[t]), d, v);
        if (l.has_min)
            v = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(low[t]),
                                 _mm512_mul_ps(_mm512_load_ps(s->m[0]), _mm512_set1_ps(a->d)), v);
        _mm512_storeu_ps(y + (size_t)t * y_stride, v);
    }
}

/* Takes off what the offset added: -offset times the block's sum. The sums of two neighbours are
 * one word; the other one is multiplied by 0. */
INLINE __m512i offset_factor(int offset, size_t b) {
    return _mm512_set1_epi32(b % 2 ? (int32_t)((uint32_t)-offset << 16) : -offset & 0xffff);
}

/* The same for n_block blocks of 32 columns. A minimum m adds m * (sum of x). */
INLINE void small_tokens(float *y, size_t y_stride, const strip *s, const uint8_t *x,
                         size_t x_bytes, const int n, size_t n_block, const pack_layout l) {
    __m512 v[TILE];

    for (int t = 0; t < n; t++) v[t] = _mm512_loadu_ps(y + (size_t)t * y_stride);
    for (size_t b = 0; b < n_block; b++) {
        const __m512 d = _mm512_load_ps(s->d[b]);
        const __m512 m = l.has_min ? _mm512_load_ps(s->m[b]) : _mm512_setzero_ps();
        __m512i dot[TILE];

        for (int t = 0; t < n; t++) dot[t] = _mm512_setzero_si512();
        for (int i = 0; i < 8; i++) {
            const __m512i w = _mm512_load_si512(s->q[b * 8 + (size_t)i]);

            for (int t = 0; t < n; t++) {
                const act_q8_32 *a =
                    (const act_q8_32 *)(const void *)(x + (size_t)t * x_bytes) + b / 4;

                dot[t] = _mm512_dpbusd_epi32(dot[t], w, every32(a->q[b % 4] + 4 * i));
            }
        }
        for (int t = 0; t < n; t++) {
            const act_q8_32 *a = (const act_q8_32 *)(const void *)(x + (size_t)t * x_bytes) + b / 4;

            if (l.offset)
                dot[t] = _mm512_dpwssd_epi32(dot[t], offset_factor(l.offset, b),
                                             every32(&a->sum[b % 4 / 2 * 2]));
            v[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[t]),
                                   _mm512_mul_ps(d, _mm512_set1_ps(a->d[b % 4])), v[t]);
            if (l.has_min) v[t] = _mm512_fmadd_ps(m, _mm512_set1_ps(a->s[b % 4]), v[t]);
        }
    }
    for (int t = 0; t < n; t++) _mm512_storeu_ps(y + (size_t)t * y_stride, v[t]);
}

/* All tokens, in tiles of 8, 4, 2 and 1. */
INLINE void all_tokens(float *y, size_t y_stride, const strip *s, const uint8_t *x, size_t x_bytes,
                       size_t n_tok, size_t n_block, const pack_layout l) {
    size_t t = 0;

#define TOKENS(n)                                                                        \
 for (; t + (n) <= n_tok; t += (n)) {                                                    \
  if (l.n_scale)                                                                         \
   super_tokens(y + t * y_stride, y_stride, s, x + t * x_bytes, x_bytes, n, l);          \
  else                                                                                   \
   small_tokens(y + t * y_stride, y_stride, s, x + t * x_bytes, x_bytes, n, n_block, l); \
 }
    TOKENS(8)
    TOKENS(4)
    TOKENS(2)
    TOKENS(1)
#undef TOKENS
}

INLINE void unpack_super_record(strip *s, const uint8_t *rec, const pack_layout l) {
    for (size_t j = 0; j < BLOCKS; j++)
        unpack32(s->q + 8 * j, rec + l.at_low, rec + l.at_high, j, l.planes);
    unpack_scales(s, rec, l);
}

INLINE void unpack_small_record(strip *s, size_t b, const uint8_t *rec, const pack_layout l) {
    unpack32(s->q + 8 * b, rec + l.at_low, rec + l.at_high, 0, l.planes);
    _mm512_store_ps(s->d[b], halves(rec));
    if (l.has_min) _mm512_store_ps(s->m[b], halves(rec + 2 * PACK_ROWS));
}

INLINE void matmul(float *y, size_t y_stride, const uint8_t *w, const uint8_t *x, size_t x_bytes,
                   size_t n_group, size_t n_tok, size_t n, const pack_layout l) {
    strip s;

    for (size_t g = 0; g < n_group; g++) {
        for (size_t t = 0; t < n_tok; t++)
            _mm512_storeu_ps(y + t * y_stride + g * PACK_ROWS, _mm512_setzero_ps());
        for (size_t at = 0; at < n; at += COLS) {
            const size_t left = (n - at) / 32, n_block = left < BLOCKS ? left : BLOCKS;
            const uint8_t *in =
                x + (l.n_scale ? at / COLS * sizeof(act_q8_k) : at / 128 * sizeof(act_q8_32));

            if (l.n_scale) {
                unpack_super_record(&s, w, l);
                w += l.bytes;
            } else {
                for (size_t b = 0; b < n_block; b++, w += l.bytes) unpack_small_record(&s, b, w, l);
            }
            all_tokens(y + g * PACK_ROWS, y_stride, &s, in, x_bytes, n_tok, n_block, l);
        }
    }
}

#define KERNEL(name, type)                                                           \
 static void packed_##name(float *y, size_t y_stride, const void *w, const void *x,  \
                           size_t x_bytes, size_t n_group, size_t n_tok, size_t n) { \
  matmul(y, y_stride, w, x, x_bytes, n_group, n_tok, n, pack_of(type));              \
 }
KERNEL(q4_0, TYPE_Q4_0)
KERNEL(q4_1, TYPE_Q4_1)
KERNEL(q5_0, TYPE_Q5_0)
KERNEL(q5_1, TYPE_Q5_1)
KERNEL(q8_0, TYPE_Q8_0)
KERNEL(q2_k, TYPE_Q2_K)
KERNEL(q3_k, TYPE_Q3_K)
KERNEL(q4_k, TYPE_Q4_K)
KERNEL(q5_k, TYPE_Q5_K)
KERNEL(q6_k, TYPE_Q6_K)

void avx512_fill_packed(kern_table *t) {
    t->matmul_packed[TYPE_Q4_0] = packed_q4_0;
    t->matmul_packed[TYPE_Q4_1] = packed_q4_1;
    t->matmul_packed[TYPE_Q5_0] = packed_q5_0;
    t->matmul_packed[TYPE_Q5_1] = packed_q5_1;
    t->matmul_packed[TYPE_Q8_0] = packed_q8_0;
    t->matmul_packed[TYPE_Q2_K] = packed_q2_k;
    t->matmul_packed[TYPE_Q3_K] = packed_q3_k;
    t->matmul_packed[TYPE_Q4_K] = packed_q4_k;
    t->matmul_packed[TYPE_Q5_K] = packed_q5_k;
    t->matmul_packed[TYPE_Q6_K] = packed_q6_k;
}
