/* SPDX-License-Identifier: MIT
 *
 * edgewise bench: how fast a model runs here, and what of it the memory allows. */
#include "cli/bench.h"

#include "base/error.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/pick.h"
#include "cli/print.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_TOKENS = 1 << 24, /* of a prompt, a generation, a depth */
    MAX_REPS = 1000
};

static ew_status parse_pair(void *at, const char *value, ew_error *err) {
    bench_args *a = at;
    const char *comma = strchr(value, ',');
    char first[24] = {0};
    bench_pair p;

    if (!comma || (size_t)(comma - value) >= sizeof first)
        return fail(err, EW_EINVAL, "expected two numbers, as in 512,128");
    memcpy(first, value, (size_t)(comma - value));
    if (!parse_int(first, &p.n_prompt) || !parse_int(comma + 1, &p.n_gen) || p.n_prompt < 1 ||
        p.n_gen < 1 || p.n_prompt > MAX_TOKENS || p.n_gen > MAX_TOKENS)
        return fail(err, EW_EINVAL, "expected two numbers of at least 1, as in 512,128");
    if (a->n_pair == BENCH_PAIRS_MAX)
        return fail(err, EW_EINVAL, "at most %d pairs", BENCH_PAIRS_MAX);
    a->pair[a->n_pair++] = p;
    return EW_OK;
}

static const option bench_options[] = {
    {"-p --n-prompt", "N,...", "prompt lengths to measure alone (512); 0: none", OPT_INTS,
     offsetof(bench_args, prompt), 0, MAX_TOKENS, NULL},
    {"-n --n-gen", "N,...", "numbers of tokens to generate alone (128); 0: none", OPT_INTS,
     offsetof(bench_args, gen), 0, MAX_TOKENS, NULL},
    {"-pg --n-prompt-gen", "P,N",
     "a whole request: P tokens of prompt, then N generated; may be given\n"
     "several times (the first of -p with the first of -n)",
     OPT_CALL, 0, 0, 0, parse_pair},
    {"-d --n-depth", "N,...", "tokens that are in the cache before (0)", OPT_INTS,
     offsetof(bench_args, depth), 0, MAX_TOKENS, NULL},
    {"-t --threads", "N,...", "numbers of threads (the physical cores this process may use)",
     OPT_INTS, offsetof(bench_args, threads), 1, THREADS_MAX, NULL},
    {"-r --repetitions", "N", "measured runs of each test, after one to warm up (5)", OPT_INT,
     offsetof(bench_args, n_rep), 1, MAX_REPS, NULL},
    {"--no-probe", NULL, "don't measure the memory's read bandwidth", OPT_FLAG,
     offsetof(bench_args, no_probe), 0, 0, NULL},
    {"--sha", NULL, "name the file by its SHA-256 (reads it once)", OPT_FLAG,
     offsetof(bench_args, sha), 0, 0, NULL},
    {"--json", NULL, "write JSON, with every run", OPT_FLAG, offsetof(bench_args, json), 0, 0,
     NULL},
    {"--csv", NULL, "write CSV, a line a test", OPT_FLAG, offsetof(bench_args, csv), 0, 0, NULL},
};

/* The engine's options without -t, which is a list here. */
static option_group other_options(engine_args *a) {
    static option kept[32];
    option_group g = engine_args_group(a);
    size_t n = 0;

    for (size_t i = 0; i < g.n && n < sizeof kept / sizeof *kept; i++)
        if (strncmp(g.options[i].names, "-t ", 3) != 0) kept[n++] = g.options[i];
    g.options = kept;
    g.n = n;
    return g;
}

static size_t count_tests(const bench_args *a) {
    size_t n = a->n_pair;

    for (size_t i = 0; i < a->prompt.n; i++) n += a->prompt.v[i] > 0;
    for (size_t i = 0; i < a->gen.n; i++) n += a->gen.v[i] > 0;
    return n * a->depth.n * a->threads.n;
}

static void add_test(bench *b, int64_t n_prompt, int64_t n_gen, int64_t depth, int64_t threads) {
    bench_test *t = &b->tests[b->n_test++];

    *t = (bench_test){.n_prompt = (size_t)n_prompt,
                      .n_gen = (size_t)n_gen,
                      .depth = (size_t)depth,
                      .n_threads = (int32_t)threads};
    strbuf_init(&t->why, 4096);
    if (n_gen == 0)
        snprintf(t->name, sizeof t->name, "pp%zu", t->n_prompt);
    else if (n_prompt == 0)
        snprintf(t->name, sizeof t->name, "tg%zu", t->n_gen);
    else
        snprintf(t->name, sizeof t->name, "pp%zu+tg%zu", t->n_prompt, t->n_gen);
}

/* Tests of one number of threads stand together, and in them those of one depth. */
static bool list_tests(bench *b) {
    const bench_args *a = b->args;
    const size_t n = count_tests(a);

    b->tests = mem_array(n, sizeof *b->tests);
    if (!b->tests) return false;
    for (size_t it = 0; it < a->threads.n; it++) {
        for (size_t id = 0; id < a->depth.n; id++) {
            const int64_t d = a->depth.v[id], t = a->threads.v[it];

            for (size_t i = 0; i < a->prompt.n; i++)
                if (a->prompt.v[i]) add_test(b, a->prompt.v[i], 0, d, t);
            for (size_t i = 0; i < a->gen.n; i++)
                if (a->gen.v[i]) add_test(b, 0, a->gen.v[i], d, t);
            for (size_t i = 0; i < a->n_pair; i++)
                add_test(b, a->pair[i].n_prompt, a->pair[i].n_gen, d, t);
        }
    }
    for (size_t i = 0; i < b->n_test; i++) {
        b->tests[i].samples = mem_array((size_t)a->n_rep, sizeof(bench_sample));
        if (!b->tests[i].samples) return false;
    }
    return true;
}

static void bench_fini(bench *b) {
    for (size_t i = 0; i < b->n_test; i++) {
        mem_free(b->tests[i].samples);
        strbuf_fini(&b->tests[i].why);
    }
    mem_free(b->tests);
}

/* Each number of threads once: its tests are run together. */
static void drop_repeated(int_list *l) {
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++) {
        size_t j = 0;

        while (j < n && l->v[j] != l->v[i]) j++;
        if (j == n) l->v[n++] = l->v[i];
    }
    l->n = n;
}

static void fill_in(bench_args *a) {
    if (a->threads.n == 0) {
        ew_machine m = {.size = sizeof m};

        ew_machine_read(&m);
        a->threads = (int_list){{m.n_core_usable > 0 ? m.n_core_usable : 1}, 1};
    }
    drop_repeated(&a->threads);
    if (a->n_pair == 0 && a->prompt.v[0] && a->gen.v[0])
        a->pair[a->n_pair++] = (bench_pair){a->prompt.v[0], a->gen.v[0]};
}

static int measure(const bench_args *a, const char *path) {
    bench *b = mem_array(1, sizeof *b);
    int status;

    if (!b) return say_no_memory();
    b->args = a;
    b->path = path;
    status = list_tests(b) ? bench_run(b) : say_no_memory();
    if (status == EXIT_OK) status = bench_report(b);
    bench_fini(b);
    mem_free(b);
    return status;
}

int cmd_bench(int argc, char **argv) {
    bench_args a = {.prompt = {{512}, 1}, .gen = {{128}, 1}, .depth = {{0}, 1}, .n_rep = 5};
    const option_group groups[] = {
        {"Options", bench_options, sizeof bench_options / sizeof bench_options[0], &a},
        other_options(&a.engine)};
    const usage u = {.command = "bench",
                     .synopsis = "FILE",
                     .about =
                         "Measures prefill, decode and wall speed, time to first token and memory.",
                     .examples = "edgewise bench model.gguf\n"
                                 "edgewise bench model.gguf -p 512,2048 -n 64 -d 0,4096 -t 1,2,4\n"
                                 "edgewise bench model.gguf -p 0 -n 0 -pg 1024,256 --json",
                     .groups = groups,
                     .n_group = 2,
                     .min_args = 1,
                     .max_args = 1};
    char *path;
    int status;

    engine_args_defaults(&a.engine);
    if (!options_parse(&u, &argc, argv, &status)) return status;
    if (a.json && a.csv) return usage_error(&u, "--json and --csv exclude each other");
    fill_in(&a);
    if (count_tests(&a) == 0)
        return usage_error(&u, "nothing to measure: -p, -n and -pg are empty");
    path = pick_model(argv[0], false, &status);
    if (path) status = measure(&a, path);
    mem_free(path);
    return status;
}
