/* SPDX-License-Identifier: MIT
 *
 * Values as text: Python's str() and repr(), and JSON as json.dumps writes it. */
#include "text/jinja_chars.h"
#include "text/jinja_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The shortest digits that read back as the same number; in out as "d.ddde+XX". */
static void shortest(double f, char out[40]) {
    for (int digits = 0; digits <= 16; digits++) {
        snprintf(out, 40, "%.*e", digits, f);
        if (strtod(out, NULL) == f) return;
    }
}

void jprint_float(jrun *r, jbuf *b, double f) {
    char e[40], text[64];
    int exponent, digits;

    if (isnan(f) || isinf(f)) {
        jbuf_puts(r, b, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
        return;
    }
    shortest(f, e);
    exponent = (int)strtol(strchr(e, 'e') + 1, NULL, 10);
    digits = (int)(strchr(e, 'e') - e) - (e[0] == '-') - (strchr(e, '.') != NULL);
    if (exponent < -4 || exponent >= 16) {
        snprintf(text, sizeof text, "%.*e", digits - 1, f);
    } else {
        const int places = digits - 1 - exponent;

        snprintf(text, sizeof text, "%.*f", places > 1 ? places : 1, f);
    }
    jbuf_puts(r, b, text);
}

static void print_int(jrun *r, jbuf *b, int64_t i) {
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)i);
    jbuf_puts(r, b, text);
}

/* ---- repr ----------------------------------------------------------------------------------- */

static void repr_char(jrun *r, jbuf *b, uint32_t cp, char quote, bool mark) {
    char text[16];

    if (cp == (uint32_t)quote || cp == '\\') {
        jbuf_puts(r, b, "\\");
        jbuf_char(r, b, cp, mark);
    } else if (cp == '\n' || cp == '\r' || cp == '\t') {
        jbuf_puts(r, b, cp == '\n' ? "\\n" : cp == '\r' ? "\\r" : "\\t");
    } else if (jchar_is_printable(cp)) {
        jbuf_char(r, b, cp, mark);
    } else {
        if (cp < 0x100)
            snprintf(text, sizeof text, "\\x%02x", cp);
        else
            snprintf(text, sizeof text, cp < 0x10000 ? "\\u%04x" : "\\U%08x", cp);
        jbuf_puts(r, b, text);
    }
}

static void repr_str(jrun *r, jbuf *b, const jstr *s) {
    const bool has_single = s->s.n && memchr(s->s.p, '\'', s->s.n);
    const bool has_double = s->s.n && memchr(s->s.p, '"', s->s.n);
    const char quote[2] = {has_single && !has_double ? '"' : '\'', 0};

    jbuf_puts(r, b, quote);
    for (size_t i = 0; i < s->s.n && !r->rc;) {
        uint32_t cp;
        const size_t n = jchar_at(s->s.p + i, s->s.n - i, &cp);

        repr_char(r, b, cp, quote[0], jstr_marked(s, i));
        i += n;
    }
    jbuf_puts(r, b, quote);
}

static void repr_values(jrun *r, jbuf *b, const jlist *l) {
    for (size_t i = 0; i < l->n && !r->rc; i++) {
        if (i) jbuf_puts(r, b, ", ");
        jrepr(r, b, l->v[i]);
    }
}

static void repr_list(jrun *r, jbuf *b, const jlist *l) {
    switch (l->kind) {
    case SEQ_LIST:
        jbuf_puts(r, b, "[");
        repr_values(r, b, l);
        jbuf_puts(r, b, "]");
        break;
    case SEQ_TUPLE:
        jbuf_puts(r, b, "(");
        repr_values(r, b, l);
        jbuf_puts(r, b, l->n == 1 ? ",)" : ")");
        break;
    case SEQ_ITEMS:
    case SEQ_KEYS:
    case SEQ_VALUES:
        jbuf_puts(r, b, jtype((jvalue){.kind = JV_LIST, .u.list = (jlist[]){*l}}));
        jbuf_puts(r, b, "([");
        repr_values(r, b, l);
        jbuf_puts(r, b, "])");
        break;
    case SEQ_RANGE:
        jfail(r, EW_EUNSUPPORTED, "printing a range is not supported");
        break;
    case SEQ_GENERATOR:
        jbuf_puts(r, b, "<generator object>");
        break;
    }
}

static void repr_dict(jrun *r, jbuf *b, const jdict *d) {
    jbuf_puts(r, b, "{");
    for (size_t i = 0; i < d->n && !r->rc; i++) {
        if (i) jbuf_puts(r, b, ", ");
        jrepr(r, b, d->v[i].key);
        jbuf_puts(r, b, ": ");
        jrepr(r, b, d->v[i].value);
    }
    jbuf_puts(r, b, "}");
}

static void repr_object(jrun *r, jbuf *b, jvalue v) {
    char text[64];

    if (v.kind == JV_SPACE) {
        jbuf_puts(r, b, "<Namespace ");
        repr_dict(r, b, v.u.dict);
        jbuf_puts(r, b, ">");
    } else if (v.kind == JV_MACRO) {
        jbuf_puts(r, b, "<Macro '");
        jbuf_add(r, b, v.u.macro->node->name.p, v.u.macro->node->name.n, NULL);
        jbuf_puts(r, b, "'>");
    } else if (v.kind == JV_LOOP) {
        snprintf(text, sizeof text, "<LoopContext %zu/%zu>", v.u.loop->i + 1, v.u.loop->items->n);
        jbuf_puts(r, b, text);
    } else {
        snprintf(text, sizeof text, "<function %s>", v.u.fn->name);
        jbuf_puts(r, b, text);
    }
}

void jrepr(jrun *r, jbuf *b, jvalue v) {
    if (!jenter(r)) return;
    switch (v.kind) {
    case JV_ABSENT:
    case JV_UNDEF:
        jbuf_puts(r, b, "Undefined");
        break;
    case JV_NONE:
        jbuf_puts(r, b, "None");
        break;
    case JV_BOOL:
        jbuf_puts(r, b, v.u.b ? "True" : "False");
        break;
    case JV_INT:
        print_int(r, b, v.u.i);
        break;
    case JV_FLOAT:
        jprint_float(r, b, v.u.f);
        break;
    case JV_STR:
        repr_str(r, b, v.u.s);
        break;
    case JV_LIST:
        repr_list(r, b, v.u.list);
        break;
    case JV_DICT:
        repr_dict(r, b, v.u.dict);
        break;
    case JV_SPACE:
    case JV_LOOP:
    case JV_MACRO:
    case JV_BUILTIN:
        repr_object(r, b, v);
        break;
    }
    jleave(r);
}

void jprint(jrun *r, jbuf *b, jvalue v) {
    if (v.kind == JV_STR)
        jbuf_str(r, b, v.u.s);
    else if (v.kind != JV_UNDEF && v.kind != JV_ABSENT)
        jrepr(r, b, v);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_unicode(jrun *r, jbuf *b, uint32_t cp) {
    char text[16];

    if (cp >= 0x10000)
        snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xD800 + ((cp - 0x10000) >> 10),
                 0xDC00 + ((cp - 0x10000) & 0x3FF));
    else
        snprintf(text, sizeof text, "\\u%04x", cp);
    jbuf_puts(r, b, text);
}

static void json_char(jrun *r, jbuf *b, uint32_t cp, bool ascii_only, bool mark) {
    static const char from[] = "\"\\\n\r\t\f\b", to[] = "\"\\nrtfb";
    const char *known = cp && cp < 0x80 ? strchr(from, (int)cp) : NULL;

    if (known)
        jbuf_puts(r, b, (char[]){'\\', to[known - from], 0});
    else if (cp < ' ' || (ascii_only && cp >= 0x7f))
        json_unicode(r, b, cp);
    else
        jbuf_char(r, b, cp, mark);
}

static void json_str(jrun *r, jbuf *b, const jstr *s, bool ascii_only) {
    jbuf_puts(r, b, "\"");
    for (size_t i = 0; i < s->s.n && !r->rc;) {
        uint32_t cp;
        const size_t n = jchar_at(s->s.p + i, s->s.n - i, &cp);

        json_char(r, b, cp, ascii_only, jstr_marked(s, i));
        i += n;
    }
    jbuf_puts(r, b, "\"");
}

static void json_float(jrun *r, jbuf *b, double f) {
    if (isnan(f))
        jbuf_puts(r, b, "NaN");
    else if (isinf(f))
        jbuf_puts(r, b, f < 0 ? "-Infinity" : "Infinity");
    else
        jprint_float(r, b, f);
}

static void json_break(jrun *r, jbuf *b, const jjson *how, unsigned level) {
    if (!how->has_indent) return;
    jbuf_puts(r, b, "\n");
    for (unsigned i = 0; i < level && !r->rc; i++)
        jbuf_add(r, b, how->indent.p, how->indent.n, NULL);
}

static void json_value(jrun *r, jbuf *b, jvalue v, const jjson *how, unsigned level);

static void json_list(jrun *r, jbuf *b, const jlist *l, const jjson *how, unsigned level) {
    if (!l->n) {
        jbuf_puts(r, b, "[]");
        return;
    }
    jbuf_puts(r, b, "[");
    for (size_t i = 0; i < l->n && !r->rc; i++) {
        if (i) jbuf_str(r, b, how->item);
        json_break(r, b, how, level + 1);
        json_value(r, b, l->v[i], how, level + 1);
    }
    json_break(r, b, how, level);
    jbuf_puts(r, b, "]");
}

static void json_key(jrun *r, jbuf *b, jvalue key, const jjson *how) {
    switch (key.kind) {
    case JV_STR:
        json_str(r, b, key.u.s, how->ascii_only);
        return;
    case JV_NONE:
    case JV_BOOL:
    case JV_INT:
    case JV_FLOAT:
        jbuf_puts(r, b, "\"");
        json_value(r, b, key, how, 0);
        jbuf_puts(r, b, "\"");
        return;
    case JV_ABSENT:
    case JV_UNDEF:
    case JV_LIST:
    case JV_DICT:
    case JV_SPACE:
    case JV_LOOP:
    case JV_MACRO:
    case JV_BUILTIN:
        break;
    }
    jfail(r, EW_EINVAL, "keys must be str, int, float, bool or None, not %s", jtype(key));
}

/* The pairs in the order of their keys. */
static const jdict *sorted(jrun *r, const jdict *d) {
    jdict *out = jdict_new(r, d->n);
    jkeyed *v = jget(r, d->n, sizeof *v);

    if (!out || !v) return d;
    for (size_t i = 0; i < d->n; i++) v[i] = (jkeyed){d->v[i].key, d->v[i].value};
    jsort(r, v, d->n, false);
    for (; out->n < d->n; out->n++)
        out->v[out->n] = (jpair){.key = v[out->n].key, .value = v[out->n].item};
    return out;
}

static void json_dict(jrun *r, jbuf *b, const jdict *d, const jjson *how, unsigned level) {
    if (how->sorts_keys) d = sorted(r, d);
    if (!d->n) {
        jbuf_puts(r, b, "{}");
        return;
    }
    jbuf_puts(r, b, "{");
    for (size_t i = 0; i < d->n && !r->rc; i++) {
        if (i) jbuf_str(r, b, how->item);
        json_break(r, b, how, level + 1);
        json_key(r, b, d->v[i].key, how);
        jbuf_str(r, b, how->key);
        json_value(r, b, d->v[i].value, how, level + 1);
    }
    json_break(r, b, how, level);
    jbuf_puts(r, b, "}");
}

static void json_scalar(jrun *r, jbuf *b, jvalue v, const jjson *how) {
    if (v.kind == JV_NONE)
        jbuf_puts(r, b, "null");
    else if (v.kind == JV_BOOL)
        jbuf_puts(r, b, v.u.b ? "true" : "false");
    else if (v.kind == JV_INT)
        print_int(r, b, v.u.i);
    else if (v.kind == JV_FLOAT)
        json_float(r, b, v.u.f);
    else if (v.kind == JV_STR)
        json_str(r, b, v.u.s, how->ascii_only);
    else
        jfail(r, EW_EINVAL, "Object of type %s is not JSON serializable", jtype(v));
}

static void json_value(jrun *r, jbuf *b, jvalue v, const jjson *how, unsigned level) {
    if (!jenter(r)) return;
    if (v.kind == JV_LIST && v.u.list->kind <= SEQ_TUPLE)
        json_list(r, b, v.u.list, how, level);
    else if (v.kind == JV_DICT)
        json_dict(r, b, v.u.dict, how, level);
    else
        json_scalar(r, b, v, how);
    jleave(r);
}

void jprint_json(jrun *r, jbuf *b, jvalue v, const jjson *how) {
    json_value(r, b, v, how, 0);
}
