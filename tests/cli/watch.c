/* SPDX-License-Identifier: MIT */
#include "cli/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* A tree with the files that are read, in a folder of its own. */
static char root[] = "/tmp/edgewise-watch-XXXXXX";

static void put(const char *path, const char *text) {
    char full[300];
    FILE *f;

    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *p = full + sizeof root; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        mkdir(full, 0700);
        *p = '/';
    }
    f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make_root(void **state) {
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    char command[100];

    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

#define HEAT "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"

static void test_files_are_read(void **state) {
    watch w;

    (void)state;
    watch_read(&w, root);
    assert_false(w.sees_cpu || w.sees_swap || w.sees_heat); /* nothing is there yet */
    put("/proc/stat", "cpu  100 10 50 9999 77 3 2 8 5 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
    put("/proc/vmstat", "nr_free_pages 7\npswpin 3\npswpout 4\npswpoutx 100\n");
    put("/sys/fs/cgroup/cpu.stat", "usage_usec 5\nthrottled_usec 1234\n");
    put("/sys/class/thermal/thermal_zone0/temp", "42000\n");
    put("/sys/class/thermal/thermal_zone1/temp", "55500\n");
    put(HEAT, "6\n");
    put("/sys/class/power_supply/AC/online", "0\n");
    watch_read(&w, root);
    assert_true(w.sees_cpu && w.sees_swap && w.sees_heat);
    assert_int_equal(w.busy_us / (1000000u / (uint64_t)sysconf(_SC_CLK_TCK)), 165);
    assert_int_equal(w.steal_us / (1000000u / (uint64_t)sysconf(_SC_CLK_TCK)), 8);
    assert_int_equal(w.swap_pages, 7);
    assert_int_equal(w.quota_us, 1234);
    assert_int_equal(w.throttle_events, 6);
    assert_true(w.temp_c == 55.5);
    assert_true(w.on_battery);
    assert_true(w.t_us > 0);
}

/* A second in which this process used its own two cores and nothing happened. */
static watch quiet_from(void) {
    return (watch){.t_us = 5000000, .busy_us = 100, .sees_cpu = true};
}
static watch quiet_to(void) {
    return (watch){.t_us = 6000000, .busy_us = 2000100, .own_us = 2000000, .sees_cpu = true};
}

static void expect_verdict(watch from, watch to, unsigned want, const char *words) {
    strbuf why;

    strbuf_init(&why, 1000);
    assert_int_equal(watch_judge(&from, &to, &why), want);
    assert_int_equal(watch_judge(&from, &to, NULL), want);
    if (words)
        assert_non_null(strstr(why.p, words));
    else
        assert_int_equal(why.n, 0);
    strbuf_fini(&why);
}

static void test_each_disturbance_is_told_apart(void **state) {
    watch to;

    (void)state;
    expect_verdict(quiet_from(), quiet_to(), 0, NULL);
    to = quiet_to();
    to.busy_us += 90000; /* 9 % of a core */
    expect_verdict(quiet_from(), to, 0, NULL);
    to.busy_us += 360000;
    expect_verdict(quiet_from(), to, WATCH_BUSY, "45 % of a core");
    to = quiet_to();
    to.steal_us = 50000;
    expect_verdict(quiet_from(), to, WATCH_STEAL, "5 % of a core");
    to = quiet_to();
    to.swap_pages = 12;
    expect_verdict(quiet_from(), to, WATCH_SWAP, "12 pages were swapped");
    to = quiet_to();
    to.major_faults = 3;
    expect_verdict(quiet_from(), to, WATCH_DISK, "3 pages were read from disk");
    to = quiet_to();
    to.quota_us = 20000;
    expect_verdict(quiet_from(), to, WATCH_QUOTA, "20 ms");
    to = quiet_to();
    to.throttle_events = 1;
    expect_verdict(quiet_from(), to, WATCH_HEAT, "heat");
    to = quiet_to();
    to.temp_c = 95;
    expect_verdict(quiet_from(), to, WATCH_HEAT, "95 C");
    to = quiet_to();
    to.on_battery = true;
    expect_verdict(quiet_from(), to, WATCH_BATTERY, "battery");
    to.swap_pages = 1;
    expect_verdict(quiet_from(), to, WATCH_BATTERY | WATCH_SWAP, "; ");
}

/* 10 ms steps of the system's counters say nothing of a run of 20 ms. */
static void test_short_spans_are_not_judged_by_cpu_time(void **state) {
    watch from = quiet_from(), to = quiet_to();

    (void)state;
    to.t_us = from.t_us + 20000;
    to.own_us = from.own_us;
    expect_verdict(from, to, 0, NULL);
}

static void test_memory_of_this_process(void **state) {
    (void)state;
    assert_true(watch_peak_memory() > 100000);
    assert_true(watch_peak_memory() + 65536 >= watch_memory());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_are_read),
        cmocka_unit_test(test_each_disturbance_is_told_apart),
        cmocka_unit_test(test_short_spans_are_not_judged_by_cpu_time),
        cmocka_unit_test(test_memory_of_this_process),
    };

    return cmocka_run_group_tests(tests, make_root, remove_root);
}
