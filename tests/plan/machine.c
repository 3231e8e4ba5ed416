/* SPDX-License-Identifier: MIT */
#include "plan/machine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define KIB ((uint64_t)1024)
#define GIB (KIB * KIB * KIB)

static size_t mask_count(const cpu_mask *m) {
    size_t n = 0;

    for (size_t i = 0; i < MACHINE_MAX_CPU; i++) n += cpu_mask_has(m, i);
    return n;
}

static void test_cpu_lists(void **state) {
    static const char *const bad[] = {"",    "x",  "3-1", "1-",   "1,",
                                      "1,x", "-1", "1 2", "8192", "99999999999999999999"};
    cpu_mask m;

    (void)state;
    assert_true(cpu_mask_parse(&m, str_of("0-3,8\n")));
    assert_int_equal(mask_count(&m), 5);
    assert_true(cpu_mask_has(&m, 8) && !cpu_mask_has(&m, 4));
    assert_true(cpu_mask_parse(&m, str_of("8191")));
    assert_true(cpu_mask_has(&m, 8191));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(cpu_mask_parse(&m, str_of(bad[i])));
}

static void test_values_by_whole_key(void **state) {
    const str text = str_of("Active(file):  7 kB\nActive:   12 kB\nfile 4096\nHuge: x\nLast: 5");

    (void)state;
    assert_int_equal(machine_value(text, "Active"), 12 * KIB);
    assert_int_equal(machine_value(text, "Active(file)"), 7 * KIB);
    assert_int_equal(machine_value(text, "file"), 4096);
    assert_int_equal(machine_value(text, "Last"), 5);
    assert_int_equal(machine_value(text, "Huge"), 0);
    assert_int_equal(machine_value(text, "Absent"), 0);
    assert_int_equal(machine_value(str_of("A: 18446744073709551615 kB\n"), "A"), 0);
}

static void test_numbers_stop_at_the_first_word_that_is_none(void **state) {
    uint64_t v[2] = {0};

    (void)state;
    assert_int_equal(machine_numbers(str_of("150000 100000\n"), v, 2), 2);
    assert_int_equal(v[0], 150000);
    assert_int_equal(v[1], 100000);
    assert_int_equal(machine_numbers(str_of("max 100000\n"), v, 2), 0);
    assert_int_equal(machine_numbers(str_of("-1\n"), v, 1), 0);
    assert_int_equal(machine_numbers(str_of("5x\n"), v, 1), 0);
    assert_int_equal(machine_numbers(str_of(""), v, 1), 0);
}

static void test_cpu_names(void **state) {
    char name[16];

    (void)state;
    machine_cpu_name(str_of("processor\t: 0\nmodel\t\t: 6\nmodel name\t: Some  CPU   9\n"), name,
                     sizeof name);
    assert_string_equal(name, "Some CPU 9");
    machine_cpu_name(str_of("BogoMIPS : 2\nModel : A Board\n"), name, sizeof name);
    assert_string_equal(name, "A Board");
    machine_cpu_name(str_of("model name : 0123456789abcdefgh\n"), name, sizeof name);
    assert_string_equal(name, "0123456789abcde");
    machine_cpu_name(str_of("BogoMIPS : 2\n"), name, sizeof name);
    assert_string_equal(name, "");
}

static void test_cgroup_paths(void **state) {
    const str v1 = str_of("11:memory:/user\n4:cpu,cpuacct:/a:b\n0::/unified\n");
    str path;

    (void)state;
    assert_true(machine_cgroup_path(v1, "cpu", &path) && str_is(path, "/a:b"));
    assert_true(machine_cgroup_path(v1, "cpuacct", &path) && str_is(path, "/a:b"));
    assert_true(machine_cgroup_path(v1, "memory", &path) && str_is(path, "/user"));
    assert_true(machine_cgroup_path(v1, "", &path) && str_is(path, "/unified"));
    assert_false(machine_cgroup_path(v1, "cpus", &path));
    assert_false(machine_cgroup_path(str_of("nonsense\n"), "", &path));
}

/* ---- whole machines as folders ------------------------------------------------------------- */

static char root[64];

static void put(const char *path, const char *text) {
    char full[512];
    FILE *f;

    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        if (mkdir(full, 0755) != 0) assert_int_equal(errno, EEXIST);
        *slash = '/';
    }
    f = fopen(full, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* 4 cores of 2 threads, numbered as Intel's are: 0-3 first threads, 4-7 second ones. */
static void put_8_threads(void) {
    put("/sys/devices/system/cpu/online", "0-7\n");
    for (int i = 0; i < 8; i++) {
        char path[128], threads[16];

        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                 i);
        snprintf(threads, sizeof threads, "%d,%d\n", i % 4, i % 4 + 4);
        put(path, threads);
    }
    put("/proc/meminfo", "MemTotal: 33554432 kB\nMemFree: 1024 kB\nMemAvailable: 16777216 kB\n"
                         "SwapTotal: 2048 kB\nSwapFree: 1536 kB\n");
    put("/proc/cpuinfo", "model name : Test CPU\n");
}

static int make_root(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/edgewise-machine-XXXXXX");
    if (!mkdtemp(root)) return -1;
    put_8_threads();
    return 0;
}

static int remove_root(void **state) {
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static cpu_mask mask_of(const char *list) {
    cpu_mask m;

    assert_true(cpu_mask_parse(&m, str_of(list)));
    return m;
}

static ew_machine read_root(const char *affinity) {
    ew_machine m = {0};
    cpu_mask mask;

    if (affinity) mask = mask_of(affinity);
    machine_read_linux(&m, root, affinity ? &mask : NULL);
    return m;
}

static void test_threads_of_a_core_count_once(void **state) {
    const ew_machine m = read_root("0-7");

    (void)state;
    assert_int_equal(m.n_core_usable, 4);
    assert_int_equal(m.memory_physical, 32 * GIB);
    assert_int_equal(m.memory_available, 16 * GIB);
    assert_int_equal(m.swap_used, 512 * KIB);
    assert_string_equal(m.cpu_name, "Test CPU");
    assert_int_equal(read_root(NULL).n_core_usable, 4);
}

static void test_affinity_takes_cores_away(void **state) {
    (void)state;
    assert_int_equal(read_root("1,5").n_core_usable, 1);
    assert_int_equal(read_root("0,5").n_core_usable, 2);
    assert_int_equal(read_root("4-7").n_core_usable, 4);
}

static void test_cpus_off_line_do_not_count(void **state) {
    (void)state;
    put("/sys/devices/system/cpu/online", "0-1,4-5\n");
    assert_int_equal(read_root("0-7").n_core_usable, 2);
}

static void test_performance_cores_count_where_known(void **state) {
    (void)state;
    put("/sys/devices/cpu_core/cpus", "0-1,4-5\n");
    assert_int_equal(read_root("0-7").n_core_usable, 2);
    assert_int_equal(read_root("2-3").n_core_usable, 2); /* only slow ones allowed: they count */
}

static void test_v2_limits_of_all_parents_hold(void **state) {
    (void)state;
    put("/proc/self/cgroup", "0::/outer/inner\n");
    put("/sys/fs/cgroup/outer/cpu.max", "250000 100000\n");
    put("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/outer/memory.max", "max\n");
    put("/sys/fs/cgroup/outer/memory.current", "1073741824\n");
    put("/sys/fs/cgroup/outer/inner/memory.max", "4294967296\n");
    put("/sys/fs/cgroup/outer/inner/memory.current", "3221225472\n");
    assert_int_equal(read_root("0-7").n_core_usable, 2);
    assert_int_equal(read_root("0-7").memory_available, GIB);
    /* 2 of the 3 GiB are file pages, which can be had again. */
    put("/sys/fs/cgroup/outer/inner/memory.stat",
        "anon 1073741824\nfile 2147483648\ninactive_file 1073741824\nactive_file 1073741824\n");
    assert_int_equal(read_root("0-7").memory_available, 3 * GIB);
    assert_int_equal(read_root("0-7").memory_physical, 32 * GIB);
}

static void test_v2_container_sees_its_group_as_the_root(void **state) {
    (void)state;
    put("/proc/self/cgroup", "0::/not/visible/here\n");
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    put("/sys/fs/cgroup/memory.max", "1024\n");
    put("/sys/fs/cgroup/memory.current", "4096\n");
    assert_int_equal(read_root("0-7").n_core_usable, 1); /* half a core is still one thread */
    assert_int_equal(read_root("0-7").memory_available, 0);
}

static void test_v1_limits(void **state) {
    (void)state;
    put("/proc/self/cgroup", "3:memory:/docker/1\n2:cpu,cpuacct:/docker/1\n");
    put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "300000\n");
    put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "8589934592\n");
    put("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "2147483648\n");
    put("/sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "1073741824\n");
    assert_int_equal(read_root("0-7").n_core_usable, 3);
    assert_int_equal(read_root("0-7").memory_available, GIB);
}

static void test_an_empty_system_tells_nothing(void **state) {
    ew_machine m = {0};

    (void)state;
    machine_read_linux(&m, "/nowhere", NULL);
    assert_int_equal(m.n_core_usable, 0);
    assert_int_equal(m.memory_physical, 0);
    assert_int_equal(m.memory_available, 0);
    assert_string_equal(m.cpu_name, "");
}

static void test_this_machine(void **state) {
    ew_machine m = {.size = sizeof m};

    (void)state;
    ew_machine_read(&m);
    assert_true(m.n_core_usable >= 1);
    assert_true(m.n_core_usable <= sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(m.memory_physical > 64 * KIB * KIB);
    assert_true(m.memory_available > 0 && m.memory_available <= m.memory_physical);
    assert_int_equal(m.size, sizeof m);
}

static void test_an_older_caller_gets_what_it_knows(void **state) {
    ew_machine m;

    (void)state;
    memset(&m, 0x5A, sizeof m);
    m.size = offsetof(ew_machine, swap_used);
    ew_machine_read(&m);
    assert_true(m.memory_physical != 0x5A5A5A5A5A5A5A5Au);
    assert_true(m.swap_used == 0x5A5A5A5A5A5A5A5Au);
    assert_int_equal(m.size, offsetof(ew_machine, swap_used));
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_lists),
        cmocka_unit_test(test_values_by_whole_key),
        cmocka_unit_test(test_numbers_stop_at_the_first_word_that_is_none),
        cmocka_unit_test(test_cpu_names),
        cmocka_unit_test(test_cgroup_paths),
        WITH_ROOT(test_threads_of_a_core_count_once),
        WITH_ROOT(test_affinity_takes_cores_away),
        WITH_ROOT(test_cpus_off_line_do_not_count),
        WITH_ROOT(test_performance_cores_count_where_known),
        WITH_ROOT(test_v2_limits_of_all_parents_hold),
        WITH_ROOT(test_v2_container_sees_its_group_as_the_root),
        WITH_ROOT(test_v1_limits),
        cmocka_unit_test(test_an_empty_system_tells_nothing),
        cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_an_older_caller_gets_what_it_knows),
    };

    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
