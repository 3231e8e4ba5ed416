/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void test_overlong_and_surrogates_are_invalid(void **state) {
    uint32_t cp;

    (void)state;
    assert_int_equal(utf8_decode("\xC0\x80", 2, &cp), 0);
    assert_int_equal(utf8_decode("\xE0\x80\x80", 3, &cp), 0);
    assert_int_equal(utf8_decode("\xED\xA0\x80", 3, &cp), 0);
    assert_int_equal(utf8_decode("\xF4\x90\x80\x80", 4, &cp), 0);
    assert_int_equal(utf8_decode("\xE4\xB8", 2, &cp), 0);
}

static void test_every_code_point_round_trips(void **state) {
    (void)state;
    for (uint32_t cp = 0; cp <= 0x110000; cp++) {
        char buf[4];
        uint32_t back = 0;
        const size_t n = utf8_encode(cp, buf);

        if (cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000)) {
            assert_int_equal(n, 0);
            continue;
        }
        assert_int_equal(utf8_decode(buf, n, &back), n);
        assert_int_equal(back, cp);
        for (size_t cut = 1; cut < n; cut++) assert_int_equal(utf8_whole(buf, cut), 0);
        assert_int_equal(utf8_whole(buf, n), n);
    }
}

static void test_hopeless_bytes_count_as_whole(void **state) {
    (void)state;
    assert_int_equal(utf8_whole("a\xFF", 2), 2);
    assert_int_equal(utf8_whole("\xE4\x41", 2), 2);
    assert_int_equal(utf8_whole("\xE0\x80", 2), 2);
    assert_int_equal(utf8_whole("\x80\x80\x80", 3), 3);
    assert_int_equal(utf8_whole("ab\xE4\xB8", 4), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overlong_and_surrogates_are_invalid),
        cmocka_unit_test(test_every_code_point_round_trips),
        cmocka_unit_test(test_hopeless_bytes_count_as_whole),
    };

    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
