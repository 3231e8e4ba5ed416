/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include "base/mem.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64];

static const char *in_dir(const char *name) {
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put(const char *name, const char *text) {
    FILE *f = fopen(in_dir(name), "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void assert_holds(const char *name, const char *text) {
    char *p = NULL;
    size_t n = 0;

    assert_int_equal(file_read(&p, &n, in_dir(name), 1 << 20, NULL), EW_OK);
    assert_int_equal(n, strlen(text));
    assert_string_equal(p, text);
    mem_free(p);
}

static int count_files(void) {
    DIR *d = opendir(dir);
    int n = -2; /* . and .. */

    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static int make_dir(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/edgewise-file-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state) {
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static void test_mapped_and_copied_bytes_are_the_files(void **state) {
    (void)state;
    put("a", "some bytes");
    for (int is_copy = 0; is_copy < 2; is_copy++) {
        file_map m;

        assert_int_equal(file_map_open(&m, in_dir("a"), is_copy, NULL), EW_OK);
        assert_int_equal(m.size, 10);
        assert_int_equal(m.is_copy, is_copy);
        assert_memory_equal(m.data, "some bytes", 10);
        file_map_prefault(&m, 0, m.size);
        file_map_prefault(&m, 3, UINT64_MAX);
        file_map_prefault(&m, 100, 1);
        file_map_close(&m);
        assert_null(m.data);
        file_map_close(&m);
    }
}

static void test_an_empty_file_maps_to_nothing(void **state) {
    (void)state;
    put("empty", "");
    for (int is_copy = 0; is_copy < 2; is_copy++) {
        file_map m;

        assert_int_equal(file_map_open(&m, in_dir("empty"), is_copy, NULL), EW_OK);
        assert_null(m.data);
        assert_int_equal(m.size, 0);
        assert_int_equal(file_map_lock(&m, NULL), EW_OK);
        file_map_prefault(&m, 0, 1);
        file_map_close(&m);
    }
    assert_holds("empty", "");
}

/* Each reader says which path and why. */
static void assert_unreadable(const char *path, ew_status status, const char *why) {
    file_map m;
    ew_error err;
    char *p;

    assert_int_equal(file_map_open(&m, path, false, &err), status);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, why));
    assert_null(m.data);
    assert_int_equal(file_read(&p, NULL, path, 100, &err), status);
    assert_non_null(strstr(err.text, why));
    assert_null(p);
}

static void test_what_is_no_file_is_refused_by_name(void **state) {
    (void)state;
    assert_unreadable(in_dir("absent"), EW_EIO, "No such file");
    assert_unreadable(dir, EW_EFORMAT, "is a directory");
    assert_unreadable("/dev/null", EW_EFORMAT, "not a regular file");
    put("a", "");
    assert_unreadable(in_dir("a/b"), EW_EIO, "Not a directory");
}

static void test_a_pipe_does_not_hang_the_reader(void **state) {
    (void)state;
    assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
    alarm(10);
    assert_unreadable(in_dir("pipe"), EW_EFORMAT, "not a regular file");
    alarm(0);
}

static void test_a_file_over_the_maximum_is_refused(void **state) {
    ew_error err;
    char *p;

    (void)state;
    put("a", "12345");
    assert_int_equal(file_read(&p, NULL, in_dir("a"), 4, &err), EW_EFORMAT);
    assert_null(p);
    assert_int_equal(file_read(&p, NULL, in_dir("a"), 5, &err), EW_OK);
    mem_free(p);
}

static void test_a_committed_file_replaces_the_old_one(void **state) {
    file_out f;

    (void)state;
    put("a", "old");
    assert_int_equal(file_out_open(&f, in_dir("a"), NULL), EW_OK);
    assert_int_equal(file_out_write(&f, "new ", 4, NULL), EW_OK);
    assert_int_equal(file_out_write(&f, "", 0, NULL), EW_OK);
    assert_int_equal(file_out_write(&f, "bytes", 5, NULL), EW_OK);
    assert_holds("a", "old"); /* until then nobody sees it */
    assert_int_equal(file_out_commit(&f, NULL), EW_OK);
    file_out_abort(&f);
    assert_holds("a", "new bytes");
    assert_int_equal(count_files(), 1);
}

static void test_an_aborted_file_leaves_the_old_one(void **state) {
    file_out f = {.fd = -1};

    (void)state;
    file_out_abort(&f);
    put("a", "old");
    assert_int_equal(file_out_open(&f, in_dir("a"), NULL), EW_OK);
    assert_int_equal(file_out_write(&f, "new", 3, NULL), EW_OK);
    file_out_abort(&f);
    assert_holds("a", "old");
    assert_int_equal(count_files(), 1);
}

static void test_a_killed_writer_leaves_the_old_file(void **state) {
    int status = 0;
    pid_t child;

    (void)state;
    put("a", "old");
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        file_out f;

        file_out_open(&f, in_dir("a"), NULL);
        file_out_write(&f, "half of the n", 13, NULL);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_holds("a", "old");
}

/* A limit on the size of files stands for a full disk: the write fails after a part. */
/* What another process does, which says by a byte when it has done it and then waits to be killed.
 */
static pid_t start_other(void (*act)(void)) {
    int ready[2];
    pid_t pid;
    char c;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        act();
        if (write(ready[1], "!", 1) == 1) pause();
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

static void kill_other(pid_t pid) {
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void write_half(void) {
    file_out f;

    if (file_out_open(&f, in_dir("a"), NULL) || file_out_write(&f, "half", 4, NULL)) _exit(1);
}

static void write_whole(const char *name) {
    file_out f;

    assert_int_equal(file_out_open(&f, in_dir(name), NULL), EW_OK);
    assert_int_equal(file_out_write(&f, "whole", 5, NULL), EW_OK);
    assert_int_equal(file_out_commit(&f, NULL), EW_OK);
}

static void test_what_killed_writers_left_is_removed(void **state) {
    pid_t living;

    (void)state;
    kill_other(start_other(write_half));
    put("a.12.tmp.txt", "another's");
    put("a.x.tmp", "another's");
    put("ab.12.tmp", "another's");
    assert_int_equal(count_files(), 4);
    living = start_other(write_half);
    assert_int_equal(count_files(), 4); /* its own in the place of the dead one's */
    write_whole("a");
    assert_holds("a", "whole");
    assert_int_equal(count_files(), 5);
    kill_other(living);
    write_whole("a");
    assert_int_equal(count_files(), 4);
}

static void take_lock(void) {
    file_lock l;

    if (file_lock_take(&l, in_dir("a"), NULL)) _exit(1);
}

static void test_a_lock_is_held_by_one_living_process(void **state) {
    file_lock l, second;
    ew_error err;
    pid_t other;

    (void)state;
    other = start_other(take_lock);
    assert_int_equal(file_lock_take(&l, in_dir("a"), &err), EW_EIO);
    assert_non_null(strstr(err.text, "in use by another process"));
    assert_int_equal(l.fd, -1);
    kill_other(other);
    assert_int_equal(file_lock_take(&l, in_dir("a"), &err), EW_OK);
    assert_int_equal(file_lock_take(&second, in_dir("a"), &err), EW_EIO);
    assert_true(file_lock_is_of(&l, in_dir("a")));
    assert_true(file_lock_is_of(&l, in_dir("./a")));
    assert_false(file_lock_is_of(&l, in_dir("b")));
    assert_false(file_lock_is_of(&second, in_dir("a")));
    file_lock_release(&l);
    file_lock_release(&l);
    assert_int_equal(count_files(), 0);
    assert_int_equal(file_lock_take(&l, in_dir("absent/a"), &err), EW_EIO);
    assert_non_null(strstr(err.text, "No such file"));
}

static void test_a_full_disk_leaves_the_old_file(void **state) {
    static char block[8192];
    struct rlimit old, small;
    ew_error err;
    file_out f;
    ew_status rc = EW_OK;

    (void)state;
    put("a", "old");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 100000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(file_out_open(&f, in_dir("a"), &err), EW_OK);
    for (int i = 0; i < 20 && !rc; i++) rc = file_out_write(&f, block, sizeof block, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(rc, EW_EIO);
    assert_non_null(strstr(err.text, "/a: write"));
    file_out_abort(&f);
    assert_holds("a", "old");
    assert_int_equal(count_files(), 1);
}

static void test_a_place_that_can_not_be_written_is_named(void **state) {
    file_out f;
    ew_error err;
    const char *path = in_dir("absent/a");

    (void)state;
    assert_int_equal(file_out_open(&f, path, &err), EW_EIO);
    assert_non_null(strstr(err.text, path));
    assert_null(strstr(err.text, ".tmp"));
    assert_int_equal(f.fd, -1);
    assert_int_equal(file_out_open(&f, dir, &err), EW_EIO);
    assert_non_null(strstr(err.text, "is a directory"));
    assert_int_equal(count_files(), 0);
}

static void test_no_memory_leaks_nothing(void **state) {
    const long live = mem_live();

    (void)state;
    put("a", "old");
    for (long n = 1;; n++) {
        file_out f;
        char *p;
        ew_status rc;

        mem_fail_at(n);
        rc = file_out_open(&f, in_dir("a"), NULL);
        if (!rc) rc = file_read(&p, NULL, in_dir("a"), 10, NULL);
        mem_fail_at(0);
        if (!rc) mem_free(p);
        file_out_abort(&f);
        assert_int_equal(mem_live(), live);
        if (!rc) break;
        assert_int_equal(rc, EW_ENOMEM);
        assert_true(n < 100);
    }
    assert_int_equal(count_files(), 1);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIR(test_mapped_and_copied_bytes_are_the_files),
        IN_DIR(test_an_empty_file_maps_to_nothing),
        IN_DIR(test_what_is_no_file_is_refused_by_name),
        IN_DIR(test_a_pipe_does_not_hang_the_reader),
        IN_DIR(test_a_file_over_the_maximum_is_refused),
        IN_DIR(test_a_committed_file_replaces_the_old_one),
        IN_DIR(test_an_aborted_file_leaves_the_old_one),
        IN_DIR(test_a_killed_writer_leaves_the_old_file),
        IN_DIR(test_what_killed_writers_left_is_removed),
        IN_DIR(test_a_lock_is_held_by_one_living_process),
        IN_DIR(test_a_full_disk_leaves_the_old_file),
        IN_DIR(test_a_place_that_can_not_be_written_is_named),
        IN_DIR(test_no_memory_leaks_nothing),
    };

    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
