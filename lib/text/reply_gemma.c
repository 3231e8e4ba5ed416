/* SPDX-License-Identifier: MIT
 *
 * Gemma 4's way to write a call: call:NAME{key:<|"|>text<|"|>,n:1,list:[true,null],o:{k:2}}. */
#include "text/reply.h"

#include "text/jinja_chars.h"

enum {
    DEPTH_MAX = 64
};

static const char quote[] = "<|\"|>";

typedef struct {
    str s; /* what is left */
    unsigned depth;
} reader;

static bool take(reader *r, char c) {
    r->s = jchar_trim(r->s, true, false);
    if (!r->s.n || r->s.p[0] != c) return false;
    r->s = (str){r->s.p + 1, r->s.n - 1};
    return true;
}

/* Up to one of the characters in `ends`. */
static str until(reader *r, const char *ends) {
    str out = {r->s.p, 0};

    while (out.n < r->s.n && (!r->s.p[out.n] || !strchr(ends, r->s.p[out.n]))) out.n++;
    r->s = (str){r->s.p + out.n, r->s.n - out.n};
    return out;
}

static bool take_quoted(reader *r, str *out) {
    size_t at = 0;

    if (!str_starts(r->s, str_of(quote)) || !reply_between(r->s, &at, quote, quote, out))
        return false;
    r->s = (str){r->s.p + at, r->s.n - at};
    return true;
}

static json_t *value(reader *r);

static json_t *object(reader *r) {
    json_t *o = json_object();
    bool ok = o != NULL, ends = false;

    while (ok && !(ends = take(r, '}'))) {
        str key;
        json_t *v;

        if (json_object_size(o) && !take(r, ',')) break;
        r->s = jchar_trim(r->s, true, false);
        if (!take_quoted(r, &key)) key = reply_trim(until(r, ":,{}"));
        v = key.n && take(r, ':') ? value(r) : NULL;
        ok = v && reply_set(o, key, v);
    }
    if (ends) return o;
    json_decref(o);
    return NULL;
}

static json_t *array(reader *r) {
    json_t *a = json_array();
    bool ok = a != NULL, ends = false;

    while (ok && !(ends = take(r, ']'))) {
        json_t *v;

        if (json_array_size(a) && !take(r, ',')) break;
        v = value(r);
        ok = v && json_array_append_new(a, v) == 0;
    }
    if (ends) return a;
    json_decref(a);
    return NULL;
}

static json_t *value(reader *r) {
    json_t *v = NULL;
    str text;

    if (++r->depth > DEPTH_MAX) return NULL;
    r->s = jchar_trim(r->s, true, false);
    if (take_quoted(r, &text)) {
        v = json_stringn(text.p, text.n);
    } else if (take(r, '{')) {
        v = object(r);
    } else if (take(r, '[')) {
        v = array(r);
    } else {
        text = reply_trim(until(r, ",}]"));
        v = json_loadb(text.p, text.n, JSON_DECODE_ANY, NULL);
        if (!v && text.n) v = json_stringn(text.p, text.n);
    }
    r->depth--;
    return v;
}

json_t *reply_gemma_call(str body) {
    static const char call[] = "call:";
    reader r = {.s = reply_trim(body)};
    json_t *arguments;
    str name;

    if (!str_starts(r.s, str_of(call))) return NULL;
    r.s = (str){r.s.p + 5, r.s.n - 5};
    name = reply_trim(until(&r, "{"));
    arguments = take(&r, '{') ? object(&r) : NULL;
    if (reply_trim(r.s).n) {
        json_decref(arguments);
        return NULL;
    }
    return reply_call_of(name, arguments);
}
