/* SPDX-License-Identifier: MIT
 *
 * Reading GGUF: what is well formed is read right, what is not is refused with a sentence that
 * names the fault. Files are built here byte by byte, so that each fault is one line. */
#include "format/gguf.h"

#include "base/clock.h"
#include "base/mem.h"
#include "tests/support/shared.h"

#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a file, byte by byte ------------------------------------------------------------------- */

static strbuf b; /* the file being built */

static void put(const void *p, size_t n) {
    strbuf_add(&b, p, n);
}
static void u32(uint32_t v) {
    const uint8_t p[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};

    put(p, 4);
}
static void u64(uint64_t v) {
    u32((uint32_t)v);
    u32((uint32_t)(v >> 32));
}
static void text(const char *s) {
    u64(strlen(s));
    put(s, strlen(s));
}
static void header(uint32_t version, uint64_t n_tensor, uint64_t n_kv) {
    strbuf_clear(&b);
    put("GGUF", 4);
    u32(version);
    u64(n_tensor);
    u64(n_kv);
}
static void kv(const char *key, gguf_type type) {
    text(key);
    u32((uint32_t)type);
}
static void kv_u32(const char *key, uint32_t v) {
    kv(key, GGUF_U32);
    u32(v);
}
static void kv_str(const char *key, const char *v) {
    kv(key, GGUF_STRING);
    text(v);
}
static void tensor(const char *name, uint32_t n_dims, uint64_t ne0, uint64_t ne1, uint32_t type,
                   uint64_t off) {
    text(name);
    u32(n_dims);
    u64(ne0);
    if (n_dims > 1) u64(ne1);
    u32(type);
    u64(off);
}
static void data(size_t alignment, size_t n) {
    while (b.n % alignment) put("", 1);
    for (size_t i = 0; i < n; i++) put("x", 1);
}

/* Two keys, an array of strings, two tensors: what most faults are made from. */
static void base(void) {
    header(3, 2, 3);
    kv_str("general.architecture", "llama");
    kv_u32("llama.block_count", 7);
    kv("tokens", GGUF_ARRAY);
    u32(GGUF_STRING);
    u64(3);
    text("a");
    text("");
    text("ccc");
    tensor("one", 2, 32, 2, TYPE_Q4_0, 0); /* 36 bytes */
    tensor("two", 1, 3, 1, TYPE_F32, 64);  /* 12 bytes */
    data(32, 64 + 12);
}

static ew_error err;

static ew_status parse(gguf *g) {
    /* A copy without spare room, for the sanitizer to see a read past the end. */
    uint8_t *copy = malloc(b.n ? b.n : 1);
    ew_status rc;

    assert_non_null(copy);
    if (b.n) memcpy(copy, b.p, b.n);
    err = (ew_error){0};
    rc = gguf_parse(g, copy, b.n, "f", &err);
    gguf_close(g);
    free(copy);
    return rc;
}

/* The file is refused with a sentence that has all of `with`. */
static void refused(ew_status code, const char *with) {
    gguf g;
    const ew_status rc = parse(&g);

    if (rc != code || !strstr(err.text, with) || strncmp(err.text, "f: ", 3) != 0)
        fail_msg("got %d \"%s\", expected %d with \"%s\"", rc, err.text, code, with);
}

static void patch_u64(size_t at, uint64_t v) {
    for (int i = 0; i < 8; i++) b.p[at + (size_t)i] = (char)(v >> 8 * i);
}

static size_t find(const char *s) {
    const char *p = memmem(b.p, b.n, s, strlen(s));

    assert_non_null(p);
    return (size_t)(p - b.p);
}

/* ---- what is right -------------------------------------------------------------------------- */

static void test_base_is_read(void **state) {
    gguf g;
    uint64_t u = 0;
    str s;
    const gguf_kv *k;
    const gguf_tensor *t;

    (void)state;
    base();
    assert_int_equal(gguf_parse(&g, (const uint8_t *)b.p, b.n, "f", &err), EW_OK);
    assert_int_equal(g.version, 3);
    assert_int_equal(g.alignment, 32);
    assert_int_equal(g.n_kv, 3);
    assert_int_equal(g.n_tensor, 2);
    assert_int_equal(g.n_part, 0);
    assert_true(gguf_kv_uint(gguf_find(&g, "llama.block_count"), 0, &u));
    assert_int_equal(u, 7);
    k = gguf_find(&g, "tokens");
    assert_non_null(k);
    assert_int_equal(k->n_elem, 3);
    assert_int_equal(k->n_bytes, 3 * 8 + 4);
    assert_true(gguf_kv_str(k, 0, &s) && str_is(s, "a"));
    assert_true(gguf_kv_str(k, 1, &s) && s.n == 0);
    assert_true(gguf_kv_str(k, 2, &s) && str_is(s, "ccc"));
    assert_false(gguf_kv_str(k, 3, &s));
    assert_null(gguf_find(&g, "token"));
    assert_null(gguf_find(&g, "tokens2"));
    t = gguf_find_tensor(&g, str_of("two"));
    assert_non_null(t);
    assert_int_equal(t->n_bytes, 12);
    assert_int_equal(t->ne[1], 1);
    assert_ptr_equal(t->data, b.p + b.n - 12);
    assert_null(gguf_find_tensor(&g, str_of("tw")));
    gguf_close(&g);
}

static void test_version_2_and_other_alignments_are_read(void **state) {
    gguf g;

    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        for (uint32_t a = 8; a <= 4096; a *= 2) {
            header(version, 1, 1);
            kv_u32("general.alignment", a);
            tensor("t", 1, 5, 1, TYPE_F16, a);
            data(a, a + 10);
            assert_int_equal(gguf_parse(&g, (const uint8_t *)b.p, b.n, "f", &err), EW_OK);
            assert_int_equal(g.alignment, a);
            assert_ptr_equal(g.tensor[0].data, b.p + b.n - 10);
            gguf_close(&g);
        }
    }
}

static void test_integers_are_read_by_any_width(void **state) {
    static const struct {
        gguf_type type;
        size_t n;
    } kinds[] = {{GGUF_U8, 1},  {GGUF_I8, 1},  {GGUF_U16, 2}, {GGUF_I16, 2},
                 {GGUF_U32, 4}, {GGUF_I32, 4}, {GGUF_U64, 8}, {GGUF_I64, 8}};

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const bool is_signed = i % 2 != 0;
        gguf g;
        uint64_t u = 9;
        int64_t s = 9;
        double d = 9;
        bool yes = true;

        header(3, 0, 1);
        kv("k", GGUF_ARRAY);
        u32((uint32_t)kinds[i].type);
        u64(2);
        put("\x05\0\0\0\0\0\0\0", kinds[i].n);
        put("\xff\xff\xff\xff\xff\xff\xff\xff", kinds[i].n);
        assert_int_equal(gguf_parse(&g, (const uint8_t *)b.p, b.n, "f", &err), EW_OK);
        assert_true(gguf_kv_uint(&g.kv[0], 0, &u) && u == 5);
        assert_true(gguf_kv_int(&g.kv[0], 0, &s) && s == 5);
        assert_int_equal(gguf_kv_uint(&g.kv[0], 1, &u), !is_signed);
        if (is_signed) assert_true(gguf_kv_int(&g.kv[0], 1, &s) && s == -1);
        if (kinds[i].type == GGUF_U64) assert_false(gguf_kv_int(&g.kv[0], 1, &s));
        assert_false(gguf_kv_uint(&g.kv[0], 2, &u));
        assert_false(gguf_kv_float(&g.kv[0], 0, &d));
        assert_false(gguf_kv_bool(&g.kv[0], 0, &yes));
        gguf_close(&g);
    }
}

static void test_floats_and_bools_are_read(void **state) {
    gguf g;
    double d = 0;
    bool yes = false;
    uint64_t u;
    str s;

    (void)state;
    header(3, 0, 4);
    kv("f32", GGUF_F32);
    u32(0x3FC00000); /* 1.5 */
    kv("f64", GGUF_F64);
    u64(0xC004000000000000u); /* -2.5 */
    kv("bool", GGUF_BOOL);
    put("\1", 1);
    kv("empty", GGUF_ARRAY);
    u32(GGUF_F32);
    u64(0);
    assert_int_equal(gguf_parse(&g, (const uint8_t *)b.p, b.n, "f", &err), EW_OK);
    assert_true(gguf_kv_float(gguf_find(&g, "f32"), 0, &d) && d == 1.5);
    assert_true(gguf_kv_float(gguf_find(&g, "f64"), 0, &d) && d == -2.5);
    assert_true(gguf_kv_bool(gguf_find(&g, "bool"), 0, &yes) && yes);
    assert_true(gguf_kv_uint(gguf_find(&g, "bool"), 0, &u) && u == 1);
    assert_false(gguf_kv_str(gguf_find(&g, "f32"), 0, &s));
    assert_false(gguf_kv_float(gguf_find(&g, "empty"), 0, &d));
    assert_false(gguf_kv_float(NULL, 0, &d));
    gguf_close(&g);
}

/* ---- what is wrong -------------------------------------------------------------------------- */

static void test_other_formats_are_named(void **state) {
    static const struct {
        const char *bytes;
        size_t n;
        const char *with;
    } cases[] = {
        {"", 0, "empty"},
        {"GG", 2, "2 bytes"},
        {"MZ\x90\0\3\0\0\0", 8, "not a GGUF file (begins with bytes 4d 5a 90 00)"},
        {"lmgg\1\0\0\0", 8, "before GGUF"},
        {"tjgg\3\0\0\0", 8, "before GGUF"},
        {"\x40\0\0\0\0\0\0\0{\"a\":", 13, "safetensors"},
        {"\x1f\x8b\x08\0", 4, "gzip"},
        {"PK\3\4aaaa", 8, "zip archive or a PyTorch"},
        {"version https://git-lfs.github.com/spec/v1\n", 43, "Git LFS pointer"},
        {"\n <!DOCTYPE html><html>", 23, "web page"},
        {"<html>", 6, "web page"},
        {"\0\0\0\0\0\0\0\0", 8, "zero bytes"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strbuf_clear(&b);
        put(cases[i].bytes, cases[i].n);
        refused(EW_EFORMAT, cases[i].with);
    }
}

static void test_other_versions_are_refused_by_number(void **state) {
    (void)state;
    header(0, 0, 0);
    refused(EW_EUNSUPPORTED, "version 0");
    header(1, 0, 0);
    refused(EW_EUNSUPPORTED, "version 1");
    header(4, 0, 0);
    refused(EW_EUNSUPPORTED, "version 4");
    header(3u << 24, 0, 0);
    refused(EW_EUNSUPPORTED, "big-endian");
}

static void test_truncation_at_every_byte_is_refused(void **state) {
    size_t whole;

    (void)state;
    base();
    whole = b.n;
    for (size_t n = 0; n < whole; n++) {
        gguf g;

        base();
        b.n = n;
        if (parse(&g) == EW_OK) fail_msg("cut to %zu bytes of %zu and read", n, whole);
        assert_true(strlen(err.text) > 10);
    }
    base();
    b.n = whole - 1;
    refused(EW_EFORMAT, "tensor two: ends at byte");
}

/* Any single byte replaced may be read or refused, but not crash. */
static void test_every_byte_changed_does_no_harm(void **state) {
    static const unsigned char with[] = {0, 1, 0x7F, 0x80, 0xFF};
    size_t whole;

    (void)state;
    base();
    whole = b.n;
    for (size_t at = 0; at < whole; at++) {
        for (size_t i = 0; i < sizeof with; i++) {
            gguf g;

            base();
            b.p[at] = (char)with[i];
            (void)parse(&g);
        }
    }
    assert_int_equal(mem_live(), b.p ? 1 : 0);
}

static void test_counts_without_bytes_are_refused(void **state) {
    static const uint64_t absurd[] = {1000, 1u << 31, (uint64_t)1 << 62, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        base();
        patch_u64(8, absurd[i]);
        refused(EW_EFORMAT, "tensors");
        base();
        patch_u64(16, absurd[i]);
        refused(EW_EFORMAT, "keys");
        base();
        patch_u64(24, absurd[i]);
        refused(EW_EFORMAT, "key 1 of 3: a name of");
        base();
        patch_u64(find("ccc") - 8, absurd[i]);
        refused(EW_EFORMAT, "key tokens: a string of the array of");
        base();
        patch_u64(find("tokens") + 6 + 8, absurd[i]);
        refused(EW_EFORMAT, "key tokens: array of");
    }
}

/* 2^20 and more keys that are really there: refused by count, at once. */
static void test_more_keys_than_the_limit_are_refused(void **state) {
    (void)state;
    header(3, 0, (1u << 20) + 1);
    for (unsigned i = 0; i <= 1u << 20; i++) {
        kv("k", GGUF_U8);
        put("", 1);
    }
    refused(EW_EFORMAT, "at most 1048576");
}

static void test_bad_keys_are_refused(void **state) {
    (void)state;
    header(3, 0, 2);
    kv_u32("a.b", 1);
    kv_u32("a.b", 2);
    refused(EW_EFORMAT, "key a.b: stands in the file twice");
    header(3, 0, 1);
    kv_u32("", 1);
    put("pad", 3);
    refused(EW_EFORMAT, "empty");
    header(3, 0, 1);
    u64(3);
    put("a\0b", 3);
    u32(GGUF_U8);
    put("", 1);
    refused(EW_EFORMAT, "NUL");
    header(3, 0, 1);
    kv("k", (gguf_type)13);
    u64(0);
    refused(EW_EFORMAT, "key k: unknown value type 13");
    header(3, 0, 1);
    kv("k", GGUF_ARRAY);
    u32(99);
    u64(0);
    refused(EW_EFORMAT, "unknown type 99");
    header(3, 0, 1);
    kv("k", GGUF_ARRAY);
    u32(GGUF_ARRAY);
    u64(0);
    refused(EW_EUNSUPPORTED, "array of arrays");
    header(3, 0, 1);
    kv("k", GGUF_BOOL);
    put("\2", 1);
    refused(EW_EFORMAT, "a bool is 2");
    header(3, 0, 1);
    kv_str("key\x1b[31m\xff", "x");
    b.p[b.n - 9 - 4] = 99; /* its type */
    refused(EW_EFORMAT, "key key?[31m?: unknown value type 99");
}

static void test_bad_alignment_is_refused(void **state) {
    static const uint32_t bad[] = {0, 1, 3, 4, 24, 33, 0x80000000u};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        header(3, 0, 1);
        kv_u32("general.alignment", bad[i]);
        refused(EW_EFORMAT, "general.alignment: is");
    }
    header(3, 0, 1);
    kv_str("general.alignment", "32");
    refused(EW_EFORMAT, "general.alignment: is a string");
}

/* One tensor as given and 4096 bytes of data. */
static void one_tensor(uint32_t n_dims, uint64_t ne0, uint64_t ne1, uint32_t type, uint64_t off) {
    header(3, 1, 0);
    tensor("t", n_dims, ne0, ne1, type, off);
    data(32, 4096);
}

static void test_bad_tensors_are_refused(void **state) {
    (void)state;
    one_tensor(1, 1024, 1, TYPE_F32, 0);
    b.n--;
    refused(EW_EFORMAT, "tensor t: ends at byte");
    one_tensor(0, 1, 1, TYPE_F32, 0);
    refused(EW_EFORMAT, "0 dimensions");
    one_tensor(5, 1, 1, TYPE_F32, 0);
    refused(EW_EFORMAT, "5 dimensions");
    one_tensor(UINT32_MAX, 1, 1, TYPE_F32, 0);
    refused(EW_EFORMAT, "4294967295 dimensions");
    one_tensor(2, 0, 1, TYPE_F32, 0);
    refused(EW_EFORMAT, "dimension 1 is 0");
    one_tensor(2, 1, UINT64_MAX, TYPE_F32, 0);
    refused(EW_EFORMAT, "dimension 2 is -1");
    one_tensor(2, (uint64_t)1 << 40, (uint64_t)1 << 40, TYPE_F32, 0);
    refused(EW_EFORMAT, "overflows");
    one_tensor(1, (uint64_t)1 << 61, 1, TYPE_F64, 0);
    refused(EW_EFORMAT, "size in bytes overflows");
    one_tensor(1, 2048, 1, TYPE_F32, 0);
    refused(EW_EFORMAT, "ends at byte");
    one_tensor(2, 128, 2, TYPE_Q4_K, 0);
    refused(EW_EFORMAT, "rows of 128 elements are no multiple of Q4_K's blocks of 256");
    one_tensor(1, 4, 1, TYPE_F32, 16);
    refused(EW_EFORMAT, "offset 16 is no multiple of the alignment 32");
    one_tensor(1, 4, 1, TYPE_F32, 8192);
    refused(EW_EFORMAT, "but the file has");
    one_tensor(1, 4, 1, TYPE_F32, UINT64_MAX - 31);
    refused(EW_EFORMAT, "but the file has");
    one_tensor(1, 32, 1, 43, 0);
    refused(EW_EUNSUPPORTED, "tensor t: unknown type 43");
    one_tensor(1, 32, 1, 31, 0);
    refused(EW_EUNSUPPORTED, "Q4_0_4_4, retired");
    one_tensor(1, 256, 1, 15, 0);
    refused(EW_EUNSUPPORTED, "Q8_K");
}

static void test_overlapping_and_duplicate_tensors_are_refused(void **state) {
    (void)state;
    header(3, 3, 0);
    tensor("c", 1, 16, 1, TYPE_F32, 64);
    tensor("a", 1, 17, 1, TYPE_F32, 0); /* 68 bytes */
    tensor("d", 1, 16, 1, TYPE_F32, 128);
    data(32, 4096);
    refused(EW_EFORMAT, "tensor c: begins at byte 192, inside tensor a, which ends at 196");
    header(3, 2, 0);
    tensor("a", 1, 8, 1, TYPE_F32, 0);
    tensor("a", 1, 8, 1, TYPE_F32, 32);
    data(32, 4096);
    refused(EW_EFORMAT, "tensor a: stands in the file twice");
}

/* 2^18 keys and 2^16 tensors with long common prefixes: far from quadratic. */
static void test_many_names_take_little_time(void **state) {
    const unsigned n_kv = 1u << 18, n_tensor = 1u << 16;
    const uint64_t start = clock_us();
    gguf g;

    (void)state;
    header(3, n_tensor, n_kv);
    for (unsigned i = 0; i < n_kv; i++) {
        char key[64];

        snprintf(key, sizeof key, "common.prefix.of.all.keys.%u", i * 2654435761u);
        kv_u32(key, i);
    }
    for (unsigned i = 0; i < n_tensor; i++) {
        char name[64];

        snprintf(name, sizeof name, "blk.%u.attn_q.weight", i * 2654435761u);
        tensor(name, 1, 8, 1, TYPE_F32, (uint64_t)i * 32);
    }
    data(32, (size_t)n_tensor * 32);
    assert_int_equal(parse(&g), EW_OK);
    assert_true(clock_us() - start < 20u * 1000 * 1000); /* also under sanitizers */
}

static void test_allocation_failures_leave_nothing(void **state) {
    long before;

    (void)state;
    base();
    before = mem_live();
    for (long n = 1;; n++) {
        gguf g;
        ew_status rc;

        mem_fail_at(n);
        rc = gguf_parse(&g, (const uint8_t *)b.p, b.n, "f", &err);
        mem_fail_at(0);
        if (rc == EW_OK) {
            gguf_close(&g);
            assert_true(n > 4);
            break;
        }
        assert_int_equal(rc, EW_ENOMEM);
        assert_int_equal(mem_live(), before);
    }
    assert_int_equal(mem_live(), before);
}

/* ---- split sets ----------------------------------------------------------------------------- */

static char dir[64];

static void write_file(const char *name) {
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b.p, 1, b.n, f), b.n);
    assert_int_equal(fclose(f), 0);
}

/* Part `no` of `n`, with one tensor named `name`; the set claims n_tensor. */
static void part(uint32_t no, uint32_t n, uint32_t n_tensor, const char *name) {
    header(3, 1, no == 0 ? 4 : 3);
    if (no == 0) kv_str("general.architecture", "llama");
    kv("split.no", GGUF_U16);
    put((uint8_t[2]){(uint8_t)no, 0}, 2);
    kv("split.count", GGUF_U16);
    put((uint8_t[2]){(uint8_t)n, 0}, 2);
    kv("split.tensors.count", GGUF_I32);
    u32(n_tensor);
    tensor(name, 1, 8, 1, TYPE_F32, 0);
    data(32, 32);
    b.p[b.n - 1] = (char)no;
}

static ew_status open_file(gguf *g, const char *name, bool is_copy) {
    char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    err = (ew_error){0};
    return gguf_open(g, path, is_copy, &err);
}

static void open_refused(const char *name, ew_status code, const char *with) {
    gguf g;
    const ew_status rc = open_file(&g, name, false);

    if (rc != code || !strstr(err.text, with))
        fail_msg("got %d \"%s\", expected %d with \"%s\"", rc, err.text, code, with);
}

static int make_dir(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/ew-gguf-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state) {
    DIR *d = opendir(dir);
    struct dirent *e;

    (void)state;
    if (!d) return -1;
    while ((e = readdir(d))) {
        char path[400];

        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    closedir(d);
    return rmdir(dir);
}

static void write_set(void) {
    part(0, 3, 3, "zero");
    write_file("m-00001-of-00003.gguf");
    part(1, 3, 3, "one");
    write_file("m-00002-of-00003.gguf");
    part(2, 3, 3, "two");
    write_file("m-00003-of-00003.gguf");
}

static void test_any_member_opens_the_set(void **state) {
    static const char *const names[] = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                                        "m-00003-of-00003.gguf"};

    (void)state;
    write_set();
    for (int i = 0; i < 6; i++) {
        gguf g;
        const gguf_tensor *t;

        assert_int_equal(open_file(&g, names[i / 2], i % 2), EW_OK);
        assert_int_equal(g.n_part, 3);
        assert_int_equal(g.n_tensor, 3);
        assert_non_null(gguf_find(&g, "general.architecture"));
        t = gguf_find_tensor(&g, str_of("two"));
        assert_non_null(t);
        assert_int_equal(t->part, 2);
        assert_int_equal(t->data[31], 2);
        assert_ptr_equal(t->data, g.map[2].data + t->off_bytes);
        assert_non_null(strstr(g.path[1], names[1]));
        gguf_close(&g);
    }
}

static void test_missing_part_is_named(void **state) {
    char path[128];

    (void)state;
    write_set();
    snprintf(path, sizeof path, "%s/m-00002-of-00003.gguf", dir);
    unlink(path);
    open_refused("m-00003-of-00003.gguf", EW_EIO, "missing part 2 of the set of 3");
    snprintf(path, sizeof path, "%s/m-00001-of-00003.gguf", dir);
    unlink(path);
    open_refused("m-00003-of-00003.gguf", EW_EIO, "missing part 1, 2 of the set of 3");
}

static void test_foreign_and_duplicate_parts_are_named(void **state) {
    (void)state;
    write_set();
    part(1, 3, 4, "one");
    write_file("m-00002-of-00003.gguf");
    open_refused("m-00001-of-00003.gguf", EW_EFORMAT, "m-00002-of-00003.gguf: belongs to another");
    part(0, 3, 3, "one");
    write_file("m-00002-of-00003.gguf");
    open_refused("m-00001-of-00003.gguf", EW_EFORMAT, "m-00002-of-00003.gguf: holds part 1");
    part(1, 3, 3, "two");
    write_file("m-00002-of-00003.gguf");
    open_refused("m-00001-of-00003.gguf", EW_EFORMAT, "tensor two: stands in the file twice");
    base();
    write_file("m-00002-of-00003.gguf");
    open_refused("m-00001-of-00003.gguf", EW_EFORMAT, "m-00002-of-00003.gguf: belongs to another");
    part(1, 3, 3, "one");
    b.n -= 8;
    write_file("m-00002-of-00003.gguf");
    open_refused("m-00001-of-00003.gguf", EW_EFORMAT, "m-00002-of-00003.gguf: tensor one: ends");
}

static void test_set_that_contradicts_itself_is_refused(void **state) {
    (void)state;
    part(0, 1, 1, "alone"); /* a set of one is a plain file */
    write_file("any.gguf");
    {
        gguf g;

        assert_int_equal(open_file(&g, "any.gguf", false), EW_OK);
        gguf_close(&g);
    }
    part(0, 3, 3, "zero");
    write_file("renamed.gguf");
    open_refused("renamed.gguf", EW_EFORMAT, "doesn't end in -00001-of-00003.gguf");
    part(3, 3, 3, "x");
    write_file("m-00004-of-00003.gguf");
    open_refused("m-00004-of-00003.gguf", EW_EFORMAT, "part 4 of 3");
    part(0, 2, 3, "zero");
    write_file("n-00001-of-00002.gguf");
    part(1, 2, 3, "one");
    write_file("n-00002-of-00002.gguf");
    open_refused("n-00002-of-00002.gguf", EW_EFORMAT, "have 2 tensors, split.tensors.count says 3");
}

static void test_opening_fails_cleanly_without_memory(void **state) {
    long before;

    (void)state;
    write_set();
    before = mem_live();
    for (long n = 1;; n++) {
        gguf g;
        ew_status rc;

        mem_fail_at(n);
        rc = open_file(&g, "m-00002-of-00003.gguf", false);
        mem_fail_at(0);
        if (rc == EW_OK) {
            gguf_close(&g);
            assert_true(n > 20);
            break;
        }
        assert_int_equal(rc, EW_ENOMEM);
        assert_int_equal(mem_live(), before);
    }
    assert_int_equal(mem_live(), before);
}

static void test_what_is_no_file_is_refused(void **state) {
    (void)state;
    open_refused("nothing.gguf", EW_EIO, "No such file");
    open_refused("", EW_EFORMAT, "is a directory");
    strbuf_clear(&b);
    write_file("empty.gguf");
    open_refused("empty.gguf", EW_EFORMAT, "is empty");
}

/* ---- files that others wrote ---------------------------------------------------------------- */

/* Faults of the metadata's meaning, which the container knows nothing of. */
static bool is_semantic(const char *name) {
    static const char *const names[] = {"architecture", "block-count", "embedding-length",
                                        "head-count",   "rope-dim",    "context-length",
                                        "tokenizer",    "scores",      "tokens-numbers",
                                        "missing-",     "shape-"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(name, names[i])) return true;
    return false;
}

static void test_files_of_the_shared_set(void **state) {
    const char *path = shared_path("data/gguf-cases/small");
    DIR *d = path ? opendir(path) : NULL;
    struct dirent *e;
    int n = 0;

    (void)state;
    if (!d) skip();
    while ((e = readdir(d))) {
        char full[1400];
        gguf g;
        ew_status rc;
        bool is_wrong;

        if (!strstr(e->d_name, ".gguf")) continue;
        snprintf(full, sizeof full, "%s/%s", path, e->d_name);
        rc = gguf_open(&g, full, false, &err);
        gguf_close(&g);
        if (getenv("EW_SHOW")) printf("%s: %s\n", e->d_name, rc ? err.text : "read");
        is_wrong = strncmp(e->d_name, "ok-", 3) == 0 && rc;
        if (strncmp(e->d_name, "bad-", 4) == 0) is_wrong = (rc != 0) == is_semantic(e->d_name);
        if (is_wrong) fail_msg("%s: %d %s", e->d_name, rc, rc ? err.text : "");
        n++;
    }
    closedir(d);
    assert_true(n > 50);
}

static void test_real_files_are_read(void **state) {
    const char *split = shared_path("data/gguf-cases/real/stories260K-split-00002-of-00003.gguf");
    const char *v2 = shared_path("data/gguf-cases/real/stories260K-v2.gguf");
    const char *be = shared_path("data/gguf-cases/real/stories260K-v3-be.gguf");
    const char *whole = shared_path("data/models/stories260K-f32.gguf");
    gguf a, c;

    (void)state;
    if (!split || !v2 || !be || !whole) skip();
    assert_int_equal(gguf_open(&a, whole, false, &err), EW_OK);
    assert_int_equal(gguf_open(&c, split, false, &err), EW_OK);
    assert_int_equal(c.n_part, 3);
    assert_int_equal(a.n_tensor, c.n_tensor);
    for (size_t i = 0; i < a.n_tensor; i++) {
        const gguf_tensor *t = gguf_find_tensor(&c, a.tensor[i].name);

        assert_non_null(t);
        assert_int_equal(t->n_bytes, a.tensor[i].n_bytes);
        assert_memory_equal(t->data, a.tensor[i].data, t->n_bytes);
    }
    gguf_close(&c);
    assert_int_equal(gguf_open(&c, v2, true, &err), EW_OK);
    assert_int_equal(c.version, 2);
    assert_int_equal(a.n_tensor, c.n_tensor);
    gguf_close(&c);
    gguf_close(&a);
    assert_int_equal(gguf_open(&c, be, false, &err), EW_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "big-endian"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base_is_read),
        cmocka_unit_test(test_version_2_and_other_alignments_are_read),
        cmocka_unit_test(test_integers_are_read_by_any_width),
        cmocka_unit_test(test_floats_and_bools_are_read),
        cmocka_unit_test(test_other_formats_are_named),
        cmocka_unit_test(test_other_versions_are_refused_by_number),
        cmocka_unit_test(test_truncation_at_every_byte_is_refused),
        cmocka_unit_test(test_every_byte_changed_does_no_harm),
        cmocka_unit_test(test_counts_without_bytes_are_refused),
        cmocka_unit_test(test_more_keys_than_the_limit_are_refused),
        cmocka_unit_test(test_bad_keys_are_refused),
        cmocka_unit_test(test_bad_alignment_is_refused),
        cmocka_unit_test(test_bad_tensors_are_refused),
        cmocka_unit_test(test_overlapping_and_duplicate_tensors_are_refused),
        cmocka_unit_test(test_many_names_take_little_time),
        cmocka_unit_test(test_allocation_failures_leave_nothing),
        cmocka_unit_test_setup_teardown(test_any_member_opens_the_set, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_missing_part_is_named, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_foreign_and_duplicate_parts_are_named, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(test_set_that_contradicts_itself_is_refused, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(test_opening_fails_cleanly_without_memory, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(test_what_is_no_file_is_refused, make_dir, remove_dir),
        cmocka_unit_test(test_files_of_the_shared_set),
        cmocka_unit_test(test_real_files_are_read),
    };

    strbuf_init(&b, (size_t)1 << 30);
    return cmocka_run_group_tests_name("gguf", tests, NULL, NULL);
}
