/* SPDX-License-Identifier: MIT
 *
 * Products of the 256-element types. A super-block is eight vectors of 32 values in 8 bits, with
 * the scales of its sixteen runs of 16. Per vector: products of adjacent pairs in 16 bits, times
 * the scale into 32 bits. The whole super-block is summed in whole numbers; then one float step.
 *
 * One token: values go from the block straight into the products. Several: four rows'
 * super-blocks are unpacked to the stack and used for up to 32 tokens, four tokens at a time, so
 * that unpacking costs little and a token's quants, once in L1, serve four rows. The float steps
 * are the same in both, so the results are too. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/x86/x86.h"
#include "tensor/block.h"

/* What a block's minimums are. */
typedef enum {
    MIN_NONE,
    MIN_FLOAT, /* dmin * mn: w = d * sc * v - dmin * mn */
    MIN_INT    /* part of the scale's term: w = d * (sc * v - mn) */
} min_kind;

typedef struct {
    __m256i sc; /* 16-bit scales of the runs 0 2 4 .. 14 | 1 3 .. 15 */
    __m256i mn; /* 16-bit minimums of the runs 0 .. 15, to be multiplied with act_q8_k.sums */
    float d, dmin;
} super_head;

typedef super_head head_fn(const uint8_t *b);
typedef __m256i values_fn(const uint8_t *b, int k); /* elements 32k .. 32k + 31 */

/* One weight type. */
typedef struct {
    head_fn *head;
    values_fn *values;
    size_t bytes;
    min_kind min;
    bool is_signed;
} super_type;

/* The scales of runs 2k and 2k + 1, each in eight lanes. */
INLINE __m256i scale_pair(__m256i sc, int k) {
    return _mm256_shuffle_epi8(sc, _mm256_set1_epi16((short)(0x0100 + 0x0202 * k)));
}

INLINE __m256i scaled(__m256i v, __m256i q, __m256i scale, bool is_signed) {
    return _mm256_madd_epi16(is_signed ? pairs_i8(v, q) : pairs_u8(v, q), scale);
}

/* The float step of a super-block. */
INLINE __m256 finish(__m256 acc, __m256i sum, __m256i mn, float d, float dmin, const act_q8_k *a,
                     min_kind min) {
    __m256i min_sum;

    if (min != MIN_NONE) min_sum = _mm256_madd_epi16(mn, load256(a->sums));
    if (min == MIN_INT) sum = _mm256_sub_epi32(sum, min_sum);
    acc = _mm256_fmadd_ps(_mm256_set1_ps(d * a->d), _mm256_cvtepi32_ps(sum), acc);
    if (min == MIN_FLOAT) {
        acc = _mm256_fnmadd_ps(_mm256_set1_ps(dmin * a->d), _mm256_cvtepi32_ps(min_sum), acc);
    }
    return acc;
}

INLINE float row_dot(super_type ty, const uint8_t *w, const act_q8_k *a, size_t n_block) {
    __m256 acc = _mm256_setzero_ps();

    for (size_t b = 0; b < n_block; b++, w += ty.bytes) {
        const super_head h = ty.head(w);
        __m256i sum = _mm256_setzero_si256();

#pragma GCC unroll 8
        for (int k = 0; k < 8; k++) {
            sum = _mm256_add_epi32(sum, scaled(ty.values(w, k), load256(a[b].q + 32 * k),
                                               scale_pair(h.sc, k), ty.is_signed));
        }
        acc = finish(acc, sum, h.mn, h.d, h.dmin, a + b, ty.min);
    }
    return lanes_sum(acc);
}

enum {
    ROW_GROUP = 4,
    TOK_BLOCK = 32,
    TILE = 4
};

typedef struct {
    __m256i v[8], sc[8], mn;
    float d, dmin;
} super_unit;

INLINE void unpack_unit(super_type ty, super_unit *u, const uint8_t *w) {
    const super_head h = ty.head(w);

#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) {
        u->v[k] = ty.values(w, k);
        u->sc[k] = scale_pair(h.sc, k);
    }
    u->mn = h.mn;
    u->d = h.d;
    u->dmin = h.dmin;
}

INLINE void tile(super_type ty, __m256 *acc, const super_unit *u, const uint8_t *x, size_t x_bytes,
                 int n_tok) {
    __m256i sum[TILE];

#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) sum[t] = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) {
        const __m256i v = u->v[k], sc = u->sc[k];

#pragma GCC unroll 4
        for (int t = 0; t < n_tok; t++) {
            const act_q8_k *a = (const void *)(x + (size_t)t * x_bytes);

            sum[t] = _mm256_add_epi32(sum[t], scaled(v, load256(a->q + 32 * k), sc, ty.is_signed));
        }
    }
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) {
        const act_q8_k *a = (const void *)(x + (size_t)t * x_bytes);

        acc[t] = finish(acc[t], sum[t], u->mn, u->d, u->dmin, a, ty.min);
    }
}

/* Up to ROW_GROUP rows with up to TOK_BLOCK tokens. */
INLINE void block_product(super_type ty, float *y, size_t y_stride, const uint8_t *w,
                          size_t row_bytes, const uint8_t *x, size_t x_bytes, size_t n_row,
                          size_t n_tok, size_t n_block) {
    __m256 acc[ROW_GROUP][TOK_BLOCK];
    super_unit u[ROW_GROUP];

    for (size_t r = 0; r < n_row; r++) {
        for (size_t t = 0; t < n_tok; t++) acc[r][t] = _mm256_setzero_ps();
    }
    for (size_t b = 0; b < n_block; b++) {
        const uint8_t *xb = x + b * sizeof(act_q8_k);

        for (size_t r = 0; r < n_row; r++) unpack_unit(ty, u + r, w + r * row_bytes + b * ty.bytes);
        for (size_t t = 0; t < n_tok; t += TILE) {
            const uint8_t *xt = xb + t * x_bytes;
            const size_t left = n_tok - t;

            for (size_t r = 0; r < n_row; r++) {
                if (left >= 4) tile(ty, acc[r] + t, u + r, xt, x_bytes, 4);
                if (left == 3) tile(ty, acc[r] + t, u + r, xt, x_bytes, 3);
                if (left == 2) tile(ty, acc[r] + t, u + r, xt, x_bytes, 2);
                if (left == 1) tile(ty, acc[r] + t, u + r, xt, x_bytes, 1);
            }
        }
    }
    for (size_t r = 0; r < n_row; r++) {
        for (size_t t = 0; t < n_tok; t++) y[t * y_stride + r] = lanes_sum(acc[r][t]);
    }
}

INLINE void matmul(super_type ty, float *y, size_t y_stride, const uint8_t *w, size_t row_bytes,
                   const uint8_t *x, size_t x_bytes, size_t n_row, size_t n_tok, size_t n) {
    const size_t n_block = n / BLOCK_SUPER;

    if (n_tok == 1) {
        for (size_t r = 0; r < n_row; r++) {
            y[r] = row_dot(ty, w + r * row_bytes, (const void *)x, n_block);
        }
        return;
    }
    for (size_t t = 0; t < n_tok; t += TOK_BLOCK) {
        const size_t toks = n_tok - t < TOK_BLOCK ? n_tok - t : TOK_BLOCK;

        for (size_t r = 0; r < n_row; r += ROW_GROUP) {
            const size_t rows = n_row - r < ROW_GROUP ? n_row - r : ROW_GROUP;

            block_product(ty, y + t * y_stride + r, y_stride, w + r * row_bytes, row_bytes,
                          x + t * x_bytes, x_bytes, rows, toks, n_block);
        }
    }
}

/* Sixteen 8-bit numbers as the scales of the runs. */
INLINE __m256i run_scales(__m128i bytes) {
    const __m128i even_odd = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);

    return _mm256_cvtepi8_epi16(_mm_shuffle_epi8(bytes, even_odd));
}

/* Q4_K and Q5_K begin alike: two halves, then the 6-bit scales and minimums, whose packing
 * block_q4_k describes. `low` takes the bytes with the low parts of S0..3, S4..7, M0..3, M4..7,
 * `high` the bytes whose top bits complete S4..7 and M4..7. */
INLINE super_head k_head(const uint8_t *p) {
    const __m128i low = _mm_setr_epi8(4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i high = _mm_setr_epi8(-1, -1, -1, -1, 4, 5, 6, 7, -1, -1, -1, -1, 8, 9, 10, 11);
    const __m128i twice = _mm_setr_epi8(8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15);
    const __m128i b = load128(p);
    const __m128i shifted = _mm_srlv_epi32(_mm_shuffle_epi8(b, low), _mm_setr_epi32(0, 0, 0, 4));
    const __m128i lows =
        _mm_and_si128(shifted, _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
    const __m128i highs =
        _mm_and_si128(_mm_srli_epi16(_mm_shuffle_epi8(b, high), 2), _mm_set1_epi8(0x30));
    const __m128i sm = _mm_or_si128(lows, highs);
    const __m128 d = _mm_cvtph_ps(b);
    super_head h;

    h.sc = _mm256_broadcastsi128_si256(_mm_cvtepu8_epi16(sm));
    h.mn = _mm256_cvtepu8_epi16(_mm_shuffle_epi8(sm, twice));
    h.d = _mm_cvtss_f32(d);
    h.dmin = _mm_cvtss_f32(_mm_movehdup_ps(d));
    return h;
}

INLINE super_head q4_k_head(const uint8_t *p) {
    return k_head(p);
}

INLINE __m256i k_nibbles(const uint8_t *qs, int k) {
    const __m256i q = load256(qs + 32 * (k / 2));

    return _mm256_and_si256(k & 1 ? _mm256_srli_epi16(q, 4) : q, _mm256_set1_epi8(15));
}

INLINE __m256i q4_k_values(const uint8_t *p, int k) {
    return k_nibbles(((const block_q4_k *)p)->qs, k);
}

INLINE super_head q5_k_head(const uint8_t *p) {
    return k_head(p);
}

/* Bits at `from` .. of every byte moved to `to`, and the rest cleared. */
INLINE __m256i bits_to(__m256i v, int from, int to, int mask) {
    const __m256i moved =
        from > to ? _mm256_srli_epi16(v, from - to) : _mm256_slli_epi16(v, to - from);

    return _mm256_and_si256(moved, _mm256_set1_epi8((char)mask));
}

INLINE __m256i q5_k_values(const uint8_t *p, int k) {
    const block_q5_k *b = (const void *)p;

    return _mm256_or_si256(k_nibbles(b->qs, k), bits_to(load256(b->qh), k, 4, 16));
}

/* w = d * (sc * v - 32 * sc) */
INLINE super_head q6_k_head(const uint8_t *p) {
    const block_q6_k *b = (const void *)p;
    const __m128i sc = load128(b->sc);
    super_head h;

    h.sc = run_scales(sc);
    h.mn = _mm256_slli_epi16(_mm256_cvtepi8_epi16(sc), 5);
    h.d = half_load(b->d);
    h.dmin = 0;
    return h;
}

INLINE __m256i q6_k_values(const uint8_t *p, int k) {
    const block_q6_k *b = (const void *)p;
    const int half = k / 4, g = k % 4;
    const __m256i low = load256(b->ql + 64 * half + 32 * (g & 1));
    const __m256i high = load256(b->qh + 32 * half);

    return _mm256_or_si256(bits_to(low, g & 2 ? 4 : 0, 0, 15), bits_to(high, 2 * g, 4, 0x30));
}

INLINE super_head q2_k_head(const uint8_t *p) {
    const block_q2_k *b = (const void *)p;
    const __m128i sc = load128(b->sc), low = _mm_set1_epi8(15);
    super_head h;

    h.sc = run_scales(_mm_and_si128(sc, low));
    h.mn = _mm256_cvtepi8_epi16(_mm_and_si128(_mm_srli_epi16(sc, 4), low));
    h.d = half_load(b->d);
    h.dmin = half_load(b->dmin);
    return h;
}

INLINE __m256i q2_k_values(const uint8_t *p, int k) {
    return bits_to(load256(((const block_q2_k *)p)->qs + 32 * (k / 4)), 2 * (k % 4), 0, 3);
}

/* Scale bytes: low nibbles of sc[0..7] then their high nibbles, joined by bit pairs of sc[8..11],
 * four bytes a turn. w = d * (sc * v - 4 * sc) with v = 0 .. 7. */
INLINE super_head q3_k_head(const uint8_t *p) {
    const block_q3_k *b = (const void *)p;
    const uint32_t a = u32_at(b->sc), c = u32_at(b->sc + 4), t = u32_at(b->sc + 8);
    const __m128i low = _mm_setr_epi32((int)(a & 0x0f0f0f0f), (int)(c & 0x0f0f0f0f),
                                       (int)(a >> 4 & 0x0f0f0f0f), (int)(c >> 4 & 0x0f0f0f0f));
    const __m128i high = _mm_setr_epi32((int)(t << 4 & 0x30303030), (int)(t << 2 & 0x30303030),
                                        (int)(t & 0x30303030), (int)(t >> 2 & 0x30303030));
    const __m128i sc = _mm_sub_epi8(_mm_or_si128(low, high), _mm_set1_epi8(32));
    super_head h;

    h.sc = run_scales(sc);
    h.mn = _mm256_slli_epi16(_mm256_cvtepi8_epi16(sc), 2);
    h.d = half_load(b->d);
    h.dmin = 0;
    return h;
}

INLINE __m256i q3_k_values(const uint8_t *p, int k) {
    const block_q3_k *b = (const void *)p;
    const __m256i low = bits_to(load256(b->qs + 32 * (k / 4)), 2 * (k % 4), 0, 3);

    return _mm256_or_si256(low, bits_to(load256(b->hmask), k, 2, 4));
}

INLINE super_head iq4_xs_head(const uint8_t *p) {
    const block_iq4_xs *b = (const void *)p;
    const uint32_t sl = u32_at(b->sl), sh = u16_at(b->sh);
    const __m128i nib = _mm_unpacklo_epi8(_mm_cvtsi32_si128((int)(sl & 0x0f0f0f0f)),
                                          _mm_cvtsi32_si128((int)(sl >> 4 & 0x0f0f0f0f)));
    /* 16-bit lane j: sh times 2^(14 - 2j) has bits 2j, 2j + 1 at the top */
    const __m128i up = _mm_mullo_epi16(
        _mm_set1_epi16((short)sh), _mm_setr_epi16(1 << 14, 1 << 12, 1 << 10, 256, 64, 16, 4, 1));
    const __m128i high = _mm_slli_epi16(_mm_srli_epi16(up, 14), 4);
    const __m128i sc =
        _mm_sub_epi16(_mm_or_si128(_mm_cvtepu8_epi16(nib), high), _mm_set1_epi16(32));
    super_head h;

    h.sc = _mm256_broadcastsi128_si256(sc);
    h.mn = _mm256_setzero_si256();
    h.d = half_load(b->d);
    h.dmin = 0;
    return h;
}

INLINE __m256i iq4_xs_values(const uint8_t *p, int k) {
    const __m128i table =
        _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table),
                               nibbles(((const block_iq4_xs *)p)->qs[k]));
}

/* w = d * (v - 1) */
INLINE super_head tq2_0_head(const uint8_t *p) {
    super_head h;

    h.sc = h.mn = _mm256_set1_epi16(1);
    h.d = half_load(((const block_tq2_0 *)p)->d);
    h.dmin = 0;
    return h;
}

INLINE __m256i tq2_0_values(const uint8_t *p, int k) {
    return bits_to(load256(((const block_tq2_0 *)p)->qs + 32 * (k / 4)), 2 * (k % 4), 0, 3);
}

#define MATMUL(type, min, is_signed)                                                              \
 static void matmul_##type(float *y, size_t y_stride, const void *w, size_t row_bytes,            \
                           const void *x, size_t x_bytes, size_t n_row, size_t n_tok, size_t n) { \
  const super_type ty = {type##_head, type##_values, sizeof(block_##type), min, is_signed};       \
                                                                                                  \
  matmul(ty, y, y_stride, w, row_bytes, x, x_bytes, n_row, n_tok, n);                             \
 }

MATMUL(q2_k, MIN_FLOAT, false)
MATMUL(q3_k, MIN_INT, false)
MATMUL(q4_k, MIN_FLOAT, false)
MATMUL(q5_k, MIN_FLOAT, false)
MATMUL(q6_k, MIN_INT, false)
MATMUL(iq4_xs, MIN_NONE, true)
MATMUL(tq2_0, MIN_INT, false)

void avx2_fill_super(kern_table *t) {
    t->matmul[TYPE_Q2_K] = matmul_q2_k;
    t->matmul[TYPE_Q3_K] = matmul_q3_k;
    t->matmul[TYPE_Q4_K] = matmul_q4_k;
    t->matmul[TYPE_Q5_K] = matmul_q5_k;
    t->matmul[TYPE_Q6_K] = matmul_q6_k;
    t->matmul[TYPE_IQ4_XS] = matmul_iq4_xs;
    t->matmul[TYPE_TQ2_0] = matmul_tq2_0;
}
