/* SPDX-License-Identifier: MIT
 *
 * A grammar in the sampler: where its mask stands in the chain, and where it begins and ends. */
#include "run/constraint.h"

#include "run/random.h"
#include "run/sampler.h"
#include "tests/support/gram.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
    MAX_VOCAB = 512
};

static mem_budget budget;

static str text_of(const void *ctx, int32_t id) {
    const str s = gram_trie()->v.bytes(ctx, id);

    return id == GRAM_MARK ? str_of("<mark>") : s;
}

static bool is_eog(const void *ctx, int32_t id) {
    (void)ctx;
    return id == GRAM_EOG;
}

static int32_t n_vocab(void) {
    return gram_trie()->v.n;
}

static ew_sampler *make(const ew_sampler_options *o) {
    const sampler_vocab v = {n_vocab(), {NULL, text_of}, is_eog};
    ew_error err = {EW_OK, ""};
    ew_sampler *s = NULL;

    if (sampler_new(&s, &v, &budget, o, &err)) fail_msg("%s", err.text);
    return s;
}

static ew_sampler_options options(float temperature) {
    ew_sampler_options o;

    ew_sampler_defaults(&o);
    o.temperature = temperature;
    o.seed = 5;
    return o;
}

static void random_logits(float *to, rng *r) {
    for (int32_t i = 0; i < n_vocab(); i++) to[i] = (float)(16 * rng_unit(r));
}

static int set_up(void **state) {
    (void)state;
    mem_budget_init(&budget, 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    gram_fini();
    mem_budget_fini(&budget);
    return mem_live() == 0 && budget.total == 0 ? 0 : -1;
}

/* ---- the chain ------------------------------------------------------------------------------ */

/* The same text as when all that is forbidden had a logit of -INFINITY to begin with. */
static void check_same_as_masked(const ew_sampler_options *o, const char *gbnf) {
    ew_grammar g = {gram_gbnf(gbnf), gram_trie()};
    ew_sampler *s = make(o), *plain = make(o);
    matcher *m = gram_matcher(g.g);
    float logits[MAX_VOCAB];
    rng r;

    rng_seed(&r, 9);
    assert_int_equal(ew_sampler_set_grammar(s, &g, NULL, NULL), EW_OK);
    for (int i = 0; i < 400 && !matcher_is_complete(m); i++) {
        ew_error err = {EW_OK, ""};
        int32_t id = -1, want = -1;
        const uint64_t *bits = matcher_mask(m);

        random_logits(logits, &r);
        if (ew_sampler_sample(s, logits, &id, &err)) fail_msg("%s", err.text);
        for (int32_t k = 0; k < n_vocab(); k++)
            if (!token_in(bits, k)) logits[k] = -INFINITY;
        assert_int_equal(ew_sampler_sample(plain, logits, &want, NULL), EW_OK);
        assert_int_equal(id, want);
        if (id == GRAM_EOG) break;
        ew_sampler_accept(s, id);
        ew_sampler_accept(plain, id);
        assert_true(matcher_accept(m, id));
        assert_int_equal(ew_sampler_is_complete(s), matcher_is_complete(m));
    }
    matcher_free(m);
    ew_sampler_free(s);
    ew_sampler_free(plain);
    grammar_free(g.g);
}

static void test_the_mask_comes_before_the_cuts(void **state) {
    static const char *const grammars[] = {
        "root ::= [a-z]+ \"!\"",
        "root ::= \"{\" (\"\\\"\" [^\"]* \"\\\"\" \",\"?)* \"}\"",
        "root ::= .*",
        "root ::= <mark> !<mark>* \"x\"",
    };
    ew_sampler_options o[6] = {options(0), options(1), options(1),
                               options(1), options(1), options(2)};

    (void)state;
    o[1].top_k = 3;
    o[2].top_k = 0;
    o[2].min_p = 0.2f;
    o[3].mirostat = 2;
    o[4].repeat_penalty = 1.5f;
    o[4].typical_p = 0.5f;
    o[5].top_p = 0.1f;
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 4; k++) check_same_as_masked(&o[i], grammars[k]);
}

static void test_nothing_left_is_an_error(void **state) {
    const ew_logit_bias bias = {'x', -INFINITY};
    ew_grammar g = {gram_gbnf("root ::= \"x\""), gram_trie()};
    ew_sampler_options o = options(1);
    float logits[MAX_VOCAB] = {0};
    ew_error err = {EW_OK, ""};
    ew_sampler *s;
    int32_t id;

    (void)state;
    o.bias = &bias;
    o.n_bias = 1;
    s = make(&o);
    assert_int_equal(ew_sampler_set_grammar(s, &g, NULL, &err), EW_OK);
    assert_int_equal(ew_sampler_sample(s, logits, &id, &err), EW_EINVAL);
    assert_non_null(strstr(err.text, "grammar"));
    ew_sampler_free(s);
    grammar_free(g.g);
}

static void test_a_token_the_grammar_forbids_is_told(void **state) {
    ew_grammar g = {gram_gbnf("root ::= \"xy\""), gram_trie()};
    const ew_sampler_options o = options(0);
    float logits[MAX_VOCAB] = {0};
    ew_sampler *s = make(&o);
    ew_error err = {EW_OK, ""};
    int32_t id;

    (void)state;
    assert_int_equal(ew_sampler_set_grammar(s, &g, NULL, &err), EW_OK);
    ew_sampler_accept(s, 'z');
    assert_int_equal(ew_sampler_sample(s, logits, &id, &err), EW_EINVAL);
    assert_non_null(strstr(err.text, "does not allow"));
    /* The way back: set again, and what is kept accepted again. */
    assert_int_equal(ew_sampler_set_grammar(s, &g, NULL, &err), EW_OK);
    ew_sampler_accept(s, 'x');
    assert_int_equal(ew_sampler_sample(s, logits, &id, &err), EW_OK);
    assert_int_equal(id, 'y');
    ew_sampler_reset(s);
    assert_int_equal(ew_sampler_sample(s, logits, &id, &err), EW_OK);
    assert_int_equal(id, 'x');
    ew_sampler_free(s);
    grammar_free(g.g);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static void accept_text(ew_sampler *s, const char *text) {
    for (; *text; text++) ew_sampler_accept(s, (uint8_t)*text);
}

static void test_it_waits_for_a_text(void **state) {
    ew_grammar g = {gram_gbnf("root ::= \"ab\""), gram_trie()};
    const ew_sampler_options o = options(0);
    float logits[MAX_VOCAB] = {0};
    ew_sampler *s = make(&o);
    int32_t id;

    (void)state;
    logits['q'] = 5;
    logits['a'] = logits['b'] = 1;
    assert_int_equal(ew_sampler_set_grammar(s, &g, "</t>", NULL), EW_OK);
    accept_text(s, "so, <</t");
    assert_int_equal(ew_sampler_sample(s, logits, &id, NULL), EW_OK);
    assert_int_equal(id, 'q');
    assert_false(ew_sampler_is_complete(s));
    accept_text(s, ">\n\n");
    assert_int_equal(ew_sampler_sample(s, logits, &id, NULL), EW_OK);
    assert_int_equal(id, 'a');
    accept_text(s, "ab");
    assert_true(ew_sampler_is_complete(s));
    ew_sampler_free(s);
    grammar_free(g.g);
}

static void test_a_control_token_may_be_what_it_waits_for(void **state) {
    ew_grammar g = {gram_gbnf("root ::= \"a\""), gram_trie()};
    const ew_sampler_options o = options(0);
    ew_sampler *s = make(&o);

    (void)state;
    assert_int_equal(ew_sampler_set_grammar(s, &g, "<mark>", NULL), EW_OK);
    accept_text(s, "a");
    assert_false(ew_sampler_is_complete(s));
    ew_sampler_accept(s, GRAM_MARK);
    accept_text(s, "a");
    assert_true(ew_sampler_is_complete(s));
    ew_sampler_free(s);
    grammar_free(g.g);
}

static void test_what_follows_in_the_same_token_counts(void **state) {
    ew_grammar g = {gram_gbnf("root ::= \"cd\""), gram_trie()};
    const ew_sampler_options o = options(0);
    ew_sampler *s = make(&o);
    int32_t abc = 258;

    (void)state;
    while (strcmp(gram_texts[abc - 258], "abc") != 0) abc++;
    assert_int_equal(ew_sampler_set_grammar(s, &g, "b", NULL), EW_OK);
    ew_sampler_accept(s, abc);
    ew_sampler_accept(s, 'd');
    assert_true(ew_sampler_is_complete(s));
    /* What can't count is let pass: it was chosen freely. */
    assert_int_equal(ew_sampler_set_grammar(s, &g, "a", NULL), EW_OK);
    ew_sampler_accept(s, abc);
    accept_text(s, "cd");
    assert_true(ew_sampler_is_complete(s));
    ew_sampler_free(s);
    grammar_free(g.g);
}

static void test_ends_come_only_where_the_text_may_end(void **state) {
    ew_grammar g = {gram_gbnf("root ::= \"a\" \"b\"*"), gram_trie()};
    const ew_sampler_options o = options(0);
    float logits[MAX_VOCAB] = {0};
    ew_sampler *s = make(&o);
    int32_t id;

    (void)state;
    logits[GRAM_EOG] = 10;
    assert_int_equal(ew_sampler_set_grammar(s, &g, NULL, NULL), EW_OK);
    assert_int_equal(ew_sampler_sample(s, logits, &id, NULL), EW_OK);
    assert_int_equal(id, 'a');
    ew_sampler_accept(s, id);
    assert_false(ew_sampler_is_complete(s));
    assert_int_equal(ew_sampler_sample(s, logits, &id, NULL), EW_OK);
    assert_int_equal(id, GRAM_EOG);
    ew_sampler_free(s);
    grammar_free(g.g);
}

static void test_another_vocabulary_is_refused(void **state) {
    const ew_sampler_options o = options(0);
    const sampler_vocab small = {10, {NULL, text_of}, is_eog};
    ew_grammar g = {gram_gbnf("root ::= \"a\""), gram_trie()};
    ew_sampler *s;

    (void)state;
    assert_int_equal(sampler_new(&s, &small, &budget, &o, NULL), EW_OK);
    assert_int_equal(ew_sampler_set_grammar(s, &g, NULL, NULL), EW_EMISMATCH);
    ew_sampler_free(s);
    grammar_free(g.g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_mask_comes_before_the_cuts),
        cmocka_unit_test(test_nothing_left_is_an_error),
        cmocka_unit_test(test_a_token_the_grammar_forbids_is_told),
        cmocka_unit_test(test_it_waits_for_a_text),
        cmocka_unit_test(test_a_control_token_may_be_what_it_waits_for),
        cmocka_unit_test(test_what_follows_in_the_same_token_counts),
        cmocka_unit_test(test_ends_come_only_where_the_text_may_end),
        cmocka_unit_test(test_another_vocabulary_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
