/* SPDX-License-Identifier: MIT
 *
 * Every stage of the sampler alone, and whole chains, against what llama.cpp's samplers leave
 * (tests/golden/sampler.json, recorded by tests/golden/sampler-record.sh). */
#include "run/sampler.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static json_t *golden;
static mem_budget budget;

static str text_of(const void *ctx, int32_t id) {
    (void)ctx;
    return str_of(json_string_value(json_array_get(json_object_get(golden, "vocab"), (size_t)id)));
}

static bool no_eog(const void *ctx, int32_t id) {
    (void)ctx;
    (void)id;
    return false;
}

static int load(void **state) {
    json_error_t e;

    (void)state;
    golden = json_load_file("tests/golden/sampler.json", 0, &e);
    mem_budget_init(&budget, 0);
    return golden ? 0 : -1;
}

static int unload(void **state) {
    (void)state;
    json_decref(golden);
    mem_budget_fini(&budget);
    return mem_live() == 0 ? 0 : -1;
}

static void get_float(const json_t *o, const char *key, float *to) {
    const json_t *v = json_object_get(o, key);

    if (v) *to = (float)json_number_value(v);
}

static void get_int(const json_t *o, const char *key, int32_t *to) {
    const json_t *v = json_object_get(o, key);

    if (v) *to = (int32_t)json_integer_value(v);
}

/* Options of a case: what it does not name is off. */
static void read_options(ew_sampler_options *opt, const json_t *o) {
    ew_sampler_defaults(opt);
    opt->temperature = 1;
    opt->top_k = 0;
    opt->top_p = 1;
    opt->repeat_last_n = 0;
    opt->seed = 1;
    get_float(o, "temperature", &opt->temperature);
    get_int(o, "top_k", &opt->top_k);
    get_float(o, "typical_p", &opt->typical_p);
    get_float(o, "top_p", &opt->top_p);
    get_float(o, "min_p", &opt->min_p);
    get_int(o, "repeat_last_n", &opt->repeat_last_n);
    get_float(o, "repeat_penalty", &opt->repeat_penalty);
    get_float(o, "frequency_penalty", &opt->frequency_penalty);
    get_float(o, "presence_penalty", &opt->presence_penalty);
    get_float(o, "dry_multiplier", &opt->dry_multiplier);
    get_float(o, "dry_base", &opt->dry_base);
    get_int(o, "dry_allowed_length", &opt->dry_allowed_length);
    get_int(o, "dry_last_n", &opt->dry_last_n);
    get_float(o, "xtc_threshold", &opt->xtc_threshold);
    opt->xtc_probability = json_object_get(o, "xtc_threshold") ? 1 : 0;
    opt->mirostat = json_object_get(o, "tau") ? 2 : 0;
    get_float(o, "tau", &opt->mirostat_tau);
    get_float(o, "eta", &opt->mirostat_eta);
}

static size_t read_logits(float *to, const json_t *c) {
    const json_t *a = json_object_get(json_object_get(golden, "logits"),
                                      json_string_value(json_object_get(c, "logits")));

    for (size_t i = 0; i < json_array_size(a); i++) {
        to[i] = (float)json_number_value(json_array_get(a, i));
    }
    return json_array_size(a);
}

/* llama.cpp adds up in float: 1e-5 of a probability is far above that and far below any fault. */
static void check(const cand_set *got, const json_t *ids, const json_t *ps, const char *name) {
    if (got->n != json_array_size(ids)) {
        fail_msg("%s: %zu candidates, expected %zu", name, got->n, json_array_size(ids));
    }
    for (size_t i = 0; i < got->n; i++) {
        const int32_t id = (int32_t)json_integer_value(json_array_get(ids, i));
        const double want = json_number_value(json_array_get(ps, i));
        double p = -1;

        for (size_t j = 0; j < got->n; j++) {
            if (got->c[j].id == id) p = (double)got->c[j].p / got->mass;
        }
        if (!(fabs(p - want) <= 1e-5 * want)) {
            fail_msg("%s: token %d has probability %.9g, expected %.9g", name, (int)id, p, want);
        }
    }
}

/* Mirostat's second step, after the token that llama.cpp chose in the first. */
static void check_next(const json_t *c, const ew_sampler_options *o, const cand_set *first,
                       const float *logits, size_t n, const char *name) {
    const int32_t selected = (int32_t)json_integer_value(json_object_get(c, "selected"));
    cand room[256];
    cand_set next = {.c = room};
    double p = 0, mu = 2 * (double)o->mirostat_tau;

    for (size_t i = 0; i < first->n; i++) {
        if (first->c[i].id == selected) p = (double)first->c[i].p / first->mass;
    }
    mu = mirostat_next(mu, (double)o->mirostat_tau, (double)o->mirostat_eta, p);
    cut_gather(&next, logits, n, 0);
    cut_softmax(&next, o->temperature);
    cut_mirostat(&next, mu);
    check(&next, json_object_get(c, "ids_next"), json_object_get(c, "p_next"), name);
}

static void run_case(const json_t *c) {
    const char *const name = json_string_value(json_object_get(c, "name"));
    const json_t *bias = json_object_get(c, "bias"), *breakers = json_object_get(c, "breakers");
    const json_t *past = json_object_get(c, "history");
    ew_logit_bias biases[4];
    const char *strings[4];
    float logits[256];
    const size_t n = read_logits(logits, c);
    const sampler_vocab v = {(int32_t)n, {NULL, text_of}, no_eog};
    ew_sampler_options o;
    ew_sampler *s;
    ew_error err;
    cand_set got;

    read_options(&o, json_object_get(c, "options"));
    o.bias = biases;
    o.n_bias = json_array_size(bias);
    for (size_t i = 0; i < o.n_bias; i++) {
        const json_t *b = json_array_get(bias, i);

        biases[i].id = (int32_t)json_integer_value(json_array_get(b, 0));
        biases[i].bias = (float)json_number_value(json_array_get(b, 1));
    }
    o.dry_breakers = strings;
    o.n_dry_breaker = json_array_size(breakers);
    for (size_t i = 0; i < o.n_dry_breaker; i++) {
        strings[i] = json_string_value(json_array_get(breakers, i));
    }
    assert_int_equal(sampler_new(&s, &v, &budget, &o, &err), EW_OK);
    for (size_t i = 0; i < json_array_size(past); i++) {
        ew_sampler_accept(s, (int32_t)json_integer_value(json_array_get(past, i)));
    }
    assert_int_equal(sampler_candidates(s, logits, &got, &err), EW_OK);
    check(&got, json_object_get(c, "ids"), json_object_get(c, "p"), name);
    if (o.mirostat) check_next(c, &o, &got, logits, n, name);
    ew_sampler_free(s);
}

static void test_candidates_equal_llama_cpp(void **state) {
    const json_t *cases = json_object_get(golden, "cases");

    (void)state;
    assert_true(json_array_size(cases) > 40);
    for (size_t i = 0; i < json_array_size(cases); i++) run_case(json_array_get(cases, i));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_candidates_equal_llama_cpp),
    };

    return cmocka_run_group_tests_name("sampler_golden", tests, load, unload);
}
