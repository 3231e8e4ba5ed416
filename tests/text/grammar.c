/* SPDX-License-Identifier: MIT
 *
 * GBNF: what is read, what is refused and where; which texts follow; which tokens a mask allows, as
 * recorded from llama.cpp too (tests/golden/grammar.json). `grammar texts` prints the vocabulary.
 */
#include "base/utf8.h"
#include "tests/support/gram.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static int tear_down(void **state) {
    (void)state;
    gram_fini();
    return mem_live() == 0 ? 0 : -1;
}

/* ---- texts ---------------------------------------------------------------------------------- */

typedef struct {
    const char *grammar;
    const char *yes[8], *prefix[8], *no[8];
} text_case;

static void check_verdict(const grammar *g, const char *rules, const char *const *texts,
                          gram_verdict want) {
    for (int i = 0; i < 8 && texts[i]; i++) {
        const gram_verdict got = gram_holds(g, texts[i], strlen(texts[i]));

        if (got != want) fail_msg("%s\non \"%s\": %d, not %d", rules, texts[i], got, want);
    }
}

static void check_texts(const text_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        grammar *g = gram_gbnf(cases[i].grammar);

        check_verdict(g, cases[i].grammar, cases[i].yes, GRAM_YES);
        check_verdict(g, cases[i].grammar, cases[i].prefix, GRAM_PREFIX);
        check_verdict(g, cases[i].grammar, cases[i].no, GRAM_NO);
        grammar_free(g);
    }
}

static void test_literals_classes_and_escapes(void **state) {
    static const text_case cases[] = {
        {"root ::= \"abc\"", {"abc"}, {"", "a", "ab"}, {"b", "abcd", "ac"}},
        {"root ::= \"\"", {""}, {NULL}, {"a"}},
        {"root ::= \"a\\tb\\n\\r\\\"\\\\\\[\\]\\-\\x41\\u0042\\U00000043\"",
         {"a\tb\n\r\"\\[]-ABC"},
         {"a\tb"},
         {"a b"}},
        {"root ::= [a-cx]", {"a", "b", "c", "x"}, {""}, {"d", "aa", "-"}},
        {"root ::= [a-]", {"a", "-"}, {NULL}, {"b"}},
        {"root ::= [^a-c]", {"d", "\n", "é", "日", "\U0001F600"}, {"\xC3", "\xF0\x9F"}, {"a", "c"}},
        {"root ::= [\\x61-\\x63\\]]", {"a", "]"}, {NULL}, {"d"}},
        {"root ::= [é-ü日]", {"é", "ü", "ò", "日"}, {"\xC3", "\xE6\x97"}, {"è", "a", "本"}},
        {"root ::= .", {"a", "\n", "é", "\U0010FFFF"}, {""}, {"ab", "\xFF", "\xC0"}},
        {"root ::= [^\\x00-\\x7F]", {"\xC2\x80", "é"}, {NULL}, {"a", "\xED\xA0\x80", "\xC1\xBF"}},
        {"root ::= \"日本\"", {"日本"}, {"日", "日\xE6"}, {"本"}},
    };

    (void)state;
    check_texts(cases, sizeof cases / sizeof *cases);
}

static void test_repetitions(void **state) {
    static const text_case cases[] = {
        {"root ::= \"a\"?", {"", "a"}, {NULL}, {"aa"}},
        {"root ::= \"ab\"*", {"", "ab", "abab"}, {"a", "aba"}, {"b", "aa"}},
        {"root ::= \"a\"+", {"a", "aaaa"}, {""}, {"b"}},
        {"root ::= [0-9]{3}", {"123"}, {"", "12"}, {"1234"}},
        {"root ::= [0-9]{2,}", {"12", "123456"}, {"1"}, {"a"}},
        {"root ::= [0-9]{0,2} \"x\"", {"x", "1x", "12x"}, {"12"}, {"123"}},
        {"root ::= (\"a\" | \"aa\"){2,3}",
         {"aa", "aaa", "aaaa", "aaaaa", "aaaaaa"},
         {"a"},
         {"aaaaaaa"}},
        {"root ::= (\"a\"?){3,5} \"b\"", {"b", "ab", "aaaaab"}, {"aaa"}, {"aaaaaa"}},
        {"root ::= (\"a\"*)* \"b\"", {"b", "aaaaaab"}, {"a"}, {"c"}},
        {"root ::= (\"a\"? \"b\"?){2} \"c\"",
         {"c",
          "abab"
          "c",
          "bac"},
         {"aba"},
         {"bbb"}},
        {"root ::= \"a\"{2}*", {"", "aa", "aaaa"}, {"a", "aaa"}, {"b"}},
        {"root ::= \"a\"{0} \"b\"", {"b"}, {""}, {"a"}},
        {"root ::= (\"x\" [0-9]{2}){2} {1,2}",
         {"x12x34", "x12x34x56x78"},
         {"x12x34x5"},
         {"x12x34x56x78x"}},
        {"root ::= (\"\" | \"\"){1000000} \"a\"", {"a"}, {""}, {"b"}},
    };

    (void)state;
    check_texts(cases, sizeof cases / sizeof *cases);
}

static void test_rules_lines_and_comments(void **state) {
    static const text_case cases[] = {
        {"# a list\n\nroot ::= item (\n  # more\n  \",\"\n  item\n)* # end\nitem ::= [a-z]+\n",
         {"a", "a,b,c", "ab,cd"},
         {"a,"},
         {",", "a,,"}},
        {"root ::= a |\n  b |\n # of three\n c\na ::= \"1\"\nb ::= \"2\"\r\nc ::= \"3\"",
         {"1", "2", "3"},
         {""},
         {"4", "12"}},
        {"root ::=\n  \"a\"", {"a"}, {""}, {"b"}},
        {"root-2 ::= \"b\"\nroot ::= root-2 \"a\" |", {"", "ba"}, {"b"}, {"a"}},
        {"root   ::=   \"a\"  |  (  )  ", {"", "a"}, {NULL}, {"b"}},
    };

    (void)state;
    check_texts(cases, sizeof cases / sizeof *cases);
}

static void test_recursive_grammars(void **state) {
    static const text_case cases[] = {
        {"root ::= \"(\" root \")\" | \"x\"", {"x", "((x))"}, {"((", "((x)"}, {")", "x)", "()"}},
        {"root ::= [ab] | \"a\" root \"a\" | \"b\" root \"b\"", /* palindromes of odd length */
         {"a", "aba", "abbba", "ababa"},
         {"", "abb", "ab", "abab", "aa"},
         {"c"}},
        {"root ::= expr\nexpr ::= term ([-+*/] term)*\n"
         "term ::= num | \"(\" ws expr ws \")\"\nnum ::= \"-\"? [0-9]+ (\".\" [0-9]+)?\nws ::= \" \"?",
         {"1", "1+2*3", "(1+-2.5)*( 3 )", "((((7))))"},
         {"1+", "(1", "1."},
         {")", "1+*", "1..2", "(  1"}},
        {"root ::= \"1. \" move \" \" move \"\\n\" ([1-9] [0-9]? \". \" move \" \" move \"\\n\")+\n"
         "move ::= (pawn | piece | castle) [+#]?\n"
         "piece ::= [NBKQR] [a-h]? [1-8]? \"x\"? [a-h] [1-8]\n"
         "pawn ::= ([a-h] \"x\")? [a-h] [1-8] (\"=\" [NBKQR])?\ncastle ::= \"O-O\" \"-O\"?",
         {"1. e4 e5\n2. Nf3 Nc6\n", "1. e4 d5\n2. exd5 Qxd5\n3. O-O O-O-O+\n"},
         {"1. e4", "1. e4 e5\n", "1. e4 e5\n2. Nf3 Nc6"},
         {"2. ", "1. e9", "1. Ne4 e5\n2. O-O-O-O"}},
        {"root ::= \"a\" root | \"b\"", {"b", "aaaaaaaab"}, {"aaa"}, {"ba"}},
        {"root ::= a\na ::= \"x\" b | \"!\"\nb ::= \"y\" a",
         {"!", "xy!", "xyxy!"},
         {"xyx"},
         {"xx"}},
    };

    (void)state;
    check_texts(cases, sizeof cases / sizeof *cases);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void test_errors_name_line_and_column(void **state) {
    static const struct {
        const char *grammar, *error;
    } cases[] = {
        {"", "there is no rule named root"},
        {"a ::= \"x\"", "there is no rule named root"},
        {"root = \"a\"", "line 1, column 6: expected \"::=\""},
        {"root ::= \"a", "line 1, column 10: the literal has no end"},
        {"root ::= [a", "line 1, column 10: the character class has no end"},
        {"root ::= []", "line 1, column 10: the character class is empty"},
        {"root ::= [z-a]", "line 1, column 11: the range ends before it begins"},
        {"root ::= \"é\" \"\\q\"", "line 1, column 15: unknown escape"},
        {"root ::= \"\\x4\"", "line 1, column 11: the escape needs more hexadecimal digits"},
        {"root ::= \"\\uD800\"", "line 1, column 11: no such code point"},
        {"root ::= \"a\\x00\"", "line 1, column 10: no token has a NUL character"},
        {"root ::= [\\x00]", "no text follows it"},
        {"root ::= \"\\U00110000\"", "line 1, column 11: no such code point"},
        {"root ::= (\"a\"", "line 1, column 14: a group is not closed"},
        {"root ::= \"a\")", "line 1, column 13: no group is open here"},
        {"root ::= *", "line 1, column 10: nothing stands before it that could be repeated"},
        {"root ::= \"a\"{x}", "line 1, column 14: expected a number"},
        {"root ::= \"a\"{2", "line 1, column 15: expected '}'"},
        {"root ::= \"a\"{3,2}", "line 1, column 13: the highest number is below the lowest"},
        {"root ::= \"a\"{99999999999}", "line 1, column 14: the number is too large"},
        {"root ::= a\n\na ::= b | c\nc ::= \"x\"", "line 3, column 7: rule b is not defined"},
        {"root ::= \"a\"\nroot ::= \"b\"",
         "line 2, column 1: a rule of this name was defined before"},
        {"root ::= \"a\" $", "line 1, column 14: unexpected character"},
        {"root ::= \"a\"\n$", "line 2, column 1: expected a rule's name"},
        {"root ::= \"\xC3\"", "line 1, column 11: the text is not UTF-8"},
        {"root ::= <nope>", "line 1, column 10: the vocabulary has no token of this name"},
        {"root ::= <[70000]>", "line 1, column 10: the vocabulary has no token of this number"},
        {"root ::= !x", "line 1, column 11: expected a token"},
        {"root ::= root \"a\" | \"b\"", "line 1, column 1: rule root begins with itself"},
        {"root ::= a\na ::= b? c\nb ::= \"x\"\nc ::= a \"y\" | \"z\"", "begins with itself"},
        {"root ::= (\"a\"? root){2}", "rule root begins with itself"},
        {"root ::= \"a\" root", "no text follows it"},
        {"root ::= \"a\" b\nb ::= \"(\" b \")\"", "no text follows it"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ew_error err = {EW_OK, ""};
        grammar *g = NULL;
        const ew_status rc = grammar_from_gbnf(&g, str_of(cases[i].grammar), gram_tokens(), &err);

        if (rc != EW_EFORMAT || g || !strstr(err.text, cases[i].error))
            fail_msg("%s\ngave \"%s\"", cases[i].grammar, err.text);
    }
}

static void test_tokens_need_a_vocabulary(void **state) {
    ew_error err = {EW_OK, ""};
    grammar *g;

    (void)state;
    assert_int_equal(grammar_from_gbnf(&g, str_of("root ::= <mark>"), NULL, &err), EW_EFORMAT);
    assert_non_null(strstr(err.text, "only be named with a model"));
}

static void test_deep_groups_are_refused(void **state) {
    char text[1024] = "root ::= ";
    ew_error err = {EW_OK, ""};
    grammar *g;

    (void)state;
    memset(text + 9, '(', 500);
    assert_int_equal(grammar_from_gbnf(&g, str_of(text), NULL, &err), EW_EFORMAT);
    assert_non_null(strstr(err.text, "nested too deep"));
}

static void test_too_large_is_refused(void **state) {
    ew_error err = {EW_OK, ""};
    grammar *g;
    strbuf b;

    (void)state;
    strbuf_init(&b, GRAMMAR_TEXT_MAX);
    strbuf_puts(&b, "root ::= ");
    for (int i = 0; i < 180000; i++) strbuf_puts(&b, "[日]");
    assert_int_equal(grammar_from_gbnf(&g, (str){b.p, b.n}, NULL, &err), EW_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "too large"));
    strbuf_fini(&b);
}

/* ---- nesting -------------------------------------------------------------------------------- */

/* Whatever is chosen, the text can be finished: at the bound only what closes is left. */
static void test_nesting_is_bounded_and_never_a_dead_end(void **state) {
    static const char *const grammars[] = {
        "root ::= \"(\" root \")\" | \"x\"",
        "root ::= v\nv ::= \"[\" (v (\",\" v)*)? \"]\" | \"{\" k \":\" v \"}\" | n\n"
        "k ::= \"\\\"\" [a-z]{1,4} \"\\\"\"\nn ::= \"-\"? d{1,3}\nd ::= [0-9]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof grammars / sizeof *grammars; i++) {
        grammar *g = gram_gbnf(grammars[i]);
        matcher *m = gram_matcher(g);
        const char *const order = "([{\"a:x1)]}"; /* opens whenever it may */
        size_t n = 0;

        while (!matcher_is_complete(m)) {
            const char *c = order;

            while (*c && !matcher_feed(m, (str){c, 1})) c++;
            if (!*c) fail_msg("dead end after %zu bytes", n);
            n++;
            assert_true(n < 10000);
        }
        assert_true(n > GRAMMAR_DEPTH_MAX / 2);
        matcher_free(m);
        grammar_free(g);
    }
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* The mask is the tokens that are allowed one by one. */
static void check_mask(matcher *m) {
    const uint64_t *bits = matcher_mask(m);

    assert_non_null(bits);
    for (int32_t id = 0; id < gram_trie()->v.n; id++)
        if (token_in(bits, id) != matcher_allows(m, id)) fail_msg("token %d", (int)id);
}

static bool in_mask(matcher *m, const char *text) {
    for (int32_t id = 258; id < gram_trie()->v.n; id++)
        if (!strcmp(gram_texts[id - 258], text)) return token_in(matcher_mask(m), id);
    fail_msg("no token \"%s\"", text);
    return false;
}

static void test_masks_equal_single_checks(void **state) {
    grammar *g =
        gram_gbnf("root ::= \"{\" pair (\",\" ws pair)* \"}\"\n"
                  "pair ::= str \":\" ws val\nval ::= str | num | \"true\" | root\n"
                  "str ::= \"\\\"\" ([^\"\\\\\\x00-\\x1F] | \"\\\\\" [\"\\\\nu])* \"\\\"\"\n"
                  "num ::= [0-9]{1,4}\nws ::= [ \\n]{0,3}");
    const char *const text = "{\"né日\\\"\": {\"a\":12, \"b\":true}}";
    matcher *m = gram_matcher(g);

    (void)state;
    for (size_t i = 0; text[i]; i++) {
        check_mask(m);
        assert_true(matcher_accept(m, (uint8_t)text[i]));
    }
    check_mask(m);
    assert_true(matcher_is_complete(m));
    assert_true(token_in(matcher_mask(m), GRAM_EOG));
    matcher_restart(m);
    assert_true(in_mask(m, "{\""));
    assert_false(in_mask(m, "\":"));
    assert_false(token_in(matcher_mask(m), GRAM_EOG));
    matcher_free(m);
    grammar_free(g);
}

static void test_a_token_may_end_inside_a_character(void **state) {
    grammar *g = gram_gbnf("root ::= \"été\"");
    matcher *m = gram_matcher(g);

    (void)state;
    assert_true(matcher_accept(m, 0xC3));
    assert_true(in_mask(m, "\xA9t"));
    assert_false(in_mask(m, "é"));
    assert_false(matcher_accept(m, 0xC3));
    assert_true(matcher_accept(m, 0xA9)); /* a refusal has changed nothing */
    assert_false(matcher_can_end(m));
    matcher_free(m);
    grammar_free(g);
}

static void test_whole_tokens(void **state) {
    grammar *g = gram_gbnf("root ::= \"a\" <mark> !<mark>{2} \"b\" | \"a\" \"<\"");
    matcher *m = gram_matcher(g);

    (void)state;
    assert_true(matcher_accept(m, 'a'));
    assert_true(token_in(matcher_mask(m), GRAM_MARK));
    assert_true(token_in(matcher_mask(m), '<'));
    check_mask(m);
    assert_true(matcher_accept(m, GRAM_MARK));
    assert_false(token_in(matcher_mask(m), GRAM_MARK));
    assert_false(token_in(matcher_mask(m), GRAM_EOG));
    assert_true(in_mask(m, "world"));
    check_mask(m);
    assert_true(matcher_accept(m, 'x'));
    assert_true(matcher_accept(m, '\n'));
    assert_false(matcher_accept(m, 'c'));
    assert_true(matcher_accept(m, 'b'));
    assert_true(matcher_is_complete(m));
    matcher_free(m);
    grammar_free(g);
}

static void test_control_tokens_are_no_text(void **state) {
    grammar *g = gram_gbnf("root ::= .*");
    matcher *m = gram_matcher(g);

    (void)state;
    assert_false(token_in(matcher_mask(m), GRAM_MARK));
    assert_false(matcher_allows(m, GRAM_MARK));
    assert_true(token_in(matcher_mask(m), 'x'));
    assert_true(token_in(matcher_mask(m), GRAM_EOG));
    assert_false(matcher_is_complete(m));
    assert_false(matcher_allows(m, -1));
    assert_false(matcher_allows(m, 70000));
    matcher_free(m);
    grammar_free(g);
}

static void test_blanks_may_come_before_a_constraint_inside_an_answer(void **state) {
    grammar *g = gram_gbnf("root ::= \"x\"");
    matcher *m;

    (void)state;
    assert_int_equal(matcher_new(&m, g, gram_trie(), NULL, true, NULL), EW_OK);
    assert_true(matcher_feed(m, str_of("\n\n  ")));
    assert_false(matcher_feed(m, str_of(" ")));
    assert_true(matcher_feed(m, str_of("x")));
    assert_true(matcher_is_complete(m));
    matcher_free(m);
    grammar_free(g);
}

/* Not compared: what differs on purpose (control tokens are no text; bytes that no UTF-8 has), and
 * what the file can't hold. */
static bool is_comparable(int32_t id) {
    const str text = gram_trie()->v.bytes(NULL, id);
    uint32_t cp;

    if (id == GRAM_MARK || id == 0 || id == 0xC0 || id == 0xC1) return false;
    if (id >= 0xF5 && id < 256) return false;
    return id == GRAM_EOG || id < 256 || utf8_decode(text.p, text.n, &cp);
}

static void check_recorded(matcher *m, const json_t *allowed) {
    const uint64_t *bits = matcher_mask(m);
    size_t at = 0;

    for (int32_t id = 0; id < gram_trie()->v.n; id++) {
        const bool want =
            json_integer_value(json_array_get(allowed, at)) == id && at < json_array_size(allowed);

        at += want;
        if (is_comparable(id) && token_in(bits, id) != want)
            fail_msg("token %d: recorded %d", (int)id, want);
    }
}

static void test_masks_are_those_of_llama_cpp(void **state) {
    json_t *all = json_load_file("tests/golden/grammar.json", 0, NULL), *c, *run;
    size_t i, k, n_step = 0;

    (void)state;
    json_array_foreach(all, i, c) {
        grammar *g = gram_gbnf(json_string_value(json_object_get(c, "grammar")));

        json_array_foreach(json_object_get(c, "runs"), k, run) {
            const json_t *tokens = json_object_get(run, "tokens");
            const json_t *allowed = json_object_get(run, "allowed");
            matcher *m = gram_matcher(g);

            for (size_t s = 0; s < json_array_size(allowed); s++, n_step++) {
                check_recorded(m, json_array_get(allowed, s));
                if (s + 1 < json_array_size(allowed))
                    assert_true(
                        matcher_accept(m, (int32_t)json_integer_value(json_array_get(tokens, s))));
            }
            matcher_free(m);
        }
        grammar_free(g);
    }
    assert_true(n_step > 200);
    json_decref(all);
}

/* ---- the cache ------------------------------------------------------------------------------ */

static void test_masks_are_kept_by_state(void **state) {
    grammar *g = gram_gbnf("root ::= (\"\\\"\" [a-z]* \"\\\"\" \",\")*");
    matcher *m = gram_matcher(g);

    (void)state;
    for (int round = 0; round < 50; round++) {
        for (const char *c = "\"abcdefg\","; *c; c++) {
            assert_non_null(matcher_mask(m));
            assert_true(matcher_accept(m, *c));
        }
    }
    assert_in_range(matcher_stats_get(m).n_mask, 1, 3);
    matcher_free(m);
    grammar_free(g);
}

/* Every place is another state: the cache is dropped now and then, the text goes on. */
static void test_the_cache_is_bounded(void **state) {
    grammar *g = gram_gbnf("root ::= [a-f]{300000} \"!\"");
    mem_budget budget;
    matcher *m;

    (void)state;
    mem_budget_init(&budget, 0);
    assert_int_equal(matcher_new(&m, g, gram_trie(), &budget, false, NULL), EW_OK);
    for (int i = 0; i < 300000; i++) {
        if (matcher_accept(m, "abcdef"[i % 6])) continue;
        fail_msg("refused after %d", i);
    }
    assert_false(matcher_allows(m, 'a'));
    assert_true(matcher_accept(m, '!'));
    assert_true(matcher_is_complete(m));
    assert_true(matcher_stats_get(m).n_drop > 0);
    assert_int_equal(budget.used[EW_MEM_SCRATCH], matcher_stats_get(m).bytes);
    assert_true(budget.peak < 48 << 20);
    matcher_free(m);
    assert_int_equal(budget.used[EW_MEM_SCRATCH], 0);
    mem_budget_fini(&budget);
    grammar_free(g);
}

static void test_too_many_readings_are_an_error(void **state) {
    grammar *g = gram_gbnf("root ::= (\"a\" | \"aa\" | \"aaa\"){0,900000} \"b\"");
    matcher *m = gram_matcher(g);
    ew_error err = {EW_OK, ""};
    int n = 0;

    (void)state;
    while (n < 1000000 && matcher_accept(m, 'a')) n++;
    assert_int_equal(matcher_status(m, &err), EW_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "too many ways at once"));
    assert_null(matcher_mask(m));
    assert_true(n > 1000);
    matcher_free(m);
    grammar_free(g);
}

/* ---- memory --------------------------------------------------------------------------------- */

static ew_status use(void) {
    const str text = str_of("root ::= \"(\" (root \",\"?){2,9} \")\" | [a-zé] | <mark>");
    grammar *g = NULL;
    matcher *m = NULL;
    ew_status rc = grammar_from_gbnf(&g, text, gram_tokens(), NULL);

    if (!rc) rc = matcher_new(&m, g, gram_trie(), NULL, false, NULL);
    if (!rc && !(matcher_mask(m) && matcher_feed(m, str_of("((a,b)é)")))) rc = EW_ENOMEM;
    if (m && rc) assert_int_equal(matcher_status(m, NULL), EW_ENOMEM);
    matcher_free(m);
    grammar_free(g);
    return rc;
}

static void test_no_failed_allocation_leaks_or_lies(void **state) {
    long live;

    (void)state;
    gram_trie();
    live = mem_live();
    for (long n = 1;; n++) {
        ew_status rc;

        mem_fail_at(n);
        rc = use();
        mem_fail_at(0);
        assert_int_equal(mem_live(), live);
        if (rc == EW_OK) break;
        assert_int_equal(rc, EW_ENOMEM);
    }
}

static int print_texts(void) {
    json_t *list = json_array();

    for (size_t i = 0; gram_texts[i]; i++) {
        json_t *text = json_string(gram_texts[i]);

        /* Parts of characters, which JSON can't hold, are not compared. */
        json_array_append_new(list, text ? text : json_sprintf("~%zu", i));
    }
    return json_dumpf(list, stdout, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_literals_classes_and_escapes),
        cmocka_unit_test(test_repetitions),
        cmocka_unit_test(test_rules_lines_and_comments),
        cmocka_unit_test(test_recursive_grammars),
        cmocka_unit_test(test_errors_name_line_and_column),
        cmocka_unit_test(test_tokens_need_a_vocabulary),
        cmocka_unit_test(test_deep_groups_are_refused),
        cmocka_unit_test(test_too_large_is_refused),
        cmocka_unit_test(test_nesting_is_bounded_and_never_a_dead_end),
        cmocka_unit_test(test_masks_equal_single_checks),
        cmocka_unit_test(test_masks_are_those_of_llama_cpp),
        cmocka_unit_test(test_a_token_may_end_inside_a_character),
        cmocka_unit_test(test_whole_tokens),
        cmocka_unit_test(test_control_tokens_are_no_text),
        cmocka_unit_test(test_blanks_may_come_before_a_constraint_inside_an_answer),
        cmocka_unit_test(test_masks_are_kept_by_state),
        cmocka_unit_test(test_the_cache_is_bounded),
        cmocka_unit_test(test_too_many_readings_are_an_error),
        cmocka_unit_test(test_no_failed_allocation_leaks_or_lies),
    };

    if (argc > 1 && !strcmp(argv[1], "texts")) return print_texts();
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
