/* SPDX-License-Identifier: MIT */
#include "run/stop.h"

#include "base/mem.h"
#include "run/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* ---- the definition, slowly ----------------------------------------------------------------- */

static bool ends_with(const char *text, size_t n, const char *s, size_t len) {
    return len <= n && memcmp(text + n - len, s, len) == 0;
}

/* How much of the n bytes may be shown when no more is known; *is_stopped: a stop string is in. */
static size_t naive_shown(const char *text, size_t n, const char *const *stop, size_t n_stop,
                          bool *is_stopped) {
    size_t held = 0;

    *is_stopped = true;
    for (size_t end = 1; end <= n; end++) {
        size_t longest = 0;

        for (size_t j = 0; j < n_stop; j++) {
            const size_t len = strlen(stop[j]);

            if (len > longest && ends_with(text, end, stop[j], len)) longest = len;
        }
        if (longest) return end - longest;
    }
    *is_stopped = false;
    for (size_t j = 0; j < n_stop; j++) {
        for (size_t len = 1; len < strlen(stop[j]); len++) {
            if (len > held && ends_with(text, n, stop[j], len)) held = len;
        }
    }
    return n - held;
}

/* ---- helpers -------------------------------------------------------------------------------- */

typedef struct {
    char p[256];
    size_t n;
} sink;

static void show(sink *to, str s) {
    assert_true(s.n <= sizeof to->p - to->n);
    if (s.n) memcpy(to->p + to->n, s.p, s.n);
    to->n += s.n;
}

static bool feed(stop_filter *f, sink *to, const char *text, size_t n) {
    str out[2];
    const bool is_stopped = stop_feed(f, (str){text, n}, out);

    show(to, out[0]);
    show(to, out[1]);
    return is_stopped;
}

static size_t random_text(rng *r, char *to, size_t max) {
    const size_t n = rng_next(r) % (max + 1);

    for (size_t i = 0; i < n; i++) to[i] = "ab"[rng_next(r) % 2];
    to[n] = 0;
    return n;
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* Two letters, short strings: borders, overlaps and strings inside strings come up all the time. */
static void test_any_cut_shows_what_the_definition_says(void **state) {
    rng r;

    (void)state;
    rng_seed(&r, 1);
    for (int round = 0; round < 20000; round++) {
        char text[41], stops[3][8];
        const char *stop[3] = {stops[0], stops[1], stops[2]};
        const size_t n_stop = 1 + rng_next(&r) % 3, n = random_text(&r, text, 40);
        stop_filter f;
        sink got = {.n = 0};
        bool is_stopped = false, want_stop = false;
        size_t at = 0;

        for (size_t j = 0; j < n_stop; j++) {
            do {
            } while (!random_text(&r, stops[j], 7));
        }
        assert_int_equal(stop_init(&f, stop, n_stop, NULL), EW_OK);
        while (at < n && !is_stopped) {
            size_t len = rng_next(&r) % 5;

            if (len > n - at) len = n - at;
            is_stopped = feed(&f, &got, text + at, len);
            at += len;
            /* A chunk is a token: what was shown never depends on how far the stop string lies
             * inside it. */
            assert_int_equal(got.n, naive_shown(text, at, stop, n_stop, &want_stop));
            assert_int_equal(is_stopped, want_stop);
            assert_memory_equal(got.p, text, got.n);
        }
        if (!is_stopped) {
            show(&got, stop_flush(&f));
            assert_int_equal(got.n, n);
            assert_memory_equal(got.p, text, n);
        }
        stop_fini(&f);
    }
    assert_int_equal(mem_live(), 0);
}

static void test_string_across_tokens_is_never_shown(void **state) {
    static const char *const stop[] = {"<|im_end|>"};
    stop_filter f;
    sink got = {.n = 0};

    (void)state;
    assert_int_equal(stop_init(&f, stop, 1, NULL), EW_OK);
    assert_false(feed(&f, &got, "Yes", 3));
    assert_int_equal(got.n, 3);
    assert_false(feed(&f, &got, ".<", 2));
    assert_false(feed(&f, &got, "|im_", 4));
    assert_int_equal(got.n, 4);
    assert_true(feed(&f, &got, "end|> and more", 14));
    assert_int_equal(got.n, 4);
    assert_memory_equal(got.p, "Yes.", 4);
    stop_fini(&f);
}

static void test_first_end_wins_then_the_longest(void **state) {
    static const char *const stop[] = {"b", "abcd", "ab"};
    stop_filter f;
    sink got = {.n = 0};

    (void)state;
    assert_int_equal(stop_init(&f, stop, 3, NULL), EW_OK);
    assert_true(feed(&f, &got, "xabcd", 5));
    assert_int_equal(got.n, 1);
    stop_fini(&f);
}

static void test_nothing_is_held_without_stop_strings(void **state) {
    stop_filter f;
    sink got = {.n = 0};

    (void)state;
    assert_int_equal(stop_init(&f, NULL, 0, NULL), EW_OK);
    assert_false(feed(&f, &got, "abc", 3));
    assert_int_equal(got.n, 3);
    assert_int_equal(stop_flush(&f).n, 0);
    stop_fini(&f);
}

/* The first byte of the stop string also begins other letters: held back whole or not at all. */
static void test_sequences_stay_whole(void **state) {
    static const char *const stop[] = {"\xC3\xA9t\xC3\xA9"};
    stop_filter f;
    str out[2];

    (void)state;
    assert_int_equal(stop_init(&f, stop, 1, NULL), EW_OK);
    assert_false(stop_feed(&f, str_of("\xC3\xA8"), out));
    assert_int_equal(out[0].n + out[1].n, 2);
    assert_false(stop_feed(&f, str_of("\xC3\xA9t"), out));
    assert_int_equal(out[0].n + out[1].n, 0);
    assert_false(stop_feed(&f, str_of("\xC3\xA8"), out));
    assert_int_equal(out[0].n, 3);
    assert_int_equal(out[1].n, 2);
    stop_fini(&f);
}

static void test_bad_stop_strings_are_named(void **state) {
    static const char *const empty[] = {"a", ""}, *const bytes[] = {"\xA9x"};
    stop_filter f;
    ew_error err;

    (void)state;
    assert_int_equal(stop_init(&f, empty, 2, &err), EW_EINVAL);
    assert_string_equal(err.text, "stop string 1 is empty");
    stop_fini(&f);
    assert_int_equal(stop_init(&f, bytes, 1, &err), EW_EINVAL);
    assert_string_equal(err.text, "stop string 0 is not UTF-8");
    stop_fini(&f);
}

static void test_no_allocation_failure_leaks(void **state) {
    static const char *const stop[] = {"abc", "bcd"};
    stop_filter f;

    (void)state;
    for (long n = 1;; n++) {
        ew_status rc;

        mem_fail_at(n);
        rc = stop_init(&f, stop, 2, NULL);
        mem_fail_at(0);
        if (rc == EW_OK) break;
        assert_int_equal(rc, EW_ENOMEM);
        assert_int_equal(mem_live(), 0);
    }
    stop_fini(&f);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_cut_shows_what_the_definition_says),
        cmocka_unit_test(test_string_across_tokens_is_never_shown),
        cmocka_unit_test(test_first_end_wins_then_the_longest),
        cmocka_unit_test(test_nothing_is_held_without_stop_strings),
        cmocka_unit_test(test_sequences_stay_whole),
        cmocka_unit_test(test_bad_stop_strings_are_named),
        cmocka_unit_test(test_no_allocation_failure_leaks),
    };

    return cmocka_run_group_tests_name("stop", tests, NULL, NULL);
}
