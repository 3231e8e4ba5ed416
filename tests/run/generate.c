/* SPDX-License-Identifier: MIT
 *
 * ew_generate: where text ends, what is shown of it, and that the session stays usable whatever
 * ended it. On a small trained model where the shared data is, on one of random weights otherwise,
 * whose text has no known beginning. */
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "edgewise.h"
#include "tests/support/made.h"
#include "tests/support/shared.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static ew_engine *engine;
static ew_model *model;
static int32_t *prompt; /* "Once upon a time" */
static size_t n_prompt;
static const char *beginning;           /* of the greedy answer; "": not known */
static ew_logit_bias unprintable[1024]; /* tokens that random weights may not choose */
static size_t n_unprintable;

/* Stop strings are made of the text, so it has to be text. */
static void forbid_unprintable(void) {
    for (int32_t id = 0; id < ew_n_vocab(model) && n_unprintable < 1024; id++) {
        size_t n, i = 0;
        const char *s = ew_token_bytes(model, id, &n);

        while (i < n && s[i] >= ' ' && s[i] <= '~') i++;
        if (i < n || n == 0) unprintable[n_unprintable++] = (ew_logit_bias){id, -INFINITY};
    }
}

static int set_up(void **state) {
    const char *path = shared_path("data/models/stories260K-f32.gguf");
    ew_engine_options o;
    ew_error err;

    (void)state;
    beginning = path ? ", there was a little girl named Lily." : "";
    if (!path) path = made_model("--arch llama --vocab-kind spm --type F32 --embd 64 --seed 3");
    ew_engine_defaults(&o);
    o.n_threads = 1;
    if (ew_engine_new(&engine, &o, &err)) return -1;
    if (ew_model_open(&model, engine, path, NULL, &err)) return -1;
    if (!*beginning) forbid_unprintable();
    return ew_tokenize(model, "Once upon a time", 16, EW_TOK_ADD_SPECIAL, &prompt, &n_prompt, &err);
}

static int tear_down(void **state) {
    (void)state;
    ew_free(prompt);
    ew_model_close(model);
    ew_engine_free(engine);
    return mem_live() == 0 ? 0 : -1;
}

/* ---- one run -------------------------------------------------------------------------------- */

typedef struct {
    ew_session *session;
    ew_sampler *sampler;
    ew_generate_options o;
    ew_generate_result r;
    char text[4096];
    size_t n;           /* bytes of text */
    size_t n_call;      /* of on_text */
    size_t shut_at;     /* on_text returns false at this call, 0: never */
    size_t cancel_at;   /* cancels the session at this call, 0: never */
    bool cut[4096 + 1]; /* a call ended here */
    long count0, count; /* mem_count at the first and at the last call */
} run;

static bool take(void *ctx, const char *text, size_t n) {
    run *r = ctx;

    assert_true(n > 0 && n <= sizeof r->text - r->n);
    memcpy(r->text + r->n, text, n);
    r->n += n;
    if (!r->n_call++) r->count0 = mem_count();
    r->count = mem_count();
    r->cut[r->n] = true;
    if (r->n_call == r->cancel_at) ew_session_cancel(r->session);
    return r->n_call != r->shut_at;
}

static ew_sampler_options greedy(void) {
    ew_sampler_options o;

    ew_sampler_defaults(&o);
    o.temperature = 0;
    o.seed = 1;
    o.bias = unprintable;
    o.n_bias = n_unprintable;
    return o;
}

static void run_init(run *r, uint32_t ctx_tokens, const ew_sampler_options *so) {
    const ew_sampler_options g = greedy();
    ew_session_options o;
    ew_error err;

    memset(r, 0, sizeof *r);
    ew_session_defaults(&o);
    o.ctx_tokens = ctx_tokens;
    o.page_tokens = 256;
    ew_generate_defaults(&r->o);
    r->o.on_text = take;
    r->o.ctx = r;
    r->o.n_predict = 40;
    assert_int_equal(ew_session_new(&r->session, model, &o, &err), EW_OK);
    assert_int_equal(ew_sampler_new(&r->sampler, model, so ? so : &g, &err), EW_OK);
}

static void run_fini(run *r) {
    ew_sampler_free(r->sampler);
    ew_session_free(r->session);
}

static ew_status go(run *r, const int32_t *ids, size_t n) {
    r->n = r->n_call = 0;
    memset(r->cut, 0, sizeof r->cut);
    return ew_generate(r->session, r->sampler, ids, n, &r->o, &r->r, NULL);
}

/* Runs the prompt and expects this end. */
static void go_until(run *r, ew_stop_reason reason) {
    assert_int_equal(go(r, prompt, n_prompt), EW_OK);
    assert_int_equal(r->r.reason, reason);
}

/* ---- where it ends -------------------------------------------------------------------------- */

static void test_length_is_reached_and_counted(void **state) {
    run r;

    (void)state;
    run_init(&r, 256, NULL);
    go_until(&r, EW_STOP_LENGTH);
    assert_int_equal(r.r.n_prompt, n_prompt);
    assert_int_equal(r.r.n_cached, 0);
    assert_int_equal(r.r.n_evaluated, n_prompt);
    assert_int_equal(r.r.n_generated, 40);
    assert_int_equal(ew_session_n(r.session), n_prompt + 39); /* the last one is not evaluated */
    assert_true(r.r.t_prefill_us <= r.r.t_first_us);
    assert_true(r.r.t_first_us + r.r.t_decode_us <= r.r.t_wall_us);
    assert_true(r.n >= 40);
    assert_memory_equal(r.text, beginning, strlen(beginning));
    go_until(&r, EW_STOP_LENGTH);
    assert_int_equal(r.r.n_cached, n_prompt - 1);
    assert_int_equal(r.r.n_evaluated, 1);
    run_fini(&r);
}

static void test_predicting_nothing_evaluates_the_prompt(void **state) {
    run r;

    (void)state;
    run_init(&r, 256, NULL);
    r.o.n_predict = 0;
    go_until(&r, EW_STOP_LENGTH);
    assert_int_equal(r.r.n_generated, 0);
    assert_int_equal(r.n_call, 0);
    assert_int_equal(ew_session_n(r.session), n_prompt);
    assert_non_null(ew_session_logits(r.session));
    run_fini(&r);
}

static void test_full_window_is_a_reported_stop(void **state) {
    run r;

    (void)state;
    run_init(&r, (uint32_t)n_prompt + 5, NULL);
    r.o.n_predict = -1;
    go_until(&r, EW_STOP_CONTEXT);
    assert_int_equal(r.r.n_generated, 6);
    assert_int_equal(ew_session_n(r.session), n_prompt + 5);
    run_fini(&r);
    run_init(&r, (uint32_t)n_prompt, NULL); /* the prompt fills it */
    r.o.n_predict = -1;
    go_until(&r, EW_STOP_CONTEXT);
    assert_int_equal(r.r.n_generated, 1);
    run_fini(&r);
    run_init(&r, (uint32_t)n_prompt - 1, NULL);
    assert_int_equal(go(&r, prompt, n_prompt), EW_EFULL);
    assert_int_equal(ew_session_n(r.session), 0);
    run_fini(&r);
}

static void test_end_of_generation_is_not_shown(void **state) {
    const ew_logit_bias bias = {ew_token_eos(model), 1e6f};
    ew_sampler_options o = greedy();
    run r;

    (void)state;
    o.bias = &bias;
    o.n_bias = 1;
    run_init(&r, 256, &o);
    go_until(&r, EW_STOP_EOG);
    assert_int_equal(r.r.n_generated, 1);
    assert_int_equal(r.n_call, 0);
    r.o.ignore_eos = true;
    r.o.n_predict = 3;
    go_until(&r, EW_STOP_LENGTH);
    assert_int_equal(r.r.n_generated, 3);
    assert_int_equal(r.n_call, 0);
    run_fini(&r);
}

static void test_callback_ends_it(void **state) {
    run r;

    (void)state;
    run_init(&r, 256, NULL);
    r.shut_at = 3;
    go_until(&r, EW_STOP_CANCEL);
    assert_int_equal(r.n_call, 3); /* nothing after it said no */
    r.shut_at = 0;
    go_until(&r, EW_STOP_LENGTH);
    assert_memory_equal(r.text, beginning, strlen(beginning));
    run_fini(&r);
}

static void test_cancel_keeps_the_session_usable(void **state) {
    run r, fresh;

    (void)state;
    run_init(&fresh, 256, NULL);
    go_until(&fresh, EW_STOP_LENGTH);
    run_init(&r, 256, NULL);
    ew_session_cancel(r.session); /* the prompt's evaluation is what ends */
    go_until(&r, EW_STOP_CANCEL);
    assert_int_equal(r.r.n_generated, 0);
    assert_int_equal(r.n_call, 0);
    r.cancel_at = 5;
    go_until(&r, EW_STOP_CANCEL);
    assert_int_equal(r.n_call, 5);
    assert_int_equal(ew_session_n(r.session), n_prompt + r.r.n_generated - 1);
    r.cancel_at = 0;
    go_until(&r, EW_STOP_LENGTH);
    assert_int_equal(r.n, fresh.n);
    assert_memory_equal(r.text, fresh.text, r.n);
    run_fini(&r);
    run_fini(&fresh);
}

/* ---- stop strings --------------------------------------------------------------------------- */

static size_t find(const char *text, size_t n, const char *s, size_t len) {
    for (size_t i = 0; i + len <= n; i++) {
        if (memcmp(text + i, s, len) == 0) return i;
    }
    return n;
}

/* Pieces of the text the model writes anyway, beginning and ending anywhere in its tokens. */
static void test_any_stop_string_cuts_at_its_first_place(void **state) {
    run r;
    char whole[sizeof r.text];
    size_t n;

    (void)state;
    run_init(&r, 256, NULL);
    go_until(&r, EW_STOP_LENGTH);
    n = r.n;
    memcpy(whole, r.text, n);
    for (size_t at = 0; at + 12 < n; at += 3) {
        char piece[16];
        const char *const stop[] = {"@@", piece};
        const size_t len = 1 + at % 11;

        memcpy(piece, whole + at, len);
        piece[len] = 0;
        r.o.stop = stop;
        r.o.n_stop = 2;
        go_until(&r, EW_STOP_STRING);
        assert_int_equal(r.n, find(whole, n, piece, len));
        assert_memory_equal(r.text, whole, r.n);
    }
    run_fini(&r);
}

static void test_text_held_back_is_shown_at_the_end(void **state) {
    run r;
    char whole[sizeof r.text];
    char piece[32];
    const char *const stop[] = {piece};
    size_t n;

    (void)state;
    run_init(&r, 256, NULL);
    go_until(&r, EW_STOP_LENGTH);
    n = r.n;
    memcpy(whole, r.text, n);
    /* The end of the text begins the stop string: it might have gone on like that. */
    memcpy(piece, whole + n - 10, 10);
    memcpy(piece + 10, "@", 2);
    r.o.stop = stop;
    r.o.n_stop = 1;
    go_until(&r, EW_STOP_LENGTH);
    assert_int_equal(r.n, n);
    assert_memory_equal(r.text, whole, n);
    run_fini(&r);
}

/* Byte tokens in any order: sequences begun, broken and ended across tokens. */
static void test_sequences_are_never_split(void **state) {
    static const char *const stop[] = {"\xC3\xA9\xC3\xA9"};
    ew_logit_bias bias[64];
    ew_sampler_options o;
    int n_bias = 0, n_whole = 0;
    run r;

    (void)state;
    for (int i = 0; i < 64; i++) {
        /* lead bytes C2..DF, E1..EC and continuations 80..BF */
        const int byte = i < 12 ? 0xC3 + i : i < 24 ? 0xE1 + i - 12 : 0x80 + i - 24;
        char name[8];

        snprintf(name, sizeof name, "<0x%02X>", (unsigned)byte);
        for (int32_t id = 0; id < ew_n_vocab(model); id++) {
            size_t n;
            const char *s = ew_token_name(model, id, &n);

            if (n == 6 && memcmp(s, name, 6) == 0) bias[n_bias++] = (ew_logit_bias){id, 1000};
        }
    }
    assert_int_equal(n_bias, 64);
    ew_sampler_defaults(&o);
    o.temperature = 50;
    o.top_k = 64;
    o.top_p = 1;
    o.bias = bias;
    o.n_bias = 64;
    o.seed = 5;
    run_init(&r, 256, &o);
    r.o.n_predict = 200;
    r.o.stop = stop;
    r.o.n_stop = 1;
    for (int round = 0; round < 5; round++) {
        go_until(&r, EW_STOP_LENGTH);
        assert_int_equal(r.n, 200); /* one byte a token, and none is lost */
        for (size_t i = 0; i < r.n; i++) {
            uint32_t cp;
            const size_t len = utf8_decode(r.text + i, r.n - i, &cp);

            for (size_t j = 1; j < len; j++) assert_false(r.cut[i + j]);
            n_whole += len > 1;
        }
    }
    assert_true(n_whole > 50);
    run_fini(&r);
}

/* ---- history, memory, arguments ------------------------------------------------------------- */

/* The same prompt again is the same history, not a longer one. */
static void test_history_is_what_the_session_holds(void **state) {
    ew_sampler_options o = greedy();
    run r;
    char first[sizeof r.text];
    size_t n;

    (void)state;
    o.repeat_last_n = -1;
    o.frequency_penalty = 0.3f;
    o.dry_multiplier = 0.8f;
    run_init(&r, 256, &o);
    go_until(&r, EW_STOP_LENGTH);
    n = r.n;
    memcpy(first, r.text, n);
    go_until(&r, EW_STOP_LENGTH);
    assert_int_equal(r.n, n);
    assert_memory_equal(r.text, first, n);
    run_fini(&r);
}

static void test_empty_prompt_goes_on_where_logits_are(void **state) {
    run r, whole;

    (void)state;
    run_init(&whole, 256, NULL);
    go_until(&whole, EW_STOP_LENGTH);
    run_init(&r, 256, NULL);
    assert_int_equal(go(&r, NULL, 0), EW_EINVAL);
    assert_int_equal(ew_session_eval(r.session, prompt, n_prompt, NULL), EW_OK);
    assert_int_equal(go(&r, NULL, 0), EW_OK);
    assert_int_equal(r.r.n_prompt, n_prompt);
    assert_int_equal(r.r.n_evaluated, 0);
    assert_int_equal(r.n, whole.n);
    assert_memory_equal(r.text, whole.text, r.n);
    run_fini(&r);
    run_fini(&whole);
}

static void test_decoding_allocates_nothing(void **state) {
    static const char *const stop[] = {"never said", "@"};
    ew_sampler_options o;
    run r;

    (void)state;
    ew_sampler_defaults(&o);
    o.seed = 3;
    o.repeat_penalty = 1.1f;
    o.dry_multiplier = 0.8f;
    o.ignore_eos = true;
    run_init(&r, 256, &o);
    r.o.stop = stop;
    r.o.n_stop = 2;
    r.o.n_predict = 150;
    go_until(&r, EW_STOP_LENGTH);
    assert_true(r.n_call > 100);
    assert_int_equal(r.count, r.count0);
    run_fini(&r);
}

static void test_no_allocation_failure_leaks(void **state) {
    static const char *const stop[] = {"@"};
    run r;
    long n = 1, live;

    (void)state;
    run_init(&r, 256, NULL);
    go_until(&r, EW_STOP_LENGTH); /* the cache has its page now */
    r.o.stop = stop;
    r.o.n_stop = 1;
    live = mem_live();
    for (;; n++) {
        ew_status rc;

        mem_fail_at(n);
        rc = go(&r, prompt, n_prompt);
        mem_fail_at(0);
        assert_int_equal(mem_live(), live);
        if (rc == EW_OK) break;
        assert_int_equal(rc, EW_ENOMEM);
    }
    assert_true(n > 4);
    assert_int_equal(r.r.n_generated, 40);
    run_fini(&r);
}

static void test_bad_arguments_are_named(void **state) {
    static const char *const stop[] = {""};
    ew_generate_result out;
    ew_error err;
    run r;

    (void)state;
    run_init(&r, 256, NULL);
    r.o.n_predict = -2;
    assert_int_equal(ew_generate(r.session, r.sampler, prompt, n_prompt, &r.o, &out, &err),
                     EW_EINVAL);
    assert_string_equal(err.text, "generation option n_predict is -2, must be at least -1");
    r.o.n_predict = 1;
    r.o.stop = stop;
    r.o.n_stop = 1;
    assert_int_equal(ew_generate(r.session, r.sampler, prompt, n_prompt, &r.o, &out, &err),
                     EW_EINVAL);
    assert_string_equal(err.text, "stop string 0 is empty");
    r.o.n_stop = 0;
    r.o.size = 1;
    assert_int_equal(ew_generate(r.session, r.sampler, prompt, n_prompt, &r.o, NULL, &err),
                     EW_EINVAL);
    run_fini(&r);
}

static void test_sampler_of_another_model_is_refused(void **state) {
    const char *path = made_model("--arch llama --vocab-kind spm --vocab 600 --embd 64");
    ew_sampler *other;
    ew_model *m;
    run r;

    (void)state;
    run_init(&r, 256, NULL);
    assert_int_equal(ew_model_open(&m, engine, path, NULL, NULL), EW_OK);
    assert_int_equal(ew_sampler_new(&other, m, NULL, NULL), EW_OK);
    assert_int_equal(ew_generate(r.session, other, prompt, n_prompt, &r.o, NULL, NULL),
                     EW_EMISMATCH);
    ew_sampler_free(other);
    ew_model_close(m);
    run_fini(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length_is_reached_and_counted),
        cmocka_unit_test(test_predicting_nothing_evaluates_the_prompt),
        cmocka_unit_test(test_full_window_is_a_reported_stop),
        cmocka_unit_test(test_end_of_generation_is_not_shown),
        cmocka_unit_test(test_callback_ends_it),
        cmocka_unit_test(test_cancel_keeps_the_session_usable),
        cmocka_unit_test(test_any_stop_string_cuts_at_its_first_place),
        cmocka_unit_test(test_text_held_back_is_shown_at_the_end),
        cmocka_unit_test(test_sequences_are_never_split),
        cmocka_unit_test(test_history_is_what_the_session_holds),
        cmocka_unit_test(test_empty_prompt_goes_on_where_logits_are),
        cmocka_unit_test(test_decoding_allocates_nothing),
        cmocka_unit_test(test_no_allocation_failure_leaks),
        cmocka_unit_test(test_bad_arguments_are_named),
        cmocka_unit_test(test_sampler_of_another_model_is_refused),
    };

    return cmocka_run_group_tests_name("generate", tests, set_up, tear_down);
}
