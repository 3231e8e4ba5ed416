/* SPDX-License-Identifier: MIT
 *
 * Products with packed weights (kernels/pack.h), AVX2. A strip of 16 rows and up to 256 columns is
 * unpacked into the first-level cache once, then multiplied with all tokens.
 *
 * A vector of 64 bytes is two of 8 rows here. Bytes are multiplied into 16-bit pairs; as many pairs
 * are added there as can't overflow (RUN quads), then a multiply-add with the sub-block's scale, or
 * with ones, brings them to 32 bits. No horizontal sums. */
#include "kernels/pack.h"
#include "kernels/x86/x86.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    COLS = 256,
    QUADS = COLS / 4,
    BLOCKS = COLS / 32,
    HALVES = 2, /* of a vector of 16 rows */
    TILE = 4    /* tokens whose sums are kept near */
};

typedef struct {
    _Alignas(64) uint8_t q[QUADS][64];
    int16_t sc[16][32];                 /* super-blocks: sub-block scales, each twice */
    int16_t mn[8][32];                  /* multiplied with the activations' sums of 16, in pairs */
    float d[BLOCKS][16], m[BLOCKS][16]; /* super-blocks use the first of each */
} strip;

INLINE __m256i load256(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

INLINE void store256(void *p, __m256i v) {
    _mm256_store_si256((__m256i *)p, v);
}

INLINE __m256i every32(const void *p) {
    int32_t v;

    memcpy(&v, p, sizeof v);
    return _mm256_set1_epi32(v);
}

/* Moves the bits of mask `m << from` of each byte to `m << to`. Shifts of 16-bit lanes do for bytes
 * because what crosses over is masked away. */
INLINE __m256i bits(__m256i v, int from, int to, int m) {
    const __m256i mask = _mm256_set1_epi8((char)(m << to));

    if (from > to) v = _mm256_srli_epi16(v, from - to);
    if (to > from) v = _mm256_slli_epi16(v, to - from);
    return _mm256_and_si256(v, mask);
}

/* Quads 8j .. 8j + 7, 32 columns, from the planes of a record. Bytes come out signed. */
INLINE void unpack32(uint8_t (*out)[64], const uint8_t *low, const uint8_t *high, size_t j,
                     const pack_planes planes) {
    for (size_t h = 0; h < 64; h += 32)
        for (size_t i = 0; i < 8; i++) {
            const int bit = (int)i;
            __m256i v = _mm256_setzero_si256();

            switch (planes) {
            case PLANES_BYTE:
                v = _mm256_xor_si256(load256(low + (8 * j + i) * 64 + h),
                                     _mm256_set1_epi8((char)0x80));
                break;
            case PLANES_NIBBLE:
            case PLANES_NIBBLE_BIT:
            case PLANES_NIBBLE_PAIR:
                v = bits(load256(low + (4 * j + i / 2) * 64 + h), 4 * (bit % 2), 0, 15);
                break;
            case PLANES_PAIR:
            case PLANES_PAIR_BIT:
                v = bits(load256(low + (2 * j + i / 4) * 64 + h), 2 * (bit % 4), 0, 3);
                break;
            }
            if (planes == PLANES_NIBBLE_BIT)
                v = _mm256_or_si256(v, bits(load256(high + j * 64 + h), bit, 4, 1));
            if (planes == PLANES_PAIR_BIT)
                v = _mm256_or_si256(v, bits(load256(high + j * 64 + h), bit, 2, 1));
            if (planes == PLANES_NIBBLE_PAIR)
                v = _mm256_or_si256(
                    v, bits(load256(high + (2 * j + i / 4) * 64 + h), 2 * (bit % 4), 4, 3));
            store256(out[i] + h, v);
        }
}

/* 16 halves to floats. */
INLINE void unpack_halves(float *out, const uint8_t *p) {
    for (size_t h = 0; h < HALVES; h++)
        _mm256_store_ps(out + 8 * h,
                        _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + 16 * h))));
}

/* Bytes a and b of each of 16 rows as pairs of 16-bit numbers, rows 0 .. 15. */
INLINE void unpack_pairs(int16_t *out, const uint8_t *a, const uint8_t *b) {
    const __m128i x = _mm_loadu_si128((const __m128i *)a), y = _mm_loadu_si128((const __m128i *)b);

    store256(out, _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(x, y)));
    store256(out + 16, _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(x, y)));
}

INLINE void unpack_super_record(strip *s, const uint8_t *rec, const pack_layout l) {
    const uint8_t *sc = rec + l.at_scale, *mn = l.has_min ? rec + l.at_min : sc;

    for (size_t j = 0; j < BLOCKS; j++)
        unpack32(s->q + 8 * j, rec + l.at_low, rec + l.at_high, j, l.planes);
    for (size_t j = 0; j < l.n_scale; j++)
        unpack_pairs(s->sc[j], sc + j * PACK_ROWS, sc + j * PACK_ROWS);
    for (size_t j = 0; j < 8; j++) {
        const size_t first = j * l.n_scale / 8, second = first + l.n_scale / 16;

        unpack_pairs(s->mn[j], mn + first * PACK_ROWS, mn + second * PACK_ROWS);
    }
    unpack_halves(s->d[0], rec);
    if (l.has_min) unpack_halves(s->m[0], rec + 2 * PACK_ROWS);
}

INLINE void unpack_small_record(strip *s, size_t b, const uint8_t *rec, const pack_layout l) {
    unpack32(s->q + 8 * b, rec + l.at_low, rec + l.at_high, 0, l.planes);
    unpack_halves(s->d[b], rec);
    if (l.has_min) unpack_halves(s->m[b], rec + 2 * PACK_ROWS);
}

/* Quads whose pairs of products can be added in 16 bits: the largest value times 127, twice, must
 * stay below 32768 in sum. */
INLINE size_t run_of(pack_planes planes) {
    switch (planes) {
    case PLANES_BYTE:
        return 1; /* 128: 32512 */
    case PLANES_NIBBLE_PAIR:
        return 2; /* 63: 16002 */
    case PLANES_NIBBLE_BIT:
        return 4; /* 31: 7874 */
    case PLANES_NIBBLE:
        return 8; /* 15: 3810 */
    case PLANES_PAIR:
        return 8; /* 3 */
    case PLANES_PAIR_BIT:
        return 8; /* 7 */
    }
    return 1;
}

/* The 16-bit sums of `run` quads from q on with n tokens; a: where their first column stands. */
INLINE void run_quads(__m256i dot[TILE][HALVES], const uint8_t (*q)[64], const int8_t *const *a,
                      const int n, const size_t run, const pack_planes planes) {
    for (size_t i = 0; i < run; i++) {
        const __m256i w0 = load256(q[i]), w1 = load256(q[i] + 32);

        for (int t = 0; t < n; t++) {
            const __m256i x = every32(a[t] + 4 * i);
            __m256i p0, p1;

            if (planes == PLANES_BYTE) {
                p0 = _mm256_maddubs_epi16(_mm256_abs_epi8(w0), _mm256_sign_epi8(x, w0));
                p1 = _mm256_maddubs_epi16(_mm256_abs_epi8(w1), _mm256_sign_epi8(x, w1));
            } else {
                p0 = _mm256_maddubs_epi16(w0, x);
                p1 = _mm256_maddubs_epi16(w1, x);
            }
            dot[t][0] = i ? _mm256_add_epi16(dot[t][0], p0) : p0;
            dot[t][1] = i ? _mm256_add_epi16(dot[t][1], p1) : p1;
        }
    }
}

INLINE const act_q8_k *super_of(const uint8_t *x, size_t x_bytes, int t) {
    return (const act_q8_k *)(const void *)(x + (size_t)t * x_bytes);
}

INLINE const act_q8_32 *small_of(const uint8_t *x, size_t x_bytes, int t, size_t b) {
    return (const act_q8_32 *)(const void *)(x + (size_t)t * x_bytes) + b / 4;
}

/* y[t][0..15] += the product of a super-block with n tokens of x. */
INLINE void super_tokens(float *y, size_t y_stride, const strip *s, const uint8_t *x,
                         size_t x_bytes, const int n, const pack_layout l) {
    const size_t per = QUADS / l.n_scale, most = run_of(l.planes), run = most < per ? most : per;
    __m256i sum[TILE][HALVES], low[TILE][HALVES];

    for (int t = 0; t < n; t++)
        for (int h = 0; h < HALVES; h++) sum[t][h] = low[t][h] = _mm256_setzero_si256();
    for (size_t i = 0; i < QUADS; i += run) {
        const int16_t *sc = s->sc[i / per];
        __m256i dot[TILE][HALVES];
        const int8_t *a[TILE];

        for (int t = 0; t < n; t++) a[t] = super_of(x, x_bytes, t)->q + 4 * i;
        run_quads(dot, s->q + i, a, n, run, l.planes);
        for (int t = 0; t < n; t++)
            for (int h = 0; h < HALVES; h++)
                sum[t][h] =
                    _mm256_add_epi32(sum[t][h], _mm256_madd_epi16(dot[t][h], load256(sc + 16 * h)));
    }
    if (l.has_min || l.offset)
        for (int j = 0; j < 8; j++)
            for (int t = 0; t < n; t++) {
                const __m256i a = every32(&super_of(x, x_bytes, t)->sums[2 * j]);

                for (int h = 0; h < HALVES; h++)
                    low[t][h] = _mm256_add_epi32(low[t][h],
                                                 _mm256_madd_epi16(load256(s->mn[j] + 16 * h), a));
            }
    for (int t = 0; t < n; t++)
        for (int h = 0; h < HALVES; h++) {
            const __m256 da = _mm256_set1_ps(super_of(x, x_bytes, t)->d);
            float *to = y + (size_t)t * y_stride + 8 * h;
            __m256 v = _mm256_loadu_ps(to);

            if (l.offset)
                sum[t][h] = _mm256_sub_epi32(
                    sum[t][h], _mm256_mullo_epi32(low[t][h], _mm256_set1_epi32(l.offset)));
            v = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[t][h]),
                                _mm256_mul_ps(_mm256_load_ps(s->d[0] + 8 * h), da), v);
            if (l.has_min)
                v = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(low[t][h]),
                                     _mm256_mul_ps(_mm256_load_ps(s->m[0] + 8 * h), da), v);
            _mm256_storeu_ps(to, v);
        }
}

/* Takes off what the offset added: -offset times the block's sum. The sums of two neighbours are
 * one word; the other one is multiplied by 0. */
INLINE __m256i offset_factor(int offset, size_t b) {
    return _mm256_set1_epi32(b % 2 ? (int32_t)((uint32_t)-offset << 16) : -offset & 0xffff);
}

/* The same for n_block blocks of 32 columns. A minimum m adds m * (sum of x). Bytes were made
 * signed when they were unpacked: they have no offset any more. */
INLINE void small_tokens(float *y, size_t y_stride, const strip *s, const uint8_t *x,
                         size_t x_bytes, const int n, size_t n_block, const pack_layout l) {
    const size_t run = run_of(l.planes);
    __m256 v[TILE][HALVES];

    for (int t = 0; t < n; t++)
        for (int h = 0; h < HALVES; h++)
            v[t][h] = _mm256_loadu_ps(y + (size_t)t * y_stride + 8 * h);
    for (size_t b = 0; b < n_block; b++) {
        __m256i sum[TILE][HALVES];

        for (size_t i = 0; i < 8; i += run) {
            __m256i dot[TILE][HALVES];
            const int8_t *a[TILE];

            for (int t = 0; t < n; t++) a[t] = small_of(x, x_bytes, t, b)->q[b % 4] + 4 * i;
            run_quads(dot, s->q + 8 * b + i, a, n, run, l.planes);
            for (int t = 0; t < n; t++)
                for (int h = 0; h < HALVES; h++) {
                    const __m256i p = _mm256_madd_epi16(dot[t][h], _mm256_set1_epi16(1));

                    sum[t][h] = i ? _mm256_add_epi32(sum[t][h], p) : p;
                }
        }
        for (int t = 0; t < n; t++)
            for (int h = 0; h < HALVES; h++) {
                const act_q8_32 *a = small_of(x, x_bytes, t, b);
                const __m256 d = _mm256_load_ps(s->d[b] + 8 * h);

                if (l.offset && l.planes != PLANES_BYTE)
                    sum[t][h] = _mm256_add_epi32(
                        sum[t][h], _mm256_madd_epi16(offset_factor(l.offset, b),
                                                     every32(&a->sum[b % 4 / 2 * 2])));
                v[t][h] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[t][h]),
                                          _mm256_mul_ps(d, _mm256_set1_ps(a->d[b % 4])), v[t][h]);
                if (l.has_min)
                    v[t][h] = _mm256_fmadd_ps(_mm256_load_ps(s->m[b] + 8 * h),
                                              _mm256_set1_ps(a->s[b % 4]), v[t][h]);
            }
    }
    for (int t = 0; t < n; t++)
        for (int h = 0; h < HALVES; h++)
            _mm256_storeu_ps(y + (size_t)t * y_stride + 8 * h, v[t][h]);
}

/* All tokens, in tiles of 4, 2 and 1. */
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
    TOKENS(4)
    TOKENS(2)
    TOKENS(1)
#undef TOKENS
}

INLINE void matmul(float *y, size_t y_stride, const uint8_t *w, const uint8_t *x, size_t x_bytes,
                   size_t n_group, size_t n_tok, size_t n, const pack_layout l) {
    strip s;

    for (size_t g = 0; g < n_group; g++) {
        for (size_t t = 0; t < n_tok; t++) memset(y + t * y_stride + g * PACK_ROWS, 0, 64);
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

void avx2_fill_packed(kern_table *t) {
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
