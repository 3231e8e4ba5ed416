/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum {
    KIB = 1024,
    MIB = 1024 * 1024
};

static bool is_zero(const void *p, size_t n) {
    const unsigned char *b = p;

    for (size_t i = 0; i < n; i++)
        if (b[i]) return false;
    return true;
}

static void test_arrays_are_zeroed_and_counted(void **state) {
    const long live = mem_live(), count = mem_count();
    char *p = mem_array(1000, 3);

    (void)state;
    assert_non_null(p);
    assert_true(is_zero(p, 3000));
    assert_int_equal(mem_live(), live + 1);
    assert_int_equal(mem_count(), count + 1);
    mem_free(p);
    assert_int_equal(mem_live(), live);
    mem_free(NULL);
    assert_int_equal(mem_live(), live);
}

static void test_sizes_that_overflow_are_refused(void **state) {
    volatile size_t half = SIZE_MAX / 2 + 1; /* volatile: or the compiler warns of the size */
    char *p = mem_array(1, 1);
    const long live = mem_live();

    (void)state;
    assert_null(mem_array(half, 2));
    assert_null(mem_resize(NULL, half, 2));
    assert_null(mem_resize(p, half, 4));
    assert_null(mem_copy_str("x", SIZE_MAX));
    assert_int_equal(mem_live(), live);
    p[0] = 1; /* still valid */
    mem_free(p);
}

static void test_nothing_is_a_valid_pointer(void **state) {
    void *p = mem_array(0, 8), *q = mem_resize(NULL, 8, 0);

    (void)state;
    assert_non_null(p);
    assert_non_null(q);
    q = mem_resize(q, 0, 0);
    assert_non_null(q);
    mem_free(p);
    mem_free(q);
}

static void test_resize_keeps_the_bytes(void **state) {
    const long live = mem_live();
    char *p = mem_copy_str("edgewise", 8);

    (void)state;
    assert_string_equal(p, "edgewise");
    p = mem_resize(p, 1, MIB);
    assert_non_null(p);
    assert_string_equal(p, "edgewise");
    assert_int_equal(mem_live(), live + 1);
    mem_free(p);
}

static void test_the_nth_allocation_fails_once(void **state) {
    mem_budget b;
    big_block block;
    void *p, *q;

    (void)state;
    mem_budget_init(&b, 0);
    mem_fail_at(2);
    p = mem_array(1, 1);
    assert_non_null(p);
    assert_null(mem_resize(p, 2, 1));
    q = mem_array(1, 1);
    assert_non_null(q);
    mem_fail_at(1);
    assert_int_equal(big_alloc(&block, &b, EW_MEM_KV, 1, "block", NULL), EW_ENOMEM);
    assert_int_equal(b.total, 0);
    assert_null(block.data);
    mem_fail_at(1);
    mem_fail_at(0);
    p = mem_resize(p, 2, 1);
    assert_non_null(p);
    mem_free(p);
    mem_free(q);
    mem_budget_fini(&b);
}

static void test_charges_add_up_by_account(void **state) {
    mem_budget b;

    (void)state;
    mem_budget_init(&b, 0);
    assert_int_equal(mem_charge(&b, EW_MEM_WEIGHTS, 5 * MIB, "weights", NULL), EW_OK);
    assert_int_equal(mem_charge(&b, EW_MEM_KV, 3 * MIB, "kv", NULL), EW_OK);
    mem_release(&b, EW_MEM_WEIGHTS, 4 * MIB);
    assert_int_equal(mem_charge(&b, EW_MEM_KV, MIB, "kv", NULL), EW_OK);
    assert_int_equal(b.used[EW_MEM_WEIGHTS], MIB);
    assert_int_equal(b.used[EW_MEM_KV], 4 * MIB);
    assert_int_equal(b.total, 5 * MIB);
    assert_int_equal(b.peak, 8 * MIB);
    mem_budget_fini(&b);
}

static void test_a_charge_over_the_limit_is_refused_with_the_sum(void **state) {
    const uint64_t gib = 1024 * (uint64_t)MIB;
    mem_budget b;
    ew_error err = {0};

    (void)state;
    mem_budget_init(&b, 4 * gib);
    assert_int_equal(mem_charge(&b, EW_MEM_WEIGHTS, 3 * gib, "weights", &err), EW_OK);
    assert_int_equal(mem_charge(&b, EW_MEM_KV, gib + 1, "KV cache", &err), EW_ENOMEM);
    assert_non_null(strstr(err.text, "KV cache"));
    assert_non_null(strstr(err.text, "3.00"));
    assert_non_null(strstr(err.text, "4.00"));
    assert_int_equal(err.status, EW_ENOMEM);
    assert_int_equal(mem_charge(&b, EW_MEM_KV, UINT64_MAX, "KV cache", NULL), EW_ENOMEM);
    assert_int_equal(b.total, 3 * gib);
    assert_int_equal(mem_charge(&b, EW_MEM_KV, gib, "KV cache", NULL), EW_OK);
    assert_int_equal(mem_charge(&b, EW_MEM_KV, 1, "KV cache", NULL), EW_ENOMEM);
    assert_int_equal(mem_charge(&b, EW_MEM_KV, 0, "KV cache", NULL), EW_OK);
    mem_budget_fini(&b);
}

static void test_big_blocks_are_zeroed_aligned_and_charged_as_rounded(void **state) {
    static const uint64_t sizes[] = {0, 1, 4095, 4096, 4097, 5 * MIB + 1};
    const long live = mem_live();
    mem_budget b;

    (void)state;
    mem_budget_init(&b, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint64_t want = big_round(sizes[i] ? sizes[i] : 1);
        big_block block;

        assert_int_equal(big_alloc(&block, &b, EW_MEM_SCRATCH, sizes[i], "block", NULL), EW_OK);
        assert_int_equal(block.size, want);
        assert_int_equal(b.used[EW_MEM_SCRATCH], want);
        assert_int_equal((uintptr_t)block.data % 4096, 0);
        assert_true(is_zero(block.data, block.size));
        memset(block.data, 0xFF, block.size);
        big_free(&block);
        assert_int_equal(b.total, 0);
        assert_null(block.data);
        big_free(&block); /* empty now */
    }
    assert_int_equal(mem_live(), live);
    mem_budget_fini(&b);
}

static void test_big_round(void **state) {
    (void)state;
    assert_int_equal(big_round(0), 0);
    assert_int_equal(big_round(1), 4 * KIB);
    assert_int_equal(big_round(4 * KIB), 4 * KIB);
    assert_int_equal(big_round(4 * KIB + 1), 8 * KIB);
    assert_true(big_round(UINT64_MAX) == UINT64_MAX);
    assert_true(big_round(UINT64_MAX - 4097) % 4096 == 0);
}

static void test_blocks_that_can_not_be_had_leave_no_charge(void **state) {
    mem_budget b;
    big_block block;
    ew_error err;

    (void)state;
    mem_budget_init(&b, 0);
    assert_int_equal(big_alloc(&block, &b, EW_MEM_KV, UINT64_MAX, "KV cache", &err), EW_ENOMEM);
    assert_int_equal(big_alloc(&block, &b, EW_MEM_KV, SIZE_MAX / 2 - 8192, "KV cache", &err),
                     EW_ENOMEM);
    assert_non_null(strstr(err.text, "KV cache"));
    assert_null(block.data);
    assert_int_equal(b.total, 0);
    mem_budget_fini(&b);
    mem_budget_init(&b, 8 * KIB);
    assert_int_equal(big_alloc(&block, &b, EW_MEM_KV, 8 * KIB + 1, "KV cache", &err), EW_ENOMEM);
    assert_int_equal(big_alloc(&block, &b, EW_MEM_KV, 8 * KIB, "KV cache", &err), EW_OK);
    big_free(&block);
    mem_budget_fini(&b);
}

static void *charge_often(void *arg) {
    for (int i = 0; i < 2000; i++) {
        big_block block;

        if (big_alloc(&block, arg, EW_MEM_KV, 4 * KIB, "block", NULL) == EW_OK) big_free(&block);
    }
    return NULL;
}

static void test_threads_may_charge_at_once(void **state) {
    pthread_t thread[4];
    mem_budget b;

    (void)state;
    mem_budget_init(&b, 12 * KIB); /* three of four fit */
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, charge_often, &b), 0);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    assert_int_equal(b.total, 0);
    assert_true(b.peak >= 4 * KIB && b.peak <= 12 * KIB);
    mem_budget_fini(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays_are_zeroed_and_counted),
        cmocka_unit_test(test_sizes_that_overflow_are_refused),
        cmocka_unit_test(test_nothing_is_a_valid_pointer),
        cmocka_unit_test(test_resize_keeps_the_bytes),
        cmocka_unit_test(test_the_nth_allocation_fails_once),
        cmocka_unit_test(test_charges_add_up_by_account),
        cmocka_unit_test(test_a_charge_over_the_limit_is_refused_with_the_sum),
        cmocka_unit_test(test_big_blocks_are_zeroed_aligned_and_charged_as_rounded),
        cmocka_unit_test(test_big_round),
        cmocka_unit_test(test_blocks_that_can_not_be_had_leave_no_charge),
        cmocka_unit_test(test_threads_may_charge_at_once),
    };

    return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
