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

/* Bits [from, from + n) of every byte, moved to bit `to`. Shifts of 16-bit lanes do for bytes
 * because what crosses over is masked away. */
INLINE __m256i bits(__m256i v, int from, int n, int to) {
    const __m256i mask = _mm256_set1_epi8((char)(((1 << n) - 1) << to));

    if (from > to) v = _mm256_srl_epi16(v, _mm_cvtsi32_si128(from - to));
    if (to > from) v = _mm256_sll_epi16(v, _mm_cvtsi32_si128(to - from));
    return _mm256_and_si256(v, mask);
}

/* Quads 8j .. 8j + 7, 32 columns, from the planes of a record. Whole bytes are made signed. */
INLINE void unpack32(uint8_t (*out)[64], const uint8_t *rec, size_t j, const pack_layout l) {
    for (size_t i = 0; i < 8; i++)
        for (size_t h = 0; h < 64; h += 32) {
            const size_t q = 8 * j + i;
            __m256i v = load256(rec + pack_vector(l.low, q) + h);

            if (l.low.bits < 8)
                v = bits(v, pack_bit(l.low, q), l.low.bits, 0);
            else
                v = _mm256_xor_si256(v, _mm256_set1_epi8((char)0x80));
            if (l.high.bits)
                v = _mm256_or_si256(v, bits(load256(rec + pack_vector(l.high, q) + h),
                                            pack_bit(l.high, q), l.high.bits, l.low.bits));
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

    for (size_t j = 0; j < BLOCKS; j++) unpack32(s->q + 8 * j, rec, j, l);
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
    unpack32(s->q + 8 * b, rec, 0, l);
    unpack_halves(s->d[b], rec);
    if (l.has_min) unpack_halves(s->m[b], rec + 2 * PACK_ROWS);
}

/* Quads whose pairs of products can be added in 16 bits: twice the largest value times 127 is 32512
 * for signed bytes, 16002 for 6 bits, 7874 for 5, 3810 for 4 and less below. */
INLINE size_t run_of(const pack_layout l) {
    const int n = l.low.bits + l.high.bits;

    return n == 8 ? 1 : n == 6 ? 2 : n == 5 ? 4 : 8;
}

INLINE bool is_signed(const pack_layout l) {
    return l.low.bits == 8;
}

/* The 16-bit sums of `run` quads from q on with n tokens; a: where their first column stands. */
INLINE void run_quads(__m256i dot[TILE][HALVES], const uint8_t (*q)[64], const int8_t *const *a,
                      const int n, const size_t run, const bool is_signed_w) {
    for (size_t i = 0; i < run; i++) {
        const __m256i w0 = load256(q[i]), w1 = load256(q[i] + 32);

        for (int t = 0; t < n; t++) {
            const __m256i x = every32(a[t] + 4 * i);
            __m256i p0, p1;

            if (is_signed_w) {
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
    const size_t per = QUADS / l.n_scale, most = run_of(l), run = most < per ? most : per;
    __m256i sum[TILE][HALVES], low[TILE][HALVES];

    for (int t = 0; t < n; t++)
        for (int h = 0; h < HALVES; h++) sum[t][h] = low[t][h] = _mm256_setzero_si256();
    for (size_t i = 0; i < QUADS; i += run) {
        const int16_t *sc = s->sc[i / per];
        __m256i dot[TILE][HALVES];
        const int8_t *a[TILE];

        for (int t = 0; t < n; t++) a[t] = super_of(x, x_bytes, t)->q + 4 * i;
        run_quads(dot, s->q + i, a, n, run, is_signed(l));
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
    const size_t run = run_of(l);
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
            run_quads(dot, s->q + 8 * b + i, a, n, run, is_signed(l));
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

                if (l.offset && !is_signed(l))
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

/* ---- rows as they lie in the file ---- */

INLINE __m128i load128(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

/* A word of each of 16 rows. */
typedef struct {
    __m256i h[HALVES];
} words;

/* Sixteen bytes of each of 16 rows as four words. */
INLINE void words4(words w[4], const uint8_t *src, size_t row_bytes) {
    for (size_t h = 0; h < HALVES; h++, src += 8 * row_bytes) {
        __m256i z[4], a, b, c, d;

        for (size_t k = 0; k < 4; k++) /* lane m of z[k]: row 4m + k */
            z[k] = _mm256_inserti128_si256(_mm256_castsi128_si256(load128(src + k * row_bytes)),
                                           load128(src + (4 + k) * row_bytes), 1);
        a = _mm256_unpacklo_epi32(z[0], z[1]);
        b = _mm256_unpackhi_epi32(z[0], z[1]);
        c = _mm256_unpacklo_epi32(z[2], z[3]);
        d = _mm256_unpackhi_epi32(z[2], z[3]);
        w[0].h[h] = _mm256_unpacklo_epi64(a, c);
        w[1].h[h] = _mm256_unpackhi_epi64(a, c);
        w[2].h[h] = _mm256_unpacklo_epi64(b, d);
        w[3].h[h] = _mm256_unpackhi_epi64(b, d);
    }
}

/* n bytes of each row (a multiple of 16) into a plane: a word a vector. */
INLINE void gather_plane(uint8_t *plane, const uint8_t *src, size_t row_bytes, size_t n,
                         uint8_t flip) {
    for (size_t at = 0; at < n; at += 16) {
        words w[4];

        words4(w, src + at, row_bytes);
        for (size_t i = 0; i < 4; i++)
            for (size_t h = 0; h < HALVES; h++)
                store256(plane + (at / 4 + i) * PACK_VECTOR + 32 * h,
                         _mm256_xor_si256(w[i].h[h], _mm256_set1_epi8((char)flip)));
    }
}

INLINE void gather_halves(uint8_t *to, const uint8_t *src, size_t row_bytes) {
    for (size_t r = 0; r < PACK_ROWS; r++) memcpy(to + 2 * r, src + r * row_bytes, 2);
}

INLINE words gather_word(const uint8_t *src, size_t row_bytes) {
    uint32_t w[PACK_ROWS];

    for (size_t r = 0; r < PACK_ROWS; r++) memcpy(&w[r], src + r * row_bytes, 4);
    return (words){{load256(w), load256(w + 8)}};
}

INLINE words words_bits(words w, int from, int n, int to) {
    return (words){{bits(w.h[0], from, n, to), bits(w.h[1], from, n, to)}};
}

INLINE words words_or(words a, words b) {
    return (words){{_mm256_or_si256(a.h[0], b.h[0]), _mm256_or_si256(a.h[1], b.h[1])}};
}

/* The four bytes of each row's word as four runs of 16 rows. */
INLINE void put_bytes(uint8_t *to, words w) {
    const __m256i by_byte = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m256i by_run = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i a = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(w.h[0], by_byte), by_run);
    const __m256i b = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(w.h[1], by_byte), by_run);
    const __m256i even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b);

    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(even));
    _mm_storeu_si128((__m128i *)(to + 16), _mm256_castsi256_si128(odd));
    _mm_storeu_si128((__m128i *)(to + 32), _mm256_extracti128_si256(even, 1));
    _mm_storeu_si128((__m128i *)(to + 48), _mm256_extracti128_si256(odd, 1));
}

/* Scales and minimums of Q4_K and Q5_K from their twelve bytes, the words w[1] .. w[3] of a block
 * whose w[0] holds the two halves. */
INLINE void gather_k_header(uint8_t *rec, const words w[4], const pack_layout l) {
    uint8_t *sc = rec + l.at_scale, *mn = rec + l.at_min;
    uint32_t dm[PACK_ROWS];

    for (size_t h = 0; h < HALVES; h++) _mm256_storeu_si256((__m256i *)(dm + 8 * h), w[0].h[h]);
    for (size_t r = 0; r < PACK_ROWS; r++) {
        memcpy(rec + 2 * r, &dm[r], 2);
        memcpy(rec + 2 * (PACK_ROWS + r), (const uint8_t *)&dm[r] + 2, 2);
    }
    put_bytes(sc, words_bits(w[1], 0, 6, 0));
    put_bytes(mn, words_bits(w[2], 0, 6, 0));
    put_bytes(sc + 64, words_or(words_bits(w[3], 0, 4, 0), words_bits(w[1], 6, 2, 4)));
    put_bytes(mn + 64, words_or(words_bits(w[3], 4, 4, 0), words_bits(w[2], 6, 2, 4)));
}

INLINE void gather_q3_scales(uint8_t *sc, const uint8_t *src, size_t row_bytes) {
    const words a[2] = {gather_word(src, row_bytes), gather_word(src + 4, row_bytes)};
    const words high = gather_word(src + 8, row_bytes);
    const __m256i less = _mm256_set1_epi8(32);

    for (int j = 0; j < 4; j++) {
        words v = words_or(words_bits(a[j % 2], 4 * (j / 2), 4, 0), words_bits(high, 2 * j, 2, 4));

        for (int h = 0; h < HALVES; h++) v.h[h] = _mm256_sub_epi8(v.h[h], less);
        put_bytes(sc + 64 * j, v);
    }
}

/* The fifth bits of a small block: byte c of the word gets those of column c of each quad, that is
 * bits c, c + 4, ... of the 32. */
INLINE void gather_fifths(uint8_t *plane, const uint8_t *src, size_t row_bytes) {
    const words w = gather_word(src, row_bytes);

    for (size_t h = 0; h < HALVES; h++) {
        __m256i out = _mm256_setzero_si256();

        for (int c = 0; c < 4; c++)
            for (int k = 0; k < 8; k++) {
                const __m256i bit = _mm256_and_si256(
                    _mm256_srl_epi32(w.h[h], _mm_cvtsi32_si128(4 * k + c)), _mm256_set1_epi32(1));

                out = _mm256_or_si256(out, _mm256_sll_epi32(bit, _mm_cvtsi32_si128(8 * c + k)));
            }
        store256(plane + 32 * h, out);
    }
}

/* One record from 16 rows of the file: what pack_group() makes. */
INLINE const uint8_t *gather(uint8_t *rec, const uint8_t *src, size_t row_bytes, const elem_type t,
                             const pack_layout l) {
    uint8_t *low = rec + l.low.at, *high = rec + l.high.at;
    words w[4];

    if (t == TYPE_Q4_K || t == TYPE_Q5_K) {
        words4(w, src, row_bytes);
        gather_k_header(rec, w, l);
        if (t == TYPE_Q5_K) gather_plane(high, src + 16, row_bytes, 32, 0);
        gather_plane(low, src + (t == TYPE_Q5_K ? 48 : 16), row_bytes, 128, 0);
    }
    if (t == TYPE_Q6_K) {
        gather_plane(low, src, row_bytes, 128, 0);
        gather_plane(high, src + 128, row_bytes, 64, 0);
        words4(w, src + 192, row_bytes);
        for (int i = 0; i < 4; i++) put_bytes(rec + l.at_scale + 64 * i, w[i]);
        gather_halves(rec, src + 208, row_bytes);
    }
    if (t == TYPE_Q3_K) {
        gather_plane(high, src, row_bytes, 32, 0);
        gather_plane(low, src + 32, row_bytes, 64, 0);
        gather_q3_scales(rec + l.at_scale, src + 96, row_bytes);
        gather_halves(rec, src + 108, row_bytes);
    }
    if (t == TYPE_Q2_K) {
        words4(w, src, row_bytes);
        for (int i = 0; i < 4; i++) {
            put_bytes(rec + l.at_scale + 64 * i, words_bits(w[i], 0, 4, 0));
            put_bytes(rec + l.at_min + 64 * i, words_bits(w[i], 4, 4, 0));
        }
        gather_plane(low, src + 16, row_bytes, 64, 0);
        gather_halves(rec, src + 80, row_bytes);
        gather_halves(rec + 2 * PACK_ROWS, src + 82, row_bytes);
    }
    if (l.cols == 32) { /* d, m where there is one, fifth bits where there are, values */
        const size_t m = l.has_min ? 4 : 2, q = m + (l.high.bits ? 4 : 0);

        gather_halves(rec, src, row_bytes);
        if (l.has_min) gather_halves(rec + 2 * PACK_ROWS, src + 2, row_bytes);
        if (l.high.bits) gather_fifths(high, src + m, row_bytes);
        gather_plane(low, src + q, row_bytes, t == TYPE_Q8_0 ? 32 : 16, t == TYPE_Q8_0 ? 0x80 : 0);
    }
    return rec;
}

/* row_bytes 0: w is packed. */
INLINE void matmul(float *y, size_t y_stride, const uint8_t *w, size_t row_bytes, const uint8_t *x,
                   size_t x_bytes, size_t n_group, size_t n_tok, size_t n, const elem_type type) {
    const pack_layout l = pack_of(type);
    const size_t block = pack_block_bytes(type);
    _Alignas(64) uint8_t made[PACK_RECORD_MAX];
    strip s;

    for (size_t g = 0; g < n_group; g++) {
        const uint8_t *at_w =
            row_bytes ? w + g * PACK_ROWS * row_bytes : w + g * (n / l.cols) * l.bytes;

        for (size_t t = 0; t < n_tok; t++) memset(y + t * y_stride + g * PACK_ROWS, 0, 64);
        for (size_t at = 0; at < n; at += COLS) {
            const size_t left = (n - at) / 32, n_block = left < BLOCKS ? left : BLOCKS;
            const uint8_t *in =
                x + (l.n_scale ? at / COLS * sizeof(act_q8_k) : at / 128 * sizeof(act_q8_32));

            for (size_t b = 0; b < (l.n_scale ? 1 : n_block); b++) {
                const uint8_t *rec = at_w;

                if (row_bytes) rec = gather(made, at_w, row_bytes, type, l);
                if (l.n_scale)
                    unpack_super_record(&s, rec, l);
                else
                    unpack_small_record(&s, b, rec, l);
                at_w += row_bytes ? block : l.bytes;
            }
            all_tokens(y + g * PACK_ROWS, y_stride, &s, in, x_bytes, n_tok, n_block, l);
        }
    }
}

#define KERNEL(name, type)                                                              \
 static void groups_##name(float *y, size_t y_stride, const void *w, size_t row_bytes,  \
                           const void *x, size_t x_bytes, size_t n_group, size_t n_tok, \
                           size_t n) {                                                  \
  matmul(y, y_stride, w, row_bytes, x, x_bytes, n_group, n_tok, n, type);               \
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
    t->matmul_groups[TYPE_Q4_0] = groups_q4_0;
    t->matmul_groups[TYPE_Q4_1] = groups_q4_1;
    t->matmul_groups[TYPE_Q5_0] = groups_q5_0;
    t->matmul_groups[TYPE_Q5_1] = groups_q5_1;
    t->matmul_groups[TYPE_Q8_0] = groups_q8_0;
    t->matmul_groups[TYPE_Q2_K] = groups_q2_k;
    t->matmul_groups[TYPE_Q3_K] = groups_q3_k;
    t->matmul_groups[TYPE_Q4_K] = groups_q4_k;
    t->matmul_groups[TYPE_Q5_K] = groups_q5_k;
    t->matmul_groups[TYPE_Q6_K] = groups_q6_k;
}
