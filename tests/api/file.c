/* SPDX-License-Identifier: MIT
 *
 * ew_file: what a caller of edgewise.h sees of a GGUF file's header. */
#include "edgewise.h"

#include "base/mem.h"
#include "format/gguf_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];
static ew_error err;

static int write_file(void **state) {
    static const str strs[] = {{"one", 3}, {"two", 3}};
    static const uint64_t ne[] = {256, 3};
    static const uint8_t data[3 * 144];
    const int32_t minus = -5;
    const int8_t bytes[] = {1, -2};
    gguf_writer w;
    ew_status rc;

    (void)state;
    snprintf(path, sizeof path, "/tmp/ew-file-%ld.gguf", (long)getpid());
    gguf_writer_init(&w);
    gguf_put_str(&w, "general.name", str_of("some name"));
    gguf_put_u32(&w, "count", 9);
    gguf_put_scalar(&w, "minus", GGUF_I32, &minus);
    gguf_put_f32(&w, "half", 0.5f);
    gguf_put_bool(&w, "yes", true);
    gguf_put_strs(&w, "words", strs, 2);
    gguf_put_array(&w, "bytes", GGUF_I8, bytes, 2);
    gguf_put_tensor(&w, "blk.0.w", TYPE_Q4_K, 2, ne);
    rc = gguf_writer_open(&w, path, &err);
    if (!rc) rc = gguf_writer_data(&w, data, sizeof data, &err);
    if (!rc) rc = gguf_writer_commit(&w, &err);
    gguf_writer_fini(&w);
    return rc;
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static void test_metadata_is_seen_by_kind(void **state) {
    ew_file *f;
    ew_meta m;

    (void)state;
    assert_int_equal(ew_file_open(&f, path, &err), EW_OK);
    assert_int_equal(ew_file_version(f), 3);
    assert_int_equal(ew_file_n_part(f), 1);
    assert_int_equal(ew_file_n_meta(f), 7);
    ew_file_meta(f, 0, &m);
    assert_string_equal(m.key, "general.name");
    assert_int_equal(m.kind, EW_META_STRING);
    assert_string_equal(m.type, "string");
    assert_int_equal(m.text_n, 9);
    assert_memory_equal(m.text, "some name", 9);
    assert_true(ew_file_find_meta(f, "count", &m));
    assert_true(m.kind == EW_META_UINT && m.u == 9 && m.i == 0);
    assert_string_equal(m.type, "u32");
    assert_true(ew_file_find_meta(f, "minus", &m));
    assert_true(m.kind == EW_META_INT && m.i == -5);
    assert_true(ew_file_find_meta(f, "half", &m));
    assert_true(m.kind == EW_META_FLOAT && m.f == 0.5);
    assert_true(ew_file_find_meta(f, "yes", &m));
    assert_true(m.kind == EW_META_BOOL && m.u == 1);
    assert_false(ew_file_find_meta(f, "no", &m));
    ew_file_close(f);
}

static void test_arrays_are_seen_by_element(void **state) {
    ew_file *f;
    ew_meta m;

    (void)state;
    assert_int_equal(ew_file_open(&f, path, &err), EW_OK);
    assert_true(ew_file_find_meta(f, "words", &m));
    assert_true(m.kind == EW_META_ARRAY && m.n_elem == 2 && m.elem_kind == EW_META_STRING);
    assert_string_equal(m.type, "array of string");
    assert_true(ew_file_meta_elem(f, "words", 1, &m));
    assert_true(m.kind == EW_META_STRING && m.text_n == 3);
    assert_memory_equal(m.text, "two", 3);
    assert_true(ew_file_meta_elem(f, "bytes", 1, &m));
    assert_true(m.kind == EW_META_INT && m.i == -2);
    assert_false(ew_file_meta_elem(f, "words", 2, &m));
    assert_false(ew_file_meta_elem(f, "count", 0, &m));
    assert_false(ew_file_meta_elem(f, "no", 0, &m));
    ew_file_close(f);
}

static void test_tensors_are_seen(void **state) {
    ew_file *f;
    ew_tensor_info t;

    (void)state;
    assert_int_equal(ew_file_open(&f, path, &err), EW_OK);
    assert_int_equal(ew_file_n_tensor(f), 1);
    ew_file_tensor(f, 0, &t);
    assert_string_equal(t.name, "blk.0.w");
    assert_string_equal(t.type, "Q4_K");
    assert_int_equal(t.n_dims, 2);
    assert_int_equal(t.shape[0], 256);
    assert_int_equal(t.shape[1], 3);
    assert_int_equal(t.shape[3], 1);
    assert_int_equal(t.n_bytes, 3 * 144);
    assert_int_equal(t.part, 0);
    assert_in_range(t.off_bytes + t.n_bytes, 1, ew_file_bytes(f));
    ew_file_close(f);
}

static void test_failures_give_no_object(void **state) {
    (void)state;
    ew_file_close(NULL);
    for (long n = 1;; n++) {
        ew_file *f = (ew_file *)&n;
        ew_status rc;

        mem_fail_at(n);
        rc = ew_file_open(&f, path, &err);
        mem_fail_at(0);
        if (rc == EW_OK) {
            assert_true(n > 8);
            ew_file_close(f);
            break;
        }
        assert_int_equal(rc, EW_ENOMEM);
        assert_null(f);
        assert_int_equal(mem_live(), 0);
    }
    assert_int_equal(mem_live(), 0);
}

static void test_names_and_version(void **state) {
    (void)state;
    assert_string_equal(ew_version(), EW_VERSION);
    assert_string_equal(ew_status_name(EW_OK), "EW_OK");
    assert_string_equal(ew_status_name(EW_ECANCEL), "EW_ECANCEL");
    assert_string_equal(ew_status_name((ew_status)99), "?");
    ew_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metadata_is_seen_by_kind),
        cmocka_unit_test(test_arrays_are_seen_by_element),
        cmocka_unit_test(test_tensors_are_seen),
        cmocka_unit_test(test_failures_give_no_object),
        cmocka_unit_test(test_names_and_version),
    };

    return cmocka_run_group_tests_name("file", tests, write_file, remove_file);
}
