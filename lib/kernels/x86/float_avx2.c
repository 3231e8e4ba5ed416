/* SPDX-License-Identifier: MIT
 *
 * Products of the float types: a tile of rows x tokens, one eight-lane sum each, so that every
 * converted weight vector serves all tokens of the tile and every activation vector all its rows.
 * Whatever the tile, the sum of one (row, token) runs over the same lanes in the same order. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/x86/x86.h"

typedef __m256 load_fn(const uint8_t *p); /* eight elements */

typedef struct {
    load_fn *load;
    size_t bytes; /* of an element */
} float_type;

enum {
    ROWS = 4, /* of a tile with one token, where latency must be hidden by rows */
    ROWS_TOKS = 2,
    TOKS = 4
};

/* rows, toks: constants */
INLINE void tile(float_type ty, float *y, size_t y_stride, const uint8_t *w, size_t row_bytes,
                 const uint8_t *x, size_t x_bytes, size_t n, size_t rows, size_t toks) {
    __m256 acc[ROWS][TOKS];
    size_t i = 0;

#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (size_t t = 0; t < toks; t++) acc[r][t] = _mm256_setzero_ps();
    }
    for (; i + 8 <= n; i += 8) {
        __m256 xv[TOKS];

#pragma GCC unroll 4
        for (size_t t = 0; t < toks; t++) {
            xv[t] = _mm256_loadu_ps((const float *)(const void *)(x + t * x_bytes) + i);
            /* Keep it in a register: gcc would load it again for every row, and loads are the
             * limit. */
            if (rows > 1) __asm__("" : "+x"(xv[t]));
        }
#pragma GCC unroll 4
        for (size_t r = 0; r < rows; r++) {
            const __m256 wv = ty.load(w + r * row_bytes + i * ty.bytes);

#pragma GCC unroll 4
            for (size_t t = 0; t < toks; t++) acc[r][t] = _mm256_fmadd_ps(wv, xv[t], acc[r][t]);
        }
    }
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (size_t t = 0; t < toks; t++) {
            if (i < n) { /* the rest, filled up with zeros */
                uint8_t rest[32] = {0};
                float xr[8] = {0};

                memcpy(rest, w + r * row_bytes + i * ty.bytes, (n - i) * ty.bytes);
                memcpy(xr, x + t * x_bytes + i * sizeof *xr, (n - i) * sizeof *xr);
                acc[r][t] = _mm256_fmadd_ps(ty.load(rest), _mm256_loadu_ps(xr), acc[r][t]);
            }
            y[t * y_stride + r] = lanes_sum(acc[r][t]);
        }
    }
}

INLINE void some_rows(float_type ty, float *y, size_t y_stride, const uint8_t *w, size_t row_bytes,
                      const uint8_t *x, size_t x_bytes, size_t n_row, size_t n, size_t rows,
                      size_t toks) {
    size_t r = 0;

    for (; r + rows <= n_row; r += rows) {
        tile(ty, y + r, y_stride, w + r * row_bytes, row_bytes, x, x_bytes, n, rows, toks);
    }
    for (; r < n_row; r++) {
        tile(ty, y + r, y_stride, w + r * row_bytes, row_bytes, x, x_bytes, n, 1, toks);
    }
}

/* Rows in strips that stay in L2 while the tokens pass. */
enum {
    STRIP_ROWS = 16
};

INLINE void matmul(float_type ty, float *y, size_t y_stride, const uint8_t *w, size_t row_bytes,
                   const uint8_t *x, size_t x_bytes, size_t n_row, size_t n_tok, size_t n) {
    if (n_tok == 1) {
        some_rows(ty, y, y_stride, w, row_bytes, x, x_bytes, n_row, n, ROWS, 1);
        return;
    }
    for (size_t r = 0; r < n_row; r += STRIP_ROWS) {
        const size_t rows = n_row - r < STRIP_ROWS ? n_row - r : STRIP_ROWS;

        for (size_t t = 0; t < n_tok; t += TOKS) {
            float *yt = y + t * y_stride + r;
            const uint8_t *wr = w + r * row_bytes, *xt = x + t * x_bytes;
            const size_t left = n_tok - t;

            if (left >= 4) {
                some_rows(ty, yt, y_stride, wr, row_bytes, xt, x_bytes, rows, n, ROWS_TOKS, 4);
            } else if (left == 3) {
                some_rows(ty, yt, y_stride, wr, row_bytes, xt, x_bytes, rows, n, ROWS_TOKS, 3);
            } else if (left == 2) {
                some_rows(ty, yt, y_stride, wr, row_bytes, xt, x_bytes, rows, n, ROWS_TOKS, 2);
            } else {
                some_rows(ty, yt, y_stride, wr, row_bytes, xt, x_bytes, rows, n, ROWS, 1);
            }
        }
    }
}

INLINE __m256 load_f32(const uint8_t *p) {
    return _mm256_castsi256_ps(load256(p));
}

INLINE __m256 load_f16(const uint8_t *p) {
    return _mm256_cvtph_ps(load128(p));
}

INLINE __m256 load_bf16(const uint8_t *p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load128(p)), 16));
}

#define MATMUL(type, elem_bytes)                                                                  \
 static void matmul_##type(float *y, size_t y_stride, const void *w, size_t row_bytes,            \
                           const void *x, size_t x_bytes, size_t n_row, size_t n_tok, size_t n) { \
  const float_type ty = {load_##type, elem_bytes};                                                \
                                                                                                  \
  matmul(ty, y, y_stride, w, row_bytes, x, x_bytes, n_row, n_tok, n);                             \
 }

MATMUL(f32, 4)
MATMUL(f16, 2)
MATMUL(bf16, 2)

void avx2_fill_float(kern_table *t) {
    t->matmul[TYPE_F32] = matmul_f32;
    t->matmul[TYPE_F16] = matmul_f16;
    t->matmul[TYPE_BF16] = matmul_bf16;
}
