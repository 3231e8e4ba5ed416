/* SPDX-License-Identifier: MIT
 *
 * Attention against double: windows, sinks, soft caps, tokens that see both ways, groups and head
 * sizes; and that neither threads nor the cut of a sequence into steps changes a bit. */
#include "model/attention.h"

#include "edgewise.h"
#include "tests/support/rng.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum {
    N_TOK = 700, /* more than a span of 512 */
    LAYER = 1    /* of two */
};

typedef struct {
    uint32_t n_head, n_head_kv, dim_k, dim_v, page, window;
    kv_form k, v;
    float softcap;
    bool has_sinks, is_both_ways;
    uint32_t features;
} shape;

typedef struct {
    shape z;
    kern_table k;
    mem_budget budget;
    kv_layout layout;
    kv_cache cache;
    float *q, *keys, *values; /* [N_TOK, heads, dim]; keys and values as the cache holds them */
    float *sinks, *out;
} fixture;

static float *random_floats(rng *r, size_t n, float scale) {
    float *x = test_malloc(n * sizeof *x);

    for (size_t i = 0; i < n; i++) x[i] = rng_float(r) * scale;
    return x;
}

/* Stores one head of one token and reads back what became of it. */
static void store(const fixture *f, kv_form form, uint8_t *page, uint32_t t, float *x, size_t n) {
    uint8_t *row = page + t % f->z.page * kv_row_bytes(form, n);

    f->k.kv_store[form](row, x, n);
    f->k.kv_load[form](x, row, n);
}

static void fill_cache(fixture *f) {
    const shape *z = &f->z;

    for (uint32_t t = 0; t < N_TOK; t++)
        for (uint32_t h = 0; h < z->n_head_kv; h++) {
            const size_t row = (size_t)t * z->n_head_kv + h;
            const uint32_t p = t / z->page;

            store(f, z->k, kv_keys(&f->cache, LAYER, h, p), t, f->keys + row * z->dim_k, z->dim_k);
            store(f, z->v, kv_values(&f->cache, LAYER, h, p), t, f->values + row * z->dim_v,
                  z->dim_v);
        }
}

static void open_fixture(fixture *f, const shape *z) {
    const hparams hp = {.n_layer = 2, .head_dim_k = z->dim_k, .head_dim_v = z->dim_v};
    const layer layers[2] = {{.n_head_kv = 1}, {.n_head_kv = z->n_head_kv}};
    rng r = {z->dim_k};
    ew_error err = {0};

    memset(f, 0, sizeof *f);
    f->z = *z;
    kern_fill(&f->k, z->features);
    mem_budget_init(&f->budget, 0);
    assert_int_equal(kv_layout_init(&f->layout, &hp, layers, z->k, z->v, z->page, &err), EW_OK);
    assert_int_equal(kv_init(&f->cache, &f->layout, &f->budget, N_TOK, &err), EW_OK);
    assert_int_equal(kv_reserve(&f->cache, N_TOK, &err), EW_OK);
    f->q = random_floats(&r, (size_t)N_TOK * z->n_head * z->dim_k, 4);
    f->keys = random_floats(&r, (size_t)N_TOK * z->n_head_kv * z->dim_k, 4);
    f->values = random_floats(&r, (size_t)N_TOK * z->n_head_kv * z->dim_v, 2);
    f->sinks = random_floats(&r, z->n_head, 8);
    f->out = random_floats(&r, (size_t)N_TOK * z->n_head * z->dim_v, 1);
    fill_cache(f);
}

static void close_fixture(fixture *f) {
    test_free(f->q);
    test_free(f->keys);
    test_free(f->values);
    test_free(f->sinks);
    test_free(f->out);
    kv_fini(&f->cache);
    kv_layout_fini(&f->layout);
    mem_budget_fini(&f->budget);
}

typedef struct {
    attention a;
    pool *pool;
    float *work;
    size_t work_floats;
    uint32_t n;
} run;

static void run_thread(void *arg, int ith) {
    const run *r = arg;
    attn_cursor c = {0};
    size_t b, e;

    attn_spans(&r->a, r->pool, r->work + (size_t)ith * r->work_floats);
    pool_barrier(r->pool);
    while (pool_take(r->pool, r->n, 1, &b, &e)) attn_join(&r->a, &c, (uint32_t)b);
}

/* Tokens [first, first + n) as one step, in two parts where `cut` is between them. */
static void attend(fixture *f, uint32_t first, uint32_t n, uint32_t cut, int n_thread) {
    const shape *z = &f->z;
    const uint32_t at = first && n > cut ? cut : 0;
    const attn_part parts[2] = {{&f->cache, 0, first, at ? at : n},
                                {&f->cache, at, first + at, n - at}};
    run r = {.a = {.k = &f->k,
                   .layout = &f->layout,
                   .sizes = {z->n_head, z->n_head / z->n_head_kv, z->dim_k, z->dim_v, z->page},
                   .il = LAYER,
                   .n_head = z->n_head,
                   .n_head_kv = z->n_head_kv,
                   .dim_k = z->dim_k,
                   .dim_v = z->dim_v,
                   .scale = 1 / sqrtf((float)z->dim_k),
                   .softcap = z->softcap,
                   .window = z->window,
                   .is_both_ways = z->is_both_ways,
                   .sinks = z->has_sinks ? f->sinks : NULL,
                   .parts = parts,
                   .n_part = at ? 2 : 1,
                   .q = f->q + (size_t)first * z->n_head * z->dim_k,
                   .out = f->out + (size_t)first * z->n_head * z->dim_v},
             .n = n};
    ew_error err = {0};

    r.work_floats = attn_work_floats(&r.a.sizes);
    r.work = test_malloc((size_t)n_thread * r.work_floats * sizeof *r.work);
    r.a.spans = test_malloc(attn_span_floats(&r.a.sizes) * sizeof *r.a.spans);
    assert_int_equal(pool_new(&r.pool, n_thread, &err), EW_OK);
    pool_run(r.pool, run_thread, &r);
    pool_free(r.pool);
    test_free(r.work);
    test_free(r.a.spans);
}

/* Softmax(q k) v of one row in double. *magnitude: sum of |p v| and the scores' own rounding. */
static void check_row(const fixture *f, uint32_t t, uint32_t h) {
    const shape *z = &f->z;
    const uint32_t kv = h / (z->n_head / z->n_head_kv);
    const uint32_t end = z->is_both_ways ? N_TOK : t + 1;
    const uint32_t first = z->window && end > z->window ? end - z->window : 0;
    const float *q = f->q + ((size_t)t * z->n_head + h) * z->dim_k;
    const float *out = f->out + ((size_t)t * z->n_head + h) * z->dim_v;
    static double p[N_TOK];
    double best = z->has_sinks ? (double)f->sinks[h] : (double)-INFINITY, sum, most = 0;

    for (uint32_t i = first; i < end; i++) {
        const float *key = f->keys + ((size_t)i * z->n_head_kv + kv) * z->dim_k;
        double dot = 0, mag = 0;

        for (uint32_t j = 0; j < z->dim_k; j++) {
            dot += (double)q[j] * (double)key[j];
            mag += fabs((double)q[j] * (double)key[j]);
        }
        dot *= (double)(1 / sqrtf((float)z->dim_k));
        most = fmax(most, mag / sqrt(z->dim_k));
        p[i] = z->softcap > 0 ? (double)z->softcap * tanh(dot / (double)z->softcap) : dot;
        best = fmax(best, p[i]);
    }
    sum = z->has_sinks ? exp((double)f->sinks[h] - best) : 0;
    for (uint32_t i = first; i < end; i++) sum += p[i] = exp(p[i] - best);
    for (uint32_t j = 0; j < z->dim_v; j++) {
        double want = 0, mag = 0, bound;

        for (uint32_t i = first; i < end; i++) {
            const float *v = f->values + ((size_t)i * z->n_head_kv + kv) * z->dim_v;

            want += p[i] / sum * (double)v[j];
            mag += fabs(p[i] / sum * (double)v[j]);
        }
        /* A score is wrong by dim / 8 + 16 roundings of its magnitude, its exponential as much in
         * proportion; a sum over n keys by n roundings. */
        bound = (double)FLT_EPSILON * mag *
                (2 * (z->dim_k / 8.0 + 16) * most + 2.0 * (end - first) + 16);
        if (!(fabs(want - (double)out[j]) <= bound))
            fail_msg("token %u head %u [%u]: %.9g, not %.9g, bound %.2g", t, h, j, (double)out[j],
                     want, bound);
    }
}

static const shape shapes[] = {
    {.n_head = 6, .n_head_kv = 2, .dim_k = 64, .dim_v = 64, .page = 64},
    {.n_head = 2, .n_head_kv = 2, .dim_k = 80, .dim_v = 96, .page = 64, .softcap = 5},
    {.n_head = 8,
     .n_head_kv = 1,
     .dim_k = 128,
     .dim_v = 128,
     .page = 64,
     .window = 100,
     .k = KVT_Q8_0,
     .v = KVT_Q8_0,
     .has_sinks = true},
    {.n_head = 4,
     .n_head_kv = 2,
     .dim_k = 96,
     .dim_v = 64,
     .page = 16,
     .window = 7,
     .k = KVT_F32,
     .v = KVT_F16},
    {.n_head = 80,
     .n_head_kv = 1,
     .dim_k = 32,
     .dim_v = 32,
     .page = 100,
     .has_sinks = true,
     .k = KVT_F32,
     .v = KVT_F32},
    {.n_head = 2, .n_head_kv = 1, .dim_k = 256, .dim_v = 256, .page = 1024, .window = 600},
    {.n_head = 4, .n_head_kv = 2, .dim_k = 64, .dim_v = 64, .page = 64, .is_both_ways = true},
    {.n_head = 3, .n_head_kv = 1, .dim_k = 576, .dim_v = 512, .page = 64, .k = KVT_Q8_0},
};
enum {
    N_SHAPE = sizeof shapes / sizeof *shapes
};

static void test_agrees_with_double(void **state) {
    static const uint32_t tokens[] = {0, 1, 15, 63, 64, 99, 100, 511, 512, 513, 640, N_TOK - 1};

    (void)state;
    for (size_t i = 0; i < 2 * N_SHAPE; i++) {
        shape z = shapes[i / 2];
        fixture f;

        z.features = i % 2 ? EW_CPU_GENERIC : cpu_features();
        open_fixture(&f, &z);
        attend(&f, 0, N_TOK, 0, 2);
        for (size_t t = 0; t < sizeof tokens / sizeof *tokens; t++)
            for (uint32_t h = 0; h < z.n_head; h++) check_row(&f, tokens[t], h);
        close_fixture(&f);
    }
}

/* Steps of n tokens, each in parts; a token sees no more than was there when it came. */
static void test_steps_and_threads_change_no_bit(void **state) {
    static const uint32_t steps[] = {1, 3, 17, 64, 333};

    (void)state;
    for (size_t i = 0; i < 2 * N_SHAPE; i++) {
        shape z = shapes[i / 2];
        const size_t n = (size_t)N_TOK * z.n_head * z.dim_v;
        fixture f;
        float *want;

        if (z.is_both_ways) continue;
        z.features = i % 2 ? EW_CPU_GENERIC : cpu_features();
        open_fixture(&f, &z);
        want = test_malloc(n * sizeof *want);
        attend(&f, 0, N_TOK, 0, 1);
        memcpy(want, f.out, n * sizeof *want);
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
            memset(f.out, 0, n * sizeof *f.out);
            for (uint32_t t = 0; t < N_TOK; t += steps[s])
                attend(&f, t, N_TOK - t < steps[s] ? N_TOK - t : steps[s], 5, 1 + (int)(s % 3));
            for (size_t k = 0; k < n; k++)
                if (memcmp(&f.out[k], &want[k], sizeof *want))
                    fail_msg("shape %zu, steps of %u: [%zu] is %.9g, not %.9g", i / 2, steps[s], k,
                             (double)f.out[k], (double)want[k]);
        }
        test_free(want);
        close_fixture(&f);
    }
}

/* What a token does not see must not reach it, not even a NaN. */
static void test_unseen_keys_do_not_reach_a_token(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SHAPE; i++) {
        shape z = shapes[i];
        fixture f;

        if (z.is_both_ways) continue;
        z.features = cpu_features();
        open_fixture(&f, &z);
        for (size_t k = 0; k < (size_t)z.n_head_kv * z.dim_k; k++)
            f.keys[(size_t)300 * z.n_head_kv * z.dim_k + k] = NAN;
        for (size_t k = 0; k < (size_t)z.n_head_kv * z.dim_v; k++)
            f.values[(size_t)300 * z.n_head_kv * z.dim_v + k] = NAN;
        fill_cache(&f);
        attend(&f, 0, N_TOK, 0, 2);
        for (uint32_t t = 0; t < N_TOK; t++) {
            const bool sees = t >= 300 && (!z.window || t < 300 + z.window);

            for (size_t k = 0; k < (size_t)z.n_head * z.dim_v; k++)
                if (isnan(f.out[(size_t)t * z.n_head * z.dim_v + k]) != sees)
                    fail_msg("shape %zu token %u: %s", i, t, sees ? "no NaN" : "NaN");
        }
        close_fixture(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_double),
        cmocka_unit_test(test_steps_and_threads_change_no_bit),
        cmocka_unit_test(test_unseen_keys_do_not_reach_a_token),
    };

    return cmocka_run_group_tests_name("attention", tests, NULL, NULL);
}
