/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#undef fail /* cmocka's macro; ours is a function */

static void test_views_compare_by_bytes(void **state) {
    (void)state;
    assert_true(str_eq(str_of("ab"), (str){"abc", 2}));
    assert_true(str_eq((str){NULL, 0}, str_of("")));
    assert_false(str_is((str){"a\0b", 3}, "a"));
    assert_true(str_starts(str_of("blk.0.attn"), str_of("blk.")));
    assert_true(str_starts(str_of("x"), str_of("")));
    assert_false(str_starts(str_of("bl"), str_of("blk")));
}

static void test_hash_is_fnv1a(void **state) {
    (void)state;
    /* Published test values of 64-bit FNV-1a. */
    assert_true(str_hash(str_of("")) == 0xcbf29ce484222325u);
    assert_true(str_hash(str_of("a")) == 0xaf63dc4c8601ec8cu);
    assert_true(str_hash(str_of("foobar")) == 0x85944171f73967e8u);
}

static void test_sizes_have_the_unit_people_compare(void **state) {
    char b[SIZE_TEXT];

    (void)state;
    assert_string_equal(size_text(b, 0), "0 B");
    assert_string_equal(size_text(b, 1023), "1023 B");
    assert_string_equal(size_text(b, 1024), "1.00 KiB");
    assert_string_equal(size_text(b, (1u << 30) - 1), "1.00 GiB");
    assert_string_equal(size_text(b, UINT64_MAX), "16.00 EiB");
}

static void test_appends_stay_terminated(void **state) {
    const long live = mem_live();
    strbuf b;
    size_t n = 0;
    char *p;

    (void)state;
    strbuf_init(&b, 1000);
    strbuf_puts(&b, "one ");
    strbuf_add(&b, "t\0o", 3);
    strbuf_str(&b, str_of(" "));
    strbuf_printf(&b, "%d%s", 3, "!");
    assert_int_equal(b.n, 10);
    assert_memory_equal(b.p, "one t\0o 3!", 11);
    strbuf_clear(&b);
    assert_string_equal(b.p, "");
    strbuf_puts(&b, "again");
    p = strbuf_take(&b, &n);
    assert_string_equal(p, "again");
    assert_int_equal(n, 5);
    assert_null(b.p);
    mem_free(p);
    assert_int_equal(mem_live(), live);
}

static void test_an_empty_buffer_gives_an_empty_string(void **state) {
    strbuf b;
    size_t n = 1;
    char *p;

    (void)state;
    strbuf_init(&b, 0);
    strbuf_add(&b, NULL, 0);
    p = strbuf_take(&b, &n);
    assert_string_equal(p, "");
    assert_int_equal(n, 0);
    mem_free(p);
}

static void test_the_maximum_holds_and_failure_sticks(void **state) {
    const long live = mem_live();
    strbuf b;

    (void)state;
    strbuf_init(&b, 8);
    strbuf_puts(&b, "12345678");
    assert_false(b.failed);
    strbuf_puts(&b, "9");
    assert_true(b.failed);
    assert_string_equal(b.p, "12345678");
    strbuf_puts(&b, ""); /* stays failed, and does nothing */
    assert_null(strbuf_take(&b, NULL));
    assert_int_equal(mem_live(), live);

    strbuf_init(&b, 8);
    strbuf_printf(&b, "%09d", 1);
    assert_true(b.failed);
    strbuf_clear(&b);
    strbuf_printf(&b, "%08d", 1);
    assert_false(b.failed);
    strbuf_fini(&b);
    assert_int_equal(mem_live(), live);
}

static void test_out_of_memory_fails_cleanly_at_every_allocation(void **state) {
    const long live = mem_live();

    (void)state;
    for (long n = 1;; n++) {
        strbuf b;
        char *p;

        strbuf_init(&b, 1 << 20);
        mem_fail_at(n);
        for (int i = 0; i < 1000; i++) strbuf_printf(&b, "line %d\n", i);
        p = strbuf_take(&b, NULL);
        mem_fail_at(0);
        mem_free(p);
        assert_int_equal(mem_live(), live);
        if (p) break;
        assert_true(n < 100);
    }
}

static void test_errors_are_one_sentence_that_fits(void **state) {
    ew_error err;
    char longer[1000];

    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(fail(&err, EW_EFORMAT, "%s: %d", "name", 7), EW_EFORMAT);
    assert_string_equal(err.text, "name: 7");
    assert_int_equal(fail(&err, EW_EIO, "%s", longer), EW_EIO);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(fail(NULL, EW_EINVAL, "nobody listens"), EW_EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views_compare_by_bytes),
        cmocka_unit_test(test_hash_is_fnv1a),
        cmocka_unit_test(test_sizes_have_the_unit_people_compare),
        cmocka_unit_test(test_appends_stay_terminated),
        cmocka_unit_test(test_an_empty_buffer_gives_an_empty_string),
        cmocka_unit_test(test_the_maximum_holds_and_failure_sticks),
        cmocka_unit_test(test_out_of_memory_fails_cleanly_at_every_allocation),
        cmocka_unit_test(test_errors_are_one_sentence_that_fits),
    };

    return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
