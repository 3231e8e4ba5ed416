/* SPDX-License-Identifier: MIT
 *
 * The router's choice of experts and the grouping of a step's tokens by expert. */
#include "model/moe.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
    N = 4,
    USED = 2
};

static hparams four(router_kind kind, bool is_norm) {
    return (hparams){.n_expert = N,
                     .n_expert_used = USED,
                     .router = kind,
                     .is_expert_norm = is_norm,
                     .expert_scale = 1};
}

static void check_by(const float *by, double a, double b) {
    assert_true(fabs((double)by[0] - a) < 1e-6 && fabs((double)by[1] - b) < 1e-6);
}

static void test_kinds_of_routers_weigh_as_defined(void **state) {
    const float logits[N] = {0.5f, 2, -1, 1};
    const double e = exp(0.5) + exp(2) + exp(-1) + exp(1);
    const double s1 = 1 / (1 + exp(-2)), s3 = 1 / (1 + exp(-1)), pair = exp(2) + exp(1);
    uint32_t chosen[USED];
    float by[USED];

    (void)state;
    for (int is_norm = 0; is_norm < 2; is_norm++)
        for (router_kind k = ROUTER_SOFTMAX; k <= ROUTER_SOFTMAX_CHOSEN; k++) {
            const hparams hp = four(k, is_norm);
            float scores[N] = {logits[0], logits[1], logits[2], logits[3]};

            moe_choose(&hp, NULL, scores, chosen, by);
            assert_int_equal(chosen[0], 1);
            assert_int_equal(chosen[1], 3);
            if (k == ROUTER_SIGMOID && is_norm)
                check_by(by, s1 / (s1 + s3), s3 / (s1 + s3));
            else if (k == ROUTER_SIGMOID)
                check_by(by, s1, s3);
            else if (k == ROUTER_SOFTMAX && !is_norm)
                check_by(by, exp(2) / e, exp(1) / e);
            else
                check_by(by, exp(2) / pair, exp(1) / pair);
        }
}

static void test_bias_moves_the_choice_and_not_the_weight(void **state) {
    const float bias[N] = {0, 0, 3, 0};
    float scores[N] = {0, 0, 0, 0}, by[USED];
    hparams hp = four(ROUTER_SIGMOID, false);
    uint32_t chosen[USED];

    (void)state;
    hp.expert_scale = 2.5f;
    moe_choose(&hp, bias, scores, chosen, by);
    assert_int_equal(chosen[0], 2);
    assert_int_equal(chosen[1], 0); /* of equals the first */
    check_by(by, 0.5 * 2.5, 0.5 * 2.5);
}

static void test_scores_that_are_no_numbers_choose_valid_experts(void **state) {
    const float odd[][N] = {{NAN, NAN, NAN, NAN},
                            {INFINITY, -INFINITY, NAN, 0},
                            {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (router_kind k = ROUTER_SOFTMAX; k <= ROUTER_SOFTMAX_CHOSEN; k++) {
            const hparams hp = four(k, true);
            float scores[N] = {odd[i][0], odd[i][1], odd[i][2], odd[i][3]}, by[USED];
            uint32_t chosen[USED];

            moe_choose(&hp, NULL, scores, chosen, by);
            assert_true(chosen[0] < N && chosen[1] < N && chosen[0] != chosen[1]);
        }
}

static void test_rows_of_an_expert_stand_together_in_the_tokens_order(void **state) {
    const hparams hp = four(ROUTER_SOFTMAX, false);
    uint32_t chosen[] = {3, 1, 1, 0, 3, 0}; /* of three tokens */
    uint32_t row[6], token[6], first[N + 1], active[N];
    moe_space s = {.chosen = chosen, .row = row, .token = token, .first = first, .active = active};
    const uint32_t want_first[] = {0, 2, 4, 4, 6}, want_token[] = {1, 2, 0, 1, 0, 2};
    const uint32_t want_row[] = {4, 2, 3, 0, 5, 1}, want_active[] = {0, 1, 3};

    (void)state;
    moe_group(&hp, &s, 3);
    assert_memory_equal(first, want_first, sizeof want_first);
    assert_memory_equal(token, want_token, sizeof want_token);
    assert_memory_equal(row, want_row, sizeof want_row);
    assert_int_equal(s.n_active, 3);
    assert_memory_equal(active, want_active, sizeof want_active);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_of_routers_weigh_as_defined),
        cmocka_unit_test(test_bias_moves_the_choice_and_not_the_weight),
        cmocka_unit_test(test_scores_that_are_no_numbers_choose_valid_experts),
        cmocka_unit_test(test_rows_of_an_expert_stand_together_in_the_tokens_order),
    };

    return cmocka_run_group_tests_name("moe", tests, NULL, NULL);
}
