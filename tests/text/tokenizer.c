/* SPDX-License-Identifier: MIT
 *
 * The rules of both families on vocabularies small enough to see what should come out. */
#include "text/tokenizer.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "tests/support/rng.h"
#include "tests/support/vocab.h"
#include "text/detok.h"
#include "text/pretok.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum {
    TEXT_CAP = 1 << 20
};

/* The tokens of pieces as their names with a "|" between. */
static void names_of(const tokenizer *t, const tok_piece *pieces, size_t n_piece, bool add_special,
                     strbuf *out) {
    int32_t *ids;
    size_t n;
    ew_error err = {0};

    strbuf_clear(out);
    if (tok_encode(t, pieces, n_piece, add_special, &ids, &n, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < n; i++) {
        if (i) strbuf_puts(out, "|");
        strbuf_str(out, tok_name(t, ids[i]));
    }
    mem_free(ids);
    strbuf_add(out, "", 1);
}

static void expect_pieces(const tokenizer *t, const tok_piece *pieces, size_t n, const char *want) {
    strbuf out;

    strbuf_init(&out, TEXT_CAP);
    names_of(t, pieces, n, false, &out);
    assert_string_equal(out.p, want);
    strbuf_fini(&out);
}

static void expect(const tokenizer *t, const char *text, const char *want) {
    const tok_piece piece = {str_of(text), false};

    expect_pieces(t, &piece, 1, want);
}

static void expect_markup(const tokenizer *t, const char *text, const char *want) {
    const tok_piece piece = {str_of(text), true};

    expect_pieces(t, &piece, 1, want);
}

/* <unk> <s> </s>, the bytes, then tokens in falling order of score. */
static void spm_init(test_vocab *v, const char *tokens) {
    vocab_init(v, "llama");
    vocab_token(v, str_of("<unk>"), TOKEN_UNKNOWN, 0);
    vocab_token(v, str_of("<s>"), TOKEN_CONTROL, 0);
    vocab_token(v, str_of("</s>"), TOKEN_CONTROL, 0);
    vocab_bytes(v);
    vocab_tokens(v, tokens);
}

static void bpe_init(test_vocab *v, const char *pre, const char *merges) {
    vocab_init(v, "gpt2");
    gguf_put_str(&v->w, "tokenizer.ggml.pre", str_of(pre));
    vocab_stand_ins(v);
    vocab_merges(v, merges);
}

static void done(tokenizer *t, test_vocab *v) {
    tok_close(t);
    vocab_fini(v);
}

/* Every test gives all memory back. */
static int check_live(void **state) {
    (void)state;
    return mem_live() != 0;
}

static void test_spm_joins_the_best_score_first(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    spm_init(&v, "\xE2\x96\x81 bc ab a b c");
    gguf_put_bool(&v.w, "tokenizer.ggml.add_space_prefix", false);
    t = vocab_open(&v);
    expect(t, "abc", "a|bc");
    expect(t, "aab", "a|ab");
    expect(t, "", "");
    assert_string_equal(tok_model_name(t), "SentencePiece");
    done(t, &v);
}

static void test_spm_equal_scores_join_from_the_left(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    spm_init(&v, "");
    gguf_put_bool(&v.w, "tokenizer.ggml.add_space_prefix", false);
    vocab_token(&v, str_of("a"), TOKEN_NORMAL, -2);
    vocab_token(&v, str_of("aa"), TOKEN_NORMAL, -1);
    t = vocab_open(&v);
    expect(t, "aaaaa", "aa|aa|a");
    done(t, &v);
}

static void test_spm_space_goes_before_text_and_after_special_tokens(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    spm_init(&v, "\xE2\x96\x81 \xE2\x96\x81"
                 "a a");
    t = vocab_open(&v);
    expect(t, "a",
           "\xE2\x96\x81"
           "a");
    expect(t, " a",
           "\xE2\x96\x81|\xE2\x96\x81"
           "a");
    expect_markup(t, "a</s>a",
                  "\xE2\x96\x81"
                  "a|</s>|\xE2\x96\x81"
                  "a");
    expect_markup(t, "<s>", "<s>");
    done(t, &v);
}

static void test_spm_falls_back_to_bytes(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    spm_init(&v, "a");
    gguf_put_bool(&v.w, "tokenizer.ggml.add_space_prefix", false);
    t = vocab_open(&v);
    expect(t,
           "\xC3\xA9"
           "a",
           "<0xC3>|<0xA9>|a");
    expect(t,
           "\xFF"
           "a\xE4\xB8",
           "<0xFF>|a|<0xE4>|<0xB8>");
    done(t, &v);
}

static void test_spm_without_bytes_gives_unknown(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    vocab_init(&v, "llama");
    vocab_token(&v, str_of("<unk>"), TOKEN_UNKNOWN, 0);
    vocab_tokens(&v, "a b");
    gguf_put_bool(&v.w, "tokenizer.ggml.add_space_prefix", false);
    t = vocab_open(&v);
    expect(t,
           "a\xE4\xB8\xAD\xE6\x96\x87"
           "b\xFF"
           "a",
           "a|<unk>|b|<unk>|a");
    done(t, &v);
}

static void test_spm_nul_bytes_are_text(void **state) {
    const tok_piece piece = {{"a\0a", 3}, false};
    test_vocab v;
    tokenizer *t;

    (void)state;
    spm_init(&v, "a");
    gguf_put_bool(&v.w, "tokenizer.ggml.add_space_prefix", false);
    t = vocab_open(&v);
    expect_pieces(t, &piece, 1, "a|<0x00>|a");
    done(t, &v);
}

static void test_bpe_joins_the_lowest_rank_first(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    bpe_init(&v, "gpt-2", "b c,a b,\xC4\xA0 a");
    vocab_tokens(&v, "bc ab \xC4\xA0"
                     "a");
    t = vocab_open(&v);
    expect(t, "abc", "a|bc");
    expect(t, "abab ab", "ab|ab|\xC4\xA0|ab");
    assert_string_equal(tok_model_name(t), "BPE (gpt-2)");
    done(t, &v);
}

static void test_bpe_merges_through_names_that_are_no_tokens(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    bpe_init(&v, "gpt-2", "a b,ab c,x y,nogap,q");
    vocab_tokens(&v, "abc");
    t = vocab_open(&v);
    expect(t, "abc", "abc");
    expect(t, "ab", "a|b"); /* "ab" itself is none: back to bytes */
    expect(t, "xy", "x|y");
    assert_int_equal(tok_find(t, str_of("ab")), -1);
    assert_int_equal(tok_n(t), 257);
    done(t, &v);
}

static void test_bpe_words_that_are_tokens_are_taken_whole_where_the_family_does(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    bpe_init(&v, "llama-bpe", "");
    vocab_tokens(&v, "\xC4\xA0word");
    vocab_token(&v, str_of("<s>"), TOKEN_CONTROL, 0);
    gguf_put_u32(&v.w, "tokenizer.ggml.bos_token_id", 257);
    t = vocab_open(&v);
    expect(t, "a word", "a|\xC4\xA0word");
    assert_true(tok_adds_bos(t));
    done(t, &v);
    bpe_init(&v, "gpt-2", "");
    vocab_tokens(&v, "\xC4\xA0word");
    t = vocab_open(&v);
    expect(t, "a word", "a|\xC4\xA0|w|o|r|d");
    assert_false(tok_adds_bos(t));
    done(t, &v);
}

static void test_gemma4_merges_characters_over_spaces(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    vocab_init(&v, "gemma4");
    vocab_bytes(&v);
    vocab_tokens(&v, "<bos> a b \xE2\x96\x81 \xE2\x96\x81"
                     "b a\xE2\x96\x81"
                     "b \n \n\n");
    vocab_merges(&v, "\xE2\x96\x81 b,a \xE2\x96\x81"
                     "b");
    gguf_put_u32(&v.w, "tokenizer.ggml.bos_token_id", 256);
    t = vocab_open(&v);
    expect(t, "a b b",
           "a\xE2\x96\x81"
           "b|\xE2\x96\x81"
           "b");
    expect(t, "a\n\n\xC3\xA9", "a|\n\n|<0xC3>|<0xA9>");
    assert_true(tok_adds_bos(t)); /* whatever the file says */
    assert_string_equal(tok_model_name(t), "BPE (gemma4)");
    done(t, &v);
}

static void test_control_tokens_count_in_markup_alone(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    bpe_init(&v, "gpt-2", "");
    vocab_token(&v, str_of("<c>"), TOKEN_CONTROL, 0);
    vocab_token(&v, str_of("<c>>"), TOKEN_CONTROL, 0);
    vocab_token(&v, str_of("<u>"), TOKEN_USER_DEFINED, 0);
    t = vocab_open(&v);
    expect(t, "<c><u>", "<|c|>|<u>");
    expect_markup(t, "a<c>>b<u><c>", "a|<c>>|b|<u>|<c>"); /* the longest at a place */
    expect_markup(t, "<c", "<|c");
    {
        const tok_piece across[] = {{str_of("<"), false}, {str_of("c>"), true}};
        const tok_piece inside[] = {
            {str_of("x"), false}, {str_of("<"), true}, {str_of("c>"), true}};
        const tok_piece user[] = {{str_of("<"), true}, {str_of("u>"), false}};

        expect_pieces(t, across, 2, "<|c|>");
        expect_pieces(t, inside, 3, "x|<c>");
        expect_pieces(t, user, 2, "<u>");
    }
    done(t, &v);
}

static void test_pieces_join_seamlessly(void **state) {
    const tok_piece pieces[] = {{str_of("a"), true}, {str_of(""), false}, {str_of("b c"), false}};
    test_vocab v;
    tokenizer *t;

    (void)state;
    bpe_init(&v, "gpt-2", "a b");
    vocab_tokens(&v, "ab");
    t = vocab_open(&v);
    expect_pieces(t, pieces, 3, "ab|\xC4\xA0|c");
    done(t, &v);
}

static void test_thousands_of_special_tokens(void **state) {
    static char text[1 << 16];
    const tok_piece piece = {{text, sizeof text}, true};
    test_vocab v;
    tokenizer *t;
    int32_t *ids;
    size_t n;

    (void)state;
    bpe_init(&v, "gpt-2", "");
    for (unsigned i = 0; i < 65536; i++) {
        char name[32];

        snprintf(name, sizeof name, "<|special_%u|>", i);
        vocab_token(&v, str_of(name), TOKEN_CONTROL, 0);
    }
    t = vocab_open(&v);
    expect_markup(t, "<|special_1|><|special_65535|><|special_65536|>",
                  "<|special_1|>|<|special_65535|>|<|||s|p|e|c|i|a|l|_|6|5|5|3|6|||>");
    for (size_t i = 0; i < sizeof text; i++) text[i] = "<|special_"[i % 10];
    assert_int_equal(tok_encode(t, &piece, 1, false, &ids, &n, NULL), EW_OK);
    assert_int_equal(n, sizeof text);
    mem_free(ids);
    done(t, &v);
}

static void test_bos_and_eos_as_the_metadata_says(void **state) {
    const tok_piece piece = {str_of("a"), false};
    test_vocab v;
    tokenizer *t;
    strbuf out;

    (void)state;
    strbuf_init(&out, TEXT_CAP);
    spm_init(&v, "a \xE2\x96\x81"
                 "a \xE2\x96\x81");
    t = vocab_open(&v);
    names_of(t, &piece, 1, true, &out);
    assert_string_equal(out.p, "<s>|\xE2\x96\x81"
                               "a");
    tok_close(t);
    vocab_fini(&v);
    spm_init(&v, "a \xE2\x96\x81"
                 "a \xE2\x96\x81");
    gguf_put_bool(&v.w, "tokenizer.ggml.add_bos_token", false);
    gguf_put_bool(&v.w, "tokenizer.ggml.add_eos_token", true);
    gguf_put_u32(&v.w, "tokenizer.ggml.eos_token_id", 1);
    t = vocab_open(&v);
    names_of(t, &piece, 1, true, &out);
    assert_string_equal(out.p, "\xE2\x96\x81"
                               "a|<s>");
    strbuf_fini(&out);
    done(t, &v);
}

static void test_ends_of_generation_are_the_union(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    bpe_init(&v, "qwen2", "");
    vocab_tokens(&v, "<|im_end|> <|endoftext|> <stop> <|im_start|>");
    gguf_put_u32(&v.w, "tokenizer.ggml.eos_token_id", 258);
    t = vocab_open(&v);
    assert_true(tok_is_eog(t, tok_find(t, str_of("<|im_end|>"))));
    assert_true(tok_is_eog(t, tok_find(t, str_of("<|endoftext|>"))));
    assert_true(tok_is_eog(t, 258));
    assert_false(tok_is_eog(t, tok_find(t, str_of("<|im_start|>"))));
    assert_false(tok_is_eog(t, 0));
    assert_false(tok_is_eog(t, -1));
    assert_false(tok_is_eog(t, 9999));
    /* The file says "normal"; the name says more. */
    assert_int_equal(tok_kind(t, tok_find(t, str_of("<|im_end|>"))), TOKEN_CONTROL);
    done(t, &v);
    bpe_init(&v, "gpt-4o", "");
    vocab_tokens(&v, "<|end|> <|return|> <|call|> <|channel|>");
    t = vocab_open(&v);
    assert_false(tok_is_eog(t, tok_find(t, str_of("<|end|>"))));
    assert_true(tok_is_eog(t, tok_find(t, str_of("<|return|>"))));
    assert_int_equal(tok_kind(t, tok_find(t, str_of("<|channel|>"))), TOKEN_USER_DEFINED);
    done(t, &v);
}

static void test_phi3_tokens_eat_the_space_after_them(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    spm_init(&v, "a \xE2\x96\x81"
                 "a \xE2\x96\x81");
    gguf_put_str(&v.w, "general.name", str_of("My Phi-3 mini"));
    vocab_token(&v, str_of("<|user|>"), TOKEN_CONTROL, 0);
    t = vocab_open(&v);
    expect_markup(t, "<|user|> \n a",
                  "<|user|>|\xE2\x96\x81"
                  "a");
    expect_markup(t, "<s> a",
                  "<s>|\xE2\x96\x81|\xE2\x96\x81"
                  "a");
    done(t, &v);
}

/* ---- decoding ---- */

static void decode(const tokenizer *t, const int32_t *ids, size_t n, bool with_special,
                   strbuf *out) {
    strbuf_clear(out);
    tok_decode(t, ids, n, with_special, out);
    assert_false(out->failed);
}

static void test_decoding_drops_the_space_that_encoding_put(void **state) {
    test_vocab v;
    tokenizer *t;
    strbuf out;

    (void)state;
    spm_init(&v, "\xE2\x96\x81"
                 "a");
    t = vocab_open(&v);
    strbuf_init(&out, TEXT_CAP);
    {
        const int32_t ids[] = {1, 259, 259, 2, 0x41 + 3};

        decode(t, ids, 5, false, &out);
        assert_true(str_is((str){out.p, out.n}, "a aA"));
        decode(t, ids, 5, true, &out);
        assert_true(str_is((str){out.p, out.n}, "<s> a a</s>A"));
        decode(t, ids + 1, 2, true, &out);
        assert_true(str_is((str){out.p, out.n}, "a a"));
    }
    assert_int_equal(tok_bytes_of(t, 1).n, 0);
    assert_true(str_is(tok_bytes_of(t, 259), " a"));
    assert_true(str_is(tok_name(t, 1), "<s>"));
    assert_int_equal(tok_bytes_of(t, -1).n + tok_bytes_of(t, 9999).n, 0);
    strbuf_fini(&out);
    done(t, &v);
}

/* encode then decode gives the bytes back, for any bytes. */
static void round_trip(const tokenizer *t, str text, const char *what) {
    const tok_piece piece = {text, false};
    int32_t *ids;
    size_t n;
    strbuf out;

    strbuf_init(&out, TEXT_CAP);
    assert_int_equal(tok_encode(t, &piece, 1, false, &ids, &n, NULL), EW_OK);
    decode(t, ids, n, false, &out);
    if (!str_eq((str){out.p, out.n}, text))
        fail_msg("%s: %zu bytes do not come back", what, text.n);
    mem_free(ids);
    strbuf_fini(&out);
}

/* Texts that look like something: letters, digits, spaces, line ends, CJK, marks, broken UTF-8. */
static size_t random_text(rng *r, char *out, size_t max) {
    static const char *const bits[] = {"a",
                                       "b",
                                       "ab",
                                       "A",
                                       " ",
                                       "  ",
                                       "\n",
                                       "\r\n",
                                       "\t",
                                       "1",
                                       "23",
                                       "'s",
                                       "'",
                                       "-",
                                       "!?",
                                       "_",
                                       "\xC3\xA9",
                                       "\xE4\xB8\xAD",
                                       "\xE6\x96\x87",
                                       "\xE3\x81\x82",
                                       "\xF0\x9F\x98\x80",
                                       "\xCC\x81",
                                       "\xC2\xA0",
                                       "\xE2\x80\x83",
                                       "\xED\x95\x9C",
                                       "\xE0\xB8\x81",
                                       "\xC2\xBD",
                                       "\xFF",
                                       "\xE4",
                                       "\xC0\x80",
                                       "<|im_end|>"};
    const size_t n_bits = sizeof bits / sizeof *bits;
    size_t n = 0;

    while (n + 16 < max && rng_next(r) % 40) {
        const char *bit = bits[rng_next(r) % n_bits];
        size_t times = rng_next(r) % 8 == 0 ? rng_next(r) % 5 + 1 : 1;

        if (rng_next(r) % 16 == 0) {
            out[n++] = (char)rng_next(r);
            continue;
        }
        for (; times && n + 16 < max; times--) {
            memcpy(out + n, bit, strlen(bit));
            n += strlen(bit);
        }
    }
    return n;
}

static void test_spm_any_bytes_come_back(void **state) {
    rng r = {1};
    char text[512];
    test_vocab v;
    tokenizer *t;

    (void)state;
    spm_init(&v, "\xE2\x96\x81 \xE2\x96\x81"
                 "a ab a b \xC3\xA9 \xE4\xB8\xAD \xE4\xB8\xAD\xE6\x96\x87");
    t = vocab_open(&v);
    for (int i = 0; i < 2000; i++) {
        const size_t n = random_text(&r, text, sizeof text);

        round_trip(t, (str){text, n}, "SentencePiece");
    }
    done(t, &v);
}

static void test_every_pre_tokenizer_keeps_all_bytes(void **state) {
    static char run[1 << 14];
    static const char fill[] = {' ', '\n', 'a', 'A', '7', '!', '\'', (char)0xFF};

    (void)state;
    for (size_t i = 0; i < pretok_n_rule(); i++) {
        const pretok_rule *const rule = pretok_get(i);
        rng rand = {i + 1};
        char name[64], text[512];
        test_vocab v;
        tokenizer *t;

        snprintf(name, sizeof name, "%.*s", (int)strcspn(rule->names, " "), rule->names);
        bpe_init(&v, name, "a a,\xC4\xA0 \xC4\xA0,a b,1 2,\xC4\xA0 a");
        vocab_tokens(&v, "aa \xC4\xA0\xC4\xA0 ab 12 \xC4\xA0"
                         "a \xE2\x96\x81");
        if (rule->flags & PRETOK_RAW) vocab_bytes(&v);
        t = vocab_open(&v);
        for (int k = 0; k < 300; k++)
            round_trip(t, (str){text, random_text(&rand, text, sizeof text)}, name);
        for (size_t k = 0; k < sizeof fill; k++) {
            memset(run, fill[k], sizeof run);
            round_trip(t, (str){run, sizeof run}, name);
            run[sizeof run - 1] = '9';
            round_trip(t, (str){run, sizeof run}, name);
        }
        done(t, &v);
    }
}

/* ---- streaming ---- */

static void stream(const tokenizer *t, const int32_t *ids, size_t n, strbuf *out) {
    ew_detok *d;
    const char *p;
    size_t len;

    assert_int_equal(detok_new(&d, t, NULL), EW_OK);
    strbuf_clear(out);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ew_detok_push(d, ids[i], &p, &len, NULL), EW_OK);
        assert_int_equal(utf8_whole(p, len), len);
        strbuf_add(out, p, len);
    }
    ew_detok_flush(d, &p, &len);
    assert_true(len <= 3);
    strbuf_add(out, p, len);
    ew_detok_free(d);
}

static void test_stream_never_splits_a_character(void **state) {
    static const char text[] = "a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80\xFF\xE4\xB8"
                               "b\xF0\x9F\x98";
    const tok_piece piece = {{text, sizeof text - 1}, false};
    test_vocab v;
    tokenizer *t;
    strbuf streamed, whole;
    int32_t *ids;
    size_t n;

    (void)state;
    bpe_init(&v, "gpt-2", "");
    t = vocab_open(&v);
    strbuf_init(&streamed, TEXT_CAP);
    strbuf_init(&whole, TEXT_CAP);
    assert_int_equal(tok_encode(t, &piece, 1, false, &ids, &n, NULL), EW_OK);
    assert_int_equal(n, sizeof text - 1); /* a token a byte: every split there is */
    for (size_t from = 0; from <= n; from++) {
        stream(t, ids + from, n - from, &streamed);
        decode(t, ids + from, n - from, false, &whole);
        assert_true(str_eq((str){streamed.p, streamed.n}, (str){whole.p, whole.n}));
    }
    mem_free(ids);
    strbuf_fini(&streamed);
    strbuf_fini(&whole);
    done(t, &v);
}

static void test_stream_drops_the_first_space_and_refuses_foreign_ids(void **state) {
    test_vocab v;
    tokenizer *t;
    ew_detok *d;
    const char *p;
    size_t n;
    ew_error err;

    (void)state;
    spm_init(&v, "\xE2\x96\x81"
                 "a");
    t = vocab_open(&v);
    assert_int_equal(detok_new(&d, t, NULL), EW_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(ew_detok_push(d, 1, &p, &n, NULL), EW_OK);
        assert_int_equal(n, 0);
        assert_int_equal(ew_detok_push(d, 259, &p, &n, NULL), EW_OK);
        assert_true(str_is((str){p, n}, "a"));
        assert_int_equal(ew_detok_push(d, 259, &p, &n, NULL), EW_OK);
        assert_true(str_is((str){p, n}, " a"));
        assert_int_equal(ew_detok_push(d, 260, &p, &n, &err), EW_EINVAL);
        assert_non_null(strstr(err.text, "260"));
        assert_int_equal(ew_detok_push(d, -1, &p, &n, &err), EW_EINVAL);
        ew_detok_flush(d, &p, &n); /* starts anew */
        assert_int_equal(n, 0);
    }
    ew_detok_free(d);
    ew_detok_free(NULL);
    done(t, &v);
}

static void test_a_push_allocates_nothing(void **state) {
    test_vocab v;
    tokenizer *t;
    ew_detok *d;
    const char *p;
    size_t n;
    long count;

    (void)state;
    bpe_init(&v, "gpt-2", "");
    t = vocab_open(&v);
    assert_int_equal(detok_new(&d, t, NULL), EW_OK);
    count = mem_count();
    for (int32_t i = 0; i < tok_n(t); i++)
        assert_int_equal(ew_detok_push(d, i, &p, &n, NULL), EW_OK);
    assert_int_equal(mem_count(), count);
    ew_detok_free(d);
    done(t, &v);
}

/* ---- memory ---- */

static void test_opening_without_memory_leaves_nothing(void **state) {
    static const char *const model[] = {"llama", "gpt2"};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        test_vocab v;
        tokenizer *t = NULL;
        ew_status rc = EW_ENOMEM;
        long live;

        if (k == 0)
            spm_init(&v, "a b");
        else
            bpe_init(&v, "llama-bpe", "a b,x yz");
        vocab_token(&v, str_of("<x>"), TOKEN_CONTROL, 0);
        vocab_build(&v);
        live = mem_live();
        for (long i = 1; rc; i++) {
            ew_error err = {0};

            mem_fail_at(i);
            rc = tok_open(&t, &v.g, model[k], NULL, &err);
            mem_fail_at(0);
            if (rc == EW_OK) break;
            assert_int_equal(rc, EW_ENOMEM);
            assert_non_null(strstr(err.text, "memory"));
            assert_null(t);
            assert_int_equal(mem_live(), live);
        }
        done(t, &v);
    }
}

static void test_encoding_without_memory_leaves_nothing(void **state) {
    static char text[20000];

    (void)state;
    memset(text, 'a', sizeof text);
    for (size_t k = 0; k < 2; k++) {
        const tok_piece pieces[] = {{str_of("<x>\xFF b"), true}, {{text, sizeof text}, false}};
        test_vocab v;
        tokenizer *t;
        ew_status rc = EW_ENOMEM;
        int32_t *ids = NULL;
        size_t n = 0;
        long live;

        if (k == 0)
            spm_init(&v, "a b \xE2\x96\x81");
        else
            bpe_init(&v, "deepseek-v3", "a b");
        vocab_token(&v, str_of("<x>"), TOKEN_CONTROL, 0);
        t = vocab_open(&v);
        live = mem_live();
        for (long i = 1; rc; i++) {
            mem_fail_at(i);
            rc = tok_encode(t, pieces, 2, true, &ids, &n, NULL);
            mem_fail_at(0);
            if (rc == EW_OK) break;
            assert_int_equal(rc, EW_ENOMEM);
            assert_null(ids);
            assert_int_equal(mem_live(), live);
        }
        assert_true(n > 20000);
        mem_free(ids);
        done(t, &v);
    }
}

static void test_memory_is_counted(void **state) {
    test_vocab v;
    tokenizer *t;

    (void)state;
    bpe_init(&v, "gpt-2", "a b");
    t = vocab_open(&v);
    assert_true(tok_bytes(t) > 256 * 8 && tok_bytes(t) < 64 << 10);
    done(t, &v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_spm_joins_the_best_score_first, check_live),
        cmocka_unit_test_teardown(test_spm_equal_scores_join_from_the_left, check_live),
        cmocka_unit_test_teardown(test_spm_space_goes_before_text_and_after_special_tokens,
                                  check_live),
        cmocka_unit_test_teardown(test_spm_falls_back_to_bytes, check_live),
        cmocka_unit_test_teardown(test_spm_without_bytes_gives_unknown, check_live),
        cmocka_unit_test_teardown(test_spm_nul_bytes_are_text, check_live),
        cmocka_unit_test_teardown(test_bpe_joins_the_lowest_rank_first, check_live),
        cmocka_unit_test_teardown(test_bpe_merges_through_names_that_are_no_tokens, check_live),
        cmocka_unit_test_teardown(
            test_bpe_words_that_are_tokens_are_taken_whole_where_the_family_does, check_live),
        cmocka_unit_test_teardown(test_gemma4_merges_characters_over_spaces, check_live),
        cmocka_unit_test_teardown(test_control_tokens_count_in_markup_alone, check_live),
        cmocka_unit_test_teardown(test_pieces_join_seamlessly, check_live),
        cmocka_unit_test_teardown(test_thousands_of_special_tokens, check_live),
        cmocka_unit_test_teardown(test_bos_and_eos_as_the_metadata_says, check_live),
        cmocka_unit_test_teardown(test_ends_of_generation_are_the_union, check_live),
        cmocka_unit_test_teardown(test_phi3_tokens_eat_the_space_after_them, check_live),
        cmocka_unit_test_teardown(test_decoding_drops_the_space_that_encoding_put, check_live),
        cmocka_unit_test_teardown(test_spm_any_bytes_come_back, check_live),
        cmocka_unit_test_teardown(test_every_pre_tokenizer_keeps_all_bytes, check_live),
        cmocka_unit_test_teardown(test_stream_never_splits_a_character, check_live),
        cmocka_unit_test_teardown(test_stream_drops_the_first_space_and_refuses_foreign_ids,
                                  check_live),
        cmocka_unit_test_teardown(test_a_push_allocates_nothing, check_live),
        cmocka_unit_test_teardown(test_opening_without_memory_leaves_nothing, check_live),
        cmocka_unit_test_teardown(test_encoding_without_memory_leaves_nothing, check_live),
        cmocka_unit_test_teardown(test_memory_is_counted, check_live),
    };

    return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
