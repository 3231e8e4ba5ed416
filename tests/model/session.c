/* SPDX-License-Identifier: MIT
 *
 * What a session promises besides its numbers: being cancelled, being full, session files whole,
 * foreign, cut and damaged, a full disk, no memory, the budget, and that decoding allocates
 * nothing. */
#include "base/clock.h"
#include "base/mem.h"
#include "tests/support/made.h"
#include "tests/support/models.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    N_PROMPT = 150,
    N_ID = 200 /* ids used: below every test model's vocabulary */
};

static int32_t tokens[1024];

typedef struct {
    ew_engine *e;
    ew_model *m;
    ew_session *s;
} stage;

static stage stage_open(const char *args, uint32_t ctx_tokens) {
    stage t = {.e = made_engine(2)};

    t.m = made_open(t.e, made_model(args), false);
    t.s = made_session(t.m, ctx_tokens, 64, 0, EW_KV_F16);
    made_ids(tokens, sizeof tokens / sizeof *tokens, N_ID, 11);
    return t;
}

static void stage_close(stage *t) {
    ew_session_free(t->s);
    ew_model_close(t->m);
    ew_engine_free(t->e);
}

static float *copy_logits(const stage *t) {
    const size_t n_bytes = (size_t)ew_n_vocab(t->m) * sizeof(float);
    float *out = test_malloc(n_bytes);

    assert_non_null(ew_session_logits(t->s));
    memcpy(out, ew_session_logits(t->s), n_bytes);
    return out;
}

static void check_logits(const stage *t, const float *want) {
    assert_non_null(ew_session_logits(t->s));
    assert_memory_equal(ew_session_logits(t->s), want, (size_t)ew_n_vocab(t->m) * sizeof(float));
}

/* ---- cancelling ----------------------------------------------------------------------------- */

static void test_cancel_before_an_evaluation_ends_the_next_one(void **state) {
    stage t = stage_open(MODEL_LLAMA_K, 512);
    ew_error err = {0};
    float *want;

    (void)state;
    must(ew_session_eval(t.s, tokens, N_PROMPT, &err), &err);
    want = copy_logits(&t);
    ew_session_rewind(t.s, 0);
    ew_session_cancel(t.s);
    assert_int_equal(ew_session_eval(t.s, tokens, N_PROMPT, &err), EW_ECANCEL);
    assert_true(strlen(err.text) > 0);
    assert_true(ew_session_n(t.s) < N_PROMPT);
    /* Only that one. */
    must(ew_session_sync(t.s, tokens, N_PROMPT, NULL, &err), &err);
    check_logits(&t, want);
    ew_session_cancel(t.s);
    ew_session_cancel_clear(t.s);
    must(ew_session_eval(t.s, &tokens[N_PROMPT], 1, &err), &err);
    test_free(want);
    stage_close(&t);
}

typedef struct {
    ew_session *s;
    long delay_us;
    uint64_t asked_us;
} canceller;

static void *cancel_later(void *arg) {
    canceller *c = arg;
    const struct timespec wait = {0, c->delay_us * 1000};

    nanosleep(&wait, NULL);
    c->asked_us = clock_us();
    ew_session_cancel(c->s);
    return NULL;
}

static void test_cancel_from_another_thread_leaves_a_usable_session(void **state) {
    stage t = stage_open(MODEL_LLAMA_K, 1024);
    ew_error err = {0};
    float *want;
    int n_cancelled = 0;

    (void)state;
    must(ew_session_eval(t.s, tokens, 1000, &err), &err);
    want = copy_logits(&t);
    for (long delay_us = 0; delay_us <= 20000; delay_us = delay_us * 2 + 100) {
        canceller c = {t.s, delay_us, 0};
        pthread_t thread;
        ew_status rc;
        size_t n_kept;

        ew_session_rewind(t.s, 0);
        assert_int_equal(pthread_create(&thread, NULL, cancel_later, &c), 0);
        rc = ew_session_eval(t.s, tokens, 1000, &err);
        pthread_join(thread, NULL);
        ew_session_cancel_clear(t.s);
        assert_true(rc == EW_OK || rc == EW_ECANCEL);
        n_cancelled += rc == EW_ECANCEL;
        /* What was evaluated is kept, and the rest follows as if nothing had been. */
        n_kept = ew_session_n(t.s);
        assert_true(n_kept <= 1000);
        assert_memory_equal(ew_session_tokens(t.s), tokens, n_kept * sizeof *tokens);
        if (n_kept < 1000) must(ew_session_eval(t.s, tokens + n_kept, 1000 - n_kept, &err), &err);
        check_logits(&t, want);
    }
    assert_true(n_cancelled > 0);
    test_free(want);
    stage_close(&t);
}

static bool stop_at_once(void *ctx, const char *text, size_t n) {
    (void)ctx, (void)text, (void)n;
    return false;
}

static ew_sampler *greedy(const ew_model *m) {
    ew_sampler_options o;
    ew_sampler *out;
    ew_error err = {0};

    ew_sampler_defaults(&o);
    o.temperature = 0;
    must(ew_sampler_new(&out, m, &o, &err), &err);
    return out;
}

static void test_a_cancelled_generation_says_so(void **state) {
    stage t = stage_open(MODEL_LLAMA_K, 512);
    ew_sampler *sampler = greedy(t.m);
    ew_generate_options o;
    ew_generate_result res;
    ew_error err = {0};

    (void)state;
    ew_generate_defaults(&o);
    o.on_text = stop_at_once;
    o.n_predict = 50;
    o.ignore_eos = true;
    must(ew_generate(t.s, sampler, tokens, 20, &o, &res, &err), &err);
    assert_int_equal(res.reason, EW_STOP_CANCEL);
    assert_true(res.n_generated < 50);
    ew_session_cancel(t.s);
    o.on_text = NULL;
    must(ew_generate(t.s, sampler, tokens + 30, 20, &o, &res, &err), &err);
    assert_int_equal(res.reason, EW_STOP_CANCEL);
    must(ew_generate(t.s, sampler, tokens, 20, &o, &res, &err), &err);
    assert_int_equal(res.reason, EW_STOP_LENGTH);
    assert_int_equal(res.n_generated, 50);
    ew_sampler_free(sampler);
    stage_close(&t);
}

/* ---- a full context ------------------------------------------------------------------------- */

static void test_a_full_context_is_reported(void **state) {
    stage t = stage_open(MODEL_LLAMA_K, 100);
    ew_sampler *sampler = greedy(t.m);
    ew_generate_options o;
    ew_generate_result res;
    ew_error err = {0};
    float *want;

    (void)state;
    must(ew_session_eval(t.s, tokens, 90, &err), &err);
    want = copy_logits(&t);
    assert_int_equal(ew_session_eval(t.s, tokens, 11, &err), EW_EFULL);
    assert_non_null(strstr(err.text, "100"));
    assert_int_equal(ew_session_n(t.s), 90);
    check_logits(&t, want);
    assert_int_equal(ew_session_sync(t.s, tokens, 101, NULL, &err), EW_EFULL);
    assert_int_equal(ew_session_n(t.s), 90);
    must(ew_session_eval(t.s, tokens, 10, &err), &err);
    assert_int_equal(ew_session_eval(t.s, tokens, 1, &err), EW_EFULL);

    ew_generate_defaults(&o);
    o.n_predict = -1;
    o.ignore_eos = true;
    must(ew_generate(t.s, sampler, tokens, 60, &o, &res, &err), &err);
    assert_int_equal(res.reason, EW_STOP_CONTEXT);
    assert_int_equal(ew_session_n(t.s), 100);
    /* 40 evaluated and one chosen from the last one's logits. */
    assert_in_range(res.n_generated, 40, 41);
    assert_int_equal(ew_generate(t.s, sampler, tokens, 101, &o, &res, &err), EW_EFULL);
    test_free(want);
    ew_sampler_free(sampler);
    stage_close(&t);
}

static void test_bad_arguments_are_refused(void **state) {
    stage t = stage_open(MODEL_LLAMA_K, 100);
    const int32_t wrong[] = {1, -1}, beyond[] = {1, ew_n_vocab(t.m)};
    ew_error err = {0};

    (void)state;
    must(ew_session_eval(t.s, tokens, 5, &err), &err);
    assert_int_equal(ew_session_eval(t.s, wrong, 2, &err), EW_EINVAL);
    assert_int_equal(ew_session_eval(t.s, beyond, 2, &err), EW_EINVAL);
    assert_int_equal(ew_session_sync(t.s, beyond, 2, NULL, &err), EW_EINVAL);
    assert_int_equal(ew_session_n(t.s), 5);
    assert_memory_equal(ew_session_tokens(t.s), tokens, 5 * sizeof *tokens);
    stage_close(&t);
}

/* ---- session files -------------------------------------------------------------------------- */

static unsigned char *read_file(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    unsigned char *out;
    struct stat st;

    if (!f || fstat(fileno(f), &st)) fail_msg("%s: %s", path, strerror(errno));
    *n = (size_t)st.st_size;
    out = test_malloc(*n + 1);
    assert_int_equal(fread(out, 1, *n, f), *n);
    fclose(f);
    return out;
}

static void write_file(const char *path, const unsigned char *bytes, size_t n) {
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) fail_msg("%s: %s", path, strerror(errno));
}

/* Loading must fail with this status and leave the session as it was. */
static void check_refused(stage *t, const char *path, ew_status want, const float *logits,
                          size_t n_before) {
    ew_error err = {0};
    const ew_status rc = ew_session_load(t->s, path, &err);

    if (rc != want && !(want == EW_EFORMAT && rc == EW_EMISMATCH))
        fail_msg("%s: %s: %s", path, ew_status_name(rc), err.text);
    assert_true(strlen(err.text) > 10);
    assert_int_equal(ew_session_n(t->s), n_before);
    assert_memory_equal(ew_session_tokens(t->s), tokens, n_before * sizeof *tokens);
    check_logits(t, logits);
}

static void test_foreign_session_files_are_refused(void **state) {
    stage a = stage_open(MODEL_LLAMA_K, 256), b = stage_open(MODEL_QWEN2, 256);
    stage c = stage_open(MODEL_LLAMA_K_OTHER, 256), small = stage_open(MODEL_LLAMA_K, 100);
    const char *path = made_path("foreign");
    ew_session *q8 = made_session(a.m, 256, 64, 0, EW_KV_Q8_0);
    ew_error err = {0};
    float *logits;

    (void)state;
    must(ew_session_eval(a.s, tokens, N_PROMPT, &err), &err);
    must(ew_session_save(a.s, path, &err), &err);
    must(ew_session_eval(b.s, tokens, 30, &err), &err);
    logits = copy_logits(&b);
    check_refused(&b, path, EW_EMISMATCH, logits, 30);
    test_free(logits);
    /* The same shapes, other weights. */
    must(ew_session_eval(c.s, tokens, 30, &err), &err);
    logits = copy_logits(&c);
    check_refused(&c, path, EW_EMISMATCH, logits, 30);
    test_free(logits);
    /* More tokens than the window has. */
    must(ew_session_eval(small.s, tokens, 30, &err), &err);
    logits = copy_logits(&small);
    check_refused(&small, path, EW_EFULL, logits, 30);
    test_free(logits);
    /* Another type of cache. */
    assert_int_equal(ew_session_load(q8, path, &err), EW_EMISMATCH);
    assert_int_equal(ew_session_load(q8, made_path("not there"), &err), EW_EIO);
    assert_int_equal(ew_session_load(q8, made_model(MODEL_QWEN2), &err), EW_EFORMAT);
    ew_session_free(q8);
    stage_close(&a), stage_close(&b), stage_close(&c), stage_close(&small);
}

static void test_cut_and_damaged_session_files_are_refused(void **state) {
    stage t = stage_open(MODEL_TINY, 256);
    const char *path = made_path("whole"), *bad = made_path("bad");
    unsigned char *bytes;
    size_t n;
    ew_error err = {0};
    float *logits, *after;

    (void)state;
    must(ew_session_eval(t.s, tokens + 50, 70, &err), &err);
    must(ew_session_save(t.s, path, &err), &err);
    after = copy_logits(&t);
    bytes = read_file(path, &n);
    must(ew_session_sync(t.s, tokens, 30, NULL, &err), &err);
    logits = copy_logits(&t);
    for (size_t cut = 0; cut < n; cut += cut < 256 ? 1 : 1 + n / 37) {
        write_file(bad, bytes, cut);
        check_refused(&t, bad, EW_EFORMAT, logits, 30);
    }
    write_file(bad, bytes, n - 1);
    check_refused(&t, bad, EW_EFORMAT, logits, 30);
    bytes[n] = 0;
    write_file(bad, bytes, n + 1);
    check_refused(&t, bad, EW_EFORMAT, logits, 30);
    for (size_t at = 0; at < n; at += at < 512 ? 1 : 1 + n / 101) {
        for (int bit = 0; bit < 8; bit += 7) {
            bytes[at] ^= (unsigned char)(1 << bit);
            write_file(bad, bytes, n);
            check_refused(&t, bad, EW_EFORMAT, logits, 30);
            bytes[at] ^= (unsigned char)(1 << bit);
        }
    }
    /* And whole it is taken. */
    write_file(bad, bytes, n);
    must(ew_session_load(t.s, bad, &err), &err);
    assert_int_equal(ew_session_n(t.s), 70);
    ew_session_rewind(t.s, 69);
    must(ew_session_eval(t.s, tokens + 119, 1, &err), &err);
    check_logits(&t, after);
    test_free(after);
    test_free(logits);
    test_free(bytes);
    stage_close(&t);
}

/* Files in the folder whose names begin so. */
static int count_files(const char *prefix) {
    char folder[256];
    int n = 0;
    DIR *d;

    snprintf(folder, sizeof folder, "%s", made_path("."));
    d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) n += !strncmp(e->d_name, prefix, strlen(prefix));
    closedir(d);
    return n;
}

/* Saves with a limit on the size of files, as a full disk would: in a child, whose limit it is. */
static void save_with_file_limit(stage *t, const char *path, size_t limit) {
    const struct rlimit r = {limit, limit};
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        ew_error err = {0};
        ew_status rc;

        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &r);
        rc = ew_session_save(t->s, path, &err);
        _exit(rc == EW_EIO && strstr(err.text, strerror(EFBIG)) ? 0 : 10 + (int)rc);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_a_full_disk_leaves_nothing_half_written(void **state) {
    stage t = stage_open(MODEL_LLAMA_K, 256);
    const char *path = made_path("disk"), *whole = made_path("whole-disk");
    unsigned char *before, *after;
    size_t n, n_after;
    ew_error err = {0};

    (void)state;
    must(ew_session_eval(t.s, tokens, 200, &err), &err);
    must(ew_session_save(t.s, whole, &err), &err);
    before = read_file(whole, &n);
    assert_true(n > 3 << 16); /* several of the writer's buffers */
    for (size_t limit = 0; limit < n; limit = limit * 3 + 1) {
        save_with_file_limit(&t, path, limit);
        assert_int_equal(count_files("disk"), 0);
    }
    save_with_file_limit(&t, path, n - 1);
    assert_int_equal(count_files("disk"), 0);
    /* A file that was there stays as it was. */
    must(ew_session_eval(t.s, tokens, 30, &err), &err);
    save_with_file_limit(&t, whole, n);
    assert_int_equal(count_files("whole-disk"), 1);
    after = read_file(whole, &n_after);
    assert_int_equal(n, n_after);
    assert_memory_equal(before, after, n);
    assert_int_equal(ew_session_save(t.s, made_path("no/such/folder"), &err), EW_EIO);
    test_free(before);
    test_free(after);
    stage_close(&t);
}

/* ---- memory --------------------------------------------------------------------------------- */

static uint64_t sum_of_accounts(ew_engine *e) {
    uint64_t sum = 0;

    for (int a = 0; a < EW_MEM_COUNT; a++) sum += ew_engine_memory(e, (ew_account)a);
    return sum;
}

/* The whole life: engine, model, session, a generation. */
static ew_status live_once(const char *path, const int32_t *prompt, size_t n, ew_error *err) {
    ew_engine *e = NULL;
    ew_model *m = NULL;
    ew_session *s = NULL;
    ew_sampler *sampler = NULL;
    ew_generate_options o;
    ew_generate_result res;
    ew_status rc;

    ew_generate_defaults(&o);
    o.n_predict = 8;
    rc = ew_engine_new(&e, NULL, err);
    if (!rc) rc = ew_model_open(&m, e, path, NULL, err);
    if (!rc) rc = ew_session_new(&s, m, NULL, err);
    if (!rc) rc = ew_sampler_new(&sampler, m, NULL, err);
    if (!rc) rc = ew_generate(s, sampler, prompt, n, &o, &res, err);
    ew_sampler_free(sampler);
    ew_session_free(s);
    ew_model_close(m);
    ew_engine_free(e);
    return rc;
}

static void test_no_allocation_failure_leaks_or_crashes(void **state) {
    const char *path = made_model(MODEL_TINY);
    const long live = mem_live();
    ew_status rc = EW_ENOMEM;
    long n = 0;

    (void)state;
    made_ids(tokens, 20, N_ID, 1);
    while (rc != EW_OK) {
        ew_error err = {0};

        n++;
        mem_fail_at(n);
        rc = live_once(path, tokens, 20, &err);
        mem_fail_at(0);
        if (rc != EW_OK && rc != EW_ENOMEM)
            fail_msg("allocation %ld: %s: %s", n, ew_status_name(rc), err.text);
        if (rc && !err.text[0]) fail_msg("allocation %ld: no sentence", n);
        if (mem_live() != live) fail_msg("allocation %ld: %ld leaked", n, mem_live() - live);
    }
    print_message("%ld allocations failed one after the other\n", n - 1);
    assert_true(n > 20);
}

static void test_accounts_equal_the_estimate(void **state) {
    static const ew_kv_type types[] = {EW_KV_F16, EW_KV_Q8_0, EW_KV_F32};
    ew_engine *e = made_engine(2);
    ew_error err = {0};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        ew_model *m = made_open(e, made_model(MODEL_LLAMA_K), false);
        ew_session_options o;
        ew_session_cost cost;
        ew_sampler *sampler;
        ew_session *s;
        uint64_t kv = 0, total;

        made_ids(tokens, 300, N_ID, 11);
        total = sum_of_accounts(e);
        ew_session_defaults(&o);
        o.ctx_tokens = 300;
        o.type_k = o.type_v = types[i];
        must(ew_session_estimate(m, &o, &cost, &err), &err);
        assert_int_equal(sum_of_accounts(e), total); /* asking costs nothing */
        must(ew_session_new(&s, m, &o, &err), &err);
        for (size_t at = 0; at < 300; at += 50) {
            must(ew_session_eval(s, tokens + at, 50, &err), &err);
            /* Pages grow with use. */
            assert_true(ew_engine_memory(e, EW_MEM_KV) >= kv);
            kv = ew_engine_memory(e, EW_MEM_KV);
            assert_true(kv >= cost.kv_token * (at + 50));
            assert_true(kv <= cost.kv_full);
        }
        assert_int_equal(kv, cost.kv_full);
        assert_int_equal(ew_engine_memory(e, EW_MEM_SCRATCH), cost.scratch);
        assert_int_equal(sum_of_accounts(e), total + cost.kv_full + cost.scratch);
        assert_true(ew_engine_memory_peak(e) >= sum_of_accounts(e));
        must(ew_sampler_new(&sampler, m, NULL, &err), &err);
        assert_int_equal(ew_engine_memory(e, EW_MEM_SCRATCH), cost.scratch + cost.sampler);
        ew_sampler_free(sampler);
        ew_session_rewind(s, 10);
        ew_session_free(s);
        assert_int_equal(sum_of_accounts(e), total);
        ew_model_close(m);
        assert_int_equal(sum_of_accounts(e), 0);
    }
    ew_engine_free(e);
}

/* The last number in the text. */
static unsigned long last_number(const char *text) {
    const char *at = text + strlen(text);

    while (at > text && !(at[-1] >= '0' && at[-1] <= '9')) at--;
    while (at > text && at[-1] >= '0' && at[-1] <= '9') at--;
    return strtoul(at, NULL, 10);
}

static void test_a_session_over_budget_names_the_largest_that_fits(void **state) {
    const char *path = made_model(MODEL_LLAMA_K);
    ew_engine *e = made_engine(2);
    ew_model *m = made_open(e, path, false);
    ew_engine_options eo;
    ew_session_options o;
    ew_session_cost cost;
    ew_session *s;
    ew_error err = {0};
    unsigned long fits;

    (void)state;
    ew_session_defaults(&o);
    o.ctx_tokens = 2048;
    must(ew_session_estimate(m, &o, &cost, &err), &err);
    ew_engine_defaults(&eo);
    eo.n_threads = 2;
    eo.memory_limit = sum_of_accounts(e) + cost.scratch + cost.sampler + cost.kv_full / 2;
    ew_model_close(m);
    ew_engine_free(e);

    must(ew_engine_new(&e, &eo, &err), &err);
    m = made_open(e, path, false);
    assert_int_equal(ew_session_new(&s, m, &o, &err), EW_ENOMEM);
    assert_null(s);
    print_message("%s\n", err.text);
    fits = last_number(err.text);
    assert_in_range(fits, 512, 2047);
    o.ctx_tokens = (uint32_t)fits;
    must(ew_session_new(&s, m, &o, &err), &err);
    made_ids(tokens, 1000, N_ID, 1);
    for (size_t left = fits; left > 0;) {
        const size_t n = left < 500 ? left : 500;

        must(ew_session_eval(s, tokens, n, &err), &err);
        left -= n;
    }
    assert_true(sum_of_accounts(e) <= eo.memory_limit);
    ew_session_free(s);
    /* And it is the largest. */
    o.ctx_tokens = (uint32_t)fits + 1;
    assert_int_equal(ew_session_new(&s, m, &o, &err), EW_ENOMEM);
    ew_model_close(m);
    ew_engine_free(e);
    /* Where the work space must be smaller than asked for, where only the weights fit, and where
     * not even they do. */
    eo.memory_limit -= cost.kv_full / 2;
    must(ew_engine_new(&e, &eo, &err), &err);
    m = made_open(e, path, false);
    assert_int_equal(ew_session_new(&s, m, &o, &err), EW_ENOMEM);
    o.ctx_tokens = (uint32_t)last_number(err.text);
    assert_in_range(o.ctx_tokens, 1, 511);
    must(ew_session_new(&s, m, &o, &err), &err);
    ew_session_free(s);
    o.ctx_tokens++;
    assert_int_equal(ew_session_new(&s, m, &o, &err), EW_ENOMEM);
    eo.memory_limit = sum_of_accounts(e) + 4096;
    ew_model_close(m);
    ew_engine_free(e);
    must(ew_engine_new(&e, &eo, &err), &err);
    m = made_open(e, path, false);
    assert_int_equal(ew_session_new(&s, m, &o, &err), EW_ENOMEM);
    assert_non_null(strstr(err.text, ": no context fits"));
    ew_model_close(m);
    ew_engine_free(e);
    eo.memory_limit = 100000;
    must(ew_engine_new(&e, &eo, &err), &err);
    assert_int_equal(ew_model_open(&m, e, path, NULL, &err), EW_ENOMEM);
    assert_non_null(strstr(err.text, "allowed are 97.66 KiB: no context fits"));
    assert_int_equal(sum_of_accounts(e), 0);
    ew_engine_free(e);

    /* A model that does not fit is refused, too, with the sum. */
    eo.memory_limit = 4096;
    must(ew_engine_new(&e, &eo, &err), &err);
    assert_int_equal(ew_model_open(&m, e, path, NULL, &err), EW_ENOMEM);
    assert_null(m);
    print_message("%s\n", err.text);
    assert_int_equal(sum_of_accounts(e), 0);
    ew_engine_free(e);
}

/* Where the file's weights fit and the packed ones, which are larger, do not: from the map. */
static void test_what_does_not_fit_packed_runs_from_the_map(void **state) {
    const char *path = made_model(MODEL_LLAMA_K);
    ew_engine *e = made_engine(2);
    ew_model *m = made_open(e, path, false);
    uint64_t packed, mapped, limit;
    ew_engine_options eo;
    ew_model_options o;
    ew_error err = {0};

    (void)state;
    packed = sum_of_accounts(e);
    assert_true(ew_engine_memory(e, EW_MEM_PACKED) > 0);
    ew_model_close(m);
    ew_model_defaults(&o);
    o.no_pack = true;
    must(ew_model_open(&m, e, path, &o, &err), &err);
    mapped = sum_of_accounts(e);
    assert_int_equal(ew_engine_memory(e, EW_MEM_PACKED), 0);
    ew_model_close(m);
    ew_engine_free(e);

    assert_true(mapped < packed);
    ew_engine_defaults(&eo);
    for (limit = packed - 1; limit <= packed; limit++) {
        eo.memory_limit = limit;
        must(ew_engine_new(&e, &eo, &err), &err);
        m = made_open(e, path, false);
        assert_int_equal(sum_of_accounts(e), limit < packed ? mapped : packed);
        ew_model_close(m);
        ew_engine_free(e);
    }
}

/* A session of the model with windows whose pages are small against them. */
static ew_session *windows_session(ew_model *m) {
    return made_session(m, 400, 16, 16, EW_KV_F32);
}

static void test_pages_behind_a_window_are_given_back(void **state) {
    stage t = stage_open(MODEL_WINDOW, 64);
    ew_session_options o;
    ew_session_cost cost;
    ew_session *s;
    ew_error err = {0};
    uint64_t kv;

    (void)state;
    ew_session_free(t.s);
    t.s = s = windows_session(t.m);
    ew_session_defaults(&o);
    o.ctx_tokens = 400;
    o.chunk_tokens = o.page_tokens = 16;
    o.type_k = o.type_v = EW_KV_F32;
    must(ew_session_estimate(t.m, &o, &cost, &err), &err);
    /* One layer of three sees all, the others 40 tokens. */
    assert_true(cost.kv_full < cost.kv_token * 400 * 7 / 10);
    for (size_t at = 0; at < 400; at += 10) {
        must(ew_session_eval(s, tokens + at, 10, &err), &err);
        assert_true(ew_engine_memory(t.e, EW_MEM_KV) <= cost.kv_full);
    }
    kv = ew_engine_memory(t.e, EW_MEM_KV);
    assert_true(kv > cost.kv_full * 7 / 10);
    /* Reading stays within the windows too. */
    assert_true(ew_session_bytes_per_token(s, 400) - ew_session_bytes_per_token(s, 200) ==
                cost.kv_token * 200 / 3);
    stage_close(&t);
}

/* Behind what windows have kept, tokens are evaluated anew, and nobody can tell. */
static void test_rewinding_further_than_windows_reach(void **state) {
    static const size_t keeps[] = {1, 16, 100, 250, 299};
    stage t = stage_open(MODEL_WINDOW, 64);
    const char *path = made_path("windows");
    float *want;
    ew_error err = {0};
    size_t n_cached = 77;

    (void)state;
    ew_session_free(t.s);
    t.s = windows_session(t.m);
    must(ew_session_eval(t.s, tokens, 350, &err), &err);
    want = copy_logits(&t);
    for (size_t i = 0; i < sizeof keeps / sizeof *keeps; i++) {
        ew_session_rewind(t.s, keeps[i]);
        assert_int_equal(ew_session_n(t.s), keeps[i]);
        assert_int_equal(ew_session_save(t.s, path, &err), EW_EINVAL);
        must(ew_session_eval(t.s, tokens + keeps[i], 350 - keeps[i], &err), &err);
        assert_memory_equal(ew_session_logits(t.s), want, (size_t)ew_n_vocab(t.m) * sizeof *want);
    }
    ew_session_rewind(t.s, 345); /* as chats do */
    must(ew_session_save(t.s, path, &err), &err);
    must(ew_session_sync(t.s, tokens, 350, &n_cached, &err), &err);
    assert_int_equal(n_cached, 345);
    must(ew_session_sync(t.s, tokens, 60, &n_cached, &err), &err);
    assert_int_equal(n_cached, 0);
    must(ew_session_load(t.s, path, &err), &err);
    must(ew_session_sync(t.s, tokens, 350, &n_cached, &err), &err);
    assert_int_equal(n_cached, 345);
    assert_memory_equal(ew_session_logits(t.s), want, (size_t)ew_n_vocab(t.m) * sizeof *want);
    test_free(want);
    stage_close(&t);
}

static void test_decoding_allocates_nothing(void **state) {
    stage t = stage_open(MODEL_LLAMA_K, 256);
    ew_sampler *sampler = greedy(t.m);
    ew_error err = {0};
    int32_t id;
    long before;

    (void)state;
    must(ew_session_eval(t.s, tokens, 65, &err), &err); /* opens the second page of 64 */
    must(ew_sampler_sample(sampler, ew_session_logits(t.s), &id, &err), &err);
    ew_sampler_accept(sampler, id);
    before = mem_count();
    for (size_t i = 65; i < 128; i++) {
        must(ew_session_eval(t.s, &tokens[i], 1, &err), &err);
        must(ew_sampler_sample(sampler, ew_session_logits(t.s), &id, &err), &err);
    }
    assert_int_equal(mem_count(), before);
    ew_sampler_free(sampler);
    stage_close(&t);
}

static void test_sessions_share_a_model(void **state) {
    stage t = stage_open(MODEL_LLAMA_K, 256);
    ew_session *other = made_session(t.m, 256, 64, 0, EW_KV_F16);
    ew_error err = {0};
    float *want;

    (void)state;
    must(ew_session_eval(t.s, tokens, 100, &err), &err);
    want = copy_logits(&t);
    ew_session_rewind(t.s, 0);
    for (size_t i = 0; i < 100; i += 10) {
        must(ew_session_eval(t.s, tokens + i, 10, &err), &err);
        must(ew_session_eval(other, tokens + 200 + i, 10, &err), &err);
    }
    check_logits(&t, want);
    test_free(want);
    ew_session_free(other);
    stage_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancel_before_an_evaluation_ends_the_next_one),
        cmocka_unit_test(test_cancel_from_another_thread_leaves_a_usable_session),
        cmocka_unit_test(test_a_cancelled_generation_says_so),
        cmocka_unit_test(test_a_full_context_is_reported),
        cmocka_unit_test(test_bad_arguments_are_refused),
        cmocka_unit_test(test_foreign_session_files_are_refused),
        cmocka_unit_test(test_cut_and_damaged_session_files_are_refused),
        cmocka_unit_test(test_a_full_disk_leaves_nothing_half_written),
        cmocka_unit_test(test_no_allocation_failure_leaks_or_crashes),
        cmocka_unit_test(test_accounts_equal_the_estimate),
        cmocka_unit_test(test_a_session_over_budget_names_the_largest_that_fits),
        cmocka_unit_test(test_what_does_not_fit_packed_runs_from_the_map),
        cmocka_unit_test(test_pages_behind_a_window_are_given_back),
        cmocka_unit_test(test_rewinding_further_than_windows_reach),
        cmocka_unit_test(test_decoding_allocates_nothing),
        cmocka_unit_test(test_sessions_share_a_model),
    };

    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
