/* SPDX-License-Identifier: MIT
 *
 * Packed weights: sixteen rows interleaved, so that one load holds four consecutive columns (a
 * quad) of sixteen rows and each row's sum grows in its own lane: no horizontal sums, and one
 * stream of memory instead of sixteen.
 *
 * A matrix is cut into groups of 16 rows, a group into records of 256 or 32 columns, a block of its
 * type, stored one after another. A record is, each part for rows 0..15 side by side:
 *   d[16]       scale, f16
 *   m[16]       f16, types with minimums: their scale (256 columns) or the minimum itself (32)
 *   sc[n][16]   256 columns: sub-block scales, bytes, n = 8 or 16
 *   mn[n][16]   the same for the minimums
 *   low plane   the values, or their low bits, in vectors of 64 bytes: byte 4 * r + c is of row r,
 *   high plane  column c of a quad; the high plane has the bits that the low one has no room for
 * In a plane of b bits 8 / b quads share a vector. Which ones follows the order of the bits in the
 * type's block, so that packing moves words of four bytes and hardly ever a bit: quad q stands in
 * vector q / (step * 8 / b) * step + q % step, from bit b * (q / step % (8 / b)) on. */
#ifndef EW_KERNELS_PACK_H
#define EW_KERNELS_PACK_H

#include "kernels/kern.h"

#include <stdbool.h>

enum {
    PACK_ROWS = 16,
    PACK_VECTOR = 64,    /* bytes */
    PACK_SPAN_MAX = 4608 /* bytes of records of 256 columns: Q8_0 has most, 4352 */
};

typedef struct {
    int bits; /* of a value in this plane; 0: there is no such plane */
    size_t step;
    size_t at; /* place in a record */
} pack_plane;

typedef struct {
    size_t cols;    /* of a record: 256, 32, or 0: the type has no packed form */
    size_t n_scale; /* 8 or 16 sub-block scales, 0 with 32 columns */
    bool has_min;
    int offset; /* values are stored greater by this, so that they are >= 0 */
    pack_plane low, high;
    size_t at_scale, at_min; /* places in a record */
    size_t bytes;            /* of a record */
} pack_layout;

static inline pack_layout pack_make(size_t cols, size_t n_scale, bool has_min, int offset,
                                    int low_bits, size_t low_step, int high_bits,
                                    size_t high_step) {
    const size_t halves = 2 * PACK_ROWS * (has_min ? 2 : 1);
    pack_layout l = {.cols = cols,
                     .n_scale = n_scale,
                     .has_min = has_min,
                     .offset = offset,
                     .low = {.bits = low_bits, .step = low_step},
                     .high = {.bits = high_bits, .step = high_step},
                     .at_scale = halves,
                     .at_min = halves + n_scale * PACK_ROWS};

    l.low.at = l.at_min + (has_min ? n_scale * PACK_ROWS : 0);
    l.high.at = l.low.at + cols * PACK_ROWS / 8 * (size_t)low_bits;
    l.bytes = l.high.at + cols * PACK_ROWS / 8 * (size_t)high_bits;
    return l;
}

/* With a constant type everything here is a constant to the compiler. */
static inline pack_layout pack_of(elem_type t) {
    if (t == TYPE_Q4_0) return pack_make(32, 0, false, 8, 4, 4, 0, 1);
    if (t == TYPE_Q4_1) return pack_make(32, 0, true, 0, 4, 4, 0, 1);
    if (t == TYPE_Q5_0) return pack_make(32, 0, false, 16, 4, 4, 1, 1);
    if (t == TYPE_Q5_1) return pack_make(32, 0, true, 0, 4, 4, 1, 1);
    if (t == TYPE_Q8_0) return pack_make(32, 0, false, 128, 8, 8, 0, 1);
    if (t == TYPE_Q2_K) return pack_make(256, 16, true, 0, 2, 8, 0, 1);
    if (t == TYPE_Q3_K) return pack_make(256, 16, false, 4, 2, 8, 1, 8);
    if (t == TYPE_Q4_K) return pack_make(256, 8, true, 0, 4, 8, 0, 1);
    if (t == TYPE_Q5_K) return pack_make(256, 8, true, 0, 4, 8, 1, 8);
    if (t == TYPE_Q6_K) return pack_make(256, 16, false, 32, 4, 16, 2, 8);
    return (pack_layout){0};
}

/* Bytes of a block in the file, a constant too. */
static inline size_t pack_block_bytes(elem_type t) {
    const pack_layout l = pack_of(t);
    const size_t scales = t == TYPE_Q2_K || t == TYPE_Q6_K ? 16 : l.n_scale ? 12 : 0;

    return l.cols / 8 * (size_t)(l.low.bits + l.high.bits) + 2 + (l.has_min ? 2 : 0) + scales;
}

/* Where quad q of a plane stands: byte offset of its vector from the record, and first bit. */
static inline size_t pack_vector(const pack_plane p, size_t q) {
    const size_t per = 8 / (size_t)p.bits;

    return p.at + (q / (p.step * per) * p.step + q % p.step) * PACK_VECTOR;
}
static inline int pack_bit(const pack_plane p, size_t q) {
    return p.bits * (int)(q / p.step % (8 / (size_t)p.bits));
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
