/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/term.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct {
    bool is_loud;
    int64_t count;
    double heat;
    const char *name;
    uint64_t room;
    text_list stops;
    int_list sizes;
} args;

#define AT(member) offsetof(args, member)

static const option table[] = {
    {"--loud", NULL, "be loud", OPT_FLAG, AT(is_loud), 0, 0, NULL},
    {"-c --count --num-count", "N", "how many", OPT_INT, AT(count), -1, 10, NULL},
    {"--heat", "T", "how hot", OPT_REAL, AT(heat), 0, 2, NULL},
    {"--name", "TEXT", "who", OPT_TEXT, AT(name), 0, 0, NULL},
    {"--room", "SIZE", "how much", OPT_BYTES, AT(room), 0, 0, NULL},
    {"--stop", "TEXT", "where", OPT_LIST, AT(stops), 0, 0, NULL},
    {"-s --sizes", "N,...", "which", OPT_INTS, AT(sizes), 0, 100, NULL},
};

/* Parses words; messages go where nobody reads them. The arguments left stay in argv. */
static bool parse(args *a, int *argc, char **argv, int *status) {
    const option_group g = {"All", table, sizeof table / sizeof table[0], a};
    const usage u = {"test", "[ARG...]", "Tests.", NULL, &g, 1, 0, 2};
    FILE *quiet = tmpfile();
    const int out = dup(1), err = dup(2);
    bool ok;

    fflush(stdout);
    dup2(fileno(quiet), 1);
    dup2(fileno(quiet), 2);
    ok = options_parse(&u, argc, argv, status);
    fflush(stdout);
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    fclose(quiet);
    return ok;
}

static void test_values_of_every_kind(void **state) {
    char w[][16] = {"test",   "--loud", "-c",     "-1",     "x",      "--heat=1.5",
                    "--name", "--loud", "--room", "1.5k",   "--stop", "a",
                    "--stop", "",       "-s",     "0,5,100"};
    char *argv[17];
    int argc = 16, status = -1;
    args a = {0};

    (void)state;
    for (int i = 0; i < argc; i++) argv[i] = w[i];
    argv[argc] = NULL;
    assert_true(parse(&a, &argc, argv, &status));
    assert_int_equal(argc, 1);
    assert_string_equal(argv[0], "x");
    assert_null(argv[1]);
    assert_true(a.is_loud);
    assert_int_equal(a.count, -1);
    assert_true(a.heat == 1.5);
    assert_string_equal(a.name, "--loud");
    assert_int_equal(a.room, 1536);
    assert_int_equal(a.stops.n, 2);
    assert_string_equal(a.stops.v[1], "");
    assert_int_equal(a.sizes.n, 3);
    assert_int_equal(a.sizes.v[2], 100);
    text_list_fini(&a.stops);
}

static void expect_usage_error(const char *one, const char *two) {
    char a0[] = "test", a1[64], a2[64];
    char *argv[] = {a0, a1, two ? a2 : NULL, NULL};
    int argc = two ? 3 : 2, status = -1;
    args a = {0};

    snprintf(a1, sizeof a1, "%s", one);
    snprintf(a2, sizeof a2, "%s", two ? two : "");
    assert_false(parse(&a, &argc, argv, &status));
    assert_int_equal(status, EXIT_USAGE);
}

static void test_wrong_use_is_refused(void **state) {
    (void)state;
    expect_usage_error("--cuont", "1");
    expect_usage_error("-c", NULL);
    expect_usage_error("-c", "11");
    expect_usage_error("-c", "-2");
    expect_usage_error("-c", "1x");
    expect_usage_error("-c", "");
    expect_usage_error("-c", "99999999999999999999");
    expect_usage_error("--heat", "nan");
    expect_usage_error("--heat", "inf");
    expect_usage_error("--heat", "2.1");
    expect_usage_error("--loud=1", NULL);
    expect_usage_error("--room", "-1");
    expect_usage_error("--room", "1X");
    expect_usage_error("--room", "99999999T");
    expect_usage_error("--sizes", "1,,2");
    expect_usage_error("--sizes", "1,101");
    expect_usage_error("--sizes", "");
    expect_usage_error("--averyveryveryveryveryveryveryverylongoption", "1");
}

static void test_two_dashes_end_the_options(void **state) {
    char w[4][8] = {"test", "--", "--loud", "-"};
    char *argv[] = {w[0], w[1], w[2], w[3], NULL};
    int argc = 4, status = -1;
    args a = {0};

    (void)state;
    assert_true(parse(&a, &argc, argv, &status));
    assert_int_equal(argc, 2);
    assert_string_equal(argv[0], "--loud");
    assert_string_equal(argv[1], "-");
    assert_false(a.is_loud);
}

static void test_too_many_arguments(void **state) {
    char w[4][8] = {"test", "a", "b", "c"};
    char *argv[] = {w[0], w[1], w[2], w[3], NULL};
    int argc = 4, status = -1;
    args a = {0};

    (void)state;
    assert_false(parse(&a, &argc, argv, &status));
    assert_int_equal(status, EXIT_USAGE);
}

static void test_help_ends_with_success(void **state) {
    char w[2][8] = {"test", "--help"};
    char *argv[] = {w[0], w[1], NULL};
    int argc = 2, status = -1;
    args a = {0};

    (void)state;
    assert_false(parse(&a, &argc, argv, &status));
    assert_int_equal(status, EXIT_OK);
}

static const char *near_of(const char *word) {
    static const char *const names[] = {"--temp", "--top-k", "--repeat-penalty", "bench", "run"};
    nearest f;

    nearest_start(&f, word);
    for (size_t i = 0; i < 5; i++) nearest_offer(&f, names[i], strlen(names[i]));
    return f.name ? f.name : "";
}

static void test_nearest_name(void **state) {
    (void)state;
    assert_string_equal(near_of("--tepm"), "--temp");
    assert_string_equal(near_of("--repeat"), "--repeat-penalty");
    assert_string_equal(near_of("--topk"), "--top-k");
    assert_string_equal(near_of("rnu"), "run");
    assert_string_equal(near_of("bnech"), "bench");
    assert_string_equal(near_of("perplexity"), "");
    assert_string_equal(near_of("x"), "");
}

static void test_parameters_by_plain_name(void **state) {
    args a = {.is_loud = true};
    const option_group g = {"All", table, sizeof table / sizeof table[0], &a};
    ew_error err = {0};

    (void)state;
    assert_true(options_have(&g, "num_count"));
    assert_false(options_have(&g, "c"));
    assert_true(options_set(&g, "num_count", "7", &err));
    assert_int_equal(a.count, 7);
    assert_true(options_set(&g, "loud", "false", &err));
    assert_false(a.is_loud);
    assert_false(options_set(&g, "heat", "9", &err));
    assert_string_equal(err.text, "heat: '9': expected at most 2");
    assert_false(options_set(&g, "nothing", "9", &err));
    assert_string_equal(err.text, "unknown parameter 'nothing'");
}

static void test_times_in_words(void **state) {
    char b[24];

    (void)state;
    assert_string_equal(time_text(b, 1500), "1.5 ms");
    assert_string_equal(time_text(b, 1500000), "1.50 s");
}

static void test_json_text_is_always_valid(void **state) {
    strbuf b;

    (void)state;
    strbuf_init(&b, 1000);
    json_add(&b, "a\"\\\n\x01\x7F\xC3\xA9\xFF\0z", 11);
    assert_string_equal(b.p, "\"a\\\"\\\\\\n\\u0001\\u007f\xC3\xA9\\ufffd\\u0000z\"");
    strbuf_fini(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_every_kind),
        cmocka_unit_test(test_wrong_use_is_refused),
        cmocka_unit_test(test_two_dashes_end_the_options),
        cmocka_unit_test(test_too_many_arguments),
        cmocka_unit_test(test_help_ends_with_success),
        cmocka_unit_test(test_nearest_name),
        cmocka_unit_test(test_parameters_by_plain_name),
        cmocka_unit_test(test_times_in_words),
        cmocka_unit_test(test_json_text_is_always_valid),
    };

    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
