/* SPDX-License-Identifier: MIT */
#include "text/schema.h"

#include "base/mem.h"

#include <stdlib.h>

/* ---- errors --------------------------------------------------------------------------------- */

bool schema_failed(const schema_reader *r) {
    return r->rc != EW_OK || r->g.failed;
}

/* Writes the way from `from` to `to` as a JSON pointer; true when it leads there. */
static bool find_path(json_t *from, const json_t *to, strbuf *path) {
    const size_t n = path->n;
    const char *key;
    json_t *value;
    size_t i;

    if (from == to) return true;
    json_object_foreach(from, key, value) {
        strbuf_printf(path, "/%s", key);
        if (find_path(value, to, path)) return true;
        path->n = n;
    }
    json_array_foreach(from, i, value) {
        strbuf_printf(path, "/%zu", i);
        if (find_path(value, to, path)) return true;
        path->n = n;
    }
    return false;
}

bool schema_refuse(schema_reader *r, const json_t *at, ew_status rc, const char *keyword,
                   const char *why) {
    strbuf path;

    if (schema_failed(r)) return false;
    strbuf_init(&path, 1 << 16);
    strbuf_puts(&path, "#");
    if (!find_path(r->root, at, &path)) path.n = 1;
    r->rc = fail(r->err, rc, "JSON Schema: %.*s%s%s: %s", path.p ? (int)path.n : 0,
                 path.p ? path.p : "", *keyword ? "/" : "", keyword, why);
    strbuf_fini(&path);
    return false;
}

/* ---- keywords ------------------------------------------------------------------------------- */

static bool is_one_of(const char *word, const char *const *list) {
    for (; *list; list++)
        if (!strcmp(word, *list)) return true;
    return false;
}

/* Everything that is neither read nor known to say nothing about the value is refused. */
static bool check_keywords(schema_reader *r, json_t *schema) {
    static const char *const read[] = {"$ref",
                                       "allOf",
                                       "anyOf",
                                       "oneOf",
                                       "type",
                                       "enum",
                                       "const",
                                       "properties",
                                       "required",
                                       "minProperties",
                                       "maxProperties",
                                       "additionalProperties",
                                       "items",
                                       "prefixItems",
                                       "minItems",
                                       "maxItems",
                                       "uniqueItems",
                                       "minLength",
                                       "maxLength",
                                       "pattern",
                                       "format",
                                       "minimum",
                                       "maximum",
                                       "exclusiveMinimum",
                                       "exclusiveMaximum",
                                       "multipleOf",
                                       "unevaluatedProperties",
                                       "additionalItems",
                                       NULL};
    static const char *const silent[] = {
        "$schema",     "$id",       "id",          "$comment",   "$defs",
        "definitions", "title",     "default",     "examples",   "example",
        "readOnly",    "writeOnly", "description", "deprecated", "discriminator",
        NULL};
    const char *key;
    json_t *value;

    json_object_foreach(schema, key, value) {
        if (is_one_of(key, read) || is_one_of(key, silent) || !strncmp(key, "x-", 2)) continue;
        return schema_refuse(r, schema, EW_EUNSUPPORTED, key, "this keyword is not supported");
    }
    return true;
}

/* ---- references ----------------------------------------------------------------------------- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One step of a JSON pointer without its escapes: %xx of URIs, then ~0 and ~1. */
static bool decode_step(str step, char *out, size_t cap) {
    size_t n = 0;

    for (size_t i = 0; i < step.n; i++) {
        char c = step.p[i];

        if (n + 1 >= cap) return false;
        if (c == '%' && i + 2 < step.n && hex_digit(step.p[i + 1]) >= 0 &&
            hex_digit(step.p[i + 2]) >= 0) {
            c = (char)(hex_digit(step.p[i + 1]) << 4 | hex_digit(step.p[i + 2]));
            i += 2;
        } else if (c == '~' && i + 1 < step.n) {
            c = step.p[++i] == '1' ? '/' : '~';
        }
        out[n++] = c;
    }
    out[n] = 0;
    return true;
}

static json_t *step_into(const json_t *at, const char *step) {
    char *end;
    unsigned long i;

    if (json_is_object(at)) return json_object_get(at, step);
    i = strtoul(step, &end, 10);
    return json_is_array(at) && *step && !*end ? json_array_get(at, i) : NULL;
}

/* The schema that a reference names; NULL after a failure. */
static json_t *resolve(schema_reader *r, const json_t *schema, const json_t *ref) {
    const char *p = json_string_value(ref);
    json_t *at = r->root;
    char step[256];

    if (!p || *p != '#' || (p[1] && p[1] != '/')) {
        schema_refuse(r, schema, EW_EUNSUPPORTED, "$ref",
                      "only references into the schema itself, such as #/$defs/name");
        return NULL;
    }
    for (p++; at && *p == '/';) {
        const size_t n = strcspn(p + 1, "/");

        at = decode_step((str){p + 1, n}, step, sizeof step) ? step_into(at, step) : NULL;
        p += n + 1;
    }
    if (!json_is_object(at) && !json_is_boolean(at)) {
        schema_refuse(r, schema, EW_EFORMAT, "$ref", "there is no schema at that place");
        return NULL;
    }
    return at;
}

/* ---- sets ----------------------------------------------------------------------------------- */

static void add_references(schema_reader *r, schema_set *s, const json_t *schema) {
    const json_t *ref = json_object_get(schema, "$ref");
    const json_t *all = json_object_get(schema, "allOf");
    json_t *part;
    size_t i;

    if (ref) {
        json_t *to = resolve(r, schema, ref);

        if (to) set_add(r, s, to);
    }
    if (all && (!json_is_array(all) || !json_array_size(all)))
        schema_refuse(r, schema, EW_EFORMAT, "allOf", "not a list of schemas");
    json_array_foreach(all, i, part) set_add(r, s, part);
}

void set_add(schema_reader *r, schema_set *s, json_t *schema) {
    size_t at;

    if (json_is_true(schema) || schema_failed(r)) return;
    if (json_is_false(schema)) {
        s->is_never = true;
        return;
    }
    if (!json_is_object(schema)) {
        schema_refuse(r, schema, EW_EFORMAT, "", "a schema must be an object, true or false");
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->v[i].schema != schema) continue;
        if (s->v[i].done)
            schema_refuse(r, schema, EW_EFORMAT, "", "refers to itself with nothing between");
        return;
    }
    if (!check_keywords(r, schema)) return;
    if (s->n == SET_MAX) {
        schema_refuse(r, schema, EW_EUNSUPPORTED, "", "too many schemas hold for one value");
        return;
    }
    at = s->n++;
    s->v[at] = (schema_item){schema, BEING_ADDED};
    add_references(r, s, schema);
    s->v[at].done = 0;
}

static bool same_set(const schema_set *a, const schema_set *b) {
    if (a->n != b->n || a->is_never != b->is_never) return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->v[i].schema != b->v[i].schema || a->v[i].done != b->v[i].done) return false;
    return true;
}

/* The rule for a set; *is_new: it has no body yet. */
static rule_id rule_for(schema_reader *r, const schema_set *s, bool *is_new) {
    schema_rule *v;

    *is_new = false;
    for (size_t i = 0; i < r->n_made; i++)
        if (same_set(&r->made[i].set, s)) return r->made[i].rule;
    v = expr_room(&r->g, r->made, r->n_made, &r->cap_made, sizeof *v);
    if (!v) return 0;
    r->made = v;
    *is_new = true;
    r->made[r->n_made] = (schema_rule){*s, expr_rule_new(&r->g)};
    return r->made[r->n_made++].rule;
}

/* ---- alternatives --------------------------------------------------------------------------- */

static bool check_one_of(schema_reader *r, const json_t *schema, const json_t *list) {
    const size_t n = json_array_size(list);

    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            if (branches_differ(r, json_array_get(list, i), json_array_get(list, k))) continue;
            return schema_refuse(r, schema, EW_EUNSUPPORTED, "oneOf",
                                 "two branches may accept the same value; anyOf allows that");
        }
    }
    return true;
}

static expr any_branch(schema_reader *r, const schema_set *s, size_t item, const char *keyword,
                       unsigned done) {
    const json_t *schema = s->v[item].schema, *list = json_object_get(schema, keyword);
    expr_list l = {0};
    json_t *branch;
    size_t i;
    expr e;

    if (!json_is_array(list) || !json_array_size(list)) {
        schema_refuse(r, schema, EW_EFORMAT, keyword, "not a list of schemas");
        return 0;
    }
    if (done == DONE_ONE_OF && !check_one_of(r, schema, list)) return 0;
    json_array_foreach(list, i, branch) {
        schema_set more = *s;

        more.v[item].done |= done;
        set_add(r, &more, branch);
        if (schema_failed(r)) break;
        expr_push(&r->g, &l, set_value(r, &more));
    }
    e = expr_alt(&r->g, l.v, l.n);
    mem_free(l.v);
    return e;
}

static expr set_body(schema_reader *r, const schema_set *s) {
    schema_facts f;

    if (s->is_never) return expr_never(&r->g);
    for (size_t i = 0; i < s->n; i++) {
        const schema_item it = s->v[i];

        if (!(it.done & DONE_ANY_OF) && json_object_get(it.schema, "anyOf"))
            return any_branch(r, s, i, "anyOf", DONE_ANY_OF);
        if (!(it.done & DONE_ONE_OF) && json_object_get(it.schema, "oneOf"))
            return any_branch(r, s, i, "oneOf", DONE_ONE_OF);
    }
    if (!facts_read(r, s, &f)) return 0;
    return value_of_facts(r, &f);
}

expr set_value(schema_reader *r, const schema_set *s) {
    bool is_new;
    rule_id rule;

    if (schema_failed(r)) return 0;
    if (r->depth >= SCHEMA_DEPTH_MAX) {
        schema_refuse(r, s->n ? s->v[0].schema : r->root, EW_EUNSUPPORTED, "", "nested too deep");
        return 0;
    }
    rule = rule_for(r, s, &is_new);
    if (is_new) {
        const expr body = (r->depth++, set_body(r, s));

        r->depth--;
        if (!schema_failed(r)) expr_define(&r->g, rule, body);
    }
    return expr_rule(&r->g, rule);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static ew_status read_schema(schema_reader *r, grammar **out) {
    schema_set *s = mem_array(1, sizeof *s);
    expr body;

    if (!s) return fail(r->err, EW_ENOMEM, "JSON Schema: out of memory");
    set_add(r, s, r->root);
    body = set_value(r, s);
    mem_free(s);
    if (r->rc) return r->rc;
    r->g.root = expr_rule_new(&r->g);
    expr_define(&r->g, r->g.root, body);
    return grammar_compile(out, &r->g, r->err);
}

ew_status grammar_from_schema(grammar **out, str text, ew_error *err) {
    schema_reader r = {.err = err};
    json_error_t why;
    json_t *root;
    ew_status rc;

    *out = NULL;
    if (text.n > GRAMMAR_TEXT_MAX)
        return fail(err, EW_EUNSUPPORTED, "JSON Schema: %zu bytes, the most are %d", text.n,
                    GRAMMAR_TEXT_MAX);
    root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (!root)
        return fail(err, EW_EFORMAT, "JSON Schema: line %d, column %d: %s", why.line, why.column,
                    why.text);
    r.root = root;
    r.blanks = r.character = r.string = r.number = -1;
    rc =
        expr_init(&r.g) ? read_schema(&r, out) : fail(err, EW_ENOMEM, "JSON Schema: out of memory");
    expr_fini(&r.g);
    mem_free(r.made);
    json_decref(root);
    return rc;
}
