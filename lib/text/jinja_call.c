/* SPDX-License-Identifier: MIT
 *
 * Calling: macros, methods and the functions that every template has. */
#include "text/jinja_run.h"

#include <stdio.h>

enum {
    RANGE_MAX = 100000 /* as Jinja's sandbox has it */
};

/* ---- arguments ------------------------------------------------------------------------------ */

/* The next name in "a !b c"; false: no more. */
static bool next_name(const char **params, str *name, bool *must) {
    const char *p = *params;

    while (*p == ' ') p++;
    *must = *p == '!';
    p += *must;
    name->p = p;
    while (*p && *p != ' ') p++;
    name->n = (size_t)(p - name->p);
    *params = p;
    return name->n != 0;
}

bool jarg_named(const jargs *a, str name, jvalue *out) {
    for (size_t i = 0; i < a->n_named; i++)
        if (str_eq(a->names[i], name)) {
            *out = a->v[a->n + i];
            return true;
        }
    return false;
}

/* Arguments as fn's parameters want them, in v. */
static bool bind(jrun *r, const jbuiltin *fn, const jargs *a, jvalue *v, size_t *n) {
    const char *params = fn->params;
    size_t n_taken = 0;
    bool must;
    str name;

    for (*n = 0; next_name(&params, &name, &must); ++*n) {
        v[*n] = (jvalue){.kind = JV_ABSENT};
        if (*n < a->n)
            v[*n] = a->v[*n];
        else if (jarg_named(a, name, &v[*n]))
            n_taken++;
        else if (must)
            jfail(r, EW_EINVAL, "%s: argument '%.*s' is missing", fn->name, (int)name.n, name.p);
    }
    if (a->n > *n)
        jfail(r, EW_EINVAL, "%s takes at most %zu arguments, %zu were given", fn->name, *n, a->n);
    else if (n_taken < a->n_named)
        jfail(r, EW_EINVAL, "%s: unknown or repeated argument '%.*s'", fn->name,
              (int)(a->names[0].n < 40 ? a->names[0].n : 40), a->names[0].p);
    return !r->rc;
}

jvalue jcall_builtin(jrun *r, const jbuiltin *fn, jvalue self, const jargs *a) {
    jvalue v[JARGS_MAX];
    jargs bound = {.v = v};

    if (r->rc) return jnone();
    if (fn->params[0] == '*') return fn->fn(r, self, a);
    return bind(r, fn, a, v, &bound.n) ? fn->fn(r, self, &bound) : jnone();
}

const jbuiltin *jbuiltin_find(const jbuiltin *table, size_t n, str name) {
    for (size_t i = 0; i < n; i++)
        if (str_is(name, table[i].name)) return &table[i];
    return NULL;
}

int64_t jarg_int(jrun *r, jvalue v, int64_t dflt) {
    int64_t i;

    if (v.kind == JV_ABSENT || v.kind == JV_NONE) return dflt;
    if (!jto_int(v, &i)) {
        jfail(r, EW_EINVAL, "an integer is wanted, not %s", jtype(v));
        return dflt;
    }
    return i;
}

bool jarg_bool(jvalue v, bool dflt) {
    return v.kind == JV_ABSENT ? dflt : jtruth(v);
}

jvalue jcall(jrun *r, jvalue callee, const jargs *a) {
    if (r->rc) return jnone();
    switch (callee.kind) {
    case JV_MACRO:
        return jexec_macro(r, callee.u.macro, a);
    case JV_BUILTIN:
        return jcall_builtin(r, callee.u.fn, callee.u.fn->self, a);
    case JV_LOOP:
        if (a->n + a->n_named == 1) return jexec_loop_call(r, callee.u.loop, a->v[0]);
        return jfail(r, EW_EINVAL, "loop() takes one argument");
    case JV_ABSENT:
    case JV_UNDEF:
        return jfail(r, EW_EINVAL, "%s", callee.kind == JV_UNDEF ? callee.u.why : "undefined");
    case JV_NONE:
    case JV_BOOL:
    case JV_INT:
    case JV_FLOAT:
    case JV_STR:
    case JV_LIST:
    case JV_DICT:
    case JV_SPACE:
        break;
    }
    return jfail(r, EW_EINVAL, "'%s' object is not callable", jtype(callee));
}

/* ---- functions ------------------------------------------------------------------------------ */

static jvalue fn_range(jrun *r, jvalue self, const jargs *a) {
    const bool one = a->v[1].kind == JV_ABSENT;
    const int64_t from = one ? 0 : jarg_int(r, a->v[0], 0);
    const int64_t to = jarg_int(r, a->v[one ? 0 : 1], 0), step = jarg_int(r, a->v[2], 1);
    jlist *l = jlist_new(r, SEQ_RANGE, 0);

    (void)self;
    if (step == 0) return jfail(r, EW_EINVAL, "range() arg 3 must not be zero");
    for (int64_t i = from; !r->rc && (step > 0 ? i < to : i > to);) {
        if (l->n == RANGE_MAX)
            return jfail(r, EW_EINVAL, "range too big: the maximum is %d", RANGE_MAX);
        jlist_add(r, l, jint(i));
        if (__builtin_add_overflow(i, step, &i)) break;
    }
    return jlist_value(l);
}

/* What dict() and namespace() begin with: the pairs of a dict or of a list of pairs. */
static void add_pairs(jrun *r, jdict *d, jvalue from) {
    jlist items, pair;

    if (from.kind == JV_DICT || from.kind == JV_SPACE) {
        for (size_t i = 0; i < from.u.dict->n && !r->rc; i++)
            jdict_set(r, d, from.u.dict->v[i].key, from.u.dict->v[i].value);
        return;
    }
    if (!jiterate(r, from, &items)) return;
    for (size_t i = 0; i < items.n && jiterate(r, items.v[i], &pair); i++) {
        if (pair.n != 2) {
            jfail(r, EW_EINVAL, "a dict is made of pairs; element %zu has length %zu", i, pair.n);
            return;
        }
        jdict_set(r, d, pair.v[0], pair.v[1]);
    }
}

static jvalue fn_dict(jrun *r, jvalue self, const jargs *a) {
    jdict *d = jdict_new(r, 0);

    (void)self;
    if (a->n > 1) return jfail(r, EW_EINVAL, "dict expected at most 1 argument, got %zu", a->n);
    if (a->n && d) add_pairs(r, d, a->v[0]);
    for (size_t i = 0; i < a->n_named && !r->rc; i++)
        jdict_set(r, d, jstr_value(r, a->names[i], NULL), a->v[a->n + i]);
    return jdict_value(d);
}

static jvalue fn_namespace(jrun *r, jvalue self, const jargs *a) {
    jvalue v = fn_dict(r, self, a);

    if (v.kind == JV_DICT) v.kind = JV_SPACE;
    return v;
}

static jvalue fn_raise(jrun *r, jvalue self, const jargs *a) {
    const jvalue text = jtext(r, a->v[0]);

    (void)self;
    if (r->rc) return jnone();
    return jfail(r, EW_EINVAL, "%.*s", (int)(text.u.s->s.n < 300 ? text.u.s->s.n : 300),
                 text.u.s->s.p);
}

/* A directive of strftime that is a number; false: it's another. */
static bool put_time_number(jrun *r, jbuf *b, char what) {
    const struct tm *t = r->now;
    const struct {
        char what;
        int n_digit, value;
    } all[] = {{'Y', 1, t->tm_year + 1900},
               {'y', 2, t->tm_year % 100},
               {'m', 2, t->tm_mon + 1},
               {'d', 2, t->tm_mday},
               {'j', 3, t->tm_yday + 1},
               {'H', 2, t->tm_hour},
               {'I', 2, (t->tm_hour + 11) % 12 + 1},
               {'M', 2, t->tm_min},
               {'S', 2, t->tm_sec}};
    char text[16];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].what == what) {
            snprintf(text, sizeof text, "%0*d", all[i].n_digit, all[i].value);
            jbuf_puts(r, b, text);
            return true;
        }
    return false;
}

static void put_times(jrun *r, jbuf *b, str fmt);

/* One directive of strftime, always in English. */
static void put_time(jrun *r, jbuf *b, char what) {
    static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    const struct tm *t = r->now;
    const char *month = months[(unsigned)t->tm_mon % 12], *day = days[(unsigned)t->tm_wday % 7];
    char text[16];

    if (put_time_number(r, b, what)) return;
    switch (what) {
    case 'e':
        snprintf(text, sizeof text, "%2d", t->tm_mday);
        jbuf_puts(r, b, text);
        break;
    case 'p':
        jbuf_puts(r, b, t->tm_hour < 12 ? "AM" : "PM");
        break;
    case 'F':
        put_times(r, b, str_of("%Y-%m-%d"));
        break;
    case 'T':
        put_times(r, b, str_of("%H:%M:%S"));
        break;
    case 'A':
        jbuf_puts(r, b, day);
        break;
    case 'a':
        jbuf_add(r, b, day, 3, NULL);
        break;
    case 'B':
        jbuf_puts(r, b, month);
        break;
    case 'b':
        jbuf_add(r, b, month, 3, NULL);
        break;
    case '%':
        jbuf_puts(r, b, "%");
        break;
    default:
        jfail(r, EW_EUNSUPPORTED, "strftime_now: %%%c is not supported", what);
        break;
    }
}

static void put_times(jrun *r, jbuf *b, str fmt) {
    for (size_t i = 0; i < fmt.n && !r->rc; i++) {
        if (fmt.p[i] == '%' && i + 1 < fmt.n)
            put_time(r, b, fmt.p[++i]);
        else
            jbuf_add(r, b, fmt.p + i, 1, NULL);
    }
}

static jvalue fn_strftime(jrun *r, jvalue self, const jargs *a) {
    jbuf b = {0};

    (void)self;
    put_times(r, &b, jneed_str(r, a->v[0], "the format")->s);
    return jbuf_value(r, &b);
}

const jbuiltin *jglobal_find(str name) {
    static const jbuiltin table[] = {
        {"range", "!start stop step", fn_range, {0}},
        {"dict", "*", fn_dict, {0}},
        {"namespace", "*", fn_namespace, {0}},
        {"raise_exception", "!message", fn_raise, {0}},
        {"strftime_now", "!format", fn_strftime, {0}},
    };

    return jbuiltin_find(table, sizeof table / sizeof *table, name);
}
