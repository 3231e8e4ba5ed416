/* SPDX-License-Identifier: MIT
 *
 * Model files from strangers, as a whole: what must be refused is refused in one sentence that
 * names the file and the place, what is odd does no harm, and what is right runs. */
#include "base/mem.h"
#include "tests/support/made.h"
#include "tests/support/models.h"
#include "tests/support/shared.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    MAX_FILE = 1 << 20
};

/* Opens the file and, if that works, evaluates two tokens and samples the next. */
static ew_status try_model(ew_engine *e, const char *path, bool vocab_only, ew_error *err) {
    const int32_t ids[] = {3, 5};
    ew_model_options o;
    ew_model *m = NULL;
    ew_session *s = NULL;
    ew_sampler *sampler = NULL;
    int32_t next;
    ew_status rc;

    ew_model_defaults(&o);
    o.vocab_only = vocab_only;
    rc = ew_model_open(&m, e, path, &o, err);
    if (rc) assert_null(m);
    if (!rc && !vocab_only) rc = ew_session_new(&s, m, NULL, err);
    if (!rc && !vocab_only) rc = ew_session_eval(s, ids, 2, err);
    if (!rc && !vocab_only) rc = ew_sampler_new(&sampler, m, NULL, err);
    if (!rc && !vocab_only) rc = ew_sampler_sample(sampler, ew_session_logits(s), &next, err);
    ew_sampler_free(sampler);
    ew_session_free(s);
    ew_model_close(m);
    return rc;
}

/* One sentence: says which file, no line break, no full stop, and something besides the name. */
static void check_sentence(const ew_error *err, const char *path) {
    const size_t n = strlen(err->text);

    if (strncmp(err->text, path, strlen(path)) != 0) fail_msg("names no file: %s", err->text);
    assert_null(strchr(err->text, '\n'));
    if (n < strlen(path) + 10 || err->text[n - 1] == '.') fail_msg("no sentence: %s", err->text);
}

static void check_case(ew_engine *e, const char *path, const char *name) {
    const long live = mem_live();
    const bool vocab_only = strstr(name, "vocab-only") != NULL;
    ew_error err = {0};
    const ew_status rc = try_model(e, path, vocab_only, &err);

    print_message("%-40s %s %s\n", name, ew_status_name(rc), rc ? err.text + strlen(path) : "");
    if (!strncmp(name, "ok-", 3)) must(rc, &err);
    if (!strncmp(name, "bad-", 4) && rc != EW_EFORMAT && rc != EW_EUNSUPPORTED)
        fail_msg("%s: %s: %s", name, ew_status_name(rc), err.text);
    if (rc && rc != EW_EFORMAT) assert_int_equal(err.status, rc);
    if (!strncmp(name, "bad-", 4)) check_sentence(&err, path);
    if (mem_live() != live) fail_msg("%s: %ld allocations leaked", name, mem_live() - live);
}

static void test_malformed_models_are_refused(void **state) {
    const char *folder = shared_path("data/gguf-cases/small");
    ew_engine *e;
    char kept[512], path[1024];
    DIR *d;
    int n = 0;

    (void)state;
    if (!folder) skip();
    snprintf(kept, sizeof kept, "%s", folder);
    d = opendir(kept);
    e = made_engine(1);
    for (struct dirent *f; (f = readdir(d));) {
        if (!strstr(f->d_name, ".gguf")) continue;
        snprintf(path, sizeof path, "%s/%s", kept, f->d_name);
        check_case(e, path, f->d_name);
        n++;
    }
    closedir(d);
    ew_engine_free(e);
    assert_true(n > 70);
}

/* Ids generated after "ab", as the list of cases has them. */
static void check_greedy(ew_engine *e, const char *path, const json_t *want) {
    ew_model *m = made_open(e, path, true);
    ew_session *s = made_session(m, 0, 0, 0, EW_KV_F32);
    ew_error err = {0};
    int32_t *ids;
    size_t n;

    must(ew_tokenize(m, "ab", 2, EW_TOK_ADD_SPECIAL, &ids, &n, &err), &err);
    must(ew_session_eval(s, ids, n, &err), &err);
    for (size_t i = 0; i < json_array_size(want); i++) {
        const float *logits = ew_session_logits(s);
        int32_t best = 0;

        for (int32_t k = 1; k < ew_n_vocab(m); k++)
            if (logits[k] > logits[best]) best = k;
        assert_int_equal(best, json_integer_value(json_array_get(want, i)));
        must(ew_session_eval(s, &best, 1, &err), &err);
    }
    ew_free(ids);
    ew_session_free(s);
    ew_model_close(m);
}

static void test_unusual_but_right_models_give_the_reference_tokens(void **state) {
    const char *path = shared_path("data/gguf-cases/small/list.json");
    json_t *list, *entry;
    ew_engine *e;
    size_t i;
    int n = 0;

    (void)state;
    if (!path) skip();
    e = made_engine(1);
    list = json_load_file(path, 0, NULL);
    json_array_foreach(json_object_get(list, "cases"), i, entry) {
        const json_t *want = json_object_get(entry, "greedy_ids_for_ab");
        const char *name = json_string_value(json_object_get(entry, "file"));
        char rel[256];

        if (!want || strncmp(name, "ok-", 3) != 0) continue;
        snprintf(rel, sizeof rel, "data/gguf-cases/small/%s", name);
        check_greedy(e, shared_path(rel), want);
        n++;
    }
    json_decref(list);
    ew_engine_free(e);
    assert_true(n >= 7);
}

static void test_split_sets_and_old_versions_open(void **state) {
    static const struct {
        const char *rel;
        ew_status want;
    } cases[] = {
        {"data/gguf-cases/real/stories260K-split-00001-of-00003.gguf", EW_OK},
        {"data/gguf-cases/real/stories260K-split-00003-of-00003.gguf", EW_OK},
        {"data/gguf-cases/real/stories260K-v2.gguf", EW_OK},
        {"data/gguf-cases/real/stories260K-v3-be.gguf", EW_EUNSUPPORTED},
    };
    ew_engine *e;

    (void)state;
    if (!shared_path("data/gguf-cases/real")) skip();
    e = made_engine(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ew_error err = {0};

        if (try_model(e, shared_path(cases[i].rel), false, &err) != cases[i].want)
            fail_msg("%s: %s", cases[i].rel, err.text);
        if (cases[i].want) print_message("%s\n", err.text);
    }
    ew_engine_free(e);
}

/* ---- damage to a file of our own ------------------------------------------------------------ */

typedef struct {
    ew_engine *e;
    unsigned char *bytes;
    size_t n, n_header; /* of the header: up to the tensors' data */
} victim;

static void write_bytes(const char *path, const unsigned char *bytes, size_t n) {
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) fail_msg("%s: can't write", path);
}

static victim victim_open(const char *args) {
    const char *path = made_model(args);
    FILE *f = fopen(path, "rb");
    victim v = {.e = made_engine(1), .bytes = test_malloc(MAX_FILE)};
    ew_tensor_info t;
    ew_file *g;
    ew_error err = {0};

    if (!f) fail_msg("%s: can't read", path);
    v.n = fread(v.bytes, 1, MAX_FILE, f);
    assert_in_range(v.n, 1, MAX_FILE - 1);
    fclose(f);
    must(ew_file_open(&g, path, &err), &err);
    v.n_header = v.n;
    for (size_t i = 0; i < ew_file_n_tensor(g); i++) {
        ew_file_tensor(g, i, &t);
        if (t.off_bytes < v.n_header) v.n_header = (size_t)t.off_bytes;
    }
    ew_file_close(g);
    return v;
}

static void victim_close(victim *v) {
    ew_engine_free(v->e);
    test_free(v->bytes);
}

static void test_models_cut_anywhere_are_refused(void **state) {
    victim v = victim_open(MODEL_TINY);
    const char *path = made_path("cut.gguf");

    (void)state;
    for (size_t n = 0; n < v.n; n += n < 64 ? 1 : 1 + v.n / 499) {
        ew_error err = {0};

        write_bytes(path, v.bytes, n);
        if (try_model(v.e, path, false, &err) != EW_EFORMAT)
            fail_msg("cut to %zu of %zu bytes: %s", n, v.n, err.text);
        check_sentence(&err, path);
    }
    victim_close(&v);
}

/* Header bytes changed at random: whatever comes of it, no crash, no leak, no runaway. */
static void test_damaged_headers_do_no_harm(void **state) {
    victim v = victim_open(MODEL_TINY);
    const char *path = made_path("damaged.gguf");
    const long live = mem_live();
    int n_refused = 0;

    (void)state;
    srandom(1);
    for (int i = 0; i < 600; i++) {
        const size_t at = (size_t)random() % v.n_header;
        const unsigned char was = v.bytes[at];
        ew_error err = {0};

        v.bytes[at] = (unsigned char)(i % 3 ? random() : i % 2 ? 0xFF : 0x80);
        write_bytes(path, v.bytes, v.n);
        n_refused += try_model(v.e, path, false, &err) != EW_OK;
        if (mem_live() != live) fail_msg("byte %zu: %ld leaked", at, mem_live() - live);
        v.bytes[at] = was;
    }
    print_message("%d of 600 refused\n", n_refused);
    assert_true(n_refused > 100);
    victim_close(&v);
}

/* Every weight NaN: an error at the latest when a token is to be chosen, never a token. */
static void test_weights_that_are_not_numbers_give_no_token(void **state) {
    victim v = victim_open(MODEL_TINY);
    const char *path = made_path("nan.gguf");
    ew_error err = {0};
    ew_status rc;

    (void)state;
    memset(v.bytes + v.n_header, 0xFF, v.n - v.n_header);
    write_bytes(path, v.bytes, v.n);
    rc = try_model(v.e, path, false, &err);
    print_message("%s: %s\n", ew_status_name(rc), err.text);
    assert_int_equal(rc, EW_EFORMAT);
    victim_close(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed_models_are_refused),
        cmocka_unit_test(test_unusual_but_right_models_give_the_reference_tokens),
        cmocka_unit_test(test_split_sets_and_old_versions_open),
        cmocka_unit_test(test_models_cut_anywhere_are_refused),
        cmocka_unit_test(test_damaged_headers_do_no_harm),
        cmocka_unit_test(test_weights_that_are_not_numbers_give_no_token),
    };

    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
