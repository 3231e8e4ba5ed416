/* SPDX-License-Identifier: MIT
 *
 * The plain C kernels, which define what the others must give: against arithmetic in double,
 * checksums of decoded blocks, and, where the data is at hand, the format's reference decoder. */
#include "format/gguf.h"
#include "kernels/exp.h"
#include "kernels/kern.h"
#include "tests/support/shared.h"
#include "tests/support/weights.h"

#include <ctype.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

enum {
    N = 512,
    ROWS = 3,
    TOKS = 2
};

static kern_table k;

/* For every type with kernels. */
#define EACH_TYPE(t) for (elem_type t = 0; t < TYPE_COUNT; t++)

static double half_oracle(uint32_t h) {
    const int e = h >> 10 & 31, f = h & 1023;
    const double over = f ? (double)NAN : (double)INFINITY;
    const double mag = e == 31 ? over : ldexp(e ? f + 1024 : f, (e ? e : 1) - 25);

    return h & 0x8000 ? -mag : mag;
}

static void test_every_half_converts_and_returns(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        const float f = f16_to_f32((uint16_t)h);
        const double want = half_oracle(h);

        assert_true(isnan(want) ? isnan(f) : (double)f == want && !signbit(f) == !signbit(want));
        if (isnan(want)) {
            assert_true(isnan(f16_to_f32(f32_to_f16(f))));
        } else {
            assert_int_equal(f32_to_f16(f), h);
        }
    }
}

static void test_floats_round_to_the_nearest_even_half(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x7bff; h++) {
        const float a = f16_to_f32((uint16_t)h), b = f16_to_f32((uint16_t)(h + 1));
        const float mid = (a + b) / 2;

        assert_int_equal(f32_to_f16(mid), h + (h & 1));
        assert_int_equal(f32_to_f16(nextafterf(mid, 0)), h);
        assert_int_equal(f32_to_f16(-nextafterf(mid, b)), 0x8000 | (h + 1));
    }
    assert_int_equal(f32_to_f16(65519.99f), 0x7bff);
    assert_int_equal(f32_to_f16(65520.0f), 0x7c00);
    assert_int_equal(f32_to_f16(-FLT_MAX), 0xfc00);
    assert_int_equal(f32_to_f16(0x1p-25f), 0);
    assert_int_equal(f32_to_f16(0x1.000002p-25f), 1);
    assert_true(isnan(f16_to_f32(f32_to_f16(bits_f32(0x7f800001u)))));
}

static void test_exp_is_close_to_the_real_one(void **state) {
    double worst = 0;

    (void)state;
    for (double x = -87.3; x < 88.7; x += 0.00037) {
        const double want = exp((double)(float)x);

        worst = fmax(worst, fabs((double)exp_f32((float)x) - want) / want);
    }
    assert_true(worst < 1.3e-7);
    for (float x = -110; x < -87.3f; x += 0.01f) {
        assert_true(fabs((double)exp_f32(x) - exp((double)x)) <= 1.5 * (double)FLT_TRUE_MIN);
    }
    assert_true(exp_f32(0) == 1 && exp_f32(-INFINITY) == 0 && exp_f32(-1e30f) == 0);
    assert_true(isinf(exp_f32(INFINITY)) && isinf(exp_f32(89)) && isnan(exp_f32(NAN)));
}

static uint64_t fnv(uint64_t h, const void *p, size_t n) {
    const uint8_t *b = p;

    for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * 0x100000001b3u;
    return h;
}

/* Checksums of what a row of fixed random bits decodes to, taken when the decoders gave exactly
 * what the format's reference decoder gives on its vectors. */
static const struct {
    elem_type type;
    uint64_t sum;
} golden[] = {
    {TYPE_F32, 0x652d9abdfbf2411du},    {TYPE_F16, 0x7e860d506334250cu},
    {TYPE_Q4_0, 0x2ca20ae128d14227u},   {TYPE_Q4_1, 0x898e9a18e10f69dbu},
    {TYPE_Q5_0, 0x3b5e77b77c51bef5u},   {TYPE_Q5_1, 0x923c9f0a06cfe367u},
    {TYPE_Q8_0, 0x93aa0d6c0ea4e791u},   {TYPE_Q2_K, 0xcbf116527b526de8u},
    {TYPE_Q3_K, 0xa580f2209dd64c83u},   {TYPE_Q4_K, 0x3544d9fe39a903c4u},
    {TYPE_Q5_K, 0x900f71b6c9bb2801u},   {TYPE_Q6_K, 0xb5835eaef791a69bu},
    {TYPE_IQ4_NL, 0xb23223d5d7c98e05u}, {TYPE_IQ4_XS, 0xbc6c95449c2640abu},
    {TYPE_BF16, 0x743247a6762f9e0cu},   {TYPE_TQ1_0, 0x85a6951fb8b2325cu},
    {TYPE_TQ2_0, 0x54435b0c67a3bd68u},  {TYPE_MXFP4, 0xde84cea304ced630u},
};

static void test_decoded_bits_are_as_recorded(void **state) {
    size_t seen = 0;

    (void)state;
    EACH_TYPE(t) {
        uint8_t row[N * 4];
        float w[N];
        uint64_t sum;
        rng r = {42};

        if (!k.dequant[t]) continue;
        make_weights(row, t, N, BITS_RANDOM, &r);
        k.dequant[t](w, row, N);
        sum = fnv(0xcbf29ce484222325u, w, sizeof w);
        for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
            if (golden[i].type != t) continue;
            assert_true(golden[i].sum == sum);
            seen++;
        }
    }
    assert_int_equal(seen, sizeof golden / sizeof *golden);
}

static elem_type type_named(const char *name) {
    EACH_TYPE(t) {
        const char *have = type_get((uint32_t)t)->name;

        if (have && strcasecmp(have, name) == 0) return t;
    }
    return TYPE_COUNT;
}

static void check_vector(elem_type t, json_t *vec) {
    const char *hex = json_string_value(json_object_get(vec, "hex"));
    json_t *values = json_object_get(vec, "values");
    uint8_t block[256];
    float w[256];

    for (size_t i = 0; i < strlen(hex) / 2; i++) {
        const char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};

        block[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    k.dequant[t](w, block, json_array_size(values));
    for (size_t i = 0; i < json_array_size(values); i++) {
        const float want = (float)json_number_value(json_array_get(values, i));

        assert_true(w[i] == want);
    }
}

static void test_reference_vectors_decode_equal(void **state) {
    const char *path = shared_path("facts/quant-vectors.json");
    json_t *root, *list, *vec;
    const char *name;
    size_t i, n = 0;

    (void)state;
    if (!path) skip();
    root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    json_object_foreach(json_object_get(root, "decode"), name, list) {
        const elem_type t = type_named(name);

        assert_true(t < TYPE_COUNT && k.dequant[t]);
        json_array_foreach(list, i, vec) {
            check_vector(t, vec);
            n++;
        }
    }
    assert_int_equal(n, 26);
    json_decref(root);
}

/* Bit for bit the floats that stand beside each quantised tensor. */
static void check_quantised(const gguf *g, const gguf_tensor *q) {
    char name[64];
    const gguf_tensor *want;
    const size_t n = (size_t)(q->ne[0] * q->ne[1]);
    static float w[4096];

    snprintf(name, sizeof name, "%.*sf32", (int)(q->name.n - 1), q->name.p);
    want = gguf_find_tensor(g, str_of(name));
    assert_non_null(want);
    assert_true(n <= 4096 && want->n_bytes == n * sizeof *w);
    k.dequant[q->type](w, q->data, n);
    assert_memory_equal(w, want->data, n * sizeof *w);
}

static void test_reference_file_decodes_equal(void **state) {
    const char *path = shared_path("data/gguf-cases/quant-types.gguf");
    gguf g;
    ew_error err;
    size_t n = 0;

    (void)state;
    if (!path) skip();
    assert_int_equal(gguf_open(&g, path, false, &err), EW_OK);
    for (size_t i = 0; i < g.n_tensor; i++) {
        const gguf_tensor *t = &g.tensor[i];
        const bool is_quantised = t->name.n > 2 && memcmp(t->name.p + t->name.n - 2, ".q", 2) == 0;

        if (!is_quantised || !k.dequant[t->type]) continue;
        check_quantised(&g, t);
        n++;
    }
    assert_int_equal(n, 17); /* every supported type but F32 */
    gguf_close(&g);
}

/* Activations as the product sees them. */
static void act_floats(float *x, act_form f, const void *act, size_t n) {
    const act_q8_32 *a32 = act;
    const act_q8_k *ak = act;

    for (size_t i = 0; i < n; i++) {
        switch (f) {
        case ACT_Q8_32:
            x[i] = a32[i / 128].d[i / 32 % 4] * (float)a32[i / 128].q[i / 32 % 4][i % 32];
            break;
        case ACT_Q8_K:
            x[i] = ak[i / 256].d * (float)ak[i / 256].q[i % 256];
            break;
        case ACT_F32:
        case ACT_COUNT:
            x[i] = ((const float *)act)[i];
            break;
        }
    }
}

/* A float step errs by at most half an eps of the partial sum, which the sum of the magnitudes
 * bounds; there are at most N / 8 + 8 steps in a row (eight lanes of the float types). */
static void check_product(elem_type t, bits_kind kind, uint64_t seed) {
    const size_t row_bytes = type_row_bytes(t, N), x_bytes = act_bytes(act_of(t), N);
    static uint8_t w[ROWS * N * 4];
    static float act[TOKS * N], src[N], row[N], x[N], y[TOKS * ROWS];
    static double part[N];
    rng r = {seed};

    make_weights(w, t, ROWS * N, kind, &r);
    for (size_t j = 0; j < TOKS; j++) {
        for (size_t i = 0; i < N; i++) src[i] = rng_float(&r);
        k.quant_act[act_of(t)]((uint8_t *)act + j * x_bytes, src, N);
    }
    k.matmul[t](y, ROWS, w, row_bytes, act, x_bytes, ROWS, TOKS, N);
    for (size_t j = 0; j < TOKS; j++) {
        act_floats(x, act_of(t), (uint8_t *)act + j * x_bytes, N);
        for (size_t i = 0; i < ROWS; i++) {
            double sum = 0, mag = 0;

            k.dequant[t](row, w + i * row_bytes, N);
            weight_magnitudes(part, t, w + i * row_bytes, N);
            for (size_t e = 0; e < N; e++) {
                sum += (double)row[e] * (double)x[e];
                mag += part[e] * fabs((double)x[e]);
            }
            assert_true(fabs((double)y[j * ROWS + i] - sum) <=
                        (N / 8 + 8) * (double)FLT_EPSILON * mag);
        }
    }
}

static void test_products_agree_with_double(void **state) {
    (void)state;
    EACH_TYPE(t) {
        if (!k.matmul[t]) continue;
        for (bits_kind kind = 0; kind < BITS_COUNT; kind++) check_product(t, kind, 7 + kind);
    }
}

static void check_act_block(const float *x, float d, const int8_t *q, size_t n) {
    float max = 0;

    for (size_t i = 0; i < n; i++) max = fmaxf(max, fabsf(x[i]));
    assert_true(fabsf(d - max / 127) <= FLT_EPSILON * d);
    for (size_t i = 0; i < n; i++) {
        assert_true(fabsf(x[i] - d * (float)q[i]) <= d * 0.50002f);
    }
}

static void test_activations_keep_within_half_a_step(void **state) {
    act_q8_32 a[2];
    act_q8_k b;
    float x[256];
    rng r = {3};

    (void)state;
    for (int round = 0; round < 50; round++) {
        const float scale = ldexpf(1, round - 25);

        for (int i = 0; i < 256; i++) x[i] = rng_float(&r) * scale;
        k.quant_act[ACT_Q8_32](a, x, 256);
        k.quant_act[ACT_Q8_K](&b, x, 256);
        check_act_block(x, b.d, b.q, 256);
        for (int i = 0; i < 8; i++) {
            int sum = 0, sum_k = 0;

            const act_q8_32 *g = &a[i / 4];

            check_act_block(x + 32 * i, g->d[i % 4], g->q[i % 4], 32);
            for (int e = 0; e < 32; e++) sum += g->q[i % 4][e], sum_k += b.q[32 * i + e];
            assert_true(g->s[i % 4] == g->d[i % 4] * (float)sum);
            assert_int_equal(b.sums[2 * i] + b.sums[2 * i + 1], sum_k);
        }
    }
}

static void test_bad_activations_show_in_the_result(void **state) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    act_q8_32 a[2];
    act_q8_k b;
    float x[256] = {0};

    (void)state;
    k.quant_act[ACT_Q8_32](a, x, 256);
    assert_true(a->d[0] == 0 && a->s[0] == 0 && a->q[0][5] == 0);
    for (int i = 0; i < 3; i++) {
        x[40] = bad[i];
        x[41] = 3;
        k.quant_act[ACT_Q8_32](a, x, 256);
        k.quant_act[ACT_Q8_K](&b, x, 256);
        assert_true(a->d[0] == 0 && isnan(a->d[1]) && isnan(a->s[1]) && a->q[1][9] == 0);
        assert_true(isnan(b.d) && b.q[41] == 0 && b.sums[2] == 0);
    }
}

static void test_norm_and_activation_agree_with_double(void **state) {
    float x[100], w[100], y[100], g[100];
    double ss = 0;
    rng r = {5};

    (void)state;
    for (int i = 0; i < 100; i++) x[i] = rng_float(&r) * 20, w[i] = rng_float(&r), g[i] = x[i];
    for (int i = 0; i < 100; i++) ss += (double)x[i] * (double)x[i];
    k.rms_norm(y, x, w, 100, 1e-5f);
    k.silu_mul(g, w, 100);
    for (int i = 0; i < 100; i++) {
        const double want = (double)x[i] / sqrt(ss / 100 + 1e-5) * (double)w[i];
        const double silu = (double)x[i] / (1 + exp(-(double)x[i])) * (double)w[i];

        assert_true(fabs((double)y[i] - want) <= 3 * (double)FLT_EPSILON * fabs(want));
        assert_true(fabs((double)g[i] - silu) <= 4 * (double)FLT_EPSILON * fabs(silu));
    }
}

static void test_activations_softcap_and_layer_norm(void **state) {
    float x[100], g[100], h[100], c[100], s[100], y[100], w[100], b[100];
    rng r = {6};
    double mean = 0, squares = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        x[i] = g[i] = h[i] = c[i] = s[i] = rng_float(&r) * (i % 3 ? 9 : 0.1f);
        w[i] = rng_float(&r);
        b[i] = rng_float(&r);
        mean += (double)x[i] / 100;
    }
    for (int i = 0; i < 100; i++) squares += pow((double)x[i] - mean, 2);
    k.gelu_mul(g, w, 100);
    k.gelu_mul(h, NULL, 100);
    k.softcap(c, 3, 100);
    k.swiglu_clamped(s, x, 100);
    k.layer_norm(y, x, w, b, 100, 1e-5f);
    for (int i = 0; i < 100; i++) {
        const double v = (double)x[i], z = sqrt(2 / acos(-1.0)) * (v + 0.044715 * v * v * v);
        const double gelu = v / (1 + exp(-2 * z)), cap = 3 * tanh(v / 3);
        const double norm = (v - mean) / sqrt(squares / 100 + 1e-5) * (double)w[i] + (double)b[i];

        const double low = fmin(v, 7), within = fmax(-7, low);
        const double clamped = low / (1 + exp(-1.702 * low)) * (within + 1);

        assert_true(fabs((double)s[i] - clamped) <=
                    (6 + 2 * fabs(v)) * (double)FLT_EPSILON * fmax(fabs(clamped), 1e-3));
        /* The exponent's rounding error grows with z. */
        assert_true(fabs((double)h[i] - gelu) <=
                    (6 + 8 * fabs(z)) * (double)FLT_EPSILON * fabs(gelu));
        assert_true(fabs((double)g[i] - gelu * (double)w[i]) <=
                    (7 + 8 * fabs(z)) * (double)FLT_EPSILON * fabs(gelu));
        assert_true(fabs((double)c[i] - cap) <= 4 * (double)FLT_EPSILON * fabs(cap));
        assert_true(fabs((double)y[i] - norm) <= 1e-5);
    }
}

static void test_rotation_pairs_the_right_elements(void **state) {
    const float cs[6] = {0, 1, 1, 0, -1, 0}; /* by 90, 0 and 180 degrees */
    float a[7] = {1, 2, 3, 4, 5, 6, 7}, b[7] = {1, 2, 3, 4, 5, 6, 7};
    const float want_a[7] = {-2, 1, 3, 4, -5, -6, 7}, want_b[7] = {-4, 2, -3, 1, 5, -6, 7};

    (void)state;
    k.rope_norm(a, cs, 6);
    k.rope_neox(b, cs, 6);
    for (int i = 0; i < 7; i++) assert_true(a[i] == want_a[i] && b[i] == want_b[i]);
}

static void check_attention(kv_form f, size_t n, double bound) {
    enum {
        HEADS = 3,
        LEN = 5,
        MAX = 300
    };
    const size_t row = kv_row_bytes(f, n);
    static float q[HEADS * MAX], kv[LEN * MAX], o[HEADS * MAX], s[HEADS * 8], p[HEADS * 8];
    static uint8_t cache[LEN * MAX * 4];
    const float keep[HEADS] = {0, 1, 0.5f};
    rng r = {n};

    for (size_t i = 0; i < HEADS * n; i++) q[i] = rng_float(&r), o[i] = (float)i;
    for (size_t i = 0; i < HEADS * 8; i++) p[i] = rng_float(&r);
    for (size_t i = 0; i < n; i++) o[i] = NAN; /* head 0 keeps nothing */
    for (size_t t = 0; t < LEN; t++) {
        for (size_t i = 0; i < n; i++) kv[t * n + i] = rng_float(&r);
        k.kv_store[f](cache + t * row, kv + t * n, n);
    }
    k.attn_qk[f](s, 8, q, cache, 0.25f, HEADS, LEN, n, NULL);
    k.attn_pv[f](o, keep, p, 8, cache, HEADS, LEN, n, NULL);
    for (size_t h = 0; h < HEADS; h++) {
        for (size_t t = 0; t < LEN; t++) {
            double dot = 0;

            for (size_t i = 0; i < n; i++) dot += (double)q[h * n + i] * (double)kv[t * n + i];
            assert_true(fabs(dot / 4 - (double)s[h * 8 + t]) <= bound * (double)n);
        }
        for (size_t i = 0; i < n; i++) {
            double sum = h ? (double)keep[h] * (double)(h * n + i) : 0;

            for (size_t t = 0; t < LEN; t++) sum += (double)p[h * 8 + t] * (double)kv[t * n + i];
            assert_true(fabs(sum - (double)o[h * n + i]) <= bound * LEN + 1e-6 * fabs(sum));
        }
    }
}

static void test_attention_agrees_with_double(void **state) {
    static const size_t sizes[] = {1, 31, 32, 64, 80, 96, 128, 256, 300};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_attention(KVT_F32, sizes[i], 1e-6);
        check_attention(KVT_F16, sizes[i], 0x1p-11);
        check_attention(KVT_Q8_0, sizes[i], 0.51 / 127);
    }
}

static void test_cache_rows_return_as_stored(void **state) {
    float x[80], back[80];
    uint8_t row[400];
    rng r = {8};

    (void)state;
    assert_int_equal(kv_row_bytes(KVT_Q8_0, 80), 3 * 34);
    for (int i = 0; i < 80; i++) x[i] = rng_float(&r);
    for (kv_form f = 0; f < KVT_COUNT; f++) {
        memset(row, 0xa5, sizeof row);
        k.kv_store[f](row, x, 80);
        assert_int_equal(row[kv_row_bytes(f, 80)], 0xa5);
        k.kv_load[f](back, row, 80);
        for (int i = 0; i < 80; i++) {
            assert_true(fabsf(x[i] - back[i]) <= (f == KVT_F32 ? 0.0f : 0.51f / 127));
        }
    }
}

static int setup(void **state) {
    (void)state;
    kern_fill_generic(&k);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half_converts_and_returns),
        cmocka_unit_test(test_floats_round_to_the_nearest_even_half),
        cmocka_unit_test(test_exp_is_close_to_the_real_one),
        cmocka_unit_test(test_decoded_bits_are_as_recorded),
        cmocka_unit_test(test_reference_vectors_decode_equal),
        cmocka_unit_test(test_reference_file_decodes_equal),
        cmocka_unit_test(test_products_agree_with_double),
        cmocka_unit_test(test_activations_keep_within_half_a_step),
        cmocka_unit_test(test_bad_activations_show_in_the_result),
        cmocka_unit_test(test_norm_and_activation_agree_with_double),
        cmocka_unit_test(test_activations_softcap_and_layer_norm),
        cmocka_unit_test(test_rotation_pairs_the_right_elements),
        cmocka_unit_test(test_attention_agrees_with_double),
        cmocka_unit_test(test_cache_rows_return_as_stored),
    };

    return cmocka_run_group_tests_name("generic kernels", tests, setup, NULL);
}
