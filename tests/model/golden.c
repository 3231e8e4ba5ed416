/* SPDX-License-Identifier: MIT
 *
 * Models with random weights against what llama.cpp computed for them: every weight type, and the
 * shapes that trained test models don't have. tests/golden/models lists them; bench/mkmodel makes
 * each here as it did when tests/golden/record.sh recorded NAME.json. In float against the
 * reference with weights expanded to F32, then the fast path against the reference's own. Bounds:
 * tests/support/oracle.h. */
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/support/made.h"
#include "tests/support/oracle.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Small pages and chunks that divide nothing, so that prompts and answers cross their borders. */
static const struct { uint32_t chunk, page; } shapes[] = {{512, 64}, {7, 4}, {33, 64}, {512, 4}};

/* The file must be the one that was recorded. */
static void check_bytes(const char *name, const char *path, const json_t *golden) {
    const char *want = json_string_value(json_object_get(golden, "fnv1a"));
    char got[32], *bytes;
    size_t n;
    ew_error err = {0};

    must(file_read(&bytes, &n, path, 64 << 20, &err), &err);
    snprintf(got, sizeof got, "%016" PRIx64, str_hash((str){bytes, n}));
    mem_free(bytes);
    if (!want || strcmp(want, got) != 0)
        fail_msg("%s: mkmodel makes another file than was recorded (%s, not %s): if that is meant, "
                 "run tests/golden/record.sh",
                 name, got, want ? want : "none");
}

/* rows: compared with the reference's rounded results, else with its float ones. */
static void check_runs(const char *name, const char *path, const json_t *golden, bool rows,
                       size_t shape) {
    const json_t *exact = json_object_get(golden, "float");
    const json_t *runs = rows ? json_object_get(golden, "rows") : exact;
    ew_engine *e = made_engine(2);
    ew_model *m = made_open(e, path, !rows);
    ew_session *s = made_session(m, 512, shapes[shape].chunk, shapes[shape].page, EW_KV_F32);
    oracle_noise noise = oracle_formula(m, !rows);
    oracle_score stepped = {0}, generated = {0};

    assert_true(json_array_size(runs) > 0);
    if (rows && !oracle_is_float(m)) noise = oracle_measured(runs, exact, &noise);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        oracle_run run;

        oracle_read(&run, json_array_get(runs, i));
        oracle_compare(s, m, &run, &noise, &stepped);
        oracle_generate(s, m, &run, &noise, &generated);
    }
    oracle_conclude(name, rows ? "fast" : "float", &stepped, &generated);
    ew_session_free(s);
    ew_model_close(m);
    ew_engine_free(e);
}

static void check_model(const char *name, const char *args, size_t shape) {
    const char *path = made_model(args);
    char file[128];
    json_error_t err;
    json_t *golden;

    snprintf(file, sizeof file, "tests/golden/%s.json", name);
    golden = json_load_file(file, 0, &err);
    if (!golden) fail_msg("%s: %s", file, err.text);
    assert_string_equal(json_string_value(json_object_get(golden, "make")), args);
    check_bytes(name, path, golden);
    check_runs(name, path, golden, false, shape);
    check_runs(name, path, golden, true, shape);
    json_decref(golden);
}

static void test_random_models_agree_with_the_reference(void **state) {
    char line[512], name[64], prompts[64];
    FILE *f = fopen("tests/golden/models", "r");
    size_t n = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        int args_at = 0;

        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || sscanf(line, "%63s %63s %n", name, prompts, &args_at) != 2) continue;
        check_model(name, line + args_at, n++ % (sizeof shapes / sizeof *shapes));
    }
    fclose(f);
    assert_true(n > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_models_agree_with_the_reference),
    };

    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
