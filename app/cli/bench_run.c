/* SPDX-License-Identifier: MIT
 *
 * Measuring. For each number of threads: the read bandwidth is probed, the model opened, and one
 * session goes through all tests; a test's cache is brought to its depth once and rewound to it
 * before each run. Tokens are random, from a fixed seed, as speed does not depend on them.
 *
 * Prompt-only and generation-only tests are what llama-bench measures: evaluation alone, the ids
 * fixed beforehand. A request (prompt and generation) goes through ew_generate() like any other:
 * its figures include choosing each token (greedily) and making it text. */
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/term.h"
#include "cli/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum {
    SEED = 42,
    WARM_GEN = 16,          /* tokens generated to warm up: more teach nothing */
    PROBE_ROUNDS = 3,       /* passes of one probe, the best of which counts */
    PROBE_BYTES = 512 << 20 /* larger than any cache a PC has */
};

/* State of the tests that share a session. */
typedef struct {
    bench *b;
    ew_engine *engine;
    ew_model *model;
    ew_session *session;
    ew_sampler *sampler;
    int32_t *tokens; /* n_tokens random ones: depth and prompt are taken from the start */
    size_t n_tokens;
    size_t at_depth; /* what the session holds, all of it from tokens */
} rig;

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void fill_tokens(rig *r) {
    const uint64_t n_vocab = (uint64_t)ew_n_vocab(r->model);
    uint64_t state = SEED;

    for (size_t i = 0; i < r->n_tokens; i++)
        r->tokens[i] = (int32_t)(next_random(&state) % n_vocab);
    if (ew_model_adds_bos(r->model) && ew_token_bos(r->model) >= 0)
        r->tokens[0] = ew_token_bos(r->model);
}

/* ---- one run -------------------------------------------------------------------------------- */

static double per_second(size_t n, uint64_t us) {
    return us ? (double)n * 1e6 / (double)us : 0;
}

static ew_status run_prompt(rig *r, const bench_test *t, bench_sample *s, ew_error *err) {
    const uint64_t start = clock_us();
    ew_status rc = ew_session_eval(r->session, r->tokens + t->depth, t->n_prompt, err);

    s->t_us = clock_us() - start;
    s->v[FIG_PREFILL] = per_second(t->n_prompt, s->t_us);
    return rc;
}

static ew_status run_gen(rig *r, const bench_test *t, size_t n_gen, bench_sample *s,
                         ew_error *err) {
    const uint64_t start = clock_us();
    ew_status rc = EW_OK;

    for (size_t i = 0; rc == EW_OK && i < n_gen; i++)
        rc = ew_session_eval(r->session, r->tokens + t->depth + i, 1, err);
    s->t_us = clock_us() - start;
    s->v[FIG_DECODE] = per_second(n_gen, s->t_us);
    return rc;
}

static ew_status run_request(rig *r, const bench_test *t, size_t n_gen, bench_sample *s,
                             ew_error *err) {
    ew_generate_options o;
    ew_generate_result g;
    ew_status rc;

    ew_generate_defaults(&o);
    o.n_predict = (int64_t)n_gen;
    o.ignore_eos = true;
    ew_sampler_reset(r->sampler);
    rc = ew_generate(r->session, r->sampler, r->tokens, t->depth + t->n_prompt, &o, &g, err);
    if (rc) return rc;
    if (g.n_generated != n_gen || g.n_evaluated != t->n_prompt)
        return fail(err, EW_EFORMAT, "%s: %zu tokens evaluated and %zu generated (stopped by: %s)",
                    t->name, g.n_evaluated, g.n_generated, ew_stop_reason_name(g.reason));
    s->t_us = g.t_wall_us;
    s->v[FIG_PREFILL] = per_second(g.n_evaluated, g.t_prefill_us);
    s->v[FIG_DECODE] = per_second(g.n_generated - 1, g.t_decode_us);
    s->v[FIG_WALL] = per_second(g.n_generated, g.t_wall_us);
    s->v[FIG_FIRST] = (double)g.t_first_us / 1e3;
    return EW_OK;
}

static ew_status run_once(rig *r, const bench_test *t, bool is_warm_up, bench_sample *s,
                          ew_error *err) {
    const size_t n_gen = is_warm_up && t->n_gen > WARM_GEN ? WARM_GEN : t->n_gen;

    ew_session_rewind(r->session, t->depth);
    if (t->n_gen == 0) return run_prompt(r, t, s, err);
    if (t->n_prompt == 0) return run_gen(r, t, n_gen, s, err);
    return run_request(r, t, n_gen, s, err);
}

/* ---- one test ------------------------------------------------------------------------------- */

/* The session holds the first t->depth tokens afterwards. */
static ew_status go_to_depth(rig *r, const bench_test *t, ew_error *err) {
    ew_status rc = EW_OK;

    ew_session_rewind(r->session, r->at_depth < t->depth ? r->at_depth : t->depth);
    if (t->depth > r->at_depth)
        rc = ew_session_eval(r->session, r->tokens + r->at_depth, t->depth - r->at_depth, err);
    if (rc == EW_OK) r->at_depth = t->depth;
    return rc;
}

/* s NULL: all runs together. In words only what no earlier run had: one neighbour that stays busy
 * needs no line for each run. */
static void note(bench_test *t, const watch *from, const watch *to, bench_sample *s) {
    strbuf why;
    unsigned bits;

    strbuf_init(&why, 1024);
    bits = watch_judge(from, to, &why);
    if ((bits & ~t->disturbed) && why.n) {
        if (t->why.n) strbuf_puts(&t->why, "; ");
        if (s)
            strbuf_printf(&t->why, "in run %zu ", t->n_sample + 1);
        else
            strbuf_puts(&t->why, "over all runs ");
        strbuf_add(&t->why, why.p, why.n);
    }
    if (s) s->disturbed = bits;
    t->disturbed |= bits;
    strbuf_fini(&why);
}

static ew_status run_test(rig *r, bench_test *t, ew_error *err) {
    char label[128];
    progress bar;
    watch first, from, to;
    ew_status rc;

    snprintf(label, sizeof label, "%s at depth %zu, %d threads", t->name, t->depth, t->n_threads);
    progress_start(&bar, label);
    progress_show(&bar, 0);
    rc = go_to_depth(r, t, err);
    if (rc == EW_OK) rc = run_once(r, t, true, &(bench_sample){.t_us = 0}, err);
    watch_read(&first, "");
    while (rc == EW_OK && t->n_sample < (size_t)r->b->args->n_rep) {
        bench_sample *s = &t->samples[t->n_sample];

        progress_show(&bar, (double)(t->n_sample + 1) / (double)(r->b->args->n_rep + 1));
        watch_read(&from, "");
        rc = run_once(r, t, false, s, err);
        watch_read(&to, "");
        note(t, &from, &to, s);
        if (to.temp_c > r->b->temp_c) r->b->temp_c = to.temp_c;
        t->n_sample++;
    }
    /* Short runs can't be judged one by one. */
    if (rc == EW_OK && !t->disturbed) note(t, &first, &to, NULL);
    progress_end(&bar);
    if (t->n_gen)
        t->bytes_per_token =
            ew_session_bytes_per_token(r->session, t->depth + t->n_prompt + t->n_gen / 2);
    return rc;
}

/* ---- all tests of one number of threads ------------------------------------------------------ */

static size_t tokens_needed(const bench *b) {
    size_t max = 1;

    for (size_t i = 0; i < b->n_test; i++) {
        const bench_test *t = &b->tests[i];

        if (t->depth + t->n_prompt + t->n_gen > max) max = t->depth + t->n_prompt + t->n_gen;
    }
    return max;
}

static ew_status open_rig(rig *r, ew_error *err) {
    bench *b = r->b;
    ew_session_options so;
    ew_sampler_options sampling;
    ew_status rc;

    r->n_tokens = tokens_needed(b);
    setup_session_options(&b->args->engine, &so);
    if (b->args->engine.ctx_size && (size_t)b->args->engine.ctx_size < r->n_tokens)
        return fail(err, EW_EINVAL, "the tests need a window of %zu tokens, -c gives %lld",
                    r->n_tokens, (long long)b->args->engine.ctx_size);
    if (!b->args->engine.ctx_size) so.ctx_tokens = (uint32_t)r->n_tokens;
    b->ctx_tokens = so.ctx_tokens;
    b->chunk_tokens = so.chunk_tokens ? so.chunk_tokens : 512;
    r->tokens = mem_array(r->n_tokens, sizeof *r->tokens);
    if (!r->tokens) return fail(err, EW_ENOMEM, "out of memory");
    fill_tokens(r);
    rc = ew_session_new(&r->session, r->model, &so, err);
    if (rc) return rc;
    ew_sampler_defaults(&sampling);
    sampling.temperature = 0;
    sampling.ignore_eos = true;
    return ew_sampler_new(&r->sampler, r->model, &sampling, err);
}

static void close_rig(rig *r) {
    ew_sampler_free(r->sampler);
    ew_session_free(r->session);
    mem_free(r->tokens);
    setup_close(r->engine, r->model);
}

/* Accounts and peak while everything is still there. */
static void take_memory(rig *r) {
    bench *b = r->b;
    const uint64_t peak = ew_engine_memory_peak(r->engine), process = watch_peak_memory();

    if (process > b->memory_peak) b->memory_peak = process;
    if (peak <= b->accounts_peak) return;
    b->accounts_peak = peak;
    for (int a = 0; a < EW_MEM_COUNT; a++)
        b->accounts[a] = ew_engine_memory(r->engine, (ew_account)a);
}

static void take_identity(rig *r) {
    bench *b = r->b;
    const ew_file *f = ew_model_file(r->model);
    ew_model_info info = {.size = sizeof info};

    ew_model_info_get(r->model, &info);
    snprintf(b->model_name, sizeof b->model_name, "%s", info.name);
    snprintf(b->architecture, sizeof b->architecture, "%s", info.architecture);
    snprintf(b->file_type, sizeof b->file_type, "%s", info.file_type);
    b->n_param = info.n_param;
    b->n_param_active = info.n_param_active;
    b->n_expert = info.n_expert;
    b->n_expert_used = info.n_expert_used;
    b->ctx_train = info.ctx_train;
    b->file_bytes = ew_file_bytes(f);
    b->n_part = ew_file_n_part(f);
    b->types = weight_types_of(f);
    b->features = ew_engine_cpu(r->engine);
}

static int run_tests(bench *b, int32_t n_threads) {
    engine_args ea = b->args->engine;
    rig r = {.b = b};
    const uint64_t start = clock_us();
    ew_error err = {0};
    ew_status rc;
    int status;

    ea.threads = n_threads;
    status = setup_open(&ea, b->path, false, &r.engine, &r.model);
    if (status) return status;
    if (b->load_us == 0) { /* the first of all numbers of threads */
        b->load_us = clock_us() - start;
        setup_warn_of_window(r.model, tokens_needed(b));
    }
    take_identity(&r);
    rc = open_rig(&r, &err);
    for (size_t i = 0; rc == EW_OK && i < b->n_test; i++)
        if (b->tests[i].n_threads == n_threads) rc = run_test(&r, &b->tests[i], &err);
    if (rc == EW_OK) take_memory(&r);
    close_rig(&r);
    return rc ? say_error(&err) : EXIT_OK;
}

/* ---- bandwidth ------------------------------------------------------------------------------ */

static uint64_t probe_bytes(void) {
    ew_machine m = {.size = sizeof m};
    uint64_t n = PROBE_BYTES;

    ew_machine_read(&m);
    if (m.memory_available && n > m.memory_available / 8) n = m.memory_available / 8;
    return n;
}

/* Half of the probes of one number of threads, with an engine of its own, so that the accounts of
 * the measured one stay clean. */
static int probe(bench *b, bench_bandwidth *bw) {
    ew_engine_options o;
    ew_engine *e = NULL;
    ew_error err = {0};
    ew_status rc;

    if (b->args->no_probe) return EXIT_OK;
    ew_engine_defaults(&o);
    o.n_threads = bw->n_threads;
    o.cpu_mask = b->args->engine.cpu_mask;
    rc = ew_engine_new(&e, &o, &err);
    for (int i = 0; rc == EW_OK && i < BENCH_PROBES / 2; i++)
        rc = ew_engine_read_bandwidth(e, probe_bytes(), PROBE_ROUNDS, &bw->v[bw->n++], &err);
    ew_engine_free(e);
    return rc ? say_error(&err) : EXIT_OK;
}

static int run_threads(bench *b, int32_t n_threads) {
    bench_bandwidth *bw = &b->bandwidth[b->n_bandwidth++];
    int status;

    *bw = (bench_bandwidth){.n_threads = n_threads};
    status = probe(b, bw);
    if (status) return status;
    if (!b->args->no_probe && !watch_reset_peak()) b->peak_has_probe = true;
    if (b->memory_before == 0) b->memory_before = watch_memory();
    status = run_tests(b, n_threads);
    return status ? status : probe(b, bw);
}

/* ---- all ------------------------------------------------------------------------------------ */

static int take_machine(bench *b) {
    struct utsname u;
    watch w;
    ew_error err = {0};

    b->machine.size = sizeof b->machine;
    ew_machine_read(&b->machine);
    if (uname(&u) == 0)
        snprintf(b->system, sizeof b->system, "%.60s %.60s %.60s", u.sysname, u.release, u.machine);
    watch_read(&w, "");
    b->sees_cpu = w.sees_cpu;
    b->sees_swap = w.sees_swap;
    b->sees_heat = w.sees_heat;
    if (b->args->sha && sha256_file(&b->sha, b->path, &err)) return say_error(&err);
    return EXIT_OK;
}

static void take_shares(bench *b) {
    for (size_t i = 0; i < b->n_test; i++) {
        bench_test *t = &b->tests[i];
        const double bandwidth = bench_bandwidth_median(b, t->n_threads);

        if (bandwidth > 0 && t->n_gen)
            t->share =
                bench_spread_of(t, FIG_DECODE).median * (double)t->bytes_per_token / bandwidth;
    }
}

int bench_run(bench *b) {
    const int_list *threads = &b->args->threads;
    int status = take_machine(b);

    for (size_t i = 0; status == EXIT_OK && i < threads->n; i++)
        status = run_threads(b, (int32_t)threads->v[i]);
    if (status == EXIT_OK) take_shares(b);
    return status;
}

/* ---- figures -------------------------------------------------------------------------------- */

bool bench_has(const bench_test *t, bench_figure f) {
    switch (f) {
    case FIG_PREFILL:
        return t->n_prompt > 0;
    case FIG_DECODE: /* a request's first token belongs to the prompt */
        return t->n_gen > (t->n_prompt ? 1 : 0);
    case FIG_WALL:
    case FIG_FIRST:
        return t->n_prompt > 0 && t->n_gen > 0;
    case FIG_COUNT:
        break;
    }
    return false;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static bench_spread spread(double *v, size_t n) {
    bench_spread s = {0};

    if (n == 0) return s;
    qsort(v, n, sizeof *v, ascending);
    s.min = v[0];
    s.max = v[n - 1];
    s.median = (v[(n - 1) / 2] + v[n / 2]) / 2;
    return s;
}

bench_spread bench_spread_of(const bench_test *t, bench_figure f) {
    double *v = mem_array(t->n_sample, sizeof *v);
    bench_spread s = {0};

    if (!v) return s;
    for (size_t i = 0; i < t->n_sample; i++) v[i] = t->samples[i].v[f];
    s = spread(v, t->n_sample);
    mem_free(v);
    return s;
}

double bench_bandwidth_median(const bench *b, int32_t n_threads) {
    for (size_t i = 0; i < b->n_bandwidth; i++) {
        bench_bandwidth bw = b->bandwidth[i];

        if (bw.n_threads == n_threads) return spread(bw.v, bw.n).median;
    }
    return 0;
}
