/* SPDX-License-Identifier: MIT */
#include "store/find.h"

#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char root[64];

/* A file below root with its folders; t: when it was modified. */
static void put(const char *rel, const char *text, int64_t t) {
    char path[512];
    const struct timespec times[2] = {{.tv_sec = (time_t)t}, {.tv_sec = (time_t)t}};
    file_out f;

    snprintf(path, sizeof path, "%s/%s", root, rel);
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        mkdir(path, 0700);
        *p = '/';
    }
    assert_int_equal(file_out_open(&f, path, NULL), EW_OK);
    assert_int_equal(file_out_write(&f, text, strlen(text), NULL), EW_OK);
    assert_int_equal(file_out_commit(&f, NULL), EW_OK);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void link_to(const char *target, const char *rel) {
    char path[512];

    put(rel, "", 1); /* for its folders */
    snprintf(path, sizeof path, "%s/%s", root, rel);
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
}

static int make_root(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/ew-find-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static const char *at(char buf[512], const char *rel) {
    snprintf(buf, 512, "%s/%s", root, rel);
    return buf;
}

#define MANIFEST(digest)                                                               \
 "{\"schemaVersion\":2,\"layers\":["                                                   \
 "{\"mediaType\":\"application/vnd.ollama.image.template\",\"digest\":\"sha256:00\"}," \
 "{\"mediaType\":\"application/vnd.ollama.image.model\",\"digest\":\"" digest "\"}]}"

static void test_ollama_names_lead_to_their_blobs(void **state) {
    char a[512];
    const find_places p = {.ollama = {at(a, "ollama")}};
    found_list l;

    (void)state;
    put("ollama/blobs/sha256-" DIGEST, "GGUFxxxx", 10);
    put("ollama/manifests/registry.ollama.ai/library/qwen2.5/7b", MANIFEST("sha256:" DIGEST), 30);
    put("ollama/manifests/registry.ollama.ai/me/mine/latest", MANIFEST("sha256:" DIGEST), 20);
    put("ollama/manifests/hf.co/you/yours/Q4_K_M", MANIFEST("sha256:" DIGEST), 10);
    assert_int_equal(find_models(&l, &p, NULL), EW_OK);
    assert_int_equal(l.n, 3);
    assert_string_equal(l.v[0].name, "qwen2.5:7b");
    assert_string_equal(l.v[1].name, "me/mine:latest");
    assert_string_equal(l.v[2].name, "hf.co/you/yours:Q4_K_M");
    assert_string_equal(l.v[0].source, "Ollama");
    assert_int_equal(l.v[0].bytes, 8);
    assert_non_null(strstr(l.v[0].path, "/ollama/blobs/sha256-" DIGEST));
    assert_ptr_equal(find_by_name(&l, "Qwen2.5:7B"), &l.v[0]);
    assert_ptr_equal(find_by_name(&l, "me/mine"), &l.v[1]);
    assert_null(find_by_name(&l, "qwen2.5"));
    found_list_fini(&l);
}

static void test_a_manifest_cannot_point_elsewhere(void **state) {
    char a[512];
    const find_places p = {.ollama = {at(a, "evil")}};
    found_list l;

    (void)state;
    put("secret", "GGUF", 1);
    put("evil/blobs/sha256-../../secret", "GGUF", 1);
    put("evil/manifests/registry.ollama.ai/library/a/1", MANIFEST("sha256:../../secret"), 1);
    put("evil/manifests/registry.ollama.ai/library/b/1", "{\"layers\":7}", 1);
    put("evil/manifests/registry.ollama.ai/library/c/1", "not json", 1);
    put("evil/manifests/registry.ollama.ai/library/d/1", MANIFEST("sha256:" DIGEST), 1);
    put("evil/manifests/stray", MANIFEST("sha256:" DIGEST), 1);
    assert_int_equal(find_models(&l, &p, NULL), EW_OK);
    assert_int_equal(l.n, 0);
    found_list_fini(&l);
}

static void test_only_models_are_listed_newest_first(void **state) {
    char a[512];
    const find_places p = {.here = at(a, "models")};
    found_list l;

    (void)state;
    put("models/old.gguf", "GGUF", 100);
    put("models/sub/new.GGUF", "GGUFnew", 200);
    put("models/mmproj-new.gguf", "GGUF", 300);
    put("models/torn.gguf", "GG", 300);
    put("models/text.txt", "GGUF", 300);
    put("models/.hidden.gguf", "GGUF", 300);
    link_to("..", "models/loop/up");
    assert_int_equal(find_models(&l, &p, NULL), EW_OK);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.v[0].name, "new");
    assert_string_equal(l.v[1].name, "old");
    assert_ptr_equal(find_by_name(&l, "OLD.gguf"), &l.v[1]);
    found_list_fini(&l);
}

static void test_a_split_set_is_one_model(void **state) {
    char a[512];
    const find_places p = {.lm_studio = {at(a, "lm")}};
    found_list l;

    (void)state;
    put("lm/pub/repo/big-00001-of-00002.gguf", "GGUF1", 1);
    put("lm/pub/repo/big-00002-of-00002.gguf", "GGUF22", 2);
    assert_int_equal(find_models(&l, &p, NULL), EW_OK);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.v[0].name, "big");
    assert_int_equal(l.v[0].bytes, 11);
    assert_non_null(strstr(l.v[0].path, "00001-of-00002.gguf"));
    found_list_fini(&l);
}

static void test_links_of_one_file_are_listed_once(void **state) {
    char a[512];
    const find_places p = {.hugging_face = at(a, "hub")};
    found_list l;

    (void)state;
    put("hub/models--o--m/blobs/abc", "GGUF", 1);
    link_to("../../blobs/abc", "hub/models--o--m/snapshots/r1/m.gguf");
    link_to("../../blobs/abc", "hub/models--o--m/snapshots/r2/m.gguf");
    link_to("../../blobs/gone", "hub/models--o--m/snapshots/r2/broken.gguf");
    assert_int_equal(find_models(&l, &p, NULL), EW_OK);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.v[0].name, "m");
    found_list_fini(&l);
}

static void test_missing_places_are_fine(void **state) {
    const find_places p = {.here = "/nonexistent/models", .ollama = {"/nonexistent"}};
    found_list l;

    (void)state;
    assert_int_equal(find_models(&l, &p, NULL), EW_OK);
    assert_int_equal(l.n, 0);
    assert_string_equal(l.denied, "");
    found_list_fini(&l);
}

static void test_usual_places_follow_the_environment(void **state) {
    find_places p;

    (void)state;
    setenv("HOME", "/home/u", 1);
    setenv("OLLAMA_MODELS", "/big/ollama", 1);
    setenv("HF_HOME", "/big/hf", 1);
    unsetenv("HF_HUB_CACHE");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("LLAMA_CACHE");
    find_places_init(&p);
    assert_string_equal(p.ollama[0], "/big/ollama");
    assert_string_equal(p.ollama[1], "/home/u/.ollama/models");
    assert_string_equal(p.hugging_face, "/big/hf/hub");
    assert_string_equal(p.lm_studio[0], "/home/u/.lmstudio/models");
#ifndef __APPLE__
    assert_string_equal(p.llama_cpp, "/home/u/.cache/llama.cpp");
#endif
    find_places_fini(&p);
}

/* Last: each allocation in turn fails, nothing leaks and the list stays empty. */
static void test_out_of_memory_is_an_error(void **state) {
    char a[512], b[512];
    const find_places p = {.here = at(a, "models"), .ollama = {at(b, "ollama")}};
    const long live = mem_live();
    found_list l;
    ew_status rc;

    (void)state;
    for (long n = 1;; n++) {
        ew_error err = {0};

        mem_fail_at(n);
        rc = find_models(&l, &p, &err);
        mem_fail_at(0);
        if (rc == EW_OK && l.n == 5) break;
        if (rc) {
            assert_int_equal(rc, EW_ENOMEM);
            assert_int_equal(l.n, 0);
            assert_int_equal(mem_live(), live);
        }
        found_list_fini(&l);
        assert_true(n < 1000);
    }
    found_list_fini(&l);
    assert_int_equal(mem_live(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ollama_names_lead_to_their_blobs),
        cmocka_unit_test(test_a_manifest_cannot_point_elsewhere),
        cmocka_unit_test(test_only_models_are_listed_newest_first),
        cmocka_unit_test(test_a_split_set_is_one_model),
        cmocka_unit_test(test_links_of_one_file_are_listed_once),
        cmocka_unit_test(test_missing_places_are_fine),
        cmocka_unit_test(test_usual_places_follow_the_environment),
        cmocka_unit_test(test_out_of_memory_is_an_error),
    };

    return cmocka_run_group_tests_name("find", tests, make_root, remove_root);
}
