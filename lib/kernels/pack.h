/* SPDX-License-Identifier: MIT
 *
 * Packed weights: sixteen rows interleaved, so that one load holds four consecutive columns (a
 * quad) of sixteen rows and each row's sum grows in its own lane: no horizontal sums, and one
 * stream of memory instead of sixteen.
 *
 * A matrix is cut into groups of 16 rows, a group into records of pack_cols(type) columns, stored
 * one after another. A record is, each part for rows 0..15 side by side:
 *   d[16]       scale, f16 (bf16 for MXFP4, whose scales are powers of two)
 *   m[16]       f16, types with an offset: d of the minimums (256 columns) or the minimum (32)
 *   sc[n][16]   256 columns: sub-block scales, bytes, n = 8 or 16
 *   mn[n][16]   the same for the minimums of types that have them
 *   planes      the values, offset to be >= 0, as bit planes of 64 bytes a vector:
 *               nibbles: low nibble quad 2j, high nibble quad 2j + 1
 *               pairs:   bits 2b, 2b + 1 of a byte belong to quad 4j + b
 *               bits:    bit b belongs to quad 8j + b
 *               bytes:   one quad a vector
 * Within a vector byte 4 * r + c is row r, column c of the quad. */
#ifndef EW_KERNELS_PACK_H
#define EW_KERNELS_PACK_H

#include "kernels/kern.h"

enum {
    PACK_ROWS = 16,
    PACK_VECTOR = 64 /* bytes */
};

/* How values are stored: which planes a record has. */
typedef enum {
    PLANES_BYTE,        /* 8 bits */
    PLANES_NIBBLE,      /* 4 */
    PLANES_NIBBLE_BIT,  /* 5 */
    PLANES_NIBBLE_PAIR, /* 6 */
    PLANES_PAIR,        /* 2 */
    PLANES_PAIR_BIT     /* 3 */
} pack_planes;

typedef struct {
    size_t cols; /* of a record: 256, 32, or 0: the type has no packed form */
    pack_planes planes;
    size_t n_scale; /* 8 or 16 sub-block scales, 0 with 32 columns */
    bool has_min;
    int offset; /* added to the type's values before they are stored */
    size_t at_scale, at_min, at_low, at_high; /* places in a record; high: the smaller plane */
    size_t bytes;                             /* of a record */
} pack_layout;

static inline pack_layout pack_make(size_t cols, pack_planes planes, size_t n_scale, bool has_min,
                                    int offset) {
    static const uint8_t low_bits[] = {8, 4, 4, 4, 2, 2}, high_bits[] = {0, 0, 1, 2, 0, 1};
    const size_t halves = 2 * PACK_ROWS * (has_min ? 2 : 1);
    pack_layout l = {.cols = cols,
                     .planes = planes,
                     .n_scale = n_scale,
                     .has_min = has_min,
                     .offset = offset,
                     .at_scale = halves,
                     .at_min = halves + n_scale * PACK_ROWS};

    l.at_low = l.at_min + (has_min ? n_scale * PACK_ROWS : 0);
    l.at_high = l.at_low + cols * PACK_ROWS * low_bits[planes] / 8;
    l.bytes = l.at_high + cols * PACK_ROWS * high_bits[planes] / 8;
    return l;
}

/* With a constant type everything here is a constant to the compiler. */
static inline pack_layout pack_of(elem_type t) {
    if (t == TYPE_Q4_0) return pack_make(32, PLANES_NIBBLE, 0, false, 8);
    if (t == TYPE_Q4_1) return pack_make(32, PLANES_NIBBLE, 0, true, 0);
    if (t == TYPE_Q5_0) return pack_make(32, PLANES_NIBBLE_BIT, 0, false, 16);
    if (t == TYPE_Q5_1) return pack_make(32, PLANES_NIBBLE_BIT, 0, true, 0);
    if (t == TYPE_Q8_0) return pack_make(32, PLANES_BYTE, 0, false, 128);
    if (t == TYPE_Q2_K) return pack_make(256, PLANES_PAIR, 16, true, 0);
    if (t == TYPE_Q3_K) return pack_make(256, PLANES_PAIR_BIT, 16, false, 4);
    if (t == TYPE_Q4_K) return pack_make(256, PLANES_NIBBLE, 8, true, 0);
    if (t == TYPE_Q5_K) return pack_make(256, PLANES_NIBBLE_BIT, 8, true, 0);
    if (t == TYPE_Q6_K) return pack_make(256, PLANES_NIBBLE_PAIR, 16, false, 32);
    return (pack_layout){0};
}

/* Bytes of n_row rows (a multiple of 16) of n columns; 0 when the type or the shape has no packed
 * form. */
size_t pack_bytes(elem_type t, size_t n_row, size_t n);

/* Packs 16 rows of row_bytes at src into dst. */
void pack_group(elem_type t, uint8_t *dst, const uint8_t *src, size_t row_bytes, size_t n);

/* Row `row` of a packed matrix as n floats (embeddings): the values dequantising would give, up to
 * rounding. */
void pack_row(elem_type t, float *dst, const uint8_t *packed, size_t row, size_t n);

#endif
