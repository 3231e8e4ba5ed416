/* SPDX-License-Identifier: MIT
 *
 * Real chat templates with recorded results: byte-equal text, or an error where the reference has
 * one. Needs the shared data. */
#include "base/file.h"
#include "base/mem.h"
#include "tests/support/shared.h"
#include "text/jinja.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER "data/chat-templates"

static json_t *load(const char *rel) {
    const char *path = shared_path(rel);
    json_t *v;

    if (!path) return NULL;
    v = json_load_file(path, JSON_ALLOW_NUL, NULL);
    assert_non_null(v);
    return v;
}

/* One conversation; true: as recorded. Marks must not change the text. */
static bool is_as_recorded(const jinja *t, const char *what, const json_t *context,
                           const json_t *expected) {
    jinja_context c = {
        .values = context,
        .now = {.tm_year = 126, .tm_mday = 15, .tm_hour = 12, .tm_wday = 4, .tm_yday = 14}};
    const json_t *text = json_object_get(expected, "text");
    jinja_text got = {0};
    ew_error err = {0};
    ew_status rc = EW_OK;
    bool same = true;

    for (int marks = 0; marks < 2 && same; marks++) {
        c.marks_text = marks;
        rc = jinja_render(t, &c, &got, &err);
        same = text ? !rc && got.n == json_string_length(text) &&
                          memcmp(got.text, json_string_value(text), got.n) == 0
                    : rc == EW_EINVAL || rc == EW_EUNSUPPORTED;
        if (!same)
            print_message("%s: %s\n--- got\n%s\n--- expected\n%s\n", what,
                          rc ? err.text : "differs", got.text ? got.text : "(an error)",
                          text ? json_string_value(text)
                               : json_string_value(json_object_get(expected, "error")));
        mem_free(got.text);
        mem_free(got.is_text);
    }
    return same;
}

static const json_t *context_of(const json_t *conversations, const char *name) {
    size_t i;
    json_t *c;

    json_array_foreach(conversations, i,
                       c) if (strcmp(json_string_value(json_object_get(c, "name")), name) ==
                              0) return json_object_get(c, "context");
    return NULL;
}

/* How many conversations of one template differ. */
static size_t check(const char *name, str text, json_t *expected, const json_t *conversations,
                    size_t *n) {
    size_t n_wrong = 0;
    const char *conversation;
    ew_error err = {0};
    json_t *e;
    jinja *t;

    if (jinja_parse(&t, text, name, &err)) {
        print_message("%s\n", err.text);
        return 1;
    }
    json_object_foreach(expected, conversation, e) {
        const json_t *context = context_of(conversations, conversation);
        char what[256];

        assert_non_null(context);
        snprintf(what, sizeof what, "%s, %s", name, conversation);
        n_wrong += !is_as_recorded(t, what, context, e);
        ++*n;
    }
    jinja_free(t);
    return n_wrong;
}

static void test_templates_of_models_render_as_recorded(void **state) {
    json_t *conversations = load(FOLDER "/conversations.json"), *index, *e;
    size_t i, n = 0, n_wrong = 0;

    (void)state;
    if (!conversations) skip();
    index = load(FOLDER "/index.json");
    json_array_foreach(index, i, e) {
        const char *file = json_string_value(json_object_get(e, "file"));
        char rel[256], *text;
        json_t *expected;
        size_t size;

        snprintf(rel, sizeof rel, FOLDER "/templates/%s", file);
        assert_int_equal(file_read(&text, &size, shared_path(rel), 1 << 20, NULL), EW_OK);
        snprintf(rel, sizeof rel, FOLDER "/expected/%.*s.json", (int)strlen(file) - 6, file);
        expected = load(rel);
        assert_non_null(expected);
        n_wrong += check(file, (str){text, size}, expected, conversations, &n);
        json_decref(expected);
        mem_free(text);
    }
    json_decref(index);
    json_decref(conversations);
    assert_int_equal(n_wrong, 0);
    assert_true(n >= 444);
}

static void test_short_templates_render_as_recorded(void **state) {
    json_t *conversations = load(FOLDER "/conversations.json"), *templates, *t;
    size_t i, n = 0, n_wrong = 0;

    (void)state;
    if (!conversations) skip();
    templates = load(FOLDER "/short-jinja.json");
    json_array_foreach(templates, i, t) n_wrong +=
        check(json_string_value(json_object_get(t, "name")),
              str_of(json_string_value(json_object_get(t, "template"))),
              json_object_get(t, "expected"), conversations, &n);
    json_decref(templates);
    json_decref(conversations);
    assert_int_equal(n_wrong, 0);
    assert_true(n >= 190);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_templates_of_models_render_as_recorded),
        cmocka_unit_test(test_short_templates_render_as_recorded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
