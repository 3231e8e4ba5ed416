/* SPDX-License-Identifier: MIT */
#include "kernels/pack.h"

#include "kernels/generic/unpack.h"

size_t pack_bytes(elem_type t, size_t n_row, size_t n) {
    const pack_layout l = pack_of(t);

    if (!l.cols || n % l.cols || n_row % PACK_ROWS) return 0;
    return n_row / PACK_ROWS * (n / l.cols) * l.bytes;
}

/* Row `row` of n vectors from n words of four bytes. */
static inline void put_words(uint8_t *plane, size_t row, const uint8_t *src, size_t n) {
    for (size_t i = 0; i < n; i++) memcpy(plane + i * PACK_VECTOR + 4 * row, src + 4 * i, 4);
}

/* Halves of a block: the scale and, for types that have one, the minimum's. */
static inline void put_halves(uint8_t *rec, size_t row, const uint8_t *d, const uint8_t *m) {
    memcpy(rec + 2 * row, d, 2);
    if (m) memcpy(rec + 2 * (PACK_ROWS + row), m, 2);
}

/* The fifth bits of a small block: byte c of the word gets those of column c of each quad. */
static inline void put_fifths(uint8_t *plane, size_t row, const uint8_t *qh) {
    uint8_t word[4] = {0};

    for (unsigned e = 0; e < 32; e++)
        word[e % 4] = (uint8_t)(word[e % 4] | (qh[e / 8] >> e % 8 & 1) << e / 4);
    put_words(plane, row, word, 1);
}

static void put_small(elem_type t, const pack_layout *l, uint8_t *rec, size_t row,
                      const uint8_t *src) {
    uint8_t *low = rec + l->low.at, *high = rec + l->high.at;
    uint8_t bytes[32];

    if (t == TYPE_Q4_0) put_words(low, row, ((const block_q4_0 *)src)->qs, 4);
    if (t == TYPE_Q4_1) put_words(low, row, ((const block_q4_1 *)src)->qs, 4);
    if (t == TYPE_Q5_0) {
        put_words(low, row, ((const block_q5_0 *)src)->qs, 4);
        put_fifths(high, row, ((const block_q5_0 *)src)->qh);
    }
    if (t == TYPE_Q5_1) {
        put_words(low, row, ((const block_q5_1 *)src)->qs, 4);
        put_fifths(high, row, ((const block_q5_1 *)src)->qh);
    }
    if (t == TYPE_Q8_0) {
        for (int i = 0; i < 32; i++)
            bytes[i] = (uint8_t)(((const block_q8_0 *)src)->qs[i] + l->offset);
        put_words(low, row, bytes, 8);
    }
    put_halves(rec, row, src, l->has_min ? src + 2 : NULL); /* d, m come first in all of them */
}

static void put_scales(const pack_layout *l, uint8_t *rec, size_t row, const int8_t *sc,
                       const uint8_t *mn) {
    const size_t run = 16 / l->n_scale; /* taken apart, there is one for 16 columns */

    for (size_t j = 0; j < l->n_scale; j++) {
        rec[l->at_scale + j * PACK_ROWS + row] = (uint8_t)sc[run * j];
        if (l->has_min) rec[l->at_min + j * PACK_ROWS + row] = mn[run * j];
    }
}

static void put_super(elem_type t, const pack_layout *l, uint8_t *rec, size_t row,
                      const uint8_t *src) {
    const block_q2_k *q2 = (const void *)src;
    const block_q3_k *q3 = (const void *)src;
    const block_q4_k *q4 = (const void *)src;
    const block_q5_k *q5 = (const void *)src;
    const block_q6_k *q6 = (const void *)src;
    uint8_t *low = rec + l->low.at, *high = rec + l->high.at;
    int8_t sc[16];
    uint8_t mn[16];

    if (t == TYPE_Q2_K) {
        q2_scales(sc, mn, q2->sc);
        put_words(low, row, q2->qs, 16);
        put_halves(rec, row, q2->d, q2->dmin);
    }
    if (t == TYPE_Q3_K) {
        q3_scales(sc, q3->sc);
        put_words(low, row, q3->qs, 16);
        put_words(high, row, q3->hmask, 8);
        put_halves(rec, row, q3->d, NULL);
    }
    if (t == TYPE_Q4_K) {
        k_scales(sc, mn, q4->sc);
        put_words(low, row, q4->qs, 32);
        put_halves(rec, row, q4->d, q4->dmin);
    }
    if (t == TYPE_Q5_K) {
        k_scales(sc, mn, q5->sc);
        put_words(low, row, q5->qs, 32);
        put_words(high, row, q5->qh, 8);
        put_halves(rec, row, q5->d, q5->dmin);
    }
    if (t == TYPE_Q6_K) {
        memcpy(sc, q6->sc, sizeof sc);
        put_words(low, row, q6->ql, 32);
        put_words(high, row, q6->qh, 16);
        put_halves(rec, row, q6->d, NULL);
    }
    put_scales(l, rec, row, sc, mn);
}

void pack_group(elem_type t, uint8_t *dst, const uint8_t *src, size_t row_bytes, size_t n) {
    const pack_layout l = pack_of(t);
    const size_t n_rec = l.cols ? n / l.cols : 0, block = type_get((uint32_t)t)->block_bytes;

    for (size_t b = 0; b < n_rec; b++)
        for (size_t row = 0; row < PACK_ROWS; row++) {
            const uint8_t *from = src + row * row_bytes + b * block;

            if (l.n_scale)
                put_super(t, &l, dst + b * l.bytes, row, from);
            else
                put_small(t, &l, dst + b * l.bytes, row, from);
        }
}

/* The bits of (row, column) in a plane. */
static int get_bits(const uint8_t *rec, const pack_plane p, size_t col, size_t row) {
    if (!p.bits) return 0;
    return rec[pack_vector(p, col / 4) + 4 * row + col % 4] >> pack_bit(p, col / 4) &
           ((1 << p.bits) - 1);
}

void pack_row(elem_type t, float *dst, const uint8_t *packed, size_t row, size_t n) {
    const pack_layout l = pack_of(t);
    const size_t n_rec = l.cols ? n / l.cols : 0, r = row % PACK_ROWS;
    const uint8_t *rec = packed + row / PACK_ROWS * n_rec * l.bytes;

    for (size_t b = 0; b < n_rec; b++, dst += l.cols, rec += l.bytes) {
        const float d = f16_at(rec + 2 * r);
        const float m = l.has_min ? f16_at(rec + 2 * (PACK_ROWS + r)) : 0;

        for (size_t i = 0; i < l.cols; i++) {
            const int bits = get_bits(rec, l.low, i, r) | get_bits(rec, l.high, i, r) << l.low.bits;
            const float v = (float)(bits - l.offset);
            const size_t run = l.n_scale ? i * l.n_scale / l.cols * PACK_ROWS + r : 0;
            float scale = d, low = -m;

            if (l.n_scale) {
                scale = d * (float)(int8_t)rec[l.at_scale + run];
                low = l.has_min ? m * (float)rec[l.at_min + run] : 0;
            }
            dst[i] = scale * v - low;
        }
    }
}
