/* SPDX-License-Identifier: MIT
 *
 * What a benchmark is asked, and what it finds: bench.c reads the options, bench_run.c measures,
 * bench_report.c writes. */
#ifndef EW_CLI_BENCH_H
#define EW_CLI_BENCH_H

#include "base/sha256.h"
#include "base/str.h"
#include "cli/setup.h"
#include "cli/weights.h"

enum {
    BENCH_PAIRS_MAX = 16,
    BENCH_PROBES = 6 /* of the read bandwidth: three before the runs, three after */
};

typedef struct {
    int64_t n_prompt, n_gen;
} bench_pair;

typedef struct {
    int_list prompt, gen, depth, threads;
    bench_pair pair[BENCH_PAIRS_MAX];
    size_t n_pair;
    int64_t n_rep;
    bool no_probe, sha, json, csv;
    engine_args engine; /* threads: filled in from the list */
} bench_args;

/* What is measured. A run of one kind has some of them; the others are 0. */
typedef enum {
    FIG_PREFILL, /* tokens/s */
    FIG_DECODE,  /* tokens/s */
    FIG_WALL,    /* generated tokens / time from request to last token */
    FIG_FIRST,   /* ms from request to first token */
    FIG_COUNT
} bench_figure;

typedef struct {
    double v[FIG_COUNT];
    uint64_t t_us;
    unsigned disturbed; /* WATCH_* bits */
} bench_sample;

typedef struct {
    double median, min, max;
} bench_spread;

/* n_gen 0: prompt only; n_prompt 0: generation only; both: one request. */
typedef struct {
    char name[48]; /* "pp512", "tg128", "pp512+tg128" */
    size_t n_prompt, n_gen, depth;
    int32_t n_threads;
    bench_sample *samples;
    size_t n_sample;
    unsigned disturbed;       /* any sample's bits, and those seen over all of them */
    strbuf why;               /* in words */
    uint64_t bytes_per_token; /* weights and KV cache read for one token, half way; 0: no n_gen */
    double share;             /* of the read bandwidth; 0: not known */
} bench_test;

/* Read bandwidth with one number of threads. */
typedef struct {
    int32_t n_threads;
    double v[BENCH_PROBES]; /* bytes/s */
    size_t n;
} bench_bandwidth;

typedef struct {
    const bench_args *args;
    const char *path;
    /* what ran, and on what */
    char model_name[128], architecture[64], file_type[32];
    uint64_t n_param, n_param_active, file_bytes;
    uint32_t n_expert, n_expert_used; /* 0: dense */
    uint32_t n_part, ctx_train;
    weight_types types;
    sha256_hex sha; /* "" when not asked for */
    ew_machine machine;
    char system[200];  /* "Linux 6.1.0 x86_64" */
    uint32_t features; /* EW_CPU_* in use */
    uint32_t ctx_tokens, chunk_tokens;
    /* what was found */
    bench_test *tests;
    size_t n_test;
    bench_bandwidth bandwidth[INT_LIST_MAX];
    size_t n_bandwidth;
    uint64_t load_us;                /* the first load */
    uint64_t memory_before;          /* resident before the first load */
    uint64_t memory_peak;            /* of the process, probes not counted; 0: not told */
    uint64_t accounts[EW_MEM_COUNT]; /* when their sum was largest */
    uint64_t accounts_peak;
    bool peak_has_probe; /* the system can't start the peak anew after the probe */
    bool sees_cpu, sees_swap, sees_heat;
    double temp_c; /* highest seen; 0: not told */
} bench;

int bench_run(bench *b);    /* measures all; returns the exit status, having said what failed */
int bench_report(bench *b); /* as table, JSON or CSV, as asked */

bool bench_has(const bench_test *t, bench_figure f);
bench_spread bench_spread_of(const bench_test *t, bench_figure f);
double bench_bandwidth_median(const bench *b, int32_t n_threads); /* 0: not measured */

#endif
