/* SPDX-License-Identifier: MIT */
#include "base/cursor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 0x88, 9};

static void test_numbers_are_little_endian_at_any_address(void **state) {
    static const uint8_t one[] = {0, 0, 0x80, 0x3F}, nan[] = {0, 0, 0xC0, 0x7F};

    (void)state;
    assert_int_equal(load_u16(bytes + 1), 0x0302);
    assert_int_equal(load_u32(bytes + 1), 0x05040302);
    assert_true(load_u64(bytes + 1) == 0x0988070605040302u);
    assert_true(load_u64(bytes) == 0x8807060504030201u);
    assert_true(load_f32(one) == 1.0f);
    assert_true(isnan(load_f32(nan)));
}

static void test_the_end_can_not_be_passed(void **state) {
    cursor c = {bytes, bytes + sizeof bytes};
    const uint8_t *p = NULL;
    uint32_t u32 = 0;
    uint64_t u64 = 0;

    (void)state;
    assert_int_equal(cursor_left(&c), 9);
    assert_false(cursor_take(&c, 10, &p));
    assert_false(cursor_take(&c, UINT64_MAX, &p));
    assert_null(p);
    assert_true(cursor_u64(&c, &u64));
    assert_true(u64 == 0x8807060504030201u);
    assert_false(cursor_u32(&c, &u32));
    assert_false(cursor_u64(&c, &u64));
    assert_int_equal(cursor_left(&c), 1); /* a refusal does not move it */
    assert_true(cursor_take(&c, 1, &p));
    assert_ptr_equal(p, bytes + 8);
    assert_true(cursor_take(&c, 0, &p));
    assert_false(cursor_take(&c, 1, &p));
    assert_int_equal(cursor_left(&c), 0);
}

static void test_nothing_holds_nothing(void **state) {
    cursor c = {NULL, NULL};
    const uint8_t *p;
    uint32_t u;

    (void)state;
    assert_int_equal(cursor_left(&c), 0);
    assert_false(cursor_u32(&c, &u));
    assert_true(cursor_take(&c, 0, &p));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_little_endian_at_any_address),
        cmocka_unit_test(test_the_end_can_not_be_passed),
        cmocka_unit_test(test_nothing_holds_nothing),
    };

    return cmocka_run_group_tests_name("cursor", tests, NULL, NULL);
}
