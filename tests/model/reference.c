/* SPDX-License-Identifier: MIT
 *
 * Trained models against llama.cpp's recorded results (reference.json of the test data): token ids,
 * logits, greedy text, perplexity. In float against the reference with its weights expanded to F32,
 * then the fast path against the reference's own fast path. Bounds: tests/support/oracle.h. */
#include "tests/support/oracle.h"
#include "tests/support/shared.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static ew_engine *engine;

static int setup(void **state) {
    ew_engine_options o;

    (void)state;
    ew_engine_defaults(&o);
    o.n_threads = 2;
    return ew_engine_new(&engine, &o, NULL);
}

static int teardown(void **state) {
    (void)state;
    ew_engine_free(engine);
    return 0;
}

static json_t *load(const char *rel) {
    const char *path = shared_path(rel);
    json_error_t err;
    json_t *j;

    if (!path) skip();
    j = json_load_file(path, 0, &err);
    if (!j) fail_msg("%s: %s", path, err.text);
    return j;
}

static ew_model *open_model(const char *folder, const char *name, bool is_float) {
    char rel[256];
    ew_model_options o;
    ew_model *m;
    ew_error err = {0};
    const char *path;

    snprintf(rel, sizeof rel, "%s/%s", folder, name);
    path = shared_path(rel);
    if (!path) fail_msg("%s is missing", rel);
    ew_model_defaults(&o);
    o.float_activations = is_float;
    if (ew_model_open(&m, engine, path, &o, &err)) fail_msg("%s", err.text);
    return m;
}

static ew_session *new_session(ew_model *m) {
    ew_session_options o;
    ew_session *s;
    ew_error err = {0};

    ew_session_defaults(&o);
    o.ctx_tokens = 512;
    o.type_k = o.type_v = EW_KV_F32;
    if (ew_session_new(&s, m, &o, &err)) fail_msg("%s", err.text);
    return s;
}

static void check_ids(const ew_model *m, const oracle_run *run) {
    int32_t *ids;
    size_t n;
    ew_error err = {0};

    if (ew_tokenize(m, run->text, strlen(run->text), EW_TOK_ADD_SPECIAL | EW_TOK_PARSE_SPECIAL,
                    &ids, &n, &err))
        fail_msg("%s", err.text);
    assert_int_equal(n, run->n_prompt);
    assert_memory_equal(ids, run->prompt, n * sizeof *ids);
    ew_free(ids);
}

/* runs against the engine; exact, the reference's float results, is needed to know its rounding. */
static void check_runs(const char *folder, const char *name, const json_t *runs,
                       const json_t *exact, bool is_float) {
    ew_model *m = open_model(folder, name, is_float);
    ew_session *s = new_session(m);
    oracle_noise noise = oracle_formula(m, is_float);
    oracle_score stepped = {0}, generated = {0};

    if (exact && !is_float) noise = oracle_measured(runs, exact, &noise);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        oracle_run run;

        oracle_read(&run, json_array_get(runs, i));
        check_ids(m, &run);
        oracle_compare(s, m, &run, &noise, &stepped);
        oracle_generate(s, m, &run, &noise, &generated);
    }
    oracle_conclude(name, is_float ? "float" : "fast", &stepped, &generated);
    ew_session_free(s);
    ew_model_close(m);
}

static void test_trained_models_agree_with_the_reference(void **state) {
    json_t *j = load("data/models/reference.json"), *entry;
    const char *name;

    (void)state;
    json_object_foreach(json_object_get(j, "models"), name, entry) {
        const json_t *rows = json_object_get(entry, "greedy");
        const json_t *exact = json_object_get(entry, "dequant_f32");

        check_runs("data/models", name, exact ? exact : rows, NULL, true);
        check_runs("data/models", name, rows, exact, false);
    }
    json_decref(j);
}

static void test_constructed_architectures_agree_with_the_reference(void **state) {
    static const char *const names[] = {"arch-qwen2.gguf",
                                        "arch-qwen3.gguf",
                                        "arch-gemma3.gguf",
                                        "arch-phi3.gguf",
                                        "arch-llama-rope-freqs.gguf",
                                        "arch-llama-rope-yarn.gguf"};
    json_t *j = load("data/models/arch/reference.json");

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *runs = json_object_get(json_object_get(j, "models"), names[i]);

        check_runs("data/models/arch", names[i], runs, NULL, true);
        check_runs("data/models/arch", names[i], runs, NULL, false);
    }
    json_decref(j);
}

typedef struct {
    const int32_t *ids;
    int32_t n_vocab;
    size_t begin, end; /* logits begin..end-1 are scored against the token that follows */
    double nll;
} scoring;

static bool score_row(void *ctx, size_t i, const float *logits) {
    scoring *c = ctx;
    double sum = 0, max = -HUGE_VAL;

    if (i < c->begin || i >= c->end) return true;
    for (int32_t k = 0; k < c->n_vocab; k++) max = fmax(max, (double)logits[k]);
    for (int32_t k = 0; k < c->n_vocab; k++) sum += exp((double)logits[k] - max);
    c->nll += max + log(sum) - (double)logits[c->ids[i + 1]];
    return true;
}

/* The reference's recipe: windows of `window` tokens, the first replaced by bos, the second half
 * scored. *n_scored gets the number of tokens scored. */
static double mean_nll(ew_model *m, int32_t *ids, size_t n, size_t window, size_t *n_scored) {
    ew_session *s = new_session(m);
    ew_error err = {0};
    double sum = 0;

    *n_scored = 0;
    for (size_t at = 0; at + window <= n; at += window) {
        scoring c = {ids + at, ew_n_vocab(m), window / 2, window - 1, 0};

        ids[at] = ew_token_bos(m);
        ew_session_rewind(s, 0);
        if (ew_session_eval_all(s, ids + at, window, score_row, &c, &err)) fail_msg("%s", err.text);
        sum += c.nll;
        *n_scored += c.end - c.begin;
    }
    ew_session_free(s);
    return sum / (double)*n_scored;
}

static char *read_text(const char *rel, size_t *n) {
    const char *path = shared_path(rel);
    FILE *f = path ? fopen(path, "rb") : NULL;
    char *text = test_malloc(1 << 16);

    if (!f) fail_msg("%s is missing", rel);
    *n = fread(text, 1, 1 << 16, f);
    fclose(f);
    return text;
}

/* A logit's noise sigma changes a token's -log p by about sigma * sqrt(2): its own logit against
 * the average of the others. The mean over n tokens changes by sigma * sqrt(2 / n). What doesn't
 * average out is of second order: noise raises log-sum-exp by at most sigma^2 / 2. */
static double nll_bound(const oracle_noise *noise, size_t n_scored, double rms) {
    const double off = oracle_bound(noise, rms), sigma = off / 5;

    return off * sqrt(2.0 / (double)n_scored) + sigma * sigma / 2;
}

/* Root mean square of the ten largest logits of the recorded prompts: at least that of all. */
static double recorded_rms(const json_t *runs) {
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(runs); i++) {
        oracle_run run;

        oracle_read(&run, json_array_get(runs, i));
        for (size_t k = 0; k < run.n_logit; k++, n++)
            sum += (double)run.logit[k].logit * (double)run.logit[k].logit;
    }
    return sqrt(sum / (double)n);
}

static void check_perplexity(const char *name, const char *text_name, const json_t *entry) {
    const json_t *want = json_object_get(json_object_get(entry, "ppl"), text_name);
    const json_t *rows = json_object_get(entry, "greedy"),
                 *exact = json_object_get(entry, "dequant_f32");
    const double expected = json_number_value(json_object_get(want, "mean_nll"));
    ew_model *m = open_model("data/models", name, false);
    oracle_noise noise = oracle_formula(m, false);
    char rel[128], *text;
    int32_t *ids;
    size_t n, n_text, n_scored;
    double got, bound;

    if (exact) noise = oracle_measured(rows, exact, &noise);
    snprintf(rel, sizeof rel, "data/text/en/%s", text_name);
    text = read_text(rel, &n_text);
    assert_int_equal(ew_tokenize(m, text, n_text, 0, &ids, &n, NULL), EW_OK);
    assert_int_equal(n, json_integer_value(json_object_get(want, "n_tokens")));
    got =
        mean_nll(m, ids, n, (size_t)json_integer_value(json_object_get(want, "window")), &n_scored);
    assert_int_equal(n_scored, json_integer_value(json_object_get(want, "scored")));
    bound = nll_bound(&noise, n_scored, recorded_rms(rows));
    print_message("%-28s %-20s mean -log p %.6f, reference %.6f: %+.1e, bound %.1e\n", name,
                  text_name, got, expected, got - expected, bound);
    if (!(fabs(got - expected) <= bound)) fail_msg("%s: mean -log p is off", name);
    ew_free(ids);
    test_free(text);
    ew_model_close(m);
}

static void test_perplexity_agrees_with_the_reference(void **state) {
    json_t *j = load("data/models/reference.json"), *entry, *want;
    const char *name, *text;

    (void)state;
    json_object_foreach(json_object_get(j, "models"), name, entry) {
        json_object_foreach(json_object_get(entry, "ppl"), text, want) {
            /* The longer text for two models: the others would take a minute. */
            if (strstr(text, "shakespeare") && !strstr(name, "260K-f32") &&
                !strstr(name, "260K-Q4_0"))
                continue;
            check_perplexity(name, text, entry);
        }
    }
    json_decref(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trained_models_agree_with_the_reference),
        cmocka_unit_test(test_constructed_architectures_agree_with_the_reference),
        cmocka_unit_test(test_perplexity_agrees_with_the_reference),
    };

    return cmocka_run_group_tests_name("reference", tests, setup, teardown);
}
