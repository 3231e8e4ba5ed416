/* SPDX-License-Identifier: MIT
 *
 * Values by type: literals, arrays, objects. Properties come in the schema's order, so that a model
 * sees them as they were written; an optional one may be left out. */
#include "text/schema.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>

/* ---- blanks --------------------------------------------------------------------------------- */

/* One space, or one line end and an indentation; bounded, so that no model spins on blanks. */
expr blanks(schema_reader *r) {
    static const char_range indent[] = {{' ', ' '}, {'\t', '\t'}};
    grammar_expr *g = &r->g;

    if (r->blanks < 0) {
        const expr line = expr_seq_of(g, 2, expr_lit(g, "\n"),
                                      expr_repeat(g, expr_set(g, indent, 2, false), 0, BLANKS_MAX));

        r->blanks = expr_rule_new(g);
        expr_define(g, r->blanks, expr_optional(g, expr_alt_of(g, 2, expr_lit(g, " "), line)));
    }
    return expr_rule(g, r->blanks);
}

/* ---- literals ------------------------------------------------------------------------------- */

/* The value as text (mem_free), reals with this many digits; NULL: no memory. */
static char *dump(const json_t *v, unsigned digits) {
    return json_dump_text(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(digits), NULL);
}

static bool reads_back(const char *text, const json_t *v) {
    json_t *back = json_loads(text, JSON_DECODE_ANY, NULL);
    const bool is_same = back && json_equal(back, v);

    json_decref(back);
    return is_same;
}

expr exact_json(schema_reader *r, const json_t *v) {
    char *text = NULL;
    expr e = 0;

    for (unsigned digits = 15; digits <= 17; digits++) { /* as few as a double needs */
        mem_free(text);
        text = dump(v, digits);
        if (!text || reads_back(text, v)) break;
    }
    if (text)
        e = expr_lit(&r->g, text);
    else
        r->g.failed = true;
    mem_free(text);
    return e;
}

static bool is_equal(const json_t *a, const json_t *b) {
    if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

bool in_all_enums(const schema_set *s, const json_t *v) {
    for (size_t i = 0; i < s->n; i++) {
        const json_t *list = json_object_get(s->v[i].schema, "enum");
        const json_t *only = json_object_get(s->v[i].schema, "const");
        bool is_there = !list;
        json_t *one;
        size_t k;

        json_array_foreach(list, k, one) is_there |= is_equal(one, v);
        if (!is_there || (only && !is_equal(only, v))) return false;
    }
    return true;
}

const json_t *first_enum(const schema_set *s) {
    for (size_t i = 0; i < s->n; i++) {
        const json_t *only = json_object_get(s->v[i].schema, "const");
        const json_t *list = json_object_get(s->v[i].schema, "enum");

        if (only || list) return s->v[i].schema;
    }
    return NULL;
}

static size_t count_characters(const char *s) {
    size_t n = 0;

    for (; *s; s++) n += ((uint8_t)*s & 0xC0) != 0x80;
    return n;
}

static bool number_fits(const schema_facts *f, double x) {
    if (f->min.is_set && (f->min.is_exclusive ? x <= f->min.value : x < f->min.value)) return false;
    return !f->max.is_set || (f->max.is_exclusive ? x < f->max.value : x <= f->max.value);
}

bool value_fits(schema_reader *r, const schema_facts *f, const json_t *v) {
    const unsigned type = type_of_value(v);
    size_t n;

    if (!(type & f->types) || !in_all_enums(f->set, v)) return false;
    if (type & (TYPE_INT | TYPE_REAL)) return number_fits(f, json_number_value(v));
    if (type == TYPE_STRING && (f->pattern_at || f->format_at))
        return schema_refuse(r, f->pattern_at ? f->pattern_at : f->format_at, EW_EUNSUPPORTED,
                             f->pattern_at ? "pattern" : "format",
                             "together with enum or const this is not supported");
    if (type == TYPE_STRING) {
        n = count_characters(json_string_value(v));
        return n >= f->min_length && n <= f->max_length;
    }
    if ((type == TYPE_OBJECT && (f->names_properties || f->is_closed || f->properties_at)) ||
        (type == TYPE_ARRAY && f->items_at))
        return schema_refuse(r, first_enum(f->set), EW_EUNSUPPORTED, "",
                             "enum or const of objects or arrays together with other keywords for "
                             "them is not supported");
    return true;
}

static expr values(schema_reader *r, const schema_facts *f) {
    const json_t *schema = first_enum(f->set);
    const json_t *only = json_object_get(schema, "const");
    const json_t *list = json_object_get(schema, "enum");
    expr_list l = {0};
    json_t *one;
    size_t i;
    expr e;

    if (only) return value_fits(r, f, only) ? exact_json(r, only) : expr_never(&r->g);
    json_array_foreach(list, i, one) {
        if (value_fits(r, f, one)) expr_push(&r->g, &l, exact_json(r, one));
    }
    e = expr_alt(&r->g, l.v, l.n);
    mem_free(l.v);
    return e;
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* The item at a place: what every schema of the set says of it. False: none may be there. */
static bool item_set(schema_reader *r, const schema_set *s, size_t at, schema_set *out) {
    *out = (schema_set){.n = 0};
    for (size_t i = 0; i < s->n; i++) {
        json_t *schema = s->v[i].schema, *items = json_object_get(schema, "items");
        const json_t *prefix = json_object_get(schema, "prefixItems");
        json_t *rest =
            prefix || !json_is_array(items) ? items : json_object_get(schema, "additionalItems");

        if (!prefix && json_is_array(items)) prefix = items; /* as before 2020 */
        if (at < json_array_size(prefix))
            set_add(r, out, json_array_get(prefix, at));
        else if (rest)
            set_add(r, out, rest);
        else if (prefix)
            out->is_never |= at >= json_array_size(prefix) && at != SIZE_MAX;
    }
    return !out->is_never;
}

static size_t prefix_length(const schema_set *s) {
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        const json_t *prefix = json_object_get(s->v[i].schema, "prefixItems");
        const json_t *items = json_object_get(s->v[i].schema, "items");
        const size_t k = json_array_size(prefix ? prefix : items);

        if (k > n) n = k;
    }
    return n;
}

/* One item with what stands before it. */
static expr array_item(schema_reader *r, const schema_set *item, bool is_first) {
    const expr value = set_value(r, item);

    if (is_first) return value;
    return expr_seq_of(&r->g, 3, expr_lit(&r->g, ","), blanks(r), value);
}

/* The items from `at` on; with a prefix all of its places are filled, as far as they may be. */
static expr array_items(schema_reader *r, const schema_facts *f, size_t n_prefix) {
    const size_t max = f->max_items, min = f->min_items;
    grammar_expr *g = &r->g;
    schema_set item;
    expr_list l = {0};
    size_t at = 0;
    expr e;

    for (; at < n_prefix && at < max && item_set(r, f->set, at, &item); at++)
        expr_push(g, &l, array_item(r, &item, at == 0));
    if (at == n_prefix && at < max && item_set(r, f->set, at, &item)) {
        if (at == 0) expr_push(g, &l, array_item(r, &item, true));
        at += at == 0;
        e = expr_repeat(g, array_item(r, &item, false), min > at ? (uint32_t)(min - at) : 0,
                        max == SIZE_MAX ? REPEAT_ANY : (uint32_t)(max - at));
        expr_push(g, &l, e);
    } else if (at < min) {
        expr_push(g, &l, expr_never(g));
    }
    e = l.n ? expr_seq(g, l.v, l.n) : expr_never(g);
    mem_free(l.v);
    return e;
}

static expr array(schema_reader *r, const schema_facts *f) {
    const size_t n_prefix = prefix_length(f->set);
    grammar_expr *g = &r->g;
    expr inner;

    if (f->max_items < f->min_items) return expr_never(g);
    inner =
        f->max_items ? expr_seq_of(g, 2, array_items(r, f, n_prefix), blanks(r)) : expr_empty(g);
    if (!f->min_items && (!n_prefix || !f->max_items)) inner = expr_optional(g, inner);
    return expr_seq_of(g, 4, expr_lit(g, "["), blanks(r), inner, expr_lit(g, "]"));
}

/* ---- objects -------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    bool is_required;
    expr pair; /* "name": value */
} property;

typedef struct {
    property *v;
    size_t n, cap;
} property_list;

static property *find_property(property_list *l, const char *name) {
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->v[i].name, name)) return &l->v[i];
    return NULL;
}

static property *add_property(schema_reader *r, property_list *l, const char *name) {
    property *p = find_property(l, name), *v;

    if (p) return p;
    v = expr_room(&r->g, l->v, l->n, &l->cap, sizeof *v);
    if (!v) return NULL;
    l->v = v;
    l->v[l->n] = (property){.name = name};
    return &l->v[l->n++];
}

static void collect_properties(schema_reader *r, const schema_set *s, property_list *l) {
    const char *name;
    json_t *value;
    size_t k;

    for (size_t i = 0; i < s->n; i++) {
        json_object_foreach(json_object_get(s->v[i].schema, "properties"), name, value) {
            add_property(r, l, name);
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        json_array_foreach(json_object_get(s->v[i].schema, "required"), k, value) {
            property *p = add_property(r, l, json_string_value(value));

            if (p) p->is_required = true;
        }
    }
}

void property_set(schema_reader *r, const schema_set *s, const char *name, schema_set *out) {
    *out = (schema_set){.n = 0};
    for (size_t i = 0; i < s->n; i++) {
        const json_t *schema = s->v[i].schema;
        json_t *own = name ? json_object_get(json_object_get(schema, "properties"), name) : NULL;
        json_t *more = json_object_get(schema, "additionalProperties");

        if (own || more) set_add(r, out, own ? own : more);
    }
}

static expr colon(schema_reader *r) {
    return expr_seq_of(&r->g, 2, expr_lit(&r->g, ":"), expr_optional(&r->g, expr_lit(&r->g, " ")));
}

static expr property_pair(schema_reader *r, const schema_set *s, const char *name) {
    json_t *key = json_string(name);
    schema_set value;
    expr e = 0;

    property_set(r, s, name, &value);
    if (key)
        e = expr_seq_of(&r->g, 3, exact_json(r, key), colon(r), set_value(r, &value));
    else
        r->g.failed = true;
    json_decref(key);
    return e;
}

static int by_name(const void *a, const void *b) {
    const str *x = a, *y = b;
    const int c = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

    return c ? c : x->n < y->n ? -1 : x->n > y->n;
}

/* A pair whose name no schema of the set has. */
static expr other_pair(schema_reader *r, const schema_facts *f, const property_list *l) {
    str *names = mem_array(l->n, sizeof *names);
    schema_set value;
    expr e = 0;

    if (!names) {
        r->g.failed = true;
        return 0;
    }
    for (size_t i = 0; i < l->n; i++) names[i] = str_of(l->v[i].name);
    if (l->n) qsort(names, l->n, sizeof *names, by_name);
    property_set(r, f->set, NULL, &value);
    e = expr_seq_of(&r->g, 3, string_but(r, names, l->n), colon(r), set_value(r, &value));
    mem_free(names);
    return e;
}

/* How many other pairs may follow those named. */
static bool others_limit(schema_reader *r, const schema_facts *f, const property_list *l, bool any,
                         size_t *max) {
    size_t n_required = 0;

    for (size_t i = 0; i < l->n; i++) n_required += l->v[i].is_required;
    *max = any ? SIZE_MAX : 0;
    if (!f->properties_at) return true;
    if (f->min_properties > n_required)
        return schema_refuse(r, f->properties_at, EW_EUNSUPPORTED, "minProperties",
                             "more than the required ones is not supported");
    if (f->max_properties == SIZE_MAX) return true;
    if (f->max_properties < l->n)
        return schema_refuse(r, f->properties_at, EW_EUNSUPPORTED, "maxProperties",
                             "fewer than those named is not supported");
    if (any) *max = f->max_properties - l->n;
    return true;
}

/* The pairs, from the last to the first: `after` what may follow once there is one before, `first`
 * what may follow while there is none. One rule each and pair, so that optional ones do not
 * multiply. */
static expr pairs(schema_reader *r, const property_list *l, expr other, size_t max_other) {
    grammar_expr *g = &r->g;
    const expr comma = expr_seq_of(g, 2, expr_lit(g, ","), blanks(r));
    const uint32_t most = max_other == SIZE_MAX ? REPEAT_ANY : (uint32_t)max_other;
    expr after = blanks(r), first = expr_empty(g);

    if (max_other) {
        after = expr_seq_of(g, 2, expr_repeat(g, expr_seq_of(g, 2, comma, other), 0, most), after);
        first = expr_optional(g, expr_seq_of(g, 3, other,
                                             expr_repeat(g, expr_seq_of(g, 2, comma, other), 0,
                                                         most == REPEAT_ANY ? most : most - 1),
                                             blanks(r)));
    }
    for (size_t i = l->n; i-- > 0;) {
        const property *p = &l->v[i];
        const rule_id rest = expr_rule_new(g), start = expr_rule_new(g);
        const expr with = expr_seq_of(g, 3, comma, p->pair, after);
        const expr begins = expr_seq_of(g, 2, p->pair, after);

        expr_define(g, rest, p->is_required ? with : expr_alt_of(g, 2, with, after));
        expr_define(g, start, p->is_required ? begins : expr_alt_of(g, 2, begins, first));
        after = expr_rule(g, rest);
        first = expr_rule(g, start);
    }
    return first;
}

static expr object(schema_reader *r, const schema_facts *f) {
    const bool any = !f->is_closed && (f->is_open || !f->names_properties);
    grammar_expr *g = &r->g;
    property_list l = {0};
    size_t max_other;
    expr other = 0, e = 0;

    collect_properties(r, f->set, &l);
    if (!others_limit(r, f, &l, any, &max_other)) goto out;
    for (size_t i = 0; i < l.n && !schema_failed(r); i++)
        l.v[i].pair = property_pair(r, f->set, l.v[i].name);
    if (max_other) other = other_pair(r, f, &l);
    e = expr_seq_of(g, 4, expr_lit(g, "{"), blanks(r), pairs(r, &l, other, max_other),
                    expr_lit(g, "}"));
out:
    mem_free(l.v);
    return e;
}

/* ---- all types ------------------------------------------------------------------------------ */

expr value_of_facts(schema_reader *r, const schema_facts *f) {
    grammar_expr *g = &r->g;
    expr_list l = {0};
    expr e;

    if (f->has_values) return values(r, f);
    if (f->types & TYPE_OBJECT) expr_push(g, &l, object(r, f));
    if (f->types & TYPE_ARRAY) expr_push(g, &l, array(r, f));
    if (f->types & TYPE_STRING) expr_push(g, &l, string_of_facts(r, f));
    if (f->types & (TYPE_INT | TYPE_REAL)) expr_push(g, &l, number_of_facts(r, f));
    if (f->types & TYPE_BOOL)
        expr_push(g, &l, expr_alt_of(g, 2, expr_lit(g, "true"), expr_lit(g, "false")));
    if (f->types & TYPE_NULL) expr_push(g, &l, expr_lit(g, "null"));
    e = expr_alt(g, l.v, l.n);
    mem_free(l.v);
    return e;
}
