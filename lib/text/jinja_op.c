/* SPDX-License-Identifier: MIT
 *
 * Operators with Python's meaning: arithmetic, comparison, membership, subscripts and slices. */
#include "text/jinja_chars.h"
#include "text/jinja_run.h"

#include <math.h>

/* ---- arithmetic ----------------------------------------------------------------------------- */

static jvalue overflow(jrun *r) {
    return jfail(r, EW_EUNSUPPORTED, "integers beyond 64 bits are not supported");
}

static jvalue power(jrun *r, int64_t a, int64_t b) {
    int64_t v = 1;

    if (b < 0) return jfloat(pow((double)a, (double)b));
    for (; b; b >>= 1) {
        if (b & 1 && __builtin_mul_overflow(v, a, &v)) return overflow(r);
        if (b > 1 && __builtin_mul_overflow(a, a, &a)) return overflow(r);
    }
    return jint(v);
}

static jvalue int_divide(jrun *r, int op, int64_t a, int64_t b) {
    int64_t q, m;

    if (b == 0) return jfail(r, EW_EINVAL, "division by zero");
    if (op == '/') return jfloat((double)a / (double)b);
    if (b == -1) return op == '%' ? jint(0) : a == INT64_MIN ? overflow(r) : jint(-a);
    q = a / b;
    m = a % b;
    if (m && (m < 0) != (b < 0)) { /* rounded down, not to zero */
        q--;
        m += b;
    }
    return jint(op == '%' ? m : q);
}

static jvalue int_binary(jrun *r, int op, int64_t a, int64_t b) {
    int64_t v;

    switch (op) {
    case '+':
        return __builtin_add_overflow(a, b, &v) ? overflow(r) : jint(v);
    case '-':
        return __builtin_sub_overflow(a, b, &v) ? overflow(r) : jint(v);
    case '*':
        return __builtin_mul_overflow(a, b, &v) ? overflow(r) : jint(v);
    case OP_POW:
        return power(r, a, b);
    default:
        return int_divide(r, op, a, b);
    }
}

static jvalue float_binary(jrun *r, int op, double a, double b) {
    double m;

    switch (op) {
    case '+':
        return jfloat(a + b);
    case '-':
        return jfloat(a - b);
    case '*':
        return jfloat(a * b);
    case OP_POW:
        return jfloat(pow(a, b));
    default:
        break;
    }
    if (b == 0) return jfail(r, EW_EINVAL, "division by zero");
    if (op == '/') return jfloat(a / b);
    if (op == OP_FLOORDIV) return jfloat(floor(a / b));
    m = fmod(a, b);
    return jfloat(m != 0 && (m < 0) != (b < 0) ? m + b : m);
}

static jvalue add_str(jrun *r, const jstr *a, const jstr *b) {
    const bool is_safe = a->is_safe || b->is_safe;
    jbuf out = {0};
    jstr *v;

    /* Most templates never say `safe`. */
    jbuf_str(r, &out, is_safe && !a->is_safe ? jneed_str(r, jescape(r, a), "") : a);
    jbuf_str(r, &out, is_safe && !b->is_safe ? jneed_str(r, jescape(r, b), "") : b);
    v = jget(r, 1, sizeof *v);
    if (!v) return jnone();
    *v = (jstr){.s = {out.n ? out.p : "", out.n}, .mark = out.mark, .is_safe = is_safe};
    return (jvalue){.kind = JV_STR, .u.s = v};
}

static jvalue add_list(jrun *r, const jlist *a, const jlist *b) {
    jlist *l = jlist_new(r, a->kind, a->n + b->n);

    for (size_t i = 0; i < a->n && !r->rc; i++) jlist_add(r, l, a->v[i]);
    for (size_t i = 0; i < b->n && !r->rc; i++) jlist_add(r, l, b->v[i]);
    return jlist_value(l);
}

static bool is_plain_list(jvalue v) {
    return v.kind == JV_LIST && v.u.list->kind <= SEQ_TUPLE;
}

/* A string or a list, n times. */
static jvalue repeat(jrun *r, jvalue of, int64_t n) {
    jbuf b = {0};
    jlist *l;

    if (of.kind == JV_STR) {
        for (int64_t i = 0; i < n && of.u.s->s.n && !r->rc; i++) jbuf_str(r, &b, of.u.s);
        return jbuf_value(r, &b);
    }
    l = jlist_new(r, of.u.list->kind, 0);
    for (int64_t i = 0; i < n && of.u.list->n && !r->rc; i++)
        for (size_t k = 0; k < of.u.list->n && !r->rc; k++) jlist_add(r, l, of.u.list->v[k]);
    return jlist_value(l);
}

static const char *op_name(int op, char buf[2]) {
    if (op == OP_POW) return "** or pow()";
    if (op == OP_FLOORDIV) return "//";
    buf[0] = (char)op;
    buf[1] = 0;
    return buf;
}

static jvalue no_operator(jrun *r, int op, jvalue a, jvalue b) {
    char buf[2];

    if (a.kind == JV_UNDEF) return jfail(r, EW_EINVAL, "%s", a.u.why);
    if (b.kind == JV_UNDEF) return jfail(r, EW_EINVAL, "%s", b.u.why);
    if (op == '+' && a.kind == JV_STR)
        return jfail(r, EW_EINVAL, "can only concatenate str (not \"%s\") to str", jtype(b));
    return jfail(r, EW_EINVAL, "unsupported operand type(s) for %s: '%s' and '%s'",
                 op_name(op, buf), jtype(a), jtype(b));
}

jvalue jbinary(jrun *r, int op, jvalue a, jvalue b) {
    int64_t x, y;

    if (r->rc) return jnone();
    if (jto_int(a, &x) && jto_int(b, &y)) return int_binary(r, op, x, y);
    if (jis_number(a) && jis_number(b)) return float_binary(r, op, jto_double(a), jto_double(b));
    if (op == '+' && a.kind == JV_STR && b.kind == JV_STR) return add_str(r, a.u.s, b.u.s);
    if (op == '+' && is_plain_list(a) && is_plain_list(b) && a.u.list->kind == b.u.list->kind)
        return add_list(r, a.u.list, b.u.list);
    if (op == '%' && a.kind == JV_STR) return jstr_percent(r, a.u.s, b);
    if (op == '*' && (a.kind == JV_STR || is_plain_list(a)) && jto_int(b, &y))
        return repeat(r, a, y);
    if (op == '*' && (b.kind == JV_STR || is_plain_list(b)) && jto_int(a, &x))
        return repeat(r, b, x);
    return no_operator(r, op, a, b);
}

jvalue jnegate(jrun *r, jvalue v, bool is_minus) {
    int64_t i;

    if (r->rc) return jnone();
    if (v.kind == JV_FLOAT) return jfloat(is_minus ? -v.u.f : v.u.f);
    if (jto_int(v, &i)) return is_minus && i == INT64_MIN ? overflow(r) : jint(is_minus ? -i : i);
    if (v.kind == JV_UNDEF) return jfail(r, EW_EINVAL, "%s", v.u.why);
    return jfail(r, EW_EINVAL, "bad operand type for unary %c: '%s'", is_minus ? '-' : '+',
                 jtype(v));
}

/* ---- comparison ----------------------------------------------------------------------------- */

static bool equal_list(jrun *r, const jlist *a, const jlist *b) {
    if (a == b) return true;
    if (a->kind != b->kind || a->n != b->n || a->kind == SEQ_GENERATOR) return false;
    for (size_t i = 0; i < a->n && !r->rc; i++)
        if (!jequal(r, a->v[i], b->v[i])) return false;
    return true;
}

static bool equal_dict(jrun *r, const jdict *a, const jdict *b) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n && !r->rc; i++) {
        const jvalue *other = jdict_find(r, b, a->v[i].key);

        if (!other || !jequal(r, a->v[i].value, *other)) return false;
    }
    return true;
}

static bool equal_same_kind(jrun *r, jvalue a, jvalue b) {
    switch (a.kind) {
    case JV_ABSENT:
    case JV_UNDEF:
    case JV_NONE:
        return true;
    case JV_STR:
        return str_eq(a.u.s->s, b.u.s->s);
    case JV_LIST:
        return equal_list(r, a.u.list, b.u.list);
    case JV_DICT:
        return equal_dict(r, a.u.dict, b.u.dict);
    case JV_BOOL:
    case JV_INT:
    case JV_FLOAT:
        break;
    case JV_SPACE:
        return a.u.dict == b.u.dict;
    case JV_LOOP:
        return a.u.loop == b.u.loop;
    case JV_MACRO:
        return a.u.macro == b.u.macro;
    case JV_BUILTIN:
        return a.u.fn == b.u.fn;
    }
    return false;
}

bool jequal(jrun *r, jvalue a, jvalue b) {
    bool is_equal;
    int64_t x, y;

    if (jis_number(a) && jis_number(b))
        return jto_int(a, &x) && jto_int(b, &y) ? x == y : jto_double(a) == jto_double(b);
    if (a.kind != b.kind || !jenter(r)) return false;
    is_equal = equal_same_kind(r, a, b);
    jleave(r);
    return is_equal;
}

static int order_number(jvalue a, jvalue b) {
    int64_t x, y;

    if (jto_int(a, &x) && jto_int(b, &y)) return (x > y) - (x < y);
    return (jto_double(a) > jto_double(b)) - (jto_double(a) < jto_double(b));
}

/* UTF-8 sorts as its code points do. */
static int order_str(str a, str b) {
    const size_t n = a.n < b.n ? a.n : b.n;
    const int order = n ? memcmp(a.p, b.p, n) : 0;

    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int order_list(jrun *r, const jlist *a, const jlist *b, const char *op) {
    for (size_t i = 0; i < a->n && i < b->n && !r->rc; i++)
        if (!jequal(r, a->v[i], b->v[i])) return jorder(r, a->v[i], b->v[i], op);
    return (a->n > b->n) - (a->n < b->n);
}

int jorder(jrun *r, jvalue a, jvalue b, const char *op) {
    int order = 0;

    if (!jenter(r)) return 0;
    if (jis_number(a) && jis_number(b))
        order = order_number(a, b);
    else if (a.kind == JV_STR && b.kind == JV_STR)
        order = order_str(a.u.s->s, b.u.s->s);
    else if (is_plain_list(a) && is_plain_list(b) && a.u.list->kind == b.u.list->kind)
        order = order_list(r, a.u.list, b.u.list, op);
    else if (a.kind == JV_UNDEF || b.kind == JV_UNDEF)
        jfail(r, EW_EINVAL, "%s", a.kind == JV_UNDEF ? a.u.why : b.u.why);
    else
        jfail(r, EW_EINVAL, "'%s' not supported between instances of '%s' and '%s'", op, jtype(a),
              jtype(b));
    jleave(r);
    return order;
}

bool jcontains(jrun *r, jvalue in, jvalue v) {
    jlist items;

    if (r->rc) return false;
    if (in.kind == JV_DICT) return jdict_find(r, in.u.dict, v) != NULL;
    if (in.kind == JV_STR) {
        if (v.kind != JV_STR) {
            jfail(r, EW_EINVAL, "'in <string>' requires string as left operand, not %s", jtype(v));
            return false;
        }
        return jchar_find(in.u.s->s, v.u.s->s, 0) <= in.u.s->s.n;
    }
    if (in.kind != JV_LIST && in.kind != JV_UNDEF) {
        jfail(r, EW_EINVAL, "argument of type '%s' is not iterable", jtype(in));
        return false;
    }
    if (!jiterate(r, in, &items)) return false;
    for (size_t i = 0; i < items.n && jstep(r, 1); i++)
        if (jequal(r, items.v[i], v)) return true;
    return false;
}

bool jcompare(jrun *r, int op, jvalue a, jvalue b) {
    switch (op) {
    case OP_EQ:
        return jequal(r, a, b);
    case OP_NE:
        return !jequal(r, a, b);
    case OP_IN:
        return jcontains(r, b, a);
    case OP_NOT_IN:
        return !jcontains(r, b, a);
    case '<':
        return jorder(r, a, b, "<") < 0;
    case '>':
        return jorder(r, a, b, ">") > 0;
    case OP_LE:
        return jorder(r, a, b, "<=") <= 0;
    default:
        return jorder(r, a, b, ">=") >= 0;
    }
}

/* ---- attributes and subscripts -------------------------------------------------------------- */

/* Jinja's way to say it: "'dict object' has no attribute 'x'". */
static jvalue missing(jrun *r, jvalue of, jvalue key) {
    const char *object = of.kind == JV_NONE ? "" : " object";
    const char *type = of.kind == JV_NONE ? "None" : jtype(of);
    jbuf b = {0};

    if (key.kind == JV_STR)
        return jundef(r, "'%s%s' has no attribute '%.*s'", type, object,
                      (int)(key.u.s->s.n < 60 ? key.u.s->s.n : 60), key.u.s->s.p);
    jrepr(r, &b, key);
    return jundef(r, "%s%s has no element %.*s", type, object, (int)(b.n < 60 ? b.n : 60), b.p);
}

/* The element at i, counted from the end when negative; false: there is none. */
static bool place(int64_t i, size_t n, size_t *out) {
    if (i < 0) i += (int64_t)n;
    *out = (size_t)i;
    return i >= 0 && (uint64_t)i < n;
}

static jvalue char_at(jrun *r, const jstr *s, int64_t i) {
    size_t at, from;
    uint32_t cp;

    if (!jstep(r, s->s.n / 64) || !place(i, jchar_count(s->s), &at))
        return (jvalue){.kind = JV_ABSENT};
    from = jchar_offset(s->s, at);
    return jstr_part(r, s, from, from + jchar_at(s->s.p + from, s->s.n - from, &cp));
}

/* of[key] without its excuse: JV_ABSENT when there is none. */
static jvalue item(jrun *r, jvalue of, jvalue key) {
    const jvalue none = {.kind = JV_ABSENT};
    jvalue *found = NULL;
    size_t at;
    int64_t i;

    if (of.kind == JV_DICT) {
        if (key.kind != JV_LIST || key.u.list->kind != SEQ_LIST)
            found = key.kind == JV_DICT ? NULL : jdict_find(r, of.u.dict, key);
        return found ? *found : none;
    }
    if (!jto_int(key, &i)) return none;
    if (of.kind == JV_STR) return char_at(r, of.u.s, i);
    if (of.kind != JV_LIST || of.u.list->kind > SEQ_RANGE) return none;
    return place(i, of.u.list->n, &at) ? of.u.list->v[at] : none;
}

static jvalue loop_attr(jrun *r, jvalue of, str name) {
    const jloop *l = of.u.loop;
    const size_t n = l->items->n;

    if (str_is(name, "index")) return jint((int64_t)l->i + 1);
    if (str_is(name, "index0")) return jint((int64_t)l->i);
    if (str_is(name, "revindex")) return jint((int64_t)(n - l->i));
    if (str_is(name, "revindex0")) return jint((int64_t)(n - l->i) - 1);
    if (str_is(name, "first")) return jbool(l->i == 0);
    if (str_is(name, "last")) return jbool(l->i + 1 == n);
    if (str_is(name, "length")) return jint((int64_t)n);
    if (str_is(name, "depth")) return jint(l->depth);
    if (str_is(name, "depth0")) return jint((int64_t)l->depth - 1);
    if (str_is(name, "previtem"))
        return l->i ? l->items->v[l->i - 1] : jundef(r, "there is no previous item");
    if (str_is(name, "nextitem"))
        return l->i + 1 < n ? l->items->v[l->i + 1] : jundef(r, "there is no next item");
    return jmethod(r, of, name);
}

/* of.name without looking at keys: JV_ABSENT when there is none. */
static jvalue own_attr(jrun *r, jvalue of, str name) {
    const jvalue *found;

    if (of.kind == JV_LOOP) return loop_attr(r, of, name);
    if (of.kind == JV_MACRO && str_is(name, "name"))
        return jstr_value(r, of.u.macro->node->name, NULL);
    if (of.kind == JV_SPACE) {
        found = jdict_find_str(of.u.dict, name);
        return found ? *found : (jvalue){.kind = JV_ABSENT};
    }
    return jmethod(r, of, name);
}

jvalue jattr(jrun *r, jvalue of, str name) {
    jvalue v, key;

    if (r->rc) return jnone();
    if (of.kind == JV_UNDEF) return jfail(r, EW_EINVAL, "%s", of.u.why);
    v = own_attr(r, of, name);
    if (v.kind != JV_ABSENT) return v;
    if (of.kind == JV_DICT) {
        const jvalue *found = jdict_find_str(of.u.dict, name);

        if (found) return *found;
    }
    key = jstr_value(r, name, NULL);
    return r->rc ? jnone() : missing(r, of, key);
}

jvalue jitem(jrun *r, jvalue of, jvalue key) {
    jvalue v;

    if (r->rc) return jnone();
    if (of.kind == JV_UNDEF) return jfail(r, EW_EINVAL, "%s", of.u.why);
    v = item(r, of, key);
    if (v.kind == JV_ABSENT && key.kind == JV_STR) v = own_attr(r, of, key.u.s->s);
    return v.kind == JV_ABSENT && !r->rc ? missing(r, of, key) : v;
}

jvalue jattr_path(jrun *r, jvalue of, jvalue path) {
    str rest;

    if (path.kind != JV_STR) return jitem(r, of, path);
    rest = path.u.s->s;
    while (!r->rc) {
        const char *dot = rest.n ? memchr(rest.p, '.', rest.n) : NULL;
        const str part = {rest.p, dot ? (size_t)(dot - rest.p) : rest.n};
        int64_t i = 0;
        size_t k = 0;

        for (; k < part.n && k < 18 && part.p[k] >= '0' && part.p[k] <= '9'; k++)
            i = i * 10 + (part.p[k] - '0');
        of = jitem(r, of, k && k == part.n ? jint(i) : jstr_value(r, part, NULL));
        if (!dot) break;
        rest = (str){dot + 1, rest.n - part.n - 1};
    }
    return of;
}

/* ---- slices --------------------------------------------------------------------------------- */

/* A bound of a slice of n items, or what stands for it. */
static int64_t bound(jrun *r, jvalue v, int64_t n, int64_t step, int64_t dflt) {
    int64_t i;

    if (v.kind == JV_ABSENT || v.kind == JV_NONE) return dflt;
    if (!jto_int(v, &i)) {
        jfail(r, EW_EINVAL, "slice indices must be integers or None");
        return 0;
    }
    if (i < 0) i += n;
    if (i < 0) return step < 0 ? -1 : 0;
    if (i >= n) return step < 0 ? n - 1 : n;
    return i;
}

typedef struct {
    int64_t from, to, step;
} span;

static bool span_of(jrun *r, int64_t n, jvalue from, jvalue to, jvalue step, span *out) {
    out->step = 1;
    if (step.kind != JV_ABSENT && step.kind != JV_NONE && !jto_int(step, &out->step))
        jfail(r, EW_EINVAL, "slice indices must be integers or None");
    if (!r->rc && out->step == 0) jfail(r, EW_EINVAL, "slice step cannot be zero");
    out->from = bound(r, from, n, out->step, out->step < 0 ? n - 1 : 0);
    out->to = bound(r, to, n, out->step, out->step < 0 ? -1 : n);
    return !r->rc;
}

static bool goes_on(const span *s, int64_t i) {
    return s->step > 0 ? i < s->to : i > s->to;
}

static jvalue slice_str(jrun *r, const jstr *s, const span *p) {
    jbuf b = {0};

    if (p->step == 1)
        return jstr_part(r, s, jchar_offset(s->s, (size_t)p->from),
                         jchar_offset(s->s, (size_t)(p->to > p->from ? p->to : p->from)));
    for (int64_t i = p->from; goes_on(p, i) && !r->rc;) {
        const jvalue c = char_at(r, s, i);

        if (c.kind == JV_STR) jbuf_str(r, &b, c.u.s);
        if (__builtin_add_overflow(i, p->step, &i)) break;
    }
    return jbuf_value(r, &b);
}

static jvalue slice_list(jrun *r, const jlist *of, const span *p) {
    jlist *l = jlist_new(r, of->kind, 0);

    for (int64_t i = p->from; goes_on(p, i) && !r->rc;) {
        jlist_add(r, l, of->v[i]);
        if (__builtin_add_overflow(i, p->step, &i)) break;
    }
    return jlist_value(l);
}

jvalue jslice(jrun *r, jvalue of, jvalue from, jvalue to, jvalue step) {
    const bool is_list = of.kind == JV_LIST && of.u.list->kind <= SEQ_RANGE;
    span p;

    if (r->rc || (of.kind != JV_STR && !is_list))
        return of.kind == JV_UNDEF ? jfail(r, EW_EINVAL, "%s", of.u.why)
                                   : jundef(r, "'%s' object is not subscriptable", jtype(of));
    if (!span_of(r, (int64_t)(is_list ? of.u.list->n : jchar_count(of.u.s->s)), from, to, step, &p))
        return jnone();
    return is_list ? slice_list(r, of.u.list, &p) : slice_str(r, of.u.s, &p);
}
