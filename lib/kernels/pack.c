/* SPDX-License-Identifier: MIT */
#include "kernels/pack.h"

#include "kernels/generic/unpack.h"

size_t pack_bytes(elem_type t, size_t n_row, size_t n) {
    const pack_layout l = pack_of(t);

    if (!l.cols || n % l.cols || n_row % PACK_ROWS) return 0;
    return n_row / PACK_ROWS * (n / l.cols) * l.bytes;
}

/* The values of a record before they are cut into planes: one quad of 16 rows a vector. */
typedef uint8_t quads[256 / 4][PACK_VECTOR];

static inline void put_row(quads q, size_t row, const int8_t *v, size_t n, int offset) {
    uint8_t u[256];

    for (size_t i = 0; i < n; i++) u[i] = (uint8_t)(v[i] + offset);
    for (size_t i = 0; i < n / 4; i++) memcpy(&q[i][4 * row], u + 4 * i, 4);
}

/* Gathers `bits` bits, from bit `shift` on, of n vectors into a plane in which `per` share one. */
static inline void put_plane(uint8_t *plane, const quads q, size_t n, unsigned shift, unsigned bits,
                             unsigned per) {
    const uint8_t mask = (uint8_t)((1u << bits) - 1);

    for (size_t j = 0; j < n; j += per, plane += PACK_VECTOR) {
        uint8_t v[PACK_VECTOR] = {0};

        for (unsigned k = 0; k < per; k++)
            for (size_t i = 0; i < PACK_VECTOR; i++)
                v[i] = (uint8_t)(v[i] | (q[j + k][i] >> shift & mask) << bits * k);
        memcpy(plane, v, sizeof v);
    }
}

static void put_planes(const pack_layout *l, uint8_t *rec, const quads q) {
    uint8_t *low = rec + l->at_low, *high = rec + l->at_high;
    const size_t n = l->cols / 4;

    switch (l->planes) {
    case PLANES_BYTE:
        memcpy(low, q, n * PACK_VECTOR);
        break;
    case PLANES_NIBBLE:
        put_plane(low, q, n, 0, 4, 2);
        break;
    case PLANES_NIBBLE_BIT:
        put_plane(low, q, n, 0, 4, 2);
        put_plane(high, q, n, 4, 1, 8);
        break;
    case PLANES_NIBBLE_PAIR:
        put_plane(low, q, n, 0, 4, 2);
        put_plane(high, q, n, 4, 2, 4);
        break;
    case PLANES_PAIR:
        put_plane(low, q, n, 0, 2, 4);
        break;
    case PLANES_PAIR_BIT:
        put_plane(low, q, n, 0, 2, 4);
        put_plane(high, q, n, 2, 1, 8);
        break;
    }
}

static void unpack_super(elem_type t, super_block *u, const uint8_t *src) {
    if (t == TYPE_Q2_K) unpack_q2_k(u, src);
    if (t == TYPE_Q3_K) unpack_q3_k(u, src);
    if (t == TYPE_Q4_K) unpack_q4_k(u, src);
    if (t == TYPE_Q5_K) unpack_q5_k(u, src);
    if (t == TYPE_Q6_K) unpack_q6_k(u, src);
}

static void unpack_small(elem_type t, small_block *u, const uint8_t *src) {
    if (t == TYPE_Q4_0) unpack_q4_0(u, src);
    if (t == TYPE_Q4_1) unpack_q4_1(u, src);
    if (t == TYPE_Q5_0) unpack_q5_0(u, src);
    if (t == TYPE_Q5_1) unpack_q5_1(u, src);
    if (t == TYPE_Q8_0) unpack_q8_0(u, src);
}

/* Where the halves stand in a block of the file: d, and the minimum's if the type has one. */
static void copy_halves(elem_type t, const pack_layout *l, uint8_t *rec, size_t row,
                        const uint8_t *src) {
    const uint8_t *d = src;

    if (t == TYPE_Q2_K) d = ((const block_q2_k *)src)->d;
    if (t == TYPE_Q3_K) d = ((const block_q3_k *)src)->d;
    if (t == TYPE_Q6_K) d = ((const block_q6_k *)src)->d;
    memcpy(rec + 2 * row, d, 2);
    if (l->has_min) memcpy(rec + 2 * (PACK_ROWS + row), d + 2, 2);
}

static void pack_super(elem_type t, const pack_layout *l, uint8_t *rec, quads q, size_t row,
                       const uint8_t *src) {
    const size_t run = 16 / l->n_scale; /* the unpacked scales are one for 16 columns */
    super_block u;

    unpack_super(t, &u, src);
    for (size_t j = 0; j < l->n_scale; j++) {
        rec[l->at_scale + j * PACK_ROWS + row] = (uint8_t)u.sc[run * j];
        if (l->has_min) rec[l->at_min + j * PACK_ROWS + row] = u.mn[run * j];
    }
    put_row(q, row, u.v, 256, l->offset);
}

static void pack_small(elem_type t, const pack_layout *l, quads q, size_t row, const uint8_t *src) {
    small_block u;

    unpack_small(t, &u, src);
    put_row(q, row, u.v, 32, l->offset);
}

void pack_group(elem_type t, uint8_t *dst, const uint8_t *src, size_t row_bytes, size_t n) {
    const pack_layout made = pack_of(t), *l = &made;
    const size_t n_rec = n / l->cols, block = type_get((uint32_t)t)->block_bytes;
    quads q;

    for (size_t b = 0; b < n_rec; b++) {
        uint8_t *rec = dst + b * l->bytes;

        for (size_t row = 0; row < PACK_ROWS; row++) {
            const uint8_t *from = src + row * row_bytes + b * block;

            copy_halves(t, l, rec, row, from);
            if (l->n_scale)
                pack_super(t, l, rec, q, row, from);
            else
                pack_small(t, l, q, row, from);
        }
        put_planes(l, rec, (const uint8_t(*)[PACK_VECTOR])q);
    }
}

/* `bits` bits of (row, column) from a plane in which `per` quads share a vector. */
static int get_bits(const uint8_t *plane, unsigned per, unsigned bits, size_t col, size_t row) {
    const size_t quad = col / 4;

    return plane[quad / per * PACK_VECTOR + 4 * row + col % 4] >> bits * (quad % per) &
           ((1 << bits) - 1);
}

static int get_value(const pack_layout *l, const uint8_t *rec, size_t col, size_t row) {
    const uint8_t *low = rec + l->at_low, *high = rec + l->at_high;

    switch (l->planes) {
    case PLANES_BYTE:
        return get_bits(low, 1, 8, col, row);
    case PLANES_NIBBLE:
        return get_bits(low, 2, 4, col, row);
    case PLANES_NIBBLE_BIT:
        return get_bits(low, 2, 4, col, row) | get_bits(high, 8, 1, col, row) << 4;
    case PLANES_NIBBLE_PAIR:
        return get_bits(low, 2, 4, col, row) | get_bits(high, 4, 2, col, row) << 4;
    case PLANES_PAIR:
        return get_bits(low, 4, 2, col, row);
    case PLANES_PAIR_BIT:
        return get_bits(low, 4, 2, col, row) | get_bits(high, 8, 1, col, row) << 2;
    }
    return 0;
}

void pack_row(elem_type t, float *dst, const uint8_t *packed, size_t row, size_t n) {
    const pack_layout made = pack_of(t), *l = &made;
    const uint8_t *rec = packed + row / PACK_ROWS * (n / l->cols) * l->bytes;
    const size_t r = row % PACK_ROWS;

    for (size_t at = 0; at < n; at += l->cols, rec += l->bytes) {
        const float d = f16_at(rec + 2 * r);
        const float m = l->has_min ? f16_at(rec + 2 * (PACK_ROWS + r)) : 0;

        for (size_t i = 0; i < l->cols; i++) {
            const float v = (float)(get_value(l, rec, i, r) - l->offset);
            const size_t run = l->n_scale ? i / (l->cols / l->n_scale) * PACK_ROWS + r : 0;
            float scale = d, low = -m;

            if (l->n_scale) {
                scale = d * (float)(int8_t)rec[l->at_scale + run];
                low = l->has_min ? m * (float)rec[l->at_min + run] : 0;
            }
            dst[at + i] = scale * v - low;
        }
    }
}
