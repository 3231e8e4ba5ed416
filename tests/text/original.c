/* SPDX-License-Identifier: MIT
 *
 * Vocabularies made from the original tokenizer.json files, against the ids that the original
 * tokenizers give. The data is not part of the repository; without it these tests are skipped. */
#include "base/mem.h"
#include "tests/support/shared.h"
#include "tests/support/vocab.h"
#include "text/names.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static str json_str(const json_t *s) {
    return (str){json_string_value(s), json_string_length(s)};
}

typedef struct {
    str name;
    int32_t kind;
    float score;
} token;

/* Tokens by id, from the vocabulary and the added tokens. */
static token *read_tokens(const json_t *root, size_t *n) {
    json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab");
    const json_t *added = json_object_get(root, "added_tokens");
    token *t = mem_array(json_object_size(vocab) + json_array_size(added), sizeof *t);
    const char *name;
    json_t *id;

    assert_non_null(t);
    *n = json_object_size(vocab);
    json_object_foreach(vocab, name, id) {
        const size_t i = (size_t)json_integer_value(id);
        const bool is_byte = strlen(name) == 6 && strncmp(name, "<0x", 3) == 0;

        assert_true(i < *n);
        t[i] = (token){str_of(name), is_byte ? TOKEN_BYTE : TOKEN_NORMAL, -1e6f};
    }
    for (size_t k = 0; k < json_array_size(added); k++) {
        const json_t *a = json_array_get(added, k);
        const size_t i = (size_t)json_integer_value(json_object_get(a, "id"));

        if (i >= *n) *n = i + 1;
        t[i].name = json_str(json_object_get(a, "content"));
        t[i].kind = str_is(t[i].name, "<unk>")                    ? TOKEN_UNKNOWN
                    : json_is_true(json_object_get(a, "special")) ? TOKEN_CONTROL
                                                                  : TOKEN_USER_DEFINED;
    }
    return t;
}

/* SentencePiece vocabularies have scores: minus the rank of the first merge that gives a token. */
static void score(test_vocab *v, const json_t *merges) {
    names all = {0};
    strbuf joined;

    strbuf_init(&joined, 1 << 16);
    for (size_t i = 0; i < v->n; i++) {
        uint32_t id;
        bool is_new;

        assert_true(names_add(&all, v->name[i], &id, &is_new));
    }
    for (size_t i = json_array_size(merges); i-- > 0;) {
        const str m = json_str(json_array_get(merges, i));
        const char *gap = memchr(m.p + 1, ' ', m.n - 1);
        int64_t id;

        strbuf_clear(&joined);
        strbuf_add(&joined, m.p, (size_t)(gap - m.p));
        strbuf_add(&joined, gap + 1, m.n - (size_t)(gap - m.p) - 1);
        id = names_find(&all, (str){joined.p, joined.n});
        if (id >= 0) v->score[id] = -(float)i;
    }
    strbuf_fini(&joined);
    names_fini(&all);
}

/* Newer files write a merge as a pair. */
static void as_strings(json_t *merges) {
    for (size_t i = 0; i < json_array_size(merges); i++) {
        const json_t *m = json_array_get(merges, i);

        if (json_is_array(m))
            json_array_set_new(merges, i,
                               json_sprintf("%s %s", json_string_value(json_array_get(m, 0)),
                                            json_string_value(json_array_get(m, 1))));
    }
}

static void convert(test_vocab *v, const char *rel, const char *model, const char *pre) {
    json_t *root = json_load_file(shared_path(rel), JSON_ALLOW_NUL, NULL);
    json_t *merges = json_object_get(json_object_get(root, "model"), "merges");
    const size_t n_merge = json_array_size(merges);
    size_t n;
    token *t;

    assert_non_null(root);
    as_strings(merges);
    t = read_tokens(root, &n);
    vocab_init(v, model);
    for (size_t i = 0; i < n; i++) vocab_token(v, t[i].name, t[i].kind, t[i].score);
    mem_free(t);
    if (pre) {
        str *list = mem_array(n_merge, sizeof *list);

        assert_non_null(list);
        for (size_t i = 0; i < n_merge; i++) list[i] = json_str(json_array_get(merges, i));
        gguf_put_str(&v->w, "tokenizer.ggml.pre", str_of(pre));
        gguf_put_strs(&v->w, "tokenizer.ggml.merges", list, n_merge);
        mem_free(list);
    } else {
        score(v, merges);
    }
    json_decref(root);
}

static void check(const char *rel, const char *vectors, const char *model, const char *pre) {
    test_vocab v;
    tokenizer *t;
    json_t *root;
    const json_t *list;

    if (!shared_path(rel) || !shared_path(vectors)) skip();
    convert(&v, rel, model, pre);
    t = vocab_open(&v);
    root = json_load_file(shared_path(vectors), JSON_ALLOW_NUL, NULL);
    list = json_object_get(root, "vectors");
    assert_true(json_array_size(list) > 200);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *x = json_array_get(list, i), *want = json_object_get(x, "ids_special");
        const tok_piece piece = {json_str(json_object_get(x, "text")), true};
        int32_t *ids;
        size_t n;

        assert_int_equal(tok_encode(t, &piece, 1, false, &ids, &n, NULL), EW_OK);
        if (n != json_array_size(want)) fail_msg("%s", piece.text.p);
        for (size_t k = 0; k < n; k++)
            if (ids[k] != json_integer_value(json_array_get(want, k))) fail_msg("%s", piece.text.p);
        mem_free(ids);
    }
    json_decref(root);
    tok_close(t);
    vocab_fini(&v);
}

static void test_gpt2_ids(void **state) {
    (void)state;
    check("data/tokenizers/gpt2-hf/tokenizer.json", "data/tokenizers/vectors/hf-gpt2.json", "gpt2",
          "gpt-2");
}

static void test_mistral_ids(void **state) {
    (void)state;
    check("data/tokenizers/mistral-hf/tokenizer.json", "data/tokenizers/vectors/hf-mistral.json",
          "llama", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2_ids),
        cmocka_unit_test(test_mistral_ids),
    };

    return cmocka_run_group_tests_name("original", tests, NULL, NULL);
}
