/* SPDX-License-Identifier: MIT
 *
 * Random blocks. All bytes of a block are random, except that its scales are set so that the
 * weights have the wanted spread, and that bytes which no quantizer would produce are replaced.
 * Only integers and exactly rounded operations are used: the result is the same everywhere. */
#include "bench/mkmodel/mkmodel.h"

#include "kernels/half.h"
#include "kernels/kern.h"
#include "tensor/block.h"

uint64_t mk_mix(uint64_t x) { /* splitmix64's finaliser */
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

double mk_sqrt(double x) {
    double y = x > 1 ? x : 1;

    /* Newton from above; the relative error is squared each time once it is under 1. */
    for (int i = 0; i < 100; i++) y = 0.5 * (y + x / y);
    return y;
}

static void random_bytes(uint8_t *out, size_t n, uint64_t seed) {
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const uint64_t r = mk_mix(seed + i);

        for (int k = 0; k < 8; k++) out[i + (size_t)k] = (uint8_t)(r >> 8 * k);
    }
    for (uint64_t r = mk_mix(seed + i); i < n; i++, r >>= 8) out[i] = (uint8_t)r;
}

/* Scales that are the same for all blocks of a tensor, before they are varied. */
typedef struct {
    uint16_t d, m; /* halves */
    uint32_t e;    /* exponent: MXFP4's, or that of a float type */
} scales;

/* Replaces the random half at p by one near `h`: within an eighth, so that scales differ. */
static void vary(uint8_t *p, uint16_t h, bool is_signed) {
    const uint32_t r = u16_at(p);
    const int32_t by = (int32_t)(r & 255) - 128, mag = h & 0x7FFF;
    const int32_t v = mag + (mag < 0x400 ? mag * by / 1024 : by); /* subnormal: its own steps */
    const uint32_t bits = (uint32_t)v | (h & 0x8000u) | (is_signed ? r & 0x8000u : 0);

    p[0] = (uint8_t)bits;
    p[1] = (uint8_t)(bits >> 8);
}

static void fix_q8_0(uint8_t *p) {
    block_q8_0 *b = (block_q8_0 *)p;

    for (int i = 0; i < 32; i++)
        if (b->qs[i] == -128) b->qs[i] = -127; /* quantizers round to -127..127 */
}

/* Five (or four and a zero) base-3 digits to a byte, as the layout defines it. */
static void fix_tq1_0(uint8_t *p) {
    block_tq1_0 *b = (block_tq1_0 *)p;

    for (int i = 0; i < 48; i++) b->qs[i] = (uint8_t)(((b->qs[i] * 243u >> 8) * 256 + 242) / 243);
    for (int i = 0; i < 4; i++) b->qh[i] = (uint8_t)(((b->qh[i] * 81u >> 8) * 3 * 256 + 242) / 243);
}

static void fix_tq2_0(uint8_t *p) {
    block_tq2_0 *b = (block_tq2_0 *)p;

    for (int i = 0; i < 64; i++) /* 3 is no digit: 2 */
        b->qs[i] = (uint8_t)(b->qs[i] & ~(b->qs[i] >> 1 & b->qs[i] & 0x55));
}

static void fix_mxfp4(uint8_t *p, const scales *s) {
    const int by = p[0] & 3; /* one power of two less or more for half of the blocks */

    p[0] = (uint8_t)(s->e + (by == 3) - (by == 0));
}

/* Float types: random sign and fraction, the exponent s->e or 1 or 2 less. */
static void fix_float(uint8_t *out, elem_type t, size_t n, uint32_t e) {
    for (size_t i = 0; i < n; i++) {
        if (t == TYPE_F32) {
            uint8_t *p = out + 4 * i;
            const uint32_t r = u32_at(p), x = (r & 0x807FFFFFu) |
                                              (e - (r >> 23 & 3) / 2 - (r >> 23 & 3) / 3) << 23;

            for (int k = 0; k < 4; k++) p[k] = (uint8_t)(x >> 8 * k);
        } else {
            const int bits = t == TYPE_F16 ? 10 : 7;
            uint8_t *p = out + 2 * i;
            const uint32_t r = u16_at(p), two = r >> bits & 3, low = (1u << bits) - 1;
            const uint32_t x = (r & (0x8000u | low)) | (e - two / 2 - two / 3) << bits;

            p[0] = (uint8_t)x;
            p[1] = (uint8_t)(x >> 8);
        }
    }
}

/* One row a type: where its halves stand in the block, and the root mean square of its weights
 * when d is 1 and all other bytes are random. */
typedef struct {
    double rms;
    double m_over_d; /* the offset's half, in d: cancels the mean; 0: none */
    uint16_t d_at, m_at;
    bool is_signed; /* d has any sign */
    bool can;
} layout;

static const layout layouts[TYPE_COUNT] = {
    [TYPE_F32] = {.can = true, .rms = 1.161},
    [TYPE_F16] = {.can = true, .rms = 1.161},
    [TYPE_BF16] = {.can = true, .rms = 1.161},
    [TYPE_Q4_0] = {.can = true, .rms = 4.637, .is_signed = true},
    [TYPE_Q4_1] = {.can = true, .rms = 4.610, .m_over_d = -7.5, .m_at = 2},
    [TYPE_Q5_0] = {.can = true, .rms = 9.247, .is_signed = true},
    [TYPE_Q5_1] = {.can = true, .rms = 9.233, .m_over_d = -15.5, .m_at = 2},
    [TYPE_Q8_0] = {.can = true, .rms = 73.6},
    [TYPE_Q2_K] = {.can = true, .rms = 13.87, .m_over_d = 1.5, .d_at = 80, .m_at = 82},
    [TYPE_Q3_K] = {.can = true, .rms = 43.3, .d_at = 108, .is_signed = true},
    [TYPE_Q4_K] = {.can = true, .rms = 258.3, .m_over_d = 7.5, .m_at = 2},
    [TYPE_Q5_K] = {.can = true, .rms = 526.9, .m_over_d = 15.5, .m_at = 2},
    [TYPE_Q6_K] = {.can = true, .rms = 1366, .d_at = 208, .is_signed = true},
    [TYPE_IQ4_NL] = {.can = true, .rms = 67.4, .is_signed = true},
    [TYPE_IQ4_XS] = {.can = true, .rms = 1246, .is_signed = true},
    [TYPE_TQ1_0] = {.can = true, .rms = 0.816, .d_at = 52, .is_signed = true},
    [TYPE_TQ2_0] = {.can = true, .rms = 0.866, .d_at = 64, .is_signed = true},
    [TYPE_MXFP4] = {.can = true, .rms = 7.315},
};

bool mk_can_fill(elem_type t) {
    return (size_t)t < TYPE_COUNT && layouts[t].can;
}

/* The power of two nearest to x, as a float's biased exponent. */
static uint32_t nearest_exponent(double x) {
    return f32_bits((float)(x * 1.41421356)) >> 23;
}

static scales scales_of(elem_type t, double std) {
    const layout *l = &layouts[t];
    const double d = std / l->rms;
    scales s = {.d = f32_to_f16((float)d), .m = f32_to_f16((float)(d * l->m_over_d))};

    s.e = nearest_exponent(d);     /* of 2^(e - 127) */
    if (t == TYPE_MXFP4) s.e += 1; /* its scale is 2^(e - 128) */
    if (t == TYPE_F16) s.e -= 127 - 15;
    return s;
}

void mk_fill(uint8_t *out, elem_type t, size_t n_block, double std, uint64_t seed) {
    const layout *l = &layouts[t];
    const size_t bytes = type_get((uint32_t)t)->block_bytes;
    const scales s = scales_of(t, std);

    random_bytes(out, n_block * bytes, mk_mix(seed));
    if (type_get((uint32_t)t)->block_elems == 1) {
        fix_float(out, t, n_block, s.e);
        return;
    }
    for (size_t i = 0; i < n_block; i++) {
        uint8_t *p = out + i * bytes;

        if (t == TYPE_MXFP4) {
            fix_mxfp4(p, &s);
            continue;
        }
        vary(p + l->d_at, s.d, l->is_signed);
        if (l->m_over_d != 0) vary(p + l->m_at, s.m, false);
        if (t == TYPE_Q8_0)
            fix_q8_0(p);
        else if (t == TYPE_TQ1_0)
            fix_tq1_0(p);
        else if (t == TYPE_TQ2_0)
            fix_tq2_0(p);
    }
}

/* x with x^n = a, by halving intervals: only products, so the same bits everywhere. */
static double root(double a, uint32_t n) {
    double lo = 1, hi = a;

    for (int i = 0; i < 200; i++) {
        const double mid = 0.5 * (lo + hi);
        double p = 1;

        for (uint32_t k = 0; k < n && p <= a; k++) p *= mid;
        if (p > a)
            hi = mid;
        else
            lo = mid;
    }
    return lo;
}

void mk_rope_factors(float *out, uint32_t n_rot, uint32_t theta, uint32_t factor) {
    const double pi = 3.14159265358979323846, low = 1, high = 4, original = 8192;
    const double step = root((double)theta, n_rot / 2); /* theta^(2 / n_rot) */
    double inverse = 1;                                 /* of the frequency: theta^(2p / n_rot) */

    for (uint32_t p = 0; p < n_rot / 2; p++, inverse *= step) {
        const double wave = 2 * pi * inverse, t = (original / wave - low) / (high - low);

        if (wave < original / high)
            out[p] = 1;
        else if (wave > original / low)
            out[p] = (float)factor;
        else
            out[p] = (float)(1 / ((1 - t) / factor + t));
    }
}
