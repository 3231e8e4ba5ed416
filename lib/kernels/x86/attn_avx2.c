/* SPDX-License-Identifier: MIT
 *
 * Attention over cached rows. Scores: four rows of keys x two heads a tile, so that each key
 * vector is converted once for two heads and four scores are reduced together. Weighted sums: 32
 * elements x two heads stay in registers while the tokens pass. For one (head, token) or (head,
 * element) the order of the sum is the same in every tile. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/x86/x86.h"

#include <math.h>

/* Elements i .. i + 7 of a row as floats, for q8_0 without the scale. */
typedef __m256 kv_values(const uint8_t *row, size_t i);
typedef float kv_scale(const uint8_t *row, size_t i);

typedef struct {
    kv_values *values;
    kv_scale *scale;   /* NULL: 1 */
    size_t elem_bytes; /* 0: blocks of 32 in 34 bytes */
} kv_type;

INLINE __m256 values_f32(const uint8_t *row, size_t i) {
    return _mm256_castsi256_ps(load256(row + 4 * i));
}

INLINE __m256 values_f16(const uint8_t *row, size_t i) {
    return _mm256_cvtph_ps(load128(row + 2 * i));
}

INLINE __m256 values_q8_0(const uint8_t *row, size_t i) {
    const uint8_t *q = row + i / 32 * 34 + 2 + i % 32;

    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)q)));
}

INLINE float scale_q8_0(const uint8_t *row, size_t i) {
    return half_load(row + i / 32 * 34);
}

/* The last, partial vector of a row. A q8_0 row is padded to 32, so that it can be read. */
INLINE __m256 rest_values(kv_type ty, const uint8_t *row, size_t i, size_t n) {
    uint8_t rest[32] = {0};

    if (ty.elem_bytes == 0) return ty.values(row, i);
    memcpy(rest, row + i * ty.elem_bytes, (n - i) * ty.elem_bytes);
    return ty.values(rest, 0);
}

INLINE __m256 rest_floats(const float *x, size_t n) {
    float rest[8] = {0};

    memcpy(rest, x, n * sizeof *x);
    return _mm256_loadu_ps(rest);
}

/* heads, toks: constants. Runs of 32 elements are summed apart where they have a scale. */
INLINE void qk_tile(kv_type ty, float *s, size_t s_stride, const float *q, const uint8_t *k,
                    size_t row_bytes, float scale, size_t n, size_t heads, size_t toks) {
    __m256 acc[2][4];

#pragma GCC unroll 2
    for (size_t h = 0; h < heads; h++) {
#pragma GCC unroll 4
        for (size_t t = 0; t < toks; t++) acc[h][t] = _mm256_setzero_ps();
    }
    for (size_t run = 0; run < n; run += 32) {
        const size_t end = n - run < 32 ? n : run + 32;
        __m256 part[2][4];

#pragma GCC unroll 2
        for (size_t h = 0; h < heads; h++) {
#pragma GCC unroll 4
            for (size_t t = 0; t < toks; t++) {
                part[h][t] = ty.scale ? _mm256_setzero_ps() : acc[h][t];
            }
        }
        for (size_t i = run; i < end; i += 8) {
            const bool whole = i + 8 <= n;
            __m256 qv[2];

#pragma GCC unroll 2
            for (size_t h = 0; h < heads; h++) {
                qv[h] = whole ? _mm256_loadu_ps(q + h * n + i) : rest_floats(q + h * n + i, n - i);
            }
#pragma GCC unroll 4
            for (size_t t = 0; t < toks; t++) {
                const uint8_t *row = k + t * row_bytes;
                const __m256 kv = whole ? ty.values(row, i) : rest_values(ty, row, i, n);

#pragma GCC unroll 2
                for (size_t h = 0; h < heads; h++) {
                    part[h][t] = _mm256_fmadd_ps(kv, qv[h], part[h][t]);
                }
            }
        }
#pragma GCC unroll 4
        for (size_t t = 0; t < toks; t++) {
            const __m256 d = _mm256_set1_ps(ty.scale ? ty.scale(k + t * row_bytes, run) : 1.0f);

#pragma GCC unroll 2
            for (size_t h = 0; h < heads; h++) {
                acc[h][t] = ty.scale ? _mm256_fmadd_ps(d, part[h][t], acc[h][t]) : part[h][t];
            }
        }
    }
#pragma GCC unroll 2
    for (size_t h = 0; h < heads; h++) {
        if (toks == 4) {
            const __m128 sum = lanes_sum4(acc[h][0], acc[h][1], acc[h][2], acc[h][3]);

            _mm_storeu_ps(s + h * s_stride, _mm_mul_ps(sum, _mm_set1_ps(scale)));
        } else {
            s[h * s_stride] = lanes_sum(acc[h][0]) * scale;
        }
    }
}

INLINE void qk_heads(kv_type ty, float *s, size_t s_stride, const float *q, const uint8_t *k,
                     size_t row_bytes, float scale, size_t n_head, size_t n, size_t toks) {
    size_t h = 0;

    for (; h + 2 <= n_head; h += 2) {
        qk_tile(ty, s + h * s_stride, s_stride, q + h * n, k, row_bytes, scale, n, 2, toks);
    }
    if (h < n_head) {
        qk_tile(ty, s + h * s_stride, s_stride, q + h * n, k, row_bytes, scale, n, 1, toks);
    }
}

INLINE void qk(kv_type ty, float *s, size_t s_stride, const float *q, const uint8_t *k,
               size_t row_bytes, float scale, size_t n_head, size_t n_tok, size_t n) {
    size_t t = 0;

    for (; t + 4 <= n_tok; t += 4) {
        qk_heads(ty, s + t, s_stride, q, k + t * row_bytes, row_bytes, scale, n_head, n, 4);
    }
    for (; t < n_tok; t++) {
        qk_heads(ty, s + t, s_stride, q, k + t * row_bytes, row_bytes, scale, n_head, n, 1);
    }
}

INLINE __m256 kept(const float *o, float keep) {
    return keep == 0 ? _mm256_setzero_ps()
                     : _mm256_mul_ps(_mm256_loadu_ps(o), _mm256_set1_ps(keep));
}

/* Elements i .. i + 8 * vecs of `heads` heads; both are constants. i and 8 * vecs lie within one
 * run of 32. */
INLINE void pv_tile(kv_type ty, float *o, const float *keep, const float *p, size_t p_stride,
                    const uint8_t *v, size_t row_bytes, size_t n_tok, size_t n, size_t i,
                    size_t heads, size_t vecs) {
    __m256 acc[2][4];

#pragma GCC unroll 2
    for (size_t h = 0; h < heads; h++) {
#pragma GCC unroll 4
        for (size_t j = 0; j < vecs; j++) acc[h][j] = kept(o + h * n + i + 8 * j, keep[h]);
    }
    for (size_t t = 0; t < n_tok; t++, v += row_bytes) {
        const float d = ty.scale ? ty.scale(v, i) : 1.0f;
        __m256 pt[2];

#pragma GCC unroll 2
        for (size_t h = 0; h < heads; h++) {
            const float a = p[h * p_stride + t];

            pt[h] = _mm256_set1_ps(ty.scale ? a * d : a);
        }
#pragma GCC unroll 4
        for (size_t j = 0; j < vecs; j++) {
            const __m256 vv = ty.values(v, i + 8 * j);

#pragma GCC unroll 2
            for (size_t h = 0; h < heads; h++) acc[h][j] = _mm256_fmadd_ps(pt[h], vv, acc[h][j]);
        }
    }
#pragma GCC unroll 2
    for (size_t h = 0; h < heads; h++) {
#pragma GCC unroll 4
        for (size_t j = 0; j < vecs; j++) _mm256_storeu_ps(o + h * n + i + 8 * j, acc[h][j]);
    }
}

/* The last few elements of rows whose length is not a multiple of 8. */
INLINE void pv_rest(kv_type ty, float *o, const float *keep, const float *p, size_t p_stride,
                    const uint8_t *v, size_t row_bytes, size_t n_head, size_t n_tok, size_t n,
                    size_t i) {
    for (size_t h = 0; h < n_head; h++, o += n) {
        __m256 acc = keep[h] == 0
                         ? _mm256_setzero_ps()
                         : _mm256_mul_ps(rest_floats(o + i, n - i), _mm256_set1_ps(keep[h]));
        float lanes[8];

        for (size_t t = 0; t < n_tok; t++) {
            const uint8_t *row = v + t * row_bytes;
            const float a = p[h * p_stride + t] * (ty.scale ? ty.scale(row, i) : 1.0f);

            acc = _mm256_fmadd_ps(_mm256_set1_ps(a), rest_values(ty, row, i, n), acc);
        }
        _mm256_storeu_ps(lanes, acc);
        memcpy(o + i, lanes, (n - i) * sizeof *o);
    }
}

INLINE void pv(kv_type ty, float *o, const float *keep, const float *p, size_t p_stride,
               const uint8_t *v, size_t row_bytes, size_t n_head, size_t n_tok, size_t n) {
    const size_t even = n_head / 2 * 2;
    size_t i = 0;

    for (; i + 32 <= n; i += 32) {
        for (size_t h = 0; h < even; h += 2) {
            pv_tile(ty, o + h * n, keep + h, p + h * p_stride, p_stride, v, row_bytes, n_tok, n, i,
                    2, 4);
        }
        if (even < n_head) {
            pv_tile(ty, o + even * n, keep + even, p + even * p_stride, p_stride, v, row_bytes,
                    n_tok, n, i, 1, 4);
        }
    }
    for (; i + 8 <= n; i += 8) {
        for (size_t h = 0; h < n_head; h++) {
            pv_tile(ty, o + h * n, keep + h, p + h * p_stride, p_stride, v, row_bytes, n_tok, n, i,
                    1, 1);
        }
    }
    if (i < n) pv_rest(ty, o, keep, p, p_stride, v, row_bytes, n_head, n_tok, n, i);
}

#define KV_FORM(type, form, scale_fn, elem_bytes)                                             \
 static void qk_##type(float *s, size_t s_stride, const float *q, const void *k, float scale, \
                       size_t n_head, size_t n_tok, size_t n) {                               \
  const kv_type ty = {values_##type, scale_fn, elem_bytes};                                   \
                                                                                              \
  qk(ty, s, s_stride, q, k, kv_row_bytes(form, n), scale, n_head, n_tok, n);                  \
 }                                                                                            \
 static void pv_##type(float *o, const float *keep, const float *p, size_t p_stride,          \
                       const void *v, size_t n_head, size_t n_tok, size_t n) {                \
  const kv_type ty = {values_##type, scale_fn, elem_bytes};                                   \
                                                                                              \
  pv(ty, o, keep, p, p_stride, v, kv_row_bytes(form, n), n_head, n_tok, n);                   \
 }

KV_FORM(f32, KVT_F32, NULL, 4)
KV_FORM(f16, KVT_F16, NULL, 2)
KV_FORM(q8_0, KVT_Q8_0, scale_q8_0, 0)

void avx2_fill_attn(kern_table *t) {
    t->attn_qk[KVT_F32] = qk_f32;
    t->attn_qk[KVT_F16] = qk_f16;
    t->attn_qk[KVT_Q8_0] = qk_q8_0;
    t->attn_pv[KVT_F32] = pv_f32;
    t->attn_pv[KVT_F16] = pv_f16;
    t->attn_pv[KVT_Q8_0] = pv_q8_0;
}
