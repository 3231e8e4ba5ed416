/* SPDX-License-Identifier: MIT
 *
 * What the schemas of a set say together: types intersect, limits narrow. */
#include "text/schema.h"

#include <math.h>

static bool refuse_form(schema_reader *r, const json_t *at, const char *keyword, const char *what) {
    return schema_refuse(r, at, EW_EFORMAT, keyword, what);
}

unsigned type_of_value(const json_t *v) {
    switch (json_typeof(v)) {
    case JSON_NULL:
        return TYPE_NULL;
    case JSON_TRUE:
    case JSON_FALSE:
        return TYPE_BOOL;
    case JSON_INTEGER:
        return TYPE_INT;
    case JSON_REAL:
        return json_real_value(v) == floor(json_real_value(v)) ? TYPE_INT : TYPE_REAL;
    case JSON_STRING:
        return TYPE_STRING;
    case JSON_ARRAY:
        return TYPE_ARRAY;
    case JSON_OBJECT:
        return TYPE_OBJECT;
    }
    return 0;
}

/* ---- types ---------------------------------------------------------------------------------- */

static unsigned type_named(const json_t *name) {
    static const struct {
        const char *name;
        unsigned types;
    } all[] = {{"null", TYPE_NULL},     {"boolean", TYPE_BOOL},
               {"integer", TYPE_INT},   {"number", TYPE_INT | TYPE_REAL},
               {"string", TYPE_STRING}, {"array", TYPE_ARRAY},
               {"object", TYPE_OBJECT}};

    for (size_t i = 0; json_is_string(name) && i < sizeof all / sizeof *all; i++)
        if (!strcmp(json_string_value(name), all[i].name)) return all[i].types;
    return 0;
}

static bool read_type(schema_reader *r, const json_t *schema, schema_facts *f) {
    const json_t *t = json_object_get(schema, "type");
    unsigned types = type_named(t);
    json_t *one;
    size_t i;

    if (!t) return true;
    json_array_foreach(t, i, one) {
        if (!type_named(one)) return refuse_form(r, schema, "type", "there is no such type");
        types |= type_named(one);
    }
    if (!types) return refuse_form(r, schema, "type", "there is no such type");
    f->types &= types;
    return true;
}

/* Where no type is given, the one that the other keywords speak of is meant. */
static unsigned types_meant(const schema_set *s) {
    static const struct {
        unsigned types;
        const char *keywords[9];
    } rows[] = {
        {TYPE_OBJECT,
         {"properties", "required", "additionalProperties", "minProperties", "maxProperties",
          "unevaluatedProperties"}},
        {TYPE_ARRAY, {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}},
        {TYPE_STRING, {"minLength", "maxLength", "pattern", "format"}},
        {TYPE_INT | TYPE_REAL,
         {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
    };
    unsigned types = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (json_object_get(s->v[i].schema, "type") || json_object_get(s->v[i].schema, "enum") ||
            json_object_get(s->v[i].schema, "const"))
            return TYPE_ANY;
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            for (size_t w = 0; w < 9 && rows[k].keywords[w]; w++)
                if (json_object_get(s->v[i].schema, rows[k].keywords[w])) types |= rows[k].types;
    }
    return types ? types : TYPE_ANY;
}

/* ---- limits --------------------------------------------------------------------------------- */

static bool read_bound(schema_reader *r, const json_t *schema, const char *keyword, bool is_min,
                       bool is_exclusive, number_bound *b) {
    const json_t *v = json_object_get(schema, keyword);
    double x;

    if (!v) return true;
    if (!json_is_number(v)) return refuse_form(r, schema, keyword, "not a number");
    x = json_number_value(v);
    if (!(fabs(x) <= 9e18)) return schema_refuse(r, schema, EW_EUNSUPPORTED, keyword, "too large");
    if (b->is_set && x == b->value) b->is_exclusive |= is_exclusive;
    if (b->is_set && (is_min ? x <= b->value : x >= b->value)) return true;
    *b = (number_bound){true, is_exclusive, x, schema};
    return true;
}

static bool read_bounds(schema_reader *r, const json_t *schema, schema_facts *f) {
    const json_t *step = json_object_get(schema, "multipleOf");

    if (step && !(json_is_number(step) && json_number_value(step) == 1))
        return schema_refuse(r, schema, EW_EUNSUPPORTED, "multipleOf",
                             "this keyword is not supported");
    if (step) f->types &= ~(unsigned)TYPE_REAL;
    return read_bound(r, schema, "minimum", true, false, &f->min) &&
           read_bound(r, schema, "exclusiveMinimum", true, true, &f->min) &&
           read_bound(r, schema, "maximum", false, false, &f->max) &&
           read_bound(r, schema, "exclusiveMaximum", false, true, &f->max);
}

/* A count as a limit; *at: the schema it stands in. */
static bool read_count(schema_reader *r, const json_t *schema, const char *keyword, bool is_min,
                       size_t *limit, const json_t **at) {
    const json_t *v = json_object_get(schema, keyword);
    double x;

    if (!v) return true;
    x = json_is_number(v) ? json_number_value(v) : -1;
    if (!(x >= 0) || x != floor(x)) return refuse_form(r, schema, keyword, "not a count");
    if (is_min && x > REPEAT_MAX)
        return schema_refuse(r, schema, EW_EUNSUPPORTED, keyword, "larger than 1000000");
    if (x > REPEAT_MAX) return true; /* checked by nobody, reached by nobody */
    if (is_min ? (size_t)x > *limit : (size_t)x < *limit) *limit = (size_t)x;
    *at = schema;
    return true;
}

static bool read_counts(schema_reader *r, const json_t *schema, schema_facts *f) {
    return read_count(r, schema, "minLength", true, &f->min_length, &f->length_at) &&
           read_count(r, schema, "maxLength", false, &f->max_length, &f->length_at) &&
           read_count(r, schema, "minItems", true, &f->min_items, &f->items_at) &&
           read_count(r, schema, "maxItems", false, &f->max_items, &f->items_at) &&
           read_count(r, schema, "minProperties", true, &f->min_properties, &f->properties_at) &&
           read_count(r, schema, "maxProperties", false, &f->max_properties, &f->properties_at);
}

/* ---- the rest ------------------------------------------------------------------------------- */

/* At most one schema of the set may have the keyword: two can't be combined. */
static bool read_text_keyword(schema_reader *r, const json_t *schema, const char *keyword,
                              const json_t **at) {
    const json_t *v = json_object_get(schema, keyword);

    if (!v) return true;
    if (!json_is_string(v)) return refuse_form(r, schema, keyword, "not a string");
    if (*at && !json_equal(json_object_get(*at, keyword), v))
        return schema_refuse(r, schema, EW_EUNSUPPORTED, keyword,
                             "two of these for one value are not supported");
    *at = schema;
    return true;
}

static bool read_object(schema_reader *r, const json_t *schema, schema_facts *f) {
    const json_t *more = json_object_get(schema, "additionalProperties");
    const json_t *rest = json_object_get(schema, "unevaluatedProperties");
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *required = json_object_get(schema, "required");
    json_t *name;
    size_t i;

    if (rest && !json_is_false(rest))
        return schema_refuse(r, schema, EW_EUNSUPPORTED, "unevaluatedProperties",
                             "only false is supported");
    if (more && !json_is_boolean(more) && !json_is_object(more))
        return refuse_form(r, schema, "additionalProperties", "not a schema");
    if (properties && !json_is_object(properties))
        return refuse_form(r, schema, "properties", "not an object");
    if (required && !json_is_array(required))
        return refuse_form(r, schema, "required", "not a list of names");
    json_array_foreach(required, i, name) {
        if (!json_is_string(name)) return refuse_form(r, schema, "required", "not a list of names");
    }
    f->names_properties |= properties && json_object_size(properties);
    f->is_closed |= json_is_false(more);
    f->is_closed |= rest && !more;
    f->is_open |= more && !json_is_false(more);
    return true;
}

static bool read_array(schema_reader *r, const json_t *schema) {
    const json_t *unique = json_object_get(schema, "uniqueItems");
    const json_t *prefix = json_object_get(schema, "prefixItems");
    const json_t *items = json_object_get(schema, "items");

    if (json_is_true(unique))
        return schema_refuse(r, schema, EW_EUNSUPPORTED, "uniqueItems",
                             "this keyword is not supported");
    if (prefix && !json_is_array(prefix))
        return refuse_form(r, schema, "prefixItems", "not a list of schemas");
    if (items && !json_is_object(items) && !json_is_boolean(items) &&
        (!json_is_array(items) || prefix))
        return refuse_form(r, schema, "items", "not a schema");
    return true;
}

static bool read_values(schema_reader *r, const json_t *schema, schema_facts *f) {
    const json_t *values = json_object_get(schema, "enum");

    if (values && !json_is_array(values)) return refuse_form(r, schema, "enum", "not a list");
    f->has_values |= values || json_object_get(schema, "const");
    return true;
}

bool facts_read(schema_reader *r, const schema_set *s, schema_facts *f) {
    *f = (schema_facts){.set = s,
                        .types = types_meant(s),
                        .max_length = SIZE_MAX,
                        .max_items = SIZE_MAX,
                        .max_properties = SIZE_MAX};
    for (size_t i = 0; i < s->n && !schema_failed(r); i++) {
        const json_t *schema = s->v[i].schema;

        if (read_type(r, schema, f) && read_bounds(r, schema, f) && read_counts(r, schema, f) &&
            read_object(r, schema, f) && read_array(r, schema) && read_values(r, schema, f) &&
            read_text_keyword(r, schema, "pattern", &f->pattern_at))
            read_text_keyword(r, schema, "format", &f->format_at);
    }
    return !schema_failed(r);
}
