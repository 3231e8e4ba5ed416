/* SPDX-License-Identifier: MIT
 *
 * Inside the reader of JSON Schema: what its parts offer each other. Files: schema.c (keywords,
 * references, alternatives), schema_facts.c (what several schemas say together), schema_value.c
 * (objects, arrays, literals), schema_number.c, schema_string.c (lengths, formats),
 * schema_pattern.c (regular expressions), schema_one.c (oneOf).
 *
 * A value is described by a set of schemas that all hold for it: $ref and allOf add to the set,
 * anyOf and oneOf make one alternative of each branch added. A set without such becomes rules, one
 * a set, so that recursion ends. What is made may be less than what the schema accepts (no unknown
 * keys, no needless blanks), never more. */
#ifndef EW_TEXT_SCHEMA_H
#define EW_TEXT_SCHEMA_H

#include "text/grammar.h"

#include <jansson.h>

enum {
    SET_MAX = 64, /* schemas that hold for one value */
    SCHEMA_DEPTH_MAX = 200,
    BLANKS_MAX = 20, /* of one indentation */
    INT_DIGITS = 15, /* of a number without limits: exact as a double */
    FRACTION_DIGITS = 15
};

/* Types as bits. An integer is a number without a fraction: "number" is both. */
enum {
    TYPE_NULL = 1,
    TYPE_BOOL = 2,
    TYPE_INT = 4,
    TYPE_REAL = 8,
    TYPE_STRING = 16,
    TYPE_ARRAY = 32,
    TYPE_OBJECT = 64,
    TYPE_ANY = 127
};

/* Keywords of a schema that are dealt with already. */
enum {
    DONE_ANY_OF = 1,
    DONE_ONE_OF = 2,
    BEING_ADDED = 4 /* its references are followed at the moment */
};

typedef struct {
    json_t *schema; /* an object */
    unsigned done;
} schema_item;

typedef struct {
    schema_item v[SET_MAX];
    size_t n;
    bool is_never; /* false is among them */
} schema_set;

typedef struct {
    schema_set set;
    rule_id rule;
} schema_rule;

typedef struct {
    json_t *root;
    grammar_expr g;
    schema_rule *made;
    size_t n_made, cap_made;
    rule_id blanks, character, string, number; /* -1: not made yet */
    int depth;
    ew_status rc;
    ew_error *err;
} schema_reader;

/* Bounds of numbers as written, so that decimals are exact. */
typedef struct {
    bool is_set, is_exclusive;
    double value;
    const json_t *schema; /* where it stands */
} number_bound;

/* What the schemas of a set say, without $ref, allOf, anyOf and oneOf. */
typedef struct {
    const schema_set *set;
    unsigned types;
    bool has_values; /* enum or const */
    bool is_closed;  /* no other properties than those named */
    bool is_open;    /* others are allowed explicitly */
    bool names_properties;
    number_bound min, max;
    size_t min_length, max_length, min_items, max_items, min_properties, max_properties;
    const json_t *length_at, *items_at, *properties_at; /* the schemas with limits; NULL: none */
    const json_t *pattern_at, *format_at;
} schema_facts;

/* The first failure stays; returns false. The text says where in the schema. */
bool schema_refuse(schema_reader *r, const json_t *at, ew_status rc, const char *keyword,
                   const char *why);
bool schema_failed(const schema_reader *r);

/* schema.c: sets. */
void set_add(schema_reader *r, schema_set *s, json_t *schema);
expr set_value(schema_reader *r, const schema_set *s); /* a value they all accept */

/* schema_facts.c */
bool facts_read(schema_reader *r, const schema_set *s, schema_facts *f);
unsigned type_of_value(const json_t *v);

/* schema_value.c */
expr value_of_facts(schema_reader *r, const schema_facts *f);
expr exact_json(schema_reader *r, const json_t *v); /* this very value */
bool value_fits(schema_reader *r, const schema_facts *f, const json_t *v);
expr blanks(schema_reader *r);
bool in_all_enums(const schema_set *s, const json_t *v); /* and equal to all consts */
const json_t *first_enum(const schema_set *s); /* the first schema with enum or const, or NULL */
/* What the set says of a property's value; name NULL: of one that no schema names. */
void property_set(schema_reader *r, const schema_set *s, const char *name, schema_set *out);

/* schema_number.c */
expr number_of_facts(schema_reader *r, const schema_facts *f);

/* schema_string.c */
expr string_of_facts(schema_reader *r, const schema_facts *f);
expr any_string(schema_reader *r);
expr any_character(schema_reader *r);                          /* as JSON writes it inside quotes */
expr string_but(schema_reader *r, const str *names, size_t n); /* sorted; none of these */

/* schema_pattern.c: the texts that match; raw: as they are, otherwise as JSON writes them. */
expr pattern_expr(schema_reader *r, const json_t *at, str pattern, bool raw);

/* schema_one.c: may no text be accepted by both? */
bool branches_differ(schema_reader *r, json_t *a, json_t *b);

#endif
