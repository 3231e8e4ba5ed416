/* SPDX-License-Identifier: MIT */
#include "tests/support/oracle.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static size_t read_ids(int32_t *out, size_t max, const json_t *list) {
    const size_t n = json_array_size(list);

    assert_in_range(n, 1, max);
    for (size_t i = 0; i < n; i++) out[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return n;
}

static void read_logits(oracle_run *out, const json_t *list) {
    const size_t n = json_array_size(list);

    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(list, i);
        oracle_logit *l = &out->logit[out->n_logit++];

        assert_true(out->n_logit <= ORACLE_MAX_LOGIT);
        l->id = (int32_t)json_integer_value(json_array_get(pair, 0));
        l->logit = (float)json_number_value(json_array_get(pair, 1));
    }
}

void oracle_read(oracle_run *out, const json_t *j) {
    const json_t *gap = json_object_get(j, "gap");

    *out = (oracle_run){.text = json_string_value(json_object_get(j, "prompt"))};
    out->n_prompt = read_ids(out->prompt, ORACLE_MAX_PROMPT, json_object_get(j, "prompt_ids"));
    out->n_greedy = read_ids(out->greedy, ORACLE_MAX_STEP, json_object_get(j, "greedy_ids"));
    read_logits(out, json_object_get(j, "top"));
    read_logits(out, json_object_get(j, "pick"));
    read_logits(out, json_object_get(j, "top10_first"));
    assert_true(out->n_logit > 0);
    if (!gap) gap = json_object_get(j, "gap_top1_top2");
    assert_int_equal(json_array_size(gap), out->n_greedy);
    for (size_t i = 0; i < out->n_greedy; i++)
        out->gap[i] = (float)json_number_value(json_array_get(gap, i));
}

/* Relative length of the error of a rounded input of n values for a weight type. */
static double eps_of(const char *type, double n, int *sides) {
    const double as_float = sqrt(n) * 0x1p-24;

    *sides = 2;
    if (!strcmp(type, "F32")) return as_float;
    *sides = 1; /* the engine keeps these activations in float */
    if (!strcmp(type, "F16")) return 0x1p-11 / sqrt(3) + as_float;
    if (!strcmp(type, "BF16")) return 0x1p-8 / sqrt(3) + as_float;
    *sides = 2;
    /* Types with blocks of 256 multiply with activation blocks of 256. */
    if (strstr(type, "_K") || !strcmp(type, "IQ4_XS") || !strncmp(type, "TQ", 2))
        return 6 / (127 * sqrt(12));
    return 4 / (127 * sqrt(12));
}

/* The reference looks GELU up in a table of halves: its argument and its result are rounded, also
 * where all else is float, and the engine's are not. */
static bool has_gelu(const char *arch) {
    return !strncmp(arch, "gemma", 5) || !strcmp(arch, "starcoder2");
}

oracle_noise oracle_formula(const ew_model *m, bool as_float) {
    const ew_file *f = ew_model_file(m);
    ew_model_info info = {.size = sizeof info};
    oracle_noise out = {.sides = 2};

    ew_model_info_get(m, &info);
    for (size_t i = 0; i < ew_file_n_tensor(f); i++) {
        ew_tensor_info t;
        double eps;
        int sides;

        ew_file_tensor(f, i, &t);
        if (t.n_dims < 2) continue;
        eps = eps_of(as_float ? "F32" : t.type, (double)t.shape[0], &sides);
        if (eps > out.relative) out.relative = eps, out.sides = sides;
    }
    if (has_gelu(info.architecture) && out.relative < 0x1p-11 / sqrt(3))
        out = (oracle_noise){.relative = 0x1p-11 / sqrt(3), .sides = 1};
    out.may_choose = info.n_expert && !as_float;
    out.relative *= sqrt(4.0 * info.n_layer + 1);
    return out;
}

/* Adds squares of differences of logits recorded in both, and of the smaller logits' rms. */
static void add_logits(const oracle_run *a, const oracle_run *b, double *sum, size_t *n,
                       double *sum_logit) {
    for (size_t i = 0; i < a->n_logit; i++)
        for (size_t j = 0; j < b->n_logit; j++)
            if (a->logit[i].id == b->logit[j].id) {
                const double d = (double)a->logit[i].logit - (double)b->logit[j].logit;

                *sum += d * d;
                *sum_logit += (double)a->logit[i].logit * (double)a->logit[i].logit;
                ++*n;
                break;
            }
}

/* Gaps are of the same two tokens' logits as long as the continuations are the same. */
static void add_gaps(const oracle_run *a, const oracle_run *b, double *sum, size_t *n) {
    for (size_t i = 0; i < a->n_greedy && i < b->n_greedy && a->greedy[i] == b->greedy[i]; i++) {
        const double d = (double)a->gap[i] - (double)b->gap[i];

        *sum += d * d / 2;
        ++*n;
    }
}

oracle_noise oracle_measured(const json_t *rounded, const json_t *exact,
                             const oracle_noise *limit) {
    oracle_noise out = {.sides = limit->sides, .may_choose = limit->may_choose};
    double sum = 0, sum_logit = 0;
    size_t n = 0, n_logit = 0;

    assert_int_equal(json_array_size(rounded), json_array_size(exact));
    for (size_t i = 0; i < json_array_size(rounded); i++) {
        oracle_run a, b;

        oracle_read(&a, json_array_get(rounded, i));
        oracle_read(&b, json_array_get(exact, i));
        add_logits(&a, &b, &sum, &n_logit, &sum_logit);
        add_gaps(&a, &b, &sum, &n);
    }
    n += n_logit;
    assert_true(n > 20);
    out.absolute = sqrt(sum / (double)n);
    assert_true(out.absolute <= limit->relative * sqrt(sum_logit / (double)n_logit));
    return out;
}

bool oracle_is_float(const ew_model *m) {
    const ew_file *f = ew_model_file(m);

    for (size_t i = 0; i < ew_file_n_tensor(f); i++) {
        ew_tensor_info t;

        ew_file_tensor(f, i, &t);
        if (strcmp(t.type, "F32") != 0) return false;
    }
    return true;
}

double oracle_bound(const oracle_noise *n, double logit_rms) {
    return 5 * sqrt(n->sides) * (n->absolute + n->relative * logit_rms);
}

double oracle_rms(const float *logits, int32_t n) {
    double sum = 0;

    for (int32_t i = 0; i < n; i++) sum += (double)logits[i] * (double)logits[i];
    return sqrt(sum / n);
}

static int32_t argmax_but(const float *logits, int32_t n, int32_t but) {
    int32_t best = -1;

    for (int32_t i = 0; i < n; i++)
        if (i != but && (best < 0 || logits[i] > logits[best])) best = i;
    return best;
}

static void check_logits(const float *logits, int32_t n_vocab, const oracle_run *run, double bound,
                         oracle_score *score) {
    for (size_t i = 0; i < run->n_logit; i++) {
        const oracle_logit *l = &run->logit[i];
        double d;

        assert_in_range(l->id, 0, n_vocab - 1);
        d = fabs((double)logits[l->id] - (double)l->logit);
        if (d > score->max_logit) score->max_logit = d;
        if (!(d <= bound))
            fail_msg("logit of token %d is %.6f, the reference has %.6f; bound %.2g", (int)l->id,
                     (double)logits[l->id], (double)l->logit, bound);
    }
}

static void check_step(const float *logits, int32_t n_vocab, const oracle_run *run, size_t step,
                       const oracle_noise *noise, oracle_score *score) {
    const double bound = oracle_bound(noise, oracle_rms(logits, n_vocab));
    const int32_t want = run->greedy[step], other = argmax_but(logits, n_vocab, want);
    const double gap = (double)logits[want] - (double)logits[other];
    const double d = fabs(gap - (double)run->gap[step]);

    score->n_step++;
    if (noise->may_choose && !(d <= 2 * bound + 1e-4)) {
        score->n_chosen++;
        return;
    }
    score->sum_gap2 += d * d;
    score->sum_var += 2 * pow(bound / 5, 2) + 1e-8;
    if (d > score->max_gap) score->max_gap = d;
    /* Recorded gaps may have only four decimals. */
    if (!(d <= 2 * bound + 1e-4))
        fail_msg("step %zu: token %d leads by %.6f, in the reference by %.6f; bound %.2g", step,
                 (int)want, gap, (double)run->gap[step], 2 * bound);
    if (gap < 0) score->n_left++; /* then the recorded gap was within 2 * bound too */
}

void oracle_compare(ew_session *s, const ew_model *m, const oracle_run *run,
                    const oracle_noise *noise, oracle_score *score) {
    const int32_t n_vocab = ew_n_vocab(m);
    ew_error err = {0};
    double bound;

    if (ew_session_sync(s, run->prompt, run->n_prompt, NULL, &err)) fail_msg("%s", err.text);
    bound = oracle_bound(noise, oracle_rms(ew_session_logits(s), n_vocab));
    if (score->bound == 0 || bound < score->bound) score->bound = bound;
    check_logits(ew_session_logits(s), n_vocab, run, bound, score);
    for (size_t i = 0; i < run->n_greedy; i++) {
        check_step(ew_session_logits(s), n_vocab, run, i, noise, score);
        if (ew_session_eval(s, &run->greedy[i], 1, &err)) fail_msg("%s", err.text);
    }
    score->n_run++;
}

void oracle_generate(ew_session *s, ew_model *m, const oracle_run *run, const oracle_noise *noise,
                     oracle_score *score) {
    ew_sampler_options so;
    ew_generate_options go;
    ew_generate_result res;
    ew_sampler *sampler;
    ew_error err = {0};
    const int32_t *tokens;
    double bound;

    ew_sampler_defaults(&so);
    so.temperature = 0;
    if (ew_sampler_new(&sampler, m, &so, &err)) fail_msg("%s", err.text);
    ew_generate_defaults(&go);
    go.n_predict = (int64_t)run->n_greedy;
    go.ignore_eos = true;
    if (ew_generate(s, sampler, run->prompt, run->n_prompt, &go, &res, &err))
        fail_msg("%s", err.text);
    ew_sampler_free(sampler);
    assert_int_equal(res.n_generated, run->n_greedy);
    assert_int_equal(res.reason, EW_STOP_LENGTH);
    tokens = ew_session_tokens(s) + run->n_prompt;
    /* The last token was chosen and need not have been evaluated. */
    for (size_t i = 0; i + 1 < run->n_greedy; i++) {
        if (tokens[i] == run->greedy[i]) continue;
        bound = oracle_bound(noise, oracle_rms(ew_session_logits(s), ew_n_vocab(m)));
        if ((double)run->gap[i] > 2 * bound)
            fail_msg("step %zu: token %d, the reference has %d and a gap of %.4f; bound %.2g", i,
                     (int)tokens[i], (int)run->greedy[i], (double)run->gap[i], 2 * bound);
        score->n_left++;
        break;
    }
    score->n_run++;
}

void oracle_conclude(const char *name, const char *how, const oracle_score *stepped,
                     const oracle_score *generated) {
    const double n = stepped->n_step ? (double)stepped->n_step : 1;

    print_message("%-28s %-5s bound %7.1e: logits %7.1e, gaps %7.1e (rms %7.1e); of %zu steps %zu "
                  "take the other branch, of %zu texts %zu\n",
                  name, how, stepped->bound, stepped->max_logit, stepped->max_gap,
                  sqrt(stepped->sum_gap2 / n), stepped->n_step, stepped->n_left, generated->n_run,
                  generated->n_left);
    if (stepped->n_chosen > 1 + stepped->n_step / 25)
        fail_msg("%s: %zu of %zu steps are beyond their bound", name, stepped->n_chosen,
                 stepped->n_step);
    if (stepped->sum_gap2 > 4 * stepped->sum_var)
        fail_msg("%s: gaps differ by %.2g rms, noise explains %.2g", name,
                 sqrt(stepped->sum_gap2 / n), sqrt(stepped->sum_var / n));
}
