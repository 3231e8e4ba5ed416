/* SPDX-License-Identifier: MIT
 *
 * Rows of any weight type, made of random or extreme bits. */
#ifndef EW_TESTS_SUPPORT_WEIGHTS_H
#define EW_TESTS_SUPPORT_WEIGHTS_H

#include "tensor/type.h"
#include "tests/support/rng.h"

typedef enum {
    BITS_RANDOM,
    BITS_ONES, /* every quant and sub-scale at its largest bit pattern */
    BITS_ZERO,
    BITS_ALTERNATING, /* 0x0f, 0xf0, ... */
    BITS_TINY,        /* random, scales subnormal halves */
    BITS_COUNT
} bits_kind;

/* n_elem elements, a multiple of the type's block. The scales are finite, about 1/64 or so; both
 * signs occur. */
void make_weights(uint8_t *dst, elem_type t, size_t n_elem, bits_kind kind, rng *r);

/* mag[i]: scale times largest value, plus offset, of element i: what a product's rounding errors
 * are relative to, since the two may cancel in w. */
void weight_magnitudes(double *mag, elem_type t, const uint8_t *row, size_t n_elem);

/* Overwrites the scale of a block by a bad value: 0 NaN, 1 infinity. */
void spoil_scale(uint8_t *block, elem_type t, int how);

#endif
