/* SPDX-License-Identifier: MIT
 *
 * checkkern --bench. The first line is the machine's limit: what one thread can read from memory
 * (read_sum). Each other line is the least of interleaved rounds in CPU time, one thread (noise
 * only adds): name, ns of one call, GB/s of what it reads, ratio to plain C. matmul_1 reads a
 * matrix larger than most caches, one token, and tells its share of the limit. matmul_hot is the
 * same with rows that stay in cache: what the core could do. matmul_32 has 32 tokens and says
 * billions of multiply-adds a second. groups_* are the same of the kernels for 16 rows at a time,
 * set against the row kernels of the same instruction set. */
#include "tests/support/kernbench.h"

#include "base/mem.h"
#include "edgewise.h"
#include "kernels/kern.h"
#include "tests/support/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ROUNDS = 9,
    N = 4096,        /* elements of a row */
    MATRIX_MB = 128, /* of a one-token product and of read_sum: larger than most caches */
    HOT_ROWS = 32,
    BATCH_ROWS = 256, /* of a product with several tokens: in L2 or L3 */
    BATCH_TOKS = 32,
    KV_TOKS = 512,
    HEADS = 4,
    HEAD = 128
};

/* What the kernels work on, made once. */
typedef struct {
    uint8_t *w;
    size_t w_size;
    float *f, *y;
    uint8_t *act, *kv;
    elem_type type;
    kv_form form;
    act_form act_kind;
    size_t rows, toks;
} bench_data;

typedef void bench_call(const kern_table *t, bench_data *d);

static double now_ns(void) {
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* ns of one call, from as many as fill about 2 ms: asking for the time costs a microsecond. */
static double time_call(bench_call *call, const kern_table *t, bench_data *d) {
    double spent = 0;

    for (int n = 1;; n *= 2) {
        const double start = now_ns();

        for (int i = 0; i < n; i++) call(t, d);
        spent = now_ns() - start;
        if (spent > 2e6) return spent / n;
    }
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static kern_table c_table, best_table;
static double read_limit; /* bytes a ns that one thread reads from memory */

/* A call over more than half of the matrix reads it from memory. */
static void rate_text(char out[32], double ns, double bytes, double macs) {
    out[0] = 0;
    if (bytes > ((size_t)MATRIX_MB << 19))
        snprintf(out, 32, "%4.0f %% of read", 100 * bytes / ns / read_limit);
    else if (macs > 0)
        snprintf(out, 32, "%7.1f G/s", macs / ns);
}

/* bytes: read by a call; macs: multiply-adds of a call, 0 where they say nothing. */
static void bench(const char *filter, const char *slot, const char *variant, bench_call *call,
                  bench_data *d, double bytes, double macs) {
    double c[ROUNDS], best[ROUNDS];
    char name[64], rate[32];

    snprintf(name, sizeof name, "%s%s%s", slot, variant ? "_" : "", variant ? variant : "");
    if (filter && !strstr(name, filter)) return;
    for (int i = 0; i < ROUNDS; i++) {
        c[i] = time_call(call, &c_table, d);
        best[i] = time_call(call, &best_table, d);
    }
    qsort(c, ROUNDS, sizeof *c, by_value);
    qsort(best, ROUNDS, sizeof *best, by_value);
    rate_text(rate, best[0], bytes, macs);
    printf("%-24s c %11.0f ns  %s %11.0f ns %7.2f GB/s %14s %6.1fx\n", name, c[0], best_table.isa,
           best[0], bytes / best[0], rate, c[0] / best[0]);
    fflush(stdout);
}

static void call_matmul(const kern_table *t, bench_data *d) {
    t->matmul[d->type](d->y, d->rows, d->w, type_row_bytes(d->type, N), d->act,
                       act_bytes(act_of(d->type), N), d->rows, d->toks, N);
}

static void call_groups(const kern_table *t, bench_data *d) {
    if (t == &c_table)
        call_matmul(&best_table, d);
    else
        t->matmul_groups[d->type](d->y, d->rows, d->w, type_row_bytes(d->type, N), d->act,
                                  act_bytes(act_of(d->type), N), d->rows / 16, d->toks, N, false);
}

static void call_quant(const kern_table *t, bench_data *d) {
    t->quant_act[d->act_kind](d->act, d->f, N);
}

static void call_store(const kern_table *t, bench_data *d) {
    for (int h = 0; h < HEADS; h++) {
        t->kv_store[d->form](d->kv + h * kv_row_bytes(d->form, HEAD), d->f + h * HEAD, HEAD);
    }
}

static void call_qk(const kern_table *t, bench_data *d) {
    t->attn_qk[d->form](d->y, KV_TOKS, d->f, d->kv, 0.1f, HEADS, KV_TOKS, HEAD, NULL);
}

static void call_pv(const kern_table *t, bench_data *d) {
    static const float keep[HEADS];

    t->attn_pv[d->form](d->y, keep, d->f, KV_TOKS, d->kv, HEADS, KV_TOKS, HEAD, NULL);
}

static volatile float sink;
static volatile uint64_t sink_u64;

static void call_dot(const kern_table *t, bench_data *d) {
    sink = t->dot_f32(d->f, d->f + N, N);
}

static void call_axpy(const kern_table *t, bench_data *d) {
    t->axpy_f32(d->y, 0.0f, d->f, N);
}

static void call_norm(const kern_table *t, bench_data *d) {
    t->rms_norm(d->y, d->f, d->f + N, N, 1e-6f);
}

static void call_silu(const kern_table *t, bench_data *d) {
    memcpy(d->y, d->f, N * sizeof(float));
    t->silu_mul(d->y, d->f + N, N);
}

static void call_exp(const kern_table *t, bench_data *d) {
    memcpy(d->y, d->f, N * sizeof(float));
    sink = t->exp_sum(d->y, 1.0f, N);
}

static void call_max(const kern_table *t, bench_data *d) {
    sink = t->max_f32(d->f, N);
}

static void call_rope_norm(const kern_table *t, bench_data *d) {
    t->rope_norm(d->y, d->f, HEAD);
}

static void call_rope_neox(const kern_table *t, bench_data *d) {
    t->rope_neox(d->y, d->f, HEAD);
}

static void call_read(const kern_table *t, bench_data *d) {
    sink_u64 = t->read_sum(d->w, d->w_size);
}

/* One matrix kernel of a type at its three shapes. */
static void bench_product(const char *filter, const char *kind, bench_call *call, bench_data *d) {
    const char *name = type_get((uint32_t)d->type)->name;
    const size_t row = type_row_bytes(d->type, N);
    const struct {
        const char *shape;
        size_t rows, toks;
    } s[] = {{"1", d->w_size / row / 16 * 16, 1},
             {"hot", HOT_ROWS, 1},
             {"2", HOT_ROWS, 2},
             {"4", HOT_ROWS, 4},
             {"8", HOT_ROWS, 8},
             {"32", BATCH_ROWS, BATCH_TOKS}};

    for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
        char slot[32];

        snprintf(slot, sizeof slot, "%s_%s", kind, s[i].shape);
        d->rows = s[i].rows;
        d->toks = s[i].toks;
        bench(filter, slot, name, call, d, (double)d->rows * (double)row,
              (double)(d->rows * d->toks) * N);
    }
}

static void bench_products(const char *filter, bench_data *d) {
    rng r = {1};

    for (elem_type t = 0; t < TYPE_COUNT; t++) {
        const char *name = type_get((uint32_t)t)->name;
        const size_t row = name ? type_row_bytes(t, N) : 0, x = act_bytes(act_of(t), N);

        if (!c_table.matmul[t]) continue;
        d->type = t;
        make_weights(d->w, t, d->w_size / row * N, BITS_RANDOM, &r);
        for (size_t i = 0; i < BATCH_TOKS; i++) {
            c_table.quant_act[act_of(t)](d->act + i * x, d->f + i * 8, N);
        }
        bench_product(filter, "matmul", call_matmul, d);
        if (best_table.matmul_groups[t]) bench_product(filter, "groups", call_groups, d);
    }
}

static void bench_cache(const char *filter, bench_data *d) {
    static const char *names[] = {"f16", "q8_0", "f32"};

    for (kv_form f = 0; f < KVT_COUNT; f++) {
        const size_t row = kv_row_bytes(f, HEAD);
        const double macs = (double)HEADS * KV_TOKS * HEAD;

        d->form = f;
        bench(filter, "kv_store", names[f], call_store, d, HEADS * HEAD * 4.0, 0);
        for (size_t i = 0; i < KV_TOKS; i++) {
            c_table.kv_store[f](d->kv + i * row, d->f + i, HEAD);
        }
        bench(filter, "attn_qk", names[f], call_qk, d, (double)row * KV_TOKS, macs);
        bench(filter, "attn_pv", names[f], call_pv, d, (double)row * KV_TOKS, macs);
    }
}

static void bench_vectors(const char *filter, bench_data *d) {
    d->act_kind = ACT_Q8_32;
    bench(filter, "quant_act", "q8_32", call_quant, d, N * 4.0, 0);
    d->act_kind = ACT_Q8_K;
    bench(filter, "quant_act", "q8_k", call_quant, d, N * 4.0, 0);
    bench(filter, "dot_f32", NULL, call_dot, d, N * 8.0, N);
    bench(filter, "axpy_f32", NULL, call_axpy, d, N * 8.0, N);
    bench(filter, "rms_norm", NULL, call_norm, d, N * 8.0, 0);
    bench(filter, "silu_mul", NULL, call_silu, d, N * 8.0, 0);
    bench(filter, "exp_sum", NULL, call_exp, d, N * 4.0, 0);
    bench(filter, "max_f32", NULL, call_max, d, N * 4.0, 0);
    bench(filter, "rope_norm", NULL, call_rope_norm, d, HEAD * 8.0, 0);
    bench(filter, "rope_neox", NULL, call_rope_neox, d, HEAD * 8.0, 0);
    bench(filter, "read_sum", NULL, call_read, d, (double)d->w_size, 0);
}

/* Weights are made before: untouched pages would all be one page of zeros, which caches hold. */
static void measure_limit(bench_data *d) {
    double least = 0;

    for (int i = 0; i < ROUNDS; i++) {
        const double ns = time_call(call_read, &best_table, d);

        if (i == 0 || ns < least) least = ns;
    }
    read_limit = (double)d->w_size / least;
    printf("limit: one thread reads %.2f GB/s from memory (best of %d passes over %d MB)\n",
           read_limit, ROUNDS, MATRIX_MB);
}

int kern_bench(const char *filter, uint32_t features) {
    bench_data d = {.w_size = (size_t)MATRIX_MB << 20};
    rng r = {1};

    kern_fill(&c_table, EW_CPU_GENERIC);
    kern_fill(&best_table, features);
    d.w = mem_array(d.w_size, 1);
    d.f = mem_array(4 * N, sizeof *d.f);
    d.y = mem_array(d.w_size / (N / 5), sizeof *d.y);
    d.act = mem_array(BATCH_TOKS * N, sizeof(float));
    d.kv = mem_array(KV_TOKS * HEAD, sizeof(float));
    if (d.w && d.f && d.y && d.act && d.kv) {
        for (size_t i = 0; i < 4 * N; i++) d.f[i] = rng_float(&r);
        make_weights(d.w, TYPE_F32, d.w_size / sizeof(float), BITS_RANDOM, &r);
        measure_limit(&d);
        bench_products(filter, &d);
        bench_cache(filter, &d);
        bench_vectors(filter, &d);
    }
    mem_free(d.w);
    mem_free(d.f);
    mem_free(d.y);
    mem_free(d.act);
    mem_free(d.kv);
    return 0;
}
