/* SPDX-License-Identifier: MIT
 *
 * Tokenizers against the ids that the reference implementation gives for real vocabularies. The
 * data is not part of the repository; without it these tests are skipped. */
#include "base/mem.h"
#include "format/gguf.h"
#include "tests/support/shared.h"
#include "text/tokenizer.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum {
    FILE_MAX = 64 << 20
};

/* A vocabulary with the bytes its gguf points into. */
typedef struct {
    char *bytes;
    gguf g;
    tokenizer *t;
} vocab;

static char *unpack(const char *path, size_t *n) {
    char command[1200];
    FILE *f;
    char *bytes = mem_array(FILE_MAX, 1);

    assert_non_null(bytes);
    snprintf(command, sizeof command, "gzip -dc '%s' 2>/dev/null", path);
    f = popen(command, "r");
    *n = f ? fread(bytes, 1, FILE_MAX, f) : 0;
    if (f) pclose(f);
    return bytes;
}

static bool is_packed(const char *path) {
    return strlen(path) > 3 && strcmp(path + strlen(path) - 3, ".gz") == 0;
}

static void parse(vocab *v, const char *rel) {
    const char *path = shared_path(rel);
    ew_error err;
    size_t n = 0;

    *v = (vocab){0};
    if (!path) skip();
    if (is_packed(path))
        v->bytes = unpack(path, &n);
    else
        assert_int_equal(file_read(&v->bytes, &n, path, FILE_MAX, &err), EW_OK);
    if (n == 0) {
        mem_free(v->bytes);
        skip(); /* no gzip */
    }
    assert_int_equal(gguf_parse(&v->g, (const uint8_t *)v->bytes, n, rel, &err), EW_OK);
}

static void open_tok(vocab *v) {
    ew_error err = {0};
    char warn[256];

    if (tok_open(&v->t, &v->g, "vocab", warn, &err)) fail_msg("%s", err.text);
}

static void close_vocab(vocab *v) {
    tok_close(v->t);
    gguf_close(&v->g);
    mem_free(v->bytes);
    *v = (vocab){0};
    assert_int_equal(mem_live(), 0);
}

static int32_t *encode(const tokenizer *t, str text, bool markup, bool special, size_t *n) {
    const tok_piece piece = {text, markup};
    int32_t *ids;
    ew_error err;

    assert_int_equal(tok_encode(t, &piece, 1, special, &ids, n, &err), EW_OK);
    return ids;
}

static void show(const int32_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) fprintf(stderr, " %d", (int)ids[i]);
    fprintf(stderr, "\n");
}

/* Are the ids of text those of the JSON array? */
static bool same(const tokenizer *t, str text, bool markup, bool special, const json_t *want,
                 const char *where) {
    size_t n;
    int32_t *ids = encode(t, text, markup, special, &n);
    bool ok = n == json_array_size(want);

    for (size_t i = 0; ok && i < n; i++) ok = json_integer_value(json_array_get(want, i)) == ids[i];
    if (!ok) {
        fprintf(stderr, "%s: \"%.*s\"\n  is ", where, (int)text.n, text.p);
        show(ids, n);
        fprintf(stderr, "  not");
        for (size_t i = 0; i < json_array_size(want); i++)
            fprintf(stderr, " %d", (int)json_integer_value(json_array_get(want, i)));
        fprintf(stderr, "\n");
    }
    mem_free(ids);
    return ok;
}

static str json_str(const json_t *s) {
    return (str){json_string_value(s), json_string_length(s)};
}

/* Where the reference gives the text back, so do we. */
static bool comes_back(const tokenizer *t, str text, const char *where) {
    strbuf out;
    size_t n;
    int32_t *ids = encode(t, text, true, false, &n);
    bool ok;

    strbuf_init(&out, FILE_MAX);
    tok_decode(t, ids, n, true, &out);
    ok = str_eq((str){out.p, out.n}, text);
    if (!ok) {
        fprintf(stderr, "%s: \"%.*s\" comes back as \"%.*s\"\n", where, (int)text.n, text.p,
                (int)out.n, out.p);
    }
    strbuf_fini(&out);
    mem_free(ids);
    return ok;
}

static void check_vectors(const char *vocab_rel, const char *vectors_rel) {
    vocab v;
    json_t *all;
    size_t n_bad = 0;

    parse(&v, vocab_rel);
    open_tok(&v);
    all = json_load_file(shared_path(vectors_rel), JSON_ALLOW_NUL, NULL);
    assert_non_null(all);
    assert_true(json_array_size(json_object_get(all, "vectors")) > 50);
    for (size_t i = 0; i < json_array_size(json_object_get(all, "vectors")); i++) {
        const json_t *x = json_array_get(json_object_get(all, "vectors"), i);
        const str text = json_str(json_object_get(x, "text"));
        const char *where = json_string_value(json_object_get(x, "id"));
        const json_t *ids = json_object_get(x, "ids"), *special = json_object_get(x, "ids_special");
        const json_t *added = json_object_get(x, "ids_add_special");

        if (!special) special = ids;
        if (ids) n_bad += !same(v.t, text, false, false, ids, where);
        if (special) n_bad += !same(v.t, text, true, false, special, where);
        if (added) n_bad += !same(v.t, text, true, true, added, where);
        if (!json_object_get(x, "detok") && !json_object_get(x, "detok_hex"))
            n_bad += !comes_back(v.t, text, where);
    }
    json_decref(all);
    close_vocab(&v);
    assert_int_equal(n_bad, 0);
}

/* NAME.inp: texts between lines "__ggml_vocab_test__"; NAME.out: a line of ids for each. */
static void check_inp(const char *vocab_rel, const char *stem) {
    static const char border[] = "\n__ggml_vocab_test__\n";
    vocab v;
    char rel[256], *inp, *out, *p, *line;
    size_t n_inp, n_out, n_seen = 0;
    ew_error err;

    parse(&v, vocab_rel);
    open_tok(&v);
    snprintf(rel, sizeof rel, "%s.inp", stem);
    assert_int_equal(file_read(&inp, &n_inp, shared_path(rel), FILE_MAX, &err), EW_OK);
    snprintf(rel, sizeof rel, "%s.out", stem);
    assert_int_equal(file_read(&out, &n_out, shared_path(rel), FILE_MAX, &err), EW_OK);
    line = out;
    for (p = inp; p < inp + n_inp;) {
        char *end = strstr(p, border), *at = line;
        const size_t len = end ? (size_t)(end - p) : n_inp - (size_t)(p - inp);
        size_t n;
        int32_t *ids;

        if (!end) break; /* what follows the last border is empty */
        ids = encode(v.t, (str){p, len}, false, false, &n);
        for (size_t i = 0; i < n; i++) assert_int_equal(strtol(at, &at, 10), ids[i]);
        while (*at == ' ') at++;
        assert_true(*at == '\n' || *at == 0);
        line = at + 1;
        mem_free(ids);
        n_seen++;
        p += len + sizeof border - 1;
    }
    assert_true(n_seen > 20);
    mem_free(inp);
    mem_free(out);
    close_vocab(&v);
}

#define TOK "data/tokenizers/"

static void test_gpt2_ids(void **state) {
    (void)state;
    check_vectors(TOK "ggml-vocab-gpt-2.gguf", TOK "vectors/gguf-gpt-2.json");
    check_inp(TOK "ggml-vocab-gpt-2.gguf", TOK "ggml-vocab-gpt-2.gguf");
}

static void test_qwen2_ids(void **state) {
    (void)state;
    check_vectors(TOK "ggml-vocab-qwen2.gguf", TOK "vectors/gguf-qwen2.json");
    check_inp(TOK "ggml-vocab-qwen2.gguf", TOK "ggml-vocab-qwen2.gguf");
}

static void test_phi3_ids(void **state) {
    (void)state;
    check_vectors(TOK "ggml-vocab-phi-3.gguf", TOK "vectors/gguf-phi-3.json");
    check_inp(TOK "ggml-vocab-phi-3.gguf", TOK "ggml-vocab-phi-3.gguf");
}

static void test_gemma4_ids(void **state) {
    (void)state;
    check_vectors(TOK "ggml-vocab-gemma-4.gguf.gz", TOK "vectors/gguf-gemma-4.json");
    check_inp(TOK "ggml-vocab-gemma-4.gguf.gz", TOK "ggml-vocab-gemma-4.gguf");
}

static void test_stories260k_ids(void **state) {
    (void)state;
    check_vectors("data/models/stories260K-f32.gguf", TOK "vectors/gguf-stories260K.json");
}

static void test_tinystories656k_ids(void **state) {
    (void)state;
    check_vectors("data/models/tinystories656K-f32.gguf", TOK "vectors/gguf-tinystories656K.json");
}

/* Its vocabulary has no byte tokens: unknown characters become <unk>, as in the original. */
static void test_tinystories656k_unknown_characters(void **state) {
    vocab v;
    json_t *all;
    size_t n_bad = 0, n_unk = 0;

    (void)state;
    parse(&v, "data/models/tinystories656K-f32.gguf");
    open_tok(&v);
    all = json_load_file(shared_path(TOK "vectors/hf-tinystories656K.json"), JSON_ALLOW_NUL, NULL);
    assert_non_null(all);
    for (size_t i = 0; i < json_array_size(json_object_get(all, "vectors")); i++) {
        const json_t *x = json_array_get(json_object_get(all, "vectors"), i);
        const json_t *ids = json_object_get(x, "ids_special");
        const char *class = json_string_value(json_object_get(x, "class"));

        if (strcmp(class, "special") == 0) continue; /* the spaces around them differ */
        for (size_t k = 0; k < json_array_size(ids); k++)
            n_unk += json_integer_value(json_array_get(ids, k)) == 0;
        n_bad += !same(v.t, json_str(json_object_get(x, "text")), true, false, ids,
                       json_string_value(json_object_get(x, "id")));
    }
    json_decref(all);
    close_vocab(&v);
    assert_true(n_unk > 50);
    assert_int_equal(n_bad, 0);
}

/* GPT-2's vocabulary under each pre-tokenizer name. */
static void test_pre_tokenizers_split_alike(void **state) {
    vocab v;
    json_t *all;
    const json_t *strings, *groups;
    gguf_kv *kv = NULL;
    size_t n_bad = 0, n_pre = 0;

    (void)state;
    parse(&v, TOK "ggml-vocab-gpt-2.gguf");
    for (size_t i = 0; i < v.g.n_kv; i++)
        if (str_is(v.g.kv[i].key, "tokenizer.ggml.pre")) kv = v.g.kv + i;
    assert_non_null(kv);
    all = json_load_file(shared_path(TOK "vectors/pre-types-on-gpt2.json"), JSON_ALLOW_NUL, NULL);
    assert_non_null(all);
    strings = json_object_get(all, "strings");
    groups = json_object_get(all, "groups");
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i), *pre = json_object_get(group, "pre");

        for (size_t k = 0; k < json_array_size(pre); k++) {
            const str name = json_str(json_array_get(pre, k));
            uint8_t value[64] = {(uint8_t)name.n};
            char warn[256];
            ew_error err;

            memcpy(value + 8, name.p, name.n);
            kv->data = value;
            kv->n_bytes = 8 + name.n;
            assert_int_equal(tok_open(&v.t, &v.g, "vocab", warn, &err), EW_OK);
            assert_string_equal(warn, "");
            for (size_t s = 0; s < json_array_size(strings); s++)
                n_bad += !same(v.t, json_str(json_array_get(strings, s)), false, false,
                               json_array_get(json_object_get(group, "ids"), s), name.p);
            tok_close(v.t);
            v.t = NULL;
            n_pre++;
        }
    }
    json_decref(all);
    close_vocab(&v);
    assert_true(n_pre >= 86);
    assert_int_equal(n_bad, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2_ids),
        cmocka_unit_test(test_qwen2_ids),
        cmocka_unit_test(test_phi3_ids),
        cmocka_unit_test(test_gemma4_ids),
        cmocka_unit_test(test_stories260k_ids),
        cmocka_unit_test(test_tinystories656k_ids),
        cmocka_unit_test(test_tinystories656k_unknown_characters),
        cmocka_unit_test(test_pre_tokenizers_split_alike),
    };

    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
