/* SPDX-License-Identifier: MIT
 *
 * Tests: what stands after `is`. */
#include "text/jinja_chars.h"
#include "text/jinja_run.h"

#include <utf8proc.h>

#define TEST(name) static jvalue name(jrun *r, jvalue v, const jargs *a)
#define UNUSED     (void)r, (void)v, (void)a

TEST(is_defined) {
    UNUSED;
    return jbool(v.kind != JV_UNDEF);
}
TEST(is_undefined) {
    UNUSED;
    return jbool(v.kind == JV_UNDEF);
}
TEST(is_none) {
    UNUSED;
    return jbool(v.kind == JV_NONE);
}
TEST(is_boolean) {
    UNUSED;
    return jbool(v.kind == JV_BOOL);
}
TEST(is_true) {
    UNUSED;
    return jbool(v.kind == JV_BOOL && v.u.b);
}
TEST(is_false) {
    UNUSED;
    return jbool(v.kind == JV_BOOL && !v.u.b);
}
TEST(is_integer) {
    UNUSED;
    return jbool(v.kind == JV_INT);
}
TEST(is_float) {
    UNUSED;
    return jbool(v.kind == JV_FLOAT);
}
TEST(is_number) {
    UNUSED;
    return jbool(jis_number(v));
}
TEST(is_string) {
    UNUSED;
    return jbool(v.kind == JV_STR);
}
TEST(is_mapping) {
    UNUSED;
    return jbool(v.kind == JV_DICT);
}
/* What has a length and can be indexed. */
TEST(is_sequence) {
    UNUSED;
    return jbool(v.kind == JV_STR || v.kind == JV_DICT || v.kind == JV_UNDEF ||
                 (v.kind == JV_LIST && v.u.list->kind <= SEQ_RANGE));
}
TEST(is_iterable) {
    UNUSED;
    return jbool(v.kind == JV_STR || v.kind == JV_DICT || v.kind == JV_UNDEF || v.kind == JV_LIST ||
                 v.kind == JV_LOOP);
}
TEST(is_callable) {
    UNUSED;
    return jbool(v.kind == JV_MACRO || v.kind == JV_BUILTIN || v.kind == JV_UNDEF ||
                 v.kind == JV_LOOP);
}
TEST(is_escaped) {
    UNUSED;
    return jbool(v.kind == JV_STR && v.u.s->is_safe);
}

static jvalue remainder_is(jrun *r, jvalue v, jvalue by, int64_t want) {
    const jvalue rest = jbinary(r, '%', v, by);

    return jbool(!r->rc && jequal(r, rest, jint(want)));
}
TEST(is_even) {
    UNUSED;
    return remainder_is(r, v, jint(2), 0);
}
TEST(is_odd) {
    UNUSED;
    return remainder_is(r, v, jint(2), 1);
}
TEST(is_divisible) {
    UNUSED;
    return remainder_is(r, v, a->v[0], 0);
}

/* All letters that have a case are of this one, and there is such a letter. */
static jvalue has_case(jrun *r, jvalue v, bool upper) {
    const jvalue text = jtext(r, v);
    bool any = false;
    str s;

    if (r->rc) return jnone();
    s = text.u.s->s;
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;

        i += jchar_at(s.p + i, s.n - i, &cp);
        switch (utf8proc_category((utf8proc_int32_t)cp)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LT:
            if (!upper) return jbool(false);
            any = true;
            break;
        case UTF8PROC_CATEGORY_LL:
            if (upper) return jbool(false);
            any = true;
            break;
        default:
            break;
        }
    }
    return jbool(any);
}
TEST(is_lower) {
    UNUSED;
    return has_case(r, v, false);
}
TEST(is_upper) {
    UNUSED;
    return has_case(r, v, true);
}

TEST(is_sameas) {
    const jvalue b = a->v[0];

    if (v.kind != b.kind) return jbool(false);
    if (v.kind == JV_STR) return jbool(v.u.s == b.u.s || str_eq(v.u.s->s, b.u.s->s));
    if (v.kind == JV_LIST || v.kind == JV_DICT) return jbool(v.u.list == b.u.list);
    return jbool(jequal(r, v, b));
}
TEST(is_in) {
    return jbool(jcontains(r, a->v[0], v));
}
TEST(is_eq) {
    return jbool(jcompare(r, OP_EQ, v, a->v[0]));
}
TEST(is_ne) {
    return jbool(jcompare(r, OP_NE, v, a->v[0]));
}
TEST(is_lt) {
    return jbool(jcompare(r, '<', v, a->v[0]));
}
TEST(is_le) {
    return jbool(jcompare(r, OP_LE, v, a->v[0]));
}
TEST(is_gt) {
    return jbool(jcompare(r, '>', v, a->v[0]));
}
TEST(is_ge) {
    return jbool(jcompare(r, OP_GE, v, a->v[0]));
}

static const jbuiltin *find(str name);

TEST(is_filter) {
    const str name = jneed_str(r, v, "a filter's name")->s;

    (void)a;
    return jbool(jfilter_text(name) || jfilter_list(name));
}
TEST(is_test) {
    (void)a;
    return jbool(find(jneed_str(r, v, "a test's name")->s) != NULL);
}

static const jbuiltin *find(str name) {
    static const jbuiltin table[] = {
        {"defined", "", is_defined, {0}},
        {"undefined", "", is_undefined, {0}},
        {"none", "", is_none, {0}},
        {"boolean", "", is_boolean, {0}},
        {"true", "", is_true, {0}},
        {"false", "", is_false, {0}},
        {"integer", "", is_integer, {0}},
        {"float", "", is_float, {0}},
        {"number", "", is_number, {0}},
        {"string", "", is_string, {0}},
        {"mapping", "", is_mapping, {0}},
        {"sequence", "", is_sequence, {0}},
        {"iterable", "", is_iterable, {0}},
        {"callable", "", is_callable, {0}},
        {"escaped", "", is_escaped, {0}},
        {"even", "", is_even, {0}},
        {"odd", "", is_odd, {0}},
        {"divisibleby", "!num", is_divisible, {0}},
        {"lower", "", is_lower, {0}},
        {"upper", "", is_upper, {0}},
        {"sameas", "!other", is_sameas, {0}},
        {"in", "!seq", is_in, {0}},
        {"eq", "!other", is_eq, {0}},
        {"equalto", "!other", is_eq, {0}},
        {"==", "!other", is_eq, {0}},
        {"ne", "!other", is_ne, {0}},
        {"!=", "!other", is_ne, {0}},
        {"lt", "!other", is_lt, {0}},
        {"lessthan", "!other", is_lt, {0}},
        {"<", "!other", is_lt, {0}},
        {"le", "!other", is_le, {0}},
        {"<=", "!other", is_le, {0}},
        {"gt", "!other", is_gt, {0}},
        {"greaterthan", "!other", is_gt, {0}},
        {">", "!other", is_gt, {0}},
        {"ge", "!other", is_ge, {0}},
        {">=", "!other", is_ge, {0}},
        {"filter", "", is_filter, {0}},
        {"test", "", is_test, {0}},
    };

    return jbuiltin_find(table, sizeof table / sizeof *table, name);
}

bool jtest(jrun *r, str name, jvalue v, const jargs *a) {
    const jbuiltin *test = find(name);

    if (!test) {
        jfail(r, EW_EUNSUPPORTED, "the test '%.*s' is not known", (int)(name.n < 60 ? name.n : 60),
              name.p);
        return false;
    }
    return jtruth(jcall_builtin(r, test, v, a));
}
