/* SPDX-License-Identifier: MIT
 *
 * Attention over cached rows, the same source for AVX2 and AVX-512. The file that includes it has
 * defined before:
 *     vec, LANES        a vector of floats
 *     TILE              keys of a tile of scores, vectors of a tile of sums
 *     v_zero v_set1 v_load v_store v_fma v_mul; v_load_rest v_store_rest: fewer than LANES floats
 *     v_sum, v_sums     the sum of a vector, of TILE vectors: the same additions
 *     values_f32 values_f16 values_q8_0: see kv_values
 *
 * A tile is three rows of queries x TILE, so that each cached vector is converted once for three
 * rows, and nearly all registers are sums. For one (row, key) or (row, element) the order of the
 * sum is the same in every tile, and cached values are exact as floats: a page that was converted
 * before gives the same bits as one that is read where it lies. */
#ifndef EW_KERNELS_X86_ATTN_TILE_H
#define EW_KERNELS_X86_ATTN_TILE_H

#include "kernels/x86/simd_avx2.h"
#include "kernels/x86/x86.h"
#include "tensor/block.h"

enum {
    RUN = 32, /* elements of a q8_0 block; rows are walked in such runs */
    ROWS = 3, /* of queries in a tile */
    LINE = 64 /* bytes of a cache line */
};

/* Elements i .. i + LANES of a run of 32 that starts at `run`; only `left` of them where that is
 * fewer (a q8_0 run is always whole). */
typedef vec kv_values(const uint8_t *run, size_t i, size_t left);

typedef struct {
    kv_values *values;
    size_t run_bytes; /* of 32 elements */
} kv_type;

INLINE const uint8_t *run_at(kv_type ty, const uint8_t *row, size_t i) {
    return row + i / RUN * ty.run_bytes;
}

/* Asks for a run of what the next call reads. Between the products, line by line: many at once
 * would wait for one another, and the products for them. */
INLINE void prefetch_run(kv_type ty, const uint8_t *row, size_t i) {
    const uint8_t *run = run_at(ty, row, i);

#pragma GCC unroll 2
    for (size_t at = 0; at < ty.run_bytes; at += LINE)
        _mm_prefetch((const char *)run + at, _MM_HINT_T0);
}

/* One vector of `rows` queries times that of `keys` keys. rows, keys and mostly left: constants. */
INLINE void qk_step(kv_type ty, vec acc[ROWS][TILE], const float *q, const uint8_t *k,
                    size_t row_bytes, size_t n, size_t run, size_t i, size_t left, size_t rows,
                    size_t keys) {
    vec qv[ROWS];

#pragma GCC unroll 3
    for (size_t r = 0; r < rows; r++) {
        const float *at = q + r * n + run + i;

        qv[r] = left >= LANES ? v_load(at) : v_load_rest(at, left);
    }
#pragma GCC unroll 8
    for (size_t t = 0; t < keys; t++) {
        const vec kv = ty.values(run_at(ty, k + t * row_bytes, run), i, left);

#pragma GCC unroll 3
        for (size_t r = 0; r < rows; r++) acc[r][t] = v_fma(kv, qv[r], acc[r][t]);
    }
}

INLINE void qk_tile(kv_type ty, float *s, size_t s_stride, const float *q, const uint8_t *k,
                    size_t row_bytes, float scale, size_t n, size_t rows, size_t keys,
                    const uint8_t *next) {
    vec acc[ROWS][TILE];

#pragma GCC unroll 3
    for (size_t r = 0; r < rows; r++) {
#pragma GCC unroll 8
        for (size_t t = 0; t < keys; t++) acc[r][t] = v_zero();
    }
    for (size_t run = 0; run < n; run += RUN) {
        if (next) {
#pragma GCC unroll 8
            for (size_t t = 0; t < keys; t++) prefetch_run(ty, next + t * row_bytes, run);
        }
        if (n - run >= RUN) {
#pragma GCC unroll 4
            for (size_t i = 0; i < RUN; i += LANES)
                qk_step(ty, acc, q, k, row_bytes, n, run, i, LANES, rows, keys);
        } else {
            for (size_t i = 0; i < n - run; i += LANES)
                qk_step(ty, acc, q, k, row_bytes, n, run, i, n - run - i, rows, keys);
        }
    }
#pragma GCC unroll 3
    for (size_t r = 0; r < rows; r++) {
        if (keys == TILE)
            v_sums(s + r * s_stride, acc[r], scale);
        else
            s[r * s_stride] = v_sum(acc[r][0]) * scale;
    }
}

INLINE void qk_rows(kv_type ty, float *s, size_t s_stride, const float *q, const uint8_t *k,
                    size_t row_bytes, float scale, size_t n_row, size_t n, size_t keys,
                    const uint8_t *next) {
    size_t r = 0;

    for (; r + 3 <= n_row; r += 3)
        qk_tile(ty, s + r * s_stride, s_stride, q + r * n, k, row_bytes, scale, n, 3, keys,
                r ? NULL : next);
    s += r * s_stride;
    q += r * n;
    if (n_row - r == 2)
        qk_tile(ty, s, s_stride, q, k, row_bytes, scale, n, 2, keys, r ? NULL : next);
    if (n_row - r == 1)
        qk_tile(ty, s, s_stride, q, k, row_bytes, scale, n, 1, keys, r ? NULL : next);
}

INLINE void qk(kv_type ty, float *s, size_t s_stride, const float *q, const uint8_t *k,
               size_t row_bytes, float scale, size_t n_row, size_t n_tok, size_t n,
               const uint8_t *next) {
    size_t t = 0;

    for (; t + TILE <= n_tok; t += TILE) {
        qk_rows(ty, s + t, s_stride, q, k + t * row_bytes, row_bytes, scale, n_row, n, TILE,
                next ? next + t * row_bytes : NULL);
    }
    for (; t < n_tok; t++)
        qk_rows(ty, s + t, s_stride, q, k + t * row_bytes, row_bytes, scale, n_row, n, 1,
                next ? next + t * row_bytes : NULL);
}

INLINE vec kept(const float *o, float keep, size_t left) {
    if (keep == 0) return v_zero();
    return v_mul(left >= LANES ? v_load(o) : v_load_rest(o, left), v_set1(keep));
}

/* Elements i .. of `rows` rows, in `vecs` vectors; both are constants. With one vector, left may
 * be less than its lanes. i is a multiple of the tile's size or of LANES. */
INLINE void pv_tile(kv_type ty, float *o, const float *keep, const float *p, size_t p_stride,
                    const uint8_t *v, size_t row_bytes, size_t n_tok, size_t n, size_t i,
                    size_t left, size_t rows, size_t vecs, const uint8_t *next) {
    const size_t in_run = vecs * LANES >= RUN ? 0 : i % RUN;
    vec acc[ROWS][TILE];

    v = run_at(ty, v, i);
#pragma GCC unroll 3
    for (size_t r = 0; r < rows; r++) {
#pragma GCC unroll 8
        for (size_t j = 0; j < vecs; j++)
            acc[r][j] = kept(o + r * n + i + j * LANES, keep[r], left);
    }
    for (size_t t = 0; t < n_tok; t++, v += row_bytes) {
        vec pt[ROWS];

        if (next)
            for (size_t j = 0; j < n; j += RUN) prefetch_run(ty, next + t * row_bytes, j);
#pragma GCC unroll 3
        for (size_t r = 0; r < rows; r++) pt[r] = v_set1(p[r * p_stride + t]);
#pragma GCC unroll 8
        for (size_t j = 0; j < vecs; j++) {
            const size_t at = j * LANES;
            const vec vv = ty.values(run_at(ty, v, at), in_run + at % RUN, left);

#pragma GCC unroll 3
            for (size_t r = 0; r < rows; r++) acc[r][j] = v_fma(pt[r], vv, acc[r][j]);
        }
    }
#pragma GCC unroll 3
    for (size_t r = 0; r < rows; r++) {
#pragma GCC unroll 8
        for (size_t j = 0; j < vecs; j++) {
            float *at = o + r * n + i + j * LANES;

            if (left >= LANES)
                v_store(at, acc[r][j]);
            else
                v_store_rest(at, acc[r][j], left);
        }
    }
}

INLINE void pv_rows(kv_type ty, float *o, const float *keep, const float *p, size_t p_stride,
                    const uint8_t *v, size_t row_bytes, size_t n_row, size_t n_tok, size_t n,
                    size_t i, size_t left, size_t vecs, const uint8_t *next) {
    size_t r = 0;

    if (i) next = NULL;
    for (; r + 3 <= n_row; r += 3)
        pv_tile(ty, o + r * n, keep + r, p + r * p_stride, p_stride, v, row_bytes, n_tok, n, i,
                left, 3, vecs, r ? NULL : next);
    o += r * n;
    p += r * p_stride;
    if (n_row - r == 2)
        pv_tile(ty, o, keep + r, p, p_stride, v, row_bytes, n_tok, n, i, left, 2, vecs,
                r ? NULL : next);
    if (n_row - r == 1)
        pv_tile(ty, o, keep + r, p, p_stride, v, row_bytes, n_tok, n, i, left, 1, vecs,
                r ? NULL : next);
}

INLINE void pv(kv_type ty, float *o, const float *keep, const float *p, size_t p_stride,
               const uint8_t *v, size_t row_bytes, size_t n_row, size_t n_tok, size_t n,
               const uint8_t *next) {
    size_t i = 0;

    for (; n - i >= TILE * LANES; i += TILE * LANES)
        pv_rows(ty, o, keep, p, p_stride, v, row_bytes, n_row, n_tok, n, i, LANES, TILE, next);
    if (TILE > 4 && n - i >= 4 * LANES) {
        pv_rows(ty, o, keep, p, p_stride, v, row_bytes, n_row, n_tok, n, i, LANES, 4, next);
        i += 4 * LANES;
    }
    for (; n - i >= RUN; i += RUN)
        pv_rows(ty, o, keep, p, p_stride, v, row_bytes, n_row, n_tok, n, i, LANES, RUN / LANES,
                next);
    for (; n - i >= LANES; i += LANES)
        pv_rows(ty, o, keep, p, p_stride, v, row_bytes, n_row, n_tok, n, i, LANES, 1, next);
    if (i < n) pv_rows(ty, o, keep, p, p_stride, v, row_bytes, n_row, n_tok, n, i, n - i, 1, next);
}

INLINE void load_row(kv_type ty, float *dst, const uint8_t *row, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        const uint8_t *run = run_at(ty, row, i);

        if (n - i >= LANES)
            v_store(dst + i, ty.values(run, i % RUN, LANES));
        else
            v_store_rest(dst + i, ty.values(run, i % RUN, n - i), n - i);
    }
}

#define KV_FORM(type, form, run_bytes)                                                          \
 static void qk_##type(float *s, size_t s_stride, const float *q, const void *k, float scale,   \
                       size_t n_row, size_t n_tok, size_t n, const void *next) {                \
  const kv_type ty = {values_##type, run_bytes};                                                \
                                                                                                \
  qk(ty, s, s_stride, q, k, kv_row_bytes(form, n), scale, n_row, n_tok, n, next);               \
 }                                                                                              \
 static void pv_##type(float *o, const float *keep, const float *p, size_t p_stride,            \
                       const void *v, size_t n_row, size_t n_tok, size_t n, const void *next) { \
  const kv_type ty = {values_##type, run_bytes};                                                \
                                                                                                \
  pv(ty, o, keep, p, p_stride, v, kv_row_bytes(form, n), n_row, n_tok, n, next);                \
 }                                                                                              \
 static void load_##type(float *dst, const void *src, size_t n) {                               \
  const kv_type ty = {values_##type, run_bytes};                                                \
                                                                                                \
  load_row(ty, dst, src, n);                                                                    \
 }

KV_FORM(f32, KVT_F32, RUN * sizeof(float))
KV_FORM(f16, KVT_F16, RUN * 2)
KV_FORM(q8_0, KVT_Q8_0, sizeof(block_q8_0))

static void fill_attn(kern_table *t) {
    t->attn_qk[KVT_F32] = qk_f32;
    t->attn_qk[KVT_F16] = qk_f16;
    t->attn_qk[KVT_Q8_0] = qk_q8_0;
    t->attn_pv[KVT_F32] = pv_f32;
    t->attn_pv[KVT_F16] = pv_f16;
    t->attn_pv[KVT_Q8_0] = pv_q8_0;
    t->kv_load[KVT_F32] = load_f32;
    t->kv_load[KVT_F16] = load_f16;
    t->kv_load[KVT_Q8_0] = load_q8_0;
}

#endif
