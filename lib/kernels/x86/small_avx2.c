/* SPDX-License-Identifier: MIT
 *
 * Products of the 32-element types, four blocks at a time: their four sums end side by side in one
 * vector, so that one multiplication applies four scales and one fused add takes them in.
 *
 * One token: straight from the blocks. Several: four rows' groups are unpacked to the stack and
 * used for up to 32 tokens. The steps are the same in both, so the results are too. A row whose
 * blocks don't come out in fours is filled up with zero blocks, as its activations are. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/x86/x86.h"
#include "tensor/block.h"

/* How far products may be added up in 16 bits. */
typedef enum {
    SUMS_16, /* unsigned values up to 31: eight products stay below 2^15 */
    SUMS_32  /* signed values: two */
} sum_width;

/* What there is besides scale and value. */
typedef enum {
    OFF_NONE,
    OFF_ZERO, /* w = d * (value - zero) */
    OFF_MIN   /* w = d * value + m */
} off_kind;

/* Scales and minimums of four blocks: twice, as the sums stand. */
typedef struct {
    __m256 d, m;
} small_head;

typedef small_head head_fn(const uint8_t *group);
typedef __m256i values_fn(const uint8_t *block);

/* One weight type. */
typedef struct {
    head_fn *head;
    values_fn *values;
    size_t bytes; /* of a block */
    sum_width width;
    off_kind off;
    float zero;
} small_type;

INLINE __m256i products(__m256i v, const int8_t *q, sum_width width) {
    return width == SUMS_16 ? pairs_u8(v, load256(q)) : pairs_i8(v, load256(q));
}

INLINE __m256i wide(__m256i pairs, sum_width width) {
    return width == SUMS_16 ? pairs : _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

/* Adds in the lanes' width; lanes are never split between blocks, as 32-bit units move. */
INLINE __m256i add_lanes(__m256i a, __m256i b, sum_width width) {
    return width == SUMS_16 ? _mm256_add_epi16(a, b) : _mm256_add_epi32(a, b);
}

/* The pair sums of blocks 0 .. 3 to 32-bit sums 0 1 2 3 | 0 1 2 3, a half of each block. */
INLINE __m256i gather_sums(__m256i p0, __m256i p1, __m256i p2, __m256i p3, sum_width width) {
    const __m256i w0 = wide(p0, width), w1 = wide(p1, width);
    const __m256i w2 = wide(p2, width), w3 = wide(p3, width);
    const __m256i t01 =
        add_lanes(_mm256_unpacklo_epi32(w0, w1), _mm256_unpackhi_epi32(w0, w1), width);
    const __m256i t23 =
        add_lanes(_mm256_unpacklo_epi32(w2, w3), _mm256_unpackhi_epi32(w2, w3), width);
    const __m256i t =
        add_lanes(_mm256_unpacklo_epi64(t01, t23), _mm256_unpackhi_epi64(t01, t23), width);

    return width == SUMS_16 ? _mm256_madd_epi16(t, _mm256_set1_epi16(1)) : t;
}

/* The float step of a group. What is not multiplied by a value counts once: in the lower half. */
INLINE __m256 finish(small_type ty, __m256 acc, __m256i sum, small_head h, const act_q8_32 *a) {
    const __m256 d = _mm256_broadcast_ps((const __m128 *)(const void *)a->d);
    const __m256 s = _mm256_zextps128_ps256(_mm_loadu_ps(a->s));
    __m256 v = _mm256_mul_ps(d, _mm256_cvtepi32_ps(sum));

    if (ty.off == OFF_ZERO) v = _mm256_fnmadd_ps(_mm256_set1_ps(ty.zero), s, v);
    if (ty.off == OFF_MIN) acc = _mm256_fmadd_ps(h.m, s, acc);
    return _mm256_fmadd_ps(h.d, v, acc);
}

INLINE __m256 group_step(small_type ty, __m256 acc, const uint8_t *w, const act_q8_32 *a) {
    const small_head h = ty.head(w);
    const __m256i p0 = products(ty.values(w), a->q[0], ty.width);
    const __m256i p1 = products(ty.values(w + ty.bytes), a->q[1], ty.width);
    const __m256i p2 = products(ty.values(w + 2 * ty.bytes), a->q[2], ty.width);
    const __m256i p3 = products(ty.values(w + 3 * ty.bytes), a->q[3], ty.width);

    return finish(ty, acc, gather_sums(p0, p1, p2, p3, ty.width), h, a);
}

enum {
    GROUP_BYTES_MAX = 4 * sizeof(block_q8_0),
    ROW_GROUP = 4,
    TOK_BLOCK = 32,
    TILE = 4
};

/* The last group of a row when it is not whole: the blocks there are, then zeros. */
INLINE const uint8_t *whole_group(uint8_t *buf, const uint8_t *w, size_t bytes, size_t n_block) {
    if (n_block >= 4) return w;
    memset(buf, 0, GROUP_BYTES_MAX);
    memcpy(buf, w, n_block * bytes);
    return buf;
}

INLINE float row_dot(small_type ty, const uint8_t *w, const act_q8_32 *a, size_t n_block) {
    __m256 acc = _mm256_setzero_ps();

    for (; n_block >= 4; n_block -= 4, a++, w += 4 * ty.bytes) acc = group_step(ty, acc, w, a);
    if (n_block) {
        uint8_t buf[GROUP_BYTES_MAX];

        acc = group_step(ty, acc, whole_group(buf, w, ty.bytes, n_block), a);
    }
    return lanes_sum(acc);
}

typedef struct {
    __m256i v[4];
    small_head head;
} small_unit;

INLINE void unpack_unit(small_type ty, small_unit *u, const uint8_t *w) {
    for (size_t j = 0; j < 4; j++) u->v[j] = ty.values(w + j * ty.bytes);
    u->head = ty.head(w);
}

INLINE void tile(small_type ty, __m256 *acc, const small_unit *u, const uint8_t *x, size_t x_bytes,
                 int n_tok) {
#pragma GCC unroll 4
    for (int t = 0; t < n_tok; t++) {
        const act_q8_32 *a = (const void *)(x + (size_t)t * x_bytes);
        const __m256i p0 = products(u->v[0], a->q[0], ty.width);
        const __m256i p1 = products(u->v[1], a->q[1], ty.width);
        const __m256i p2 = products(u->v[2], a->q[2], ty.width);
        const __m256i p3 = products(u->v[3], a->q[3], ty.width);

        acc[t] = finish(ty, acc[t], gather_sums(p0, p1, p2, p3, ty.width), u->head, a);
    }
}

/* Up to ROW_GROUP rows with up to TOK_BLOCK tokens. */
INLINE void block_product(small_type ty, float *y, size_t y_stride, const uint8_t *w,
                          size_t row_bytes, const uint8_t *x, size_t x_bytes, size_t n_row,
                          size_t n_tok, size_t n_block) {
    __m256 acc[ROW_GROUP][TOK_BLOCK];
    small_unit u[ROW_GROUP];

    for (size_t r = 0; r < n_row; r++) {
        for (size_t t = 0; t < n_tok; t++) acc[r][t] = _mm256_setzero_ps();
    }
    for (size_t b = 0; b < n_block; b += 4) {
        const uint8_t *xb = x + b / 4 * sizeof(act_q8_32);

        for (size_t r = 0; r < n_row; r++) {
            uint8_t buf[GROUP_BYTES_MAX];

            unpack_unit(ty, u + r,
                        whole_group(buf, w + r * row_bytes + b * ty.bytes, ty.bytes, n_block - b));
        }
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

INLINE void matmul(small_type ty, float *y, size_t y_stride, const uint8_t *w, size_t row_bytes,
                   const uint8_t *x, size_t x_bytes, size_t n_row, size_t n_tok, size_t n) {
    const size_t n_block = n / BLOCK_SMALL;

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

/* The first 16-bit words of four blocks, then their second ones; further bytes are of no use. */
INLINE __m128i first_words(const uint8_t *g, size_t bytes) {
    const __m128i ab = _mm_unpacklo_epi16(load128(g), load128(g + bytes));
    const __m128i cd = _mm_unpacklo_epi16(load128(g + 2 * bytes), load128(g + 3 * bytes));

    return _mm_unpacklo_epi32(ab, cd);
}

INLINE small_head scale_head(const uint8_t *g, size_t bytes) {
    const __m128i words = first_words(g, bytes);
    const small_head h = {_mm256_cvtph_ps(_mm_unpacklo_epi64(words, words)), _mm256_setzero_ps()};

    return h;
}

INLINE small_head minimum_head(const uint8_t *g, size_t bytes) {
    const __m128i words = first_words(g, bytes);
    const small_head h = {_mm256_cvtph_ps(_mm_unpacklo_epi64(words, words)),
                          _mm256_cvtph_ps(_mm_unpackhi_epi64(words, words))};

    return h;
}

INLINE small_head q4_0_head(const uint8_t *g) {
    return scale_head(g, sizeof(block_q4_0));
}

INLINE __m256i q4_0_values(const uint8_t *b) {
    return nibbles(((const block_q4_0 *)b)->qs);
}

INLINE small_head q4_1_head(const uint8_t *g) {
    return minimum_head(g, sizeof(block_q4_1));
}

INLINE __m256i q4_1_values(const uint8_t *b) {
    return nibbles(((const block_q4_1 *)b)->qs);
}

/* Bit i of four bytes to bit 4 of byte i: each byte goes to the eight lanes of its bits, where
 * the other bits are covered. */
INLINE __m256i fifth_bits(const uint8_t *qh) {
    const __m256i places =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201u);
    const __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32((int)u32_at(qh)), places);

    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(v, bit), bit), _mm256_set1_epi8(16));
}

INLINE small_head q5_0_head(const uint8_t *g) {
    return scale_head(g, sizeof(block_q5_0));
}

INLINE __m256i q5_0_values(const uint8_t *p) {
    const block_q5_0 *b = (const void *)p;

    return _mm256_or_si256(nibbles(b->qs), fifth_bits(b->qh));
}

INLINE small_head q5_1_head(const uint8_t *g) {
    return minimum_head(g, sizeof(block_q5_1));
}

INLINE __m256i q5_1_values(const uint8_t *p) {
    const block_q5_1 *b = (const void *)p;

    return _mm256_or_si256(nibbles(b->qs), fifth_bits(b->qh));
}

INLINE small_head q8_0_head(const uint8_t *g) {
    return scale_head(g, sizeof(block_q8_0));
}

INLINE __m256i q8_0_values(const uint8_t *b) {
    return load256(((const block_q8_0 *)b)->qs);
}

INLINE small_head iq4_nl_head(const uint8_t *g) {
    return scale_head(g, sizeof(block_iq4_nl));
}

INLINE __m256i iq4_nl_values(const uint8_t *b) {
    const __m128i table =
        _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table),
                               nibbles(((const block_iq4_nl *)b)->qs));
}

/* 2^(e - 128): exponents of 2 and up go into their place; 0 and 1 are the subnormals 2^21 and
 * 2^22 units of the smallest. */
INLINE small_head mxfp4_head(const uint8_t *g) {
    const size_t n = sizeof(block_mxfp4);
    const __m128i e = _mm_setr_epi32(g[0], g[n], g[2 * n], g[3 * n]);
    const __m128i normal = _mm_slli_epi32(_mm_sub_epi32(e, _mm_set1_epi32(1)), 23);
    const __m128i tiny = _mm_sllv_epi32(_mm_set1_epi32(0x00200000), e);
    const __m128i is_tiny = _mm_cmpgt_epi32(_mm_set1_epi32(2), e);

    const __m128i d = _mm_blendv_epi8(normal, tiny, is_tiny);
    const small_head h = {_mm256_castsi256_ps(_mm256_broadcastsi128_si256(d)), _mm256_setzero_ps()};

    return h;
}

/* The doubled table plus 12, to be unsigned. */
INLINE __m256i mxfp4_values(const uint8_t *b) {
    const __m128i table = _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table),
                               nibbles(((const block_mxfp4 *)b)->qs));
}

#define MATMUL(type, width, off, zero)                                                            \
 static void matmul_##type(float *y, size_t y_stride, const void *w, size_t row_bytes,            \
                           const void *x, size_t x_bytes, size_t n_row, size_t n_tok, size_t n) { \
  const small_type ty = {type##_head, type##_values, sizeof(block_##type), width, off, zero};     \
                                                                                                  \
  matmul(ty, y, y_stride, w, row_bytes, x, x_bytes, n_row, n_tok, n);                             \
 }

MATMUL(q4_0, SUMS_16, OFF_ZERO, 8)
MATMUL(q4_1, SUMS_16, OFF_MIN, 0)
MATMUL(q5_0, SUMS_16, OFF_ZERO, 16)
MATMUL(q5_1, SUMS_16, OFF_MIN, 0)
MATMUL(q8_0, SUMS_32, OFF_NONE, 0)
MATMUL(iq4_nl, SUMS_32, OFF_NONE, 0)
MATMUL(mxfp4, SUMS_16, OFF_ZERO, 12)

void avx2_fill_small(kern_table *t) {
    t->matmul[TYPE_Q4_0] = matmul_q4_0;
    t->matmul[TYPE_Q4_1] = matmul_q4_1;
    t->matmul[TYPE_Q5_0] = matmul_q5_0;
    t->matmul[TYPE_Q5_1] = matmul_q5_1;
    t->matmul[TYPE_Q8_0] = matmul_q8_0;
    t->matmul[TYPE_IQ4_NL] = matmul_iq4_nl;
    t->matmul[TYPE_MXFP4] = matmul_mxfp4;
}
