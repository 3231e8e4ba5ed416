/* SPDX-License-Identifier: MIT
 *
 * Values of the template engine, what bounds a rendering, and how it fails. */
#include "text/jinja_chars.h"
#include "text/jinja_run.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    DEPTH_MAX = 600 /* calls of jeval, jexec, ... within each other */
};

/* ---- failing and bounds --------------------------------------------------------------------- */

jvalue jfail(jrun *r, ew_status code, const char *fmt, ...) {
    char text[400];
    va_list ap;

    if (!r->rc) {
        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        r->rc = fail(r->err, code, "%s:%u: %s", r->name, r->line, text);
    }
    return (jvalue){.kind = JV_UNDEF, .u.why = "failed"};
}

bool jstep(jrun *r, size_t n) {
    if (r->rc) return false;
    if (n < r->steps) {
        r->steps -= n;
        return true;
    }
    r->steps = 0;
    jfail(r, EW_EINVAL, "the template takes too many steps");
    return false;
}

bool jenter(jrun *r) {
    if (!jstep(r, 1)) return false;
    if (r->depth == DEPTH_MAX) {
        jfail(r, EW_EINVAL, "calls or values nested too deeply");
        return false;
    }
    r->depth++;
    return true;
}

void jleave(jrun *r) {
    r->depth--;
}

void *jget(jrun *r, size_t count, size_t size) {
    void *p = r->rc ? NULL : arena_get(&r->mem, count, size);

    if (!p && !r->rc) {
        if (r->mem.is_over)
            jfail(r, EW_EINVAL, "the template takes more than %zu MiB", r->mem.max >> 20);
        else
            jfail(r, EW_ENOMEM, "out of memory");
    }
    return p;
}

/* ---- plain values --------------------------------------------------------------------------- */

jvalue jundef(jrun *r, const char *fmt, ...) {
    char text[160], *copy;
    va_list ap;
    size_t n;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    n = strlen(text);
    copy = jget(r, n + 1, 1);
    if (!copy) return (jvalue){.kind = JV_UNDEF, .u.why = "failed"};
    memcpy(copy, text, n);
    return (jvalue){.kind = JV_UNDEF, .u.why = copy};
}

jvalue jnone(void) {
    return (jvalue){.kind = JV_NONE};
}

jvalue jbool(bool b) {
    return (jvalue){.kind = JV_BOOL, .u.b = b};
}

jvalue jint(int64_t i) {
    return (jvalue){.kind = JV_INT, .u.i = i};
}

jvalue jfloat(double f) {
    return (jvalue){.kind = JV_FLOAT, .u.f = f};
}

static const char *list_type(jlist_kind kind) {
    switch (kind) {
    case SEQ_LIST:
        return "list";
    case SEQ_TUPLE:
        return "tuple";
    case SEQ_RANGE:
        return "range";
    case SEQ_ITEMS:
        return "dict_items";
    case SEQ_KEYS:
        return "dict_keys";
    case SEQ_VALUES:
        return "dict_values";
    case SEQ_GENERATOR:
        return "generator";
    }
    return "list";
}

const char *jtype(jvalue v) {
    switch (v.kind) {
    case JV_ABSENT:
    case JV_UNDEF:
        return "Undefined";
    case JV_NONE:
        return "NoneType";
    case JV_BOOL:
        return "bool";
    case JV_INT:
        return "int";
    case JV_FLOAT:
        return "float";
    case JV_STR:
        return "str";
    case JV_LIST:
        return list_type(v.u.list->kind);
    case JV_DICT:
        return "dict";
    case JV_SPACE:
        return "Namespace";
    case JV_LOOP:
        return "LoopContext";
    case JV_MACRO:
        return "Macro";
    case JV_BUILTIN:
        return "builtin_function_or_method";
    }
    return "object";
}

bool jtruth(jvalue v) {
    switch (v.kind) {
    case JV_ABSENT:
    case JV_UNDEF:
    case JV_NONE:
        return false;
    case JV_BOOL:
        return v.u.b;
    case JV_INT:
        return v.u.i != 0;
    case JV_FLOAT:
        return v.u.f != 0;
    case JV_STR:
        return v.u.s->s.n != 0;
    case JV_LIST:
        return v.u.list->n != 0 || v.u.list->kind == SEQ_GENERATOR;
    case JV_DICT:
        return v.u.dict->n != 0;
    case JV_SPACE:
    case JV_LOOP:
    case JV_MACRO:
    case JV_BUILTIN:
        break;
    }
    return true;
}

bool jis_number(jvalue v) {
    return v.kind == JV_BOOL || v.kind == JV_INT || v.kind == JV_FLOAT;
}

double jto_double(jvalue v) {
    return v.kind == JV_FLOAT ? v.u.f : v.kind == JV_BOOL ? v.u.b : (double)v.u.i;
}

bool jto_int(jvalue v, int64_t *out) {
    *out = v.kind == JV_BOOL ? v.u.b : v.u.i;
    return v.kind == JV_BOOL || v.kind == JV_INT;
}

/* ---- lists ---------------------------------------------------------------------------------- */

jlist *jlist_new(jrun *r, jlist_kind kind, size_t cap) {
    jlist *l = jget(r, 1, sizeof *l);

    if (!l) return NULL;
    l->kind = kind;
    if (!cap) return l;
    l->v = jget(r, cap, sizeof *l->v);
    if (l->v) l->cap = cap;
    return l->v ? l : NULL;
}

void jlist_add(jrun *r, jlist *l, jvalue v) {
    if (!l || !jstep(r, 1)) return;
    if (l->n == l->cap) {
        const size_t cap = l->cap ? l->cap * 2 : 8;
        jvalue *more = jget(r, cap, sizeof *more);

        if (!more) return;
        if (l->n) memcpy(more, l->v, l->n * sizeof *more);
        l->v = more;
        l->cap = cap;
    }
    l->v[l->n++] = v;
}

jvalue jlist_value(jlist *l) {
    return l ? (jvalue){.kind = JV_LIST, .u.list = l} : (jvalue){.kind = JV_UNDEF, .u.why = ""};
}

static bool each_char(jrun *r, const jstr *s, jlist *out) {
    for (size_t i = 0; i < s->s.n && !r->rc;) {
        uint32_t cp;
        const size_t n = jchar_at(s->s.p + i, s->s.n - i, &cp);

        jlist_add(r, out, jstr_part(r, s, i, i + n));
        i += n;
    }
    return !r->rc;
}

static bool each_key(jrun *r, const jdict *d, jlist *out) {
    for (size_t i = 0; i < d->n && !r->rc; i++) jlist_add(r, out, d->v[i].key);
    return !r->rc;
}

bool jiterate(jrun *r, jvalue v, jlist *out) {
    *out = (jlist){.kind = SEQ_LIST};
    if (r->rc) return false;
    switch (v.kind) {
    case JV_ABSENT:
    case JV_UNDEF:
        return true;
    case JV_STR:
        return each_char(r, v.u.s, out);
    case JV_DICT:
        return each_key(r, v.u.dict, out);
    case JV_LIST:
        if (!v.u.list->is_used) *out = *v.u.list;
        v.u.list->is_used = v.u.list->kind == SEQ_GENERATOR;
        return true;
    case JV_NONE:
    case JV_BOOL:
    case JV_INT:
    case JV_FLOAT:
    case JV_SPACE:
    case JV_LOOP:
    case JV_MACRO:
    case JV_BUILTIN:
        break;
    }
    jfail(r, EW_EINVAL, "'%s' object is not iterable", jtype(v));
    return false;
}

/* ---- dicts ---------------------------------------------------------------------------------- */

jdict *jdict_new(jrun *r, size_t cap) {
    jdict *d = jget(r, 1, sizeof *d);

    if (!d || !cap) return d;
    d->v = jget(r, cap, sizeof *d->v);
    if (d->v) d->cap = cap;
    return d->v ? d : NULL;
}

/* Keys that are equal have the same; 1, 1.0 and True are. */
static uint64_t hash_of(jrun *r, jvalue key) {
    switch (key.kind) {
    case JV_STR:
        return str_hash(key.u.s->s);
    case JV_BOOL:
    case JV_INT:
    case JV_FLOAT: /* infinity and nan are no int64_t */
        return isfinite(jto_double(key)) ? (uint64_t)(int64_t)fmod(jto_double(key), 1e15) : 1;
    case JV_LIST:
        if (key.u.list->kind != SEQ_LIST) return 1;
        break;
    case JV_DICT:
        break;
    case JV_ABSENT:
    case JV_UNDEF:
    case JV_NONE:
    case JV_SPACE:
    case JV_LOOP:
    case JV_MACRO:
    case JV_BUILTIN:
        return 1;
    }
    jfail(r, EW_EINVAL, "unhashable type: '%s'", jtype(key));
    return 0;
}

jvalue *jdict_find(jrun *r, const jdict *d, jvalue key) {
    const uint64_t hash = hash_of(r, key);

    if (!jstep(r, 1 + d->n / 16)) return NULL;
    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].hash == hash && jequal(r, d->v[i].key, key)) return &d->v[i].value;
    return NULL;
}

jvalue *jdict_find_str(const jdict *d, str key) {
    const uint64_t hash = str_hash(key);

    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].hash == hash && d->v[i].key.kind == JV_STR && str_eq(d->v[i].key.u.s->s, key))
            return &d->v[i].value;
    return NULL;
}

void jdict_set(jrun *r, jdict *d, jvalue key, jvalue v) {
    jvalue *at = d ? jdict_find(r, d, key) : NULL;

    if (at) *at = v;
    if (at || !d || r->rc) return;
    if (d->n == d->cap) {
        const size_t cap = d->cap ? d->cap * 2 : 8;
        jpair *more = jget(r, cap, sizeof *more);

        if (!more) return;
        if (d->n) memcpy(more, d->v, d->n * sizeof *more);
        d->v = more;
        d->cap = cap;
    }
    d->v[d->n++] = (jpair){.hash = hash_of(r, key), .key = key, .value = v};
}

jvalue jdict_value(jdict *d) {
    return d ? (jvalue){.kind = JV_DICT, .u.dict = d} : (jvalue){.kind = JV_UNDEF, .u.why = ""};
}
