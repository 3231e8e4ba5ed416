/* SPDX-License-Identifier: MIT
 *
 * Writing what a benchmark found: for people, for programs, for spreadsheets. Each says what the
 * figures include. */
#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/term.h"
#include "cli/watch.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *label, *key, *unit;
} figures[FIG_COUNT] = {
    [FIG_PREFILL] = {"prefill", "prefill_tokens_per_second", "tokens/s"},
    [FIG_DECODE] = {"decode", "decode_tokens_per_second", "tokens/s"},
    [FIG_WALL] = {"wall", "wall_tokens_per_second", "tokens/s"},
    [FIG_FIRST] = {"first token", "first_token_ms", "ms"},
};

/* What each kind of test covers; the same words in every format. */
static const struct {
    const char *key, *text;
} covers[] = {
    {"pp", "evaluating a prompt alone, and the logits after its last token; no sampling"},
    {"tg", "evaluating tokens one by one, their ids fixed beforehand; no sampling"},
    {"pp+tg", "a request as ew_generate serves it: prefill is the evaluation of the prompt, decode "
              "the tokens after the first, wall all generated tokens over the time from request to "
              "last token; greedy sampling and detokenizing are included"},
    {"excluded", "loading, tokenizing, chat templates, the warm-up run, filling the cache to the "
                 "depth"},
};

enum {
    N_COVERS = sizeof covers / sizeof covers[0]
};

static const char *build_text(void) {
#ifdef __clang__
    return "edgewise " EW_VERSION ", compiled by " __VERSION__; /* "Clang 14.0.6" */
#else
    return "edgewise " EW_VERSION ", compiled by GCC " __VERSION__;
#endif
}

static const char *cpu_text(uint32_t features) {
    if (features & EW_CPU_AVX512) return "avx512";
    if (features & EW_CPU_AVX2) return "avx2";
    return "generic";
}

static size_t count_disturbed(const bench_test *t) {
    size_t n = 0;

    for (size_t i = 0; i < t->n_sample; i++) n += t->samples[i].disturbed != 0;
    return n;
}

static bool is_depth_used(const bench *b) {
    for (size_t i = 0; i < b->n_test; i++)
        if (b->tests[i].depth) return true;
    return false;
}

/* ---- table ---------------------------------------------------------------------------------- */

static void print_types(const bench *b) {
    char size[24];

    for (size_t i = 0; i < b->types.n; i++)
        printf("%s%s %s", i ? ", " : " (", b->types.v[i].type,
               size_text(size, b->types.v[i].n_bytes));
    if (b->types.n) putchar(')');
}

static void print_identity(const bench *b) {
    const engine_args *e = &b->args->engine;
    char n[24], active[24], size[24], mem[24];

    printf("file        %s", b->path);
    if (b->n_part > 1) printf(" and %u more parts", b->n_part - 1);
    printf("\nmodel       %s%s%s%s%s, %s parameters", b->model_name, b->model_name[0] ? ", " : "",
           b->architecture, b->file_type[0] ? ", " : "", b->file_type, count_text(n, b->n_param));
    if (b->n_expert)
        printf(", %s active (%u of %u experts)", count_text(active, b->n_param_active),
               b->n_expert_used, b->n_expert);
    printf(", %s", size_text(size, b->types.n_bytes));
    print_types(b);
    if (b->sha.hex[0]) printf("\nsha256      %s", b->sha.hex);
    printf("\nmachine     %s, %s of memory, %s\n",
           b->machine.cpu_name[0] ? b->machine.cpu_name : "CPU not named",
           size_text(mem, b->machine.memory_physical), b->system);
    printf("settings    KV cache %s/%s, window %u, chunk %u, kernels %s%s%s%s\n",
           ew_kv_type_name(e->type_k), ew_kv_type_name(e->type_v), b->ctx_tokens, b->chunk_tokens,
           cpu_text(b->features), e->is_float ? ", float activations" : "",
           e->no_mmap ? ", no mmap" : "", e->no_pack ? ", not packed" : "");
    printf("build       %s\n", build_text());
}

static void print_bandwidth(const bench *b) {
    for (size_t i = 0; i < b->n_bandwidth; i++) {
        const bench_bandwidth *bw = &b->bandwidth[i];
        double min = bw->n ? bw->v[0] : 0, max = min;

        if (!bw->n) continue;
        for (size_t k = 1; k < bw->n; k++) {
            if (bw->v[k] < min) min = bw->v[k];
            if (bw->v[k] > max) max = bw->v[k];
        }
        printf("bandwidth   %.2f GB/s read by %d thread%s (median of %zu, %.2f to %.2f)\n",
               bench_bandwidth_median(b, bw->n_threads) / 1e9, bw->n_threads,
               bw->n_threads == 1 ? "" : "s", bw->n, min / 1e9, max / 1e9);
    }
}

static void print_share(const bench_test *t) {
    char size[24];

    if (!t->bytes_per_token) return;
    printf("  %s a token", size_text(size, t->bytes_per_token));
    if (t->share > 1)
        printf(", which caches hold");
    else if (t->share > 0)
        printf(", %.0f %% of bandwidth", 100 * t->share);
}

static void print_test(const bench *b, const bench_test *t) {
    const size_t n_bad = count_disturbed(t);
    bool is_first = true;

    for (int f = 0; f < FIG_COUNT; f++) {
        bench_spread s;

        if (!bench_has(t, (bench_figure)f)) continue;
        s = bench_spread_of(t, (bench_figure)f);
        if (is_first) {
            printf("%-16s %7d ", t->name, t->n_threads);
            if (is_depth_used(b)) printf("%6zu ", t->depth);
        } else {
            printf("%*s", is_depth_used(b) ? 32 : 25, "");
        }
        printf(" %-11s %10.2f %10.2f %10.2f  %s", figures[f].label, s.median, s.min, s.max,
               figures[f].unit);
        if (f == FIG_DECODE) print_share(t);
        if (is_first && t->disturbed) {
            if (n_bad)
                printf("  ! %zu of %zu runs disturbed", n_bad, t->n_sample);
            else
                printf("  ! disturbed");
        }
        putchar('\n');
        is_first = false;
    }
}

static void print_memory(const bench *b) {
    char peak[24], before[24], sum[24], each[24];

    if (b->memory_peak) {
        printf("memory      peak %s", size_text(peak, b->memory_peak));
        if (b->memory_before)
            printf(", %s of it before loading", size_text(before, b->memory_before));
        if (b->peak_has_probe) printf(" (may be the bandwidth probe's)");
        putchar('\n');
    }
    printf("accounts    %s", size_text(sum, b->accounts_peak));
    for (int a = 0, n = 0; a < EW_MEM_COUNT; a++)
        if (b->accounts[a])
            printf("%s%s %s", n++ ? ", " : ": ", ew_account_name((ew_account)a),
                   size_text(each, b->accounts[a]));
    putchar('\n');
}

static void print_not_seen(const bench *b) {
    if (b->sees_cpu && b->sees_swap && b->sees_heat) return;
    printf("not seen    this system doesn't tell of%s%s%s\n", b->sees_cpu ? "" : " other processes",
           b->sees_swap  ? ""
           : b->sees_cpu ? " swapping"
                         : ", swapping",
           b->sees_heat                  ? ""
           : b->sees_cpu && b->sees_swap ? " heat"
                                         : ", heat");
}

static void print_disturbed(const bench *b) {
    for (size_t i = 0; i < b->n_test; i++)
        if (b->tests[i].why.n)
            printf("disturbed   %s at depth %zu, %d thread%s: %s\n", b->tests[i].name,
                   b->tests[i].depth, b->tests[i].n_threads, b->tests[i].n_threads == 1 ? "" : "s",
                   b->tests[i].why.p);
}

static void print_table(const bench *b) {
    char load[24];

    print_identity(b);
    print_bandwidth(b);
    printf("\n%-16s %7s %s %-11s %10s %10s %10s\n", "test", "threads",
           is_depth_used(b) ? " depth " : "", "figure", "median", "min", "max");
    for (size_t i = 0; i < b->n_test; i++) print_test(b, &b->tests[i]);
    printf("\n%lld run%s of each test after one to warm up; loading took %s\n",
           (long long)b->args->n_rep, b->args->n_rep == 1 ? "" : "s", time_text(load, b->load_us));
    print_memory(b);
    if (b->temp_c > 0) printf("heat        %.0f C at most\n", b->temp_c);
    print_not_seen(b);
    print_disturbed(b);
    putchar('\n');
    for (size_t i = 0; i < N_COVERS; i++) printf("%-11s %s\n", covers[i].key, covers[i].text);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void set(json_t *o, const char *key, json_t *value) {
    json_object_set_new(o, key, value);
}

static void set_int(json_t *o, const char *key, uint64_t v) {
    set(o, key, json_integer((json_int_t)v));
}

static void set_text(json_t *o, const char *key, const char *text) {
    set(o, key, json_bytes(text, strlen(text)));
}

static json_t *disturbances_json(unsigned bits) {
    static const char *const names[] = {"other_process", "steal", "cpu_quota", "swap",
                                        "disk",          "heat",  "battery"};
    json_t *a = json_array();

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (bits & 1u << i) json_array_append_new(a, json_string(names[i]));
    return a;
}

static json_t *samples_json(const bench_test *t) {
    json_t *a = json_array();

    for (size_t i = 0; i < t->n_sample; i++) {
        const bench_sample *s = &t->samples[i];
        json_t *o = json_object();

        set_int(o, "time_us", s->t_us);
        for (int f = 0; f < FIG_COUNT; f++)
            if (bench_has(t, (bench_figure)f)) set(o, figures[f].key, json_number(s->v[f]));
        set(o, "disturbed", disturbances_json(s->disturbed));
        json_array_append_new(a, o);
    }
    return a;
}

static json_t *test_json(const bench_test *t) {
    json_t *o = json_object();

    set_text(o, "test", t->name);
    set_int(o, "n_prompt", t->n_prompt);
    set_int(o, "n_gen", t->n_gen);
    set_int(o, "depth", t->depth);
    set_int(o, "threads", (uint64_t)t->n_threads);
    for (int f = 0; f < FIG_COUNT; f++) {
        const bench_spread s = bench_spread_of(t, (bench_figure)f);

        if (bench_has(t, (bench_figure)f))
            set(o, figures[f].key,
                json_pack("{s:o, s:o, s:o}", "median", json_number(s.median), "min",
                          json_number(s.min), "max", json_number(s.max)));
    }
    if (t->n_gen) set_int(o, "bytes_per_token", t->bytes_per_token);
    if (t->share > 0) set(o, "bandwidth_share", json_number(t->share));
    set(o, "disturbed", disturbances_json(t->disturbed));
    set_text(o, "disturbed_text", t->why.p ? t->why.p : "");
    set(o, "runs", samples_json(t));
    return o;
}

static json_t *model_json(const bench *b) {
    json_t *o = json_object();

    set_text(o, "file", b->path);
    if (b->sha.hex[0]) set_text(o, "sha256", b->sha.hex);
    set_int(o, "parts", b->n_part);
    set_int(o, "file_bytes", b->file_bytes);
    set_text(o, "name", b->model_name);
    set_text(o, "architecture", b->architecture);
    set_text(o, "file_type", b->file_type);
    set_int(o, "parameters", b->n_param);
    set_int(o, "parameters_active", b->n_param_active);
    set_int(o, "tensor_bytes", b->types.n_bytes);
    set_int(o, "context_trained", b->ctx_train);
    set(o, "types", weight_types_json(&b->types));
    return o;
}

static json_t *machine_json(const bench *b) {
    json_t *o = json_object();

    set_text(o, "cpu", b->machine.cpu_name);
    set_text(o, "system", b->system);
    set_int(o, "cores_usable", (uint64_t)b->machine.n_core_usable);
    set_int(o, "memory_bytes", b->machine.memory_physical);
    set_int(o, "swap_used_bytes", b->machine.swap_used);
    if (b->temp_c > 0) set(o, "temperature_max_c", json_number(b->temp_c));
    set(o, "sees",
        json_pack("{s:b, s:b, s:b}", "other_processes", b->sees_cpu, "swapping", b->sees_swap,
                  "heat", b->sees_heat));
    return o;
}

static json_t *settings_json(const bench *b) {
    const engine_args *e = &b->args->engine;
    json_t *o = json_object();

    set_text(o, "type_k", ew_kv_type_name(e->type_k));
    set_text(o, "type_v", ew_kv_type_name(e->type_v));
    set_int(o, "ctx_tokens", b->ctx_tokens);
    set_int(o, "chunk_tokens", b->chunk_tokens);
    set_int(o, "repetitions", (uint64_t)b->args->n_rep);
    set_text(o, "kernels", cpu_text(b->features));
    set(o, "mmap", json_boolean(!e->no_mmap));
    set(o, "packed", json_boolean(!e->no_pack));
    set(o, "float_activations", json_boolean(e->is_float));
    return o;
}

static json_t *bandwidth_json(const bench *b) {
    json_t *a = json_array();

    for (size_t i = 0; i < b->n_bandwidth; i++) {
        const bench_bandwidth *bw = &b->bandwidth[i];
        json_t *probes = json_array();

        for (size_t k = 0; k < bw->n; k++) json_array_append_new(probes, json_number(bw->v[k]));
        json_array_append_new(
            a, json_pack("{s:i, s:o, s:o}", "threads", bw->n_threads, "bytes_per_second",
                         json_number(bench_bandwidth_median(b, bw->n_threads)), "probes", probes));
    }
    return a;
}

static json_t *memory_json(const bench *b) {
    json_t *o = json_object(), *accounts = json_object();

    set_int(o, "process_peak_bytes", b->memory_peak);
    set_int(o, "process_before_bytes", b->memory_before);
    set(o, "process_peak_has_probe", json_boolean(b->peak_has_probe));
    set_int(o, "accounts_peak_bytes", b->accounts_peak);
    for (int i = 0; i < EW_MEM_COUNT; i++)
        set_int(accounts, ew_account_name((ew_account)i), b->accounts[i]);
    set(o, "accounts", accounts);
    return o;
}

static int write_json(const bench *b) {
    json_t *root = json_object(), *tests = json_array(), *what = json_object();

    set_text(root, "build", build_text());
    set(root, "model", model_json(b));
    set(root, "machine", machine_json(b));
    set(root, "settings", settings_json(b));
    set_int(root, "load_us", b->load_us);
    if (!b->args->no_probe) set(root, "read_bandwidth", bandwidth_json(b));
    set(root, "memory", memory_json(b));
    for (size_t i = 0; i < b->n_test; i++) json_array_append_new(tests, test_json(&b->tests[i]));
    set(root, "tests", tests);
    for (size_t i = 0; i < N_COVERS; i++) set_text(what, covers[i].key, covers[i].text);
    set(root, "includes", what);
    return print_json(root);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

/* RFC 4180: quotes around, quotes inside doubled. */
static void csv_text(const char *s) {
    putchar('"');
    for (; *s; s++) {
        if (*s == '"') putchar('"');
        putchar(*s);
    }
    putchar('"');
}

static void write_csv(const bench *b) {
    const engine_args *e = &b->args->engine;

    fputs("file,model,file_type,parameters,tensor_bytes,cpu,kernels,type_k,type_v,ctx_tokens,"
          "chunk_tokens,test,n_prompt,n_gen,depth,threads,runs,disturbed_runs,disturbed",
          stdout);
    for (int f = 0; f < FIG_COUNT; f++)
        printf(",%s,%s_min,%s_max", figures[f].key, figures[f].key, figures[f].key);
    puts(",bytes_per_token,bandwidth_bytes_per_second,bandwidth_share,process_peak_bytes,"
         "accounts_peak_bytes");
    for (size_t i = 0; i < b->n_test; i++) {
        const bench_test *t = &b->tests[i];

        csv_text(b->path);
        putchar(',');
        csv_text(b->model_name);
        printf(",%s,%llu,%llu,", b->file_type, (unsigned long long)b->n_param,
               (unsigned long long)b->types.n_bytes);
        csv_text(b->machine.cpu_name);
        printf(",%s,%s,%s,%u,%u,%s,%zu,%zu,%zu,%d,%zu,%zu,", cpu_text(b->features),
               ew_kv_type_name(e->type_k), ew_kv_type_name(e->type_v), b->ctx_tokens,
               b->chunk_tokens, t->name, t->n_prompt, t->n_gen, t->depth, t->n_threads, t->n_sample,
               count_disturbed(t));
        csv_text(t->why.p ? t->why.p : "");
        for (int f = 0; f < FIG_COUNT; f++) {
            const bench_spread s = bench_spread_of(t, (bench_figure)f);

            if (bench_has(t, (bench_figure)f))
                printf(",%.3f,%.3f,%.3f", s.median, s.min, s.max);
            else
                fputs(",,,", stdout);
        }
        printf(",%llu,%.0f,%.4f,%llu,%llu\n", (unsigned long long)t->bytes_per_token,
               bench_bandwidth_median(b, t->n_threads), t->share,
               (unsigned long long)b->memory_peak, (unsigned long long)b->accounts_peak);
    }
}

/* A program that reads the figures doesn't see the words: a person may still. */
static void warn_disturbed(const bench *b) {
    for (size_t i = 0; i < b->n_test; i++)
        if (b->tests[i].why.n)
            say_warning("%s at depth %zu was disturbed: %s", b->tests[i].name, b->tests[i].depth,
                        b->tests[i].why.p);
}

int bench_report(bench *b) {
    if (!b->args->json && !b->args->csv) {
        print_table(b);
        return EXIT_OK;
    }
    warn_disturbed(b);
    if (b->args->json) return write_json(b);
    write_csv(b);
    return EXIT_OK;
}
