/* SPDX-License-Identifier: MIT */
#include "cli/score.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

static bool is_near(double a, double b, double by) {
    return fabs(a - b) <= by;
}

static void test_log_sum_does_not_overflow(void **state) {
    const float big[] = {1000, 1000, 999}, small[] = {-1000, -1001}, one[] = {3};
    const float holes[] = {-INFINITY, 2, -INFINITY}, none[] = {-INFINITY, -INFINITY};

    (void)state;
    assert_true(is_near(score_log_sum(big, 3), 1000 + log(2 + exp(-1)), 1e-12));
    assert_true(is_near(score_log_sum(small, 2), -1000 + log(1 + exp(-1)), 1e-12));
    assert_true(score_log_sum(one, 1) == 3);
    assert_true(score_log_sum(holes, 3) == 2);
    assert_true(isinf(score_log_sum(none, 2)));
}

static void test_a_nan_anywhere_is_seen(void **state) {
    const float first[] = {NAN, 1, 2}, last[] = {1, 2, NAN};

    (void)state;
    assert_true(isnan(score_log_sum(first, 3)));
    assert_true(isnan(score_log_sum(last, 3)));
}

/* Two coins: p = (3/4, 1/4), q = (1/2, 1/2). */
static void test_kl_of_known_distributions(void **state) {
    const float p[] = {logf(3), 0}, q[] = {5, 5};
    const double want = 0.75 * log(1.5) + 0.25 * log(0.5);
    const double lp = score_log_sum(p, 2), lq = score_log_sum(q, 2);

    (void)state;
    assert_true(is_near(score_kl(p, lp, q, lq, 2), want, 1e-7));
    assert_true(score_kl(p, lp, p, lp, 2) == 0);
}

/* Softmax does not change when all logits are shifted, nor may the divergence. */
static void test_kl_of_shifted_logits_is_nothing(void **state) {
    float p[1000], q[1000];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        p[i] = (float)(i % 37) * 0.25f; /* exact in float, also shifted */
        q[i] = p[i] + 512;
    }
    assert_true(score_kl(p, score_log_sum(p, 1000), q, score_log_sum(q, 1000), 1000) < 1e-12);
}

static void test_kl_with_impossible_tokens(void **state) {
    const float p[] = {0, 0, -INFINITY}, q[] = {0, -INFINITY, 0};
    const double lp = score_log_sum(p, 3), lq = score_log_sum(q, 3);

    (void)state;
    assert_true(isinf(score_kl(p, lp, q, lq, 3))); /* q rules out what p allows */
    assert_true(score_kl(p, lp, p, lp, 3) == 0);
}

static void test_argmax_takes_the_first(void **state) {
    const float v[] = {1, 7, 7, -2};

    (void)state;
    assert_int_equal(score_argmax(v, 4), 1);
    assert_int_equal(score_argmax(v, 1), 0);
}

static void test_summary(void **state) {
    double v[] = {5, 1, 4, 2, 3}, one[] = {7}, many[101];
    score_summary s = score_summarise(v, 5);

    (void)state;
    assert_true(s.mean == 3 && s.median == 3 && s.max == 5);
    assert_true(is_near(s.mean_error, sqrt(2.5 / 5), 1e-12));
    s = score_summarise(one, 1);
    assert_true(s.mean == 7 && s.median == 7 && s.p99 == 7 && s.max == 7 && s.mean_error == 0);
    for (int i = 0; i <= 100; i++) many[i] = 100 - i;
    s = score_summarise(many, 101);
    assert_true(is_near(s.p99, 99, 1e-9));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_sum_does_not_overflow),
        cmocka_unit_test(test_a_nan_anywhere_is_seen),
        cmocka_unit_test(test_kl_of_known_distributions),
        cmocka_unit_test(test_kl_of_shifted_logits_is_nothing),
        cmocka_unit_test(test_kl_with_impossible_tokens),
        cmocka_unit_test(test_argmax_takes_the_first),
        cmocka_unit_test(test_summary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
