/* SPDX-License-Identifier: MIT
 *
 * Recipes give each tensor the type that published files have. */
#include "format/recipe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static elem_type of(const char *recipe_name, const recipe_model *m, const char *tensor,
                    uint64_t ne0) {
    const recipe *r = recipe_find(recipe_name);

    assert_non_null(r);
    return recipe_type(r, m, str_of(tensor), 2, ne0);
}

static const recipe_model grouped = {.n_layer = 32, .n_head = 32, .n_head_kv = 8};
static const recipe_model tied = {.n_layer = 32, .n_head = 32, .n_head_kv = 32, .is_tied = true};
static const recipe_model mixtral = {.n_layer = 32, .n_head = 32, .n_head_kv = 8, .n_expert = 8};
static const recipe_model big = {.n_layer = 80, .n_head = 64, .n_head_kv = 8};

static void test_vectors_norms_and_routers_stay_f32(void **state) {
    const recipe *r = recipe_find("Q2_K");

    (void)state;
    assert_int_equal(recipe_type(r, &grouped, str_of("blk.0.attn_q.bias"), 1, 4096), TYPE_F32);
    assert_int_equal(recipe_type(r, &grouped, str_of("blk.0.attn_norm.weight"), 2, 64), TYPE_F32);
    assert_int_equal(recipe_type(r, &grouped, str_of("blk.0.ffn_gate_inp.weight"), 2, 4096),
                     TYPE_F32);
    assert_int_equal(recipe_type(r, &grouped, str_of("blk.0.ffn_gate.weight"), 2, 4096), TYPE_Q2_K);
}

static void test_head_has_six_bits(void **state) {
    (void)state;
    assert_int_equal(of("Q4_K_M", &grouped, "output.weight", 4096), TYPE_Q6_K);
    assert_int_equal(of("Q4_0", &grouped, "output.weight", 4096), TYPE_Q6_K);
    assert_int_equal(of("Q8_0", &grouped, "output.weight", 4096), TYPE_Q8_0);
    assert_int_equal(of("Q4_K_M", &grouped, "output.weight", 64), TYPE_Q8_0);
    assert_int_equal(of("Q4_0", &grouped, "output.weight", 64), TYPE_Q8_0);
    assert_int_equal(of("F16", &grouped, "output.weight", 64), TYPE_F16);
    assert_int_equal(of("Q4_K_M", &grouped, "token_embd.weight", 4096), TYPE_Q4_K);
    assert_int_equal(of("Q4_K_M", &tied, "token_embd.weight", 4096), TYPE_Q6_K);
    assert_int_equal(of("TQ1_0", &grouped, "token_embd.weight", 4096), TYPE_Q4_K);
}

static void test_more_bits_where_they_matter(void **state) {
    (void)state;
    /* 32 layers: 0..3, 28..31, and 6, 9, ... 27 */
    for (unsigned i = 0; i < 32; i++) {
        const bool more = i < 4 || i >= 28 || i % 3 == 0;
        char name[64];

        snprintf(name, sizeof name, "blk.%u.attn_v.weight", i);
        assert_int_equal(of("Q4_K_M", &grouped, name, 4096), more ? TYPE_Q6_K : TYPE_Q4_K);
        assert_int_equal(of("Q5_K_M", &grouped, name, 4096), more ? TYPE_Q6_K : TYPE_Q5_K);
        assert_int_equal(of("Q4_K_S", &grouped, name, 4096), i < 4 ? TYPE_Q5_K : TYPE_Q4_K);
        assert_int_equal(of("Q3_K_M", &grouped, name, 4096), i < 2 ? TYPE_Q5_K : TYPE_Q4_K);
        snprintf(name, sizeof name, "blk.%u.ffn_down.weight", i);
        assert_int_equal(of("Q4_K_M", &grouped, name, 4096), more ? TYPE_Q6_K : TYPE_Q4_K);
        assert_int_equal(of("IQ4_XS", &grouped, name, 4096), i < 4 ? TYPE_Q5_K : TYPE_IQ4_XS);
        assert_int_equal(of("Q3_K_M", &grouped, name, 4096), i < 2 ? TYPE_Q5_K : TYPE_Q4_K);
    }
    assert_int_equal(of("Q2_K", &grouped, "blk.5.attn_v.weight", 4096), TYPE_Q4_K);
    assert_int_equal(of("Q2_K", &tied, "blk.5.attn_v.weight", 4096), TYPE_Q3_K);
    assert_int_equal(of("Q2_K", &tied, "blk.5.attn_output.weight", 4096), TYPE_Q3_K);
    assert_int_equal(of("Q4_K_M", &tied, "blk.5.attn_qkv.weight", 4096), TYPE_Q5_K);
    assert_int_equal(of("Q4_K_M", &big, "blk.12.attn_v.weight", 8192), TYPE_Q6_K);
    assert_int_equal(of("Q4_K_M", &big, "blk.11.attn_v.weight", 8192), TYPE_Q5_K);
}

static void test_experts(void **state) {
    (void)state;
    assert_int_equal(of("Q4_K_M", &mixtral, "blk.5.attn_v.weight", 4096), TYPE_Q8_0);
    assert_int_equal(of("Q4_K_M", &mixtral, "blk.5.attn_k.weight", 4096), TYPE_Q8_0);
    assert_int_equal(of("Q4_K_M", &mixtral, "blk.5.attn_output.weight", 4096), TYPE_Q5_K);
    assert_int_equal(of("Q4_K_M", &mixtral, "blk.0.ffn_down_exps.weight", 4096), TYPE_Q6_K);
    assert_int_equal(of("MXFP4_MOE", &mixtral, "blk.0.ffn_up_exps.weight", 4096), TYPE_MXFP4);
    assert_int_equal(of("MXFP4_MOE", &mixtral, "blk.0.attn_q.weight", 4096), TYPE_Q8_0);
}

static void test_rows_that_do_not_fit_fall_back(void **state) {
    static const struct {
        elem_type t, with_32;
    } cases[] = {{TYPE_Q2_K, TYPE_Q4_0}, {TYPE_Q3_K, TYPE_Q4_0},     {TYPE_TQ1_0, TYPE_Q4_0},
                 {TYPE_Q4_K, TYPE_Q5_0}, {TYPE_Q5_K, TYPE_Q5_1},     {TYPE_Q6_K, TYPE_Q8_0},
                 {TYPE_Q8_0, TYPE_Q8_0}, {TYPE_IQ4_XS, TYPE_IQ4_NL}, {TYPE_IQ2_S, TYPE_IQ4_NL}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(recipe_fit(cases[i].t, 512), cases[i].t);
        assert_int_equal(recipe_fit(cases[i].t, 576), cases[i].with_32);
        assert_int_equal(recipe_fit(cases[i].t, 172), TYPE_F16);
    }
    assert_int_equal(recipe_fit(TYPE_F32, 172), TYPE_F32);
}

static void test_recipes_have_names_and_numbers(void **state) {
    size_t n = 0;

    (void)state;
    for (; recipe_at(n); n++)
        assert_ptr_equal(recipe_find(recipe_name(recipe_at(n))), recipe_at(n));
    assert_true(n > 20);
    assert_null(recipe_find("Q4_K"));
    assert_int_equal(recipe_file_type(recipe_find("Q4_K_M")), 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_norms_and_routers_stay_f32),
        cmocka_unit_test(test_head_has_six_bits),
        cmocka_unit_test(test_more_bits_where_they_matter),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_rows_that_do_not_fit_fall_back),
        cmocka_unit_test(test_recipes_have_names_and_numbers),
    };

    return cmocka_run_group_tests_name("recipe", tests, NULL, NULL);
}
