/* SPDX-License-Identifier: MIT
 *
 * What must not change a result: the size of a prompt's chunks and of the cache's pages, the number
 * of threads, how a session came to its tokens (evaluated, continued, rewound, loaded). Bit for
 * bit, since a product's rounding does not depend on how many rows or tokens are computed together.
 */
#include "tests/support/made.h"
#include "tests/support/models.h"
#include "tests/support/oracle.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    N_PROMPT = 150, /* two and a half pages of 64, more than two chunks of 64 */
    N_MORE = 20
};

static const char *const models[] = {MODEL_LLAMA_K, MODEL_QWEN2, MODEL_WINDOW, MODEL_MOE};
static const size_t n_models = sizeof models / sizeof *models;

static int32_t tokens[N_PROMPT + N_MORE];

/* Logits after the prompt and N_MORE tokens later: 2 * n_vocab floats, test_free. */
static float *logits_twice(ew_session *s, const ew_model *m) {
    const size_t n_vocab = (size_t)ew_n_vocab(m);
    float *out = test_malloc(2 * n_vocab * sizeof *out);
    ew_error err = {0};

    must(ew_session_sync(s, tokens, N_PROMPT, NULL, &err), &err);
    memcpy(out, ew_session_logits(s), n_vocab * sizeof *out);
    for (size_t i = N_PROMPT; i < N_PROMPT + N_MORE; i++)
        must(ew_session_eval(s, &tokens[i], 1, &err), &err);
    memcpy(out + n_vocab, ew_session_logits(s), n_vocab * sizeof *out);
    return out;
}

static void check_same(const float *want, const float *got, size_t n, const char *what) {
    assert_non_null(got);
    for (size_t i = 0; i < n; i++)
        if (memcmp(&want[i], &got[i], sizeof *got))
            fail_msg("%s: logit %zu is %.9g, not %.9g", what, i, (double)got[i], (double)want[i]);
}

static void check_session(ew_session *s, const ew_model *m, const float *want, const char *what) {
    float *got = logits_twice(s, m);

    check_same(want, got, 2 * (size_t)ew_n_vocab(m), what);
    test_free(got);
}

static void test_chunks_do_not_change_logits(void **state) {
    static const uint32_t chunks[] = {1, 7, 64, 150};
    ew_engine *e = made_engine(2);

    (void)state;
    for (size_t i = 0; i < 2 * n_models; i++) {
        ew_model *m = made_open(e, made_model(models[i / 2]), i % 2);
        ew_session *s = made_session(m, 256, 512, 64, EW_KV_F16);
        float *want;

        made_ids(tokens, N_PROMPT + N_MORE, ew_n_vocab(m), 1);
        want = logits_twice(s, m);
        ew_session_free(s);
        for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
            char what[64];

            snprintf(what, sizeof what, "chunks of %u", chunks[k]);
            s = made_session(m, 256, chunks[k], 64, EW_KV_F16);
            check_session(s, m, want, what);
            ew_session_free(s);
        }
        test_free(want);
        ew_model_close(m);
    }
    ew_engine_free(e);
}

/* Attention adds over n tokens, twice a layer (scores' sum, values), each with a relative error of
 * sqrt(n) * 2^-24; bound as in tests/support/oracle.h. In float, or the smallest difference could
 * round an activation to another step. */
static void test_page_size_changes_rounding_alone(void **state) {
    static const uint32_t pages[] = {4, 16, 100, 256};
    ew_engine *e = made_engine(2);

    (void)state;
    for (size_t i = 0; i < n_models; i++) {
        ew_model *m = made_open(e, made_model(models[i]), true);
        ew_model_info info = {.size = sizeof info};
        ew_session *s = made_session(m, 256, 512, 64, EW_KV_F32);
        const int32_t n = 2 * ew_n_vocab(m);
        float *want, *got;
        double bound;

        made_ids(tokens, N_PROMPT + N_MORE, ew_n_vocab(m), 8);
        want = logits_twice(s, m);
        ew_model_info_get(m, &info);
        bound = 5 * sqrt(2) * sqrt(2.0 * info.n_layer) * sqrt(N_PROMPT + N_MORE) * 0x1p-24 *
                oracle_rms(want, n);
        ew_session_free(s);
        for (size_t k = 0; k < sizeof pages / sizeof *pages; k++) {
            double most = 0;

            s = made_session(m, 256, 33, pages[k], EW_KV_F32);
            got = logits_twice(s, m);
            for (int32_t t = 0; t < n; t++)
                most = fmax(most, fabs((double)want[t] - (double)got[t]));
            print_message("pages of %u: %.1e, bound %.1e\n", pages[k], most, bound);
            assert_true(most <= bound);
            test_free(got);
            ew_session_free(s);
        }
        test_free(want);
        ew_model_close(m);
    }
    ew_engine_free(e);
}

static float *logits_with_threads(const char *args, int32_t n_threads, bool is_float, size_t *n) {
    ew_engine *e = made_engine(n_threads);
    ew_model *m = made_open(e, made_model(args), is_float);
    ew_session *s = made_session(m, 256, 0, 0, EW_KV_Q8_0);
    float *out;

    *n = 2 * (size_t)ew_n_vocab(m);
    made_ids(tokens, N_PROMPT + N_MORE, ew_n_vocab(m), 2);
    out = logits_twice(s, m);
    ew_session_free(s);
    ew_model_close(m);
    ew_engine_free(e);
    return out;
}

/* Rows of the file and packed rows are multiplied alike. */
static void test_packing_does_not_change_logits(void **state) {
    ew_engine *e = made_engine(2);

    (void)state;
    for (size_t i = 0; i < n_models; i++) {
        ew_model *packed = made_open(e, made_model(models[i]), false), *mapped;
        ew_session *s = made_session(packed, 256, 64, 64, EW_KV_F16);
        ew_model_options o;
        ew_error err = {0};
        float *want;

        made_ids(tokens, N_PROMPT + N_MORE, ew_n_vocab(packed), 3);
        want = logits_twice(s, packed);
        ew_session_free(s);
        ew_model_defaults(&o);
        o.no_pack = true;
        must(ew_model_open(&mapped, e, made_model(models[i]), &o, &err), &err);
        s = made_session(mapped, 256, 64, 64, EW_KV_F16);
        check_session(s, mapped, want, "not packed");
        ew_session_free(s);
        ew_model_close(mapped);
        ew_model_close(packed);
        test_free(want);
    }
    ew_engine_free(e);
}

static void test_threads_do_not_change_logits(void **state) {
    (void)state;
    for (size_t i = 0; i < 2 * n_models; i++) {
        size_t n;
        float *want = logits_with_threads(models[i / 2], 1, i % 2, &n);

        for (int32_t n_threads = 2; n_threads <= 5; n_threads++) {
            float *got = logits_with_threads(models[i / 2], n_threads, i % 2, &n);

            check_same(want, got, n, "threads");
            test_free(got);
        }
        test_free(want);
    }
}

typedef struct {
    float *rows;
    size_t n_vocab, n, stop_at;
} seen_rows;

static bool keep_row(void *ctx, size_t i, const float *logits) {
    seen_rows *c = ctx;

    assert_int_equal(i, c->n);
    memcpy(c->rows + i * c->n_vocab, logits, c->n_vocab * sizeof *logits);
    c->n++;
    return c->n != c->stop_at;
}

static void test_all_rows_equal_single_steps(void **state) {
    ew_engine *e = made_engine(2);
    ew_model *m = made_open(e, made_model(MODEL_LLAMA_K), false);
    ew_session *all = made_session(m, 256, 64, 0, EW_KV_F16);
    ew_session *single = made_session(m, 256, 64, 0, EW_KV_F16);
    const size_t n_vocab = (size_t)ew_n_vocab(m);
    seen_rows seen = {test_malloc(N_PROMPT * n_vocab * sizeof(float)), n_vocab, 0, 0};
    ew_error err = {0};

    (void)state;
    made_ids(tokens, N_PROMPT, ew_n_vocab(m), 3);
    must(ew_session_eval_all(all, tokens, N_PROMPT, keep_row, &seen, &err), &err);
    assert_int_equal(seen.n, N_PROMPT);
    for (size_t i = 0; i < N_PROMPT; i++) {
        must(ew_session_eval(single, &tokens[i], 1, &err), &err);
        check_same(seen.rows + i * n_vocab, ew_session_logits(single), n_vocab, "row");
    }
    /* The last row is the session's. */
    check_same(ew_session_logits(single), ew_session_logits(all), n_vocab, "last row");
    test_free(seen.rows);
    ew_session_free(all);
    ew_session_free(single);
    ew_model_close(m);
    ew_engine_free(e);
}

static void test_callback_ends_eval_all(void **state) {
    ew_engine *e = made_engine(2);
    ew_model *m = made_open(e, made_model(MODEL_LLAMA_K), false);
    ew_session *s = made_session(m, 256, 64, 0, EW_KV_F16);
    ew_session *fresh = made_session(m, 256, 64, 0, EW_KV_F16);
    const size_t n_vocab = (size_t)ew_n_vocab(m);
    seen_rows seen = {test_malloc(N_PROMPT * n_vocab * sizeof(float)), n_vocab, 0, 100};
    ew_error err = {0};
    float *want;

    (void)state;
    made_ids(tokens, N_PROMPT + N_MORE, ew_n_vocab(m), 3);
    assert_int_equal(ew_session_eval_all(s, tokens, N_PROMPT, keep_row, &seen, &err), EW_ECANCEL);
    assert_int_equal(seen.n, 100);
    assert_true(ew_session_n(s) <= N_PROMPT);
    test_free(seen.rows);
    want = logits_twice(fresh, m);
    check_session(s, m, want, "after a callback ended it");
    test_free(want);
    ew_session_free(fresh);
    ew_session_free(s);
    ew_model_close(m);
    ew_engine_free(e);
}

/* A session that came to the tokens by another way: a common prefix of n tokens, then others. */
static void check_prefix(ew_model *m, size_t n_common, const float *want) {
    ew_session *s = made_session(m, 256, 64, 0, EW_KV_F16);
    int32_t other[N_PROMPT];
    ew_error err = {0};
    size_t n_cached = 0;

    made_ids(other, N_PROMPT, ew_n_vocab(m), 77);
    memcpy(other, tokens, n_common * sizeof *other);
    if (n_common < N_PROMPT && other[n_common] == tokens[n_common]) other[n_common] ^= 1;
    must(ew_session_sync(s, other, N_PROMPT, NULL, &err), &err);
    must(ew_session_sync(s, tokens, N_PROMPT, &n_cached, &err), &err);
    /* The last token is always evaluated. */
    assert_int_equal(n_cached, n_common < N_PROMPT ? n_common : N_PROMPT - 1);
    assert_int_equal(ew_session_n(s), N_PROMPT);
    assert_memory_equal(ew_session_tokens(s), tokens, N_PROMPT * sizeof *tokens);
    check_same(want, ew_session_logits(s), (size_t)ew_n_vocab(m), "cached prefix");
    check_session(s, m, want, "cached prefix, continued");
    ew_session_free(s);
}

static void test_cached_prefix_equals_fresh(void **state) {
    static const size_t common[] = {0, 1, 3, 63, 64, 65, 149, 150};
    ew_engine *e = made_engine(2);
    ew_model *m = made_open(e, made_model(MODEL_LLAMA_K), false);
    ew_session *s = made_session(m, 256, 64, 0, EW_KV_F16);
    float *want;

    (void)state;
    made_ids(tokens, N_PROMPT + N_MORE, ew_n_vocab(m), 4);
    want = logits_twice(s, m);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++) check_prefix(m, common[i], want);
    /* Syncing to a prefix of what is there: fewer tokens, the same logits. */
    check_session(s, m, want, "back to a prefix");
    test_free(want);
    ew_session_free(s);
    ew_model_close(m);
    ew_engine_free(e);
}

static void test_rewound_equals_fresh(void **state) {
    static const size_t keep[] = {0, 1, 4, 63, 64, 65, 128, 149, 150, 170, 1000};
    ew_engine *e = made_engine(2);
    ew_error err = {0};

    (void)state;
    for (size_t i = 0; i < n_models; i++) {
        ew_model *m = made_open(e, made_model(models[i]), false);
        ew_session *s = made_session(m, 256, 64, 0, EW_KV_Q8_0);
        float *want;

        made_ids(tokens, N_PROMPT + N_MORE, ew_n_vocab(m), 5);
        want = logits_twice(s, m);
        for (size_t k = 0; k < sizeof keep / sizeof *keep; k++) {
            const size_t n = keep[k] < N_PROMPT + N_MORE ? keep[k] : N_PROMPT + N_MORE;

            ew_session_rewind(s, keep[k]);
            assert_int_equal(ew_session_n(s), n);
            if (keep[k] < N_PROMPT + N_MORE) assert_null(ew_session_logits(s));
            if (n < N_PROMPT + N_MORE)
                must(ew_session_eval(s, tokens + n, N_PROMPT + N_MORE - n, &err), &err);
            check_same(want + ew_n_vocab(m), ew_session_logits(s), (size_t)ew_n_vocab(m),
                       "rewound");
        }
        test_free(want);
        ew_session_free(s);
        ew_model_close(m);
    }
    ew_engine_free(e);
}

/* Saves a session of the prompt, loads it into another with other chunks, and continues both. */
static void check_reload(ew_model *m, ew_kv_type kv, uint32_t page_tokens) {
    ew_session *a = made_session(m, 256, 64, page_tokens, kv);
    ew_session *b = made_session(m, 256, 7, page_tokens, kv);
    const size_t n_vocab = (size_t)ew_n_vocab(m);
    const char *path = made_path("session");
    ew_error err = {0};

    must(ew_session_sync(a, tokens, N_PROMPT, NULL, &err), &err);
    must(ew_session_save(a, path, &err), &err);
    must(ew_session_sync(b, tokens + 10, 40, NULL, &err), &err); /* is replaced */
    must(ew_session_load(b, path, &err), &err);
    assert_int_equal(ew_session_n(b), N_PROMPT);
    assert_memory_equal(ew_session_tokens(b), tokens, N_PROMPT * sizeof *tokens);
    for (size_t i = N_PROMPT; i < N_PROMPT + N_MORE; i++) {
        must(ew_session_eval(a, &tokens[i], 1, &err), &err);
        must(ew_session_eval(b, &tokens[i], 1, &err), &err);
        check_same(ew_session_logits(a), ew_session_logits(b), n_vocab, "reloaded");
    }
    ew_session_free(a);
    ew_session_free(b);
}

static void test_reloaded_equals_continued(void **state) {
    static const ew_kv_type types[] = {EW_KV_F16, EW_KV_Q8_0, EW_KV_F32};
    ew_engine *e = made_engine(2);

    (void)state;
    for (size_t i = 0; i < n_models; i++) {
        ew_model *m = made_open(e, made_model(models[i]), false);

        made_ids(tokens, N_PROMPT + N_MORE, ew_n_vocab(m), 6);
        for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
            check_reload(m, types[k], 64);
            check_reload(m, types[k], 4);
        }
        ew_model_close(m);
    }
    ew_engine_free(e);
}

/* Rounding keys and values: a key's relative error eps reaches the scores, a value's the output of
 * the layer, two roundings a layer. As in tests/support/oracle.h, one side rounds. */
static void check_kv_type(ew_model *m, ew_kv_type kv, double eps) {
    ew_session *exact = made_session(m, 256, 64, 0, EW_KV_F32);
    ew_session *s = made_session(m, 256, 64, 0, kv);
    const size_t n_vocab = (size_t)ew_n_vocab(m);
    float *a = logits_twice(exact, m), *b = logits_twice(s, m);
    ew_model_info info = {.size = sizeof info};
    double bound, most = 0;

    ew_model_info_get(m, &info);
    bound = 5 * eps * sqrt(2.0 * info.n_layer) * oracle_rms(a, (int32_t)(2 * n_vocab));
    for (size_t i = 0; i < 2 * n_vocab; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    print_message("kv %s: %.2g, bound %.2g\n", ew_kv_type_name(kv), most, bound);
    assert_true(most <= bound);
    assert_true(most > 0); /* the type did something */
    test_free(a);
    test_free(b);
    ew_session_free(exact);
    ew_session_free(s);
}

static void test_kv_types_agree_within_their_rounding(void **state) {
    ew_engine *e = made_engine(2);

    (void)state;
    for (size_t i = 0; i < n_models; i++) {
        /* In float, so that activations are not rounded and nothing else differs. */
        ew_model *m = made_open(e, made_model(models[i]), true);

        made_ids(tokens, N_PROMPT + N_MORE, ew_n_vocab(m), 7);
        check_kv_type(m, EW_KV_F16, 0x1p-11 / sqrt(3));
        check_kv_type(m, EW_KV_Q8_0, 4 / (127 * sqrt(12)));
        ew_model_close(m);
    }
    ew_engine_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks_do_not_change_logits),
        cmocka_unit_test(test_page_size_changes_rounding_alone),
        cmocka_unit_test(test_packing_does_not_change_logits),
        cmocka_unit_test(test_threads_do_not_change_logits),
        cmocka_unit_test(test_all_rows_equal_single_steps),
        cmocka_unit_test(test_callback_ends_eval_all),
        cmocka_unit_test(test_cached_prefix_equals_fresh),
        cmocka_unit_test(test_rewound_equals_fresh),
        cmocka_unit_test(test_reloaded_equals_continued),
        cmocka_unit_test(test_kv_types_agree_within_their_rounding),
    };

    return cmocka_run_group_tests_name("invariance", tests, NULL, NULL);
}
