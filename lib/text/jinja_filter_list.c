/* SPDX-License-Identifier: MIT
 *
 * Filters of sequences and mappings. */
#include "text/jinja_chars.h"
#include "text/jinja_run.h"

#define FILTER(name) static jvalue name(jrun *r, jvalue in, const jargs *a)
#define NO_ARGS      (void)a

/* ---- parts ---------------------------------------------------------------------------------- */

FILTER(f_length) {
    NO_ARGS;
    switch (in.kind) {
    case JV_STR:
        return jint((int64_t)jchar_count(in.u.s->s));
    case JV_DICT:
        return jint((int64_t)in.u.dict->n);
    case JV_UNDEF:
        return jint(0);
    case JV_LIST:
        if (in.u.list->kind != SEQ_GENERATOR) return jint((int64_t)in.u.list->n);
        break;
    case JV_LOOP:
        return jint((int64_t)in.u.loop->items->n);
    default:
        break;
    }
    return jfail(r, EW_EINVAL, "object of type '%s' has no len()", jtype(in));
}

FILTER(f_first) {
    jlist l;

    NO_ARGS;
    if (!jiterate(r, in, &l)) return jnone();
    return l.n ? l.v[0] : jundef(r, "no first item, sequence was empty");
}
FILTER(f_last) {
    jlist l;

    NO_ARGS;
    if (in.kind == JV_LIST && in.u.list->kind == SEQ_GENERATOR)
        return jfail(r, EW_EINVAL, "'generator' object is not reversible");
    if (!jiterate(r, in, &l)) return jnone();
    return l.n ? l.v[l.n - 1] : jundef(r, "no last item, sequence was empty");
}

static jvalue copy_of(jrun *r, const jlist *from, jlist_kind kind) {
    jlist *l = jlist_new(r, kind, from->n);

    for (size_t i = 0; i < from->n && !r->rc; i++) jlist_add(r, l, from->v[i]);
    return jlist_value(l);
}

FILTER(f_list) {
    jlist l;

    NO_ARGS;
    return jiterate(r, in, &l) ? copy_of(r, &l, SEQ_LIST) : jnone();
}
FILTER(f_reverse) {
    jlist l, *out;
    jbuf b = {0};

    NO_ARGS;
    if (!jiterate(r, in, &l)) return jnone();
    out = jlist_new(r, SEQ_GENERATOR, l.n);
    for (size_t i = l.n; i-- && !r->rc;) {
        if (in.kind == JV_STR)
            jbuf_str(r, &b, l.v[i].u.s);
        else
            jlist_add(r, out, l.v[i]);
    }
    return in.kind == JV_STR ? jbuf_value(r, &b) : jlist_value(out);
}
FILTER(f_items) {
    static const str name = {"items", 5};
    jvalue v;

    NO_ARGS;
    if (in.kind == JV_UNDEF) return jlist_value(jlist_new(r, SEQ_GENERATOR, 0));
    if (in.kind != JV_DICT) return jfail(r, EW_EINVAL, "Can only get item pairs from a mapping.");
    v = jcall(r, jmethod(r, in, name), &(jargs){0});
    if (!r->rc) v.u.list->kind = SEQ_GENERATOR;
    return v;
}

/* The attribute (JV_ABSENT: the item itself) of an item. */
static jvalue key_of(jrun *r, jvalue item, jvalue attribute) {
    if (attribute.kind == JV_ABSENT || attribute.kind == JV_NONE) return item;
    return jattr_path(r, item, attribute);
}

FILTER(f_join) {
    const jvalue sep =
        a->v[0].kind == JV_ABSENT ? jstr_value(r, (str){"", 0}, NULL) : jtext(r, a->v[0]);
    jbuf b = {0};
    jlist l;

    if (!jiterate(r, in, &l)) return jnone();
    for (size_t i = 0; i < l.n && !r->rc; i++) {
        if (i) jprint(r, &b, sep);
        jprint(r, &b, key_of(r, l.v[i], a->v[1]));
    }
    return jbuf_value(r, &b);
}

FILTER(f_batch) {
    const int64_t n = jarg_int(r, a->v[0], 1);
    jlist l, *out = jlist_new(r, SEQ_GENERATOR, 0), *row = NULL;

    if (!jiterate(r, in, &l)) return jnone();
    if (n < 1) return jfail(r, EW_EINVAL, "batch: at least one item a row is wanted");
    for (size_t i = 0; i < l.n && !r->rc; i++) {
        if (!row || row->n == (size_t)n) {
            row = jlist_new(r, SEQ_LIST, 0);
            jlist_add(r, out, jlist_value(row));
        }
        jlist_add(r, row, l.v[i]);
    }
    if (a->v[1].kind != JV_ABSENT && a->v[1].kind != JV_NONE)
        while (row && row->n < (size_t)n && !r->rc) jlist_add(r, row, a->v[1]);
    return jlist_value(out);
}

/* ---- choosing ------------------------------------------------------------------------------- */

/* map, select and their like take anything false for an empty sequence. */
static bool items_of(jrun *r, jvalue in, jlist *out) {
    return jiterate(r, jtruth(in) ? in : jundef(r, "nothing"), out);
}

/* What map, select and their like do with each item: skip arguments name it, the rest go along. */
static jargs rest_of(const jargs *a, size_t skip) {
    return (jargs){.v = a->v + skip, .n = a->n - skip, .n_named = a->n_named, .names = a->names};
}

/* map(attribute="name", default=...) */
static jvalue map_attribute(jrun *r, const jlist *l, jvalue attribute, const jargs *a) {
    jlist *out = jlist_new(r, SEQ_GENERATOR, l->n);
    jvalue dflt;

    for (size_t i = 0; i < l->n && !r->rc; i++) {
        jvalue v = jattr_path(r, l->v[i], attribute);

        if (v.kind == JV_UNDEF && jarg_named(a, str_of("default"), &dflt)) v = dflt;
        jlist_add(r, out, v);
    }
    return jlist_value(out);
}

FILTER(f_map) {
    jvalue attribute;
    jlist l, *out;
    jargs rest;
    str name;

    if (!items_of(r, in, &l)) return jnone();
    if (!a->n && jarg_named(a, str_of("attribute"), &attribute))
        return map_attribute(r, &l, attribute, a);
    if (!a->n) return jfail(r, EW_EINVAL, "map requires a filter argument");
    out = jlist_new(r, SEQ_GENERATOR, l.n);
    name = jneed_str(r, a->v[0], "a filter's name")->s;
    rest = rest_of(a, 1);
    for (size_t i = 0; i < l.n && !r->rc; i++) jlist_add(r, out, jfilter(r, name, l.v[i], &rest));
    return jlist_value(out);
}

/* select, reject, selectattr and rejectattr in one: the items for which the test (by default
 * whether it is true) gives `want`, for the item or for its attribute. */
static jvalue choose(jrun *r, jvalue in, const jargs *a, bool by_attribute, bool want) {
    const size_t skip = by_attribute ? 1 : 0;
    jlist l, *out;
    jargs rest;

    if (!items_of(r, in, &l)) return jnone();
    if (a->n < skip) return jfail(r, EW_EINVAL, "Missing parameter for attribute name");
    out = jlist_new(r, SEQ_GENERATOR, l.n);
    if (a->n > skip) rest = rest_of(a, skip + 1);
    for (size_t i = 0; i < l.n && !r->rc; i++) {
        const jvalue v = by_attribute ? jattr_path(r, l.v[i], a->v[0]) : l.v[i];
        const bool is = a->n > skip
                            ? jtest(r, jneed_str(r, a->v[skip], "a test's name")->s, v, &rest)
                            : jtruth(v);

        if (is == want) jlist_add(r, out, l.v[i]);
    }
    return jlist_value(out);
}
FILTER(f_select) {
    return choose(r, in, a, false, true);
}
FILTER(f_reject) {
    return choose(r, in, a, false, false);
}
FILTER(f_selectattr) {
    return choose(r, in, a, true, true);
}
FILTER(f_rejectattr) {
    return choose(r, in, a, true, false);
}

/* ---- order ---------------------------------------------------------------------------------- */

/* A key as it is compared: strings without their case unless it matters. */
static jvalue folded(jrun *r, jvalue v, bool keeps_case) {
    return v.kind == JV_STR && !keeps_case ? jstr_case(r, v.u.s, "lower") : v;
}

static void merge_sort(jrun *r, jkeyed *v, jkeyed *work, size_t n, bool reverse) {
    const size_t half = n / 2;
    size_t i = 0, j = half, k = 0;

    if (n < 2 || r->rc) return;
    merge_sort(r, v, work, half, reverse);
    merge_sort(r, v + half, work, n - half, reverse);
    while (i < half && j < n && jstep(r, 1)) {
        const int order = jorder(r, v[j].key, v[i].key, "<");

        work[k++] = (reverse ? order > 0 : order < 0) ? v[j++] : v[i++];
    }
    while (i < half) work[k++] = v[i++];
    if (k) memcpy(v, work, k * sizeof *v);
}

void jsort(jrun *r, jkeyed *v, size_t n, bool reverse) {
    jkeyed *work = jget(r, n, sizeof *work);

    if (work) merge_sort(r, v, work, n, reverse);
}

/* The items in the order of their keys. */
static jvalue sorted(jrun *r, const jlist *l, const jvalue *keys, bool reverse) {
    jkeyed *v = jget(r, l->n, sizeof *v);
    jlist *out = jlist_new(r, SEQ_LIST, l->n);

    if (!v) return jnone();
    for (size_t i = 0; i < l->n; i++) v[i] = (jkeyed){keys[i], l->v[i]};
    jsort(r, v, l->n, reverse);
    for (size_t i = 0; i < l->n && !r->rc; i++) jlist_add(r, out, v[i].item);
    return jlist_value(out);
}

FILTER(f_sort) {
    const bool keeps_case = jarg_bool(a->v[1], false);
    jvalue *keys;
    jlist l;

    if (!jiterate(r, in, &l)) return jnone();
    if (a->v[2].kind == JV_STR && jchar_find(a->v[2].u.s->s, str_of(","), 0) < a->v[2].u.s->s.n)
        return jfail(r, EW_EUNSUPPORTED, "sort by several attributes is not supported");
    keys = jget(r, l.n, sizeof *keys);
    for (size_t i = 0; i < l.n && !r->rc; i++)
        keys[i] = folded(r, key_of(r, l.v[i], a->v[2]), keeps_case);
    return r->rc ? jnone() : sorted(r, &l, keys, jarg_bool(a->v[0], false));
}

FILTER(f_dictsort) {
    static const str name = {"items", 5};
    const bool by_value = a->v[1].kind == JV_STR && str_is(a->v[1].u.s->s, "value");
    jvalue items, *keys;

    if (in.kind != JV_DICT)
        return in.kind == JV_UNDEF
                   ? jfail(r, EW_EINVAL, "%s", in.u.why)
                   : jfail(r, EW_EINVAL, "'%s' object has no attribute 'items'", jtype(in));
    items = jcall(r, jmethod(r, in, name), &(jargs){0});
    keys = jget(r, in.u.dict->n, sizeof *keys);
    for (size_t i = 0; i < in.u.dict->n && !r->rc; i++)
        keys[i] = folded(r, items.u.list->v[i].u.list->v[by_value], jarg_bool(a->v[0], false));
    return r->rc ? jnone() : sorted(r, items.u.list, keys, jarg_bool(a->v[2], false));
}

FILTER(f_unique) {
    jlist l, *out, *seen;

    if (!jiterate(r, in, &l)) return jnone();
    out = jlist_new(r, SEQ_GENERATOR, 0);
    seen = jlist_new(r, SEQ_LIST, 0);
    for (size_t i = 0; i < l.n && !r->rc; i++) {
        const jvalue key = folded(r, key_of(r, l.v[i], a->v[1]), jarg_bool(a->v[0], false));

        if (jcontains(r, jlist_value(seen), key)) continue;
        jlist_add(r, seen, key);
        jlist_add(r, out, l.v[i]);
    }
    return jlist_value(out);
}

/* The extreme item: want < 0 the smallest. */
static jvalue extreme(jrun *r, jvalue in, const jargs *a, int want) {
    const bool keeps_case = jarg_bool(a->v[0], false);
    jvalue best_key;
    size_t best = 0;
    jlist l;

    if (!jiterate(r, in, &l)) return jnone();
    if (!l.n) return jundef(r, "No aggregated item, sequence was empty.");
    best_key = folded(r, key_of(r, l.v[0], a->v[1]), keeps_case);
    for (size_t i = 1; i < l.n && jstep(r, 1); i++) {
        const jvalue key = folded(r, key_of(r, l.v[i], a->v[1]), keeps_case);
        const int order = jorder(r, key, best_key, want < 0 ? "<" : ">");

        if (want < 0 ? order >= 0 : order <= 0) continue;
        best = i;
        best_key = key;
    }
    return l.v[best];
}
FILTER(f_min) {
    return extreme(r, in, a, -1);
}
FILTER(f_max) {
    return extreme(r, in, a, 1);
}
FILTER(f_sum) {
    jvalue total = a->v[1].kind == JV_ABSENT ? jint(0) : a->v[1];
    jlist l;

    if (!jiterate(r, in, &l)) return jnone();
    for (size_t i = 0; i < l.n && jstep(r, 1); i++)
        total = jbinary(r, '+', total, key_of(r, l.v[i], a->v[0]));
    return total;
}

const jbuiltin *jfilter_list(str name) {
    static const jbuiltin table[] = {
        {"length", "", f_length, {0}},
        {"count", "", f_length, {0}},
        {"first", "", f_first, {0}},
        {"last", "", f_last, {0}},
        {"list", "", f_list, {0}},
        {"reverse", "", f_reverse, {0}},
        {"items", "", f_items, {0}},
        {"join", "d attribute", f_join, {0}},
        {"batch", "!linecount fill_with", f_batch, {0}},
        {"map", "*", f_map, {0}},
        {"select", "*", f_select, {0}},
        {"reject", "*", f_reject, {0}},
        {"selectattr", "*", f_selectattr, {0}},
        {"rejectattr", "*", f_rejectattr, {0}},
        {"sort", "reverse case_sensitive attribute", f_sort, {0}},
        {"dictsort", "case_sensitive by reverse", f_dictsort, {0}},
        {"unique", "case_sensitive attribute", f_unique, {0}},
        {"min", "case_sensitive attribute", f_min, {0}},
        {"max", "case_sensitive attribute", f_max, {0}},
        {"sum", "attribute start", f_sum, {0}},
    };

    return jbuiltin_find(table, sizeof table / sizeof *table, name);
}
