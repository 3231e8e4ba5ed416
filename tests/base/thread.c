/* SPDX-License-Identifier: MIT */
#include "base/thread.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum {
    N_STAGE = 300,
    N_ITEM = 97
};

typedef struct {
    pool *p;
    int n;
    int owner[N_STAGE][N_ITEM]; /* times each item was handed out */
    int slot[N_STAGE][16];      /* written by each thread before the barrier */
    bool saw_all[16];
} probe;

static void stages(void *arg, int ith) {
    probe *x = arg;
    bool ok = true;

    for (int s = 0; s < N_STAGE; s++) {
        size_t b, e;

        while (pool_take(x->p, N_ITEM, 1 + (size_t)s % 7, &b, &e))
            for (size_t i = b; i < e; i++) x->owner[s][i]++;
        x->slot[s][ith] = s + 1;
        pool_barrier(x->p);
        for (int t = 0; t < x->n; t++) ok = ok && x->slot[s][t] == s + 1;
        for (size_t i = 0; i < N_ITEM; i++) ok = ok && x->owner[s][i] == 1;
    }
    x->saw_all[ith] = ok;
}

static void test_each_item_once_and_seen_after_the_barrier(void **state) {
    static probe x;

    (void)state;
    for (int n = 1; n <= 5; n++) {
        for (int round = 0; round < 5; round++) {
            memset(&x, 0, sizeof x);
            x.n = n;
            assert_int_equal(pool_new(&x.p, n, NULL), EW_OK);
            pool_run(x.p, stages, &x);
            for (int t = 0; t < n; t++) assert_true(x.saw_all[t]);
            memset(x.owner, 0, sizeof x.owner);
            pool_run(x.p, stages, &x);
            for (int t = 0; t < n; t++) assert_true(x.saw_all[t]);
            pool_free(x.p);
        }
    }
    assert_int_equal(mem_live(), 0);
}

static void test_absurd_counts_are_refused(void **state) {
    ew_error err;
    pool *p;

    (void)state;
    assert_int_equal(pool_new(&p, 0, &err), EW_EINVAL);
    assert_int_equal(pool_new(&p, 100000, &err), EW_EINVAL);
    assert_null(p);
}

static void test_no_memory_leaves_nothing(void **state) {
    pool *p;

    (void)state;
    for (long n = 1;; n++) {
        ew_status rc;

        mem_fail_at(n);
        rc = pool_new(&p, 3, NULL);
        mem_fail_at(0);
        if (rc == EW_OK) break;
        assert_int_equal(rc, EW_ENOMEM);
        assert_int_equal(mem_live(), 0);
    }
    pool_free(p);
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_item_once_and_seen_after_the_barrier),
        cmocka_unit_test(test_absurd_counts_are_refused),
        cmocka_unit_test(test_no_memory_leaves_nothing),
    };

    return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
