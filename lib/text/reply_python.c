/* SPDX-License-Identifier: MIT
 *
 * Calls written as Python: [get_weather(city="Paris", days=2), add(a=1, b=[True, None])]. */
#include "text/reply.h"

#include "text/jinja_chars.h"

#include <string.h>

enum {
    DEPTH_MAX = 64
};

typedef struct {
    str s; /* what is left */
    unsigned depth;
} reader;

static void skip(reader *r, size_t n) {
    r->s = (str){r->s.p + n, r->s.n - n};
}

static bool take(reader *r, char c) {
    r->s = jchar_trim(r->s, true, false);
    if (!r->s.n || r->s.p[0] != c) return false;
    skip(r, 1);
    return true;
}

static str take_word(reader *r) {
    str out;

    r->s = jchar_trim(r->s, true, false);
    out = (str){r->s.p, 0};
    while (out.n < r->s.n && r->s.p[out.n] && !strchr("()[]{}=,:'\" \n", r->s.p[out.n])) out.n++;
    skip(r, out.n);
    return out;
}

static json_t *value(reader *r);

/* A string in either quotes; of the escapes, those that JSON has, too, and the quotes. */
static json_t *string(reader *r) {
    const char quote = r->s.p[0];
    json_t *v;
    strbuf b;

    strbuf_init(&b, r->s.n);
    skip(r, 1);
    while (r->s.n && r->s.p[0] != quote) {
        static const char from[] = "ntr", to[] = "\n\t\r";
        const bool is_escape = r->s.p[0] == '\\' && r->s.n > 1;
        const char *known = is_escape && r->s.p[1] ? strchr(from, r->s.p[1]) : NULL;

        strbuf_add(&b, known ? to + (known - from) : r->s.p + is_escape, 1);
        skip(r, is_escape ? 2 : 1);
    }
    v = r->s.n && !b.failed ? json_stringn(b.p ? b.p : "", b.n) : NULL;
    if (r->s.n) skip(r, 1);
    strbuf_fini(&b);
    return v;
}

static json_t *list(reader *r) {
    json_t *a = json_array();
    bool ok = a != NULL, ends = false;

    while (ok && !(ends = take(r, ']'))) {
        if (json_array_size(a) && !take(r, ',')) break;
        ok = json_array_append_new(a, value(r)) == 0;
    }
    if (ends) return a;
    json_decref(a);
    return NULL;
}

static json_t *dict(reader *r) {
    json_t *o = json_object(), *key;
    bool ok = o != NULL, ends = false;

    while (ok && !(ends = take(r, '}'))) {
        if (json_object_size(o) && !take(r, ',')) break;
        key = value(r);
        ok = json_is_string(key) && take(r, ':') &&
             json_object_set_new(o, json_string_value(key), value(r)) == 0;
        json_decref(key);
    }
    if (ends) return o;
    json_decref(o);
    return NULL;
}

static json_t *word(reader *r) {
    const str w = take_word(r);

    if (str_is(w, "True") || str_is(w, "true")) return json_true();
    if (str_is(w, "False") || str_is(w, "false")) return json_false();
    if (str_is(w, "None") || str_is(w, "null")) return json_null();
    return json_loadb(w.p, w.n, JSON_DECODE_ANY, NULL);
}

/* NULL when there is none; a list or an object refuses to take it then. */
static json_t *value(reader *r) {
    json_t *v;

    r->s = jchar_trim(r->s, true, false);
    if (!r->s.n || ++r->depth > DEPTH_MAX) return NULL;
    if (r->s.p[0] == '"' || r->s.p[0] == '\'')
        v = string(r);
    else if (take(r, '['))
        v = list(r);
    else if (take(r, '{'))
        v = dict(r);
    else
        v = word(r);
    r->depth--;
    return v;
}

/* NAME(key=value, ...) */
static json_t *call(reader *r) {
    const str name = take_word(r);
    json_t *arguments = take(r, '(') ? json_object() : NULL;
    bool ok = arguments != NULL, ends = false;

    while (ok && !(ends = take(r, ')'))) {
        str key;

        if (json_object_size(arguments) && !take(r, ',')) break;
        key = take_word(r);
        ok = key.n && take(r, '=') && reply_set(arguments, key, value(r));
    }
    if (ends) return reply_call_of(name, arguments);
    json_decref(arguments);
    return NULL;
}

bool reply_python_calls(json_t *calls, str body) {
    reader r = {.s = reply_trim(body)};
    const bool is_list = take(&r, '[');

    do {
        if (json_array_append_new(calls, call(&r))) return false;
    } while (take(&r, ','));
    return (!is_list || take(&r, ']')) && reply_trim(r.s).n == 0;
}
