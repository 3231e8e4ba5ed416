/* SPDX-License-Identifier: MIT
 *
 * The context of a rendering: JSON as values. */
#include "text/jinja_run.h"

/* What a conversation's strings say under these names belongs to the form and not to anybody's
 * text: templates build marks from it, "<|" + message.role + "|>". A word alone is no mark. */
static bool is_form(const char *key, const json_t *v) {
    const char *p = json_string_value(v);

    if (!p || (strcmp(key, "role") != 0 && strcmp(key, "type") != 0)) return false;
    while (*p == '_' || (*p >= 'a' && *p <= 'z')) p++;
    return p == json_string_value(v) + json_string_length(v);
}

/* People's and models' text stands in these variables. */
static bool has_text(const char *variable) {
    return strcmp(variable, "messages") == 0 || strcmp(variable, "tools") == 0 ||
           strcmp(variable, "documents") == 0;
}

static jvalue load_str(jrun *r, const char *p, size_t n, bool is_text) {
    char *copy = jget(r, n + 1, 1);
    uint8_t *mark = NULL;

    if (!copy) return jnone();
    memcpy(copy, p, n);
    if (is_text && n) {
        mark = jget(r, n, 1);
        if (!mark) return jnone();
        memset(mark, 1, n);
    }
    return jstr_value(r, (str){copy, n}, mark);
}

static jvalue load(jrun *r, const json_t *v, bool is_text);

static jvalue load_array(jrun *r, const json_t *v, bool is_text) {
    const size_t n = json_array_size(v);
    jlist *l = jlist_new(r, SEQ_LIST, n);

    for (size_t i = 0; i < n && !r->rc; i++)
        jlist_add(r, l, load(r, json_array_get(v, i), is_text));
    return jlist_value(l);
}

/* Iterating wants an object that it may change; it changes nothing. */
static json_t *writable(const json_t *v) {
    union {
        const json_t *in;
        json_t *out;
    } u = {v};

    return u.out;
}

static jdict *load_object(jrun *r, const json_t *v, bool is_text, bool is_top) {
    json_t *o = writable(v);
    jdict *d = jdict_new(r, json_object_size(v));

    for (void *it = json_object_iter(o); d && it && !r->rc; it = json_object_iter_next(o, it)) {
        const char *key = json_object_iter_key(it);
        const json_t *of = json_object_iter_value(it);
        const bool inner = is_text && (is_top ? has_text(key) : !is_form(key, of));
        const jvalue name = load_str(r, key, strlen(key), inner && !is_top);
        const jvalue value = load(r, of, inner);

        if (r->rc || !jstep(r, 1)) break;
        /* Keys of an object are different: no search for an equal one. */
        d->v[d->n++] = (jpair){.hash = str_hash(name.u.s->s), .key = name, .value = value};
    }
    return d;
}

static jvalue load(jrun *r, const json_t *v, bool is_text) {
    jvalue out = jnone();

    if (!jenter(r)) return out;
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        out = jdict_value(load_object(r, v, is_text, false));
        break;
    case JSON_ARRAY:
        out = load_array(r, v, is_text);
        break;
    case JSON_STRING:
        out = load_str(r, json_string_value(v), json_string_length(v), is_text);
        break;
    case JSON_INTEGER:
        out = jint(json_integer_value(v));
        break;
    case JSON_REAL:
        out = jfloat(json_real_value(v));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        out = jbool(json_is_true(v));
        break;
    case JSON_NULL:
        break;
    }
    jleave(r);
    return out;
}

jdict *jload(jrun *r, const json_t *values, bool marks_text) {
    if (!json_is_object(values)) {
        jfail(r, EW_EINVAL, "the context is no JSON object");
        return NULL;
    }
    return load_object(r, values, marks_text, true);
}
