/* SPDX-License-Identifier: MIT
 *
 * Vocabularies with faults: each gives one sentence that names the key, and leaves nothing. */
#include "base/mem.h"
#include "tests/support/shared.h"
#include "tests/support/vocab.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* A vocabulary of three tokens that opens, until something is done to it. */
static void begin(test_vocab *v, const char *model) {
    vocab_init(v, model);
    vocab_tokens(v, "<unk> a b");
}

static void refuse(test_vocab *v, ew_status want, const char *words) {
    ew_error err = {0};
    tokenizer *t;
    long live;

    vocab_build(v);
    live = mem_live();
    assert_int_equal(tok_open(&t, &v->g, "x.gguf", NULL, &err), want);
    assert_null(t);
    assert_int_equal(mem_live(), live);
    if (!strstr(err.text, words)) fail_msg("\"%s\" lacks \"%s\"", err.text, words);
    if (strncmp(err.text, "x.gguf: ", 8)) fail_msg("\"%s\" names no file", err.text);
    vocab_fini(v);
}

static void test_models_that_are_not_supported_are_named(void **state) {
    test_vocab v;

    (void)state;
    begin(&v, "bert");
    refuse(&v, EW_EUNSUPPORTED, "\"bert\" (WordPiece)");
    begin(&v, "t5");
    refuse(&v, EW_EUNSUPPORTED, "\"t5\" (Unigram)");
    begin(&v, "abacus");
    refuse(&v, EW_EUNSUPPORTED, "\"abacus\" is not known");
    begin(&v, "none");
    refuse(&v, EW_EUNSUPPORTED, "no tokenizer");
    begin(&v, NULL);
    refuse(&v, EW_EFORMAT, "tokenizer.ggml.model is missing");
    begin(&v, NULL);
    gguf_put_u32(&v.w, "tokenizer.ggml.model", 1);
    refuse(&v, EW_EFORMAT, "tokenizer.ggml.model is no string");
}

static void test_token_lists_are_checked(void **state) {
    static const uint32_t numbers[] = {1, 2, 3};
    test_vocab v;

    (void)state;
    vocab_init(&v, "llama");
    refuse(&v, EW_EFORMAT, "tokenizer.ggml.tokens is missing");
    vocab_init(&v, "llama");
    gguf_put_array(&v.w, "tokenizer.ggml.tokens", GGUF_U32, numbers, 3);
    refuse(&v, EW_EFORMAT, "tokenizer.ggml.tokens is no array of strings");
    vocab_init(&v, "llama");
    gguf_put_strs(&v.w, "tokenizer.ggml.tokens", NULL, 0);
    refuse(&v, EW_EFORMAT, "tokenizer.ggml.tokens has 0 elements");
    begin(&v, "llama");
    vocab_tokens(&v, "c a");
    refuse(&v, EW_EFORMAT, "1 and 4 are both \"a\"");
}

static void test_columns_are_checked(void **state) {
    static const str names[] = {{"<unk>", 5}, {"a", 1}, {"b", 1}};
    static const float scores[] = {0, 0};
    static const int32_t kinds[] = {1, 1};
    test_vocab v;

    (void)state;
    vocab_init(&v, "llama");
    gguf_put_strs(&v.w, "tokenizer.ggml.tokens", names, 3);
    gguf_put_array(&v.w, "tokenizer.ggml.scores", GGUF_F32, scores, 2);
    refuse(&v, EW_EFORMAT, "tokenizer.ggml.scores has 2 elements for 3 tokens");
    vocab_init(&v, "llama");
    gguf_put_strs(&v.w, "tokenizer.ggml.tokens", names, 3);
    gguf_put_array(&v.w, "tokenizer.ggml.token_type", GGUF_I32, kinds, 2);
    refuse(&v, EW_EFORMAT, "tokenizer.ggml.token_type has 2 elements for 3 tokens");
    vocab_init(&v, "llama");
    gguf_put_strs(&v.w, "tokenizer.ggml.tokens", names, 3);
    gguf_put_strs(&v.w, "tokenizer.ggml.token_type", names, 3);
    refuse(&v, EW_EFORMAT, "tokenizer.ggml.token_type is no array of numbers");
    vocab_init(&v, "llama");
    gguf_put_strs(&v.w, "tokenizer.ggml.tokens", names, 3);
    gguf_put_array(&v.w, "tokenizer.ggml.token_type", GGUF_F32, (const float[]){1, 1, 1}, 3);
    refuse(&v, EW_EFORMAT, "tokenizer.ggml.token_type[0] is no integer");
}

static void test_ids_are_checked(void **state) {
    static const char *const keys[] = {"bos_token_id", "eos_token_id", "unknown_token_id",
                                       "eot_token_id", "eom_token_id"};
    test_vocab v;

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char key[64], words[128];

        snprintf(key, sizeof key, "tokenizer.ggml.%s", keys[i]);
        snprintf(words, sizeof words, "%s is 3, but the vocabulary has 3 tokens", key);
        begin(&v, "llama");
        gguf_put_u32(&v.w, key, 3);
        refuse(&v, EW_EFORMAT, words);
        begin(&v, "llama");
        gguf_put_f32(&v.w, key, 1);
        snprintf(words, sizeof words, "%s is no integer", key);
        refuse(&v, EW_EFORMAT, words);
    }
    begin(&v, "llama");
    gguf_put_u32(&v.w, "tokenizer.ggml.bos_token_id", UINT32_MAX); /* "none" */
    gguf_put_bool(&v.w, "tokenizer.ggml.add_bos_token", true);
    refuse(&v, EW_EFORMAT, "add_bos_token is set, but there is no bos token");
    begin(&v, "gpt2");
    vocab_merges(&v, "");
    gguf_put_bool(&v.w, "tokenizer.ggml.add_eos_token", true);
    refuse(&v, EW_EFORMAT, "add_eos_token is set, but there is no eos token");
}

static void test_merges_are_checked(void **state) {
    test_vocab v;

    (void)state;
    begin(&v, "gpt2");
    refuse(&v, EW_EFORMAT, "tokenizer.ggml.merges is missing");
    begin(&v, "gpt2");
    gguf_put_array(&v.w, "tokenizer.ggml.merges", GGUF_U32, (const uint32_t[]){1}, 1);
    refuse(&v, EW_EFORMAT, "tokenizer.ggml.merges is no array of strings");
}

static void test_odd_vocabularies_open(void **state) {
    static const str names[] = {{"", 0}, {"\0", 1}, {"\xFF\xFE", 2},
                                {"", 0}, {" ", 1},  {"<0xZZ>", 6}};
    static const int32_t kinds[] = {3, 4, 1, 1, 99, 6};
    static const float scores[] = {0, 1, 2, 3, 4, 5};
    tokenizer *t;
    test_vocab v;
    int32_t *ids;
    size_t n;
    const tok_piece piece = {{"a\xFF\xFE\0", 4}, true};

    (void)state;
    vocab_init(&v, "llama");
    gguf_put_strs(&v.w, "tokenizer.ggml.tokens", names, 6);
    gguf_put_array(&v.w, "tokenizer.ggml.token_type", GGUF_I32, kinds, 6);
    gguf_put_array(&v.w, "tokenizer.ggml.scores", GGUF_F32, scores, 6);
    t = vocab_open(&v);
    assert_int_equal(tok_n(t), 6);
    assert_int_equal(tok_name(t, 3).n, 0);
    assert_int_equal(tok_find(t, str_of("")), -1);
    assert_int_equal(tok_encode(t, &piece, 1, true, &ids, &n, NULL), EW_OK);
    mem_free(ids);
    tok_close(t);
    vocab_fini(&v);
}

static void test_scores_that_are_no_numbers_do_no_harm(void **state) {
    const float nan = NAN;
    test_vocab v;
    tokenizer *t;
    int32_t *ids;
    size_t n;
    const tok_piece piece = {str_of("abcabc"), false};

    (void)state;
    vocab_init(&v, "llama");
    vocab_tokens(&v, "<unk> a b c");
    vocab_token(&v, str_of("ab"), TOKEN_NORMAL, nan);
    vocab_token(&v, str_of("bc"), TOKEN_NORMAL, -nan);
    vocab_token(&v, str_of("ca"), TOKEN_NORMAL, -1e38f);
    gguf_put_bool(&v.w, "tokenizer.ggml.add_space_prefix", false);
    t = vocab_open(&v);
    assert_int_equal(tok_encode(t, &piece, 1, false, &ids, &n, NULL), EW_OK);
    assert_int_equal(n, 3); /* the number goes first: a b [ca] b c, then [ab] ca [bc] */
    mem_free(ids);
    tok_close(t);
    vocab_fini(&v);
}

static void test_unknown_pre_tokenizer_warns_and_takes_the_default(void **state) {
    test_vocab v;
    tokenizer *t;
    char warn[256];

    (void)state;
    begin(&v, "gpt2");
    vocab_merges(&v, "");
    gguf_put_str(&v.w, "tokenizer.ggml.pre", str_of("zebra"));
    vocab_build(&v);
    assert_int_equal(tok_open(&t, &v.g, "x.gguf", warn, NULL), EW_OK);
    assert_non_null(strstr(warn, "x.gguf: pre-tokenizer \"zebra\""));
    assert_string_equal(tok_model_name(t), "BPE (default)");
    tok_close(t);
    vocab_fini(&v);
    begin(&v, "gpt2");
    vocab_merges(&v, "");
    vocab_build(&v);
    assert_int_equal(tok_open(&t, &v.g, "x.gguf", warn, NULL), EW_OK);
    assert_non_null(strstr(warn, "names no pre-tokenizer"));
    tok_close(t);
    vocab_fini(&v);
}

/* The faults of the shared set that belong to the tokenizer. */
static void test_shared_cases(void **state) {
    static const struct {
        const char *file;
        ew_status rc;
    } cases[] = {{"ok-micro", EW_OK},
                 {"ok-vocab-only", EW_OK},
                 {"bad-scores-short", EW_EFORMAT},
                 {"bad-tokens-numbers", EW_EFORMAT},
                 {"bad-no-tokenizer-model", EW_EFORMAT},
                 {"bad-unknown-tokenizer", EW_EUNSUPPORTED},
                 {"odd-bos-out-of-range", EW_EFORMAT}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rel[128];
        const char *path;
        ew_error err = {0};
        gguf g;
        tokenizer *t;

        snprintf(rel, sizeof rel, "data/gguf-cases/small/%s.gguf", cases[i].file);
        path = shared_path(rel);
        if (!path) skip();
        assert_int_equal(gguf_open(&g, path, false, &err), EW_OK);
        if (tok_open(&t, &g, rel, NULL, &err) != cases[i].rc) fail_msg("%s: %s", rel, err.text);
        tok_close(t);
        gguf_close(&g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_that_are_not_supported_are_named),
        cmocka_unit_test(test_token_lists_are_checked),
        cmocka_unit_test(test_columns_are_checked),
        cmocka_unit_test(test_ids_are_checked),
        cmocka_unit_test(test_merges_are_checked),
        cmocka_unit_test(test_odd_vocabularies_open),
        cmocka_unit_test(test_scores_that_are_no_numbers_do_no_harm),
        cmocka_unit_test(test_unknown_pre_tokenizer_warns_and_takes_the_default),
        cmocka_unit_test(test_shared_cases),
    };

    return cmocka_run_group_tests_name("metadata", tests, NULL, NULL);
}
