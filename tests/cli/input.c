/* SPDX-License-Identifier: MIT */
#include "cli/input.h"

#include "base/mem.h"
#include "cli/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void expect_ids(const char *text, const int32_t *want, size_t n_want) {
    int32_t *ids = NULL;
    size_t n = 99;
    ew_error err = {0};

    assert_int_equal(input_ids(&ids, &n, text, strlen(text), &err), EW_OK);
    assert_int_equal(n, n_want);
    for (size_t i = 0; i < n; i++) assert_int_equal(ids[i], want[i]);
    mem_free(ids);
}

static void expect_refusal(const char *text) {
    int32_t *ids = NULL;
    size_t n;
    ew_error err = {0};

    assert_int_equal(input_ids(&ids, &n, text, strlen(text), &err), EW_EINVAL);
    assert_null(ids);
    assert_true(strlen(err.text) > 0);
}

static void test_ids_in_every_form(void **state) {
    const int32_t three[] = {1, 403, 2147483647};

    (void)state;
    expect_ids("[1, 403, 2147483647]", three, 3);
    expect_ids("1 403 2147483647", three, 3);
    expect_ids("  1\n403\t2147483647 \n", three, 3);
    expect_ids("[1,403,2147483647]\n", three, 3);
    expect_ids("1,403,2147483647", three, 3);
    expect_ids("1", three, 1);
    expect_ids("", NULL, 0);
    expect_ids("[]", NULL, 0);
    expect_ids(" [ ] ", NULL, 0);
}

static void test_what_is_no_id_is_refused(void **state) {
    (void)state;
    expect_refusal("1 -2");
    expect_refusal("2147483648");
    expect_refusal("99999999999999999999999999");
    expect_refusal("1 two");
    expect_refusal("1.5");
    expect_refusal("[1, 2");
    expect_refusal("[");
    expect_refusal("1 2]");
    expect_refusal("[[1]]");
    expect_refusal("0x10");
}

static void test_no_allocation_failure_leaks(void **state) {
    const long live = mem_live();
    ew_status rc;

    (void)state;
    for (long n = 1;; n++) {
        int32_t *ids = NULL;
        size_t n_ids;

        mem_fail_at(n);
        rc = input_ids(&ids, &n_ids, "[1, 2, 3]", 9, NULL);
        mem_fail_at(0);
        mem_free(ids);
        assert_int_equal(mem_live(), live);
        if (rc == EW_OK) break;
        assert_int_equal(rc, EW_ENOMEM);
    }
}

static void expect_escaped(const char *bytes, size_t n, const char *want) {
    strbuf b;

    strbuf_init(&b, 1000);
    escape_bytes(&b, bytes, n);
    assert_string_equal(b.p, want);
    strbuf_fini(&b);
}

/* Nothing printed may move a terminal's cursor or hide text. */
static void test_escapes(void **state) {
    (void)state;
    expect_escaped("a b", 3, "a b");
    expect_escaped("\n\t\\", 3, "\\n\\t\\\\");
    expect_escaped("\x1b[2J", 4, "\\x1b[2J");
    expect_escaped("\xe4\xb8\xad", 3, "\xe4\xb8\xad");
    expect_escaped("\xe4\xb8", 2, "\\xe4\\xb8");
    expect_escaped("\xc2\x9b", 2, "\\xc2\\x9b");          /* C1 control */
    expect_escaped("\xe2\x80\xae", 3, "\\xe2\\x80\\xae"); /* right-to-left override */
    expect_escaped("\0x", 2, "\\x00x");
}

static void test_json_of_bytes(void **state) {
    json_t *text = json_bytes("\xe4\xb8\xad", 3), *raw = json_bytes("\xe4\xb8", 2);

    (void)state;
    assert_string_equal(json_string_value(text), "\xe4\xb8\xad");
    assert_int_equal(json_array_size(raw), 2);
    assert_int_equal(json_integer_value(json_array_get(raw, 0)), 0xe4);
    json_decref(text);
    json_decref(raw);
}

static void test_counts(void **state) {
    char b[24];

    (void)state;
    assert_string_equal(count_text(b, 0), "0");
    assert_string_equal(count_text(b, 999), "999");
    assert_string_equal(count_text(b, 1000), "1.00 K");
    assert_string_equal(count_text(b, 7615616512), "7.62 B");
    assert_string_equal(count_text(b, 999999), "1.00 M");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_in_every_form),
        cmocka_unit_test(test_what_is_no_id_is_refused),
        cmocka_unit_test(test_no_allocation_failure_leaks),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_json_of_bytes),
        cmocka_unit_test(test_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
