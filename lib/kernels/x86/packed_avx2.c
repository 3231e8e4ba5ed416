/* SPDX-License-Identifier: MIT
 *
 * Products of 16 rows at a time (kernels/pack.h), AVX2. With one or two tokens the weights go from
 * the record straight into the products; with more a record is first widened to bytes in the
 * first-level cache, and used for all of them.
 *
 * A vector of 64 bytes is two of 8 rows here. Bytes are multiplied into 16-bit pairs; as many pairs
 * are added there as can't overflow (run_of quads), then a multiply-add with the sub-block's scale,
 * or with ones, brings them to 32 bits. No horizontal sums. */
#include "kernels/x86/groups_parts.h"

enum {
    HALVES = 2, /* of a vector of 16 rows */
    TILE = 4    /* tokens whose sums are kept near */
};

INLINE __m256i every32(const void *p) {
    return _mm256_set1_epi32(word_at(p));
}

/* Bits [from, from + n) of every byte, moved to bit `to`. Shifts of 16-bit lanes do for bytes
 * because what crosses over is masked away. */
INLINE __m256i bits(__m256i v, int from, int n, int to) {
    const __m256i mask = _mm256_set1_epi8((char)(((1 << n) - 1) << to));

    if (from > to) v = _mm256_srl_epi16(v, _mm_cvtsi32_si128(from - to));
    if (to > from) v = _mm256_sll_epi16(v, _mm_cvtsi32_si128(to - from));
    return _mm256_and_si256(v, mask);
}

/* Records of up to 256 columns, widened for many tokens: values as bytes, and of super-blocks the
 * pairs that sums are multiplied with. */
typedef struct {
    _Alignas(64) uint8_t q[QUADS][PACK_VECTOR];
    int16_t sc[16][32]; /* scales, each twice */
    int16_t mn[8][32];  /* minimums, or with an offset scales, for two sums of 16 */
} strip;

/* The planes of some quads of a record; `wide` ones have been brought to bytes. */
typedef struct {
    const uint8_t *low, *high;
    bool is_wide;
} planes;

/* Rows 8h .. 8h + 7 of quad q. Whole bytes are made signed. */
INLINE __m256i quad(const planes p, size_t q, size_t h, const pack_layout l) {
    __m256i v;

    if (p.is_wide) return load256(p.low + q * PACK_VECTOR + 32 * h);
    v = load256(p.low + pack_vector(l.low, q) + 32 * h);
    if (l.low.bits < 8)
        v = bits(v, pack_bit(l.low, q), l.low.bits, 0);
    else
        v = _mm256_xor_si256(v, _mm256_set1_epi8((char)0x80));
    if (l.high.bits)
        v = _mm256_or_si256(v, bits(load256(p.high + pack_vector(l.high, q) + 32 * h),
                                    pack_bit(l.high, q), l.high.bits, l.low.bits));
    return v;
}

/* The planes from quad q on, a multiple of the period. */
INLINE planes planes_at(const uint8_t *rec, const strip *s, size_t q, const pack_layout l) {
    if (s) return (planes){.low = s->q[q], .is_wide = true};
    q %= l.cols / 4;
    return (planes){.low = rec + q * PACK_VECTOR * (size_t)l.low.bits / 8,
                    .high = rec + q * PACK_VECTOR * (size_t)l.high.bits / 8};
}

/* Halves of rows 8h .. 8h + 7 as floats. */
INLINE __m256 halves(const uint8_t *p, size_t h) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + 16 * h)));
}

/* Bytes a and b of rows 8h .. 8h + 7 as pairs of 16-bit numbers. */
INLINE __m256i byte_pairs(const uint8_t *a, const uint8_t *b, size_t h) {
    const __m128i x = _mm_loadl_epi64((const __m128i *)(a + 8 * h));
    const __m128i y = _mm_loadl_epi64((const __m128i *)(b + 8 * h));

    return _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(x, y));
}

/* Rows 8h .. of scale j, each twice. */
INLINE __m256i scale_of(const uint8_t *rec, size_t j, size_t h, const pack_layout l) {
    const uint8_t *sc = rec + l.at_scale + j * PACK_ROWS;

    return byte_pairs(sc, sc, h);
}

/* What sums 2j and 2j + 1 of 16 activations are multiplied with. */
INLINE __m256i min_of(const uint8_t *rec, size_t j, size_t h, const pack_layout l) {
    const uint8_t *mn = rec + (l.has_min ? l.at_min : l.at_scale) + j * l.n_scale / 8 * PACK_ROWS;

    return byte_pairs(mn, mn + l.n_scale / 16 * PACK_ROWS, h);
}

/* One record, from quad `first` of the strip on. */
INLINE void widen(strip *s, size_t first, const uint8_t *rec, const pack_layout l) {
    const size_t turn = period(l);

    for (size_t q = 0; q < l.cols / 4; q += turn)
#pragma GCC unroll 64
        for (size_t i = 0; i < turn; i++)
            for (size_t h = 0; h < HALVES; h++)
                store256(s->q[first + q + i] + 32 * h, quad(planes_at(rec, NULL, q, l), i, h, l));
    for (size_t h = 0; h < HALVES && l.n_scale; h++) {
        for (size_t j = 0; j < l.n_scale; j++) store256(s->sc[j] + 16 * h, scale_of(rec, j, h, l));
        for (size_t j = 0; j < 8; j++) store256(s->mn[j] + 16 * h, min_of(rec, j, h, l));
    }
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
INLINE void run_quads(__m256i dot[TILE][HALVES], const planes p, size_t q, const int8_t *const *a,
                      const int n, const size_t run, const pack_layout l) {
#pragma GCC unroll 8
    for (size_t i = 0; i < run; i++)
        for (size_t h = 0; h < HALVES; h++) {
            const __m256i w = quad(p, q + i, h, l);

            for (int t = 0; t < n; t++) {
                const __m256i x = every32(a[t] + 4 * i);
                const __m256i v = is_signed(l) ? pairs_i8(w, x) : pairs_u8(w, x);

                dot[t][h] = i ? _mm256_add_epi16(dot[t][h], v) : v;
            }
        }
}

/* sum[t]: the products of a super-block with n tokens, each sub-block's times its scale. */
INLINE void super_dots(__m256i sum[TILE][HALVES], const uint8_t *rec, const strip *s,
                       const uint8_t *x, size_t x_bytes, const int n, const pack_layout l) {
    const size_t per = QUADS / l.n_scale, most = run_of(l), run = most < per ? most : per;
    const size_t turn = s || period(l) < per ? per : period(l);

    for (int t = 0; t < n; t++)
        for (int h = 0; h < HALVES; h++) sum[t][h] = _mm256_setzero_si256();
    for (size_t q = 0; q < QUADS; q += turn)
#pragma GCC unroll 32
        for (size_t i = 0; i < turn; i += run) {
            const size_t j = (q + i) / per;
            const int8_t *a[TILE];
            __m256i dot[TILE][HALVES];

            for (int t = 0; t < n; t++) a[t] = super_of(x, x_bytes, t)->q + 4 * (q + i);
            run_quads(dot, planes_at(rec, s, q, l), i, a, n, run, l);
            for (size_t h = 0; h < HALVES; h++) {
                const __m256i sc = s ? load256(s->sc[j] + 16 * h) : scale_of(rec, j, h, l);

                for (int t = 0; t < n; t++)
                    sum[t][h] = _mm256_add_epi32(sum[t][h], _mm256_madd_epi16(dot[t][h], sc));
            }
        }
}

/* low[t]: minimums, or with an offset the scales, times the activations' sums of 16. */
INLINE void super_lows(__m256i low[TILE][HALVES], const uint8_t *rec, const strip *s,
                       const uint8_t *x, size_t x_bytes, const int n, const pack_layout l) {
    for (int t = 0; t < n; t++)
        for (int h = 0; h < HALVES; h++) low[t][h] = _mm256_setzero_si256();
    for (size_t j = 0; j < 8; j++)
        for (size_t h = 0; h < HALVES; h++) {
            const __m256i m = s ? load256(s->mn[j] + 16 * h) : min_of(rec, j, h, l);

            for (int t = 0; t < n; t++) {
                const __m256i a = every32(&super_of(x, x_bytes, t)->sums[2 * j]);

                low[t][h] = _mm256_add_epi32(low[t][h], _mm256_madd_epi16(m, a));
            }
        }
}

/* y[t][0..15] += the product of a super-block with n tokens of x. s: the record widened, or NULL.
 */
INLINE void super_tile(float *y, size_t y_stride, const uint8_t *rec, const strip *s,
                       const uint8_t *x, size_t x_bytes, const int n, const pack_layout l) {
    __m256i sum[TILE][HALVES], low[TILE][HALVES];

    super_dots(sum, rec, s, x, x_bytes, n, l);
    if (l.has_min || l.offset) super_lows(low, rec, s, x, x_bytes, n, l);
    for (int t = 0; t < n; t++)
        for (int h = 0; h < HALVES; h++) {
            const __m256 da = _mm256_set1_ps(super_of(x, x_bytes, t)->d);
            float *to = y + (size_t)t * y_stride + 8 * h;
            __m256 v = _mm256_loadu_ps(to);

            if (l.offset)
                sum[t][h] = _mm256_sub_epi32(
                    sum[t][h], _mm256_mullo_epi32(low[t][h], _mm256_set1_epi32(l.offset)));
            v = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[t][h]),
                                _mm256_mul_ps(halves(rec, (size_t)h), da), v);
            if (l.has_min)
                v = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(low[t][h]),
                                     _mm256_mul_ps(halves(rec + 2 * PACK_ROWS, (size_t)h), da), v);
            _mm256_storeu_ps(to, v);
        }
}

/* Takes off what the offset added: -offset times the block's sum. The sums of two neighbours are
 * one word; the other one is multiplied by 0. */
INLINE __m256i offset_factor(int offset, size_t b) {
    return _mm256_set1_epi32(b % 2 ? (int32_t)((uint32_t)-offset << 16) : -offset & 0xffff);
}

/* The same for n_rec blocks of 32 columns, from the row's block b on. A minimum m adds
 * m * (sum of x). Bytes were made signed by quad(): they have no offset any more. */
INLINE void small_tile(float *y, size_t y_stride, const uint8_t *rec, const strip *s,
                       const uint8_t *x, size_t x_bytes, const int n, size_t b, size_t n_rec,
                       const pack_layout l) {
    const size_t run = run_of(l);
    __m256 v[TILE][HALVES];
    size_t at = 0; /* quad of the strip */

    for (int t = 0; t < n; t++)
        for (int h = 0; h < HALVES; h++)
            v[t][h] = _mm256_loadu_ps(y + (size_t)t * y_stride + 8 * h);
    for (; n_rec; n_rec--, b++, rec += l.bytes, at += 8) {
        __m256i sum[TILE][HALVES];

#pragma GCC unroll 8
        for (size_t i = 0; i < 8; i += run) {
            __m256i dot[TILE][HALVES];
            const int8_t *a[TILE];

            for (int t = 0; t < n; t++) a[t] = small_of(x, x_bytes, t, b)->q[b % 4] + 4 * i;
            run_quads(dot, planes_at(rec, s, at, l), i, a, n, run, l);
            for (int t = 0; t < n; t++)
                for (int h = 0; h < HALVES; h++) {
                    const __m256i p = _mm256_madd_epi16(dot[t][h], _mm256_set1_epi16(1));

                    sum[t][h] = i ? _mm256_add_epi32(sum[t][h], p) : p;
                }
        }
        for (int t = 0; t < n; t++)
            for (int h = 0; h < HALVES; h++) {
                const act_q8_32 *a = small_of(x, x_bytes, t, b);

                if (l.offset && !is_signed(l))
                    sum[t][h] = _mm256_add_epi32(
                        sum[t][h], _mm256_madd_epi16(offset_factor(l.offset, b),
                                                     every32(&a->sum[b % 4 / 2 * 2])));
                v[t][h] = _mm256_fmadd_ps(
                    _mm256_cvtepi32_ps(sum[t][h]),
                    _mm256_mul_ps(halves(rec, (size_t)h), _mm256_set1_ps(a->d[b % 4])), v[t][h]);
                if (l.has_min)
                    v[t][h] = _mm256_fmadd_ps(halves(rec + 2 * PACK_ROWS, (size_t)h),
                                              _mm256_set1_ps(a->s[b % 4]), v[t][h]);
            }
    }
    for (int t = 0; t < n; t++)
        for (int h = 0; h < HALVES; h++)
            _mm256_storeu_ps(y + (size_t)t * y_stride + 8 * h, v[t][h]);
}

/* n_tok tokens with n_rec records from number i of a row on. */
INLINE void all_tokens(float *y, size_t y_stride, const uint8_t *rec, const uint8_t *x,
                       size_t x_bytes, size_t n_tok, size_t i, size_t n_rec, const pack_layout l) {
    strip s;

#define TOKENS(n, from)                                                         \
 for (; n_tok >= (n); n_tok -= (n), y += (n)*y_stride, x += (n)*x_bytes) {      \
  if (l.n_scale)                                                                \
   super_tile(y, y_stride, rec, from, x + i * sizeof(act_q8_k), x_bytes, n, l); \
  else                                                                          \
   small_tile(y, y_stride, rec, from, x, x_bytes, n, i, n_rec, l);              \
 }
    if (n_tok > 2) {
        for (size_t k = 0; k < n_rec; k++) widen(&s, k * l.cols / 4, rec + k * l.bytes, l);
        TOKENS(4, &s)
        TOKENS(2, &s)
        TOKENS(1, &s)
    }
    TOKENS(2, NULL)
    TOKENS(1, NULL)
#undef TOKENS
}

/* ---- rows as they lie in the file ---- */

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

/* Four bytes of each row. Loads go to the registers: through a buffer in memory each would wait for
 * the stores before it. */
INLINE words gather_word(const uint8_t *src, size_t row_bytes) {
    words w;

    for (size_t h = 0; h < HALVES; h++, src += 8 * row_bytes)
        w.h[h] = _mm256_setr_epi32(word_at(src), word_at(src + row_bytes),
                                   word_at(src + 2 * row_bytes), word_at(src + 3 * row_bytes),
                                   word_at(src + 4 * row_bytes), word_at(src + 5 * row_bytes),
                                   word_at(src + 6 * row_bytes), word_at(src + 7 * row_bytes));
    return w;
}

/* The low halves of 16 words. */
INLINE void put_halves(uint8_t *to, words w) {
    const __m256i low = _mm256_set1_epi32(0xffff);
    const __m256i v =
        _mm256_packus_epi32(_mm256_and_si256(w.h[0], low), _mm256_and_si256(w.h[1], low));

    _mm256_storeu_si256((__m256i *)to, _mm256_permute4x64_epi64(v, _MM_SHUFFLE(3, 1, 2, 0)));
}

/* Their high halves. */
INLINE void put_high_halves(uint8_t *to, words w) {
    put_halves(to, (words){{_mm256_srli_epi32(w.h[0], 16), _mm256_srli_epi32(w.h[1], 16)}});
}

/* The first two halves of each row's block, d and the minimum where the type has one. */
INLINE void gather_halves(uint8_t *rec, const uint8_t *src, size_t row_bytes, const bool two) {
    const words w = gather_word(src, row_bytes);

    put_halves(rec, w);
    if (two) put_high_halves(rec + 2 * PACK_ROWS, w);
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

    put_halves(rec, w[0]);
    put_high_halves(rec + 2 * PACK_ROWS, w[0]);
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
 * bits c, c + 4, ... of the 32. Each byte's two quads are first brought together, column c in bits
 * 2c and 2c + 1; then products join the pairs of a column. */
INLINE void gather_fifths(uint8_t *plane, const uint8_t *src, size_t row_bytes) {
    const __m256i spread = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 4, 5, 16, 17, 20, 21, 64, 65, 68, 69, 80, 81, 84, 85));
    const __m256i places = _mm256_set1_epi32(64 << 24 | 16 << 16 | 4 << 8 | 1);
    const words w = gather_word(src, row_bytes);

    for (size_t h = 0; h < HALVES; h++) {
        const __m256i even = _mm256_shuffle_epi8(spread, bits(w.h[h], 0, 4, 0));
        const __m256i odd = _mm256_shuffle_epi8(spread, bits(w.h[h], 4, 4, 0));
        const __m256i pairs = _mm256_or_si256(even, _mm256_add_epi8(odd, odd));
        __m256i out = _mm256_setzero_si256();

        for (int c = 0; c < 4; c++) {
            const __m256i two = _mm256_maddubs_epi16(bits(pairs, 2 * c, 2, 0), places);
            const __m256i column = _mm256_madd_epi16(two, _mm256_set1_epi16(1));

            out = _mm256_or_si256(out, _mm256_slli_epi32(column, 8 * c));
        }
        store256(plane + 32 * h, out);
    }
}

/* One record from 16 rows of the file: what pack_group() makes. */
INLINE void gather(uint8_t *rec, const uint8_t *src, size_t row_bytes, const elem_type t,
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
        put_high_halves(rec, gather_word(src + 206, row_bytes));
    }
    if (t == TYPE_Q3_K) {
        gather_plane(high, src, row_bytes, 32, 0);
        gather_plane(low, src + 32, row_bytes, 64, 0);
        gather_q3_scales(rec + l.at_scale, src + 96, row_bytes);
        put_high_halves(rec, gather_word(src + 106, row_bytes));
    }
    if (t == TYPE_Q2_K) {
        words4(w, src, row_bytes);
        for (int i = 0; i < 4; i++) {
            put_bytes(rec + l.at_scale + 64 * i, words_bits(w[i], 0, 4, 0));
            put_bytes(rec + l.at_min + 64 * i, words_bits(w[i], 4, 4, 0));
        }
        gather_plane(low, src + 16, row_bytes, 64, 0);
        gather_halves(rec, src + 80, row_bytes, true);
    }
    if (l.cols == 32) { /* d, m where there is one, fifth bits where there are, values */
        const size_t m = l.has_min ? 4 : 2, q = m + (l.high.bits ? 4 : 0);

        gather_halves(rec, src, row_bytes, l.has_min);
        if (l.high.bits) gather_fifths(high, src + m, row_bytes);
        gather_plane(low, src + q, row_bytes, t == TYPE_Q8_0 ? 32 : 16, t == TYPE_Q8_0 ? 0x80 : 0);
    }
}

#include "kernels/x86/groups.h"

void avx2_fill_packed(kern_table *t) {
    fill_groups(t);
}
