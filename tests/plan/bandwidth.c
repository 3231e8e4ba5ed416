/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "edgewise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static ew_engine *engine_of(int32_t n_threads, uint64_t limit) {
    ew_engine_options o;
    ew_engine *e = NULL;
    ew_error err = {0};

    ew_engine_defaults(&o);
    o.n_threads = n_threads;
    o.memory_limit = limit;
    assert_int_equal(ew_engine_new(&e, &o, &err), EW_OK);
    return e;
}

/* No memory reads slower than a tape or faster than a cache. */
static void test_figure_is_plausible_with_any_threads(void **state) {
    (void)state;
    for (int32_t n = 1; n <= 3; n++) {
        ew_engine *e = engine_of(n, 0);
        ew_error err = {0};
        double v = 0;

        assert_int_equal(ew_engine_read_bandwidth(e, 8 << 20, 3, &v, &err), EW_OK);
        assert_true(v > 1e7 && v < 1e14);
        assert_int_equal(ew_engine_memory(e, EW_MEM_SCRATCH), 0);
        assert_true(ew_engine_memory_peak(e) >= 8 << 20);
        ew_engine_free(e);
    }
}

static void test_over_the_limit_is_refused(void **state) {
    ew_engine *e = engine_of(1, 1 << 20);
    ew_error err = {0};
    double v = 1;

    (void)state;
    assert_int_equal(ew_engine_read_bandwidth(e, 8 << 20, 1, &v, &err), EW_ENOMEM);
    assert_true(strlen(err.text) > 0);
    assert_true(v == 0);
    assert_int_equal(ew_engine_memory(e, EW_MEM_SCRATCH), 0);
    ew_engine_free(e);
}

static void test_nothing_to_read_is_refused(void **state) {
    ew_engine *e = engine_of(1, 0);
    double v;

    (void)state;
    assert_int_equal(ew_engine_read_bandwidth(e, 63, 1, &v, NULL), EW_EINVAL);
    assert_int_equal(ew_engine_read_bandwidth(e, 4096, 0, &v, NULL), EW_EINVAL);
    ew_engine_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure_is_plausible_with_any_threads),
        cmocka_unit_test(test_over_the_limit_is_refused),
        cmocka_unit_test(test_nothing_to_read_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
