/* SPDX-License-Identifier: MIT
 *
 * JSON Schema: values that follow and values that don't (tests/golden/schema-cases.json), what is
 * refused and where, and what comes out when a model insists on blanks, quotes, braces or digits.
 * tests/golden/schema.json has those texts as an independent validator accepted them;
 * `schema print` writes them (schema-record.sh). */
#include "tests/support/gram.h"

#include "run/random.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum {
    TOKENS_MAX = 4000, /* no text may take more */
    TOKENS_CALM = 60   /* from here on what closes is preferred */
};

static json_t *read_golden(const char *path) {
    json_error_t err;
    json_t *j = json_load_file(path, 0, &err);

    if (!j) fail_msg("%s: %s", path, err.text);
    return j;
}

static grammar *grammar_of(const json_t *test) {
    char *text = json_dumps(json_object_get(test, "schema"), JSON_ENCODE_ANY);
    grammar *g = gram_schema(text);

    free(text);
    return g;
}

static int tear_down(void **state) {
    (void)state;
    gram_fini();
    return mem_live() == 0 ? 0 : -1;
}

/* ---- values --------------------------------------------------------------------------------- */

static void check_list(const json_t *test, const grammar *g, const char *which, bool is_yes) {
    json_t *text;
    size_t i;

    json_array_foreach(json_object_get(test, which), i, text) {
        const gram_verdict v = gram_holds(g, json_string_value(text), json_string_length(text));

        if ((v == GRAM_YES) != is_yes)
            fail_msg("%s: %s is %d", json_string_value(json_object_get(test, "name")),
                     json_string_value(text), v);
    }
}

static void test_values_that_follow_and_that_do_not(void **state) {
    json_t *all = read_golden("tests/golden/schema-cases.json"), *test;
    size_t i;

    (void)state;
    json_array_foreach(all, i, test) {
        grammar *g = grammar_of(test);

        check_list(test, g, "yes", true);
        check_list(test, g, "no", false);
        grammar_free(g);
    }
    assert_true(i > 50);
    json_decref(all);
}

/* A number with up to this many digits behind the point, from -limit to limit, as text. */
static void random_number(rng *r, int digits, double limit, char out[32]) {
    snprintf(out, 32, "%.*f", (int)(rng_unit(r) * (digits + 1)), limit * (2 * rng_unit(r) - 1));
    if (out[0] == '-' && strtod(out, NULL) == 0) memmove(out, out + 1, strlen(out)); /* no -0 */
}

/* Limits and numbers at random, near each other: the grammar says what arithmetic says. */
static void test_limits_of_numbers_agree_with_arithmetic(void **state) {
    static const double sizes[] = {3, 40, 1200, 100000};
    rng r;

    (void)state;
    rng_seed(&r, 11);
    for (int i = 0; i < 1500; i++) {
        const double size = sizes[i % 4];
        const bool is_integer = i / 4 % 2, strict[2] = {rng_unit(&r) < 0.5, rng_unit(&r) < 0.5};
        char lo[32], hi[32], schema[256];
        grammar *g;

        random_number(&r, is_integer ? 0 : 3, size, lo);
        random_number(&r, is_integer ? 0 : 3, size, hi);
        if (strtod(lo, NULL) > strtod(hi, NULL)) continue;
        snprintf(schema, sizeof schema, "{\"type\":\"%s\",\"%s\":%s,\"%s\":%s}",
                 is_integer ? "integer" : "number", strict[0] ? "exclusiveMinimum" : "minimum", lo,
                 strict[1] ? "exclusiveMaximum" : "maximum", hi);
        if (grammar_from_schema(&g, str_of(schema), NULL)) continue; /* nothing between them */
        for (int k = 0; k < 40; k++) {
            char text[32];
            double x;
            bool want;

            random_number(&r, is_integer ? 0 : 4, size, text);
            if (k < 2) snprintf(text, sizeof text, "%s", k ? hi : lo);
            x = strtod(text, NULL);
            want = (strict[0] ? x > strtod(lo, NULL) : x >= strtod(lo, NULL)) &&
                   (strict[1] ? x < strtod(hi, NULL) : x <= strtod(hi, NULL));
            if ((gram_holds(g, text, strlen(text)) == GRAM_YES) != want)
                fail_msg("%s: %s", schema, text);
        }
        grammar_free(g);
    }
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void test_what_is_not_supported_is_refused_by_name_and_place(void **state) {
    static const struct {
        const char *schema, *error;
        ew_status rc;
    } cases[] = {
        {"{", "line 1", EW_EFORMAT},
        {"3", "must be an object, true or false", EW_EFORMAT},
        {"{\"type\":\"int\"}", "#/type: there is no such type", EW_EFORMAT},
        {"{\"properties\":{\"a\":{\"type\":[\"null\",\"x\"]}}}", "#/properties/a/type", EW_EFORMAT},
        {"{\"properties\":{\"a\":{\"multipleOf\":3}}}", "#/properties/a/multipleOf",
         EW_EUNSUPPORTED},
        {"{\"items\":{\"not\":{}}}", "#/items/not: this keyword is not supported", EW_EUNSUPPORTED},
        {"{\"if\":{}}", "#/if", EW_EUNSUPPORTED},
        {"{\"uniqueItems\":true}", "#/uniqueItems", EW_EUNSUPPORTED},
        {"{\"contains\":{}}", "#/contains", EW_EUNSUPPORTED},
        {"{\"patternProperties\":{}}", "#/patternProperties", EW_EUNSUPPORTED},
        {"{\"propertyNames\":{}}", "#/propertyNames", EW_EUNSUPPORTED},
        {"{\"dependentRequired\":{}}", "#/dependentRequired", EW_EUNSUPPORTED},
        {"{\"$dynamicRef\":\"#x\"}", "#/$dynamicRef", EW_EUNSUPPORTED},
        {"{\"minimun\":3}", "#/minimun", EW_EUNSUPPORTED},
        {"{\"type\":\"string\",\"format\":\"regex\"}", "#/format: this format", EW_EUNSUPPORTED},
        {"{\"type\":\"integer\",\"format\":\"word\"}", "#/format: this format", EW_EUNSUPPORTED},
        {"{\"pattern\":\"(?=a)\"}", "looking ahead", EW_EUNSUPPORTED},
        {"{\"pattern\":\"(a)\\\\1\"}", "references back", EW_EUNSUPPORTED},
        {"{\"pattern\":\"\\\\bword\"}", "borders of words", EW_EUNSUPPORTED},
        {"{\"pattern\":\"\\\\p{L}\"}", "character properties", EW_EUNSUPPORTED},
        {"{\"pattern\":\"(^a|b)\"}", "an anchor is only supported", EW_EUNSUPPORTED},
        {"{\"pattern\":\"(a\"}", "a group is not closed", EW_EUNSUPPORTED},
        {"{\"pattern\":\"a)\"}", "no group is open", EW_EUNSUPPORTED},
        {"{\"pattern\":\"[b-a]\"}", "makes no sense", EW_EUNSUPPORTED},
        {"{\"pattern\":\"^a+$\",\"maxLength\":3}", "#/pattern: together with minLength",
         EW_EUNSUPPORTED},
        {"{\"pattern\":\"^a$\",\"format\":\"date\"}", "together with format", EW_EUNSUPPORTED},
        {"{\"$ref\":\"other.json\"}", "#/$ref: only references into", EW_EUNSUPPORTED},
        {"{\"$ref\":\"#/$defs/no\"}", "#/$ref: there is no schema", EW_EFORMAT},
        {"{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}", "refers to itself", EW_EFORMAT},
        {"{\"$ref\":\"#\"}", "refers to itself", EW_EFORMAT},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}", "#/oneOf: two branches",
         EW_EUNSUPPORTED},
        {"{\"oneOf\":[{\"type\":\"object\"},{\"required\":[\"a\"]}]}", "#/oneOf: two branches",
         EW_EUNSUPPORTED},
        {"{\"anyOf\":[]}", "#/anyOf: not a list", EW_EFORMAT},
        {"{\"allOf\":3}", "#/allOf: not a list", EW_EFORMAT},
        {"{\"minLength\":-1}", "#/minLength: not a count", EW_EFORMAT},
        {"{\"minItems\":1.5}", "#/minItems: not a count", EW_EFORMAT},
        {"{\"minProperties\":1}", "#/minProperties", EW_EUNSUPPORTED},
        {"{\"properties\":[]}", "#/properties: not an object", EW_EFORMAT},
        {"{\"required\":[1]}", "#/required: not a list", EW_EFORMAT},
        {"{\"minimum\":1e300}", "#/minimum: too large", EW_EUNSUPPORTED},
        {"{\"minimum\":\"1\"}", "#/minimum: not a number", EW_EFORMAT},
        {"{\"type\":\"number\",\"minimum\":1e-20}", "more than 15 digits", EW_EUNSUPPORTED},
        {"{\"enum\":[\"a\"],\"pattern\":\"a\"}", "together with enum or const", EW_EUNSUPPORTED},
        {"{\"type\":\"string\",\"const\":3}", "no text follows it", EW_EFORMAT},
        {"false", "no text follows it", EW_EFORMAT},
        {"{\"required\":[\"a\"],\"additionalProperties\":false}", "no text follows it", EW_EFORMAT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ew_error err = {EW_OK, ""};
        grammar *g;
        const ew_status rc = grammar_from_schema(&g, str_of(cases[i].schema), &err);

        if (rc != cases[i].rc || !strstr(err.text, cases[i].error))
            fail_msg("%s\ngave %s: \"%s\"", cases[i].schema, ew_status_name(rc), err.text);
    }
}

/* ---- models that insist --------------------------------------------------------------------- */

static const struct {
    const char *name, *likes; /* bytes; a token is liked when all of its bytes are */
} models[] = {
    {"blanks", " \n\t"},
    {"quotes", "\"\\u"},
    {"braces", "{[:,"},
    {"digits", "0123456789.e-+"},
    {"bytes", "\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\x80"},
    {"nothing", ""},
};

static bool is_made_of(str text, const char *bytes) {
    for (size_t i = 0; i < text.n; i++)
        if (!strchr(bytes, text.p[i])) return false;
    return text.n > 0;
}

/* One of the allowed tokens that are made of these bytes (NULL: any); -1: there is none. */
static int32_t pick(const uint64_t *bits, const char *bytes, rng *r) {
    const trie_vocab *v = &gram_trie()->v;
    int32_t chosen = -1;
    uint64_t n = 0;

    for (int32_t id = 0; id < v->n; id++) {
        if (!token_in(bits, id) || (bytes && !is_made_of(v->bytes(v->ctx, id), bytes))) continue;
        if (rng_unit(r) * (double)++n < 1) chosen = id;
    }
    return chosen;
}

/* Four tokens in five are what the model likes, if any such is allowed; always: all of them. After
 * a while it comes to its end. */
static int32_t choose(const uint64_t *bits, const char *likes, bool always, size_t n, rng *r) {
    int32_t id = -1;

    if (always) {
        id = pick(bits, likes, r);
    } else if (rng_unit(r) < 0.8) {
        if (n > TOKENS_CALM && token_in(bits, GRAM_EOG)) return GRAM_EOG;
        id = pick(bits, n > TOKENS_CALM ? "]}\"" : likes, r);
    }
    return id >= 0 ? id : pick(bits, NULL, r);
}

/* The text such a model writes. */
static void write_text(const grammar *g, const char *likes, bool always, uint64_t seed,
                       strbuf *out) {
    matcher *m = gram_matcher(g);
    size_t n = 0;
    rng r;

    rng_seed(&r, seed);
    for (; !matcher_is_complete(m); n++) {
        const uint64_t *bits = matcher_mask(m);
        const int32_t id = bits ? choose(bits, likes, always, n, &r) : -1;

        if (id < 0) fail_msg("dead end after %.*s", (int)out->n, out->p);
        if (n == TOKENS_MAX) fail_msg("no end: %.200s", out->p);
        if (id == GRAM_EOG) break;
        strbuf_str(out, gram_trie()->v.bytes(NULL, id));
        assert_true(matcher_accept(m, id));
    }
    matcher_free(m);
}

static json_t *texts_of(const json_t *test, size_t model) {
    grammar *g = grammar_of(test);
    json_t *list = json_array();

    for (uint64_t seed = 1; seed <= 2; seed++) {
        strbuf b;

        strbuf_init(&b, 1 << 20);
        write_text(g, models[model].likes, false, seed, &b);
        assert_int_equal(json_array_append_new(list, json_stringn(b.p, b.n)), 0);
        strbuf_fini(&b);
    }
    grammar_free(g);
    return list;
}

static json_t *all_texts(const json_t *tests) {
    json_t *out = json_object(), *test;
    size_t i;

    json_array_foreach(tests, i, test) {
        json_t *by_model = json_object();

        for (size_t k = 0; k < sizeof models / sizeof *models; k++)
            json_object_set_new(by_model, models[k].name, texts_of(test, k));
        json_object_set_new(out, json_string_value(json_object_get(test, "name")), by_model);
    }
    return out;
}

static void test_what_models_write_is_what_the_validator_accepted(void **state) {
    json_t *tests = read_golden("tests/golden/schema-cases.json");
    json_t *want = read_golden("tests/golden/schema.json"), *got = all_texts(tests);
    const char *name;
    json_t *by_model;

    (void)state;
    json_object_foreach(got, name, by_model) {
        if (!json_equal(by_model, json_object_get(want, name)))
            fail_msg("%s: other texts than recorded (schema-record.sh validates new ones)", name);
    }
    json_decref(tests);
    json_decref(want);
    json_decref(got);
}

/* Where the schema bounds strings and lists, even a model that writes nothing else can't go on for
 * ever with what it likes. */
static void test_no_model_spins(void **state) {
    static const char *const schemas[] = {
        "{\"type\":\"integer\"}",
        "{\"type\":\"number\"}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\",\"minimum\":0},\"b\":"
        "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"maxItems\":5}},"
        "\"required\":[\"a\",\"b\"]}",
        "{\"type\":\"string\",\"format\":\"uri\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        grammar *g = gram_schema(schemas[i]);

        for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
            strbuf b;

            strbuf_init(&b, 1 << 20);
            write_text(g, models[k].likes, true, 3, &b);
            assert_true(b.n < 2000);
            strbuf_fini(&b);
        }
        grammar_free(g);
    }
}

/* Nesting that would never end is ended in time. */
static void test_endless_nesting_is_closed(void **state) {
    grammar *g = gram_schema("{}");
    matcher *m = gram_matcher(g);
    size_t n = 0;

    (void)state;
    while (!matcher_is_complete(m)) {
        const char *c = "[0]";

        while (*c && !matcher_feed(m, (str){c, 1})) c++;
        assert_true(*c && n++ < 10000);
    }
    assert_in_range(n, 100, 2000);
    matcher_free(m);
    grammar_free(g);
}

static void test_no_failed_allocation_leaks(void **state) {
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"pattern\":\"^[a-c]+$\"},\"b\":{\"oneOf\":"
        "[{\"type\":\"integer\",\"minimum\":3},{\"enum\":[\"x\"]}]}},\"additionalProperties\":true}";
    const long live = mem_live();

    (void)state;
    for (long n = 1;; n++) {
        grammar *g;
        ew_status rc;

        mem_fail_at(n);
        rc = grammar_from_schema(&g, str_of(schema), NULL);
        mem_fail_at(0);
        if (rc == EW_OK) grammar_free(g);
        assert_int_equal(mem_live(), live);
        if (rc == EW_OK) break;
        assert_int_equal(rc, EW_ENOMEM);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_that_follow_and_that_do_not),
        cmocka_unit_test(test_limits_of_numbers_agree_with_arithmetic),
        cmocka_unit_test(test_what_is_not_supported_is_refused_by_name_and_place),
        cmocka_unit_test(test_what_models_write_is_what_the_validator_accepted),
        cmocka_unit_test(test_no_model_spins),
        cmocka_unit_test(test_endless_nesting_is_closed),
        cmocka_unit_test(test_no_failed_allocation_leaks),
    };

    if (argc > 1 && !strcmp(argv[1], "print"))
        return json_dumpf(all_texts(read_golden("tests/golden/schema-cases.json")), stdout,
                          JSON_INDENT(1));
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
