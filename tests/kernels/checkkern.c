/* SPDX-License-Identifier: MIT
 *
 * Every kernel at every instruction set that this machine has, against the plain C: whole numbers
 * bit for bit, floats within a bound made of the data. Inputs and outputs end at a guard page.
 *
 * usage: checkkern [--seed N] [--filter TEXT] [--bench] [--no-avx512]
 * The seed of a run is printed; --bench measures instead of checking. */
#include "base/error.h"
#include "kernels/half.h"
#include "kernels/kern.h"
#include "kernels/pack.h"
#include "tests/support/guarded.h"
#include "tests/support/kernbench.h"
#include "tests/support/weights.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EPS      ((double)FLT_EPSILON)
#define COUNT(a) (sizeof(a) / sizeof *(a))

static kern_table ref, k; /* plain C, and the set under test */
static rng rnd;
static int n_bad; /* of the check that runs */

static void PRINTF_LIKE(1, 2) bad(const char *fmt, ...) {
    va_list ap;

    if (n_bad++ >= 5) return; /* the first few say enough */
    va_start(ap, fmt);
    printf("    ");
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
}

/* Activations and other floats. */
typedef enum {
    FLOATS_RANDOM,
    FLOATS_ALTERNATING, /* +big, -big, ... */
    FLOATS_SPIKY,       /* one in 50 is a thousand times the others */
    FLOATS_TINY,        /* subnormal numbers among small ones */
    FLOATS_ZERO,
    FLOATS_COUNT
} floats_kind;

static void make_floats(float *x, size_t n, floats_kind kind) {
    for (size_t i = 0; i < n; i++) {
        switch (kind) {
        case FLOATS_RANDOM:
            x[i] = rng_float(&rnd) * 4;
            break;
        case FLOATS_ALTERNATING:
            x[i] = i & 1 ? -3000.0f : 3000.0f;
            break;
        case FLOATS_SPIKY:
            x[i] = rng_float(&rnd) * (rng_below(&rnd, 50) ? 1.0f : 1000.0f);
            break;
        case FLOATS_TINY:
            x[i] = rng_float(&rnd) * (i % 64 < 32 ? 0x1p-126f : 0x1p-90f);
            break;
        case FLOATS_ZERO:
        case FLOATS_COUNT:
            x[i] = 0;
            break;
        }
    }
}

static guarded new_floats(size_t n, floats_kind kind) {
    guarded g = guarded_new(n * sizeof(float));

    make_floats(g.data, n, kind);
    return g;
}

static bool same_float(float a, float b) {
    return f32_bits(a) == f32_bits(b) || (isnan(a) && isnan(b));
}

/* ---- products ---- */

typedef struct {
    elem_type type;
    size_t n, n_row, n_tok, row_bytes, x_bytes;
    guarded w, x, src;
} product;

static product new_product(elem_type t, size_t n, size_t n_row, size_t n_tok, bits_kind bits,
                           floats_kind floats) {
    product p = {.type = t, .n = n, .n_row = n_row, .n_tok = n_tok};

    p.row_bytes = type_row_bytes(t, n);
    p.x_bytes = act_bytes(act_of(t), n);
    p.w = guarded_new(n_row * p.row_bytes);
    p.x = guarded_new(n_tok * p.x_bytes);
    p.src = new_floats(n_tok * n, floats);
    make_weights(p.w.data, t, n_row * n, bits, &rnd);
    for (size_t i = 0; i < n_tok; i++) {
        ref.quant_act[act_of(t)]((uint8_t *)p.x.data + i * p.x_bytes, (float *)p.src.data + i * n,
                                 n);
    }
    return p;
}

static void free_product(product *p) {
    guarded_free(&p->w);
    guarded_free(&p->x);
    guarded_free(&p->src);
}

static const uint8_t *row_of(const product *p, size_t r) {
    return (const uint8_t *)p->w.data + r * p->row_bytes;
}

static const uint8_t *tok_of(const product *p, size_t t) {
    return (const uint8_t *)p->x.data + t * p->x_bytes;
}

/* |x| as the product sees it. */
static double act_magnitude(const product *p, size_t t, size_t i) {
    const void *x = tok_of(p, t);
    const act_q8_32 *a32 = x;
    const act_q8_k *ak = x;

    switch (act_of(p->type)) {
    case ACT_Q8_32:
        return fabs((double)a32[i / 128].d[i / 32 % 4] * a32[i / 128].q[i / 32 % 4][i % 32]);
    case ACT_Q8_K:
        return fabs((double)ak[i / 256].d * ak[i / 256].q[i % 256]);
    case ACT_F32:
    case ACT_COUNT:
        break;
    }
    return fabs((double)((const float *)x)[i]);
}

/* Roundings relative to the sum of magnitudes, in a row of n: one a block (an eighth of the
 * elements for floats) and a few for scales. Where scale times scale is subnormal, its own error
 * of 2^-150 is multiplied by the block's whole number, at most 2^20 an element. */
static double bound_of(const product *p, double magnitude) {
    const size_t block = type_get(p->type)->block_elems;
    const double steps = (double)(p->n / (block > 1 ? block : 8)) + 16;

    return steps * EPS * magnitude + (double)p->n * 0x1p20 * (double)FLT_TRUE_MIN;
}

static void compare_product(const product *p, const float *want, const float *got, size_t stride) {
    double mag[2048];

    for (size_t r = 0; r < p->n_row; r++) {
        weight_magnitudes(mag, p->type, row_of(p, r), p->n);
        for (size_t t = 0; t < p->n_tok; t++) {
            const double a = (double)want[t * stride + r], b = (double)got[t * stride + r];
            double sum = 0;

            for (size_t i = 0; i < p->n; i++) sum += mag[i] * act_magnitude(p, t, i);
            if (!(fabs(a - b) <= bound_of(p, sum))) {
                bad("n %zu row %zu token %zu: %g, plain C %g, bound %g", p->n, r, t, b, a,
                    bound_of(p, sum));
            }
        }
    }
}

/* Every (row, token) alone must give the same bits. */
static void compare_alone(const product *p, const float *got, size_t stride) {
    for (size_t r = 0; r < p->n_row; r++) {
        for (size_t t = 0; t < p->n_tok; t++) {
            float one = NAN;

            k.matmul[p->type](&one, 1, row_of(p, r), p->row_bytes, tok_of(p, t), p->x_bytes, 1, 1,
                              p->n);
            if (!same_float(one, got[t * stride + r])) {
                bad("n %zu row %zu of %zu token %zu of %zu: %g, alone %g", p->n, r, p->n_row, t,
                    p->n_tok, (double)got[t * stride + r], (double)one);
            }
        }
    }
}

static void check_shape(elem_type t, size_t n, size_t n_row, size_t n_tok, bits_kind bits,
                        floats_kind floats) {
    const size_t stride = n_row + 3;
    product p = new_product(t, n, n_row, n_tok, bits, floats);
    const size_t y_size = n_tok ? ((n_tok - 1) * stride + n_row) * sizeof(float) : 0;
    guarded want = guarded_new(y_size), got = guarded_new(y_size);

    ref.matmul[t](want.data, stride, p.w.data, p.row_bytes, p.x.data, p.x_bytes, n_row, n_tok, n);
    k.matmul[t](got.data, stride, p.w.data, p.row_bytes, p.x.data, p.x_bytes, n_row, n_tok, n);
    compare_product(&p, want.data, got.data, stride);
    compare_alone(&p, got.data, stride);
    for (size_t i = 0; i < y_size / sizeof(float); i++) {
        const uint32_t bits_at = f32_bits(((float *)got.data)[i]);

        if (i % stride >= n_row && bits_at != 0xa5a5a5a5u) bad("wrote between tokens at %zu", i);
    }
    if (!guarded_intact(&got)) bad("wrote before the output");
    guarded_free(&want);
    guarded_free(&got);
    free_product(&p);
}

/* A bad scale in row 0 must show there, and nowhere else. */
static void check_bad_scale(elem_type t, int how) {
    const size_t n = 512, stride = 4;
    product p = new_product(t, n, 4, 5, BITS_RANDOM, FLOATS_RANDOM);
    float before[5 * 4], after[5 * 4];

    k.matmul[t](before, stride, p.w.data, p.row_bytes, p.x.data, p.x_bytes, 4, 5, n);
    spoil_scale(p.w.data, t, how);
    k.matmul[t](after, stride, p.w.data, p.row_bytes, p.x.data, p.x_bytes, 4, 5, n);
    for (size_t i = 0; i < COUNT(after); i++) {
        const bool is_row_0 = i % stride == 0;

        if (is_row_0 && t != TYPE_MXFP4 && isfinite(after[i]))
            bad("%g in spite of it", (double)after[i]);
        if (!is_row_0 && !same_float(before[i], after[i])) bad("output %zu changed", i);
    }
    free_product(&p);
}

static void check_matmul(int type) {
    static const size_t n_small[] = {0, 32, 64, 96, 128, 160, 224, 896};
    static const size_t n_super[] = {0, 256, 512, 1280};
    static const size_t n_float[] = {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 80, 1000};
    static const size_t rows[] = {0, 1, 2, 3, 4, 5, 9, 17},
                        toks[] = {0, 1, 2, 3, 4, 5, 7, 9, 33, 70};
    const elem_type t = (elem_type)type;
    const uint32_t block = type_get(t)->block_elems;
    const size_t *sizes = block == 256 ? n_super : block == 32 ? n_small : n_float;
    const size_t n_sizes = block == 256  ? COUNT(n_super)
                           : block == 32 ? COUNT(n_small)
                                         : COUNT(n_float);

    for (size_t i = 0; i < n_sizes; i++) {
        for (int bits = 0; bits < BITS_COUNT; bits++) {
            for (int floats = 0; floats < FLOATS_COUNT; floats++) {
                check_shape(t, sizes[i], 3, 2, (bits_kind)bits, (floats_kind)floats);
            }
        }
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t j = 0; j < COUNT(toks); j++) {
            check_shape(t, sizes[1 + (i + j) % (n_sizes - 1)], rows[i], toks[j], BITS_RANDOM,
                        FLOATS_RANDOM);
        }
    }
    check_bad_scale(t, 0);
    check_bad_scale(t, 1);
}

/* Packed weights against the plain product of the same rows, and each token alone: the same bits.
 */
static void check_packed_shape(elem_type t, size_t n, size_t n_group, size_t n_tok, bits_kind bits,
                               floats_kind floats) {
    const size_t n_row = n_group * PACK_ROWS, stride = n_row + 3,
                 group = pack_bytes(t, PACK_ROWS, n);
    product p = new_product(t, n, n_row, n_tok, bits, floats);
    const size_t y_size = ((n_tok - 1) * stride + n_row) * sizeof(float);
    guarded want = guarded_new(y_size), got = guarded_new(y_size);
    guarded packed = guarded_new(n_group * group), same = guarded_new(group);

    for (size_t g = 0; g < n_group; g++) {
        uint8_t *to = (uint8_t *)packed.data + g * group;

        pack_group(t, to, row_of(&p, g * PACK_ROWS), p.row_bytes, n);
        k.pack_group[t](same.data, row_of(&p, g * PACK_ROWS), p.row_bytes, n);
        if (memcmp(same.data, to, group) != 0) bad("n %zu group %zu: packed otherwise", n, g);
    }
    ref.matmul[t](want.data, stride, p.w.data, p.row_bytes, p.x.data, p.x_bytes, n_row, n_tok, n);
    k.matmul_groups[t](got.data, stride, packed.data, 0, p.x.data, p.x_bytes, n_group, n_tok, n,
                       false);
    compare_product(&p, want.data, got.data, stride);
    for (size_t i = 0; i < n_tok; i++) {
        float one[3 * PACK_ROWS];

        k.matmul_groups[t](one, n_row, p.w.data, p.row_bytes, tok_of(&p, i), p.x_bytes, n_group, 1,
                           n, i % 2 == 0);
        if (memcmp(one, (float *)got.data + i * stride, n_row * sizeof(float)) != 0)
            bad("n %zu token %zu of %zu: other bits than alone", n, i, n_tok);
    }
    for (size_t i = 0; i < y_size / sizeof(float); i++)
        if (i % stride >= n_row && f32_bits(((float *)got.data)[i]) != 0xa5a5a5a5u)
            bad("wrote between tokens at %zu", i);
    if (!guarded_intact(&got)) bad("wrote before the output");
    if (!guarded_intact(&same)) bad("wrote before the packed rows");
    guarded_free(&same);
    guarded_free(&packed);
    guarded_free(&want);
    guarded_free(&got);
    free_product(&p);
}

static void check_packed(int type) {
    static const size_t toks[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 33};
    const elem_type t = (elem_type)type;
    const size_t unit = type_get(t)->block_elems, few = unit == 256 ? 2 : 7;

    for (size_t blocks = 1; blocks <= few + 4; blocks += 1 + blocks / 4)
        for (int bits = 0; bits < BITS_COUNT; bits++)
            for (int floats = 0; floats < FLOATS_COUNT; floats++)
                check_packed_shape(t, blocks * unit, 1, 2, (bits_kind)bits, (floats_kind)floats);
    for (size_t i = 0; i < COUNT(toks); i++)
        check_packed_shape(t, (1 + i % few) * unit, 1 + i % 3, toks[i], BITS_RANDOM, FLOATS_RANDOM);
}

/* An embedding row taken back out of packed weights. */
static void check_pack_row(int type) {
    const elem_type t = (elem_type)type;
    const size_t n = 512, row_bytes = type_row_bytes(t, n);
    guarded w = guarded_new(PACK_ROWS * row_bytes),
            packed = guarded_new(pack_bytes(t, PACK_ROWS, n));
    double mag[512];
    float want[512], got[512];

    make_weights(w.data, t, PACK_ROWS * n, BITS_RANDOM, &rnd);
    pack_group(t, packed.data, w.data, row_bytes, n);
    for (size_t r = 0; r < PACK_ROWS; r++) {
        const uint8_t *row = (const uint8_t *)w.data + r * row_bytes;

        ref.dequant[t](want, row, n);
        weight_magnitudes(mag, t, row, n);
        pack_row(t, got, packed.data, r, n);
        for (size_t i = 0; i < n; i++)
            if (!(fabs((double)want[i] - (double)got[i]) <= 4 * EPS * mag[i]))
                bad("row %zu [%zu]: %g, dequantised %g", r, i, (double)got[i], (double)want[i]);
    }
    guarded_free(&w);
    guarded_free(&packed);
}

/* ---- conversions ---- */

static void compare_bytes(const guarded *want, const guarded *got, const char *what, size_t n) {
    const uint8_t *a = want->data, *b = got->data;

    for (size_t i = 0; i < want->size; i++) {
        if (a[i] != b[i]) bad("%s, n %zu: byte %zu is %d, plain C %d", what, n, i, b[i], a[i]);
    }
    if (!guarded_intact(got)) bad("wrote before the output");
}

/* Ordinary floats, values that lie halfway between two quants, and unusual ones. */
static guarded act_source(size_t n, int kind) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, FLT_TRUE_MIN, -0.0f};
    guarded g = new_floats(n, kind < FLOATS_COUNT ? (floats_kind)kind : FLOATS_RANDOM);
    float *x = g.data;

    if (kind == FLOATS_COUNT) {
        for (size_t i = 0; i < n; i++)
            x[i] = i % 32 ? ((float)rng_below(&rnd, 254) - 127) / 2 : 127;
    }
    if (kind > FLOATS_COUNT && n) x[rng_below(&rnd, (uint32_t)n)] = odd[kind - FLOATS_COUNT - 1];
    return g;
}

enum {
    SOURCES = FLOATS_COUNT + 1 + 7
};

static void check_quant_act(int form) {
    static const size_t sizes[] = {0, 32, 64, 96, 128, 160, 256, 512, 768};

    for (size_t i = 0; i < COUNT(sizes) * SOURCES; i++) {
        const size_t n = sizes[i / SOURCES], unit = form == ACT_Q8_K ? 256 : 32;
        guarded x, want, got;

        if (n % unit) continue;
        x = act_source(n, (int)(i % SOURCES));
        want = guarded_new(act_bytes((act_form)form, n));
        got = guarded_new(want.size);
        ref.quant_act[form](want.data, x.data, n);
        k.quant_act[form](got.data, x.data, n);
        compare_bytes(&want, &got, "quant_act", n);
        guarded_free(&x);
        guarded_free(&want);
        guarded_free(&got);
    }
}

static const size_t odd_sizes[] = {0,  1,  7,  8,  9,  15, 16,  17,  31,
                                   32, 33, 63, 64, 65, 80, 128, 1000};

static void check_kv_store(int form) {
    for (size_t i = 0; i < COUNT(odd_sizes) * SOURCES; i++) {
        const size_t n = odd_sizes[i / SOURCES];
        guarded x = act_source(n, (int)(i % SOURCES));
        guarded want = guarded_new(kv_row_bytes((kv_form)form, n)), got = guarded_new(want.size);
        guarded back = guarded_new(n * sizeof(float)), back_ref = guarded_new(n * sizeof(float));

        ref.kv_store[form](want.data, x.data, n);
        k.kv_store[form](got.data, x.data, n);
        compare_bytes(&want, &got, "kv_store", n);
        ref.kv_load[form](back_ref.data, want.data, n);
        k.kv_load[form](back.data, want.data, n);
        compare_bytes(&back_ref, &back, "kv_load", n);
        guarded_free(&x);
        guarded_free(&want);
        guarded_free(&got);
        guarded_free(&back);
        guarded_free(&back_ref);
    }
}

static void check_dequant(int type) {
    const elem_type t = (elem_type)type;
    const size_t block = type_get(t)->block_elems;

    for (size_t n = 0; n <= 9 * block; n += block) {
        for (int bits = 0; bits < BITS_COUNT; bits++) {
            guarded w = guarded_new(type_row_bytes(t, n));
            guarded want = guarded_new(n * sizeof(float)), got = guarded_new(n * sizeof(float));

            make_weights(w.data, t, n, (bits_kind)bits, &rnd);
            ref.dequant[t](want.data, w.data, n);
            k.dequant[t](got.data, w.data, n);
            compare_bytes(&want, &got, "dequant", n);
            guarded_free(&w);
            guarded_free(&want);
            guarded_free(&got);
        }
    }
}

/* ---- vectors ---- */

/* Two copies of one input, for kernels that work in place. */
typedef struct {
    size_t n;
    guarded a, b, x, w;
} vectors;

static vectors new_vectors(size_t n, floats_kind kind) {
    vectors v = {.n = n};

    v.a = new_floats(n, kind);
    v.b = guarded_new(n * sizeof(float));
    memcpy(v.b.data, v.a.data, n * sizeof(float));
    v.x = new_floats(n, kind);
    v.w = new_floats(n, FLOATS_RANDOM);
    return v;
}

static void free_vectors(vectors *v) {
    if (!guarded_intact(&v->b)) bad("wrote before the output");
    guarded_free(&v->a);
    guarded_free(&v->b);
    guarded_free(&v->x);
    guarded_free(&v->w);
}

typedef void vector_check(vectors *v);

static void each_vector(vector_check *check) {
    for (size_t i = 0; i < COUNT(odd_sizes); i++) {
        for (int kind = 0; kind < FLOATS_COUNT; kind++) {
            vectors v = new_vectors(odd_sizes[i], (floats_kind)kind);

            check(&v);
            free_vectors(&v);
        }
    }
}

static void compare_floats(const vectors *v, const char *what) {
    const float *a = v->a.data, *b = v->b.data;

    for (size_t i = 0; i < v->n; i++) {
        if (!same_float(a[i], b[i])) {
            bad("%s, n %zu: [%zu] is %.9g, plain C %.9g", what, v->n, i, (double)b[i],
                (double)a[i]);
        }
    }
}

static void dot_vector(vectors *v) {
    const float *x = v->a.data, *y = v->x.data;
    const double a = (double)ref.dot_f32(x, y, v->n), b = (double)k.dot_f32(x, y, v->n);
    double mag = 0;

    for (size_t i = 0; i < v->n; i++) mag += fabs((double)x[i] * (double)y[i]);
    if (!(fabs(a - b) <= (double)(v->n / 8 + 8) * EPS * mag + (double)FLT_MIN)) {
        bad("n %zu: %g, plain C %g", v->n, b, a);
    }
}

static void check_dot_f32(int unused) {
    (void)unused;
    each_vector(dot_vector);
}

static void axpy_vector(vectors *v) {
    const float *a = v->a.data, *b = v->b.data, *x = v->x.data;
    const float f = rng_float(&rnd);
    guarded y = guarded_new(v->n * sizeof(float));

    memcpy(y.data, v->a.data, v->n * sizeof(float));
    ref.axpy_f32(v->a.data, f, x, v->n);
    k.axpy_f32(v->b.data, f, x, v->n);
    for (size_t i = 0; i < v->n; i++) {
        const double mag = fabs((double)((float *)y.data)[i]) + fabs((double)f * (double)x[i]);

        if (!(fabs((double)a[i] - (double)b[i]) <= EPS * mag + (double)FLT_TRUE_MIN)) {
            bad("n %zu: [%zu] is %g, plain C %g", v->n, i, (double)b[i], (double)a[i]);
        }
    }
    guarded_free(&y);
}

static void check_axpy_f32(int unused) {
    (void)unused;
    each_vector(axpy_vector);
}

static void add_vector(vectors *v) {
    ref.add_f32(v->a.data, v->x.data, v->n);
    k.add_f32(v->b.data, v->x.data, v->n);
    compare_floats(v, "add");
}

static void check_add_f32(int unused) {
    (void)unused;
    each_vector(add_vector);
}

static void rms_vector(vectors *v) {
    const float *a = v->a.data, *b = v->b.data;

    if (v->n == 0) return;
    ref.rms_norm(v->a.data, v->a.data, v->w.data, v->n, 1e-6f);
    k.rms_norm(v->b.data, v->b.data, v->w.data, v->n, 1e-6f);
    for (size_t i = 0; i < v->n; i++) {
        if (!(fabsf(a[i] - b[i]) <= 4 * FLT_EPSILON * fabsf(a[i]))) {
            bad("n %zu: [%zu] is %g, plain C %g", v->n, i, (double)b[i], (double)a[i]);
        }
    }
}

static void check_rms_norm(int unused) {
    (void)unused;
    each_vector(rms_vector);
}

static void silu_vector(vectors *v) {
    ref.silu_mul(v->a.data, v->x.data, v->n);
    k.silu_mul(v->b.data, v->x.data, v->n);
    compare_floats(v, "silu");
}

static void check_silu_mul(int unused) {
    (void)unused;
    each_vector(silu_vector);
}

static void gelu_vector(vectors *v) {
    ref.gelu_mul(v->a.data, v->x.data, v->n);
    k.gelu_mul(v->b.data, v->x.data, v->n);
    compare_floats(v, "gelu, gated");
    ref.gelu_mul(v->a.data, NULL, v->n);
    k.gelu_mul(v->b.data, NULL, v->n);
    compare_floats(v, "gelu");
}

static void check_gelu_mul(int unused) {
    (void)unused;
    each_vector(gelu_vector);
}

static void swiglu_vector(vectors *v) {
    ref.swiglu_clamped(v->a.data, v->x.data, v->n);
    k.swiglu_clamped(v->b.data, v->x.data, v->n);
    compare_floats(v, "clamped swiglu");
}

static void check_swiglu_clamped(int unused) {
    (void)unused;
    each_vector(swiglu_vector);
}

static void softcap_vector(vectors *v) {
    static const float caps[] = {50, 30, 1, 0.01f};

    for (size_t i = 0; i < COUNT(caps); i++) {
        ref.softcap(v->a.data, caps[i], v->n);
        k.softcap(v->b.data, caps[i], v->n);
        compare_floats(v, "softcap");
    }
}

static void check_softcap(int unused) {
    (void)unused;
    each_vector(softcap_vector);
}

static void layer_norm_vector(vectors *v) {
    if (v->n == 0) return;
    ref.layer_norm(v->a.data, v->a.data, v->w.data, v->x.data, v->n, 1e-6f);
    k.layer_norm(v->b.data, v->b.data, v->w.data, v->x.data, v->n, 1e-6f);
    compare_floats(v, "layer norm");
}

static void check_layer_norm(int unused) {
    (void)unused;
    each_vector(layer_norm_vector);
}

/* Values around the ends of exp's range, and unusual ones. */
static void exp_vector(vectors *v) {
    static const float odd[] = {-103.9f, -104.1f, -87.4f, 88.7f, 88.8f, 1e30f, -INFINITY, NAN};
    float *a = v->a.data, *b = v->b.data;
    float sum, want;

    for (size_t i = 0; i < v->n; i++) {
        if (rng_below(&rnd, 4) == 0) a[i] = b[i] = rng_float(&rnd) * 110;
        if (v->n % 2 && rng_below(&rnd, 8) == 0) a[i] = b[i] = odd[rng_below(&rnd, COUNT(odd))];
    }
    want = ref.exp_sum(a, 0.5f, v->n);
    sum = k.exp_sum(b, 0.5f, v->n);
    compare_floats(v, "exp");
    if (!same_float(sum, want)) bad("n %zu: sum %g, plain C %g", v->n, (double)sum, (double)want);
}

static void check_exp_sum(int unused) {
    (void)unused;
    each_vector(exp_vector);
}

static void max_vector(vectors *v) {
    float *x = v->a.data;

    if (v->n == 0) return;
    if (k.max_f32(x, v->n) != ref.max_f32(x, v->n)) bad("n %zu: another maximum", v->n);
    x[rng_below(&rnd, (uint32_t)v->n)] = -INFINITY;
    if (k.max_f32(x, v->n) != ref.max_f32(x, v->n)) bad("n %zu: another with -inf", v->n);
    x[rng_below(&rnd, (uint32_t)v->n)] = NAN;
    if (!isnan(k.max_f32(x, v->n)) || !isnan(ref.max_f32(x, v->n))) bad("n %zu: NaN lost", v->n);
}

static void check_max_f32(int unused) {
    (void)unused;
    each_vector(max_vector);
}

static void rope_vector(vectors *v) {
    const size_t n_rot = v->n / 2 * 2;
    const float *x = v->w.data; /* any numbers will do for cos and sin */

    for (int neox = 0; neox < 2; neox++) {
        (neox ? ref.rope_neox : ref.rope_norm)(v->a.data, x, n_rot);
        (neox ? k.rope_neox : k.rope_norm)(v->b.data, x, n_rot);
        compare_floats(v, neox ? "neox" : "norm");
    }
}

static void check_rope(int unused) {
    (void)unused;
    each_vector(rope_vector);
}

static void check_read_sum(int unused) {
    (void)unused;
    for (size_t n = 0; n <= 1024; n += 64) {
        guarded g = guarded_new(n);

        for (size_t i = 0; i < n; i++) ((uint8_t *)g.data)[i] = (uint8_t)rng_next(&rnd);
        if (k.read_sum(g.data, n) != ref.read_sum(g.data, n)) bad("n %zu: another sum", n);
        guarded_free(&g);
    }
}

/* ---- attention ---- */

typedef struct {
    kv_form form;
    size_t heads, toks, n, stride, row;
    guarded q, kv, p, want, got; /* kv: toks rows; want, got: scores or outputs */
} attention;

static attention new_attention(int form, size_t heads, size_t toks, size_t n, bool is_qk,
                               floats_kind kind) {
    attention a = {.form = (kv_form)form, .heads = heads, .toks = toks, .n = n, .stride = toks + 2};
    guarded src = new_floats(toks * n, kind);
    const size_t p_size = (heads - 1) * a.stride + toks;

    a.row = kv_row_bytes(a.form, n);
    a.q = new_floats(heads * n, kind);
    a.kv = guarded_new(toks * a.row);
    a.p = new_floats(p_size, FLOATS_RANDOM);
    for (size_t t = 0; t < toks; t++) {
        ref.kv_store[form]((uint8_t *)a.kv.data + t * a.row, (float *)src.data + t * n, n);
    }
    a.want = guarded_new(4 * (is_qk ? p_size : heads * n));
    a.got = guarded_new(a.want.size);
    guarded_free(&src);
    return a;
}

static void free_attention(attention *a) {
    if (!guarded_intact(&a->got)) bad("wrote before the output");
    guarded_free(&a->q);
    guarded_free(&a->kv);
    guarded_free(&a->p);
    guarded_free(&a->want);
    guarded_free(&a->got);
}

/* Errors come from n / 8 steps of eight lanes, the scales, and for small numbers from products that
 * are subnormal. */
static void compare_scores(const attention *a, const float *q) {
    const float *want = a->want.data, *got = a->got.data;
    float row[1024], one;

    for (size_t t = 0; t < a->toks; t++) {
        const uint8_t *kv = (const uint8_t *)a->kv.data + t * a->row;

        ref.kv_load[a->form](row, kv, a->n);
        for (size_t h = 0; h < a->heads; h++) {
            const size_t at = h * a->stride + t;
            double mag = 0;

            for (size_t i = 0; i < a->n; i++) mag += fabs((double)q[h * a->n + i] * (double)row[i]);
            if (!(fabs((double)want[at] - (double)got[at]) <=
                  (double)(a->n / 8 + 16) * EPS * 0.3 * mag + (double)FLT_MIN)) {
                bad("head %zu token %zu n %zu: %g, plain C %g", h, t, a->n, (double)got[at],
                    (double)want[at]);
            }
            k.attn_qk[a->form](&one, 1, q + h * a->n, kv, 0.3f, 1, 1, a->n, NULL);
            if (!same_float(one, got[at]))
                bad("head %zu token %zu n %zu: not as alone", h, t, a->n);
            k.attn_qk[KVT_F32](&one, 1, q + h * a->n, row, 0.3f, 1, 1, a->n, NULL);
            if (!same_float(one, got[at]))
                bad("head %zu token %zu n %zu: not as with floats", h, t, a->n);
        }
    }
}

static void check_qk_shape(int form, size_t heads, size_t toks, size_t n, floats_kind kind) {
    attention a = new_attention(form, heads, toks, n, true, kind);

    ref.attn_qk[form](a.want.data, a.stride, a.q.data, a.kv.data, 0.3f, heads, toks, n, NULL);
    k.attn_qk[form](a.got.data, a.stride, a.q.data, a.kv.data, 0.3f, heads, toks, n, NULL);
    compare_scores(&a, a.q.data);
    free_attention(&a);
}

/* o starts as a.q; head 0 keeps nothing and has NaN there. */
static void start_output(const attention *a, guarded *o, float *keep) {
    memcpy(o->data, a->q.data, a->heads * a->n * sizeof(float));
    for (size_t i = 0; i < a->n; i++) ((float *)o->data)[i] = NAN;
    for (size_t h = 0; h < a->heads; h++) keep[h] = h ? 0.75f : 0;
}

static void compare_outputs(const attention *a, const float *keep) {
    const float *want = a->want.data, *got = a->got.data, *p = a->p.data, *o = a->q.data;
    float row[1024];
    double mag[8 * 1024];

    for (size_t i = 0; i < a->heads * a->n; i++) {
        mag[i] = fabs((double)keep[i / a->n] * (double)o[i]);
    }
    for (size_t t = 0; t < a->toks; t++) {
        ref.kv_load[a->form](row, (const uint8_t *)a->kv.data + t * a->row, a->n);
        for (size_t i = 0; i < a->heads * a->n; i++) {
            mag[i] += fabs((double)p[i / a->n * a->stride + t] * (double)row[i % a->n]);
        }
    }
    for (size_t i = 0; i < a->heads * a->n; i++) {
        if (!(fabs((double)want[i] - (double)got[i]) <=
              (double)(a->toks + 4) * EPS * mag[i] + (double)FLT_MIN)) {
            bad("head %zu [%zu], %zu tokens: %g, plain C %g", i / a->n, i % a->n, a->toks,
                (double)got[i], (double)want[i]);
        }
    }
}

static void check_pv_shape(int form, size_t heads, size_t toks, size_t n, floats_kind kind) {
    static const float all[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    attention a = new_attention(form, heads, toks, n, false, kind);
    guarded rows = guarded_new(toks * n * sizeof(float));
    const float *p = a.p.data;
    const size_t cut = toks / 3;
    float keep[8];

    start_output(&a, &a.want, keep);
    start_output(&a, &a.got, keep);
    ref.attn_pv[form](a.want.data, keep, p, a.stride, a.kv.data, heads, toks, n, NULL);
    k.attn_pv[form](a.got.data, keep, p, a.stride, a.kv.data, heads, toks, n, NULL);
    compare_outputs(&a, keep);
    /* in two calls: the same bits */
    start_output(&a, &a.want, keep);
    k.attn_pv[form](a.want.data, keep, p, a.stride, a.kv.data, heads, cut, n, NULL);
    k.attn_pv[form](a.want.data, all, p + cut, a.stride, (uint8_t *)a.kv.data + cut * a.row, heads,
                    toks - cut, n, NULL);
    if (memcmp(a.want.data, a.got.data, a.got.size) != 0) bad("n %zu: cut in two, other bits", n);
    /* of rows converted before: the same bits */
    for (size_t t = 0; t < toks; t++)
        ref.kv_load[form]((float *)rows.data + t * n, (const uint8_t *)a.kv.data + t * a.row, n);
    start_output(&a, &a.want, keep);
    k.attn_pv[KVT_F32](a.want.data, keep, p, a.stride, rows.data, heads, toks, n, NULL);
    if (memcmp(a.want.data, a.got.data, a.got.size) != 0) bad("n %zu: floats, other bits", n);
    guarded_free(&rows);
    free_attention(&a);
}

typedef void attention_check(int form, size_t heads, size_t toks, size_t n, floats_kind kind);

static void each_attention(int form, attention_check *check) {
    static const size_t sizes[] = {1, 8, 20, 31, 32, 64, 80, 96, 100, 128, 256, 320};
    static const size_t heads[] = {1, 2, 3, 7, 8}, toks[] = {0, 1, 3, 4, 5, 33};

    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (size_t j = 0; j < COUNT(toks); j++) {
            for (int kind = 0; kind < FLOATS_COUNT; kind++) {
                check(form, heads[(i + j + (size_t)kind) % COUNT(heads)], toks[j], sizes[i],
                      (floats_kind)kind);
            }
        }
    }
}

static void check_attn_qk(int form) {
    each_attention(form, check_qk_shape);
}

static void check_attn_pv(int form) {
    each_attention(form, check_pv_shape);
}

/* ---- the run ---- */

static const char *filter;
static uint64_t seed;
static int n_passed, n_failed;

static void run(const char *isa, const char *slot, const char *variant, void (*check)(int),
                int arg) {
    char name[64];

    snprintf(name, sizeof name, "%s%s%s_%s", slot, variant ? "_" : "", variant ? variant : "", isa);
    if (filter && !strstr(name, filter)) return;
    n_bad = 0;
    rnd.state = seed;
    check(arg);
    printf("%s %s\n", n_bad ? "[  FAILED  ]" : "[       OK ]", name);
    if (n_bad) {
        n_failed++;
    } else {
        n_passed++;
    }
    fflush(stdout);
}

static void run_level(uint32_t features, const char *isa) {
    static const char *acts[] = {"f32", "q8_32", "q8_k"}, *kvs[] = {"f16", "q8_0", "f32"};

    kern_fill(&k, features);
    for (int t = 0; t < TYPE_COUNT; t++) {
        const char *name = type_get((uint32_t)t)->name;

        if (k.dequant[t]) run(isa, "dequant", name, check_dequant, t);
        if (k.matmul[t]) run(isa, "matmul", name, check_matmul, t);
        if (k.matmul_groups[t]) run(isa, "matmul_groups", name, check_packed, t);
        if (k.matmul_groups[t]) run(isa, "pack_row", name, check_pack_row, t);
    }
    for (int f = 0; f < ACT_COUNT; f++) run(isa, "quant_act", acts[f], check_quant_act, f);
    for (int f = 0; f < KVT_COUNT; f++) {
        run(isa, "kv_store", kvs[f], check_kv_store, f);
        run(isa, "attn_qk", kvs[f], check_attn_qk, f);
        run(isa, "attn_pv", kvs[f], check_attn_pv, f);
    }
    run(isa, "dot_f32", NULL, check_dot_f32, 0);
    run(isa, "axpy_f32", NULL, check_axpy_f32, 0);
    run(isa, "add_f32", NULL, check_add_f32, 0);
    run(isa, "rms_norm", NULL, check_rms_norm, 0);
    run(isa, "silu_mul", NULL, check_silu_mul, 0);
    run(isa, "gelu_mul", NULL, check_gelu_mul, 0);
    run(isa, "swiglu_clamped", NULL, check_swiglu_clamped, 0);
    run(isa, "softcap", NULL, check_softcap, 0);
    run(isa, "layer_norm", NULL, check_layer_norm, 0);
    run(isa, "rope", NULL, check_rope, 0);
    run(isa, "exp_sum", NULL, check_exp_sum, 0);
    run(isa, "max_f32", NULL, check_max_f32, 0);
    run(isa, "read_sum", NULL, check_read_sum, 0);
}

int main(int argc, char **argv) {
    uint32_t have = cpu_features();
    bool bench = false;

    seed = (uint64_t)time(NULL);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--bench") == 0) {
            bench = true;
        } else if (strcmp(argv[i], "--no-avx512") == 0) {
            have &= ~(uint32_t)EW_CPU_AVX512;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
            filter = argv[++i];
        } else {
            fprintf(stderr,
                    "usage: checkkern [--seed N] [--filter TEXT] [--bench] [--no-avx512]\n");
            return 2;
        }
    }
    if (bench) return kern_bench(filter, have);
    printf("seed %llu\n", (unsigned long long)seed);
    kern_fill(&ref, EW_CPU_GENERIC);
    run_level(EW_CPU_GENERIC, "c"); /* against itself: shapes, guards, bad scales */
    if (have & EW_CPU_AVX2) run_level(EW_CPU_GENERIC | EW_CPU_AVX2, "avx2");
    if (have & EW_CPU_AVX512) run_level(EW_CPU_GENERIC | EW_CPU_AVX2 | EW_CPU_AVX512, "avx512");
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed != 0;
}
