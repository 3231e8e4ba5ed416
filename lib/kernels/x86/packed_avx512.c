/* SPDX-License-Identifier: MIT
 *
 * Products of 16 rows at a time (kernels/pack.h), AVX-512 with VNNI. The lanes are the rows; four
 * columns of an activation are broadcast to all of them. Weights go from the record straight into
 * the products: with one token nothing else is worth doing, with eight the unpacking hides behind
 * the products. Sums are whole numbers up to the end of a sub-block's (32 columns) or super-block's
 * (256) scale. */
#include "kernels/x86/groups_parts.h"

enum {
    TILE = 8 /* tokens whose sums are kept in registers */
};

INLINE __m512i load512(const void *p) {
    return _mm512_loadu_si512(p);
}

INLINE __m512i every32(const void *p) {
    return _mm512_set1_epi32(word_at(p));
}

/* Bits [from, from + n) of every byte, moved to bit `to`. Shifts of 16-bit lanes do for bytes
 * because what crosses over is masked away. */
INLINE __m512i bits(__m512i v, int from, int n, int to) {
    const __m512i mask = _mm512_set1_epi8((char)(((1 << n) - 1) << to));

    if (from > to) v = _mm512_srl_epi16(v, _mm_cvtsi32_si128(from - to));
    if (to > from) v = _mm512_sll_epi16(v, _mm_cvtsi32_si128(to - from));
    return _mm512_and_si512(v, mask);
}

INLINE __m512 halves(const uint8_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

/* Quad q of a record, four columns of 16 rows, whose planes are reckoned from `low` and `high`. */
INLINE __m512i quad(const uint8_t *low, const uint8_t *high, size_t q, const pack_layout l) {
    __m512i v = load512(low + pack_vector(l.low, q));

    if (l.low.bits < 8) v = bits(v, pack_bit(l.low, q), l.low.bits, 0);
    if (l.high.bits)
        v = _mm512_or_si512(v, bits(load512(high + pack_vector(l.high, q)), pack_bit(l.high, q),
                                    l.high.bits, l.low.bits));
    return v;
}

/* sum[t]: the products of a super-block with n tokens, each sub-block's times its scale. */
INLINE void super_dots(__m512i sum[TILE], const uint8_t *rec, const uint8_t *x, size_t x_bytes,
                       const int n, const pack_layout l) {
    const size_t per = QUADS / l.n_scale, turn = period(l) > per ? period(l) : per;
    const size_t low_step = turn * PACK_VECTOR * (size_t)l.low.bits / 8;
    const size_t high_step = turn * PACK_VECTOR * (size_t)l.high.bits / 8;
    const uint8_t *low = rec, *high = rec;

    for (int t = 0; t < n; t++) sum[t] = _mm512_setzero_si512();
    for (size_t q = 0; q < QUADS; q += turn, low += low_step, high += high_step) {
#pragma GCC unroll 16
        for (size_t at = 0; at < turn; at += per) {
            const __m512i scale = _mm512_cvtepi8_epi32(
                load128(rec + l.at_scale + (q + at) * l.n_scale / QUADS * PACK_ROWS));
            __m512i dot[TILE];

            for (int t = 0; t < n; t++) dot[t] = _mm512_setzero_si512();
#pragma GCC unroll 8
            for (size_t i = at; i < at + per; i++) {
                const __m512i w = quad(low, high, i, l);

                for (int t = 0; t < n; t++)
                    dot[t] = _mm512_dpbusd_epi32(dot[t], w,
                                                 every32(super_of(x, x_bytes, t)->q + 4 * (q + i)));
            }
            for (int t = 0; t < n; t++)
                sum[t] = _mm512_add_epi32(sum[t], _mm512_mullo_epi32(dot[t], scale));
        }
    }
}

/* Bytes a and b of each of 16 rows as pairs of 16-bit numbers, not negative or both signed. */
INLINE __m512i byte_pairs(const uint8_t *a, const uint8_t *b) {
    const __m128i x = load128(a), y = load128(b);
    const __m256i lo = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(x, y));
    const __m256i hi = _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(x, y));

    return _mm512_inserti64x4(_mm512_castsi256_si512(lo), hi, 1);
}

/* low[t]: minimums, or with an offset the scales, times the activations' sums of 16. */
INLINE void super_lows(__m512i low[TILE], const uint8_t *rec, const uint8_t *x, size_t x_bytes,
                       const int n, const pack_layout l) {
    const uint8_t *mn = rec + (l.has_min ? l.at_min : l.at_scale);

    for (int t = 0; t < n; t++) low[t] = _mm512_setzero_si512();
    for (size_t j = 0; j < 8; j++) {
        const size_t first = j * l.n_scale / 8, second = first + l.n_scale / 16;
        const __m512i m = byte_pairs(mn + PACK_ROWS * first, mn + PACK_ROWS * second);

        for (int t = 0; t < n; t++)
            low[t] = _mm512_dpwssd_epi32(low[t], m, every32(&super_of(x, x_bytes, t)->sums[2 * j]));
    }
}

/* y[t][0..15] += the product of a super-block with n tokens of x. */
INLINE void super_tile(float *y, size_t y_stride, const uint8_t *rec, const uint8_t *x,
                       size_t x_bytes, const int n, const pack_layout l) {
    const __m512 d = halves(rec);
    __m512i sum[TILE], low[TILE];

    super_dots(sum, rec, x, x_bytes, n, l);
    if (l.has_min || l.offset) super_lows(low, rec, x, x_bytes, n, l);
    for (int t = 0; t < n; t++) {
        const __m512 da = _mm512_set1_ps(super_of(x, x_bytes, t)->d);
        __m512 v = _mm512_loadu_ps(y + (size_t)t * y_stride);

        if (l.offset)
            sum[t] =
                _mm512_sub_epi32(sum[t], _mm512_mullo_epi32(low[t], _mm512_set1_epi32(l.offset)));
        v = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[t]), _mm512_mul_ps(d, da), v);
        if (l.has_min)
            v = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(low[t]),
                                 _mm512_mul_ps(halves(rec + 2 * PACK_ROWS), da), v);
        _mm512_storeu_ps(y + (size_t)t * y_stride, v);
    }
}

/* Takes off what the offset added: -offset times the block's sum. The sums of two neighbours are
 * one word; the other one is multiplied by 0. */
INLINE __m512i offset_factor(int offset, size_t b) {
    return _mm512_set1_epi32(b % 2 ? (int32_t)((uint32_t)-offset << 16) : -offset & 0xffff);
}

/* The same for n_rec blocks of 32 columns, from the record's block b on. A minimum m adds
 * m * (sum of x). */
INLINE void small_tile(float *y, size_t y_stride, const uint8_t *rec, const uint8_t *x,
                       size_t x_bytes, const int n, size_t b, size_t n_rec, const pack_layout l) {
    __m512 v[TILE];

    for (int t = 0; t < n; t++) v[t] = _mm512_loadu_ps(y + (size_t)t * y_stride);
    for (; n_rec; n_rec--, b++, rec += l.bytes) {
        const __m512 d = halves(rec);
        __m512i dot[TILE];

        for (int t = 0; t < n; t++) dot[t] = _mm512_setzero_si512();
#pragma GCC unroll 8
        for (size_t i = 0; i < 8; i++) {
            const __m512i w = quad(rec, rec, i, l);

            for (int t = 0; t < n; t++)
                dot[t] = _mm512_dpbusd_epi32(dot[t], w,
                                             every32(small_of(x, x_bytes, t, b)->q[b % 4] + 4 * i));
        }
        for (int t = 0; t < n; t++) {
            const act_q8_32 *a = small_of(x, x_bytes, t, b);

            if (l.offset)
                dot[t] = _mm512_dpwssd_epi32(dot[t], offset_factor(l.offset, b),
                                             every32(&a->sum[b % 4 / 2 * 2]));
            v[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[t]),
                                   _mm512_mul_ps(d, _mm512_set1_ps(a->d[b % 4])), v[t]);
            if (l.has_min)
                v[t] =
                    _mm512_fmadd_ps(halves(rec + 2 * PACK_ROWS), _mm512_set1_ps(a->s[b % 4]), v[t]);
        }
    }
    for (int t = 0; t < n; t++) _mm512_storeu_ps(y + (size_t)t * y_stride, v[t]);
}

/* All tokens with n_rec records from number i of a row on, in tiles of 8, 4, 2 and 1. */
INLINE void all_tokens(float *y, size_t y_stride, const uint8_t *rec, const uint8_t *x,
                       size_t x_bytes, size_t n_tok, size_t i, size_t n_rec, const pack_layout l) {
    size_t t = 0;

#define TOKENS(n)                                                                        \
 for (; t + (n) <= n_tok; t += (n)) {                                                    \
  const uint8_t *a = x + t * x_bytes;                                                    \
                                                                                         \
  if (l.n_scale)                                                                         \
   super_tile(y + t * y_stride, y_stride, rec, a + i * sizeof(act_q8_k), x_bytes, n, l); \
  else                                                                                   \
   small_tile(y + t * y_stride, y_stride, rec, a, x_bytes, n, i, n_rec, l);              \
 }
    TOKENS(8)
    TOKENS(4)
    TOKENS(2)
    TOKENS(1)
#undef TOKENS
}

/* ---- rows as they lie in the file ---- */

/* Four pointers and two distances reach all rows: sixteen pointers would not stay in registers. */
typedef struct {
    const uint8_t *at[4]; /* rows 0, 4, 8, 12 */
    size_t row_bytes, three;
} rows16;

INLINE rows16 rows_at(const uint8_t *src, size_t row_bytes) {
    rows16 r = {.row_bytes = row_bytes, .three = 3 * row_bytes};

    for (size_t i = 0; i < 4; i++) {
        r.at[i] = src + 4 * i * row_bytes;
        __asm__("" : "+r"(r.at[i])); /* or the compiler reckons each row from src again */
    }
    __asm__("" : "+r"(r.three));
    return r;
}

INLINE const uint8_t *row_of(const rows16 r, size_t m, size_t k, size_t at) {
    return k == 3 ? r.at[m] + r.three + at : r.at[m] + k * r.row_bytes + at;
}

/* Bytes at .. at + 15 of each of 16 rows as four words: w[i] holds word i of rows 0 .. 15. */
INLINE void words4(__m512i w[4], const rows16 r, size_t at) {
    __m512i z[4], a, b, c, d;

    for (size_t k = 0; k < 4; k++) { /* lane m of z[k]: row 4m + k */
        z[k] = _mm512_castsi128_si512(load128(row_of(r, 0, k, at)));
        z[k] = _mm512_inserti32x4(z[k], load128(row_of(r, 1, k, at)), 1);
        z[k] = _mm512_inserti32x4(z[k], load128(row_of(r, 2, k, at)), 2);
        z[k] = _mm512_inserti32x4(z[k], load128(row_of(r, 3, k, at)), 3);
    }
    a = _mm512_unpacklo_epi32(z[0], z[1]);
    b = _mm512_unpackhi_epi32(z[0], z[1]);
    c = _mm512_unpacklo_epi32(z[2], z[3]);
    d = _mm512_unpackhi_epi32(z[2], z[3]);
    w[0] = _mm512_unpacklo_epi64(a, c);
    w[1] = _mm512_unpackhi_epi64(a, c);
    w[2] = _mm512_unpacklo_epi64(b, d);
    w[3] = _mm512_unpackhi_epi64(b, d);
}

/* n bytes of each row (a multiple of 16) into a plane: a word a vector. */
INLINE void gather_plane(uint8_t *plane, const rows16 r, size_t from, size_t n, uint8_t flip) {
    for (size_t at = 0; at < n; at += 16) {
        __m512i w[4];

        words4(w, r, from + at);
        for (size_t i = 0; i < 4; i++)
            _mm512_storeu_si512(plane + (at / 4 + i) * PACK_VECTOR,
                                flip ? _mm512_xor_si512(w[i], _mm512_set1_epi8((char)flip)) : w[i]);
    }
}

/* Four bytes of each row. Loads go to the registers: through a buffer in memory each would wait for
 * the stores before it. */
INLINE __m512i gather_word(const rows16 r, size_t from) {
#define W(i) word_at(row_of(r, (i) / 4, (i) % 4, from))
    return _mm512_setr_epi32(W(0), W(1), W(2), W(3), W(4), W(5), W(6), W(7), W(8), W(9), W(10),
                             W(11), W(12), W(13), W(14), W(15));
#undef W
}

/* The low halves of 16 words. */
INLINE void put_halves(uint8_t *to, __m512i w) {
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(w));
}

/* The first two halves of each row's block, d and the minimum where the type has one. */
INLINE void gather_halves(uint8_t *rec, const rows16 r, size_t from, const bool two) {
    const __m512i w = gather_word(r, from);

    put_halves(rec, w);
    if (two) put_halves(rec + 2 * PACK_ROWS, _mm512_srli_epi32(w, 16));
}

/* The four bytes of each row's word as four runs of 16 rows. */
INLINE void put_bytes(uint8_t *to, __m512i w) {
    const __m512i by_byte =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m512i by_run = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);

    _mm512_storeu_si512(to, _mm512_permutexvar_epi32(by_run, _mm512_shuffle_epi8(w, by_byte)));
}

/* Scales and minimums of Q4_K and Q5_K from their twelve bytes, the words w[1] .. w[3] of a block
 * whose w[0] holds the two halves. */
INLINE void gather_k_header(uint8_t *rec, const __m512i w[4], const pack_layout l) {
    uint8_t *sc = rec + l.at_scale, *mn = rec + l.at_min;

    put_halves(rec, w[0]);
    put_halves(rec + 2 * PACK_ROWS, _mm512_srli_epi32(w[0], 16));
    put_bytes(sc, bits(w[1], 0, 6, 0));
    put_bytes(mn, bits(w[2], 0, 6, 0));
    put_bytes(sc + 64, _mm512_or_si512(bits(w[3], 0, 4, 0), bits(w[1], 6, 2, 4)));
    put_bytes(mn + 64, _mm512_or_si512(bits(w[3], 4, 4, 0), bits(w[2], 6, 2, 4)));
}

INLINE void gather_q3_scales(uint8_t *sc, const rows16 r, size_t from) {
    const __m512i a[2] = {gather_word(r, from), gather_word(r, from + 4)};
    const __m512i high = gather_word(r, from + 8), less = _mm512_set1_epi8(32);

    for (int j = 0; j < 4; j++) {
        const __m512i v =
            _mm512_or_si512(bits(a[j % 2], 4 * (j / 2), 4, 0), bits(high, 2 * j, 2, 4));

        put_bytes(sc + 64 * j, _mm512_sub_epi8(v, less));
    }
}

/* The fifth bits of a small block: byte c of the word gets those of column c of each quad, that is
 * bits c, c + 4, ... of the 32. Each byte's two quads are first brought together, column c in bits
 * 2c and 2c + 1; then a product joins the pairs of a column. */
INLINE void gather_fifths(uint8_t *plane, const rows16 r, size_t from) {
    const __m512i spread = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 1, 4, 5, 16, 17, 20, 21, 64, 65, 68, 69, 80, 81, 84, 85));
    const __m512i places = _mm512_set1_epi32(64 << 24 | 16 << 16 | 4 << 8 | 1);
    const __m512i h = gather_word(r, from);
    const __m512i even = _mm512_shuffle_epi8(spread, bits(h, 0, 4, 0));
    const __m512i odd = _mm512_shuffle_epi8(spread, bits(h, 4, 4, 0));
    const __m512i pairs = _mm512_or_si512(even, _mm512_add_epi8(odd, odd));
    __m512i out = _mm512_setzero_si512();

    for (int c = 0; c < 4; c++) {
        const __m512i column =
            _mm512_dpbusd_epi32(_mm512_setzero_si512(), bits(pairs, 2 * c, 2, 0), places);

        out = _mm512_or_si512(out, _mm512_slli_epi32(column, (unsigned)(8 * c)));
    }
    _mm512_storeu_si512(plane, out);
}

/* One record from 16 rows of the file: what pack_group() makes. */
INLINE void gather(uint8_t *rec, const uint8_t *src, size_t row_bytes, const elem_type t,
                   const pack_layout l) {
    uint8_t *low = rec + l.low.at, *high = rec + l.high.at;
    const rows16 r = rows_at(src, row_bytes);
    __m512i w[4];

    if (t == TYPE_Q4_K || t == TYPE_Q5_K) {
        words4(w, r, 0);
        gather_k_header(rec, w, l);
        if (t == TYPE_Q5_K) gather_plane(high, r, 16, 32, 0);
        gather_plane(low, r, (t == TYPE_Q5_K ? 48 : 16), 128, 0);
    }
    if (t == TYPE_Q6_K) {
        gather_plane(low, r, 0, 128, 0);
        gather_plane(high, r, 128, 64, 0);
        words4(w, r, 192);
        for (int i = 0; i < 4; i++) put_bytes(rec + l.at_scale + 64 * i, w[i]);
        put_halves(rec, _mm512_srli_epi32(gather_word(r, 206), 16));
    }
    if (t == TYPE_Q3_K) {
        gather_plane(high, r, 0, 32, 0);
        gather_plane(low, r, 32, 64, 0);
        gather_q3_scales(rec + l.at_scale, r, 96);
        put_halves(rec, _mm512_srli_epi32(gather_word(r, 106), 16));
    }
    if (t == TYPE_Q2_K) {
        words4(w, r, 0);
        for (int i = 0; i < 4; i++) {
            put_bytes(rec + l.at_scale + 64 * i, bits(w[i], 0, 4, 0));
            put_bytes(rec + l.at_min + 64 * i, bits(w[i], 4, 4, 0));
        }
        gather_plane(low, r, 16, 64, 0);
        gather_halves(rec, r, 80, true);
    }
    if (l.cols == 32) { /* d, m where there is one, fifth bits where there are, values */
        const size_t m = l.has_min ? 4 : 2, q = m + (l.high.bits ? 4 : 0);

        gather_halves(rec, r, 0, l.has_min);
        if (l.high.bits) gather_fifths(high, r, m);
        gather_plane(low, r, q, t == TYPE_Q8_0 ? 32 : 16, t == TYPE_Q8_0 ? 0x80 : 0);
    }
}

#include "kernels/x86/groups.h"

void avx512_fill_packed(kern_table *t) {
    fill_groups(t);
}
