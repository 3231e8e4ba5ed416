/* SPDX-License-Identifier: MIT */
#include "text/jinja.h"

#include "base/mem.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct tm noon = {
    .tm_year = 126, .tm_mday = 15, .tm_hour = 12, .tm_wday = 4, .tm_yday = 14};

static ew_status render_with(const char *name, str text, const jinja_context *c, jinja_text *out,
                             ew_error *err) {
    jinja *t;
    ew_status rc;

    *out = (jinja_text){0};
    rc = jinja_parse(&t, text, name, err);
    if (!rc) rc = jinja_render(t, c, out, err);
    jinja_free(t);
    return rc;
}

static bool is_text(const jinja_text *got, const json_t *want) {
    return got->n == json_string_length(want) &&
           memcmp(got->text, json_string_value(want), got->n) == 0;
}

static void test_small_templates_render_as_recorded(void **state) {
    json_t *all = json_load_file("tests/golden/jinja.json", JSON_ALLOW_NUL, NULL), *e;
    jinja_context c = {.values = json_object_get(all, "context"), .now = noon};
    size_t i, n_wrong = 0;

    (void)state;
    assert_non_null(all);
    json_array_foreach(json_object_get(all, "cases"), i, e) {
        const json_t *template = json_object_get(e, "template"), *want = json_object_get(e, "text");
        const str text = {json_string_value(template), json_string_length(template)};
        ew_error err = {0};
        jinja_text got;
        const ew_status rc = render_with("case", text, &c, &got, &err);

        if (want ? rc || !is_text(&got, want) : !rc) {
            print_message("%s\n  got  %s\n  want %s\n", text.p, rc ? err.text : got.text,
                          json_string_value(want ? want : json_object_get(e, "error")));
            n_wrong++;
        }
        mem_free(got.text);
    }
    json_decref(all);
    assert_int_equal(n_wrong, 0);
}

/* Renders with a context given as JSON; the status, and the text or the error in out. */
static ew_status try_render(const char *template, const char *context, const jinja_context *limits,
                            char out[512]) {
    json_t *values = json_loads(context, 0, NULL);
    jinja_context c = limits ? *limits : (jinja_context){.now = noon};
    ew_error err = {0};
    jinja_text got;
    ew_status rc;

    assert_non_null(values);
    c.values = values;
    rc = render_with("t.jinja", str_of(template), &c, &got, &err);
    snprintf(out, 512, "%s", rc ? err.text : got.text);
    mem_free(got.text);
    mem_free(got.is_text);
    json_decref(values);
    return rc;
}

static void test_errors_name_the_template_and_the_line(void **state) {
    static const struct {
        const char *template;
        ew_status rc;
        const char *text;
    } cases[] = {
        {"a\n\n{{ raise_exception('no') }}", EW_EINVAL, "t.jinja:3: no"},
        {"a\n{{ x.y.z }}", EW_EINVAL, "t.jinja:2: 'x' is undefined"},
        {"{% if 1 %}\n{{ 'a' | pprint }}{% endif %}", EW_EUNSUPPORTED,
         "t.jinja:2: the filter 'pprint' is not known"},
        {"\n{{ 1 is prime }}", EW_EUNSUPPORTED, "t.jinja:2: the test 'prime' is not known"},
        {"\n\n{% include 'x' %}", EW_EUNSUPPORTED,
         "t.jinja:3: the statement 'include' is not supported"},
        {"{{ f(*a) }}", EW_EUNSUPPORTED, "t.jinja:1: arguments unpacked with * are not supported"},
        {"{% for x in y %}\n{{ x }", EW_EFORMAT,
         "t.jinja:2: a closing bracket that nothing opened"},
        {"{% for x in y %}\n", EW_EFORMAT,
         "t.jinja:1: expected {% endfor %}, got the end of the template"},
        {"a\n{% macro m() %}\n{{ 1 / 0 }}\n{% endmacro %}\n{{ m() }}", EW_EINVAL,
         "t.jinja:3: division by zero"},
    };
    char got[512];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(try_render(cases[i].template, "{}", NULL, got), cases[i].rc);
        assert_string_equal(got, cases[i].text);
    }
}

static void test_what_a_template_may_use_is_bounded(void **state) {
    static const struct {
        const char *template, *text;
    } cases[] = {
        {"{% for a in range(999) %}{% for b in [1] * 999 %}{% if b %}{% endif %}{% endfor %}"
         "{% endfor %}",
         "t.jinja:1: the template takes too many steps"},
        {"{{ 'abcdefgh' * 100000000000 }}", "t.jinja:1: the template takes more than 16 MiB"},
        {"{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}"
         "{% endfor %}",
         "t.jinja:1: the template takes more than 16 MiB"},
        {"{% for a in range(100000) %}{{ 'x' * 1000 }}{% endfor %}",
         "t.jinja:1: the template takes more than 16 MiB"},
        {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
         "t.jinja:1: calls or values nested too deeply"},
        {"{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}"
         "{% endfor %}{{ ns.x }}",
         "t.jinja:1: calls or values nested too deeply"},
        {"{{ range(100001) }}", "t.jinja:1: range too big: the maximum is 100000"},
        {"{{ 9223372036854775807 + 1 }}", "t.jinja:1: integers beyond 64 bits are not supported"},
        {"{{ '%d' % 1e300 }}", "t.jinja:1: integers beyond 64 bits are not supported"},
        {"{{ '%2000d' % 1 }}", "t.jinja:1: a field wider than 1000 characters"},
    };
    const jinja_context small = {.now = noon, .max_steps = 200000, .max_bytes = 16 << 20};
    char got[512];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_not_equal(try_render(cases[i].template, "{}", &small, got), EW_OK);
        assert_string_equal(got, cases[i].text);
    }
}

static void test_sorting_keys_takes_few_steps(void **state) {
    const jinja_context few = {.now = noon, .max_steps = 400000};
    char got[512];
    strbuf b;

    (void)state;
    strbuf_init(&b, 1 << 20);
    for (int i = 9999; i >= 0; i--) strbuf_printf(&b, "%s\"%04d\": 1", b.n ? ", " : "{\"d\": {", i);
    strbuf_puts(&b, "}}");
    assert_int_equal(try_render("{{ (d | tojson(sort_keys=true))[:14] }}", b.p, &few, got), EW_OK);
    assert_string_equal(got, "{\"0000\": 1, \"0");
    strbuf_fini(&b);
}

/* n times `open`, then "1", then n times `close`. */
static char *nested(const char *before, const char *open, const char *close, const char *after,
                    size_t n) {
    strbuf b;

    strbuf_init(&b, 64 << 20);
    strbuf_puts(&b, before);
    for (size_t i = 0; i < n; i++) strbuf_puts(&b, open);
    strbuf_puts(&b, "1");
    for (size_t i = 0; i < n; i++) strbuf_puts(&b, close);
    strbuf_puts(&b, after);
    return strbuf_take(&b, NULL);
}

static void test_deeply_nested_source_is_refused(void **state) {
    static const char *const forms[][4] = {
        {"{{ ", "(", ")", " }}"},
        {"{{ ", "[", "]", " }}"},
        {"{{ ", "- ", "", " }}"},
        {"{{ ", "not ", "", " }}"},
        {"{{ ", "1 if 1 else ", "", " }}"},
        {"{{ ", "", " + 1", " }}"},
        {"{{ ", "", "[0]", " }}"},
        {"{{ ", "", "|abs", " }}"},
        {"", "{% if 1 %}", "{% endif %}", ""},
        {"{{ ", "{1:", "}", " }}"},
        {"{{ ", "a(", ")", " }}"},
        {"{{ ", "", " is odd", " }}"},
    };
    char got[512];

    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char *t = nested(forms[i][0], forms[i][1], forms[i][2], forms[i][3], 20000);

        assert_non_null(t);
        assert_int_not_equal(try_render(t, "{}", NULL, got), EW_OK);
        mem_free(t);
    }
}

static void test_text_of_the_context_is_marked(void **state) {
    static const char template[] = "{% set c = messages[0].content %}"
                                   "{{ bos }}<|{{ messages[0].role }}|>{{ c | trim }}<|end|>"
                                   "{{ ('[' + c + ']')[1:4] | upper }}{{ c.split('|')[1] }}"
                                   "{{ c.replace('end', 'X') }}{{ {c: c} | tojson }}";
    static const char want[] = "<s><|user|>a <|end|><|end|> A end a <|X|> "
                               "{\" a <|end|> \": \" a <|end|> \"}";
    static const char is_text[] = "...........#########.......#########"
                                  "##.###..###########....###########..";
    json_t *values = json_loads("{\"bos\": \"<s>\", \"messages\": [{\"role\": \"user\", "
                                "\"content\": \" a <|end|> \"}]}",
                                0, NULL);
    const jinja_context c = {.values = values, .now = noon, .marks_text = true};
    ew_error err = {0};
    jinja_text got;

    (void)state;
    assert_int_equal(render_with("t", str_of(template), &c, &got, &err), EW_OK);
    assert_string_equal(got.text, want);
    for (size_t i = 0; i < got.n; i++) got.text[i] = got.is_text[i] ? '#' : '.';
    assert_string_equal(got.text, is_text);
    mem_free(got.text);
    mem_free(got.is_text);
    json_decref(values);
}

static void test_running_out_of_memory_anywhere_is_clean(void **state) {
    static const char template[] =
        "{% macro m(a, b=[1]) %}{{ a | upper }}{{ b }}{% endmacro %}{% set ns = namespace(x='') %}"
        "{% for k, v in d.items() %}{% set ns.x = ns.x ~ k ~ v %}{{ m(k) }}{% endfor %}{{ ns.x }}"
        "{{ d | tojson(indent=1) }}{{ d | dictsort }}{{ 'a,b'.split(',') | map('upper') | join }}"
        "{{ 'x' * 5000 }}{{ '%5s' % 'a' }}{{ '{:>5}'.format(1) }}{{ d.values() | list | sort }}";
    json_t *values = json_loads("{\"d\": {\"a\": 1, \"b\": 2}, \"messages\": [\"x\"]}", 0, NULL);
    const jinja_context c = {.values = values, .now = noon, .marks_text = true};
    const long live = mem_live();
    jinja_text got;
    ew_status rc;
    long n = 0;

    (void)state;
    do {
        mem_fail_at(++n);
        rc = render_with("t", str_of(template), &c, &got, NULL);
        mem_fail_at(0);
        if (rc) {
            assert_int_equal(rc, EW_ENOMEM);
            assert_null(got.text);
        }
        mem_free(got.text);
        mem_free(got.is_text);
        assert_int_equal(mem_live(), live);
    } while (rc);
    assert_true(n > 5);
    json_decref(values);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_templates_render_as_recorded),
        cmocka_unit_test(test_errors_name_the_template_and_the_line),
        cmocka_unit_test(test_what_a_template_may_use_is_bounded),
        cmocka_unit_test(test_sorting_keys_takes_few_steps),
        cmocka_unit_test(test_deeply_nested_source_is_refused),
        cmocka_unit_test(test_text_of_the_context_is_marked),
        cmocka_unit_test(test_running_out_of_memory_anywhere_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
