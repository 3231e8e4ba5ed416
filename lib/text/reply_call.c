/* SPDX-License-Identifier: MIT
 *
 * The bodies of tool calls in the forms that models were taught. A body that is not quite right
 * gives no call at all: a tool must not be run with half of its arguments. */
#include "text/reply.h"

#include "base/mem.h"

bool reply_between(str s, size_t *at, const char *open, const char *close, str *out) {
    const size_t from = reply_find(s, open, *at);
    size_t begin, end;

    if (from > s.n) return false;
    begin = from + strlen(open);
    end = reply_find(s, close, begin);
    if (end > s.n) return false;
    *out = (str){s.p + begin, end - begin};
    *at = end + strlen(close);
    return true;
}

json_t *reply_call_of(str name, json_t *arguments) {
    json_t *n = json_stringn(name.p, name.n);

    if (name.n && n && arguments) return json_pack("{s:o, s:o}", "name", n, "arguments", arguments);
    json_decref(n);
    json_decref(arguments);
    return NULL;
}

bool reply_set(json_t *o, str key, json_t *v) {
    char *name = mem_copy_str(key.p, key.n);
    bool ok = false;

    if (name)
        ok = v && json_object_set_new(o, name, v) == 0;
    else
        json_decref(v);
    mem_free(name);
    return ok;
}

static json_t *parse(str s) {
    return json_loadb(s.p, s.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

/* An object, or the text of one. */
static json_t *object_of(json_t *v) {
    json_t *inner;

    if (json_is_object(v)) return json_incref(v);
    if (!json_is_string(v)) return NULL;
    inner = parse((str){json_string_value(v), json_string_length(v)});
    if (json_is_object(inner)) return inner;
    json_decref(inner);
    return NULL;
}

json_t *reply_named_call(str name, str arguments) {
    json_t *v = parse(reply_trim(arguments)), *o = v ? object_of(v) : NULL;

    json_decref(v);
    return o ? reply_call_of(name, o) : NULL;
}

/* Takes call; false: it is NULL, or no memory. */
static bool append(json_t *calls, json_t *call) {
    return json_array_append_new(calls, call) == 0;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* {"get_weather": {...}}: the name is the key. */
static json_t *keyed_call(json_t *v) {
    const char *key;
    json_t *value;

    if (json_object_size(v) != 1) return NULL;
    key = json_object_iter_key(json_object_iter(v));
    value = json_object_get(v, key);
    return json_is_object(value) ? reply_call_of(str_of(key), json_incref(value)) : NULL;
}

/* The names that models give to a call's parts. */
static json_t *object_call(json_t *v) {
    static const char *const names[] = {"arguments", "parameters", "args"};
    json_t *function = json_object_get(v, "function"), *name, *o;

    if (json_is_object(function)) return object_call(function);
    name = json_object_get(v, "name");
    if (!name) name = json_object_get(v, "tool_name");
    if (!name) name = function;
    if (!json_is_string(name)) return keyed_call(v);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *arguments = json_object_get(v, names[i]);

        if (!arguments) continue;
        o = object_of(arguments);
        return o ? reply_call_of(str_of(json_string_value(name)), o) : NULL;
    }
    return NULL;
}

/* Appends the call or calls in v; false: it is something else. */
static bool add_json(json_t *calls, json_t *v) {
    json_t *e;
    size_t i;

    if (!json_is_array(v)) return json_is_object(v) && append(calls, object_call(v));
    json_array_foreach(v, i, e) {
        if (!json_is_object(e) || !add_json(calls, e)) return false;
    }
    return json_array_size(v) != 0;
}

/* One value after the other, with nothing but white space, commas or semicolons between. */
static bool json_calls(json_t *calls, str s) {
    for (;;) {
        json_error_t where;
        json_t *v;
        bool is_call;

        s = reply_trim(s);
        while (s.n && (s.p[0] == ';' || s.p[0] == ',')) s = reply_trim((str){s.p + 1, s.n - 1});
        if (!s.n) return json_array_size(calls) != 0;
        v = json_loadb(s.p, s.n, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &where);
        is_call = v && add_json(calls, v);
        json_decref(v);
        if (!is_call || where.position <= 0 || (size_t)where.position > s.n) return false;
        s = (str){s.p + where.position, s.n - (size_t)where.position};
    }
}

/* ---- keys and values as text ---------------------------------------------------------------- */

static json_t *member(json_t *o, str key) {
    const char *name;
    json_t *v;

    json_object_foreach(o, name, v) {
        if (str_is(key, name)) return v;
    }
    return NULL;
}

/* The type that the tool's schema gives an argument; NULL: it says nothing. */
static const char *type_of(const json_t *tools, str function, str key) {
    json_t *tool;
    size_t i;

    json_array_foreach(tools, i, tool) {
        json_t *f = json_object_get(tool, "function");
        const char *name;

        if (!f) f = tool;
        name = json_string_value(json_object_get(f, "name"));
        if (!name || !str_is(function, name)) continue;
        f = json_object_get(json_object_get(f, "parameters"), "properties");
        return json_string_value(json_object_get(member(f, key), "type"));
    }
    return NULL;
}

/* A value that stands as plain text: a string where the schema says so, else what JSON reads in
 * it, else a string. */
static json_t *text_value(const json_t *tools, str function, str key, str value) {
    const char *type = type_of(tools, function, key);
    json_t *v = NULL;

    if (!type || strcmp(type, "string") != 0) v = parse(reply_trim(value));
    if (json_is_string(v) && !type) {
        json_decref(v); /* quotes that nobody asked for belong to the text */
        v = NULL;
    }
    return v ? v : json_stringn(value.p, value.n);
}

/* One newline on each side belongs to the form. */
static str without_newlines(str s) {
    if (s.n && s.p[0] == '\n') s = (str){s.p + 1, s.n - 1};
    if (s.n && s.p[s.n - 1] == '\n') s.n--;
    return s;
}

/* o, or NULL when it isn't complete: then it is freed. */
static json_t *if_complete(json_t *o, bool is_complete) {
    if (is_complete) return o;
    json_decref(o);
    return NULL;
}

/* <parameter=KEY>VALUE</parameter> ..., from `at` on. */
static json_t *xml_arguments(str s, size_t at, str function, const json_t *tools) {
    json_t *o = json_object();
    bool ok = true;
    str p;

    while (ok && reply_between(s, &at, "<parameter=", "</parameter>", &p)) {
        const size_t end = reply_find(p, ">", 0);
        str value;

        ok = end < p.n;
        if (!ok) break;
        value = without_newlines((str){p.p + end + 1, p.n - end - 1});
        p.n = end;
        ok = reply_set(o, p, text_value(tools, function, p, value));
    }
    return if_complete(o, ok && reply_find(s, "<parameter=", at) > s.n);
}

/* <function=NAME> parameters </function> */
static bool xml_calls(json_t *calls, str s, const json_t *tools) {
    size_t at = 0, n = 0;
    str f;

    for (; reply_between(s, &at, "<function=", "</function>", &f); n++) {
        const size_t close = reply_find(f, ">", 0);
        const str name = reply_trim((str){f.p, close <= f.n ? close : 0});

        if (close > f.n) return false;
        if (!append(calls, reply_call_of(name, xml_arguments(f, close + 1, name, tools))))
            return false;
    }
    return n != 0;
}

/* NAME <arg_key>KEY</arg_key> <arg_value>VALUE</arg_value> ... */
static bool key_calls(json_t *calls, str s, const json_t *tools) {
    const size_t first = reply_find(s, "<arg_key>", 0);
    const str name = reply_trim((str){s.p, first <= s.n ? first : s.n});
    json_t *o = json_object();
    size_t at = 0;
    bool ok = true;
    str key, value;

    while (ok && reply_between(s, &at, "<arg_key>", "</arg_key>", &key)) {
        key = reply_trim(key);
        ok = reply_between(s, &at, "<arg_value>", "</arg_value>", &value) &&
             reply_set(o, key, text_value(tools, name, key, value));
    }
    ok = ok && reply_find(s, "<arg_key>", at) > s.n;
    return append(calls, reply_call_of(name, if_complete(o, ok)));
}

/* <｜DSML｜parameter name="KEY" string="true">VALUE</...parameter> ..., from `at` on. */
static json_t *invoke_arguments(str s, size_t at) {
    json_t *o = json_object();
    bool ok = true;
    str p;

    while (ok && reply_between(s, &at, "parameter name=\"", "</｜DSML｜parameter>", &p)) {
        const size_t end = reply_find(p, "\"", 0), close = reply_find(p, ">", 0);
        bool is_text;
        str value;

        ok = end < close && close < p.n;
        if (!ok) break;
        is_text = reply_find((str){p.p, close}, "string=\"true\"", 0) <= close;
        value = (str){p.p + close + 1, p.n - close - 1};
        p.n = end;
        ok = reply_set(o, p, is_text ? json_stringn(value.p, value.n) : parse(reply_trim(value)));
    }
    return if_complete(o, ok && reply_find(s, "parameter name=\"", at) > s.n);
}

/* <｜DSML｜invoke name="NAME"> parameters </｜DSML｜invoke> */
static bool invoke_calls(json_t *calls, str s) {
    size_t at = 0, n = 0;
    str f;

    for (; reply_between(s, &at, "invoke name=\"", "</｜DSML｜invoke>", &f); n++) {
        const size_t quote = reply_find(f, "\"", 0);

        if (quote > f.n) return false;
        if (!append(calls, reply_call_of((str){f.p, quote}, invoke_arguments(f, quote))))
            return false;
    }
    return n != 0;
}

/* ---- a name, then JSON ---------------------------------------------------------------------- */

static bool add_named(json_t *calls, str name, str arguments) {
    return append(calls, reply_named_call(reply_trim(name), arguments));
}

/* "functions.NAME:0" as Kimi writes it. */
static str bare_name(str s) {
    size_t colon;

    s = reply_trim(s);
    if (!str_starts(s, str_of("functions."))) return s;
    s = (str){s.p + 10, s.n - 10};
    colon = reply_find(s, ":", 0);
    return colon < s.n ? (str){s.p, colon} : s;
}

/* "```json ... ```" */
static str without_fence(str s) {
    size_t at = 0;
    str inner;

    if (reply_between(s, &at, "```json", "```", &inner)) return inner;
    return s;
}

/* DeepSeek: "[function SEP] NAME SEP {...}" or "function SEP NAME ```json ...```". */
static bool deepseek_call(json_t *calls, str s) {
    static const char sep[] = "<｜tool▁sep｜>";
    const size_t at = reply_find(s, sep, 0);
    str first, rest;
    size_t brace;

    if (at > s.n) return false;
    first = reply_trim((str){s.p, at});
    rest = (str){s.p + at + sizeof sep - 1, s.n - at - (sizeof sep - 1)};
    if (!str_is(first, "function")) return add_named(calls, first, without_fence(rest));
    brace = reply_find(rest, "\n", 0);
    if (brace > rest.n) return false;
    return add_named(calls, (str){rest.p, brace},
                     without_fence((str){rest.p + brace, rest.n - brace}));
}

static bool section_calls(json_t *calls, str s) {
    size_t at = 0, n = 0;
    str call;

    for (; reply_between(s, &at, "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", &call); n++)
        if (!deepseek_call(calls, call)) return false;
    for (; reply_between(s, &at, "<|tool_call_begin|>", "<|tool_call_end|>", &call); n++) {
        const size_t args = reply_find(call, "<|tool_call_argument_begin|>", 0);
        const size_t skip = args + sizeof "<|tool_call_argument_begin|>" - 1;

        if (args > call.n) return false;
        if (!add_named(calls, bare_name((str){call.p, args}), (str){call.p + skip, call.n - skip}))
            return false;
    }
    return n != 0;
}

/* NAME[CALL_ID]ID[ARGS]{...}, NAME[ARGS]{...} or NAME{...} */
static bool mistral_call(json_t *calls, str s) {
    const size_t args = reply_find(s, "[ARGS]", 0), id = reply_find(s, "[CALL_ID]", 0);
    const size_t brace = reply_find(s, "{", 0);
    const size_t from = args <= s.n ? args + 6 : brace;
    size_t end = from;

    if (from > s.n) return false;
    if (args < end) end = args;
    if (id < end) end = id;
    return add_named(calls, (str){s.p, end}, (str){s.p + from, s.n - from});
}

static bool mistral_calls(json_t *calls, str s) {
    static const char mark[] = "[TOOL_CALLS]";

    s = reply_trim(s);
    if (s.n && s.p[0] == '[') return json_calls(calls, s);
    for (;;) {
        const size_t next = reply_find(s, mark, 0);
        const size_t skip = next + sizeof mark - 1;

        if (!mistral_call(calls, (str){s.p, next <= s.n ? next : s.n})) return false;
        if (next > s.n) return true;
        s = (str){s.p + skip, s.n - skip};
    }
}

/* NAME>{...}, what stands between "<function=" and "</function>". */
static bool tagged_call(json_t *calls, str s) {
    const size_t close = reply_find(s, ">", 0);

    if (close > s.n) return false;
    return add_named(calls, (str){s.p, close}, (str){s.p + close + 1, s.n - close - 1});
}

/* ---- all of them ---------------------------------------------------------------------------- */

static bool read_calls(json_t *calls, call_kind kind, str body, const json_t *tools) {
    switch (kind) {
    case CALL_JSON:
        return json_calls(calls, without_fence(body));
    case CALL_XML: /* some of these models fall back to JSON */
        return xml_calls(calls, body, tools) || json_calls(calls, body);
    case CALL_KEYS:
        return key_calls(calls, body, tools);
    case CALL_INVOKE:
        return invoke_calls(calls, body);
    case CALL_SECTIONS:
        return section_calls(calls, body);
    case CALL_MISTRAL:
        return mistral_calls(calls, body);
    case CALL_TAGGED:
        return tagged_call(calls, body);
    case CALL_GEMMA:
        return append(calls, reply_gemma_call(body));
    case CALL_PYTHON:
        return reply_python_calls(calls, body);
    }
    return false;
}

json_t *reply_calls(call_kind kind, str body, const json_t *tools) {
    json_t *calls = json_array();

    if (calls && read_calls(calls, kind, body, tools)) return calls;
    json_decref(calls);
    return NULL;
}
