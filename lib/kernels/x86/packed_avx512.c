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

/* Bits [from, from + n) of every byte, moved to bit `to`. Shifts of 16-bit lanes do for bytes
 * because what crosses over is masked away. */
INLINE __m512i bits(__m512i v, int from, int n, int to) {
    const __m512i mask = _mm512_set1_epi8((char)(((1 << n) - 1) << to));

    if (from > to) v = _mm512_srl_epi16(v, _mm_cvtsi32_si128(from - to));
    if (to > from) v = _mm512_sll_epi16(v, _mm_cvtsi32_si128(to - from));
    return _mm512_and_si512(v, mask);
}

/* Quads 8j .. 8j + 7, 32 columns, from the planes of a record. */
INLINE void unpack32(uint8_t (*out)[64], const uint8_t *rec, size_t j, const pack_layout l) {
    for (size_t i = 0; i < 8; i++) {
        const size_t q = 8 * j + i;
        __m512i v = load512(rec + pack_vector(l.low, q));

        if (l.low.bits < 8) v = bits(v, pack_bit(l.low, q), l.low.bits, 0);
        if (l.high.bits)
            v = _mm512_or_si512(v, bits(load512(rec + pack_vector(l.high, q)), pack_bit(l.high, q),
                                        l.high.bits, l.low.bits));
        _mm512_store_si512(out[i], v);
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
    for (size_t j = 0; j < BLOCKS; j++) unpack32(s->q + 8 * j, rec, j, l);
    unpack_scales(s, rec, l);
}

INLINE void unpack_small_record(strip *s, size_t b, const uint8_t *rec, const pack_layout l) {
    unpack32(s->q + 8 * b, rec, 0, l);
    _mm512_store_ps(s->d[b], halves(rec));
    if (l.has_min) _mm512_store_ps(s->m[b], halves(rec + 2 * PACK_ROWS));
}

/* ---- rows as they lie in the file ---- */

/* Sixteen bytes of each of 16 rows as four words: w[i] holds word i of rows 0 .. 15. */
INLINE void words4(__m512i w[4], const uint8_t *src, size_t row_bytes) {
    __m512i z[4], a, b, c, d;

    for (size_t k = 0; k < 4; k++) { /* lane m of z[k]: row 4m + k */
        z[k] = _mm512_castsi128_si512(load128(src + k * row_bytes));
        z[k] = _mm512_inserti32x4(z[k], load128(src + (4 + k) * row_bytes), 1);
        z[k] = _mm512_inserti32x4(z[k], load128(src + (8 + k) * row_bytes), 2);
        z[k] = _mm512_inserti32x4(z[k], load128(src + (12 + k) * row_bytes), 3);
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
INLINE void gather_plane(uint8_t *plane, const uint8_t *src, size_t row_bytes, size_t n,
                         uint8_t flip) {
    for (size_t at = 0; at < n; at += 16) {
        __m512i w[4];

        words4(w, src + at, row_bytes);
        for (size_t i = 0; i < 4; i++)
            _mm512_storeu_si512(plane + (at / 4 + i) * PACK_VECTOR,
                                flip ? _mm512_xor_si512(w[i], _mm512_set1_epi8((char)flip)) : w[i]);
    }
}

INLINE void gather_halves(uint8_t *to, const uint8_t *src, size_t row_bytes) {
    for (size_t r = 0; r < PACK_ROWS; r++) memcpy(to + 2 * r, src + r * row_bytes, 2);
}

INLINE __m512i gather_word(const uint8_t *src, size_t row_bytes) {
    uint32_t w[PACK_ROWS];

    for (size_t r = 0; r < PACK_ROWS; r++) memcpy(&w[r], src + r * row_bytes, 4);
    return load512(w);
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

    _mm256_storeu_si256((__m256i *)rec, _mm512_cvtepi32_epi16(w[0]));
    _mm256_storeu_si256((__m256i *)(rec + 2 * PACK_ROWS),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(w[0], 16)));
    put_bytes(sc, bits(w[1], 0, 6, 0));
    put_bytes(mn, bits(w[2], 0, 6, 0));
    put_bytes(sc + 64, _mm512_or_si512(bits(w[3], 0, 4, 0), bits(w[1], 6, 2, 4)));
    put_bytes(mn + 64, _mm512_or_si512(bits(w[3], 4, 4, 0), bits(w[2], 6, 2, 4)));
}

INLINE void gather_q3_scales(uint8_t *sc, const uint8_t *src, size_t row_bytes) {
    const __m512i a[2] = {gather_word(src, row_bytes), gather_word(src + 4, row_bytes)};
    const __m512i high = gather_word(src + 8, row_bytes), less = _mm512_set1_epi8(32);

    for (int j = 0; j < 4; j++) {
        const __m512i v =
            _mm512_or_si512(bits(a[j % 2], 4 * (j / 2), 4, 0), bits(high, 2 * j, 2, 4));

        put_bytes(sc + 64 * j, _mm512_sub_epi8(v, less));
    }
}

/* The fifth bits of a small block: byte c of the word gets those of column c of each quad, that is
 * bits c, c + 4, ... of the 32. */
INLINE void gather_fifths(uint8_t *plane, const uint8_t *src, size_t row_bytes) {
    const __m512i h = gather_word(src, row_bytes);
    __m512i out = _mm512_setzero_si512();

    for (unsigned c = 0; c < 4; c++)
        for (unsigned k = 0; k < 8; k++) {
            const __m512i bit = _mm512_and_si512(
                _mm512_srl_epi32(h, _mm_cvtsi32_si128((int)(4 * k + c))), _mm512_set1_epi32(1));

            out = _mm512_or_si512(out, _mm512_sll_epi32(bit, _mm_cvtsi32_si128((int)(8 * c + k))));
        }
    _mm512_storeu_si512(plane, out);
}

/* One record from 16 rows of the file: what pack_group() makes. */
INLINE const uint8_t *gather(uint8_t *rec, const uint8_t *src, size_t row_bytes, const elem_type t,
                             const pack_layout l) {
    uint8_t *low = rec + l.low.at, *high = rec + l.high.at;
    __m512i w[4];

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
            put_bytes(rec + l.at_scale + 64 * i, bits(w[i], 0, 4, 0));
            put_bytes(rec + l.at_min + 64 * i, bits(w[i], 4, 4, 0));
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

        for (size_t t = 0; t < n_tok; t++)
            _mm512_storeu_ps(y + t * y_stride + g * PACK_ROWS, _mm512_setzero_ps());
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

void avx512_fill_packed(kern_table *t) {
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
