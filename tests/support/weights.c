/* SPDX-License-Identifier: MIT */
#include "tests/support/weights.h"

#include "kernels/generic/unpack.h"
#include "kernels/kern.h"

#include <math.h>

/* Where a block has its halves: -1 none. */
static void scale_places(elem_type t, int *d, int *m) {
    *d = *m = -1;
    switch ((int)t) {
    case TYPE_Q4_0:
    case TYPE_Q5_0:
    case TYPE_Q8_0:
    case TYPE_IQ4_NL:
    case TYPE_IQ4_XS:
        *d = 0;
        break;
    case TYPE_Q4_1:
    case TYPE_Q5_1:
    case TYPE_Q4_K:
    case TYPE_Q5_K:
        *d = 0, *m = 2;
        break;
    case TYPE_Q2_K:
        *d = 80, *m = 82;
        break;
    case TYPE_Q3_K:
        *d = 108;
        break;
    case TYPE_Q6_K:
        *d = 208;
        break;
    case TYPE_TQ1_0:
        *d = 52;
        break;
    case TYPE_TQ2_0:
        *d = 64;
        break;
    default:
        break;
    }
}

static void put_half(uint8_t *p, float f) {
    const uint16_t h = f32_to_f16(f);

    p[0] = (uint8_t)h;
    p[1] = (uint8_t)(h >> 8);
}

static void put_float(uint8_t *p, elem_type t, float f) {
    const uint32_t u = f32_bits(f);

    if (t == TYPE_F16) {
        put_half(p, f);
        return;
    }
    if (t == TYPE_F32) {
        memcpy(p, &u, 4);
        return;
    }
    p[0] = (uint8_t)(u >> 16); /* BF16, cut off */
    p[1] = (uint8_t)(u >> 24);
}

static uint8_t pattern(bits_kind kind, size_t i, rng *r) {
    switch (kind) {
    case BITS_ONES:
        return 0xff;
    case BITS_ZERO:
        return 0;
    case BITS_ALTERNATING:
        return i & 1 ? 0x0f : 0xf0;
    case BITS_RANDOM:
    case BITS_TINY:
    case BITS_COUNT:
        break;
    }
    return (uint8_t)rng_next(r);
}

static float scale_value(bits_kind kind, rng *r) {
    return rng_float(r) * (kind == BITS_TINY ? 0x1p-16f : 0x1p-6f);
}

static float float_value(bits_kind kind, size_t i, rng *r) {
    switch (kind) {
    case BITS_ONES:
        return 65504.0f;
    case BITS_ZERO:
        return 0;
    case BITS_ALTERNATING:
        return i & 1 ? -1000.0f : 1000.0f;
    case BITS_TINY:
        return rng_float(r) * 0x1p-16f;
    case BITS_RANDOM:
    case BITS_COUNT:
        break;
    }
    return rng_float(r);
}

void make_weights(uint8_t *dst, elem_type t, size_t n_elem, bits_kind kind, rng *r) {
    const type_info *info = type_get((uint32_t)t);
    int d, m;

    scale_places(t, &d, &m);
    for (size_t b = 0; b < n_elem / info->block_elems; b++, dst += info->block_bytes) {
        if (info->block_elems == 1) {
            put_float(dst, t, float_value(kind, b, r));
            continue;
        }
        for (size_t i = 0; i < info->block_bytes; i++) dst[i] = pattern(kind, i, r);
        if (d >= 0) put_half(dst + d, scale_value(kind, r));
        if (m >= 0) put_half(dst + m, scale_value(kind, r));
        if (t == TYPE_MXFP4) dst[0] = (uint8_t)(kind == BITS_TINY ? b % 3 : 118 + b % 8);
    }
}

void spoil_scale(uint8_t *block, elem_type t, int how) {
    int d, m;

    scale_places(t, &d, &m);
    if (d >= 0) put_half(block + d, how ? INFINITY : NAN);
    if (d < 0 && t == TYPE_MXFP4) block[0] = 255;
    if (d < 0 && t != TYPE_MXFP4) put_float(block, t, how ? INFINITY : NAN);
}

/* The largest value when the zero point is moved so that none is negative, else the largest. */
static double largest_value(elem_type t) {
    switch ((int)t) {
    case TYPE_Q2_K:
    case TYPE_TQ1_0:
    case TYPE_TQ2_0:
        return 3;
    case TYPE_Q3_K:
        return 7;
    case TYPE_Q4_0:
    case TYPE_Q4_1:
    case TYPE_Q4_K:
        return 15;
    case TYPE_MXFP4:
        return 24;
    case TYPE_Q5_0:
    case TYPE_Q5_1:
    case TYPE_Q5_K:
        return 31;
    case TYPE_Q6_K:
        return 63;
    default:
        return 128;
    }
}

static void small_scales(small_block *u, elem_type t, const uint8_t *b) {
    switch ((int)t) {
    case TYPE_Q4_0:
        unpack_q4_0(u, b);
        break;
    case TYPE_Q4_1:
        unpack_q4_1(u, b);
        break;
    case TYPE_Q5_0:
        unpack_q5_0(u, b);
        break;
    case TYPE_Q5_1:
        unpack_q5_1(u, b);
        break;
    case TYPE_Q8_0:
        unpack_q8_0(u, b);
        break;
    case TYPE_IQ4_NL:
        unpack_iq4_nl(u, b);
        break;
    default:
        unpack_mxfp4(u, b);
        break;
    }
}

static void super_scales(super_block *u, elem_type t, const uint8_t *b) {
    switch ((int)t) {
    case TYPE_Q2_K:
        unpack_q2_k(u, b);
        break;
    case TYPE_Q3_K:
        unpack_q3_k(u, b);
        break;
    case TYPE_Q4_K:
        unpack_q4_k(u, b);
        break;
    case TYPE_Q5_K:
        unpack_q5_k(u, b);
        break;
    case TYPE_Q6_K:
        unpack_q6_k(u, b);
        break;
    case TYPE_IQ4_XS:
        unpack_iq4_xs(u, b);
        break;
    case TYPE_TQ1_0:
        unpack_tq1_0(u, b);
        break;
    default:
        unpack_tq2_0(u, b);
        break;
    }
}

static double float_at(elem_type t, const uint8_t *p) {
    if (t == TYPE_F32) return (double)f32_at(p);
    return (double)(t == TYPE_F16 ? f16_at(p) : bf16_f32(u16_at(p)));
}

void weight_magnitudes(double *mag, elem_type t, const uint8_t *row, size_t n_elem) {
    const type_info *info = type_get((uint32_t)t);
    const double top = largest_value(t);

    for (size_t i = 0; i < n_elem; i++) {
        const uint8_t *b = row + i / info->block_elems * info->block_bytes;
        const size_t run = i % info->block_elems / 16;
        small_block s;
        super_block u;

        if (info->block_elems == 1) {
            mag[i] = fabs(float_at(t, b));
        } else if (info->block_elems == 32) {
            small_scales(&s, t, b);
            mag[i] = fabs((double)s.d) * top + fabs((double)s.off);
        } else {
            super_scales(&u, t, b);
            mag[i] = fabs((double)u.d * u.sc[run]) * top + fabs((double)u.dmin * u.mn[run]);
        }
    }
}
