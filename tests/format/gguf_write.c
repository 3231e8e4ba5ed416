/* SPDX-License-Identifier: MIT
 *
 * What is written is read back the same, and a file appears whole or not at all. */
#include "format/gguf_write.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];
static ew_error err;

static int make_path(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/ew-write-%ld.gguf", (long)getpid());
    return 0;
}

static int remove_path(void **state) {
    (void)state;
    unlink(path);
    return 0;
}

static const str strings[] = {{"a", 1}, {"", 0}, {"\0\xff", 2}};
static const uint64_t ne_a[] = {64, 3}, ne_b[] = {5}, ne_c[] = {256, 1, 2, 1};

static void collect(gguf_writer *w, uint32_t alignment) {
    const int16_t i16[] = {-1, 2, -3};
    const double f64 = 0.1;
    const uint64_t u64 = UINT64_MAX;

    gguf_writer_init(w);
    if (alignment != 32) gguf_put_alignment(w, alignment);
    gguf_put_u32(w, "u32", 7);
    gguf_put_f32(w, "f32", -1.5f);
    gguf_put_bool(w, "bool", true);
    gguf_put_str(w, "str", str_of("text"));
    gguf_put_scalar(w, "f64", GGUF_F64, &f64);
    gguf_put_scalar(w, "u64", GGUF_U64, &u64);
    gguf_put_array(w, "i16s", GGUF_I16, i16, 3);
    gguf_put_strs(w, "strs", strings, 3);
    gguf_put_array(w, "none", GGUF_F32, "", 0);
    gguf_put_tensor(w, "a", TYPE_Q8_0, 2, ne_a); /* 204 bytes */
    gguf_put_tensor(w, "b", TYPE_F32, 1, ne_b);  /* 20 */
    gguf_put_tensor(w, "c", TYPE_Q4_K, 4, ne_c); /* 288 */
}

enum {
    DATA_BYTES = 204 + 20 + 288
};

/* The data in pieces of `step` bytes, borders of tensors or not. */
static ew_status write_all(gguf_writer *w, size_t step) {
    uint8_t data[DATA_BYTES];
    ew_status rc = gguf_writer_open(w, path, &err);

    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 7 + i / 256);
    for (size_t at = 0; at < sizeof data && !rc; at += step) {
        const size_t left = sizeof data - at;

        rc = gguf_writer_data(w, data + at, left < step ? left : step, &err);
    }
    if (!rc) rc = gguf_writer_commit(w, &err);
    return rc;
}

static void check_values(const gguf *g) {
    uint64_t u = 0;
    int64_t i = 0;
    double d = 0;
    bool yes = false;
    str s;

    assert_true(gguf_kv_uint(gguf_find(g, "u32"), 0, &u) && u == 7);
    assert_true(gguf_kv_uint(gguf_find(g, "u64"), 0, &u) && u == UINT64_MAX);
    assert_true(gguf_kv_float(gguf_find(g, "f32"), 0, &d) && d == -1.5);
    assert_true(gguf_kv_float(gguf_find(g, "f64"), 0, &d) && d == 0.1);
    assert_true(gguf_kv_bool(gguf_find(g, "bool"), 0, &yes) && yes);
    assert_true(gguf_kv_str(gguf_find(g, "str"), 0, &s) && str_is(s, "text"));
    assert_true(gguf_kv_int(gguf_find(g, "i16s"), 2, &i) && i == -3);
    for (uint64_t k = 0; k < 3; k++)
        assert_true(gguf_kv_str(gguf_find(g, "strs"), k, &s) && str_eq(s, strings[k]));
    assert_int_equal(gguf_find(g, "none")->n_elem, 0);
}

static void check_tensors(const gguf *g) {
    static const char *const names[] = {"a", "b", "c"};
    size_t at = 0;

    assert_int_equal(g->n_tensor, 3);
    for (size_t k = 0; k < 3; k++) {
        const gguf_tensor *t = gguf_find_tensor(g, str_of(names[k]));

        assert_ptr_equal(t, &g->tensor[k]);
        assert_int_equal(t->off_bytes % g->alignment, 0);
        for (uint64_t i = 0; i < t->n_bytes; i++, at++)
            assert_int_equal(t->data[i], (uint8_t)(at * 7 + at / 256));
        /* exactly sequential */
        if (k > 0)
            assert_int_equal(t->off_bytes, (t[-1].off_bytes + t[-1].n_bytes + g->alignment - 1) /
                                               g->alignment * g->alignment);
    }
    assert_int_equal(at, DATA_BYTES);
    assert_int_equal(g->map[0].size % g->alignment, 0);
}

static void test_what_was_written_is_read(void **state) {
    static const uint32_t alignments[] = {8, 32, 64, 8192};
    static const size_t steps[] = {1, 7, 204, DATA_BYTES};

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        gguf_writer w;
        gguf g;

        collect(&w, alignments[k]);
        assert_int_equal(write_all(&w, steps[k]), EW_OK);
        gguf_writer_fini(&w);
        assert_int_equal(gguf_open(&g, path, false, &err), EW_OK);
        assert_int_equal(g.version, 3);
        assert_int_equal(g.alignment, alignments[k]);
        check_values(&g);
        check_tensors(&g);
        gguf_close(&g);
    }
    assert_int_equal(mem_live(), 0);
}

static void test_key_values_are_copied_as_they_are(void **state) {
    gguf_writer w;
    gguf g, copy;

    (void)state;
    collect(&w, 32);
    assert_int_equal(write_all(&w, 100), EW_OK);
    gguf_writer_fini(&w);
    assert_int_equal(gguf_open(&g, path, false, &err), EW_OK);
    gguf_writer_init(&w);
    for (size_t i = 0; i < g.n_kv; i++) gguf_put_kv(&w, &g.kv[i]);
    assert_int_equal(gguf_writer_open(&w, path, &err), EW_OK);
    assert_int_equal(gguf_writer_commit(&w, &err), EW_OK);
    gguf_writer_fini(&w);
    assert_int_equal(gguf_open(&copy, path, false, &err), EW_OK);
    assert_int_equal(copy.n_kv, g.n_kv);
    check_values(&copy);
    gguf_close(&copy);
    gguf_close(&g);
}

static void test_incomplete_or_overfull_files_are_not_made(void **state) {
    gguf_writer w;
    uint8_t byte = 0, data[DATA_BYTES] = {0};

    (void)state;
    collect(&w, 32);
    assert_int_equal(gguf_writer_open(&w, path, &err), EW_OK);
    assert_int_equal(gguf_writer_data(&w, data, DATA_BYTES - 1, &err), EW_OK);
    assert_int_equal(gguf_writer_commit(&w, &err), EW_EINVAL);
    assert_non_null(strstr(err.text, "tensor 3 of 3 is incomplete"));
    assert_int_equal(gguf_writer_data(&w, &byte, 1, &err), EW_OK);
    assert_int_equal(gguf_writer_data(&w, &byte, 1, &err), EW_EINVAL);
    gguf_writer_fini(&w);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_wrong_calls_are_reported_on_opening(void **state) {
    gguf_writer w;

    (void)state;
    gguf_writer_init(&w);
    gguf_put_tensor(&w, "t", TYPE_Q4_K, 1, ne_b);
    assert_int_equal(gguf_writer_open(&w, path, &err), EW_EINVAL);
    assert_non_null(strstr(err.text, "doesn't suit the type"));
    gguf_writer_fini(&w);
    gguf_writer_init(&w);
    gguf_put_alignment(&w, 24);
    assert_int_equal(gguf_writer_open(&w, path, &err), EW_EINVAL);
    gguf_writer_fini(&w);
}

static void test_allocation_failures_leave_no_file(void **state) {
    (void)state;
    for (long n = 1;; n++) {
        gguf_writer w;
        ew_status rc;

        mem_fail_at(n);
        collect(&w, 32);
        rc = write_all(&w, 100);
        mem_fail_at(0);
        gguf_writer_fini(&w);
        assert_int_equal(mem_live(), 0);
        if (rc == EW_OK) {
            assert_true(n > 6);
            break;
        }
        assert_int_equal(rc, EW_ENOMEM);
        assert_int_equal(access(path, F_OK), -1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_was_written_is_read, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_key_values_are_copied_as_they_are, make_path,
                                        remove_path),
        cmocka_unit_test_setup_teardown(test_incomplete_or_overfull_files_are_not_made, make_path,
                                        remove_path),
        cmocka_unit_test_setup_teardown(test_wrong_calls_are_reported_on_opening, make_path,
                                        remove_path),
        cmocka_unit_test_setup_teardown(test_allocation_failures_leave_no_file, make_path,
                                        remove_path),
    };

    return cmocka_run_group_tests_name("gguf_write", tests, NULL, NULL);
}
