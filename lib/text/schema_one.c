/* SPDX-License-Identifier: MIT
 *
 * oneOf: exactly one branch may accept a value. That can be promised where every two branches
 * differ for sure: in type, in the values they list, in a property that both require, or in one
 * that each requires and the other does not know. */
#include "text/schema.h"

#include "base/mem.h"

static unsigned types_of(const schema_facts *f) {
    const json_t *schema = first_enum(f->set);
    const json_t *only = schema ? json_object_get(schema, "const") : NULL;
    unsigned types = 0;
    json_t *v;
    size_t i;

    if (!schema) return f->types;
    if (only) return type_of_value(only) & f->types;
    json_array_foreach(json_object_get(schema, "enum"), i, v) types |= type_of_value(v);
    return types & f->types;
}

/* Both list values, and have none in common. */
static bool values_differ(const schema_set *a, const schema_set *b) {
    const json_t *schema = first_enum(a), *only;
    json_t *v;
    size_t i;

    if (!schema || !first_enum(b)) return false;
    only = json_object_get(schema, "const");
    if (only) return !in_all_enums(a, only) || !in_all_enums(b, only);
    json_array_foreach(json_object_get(schema, "enum"), i, v) {
        if (in_all_enums(a, v) && in_all_enums(b, v)) return false;
    }
    return true;
}

static bool requires(const schema_set *s, const char *name) {
    json_t *one;
    size_t k;

    for (size_t i = 0; i < s->n; i++) {
        json_array_foreach(json_object_get(s->v[i].schema, "required"), k, one) {
            if (!strcmp(json_string_value(one), name)) return true;
        }
    }
    return false;
}

static bool names_property(const schema_set *s, const char *name) {
    for (size_t i = 0; i < s->n; i++)
        if (json_object_get(json_object_get(s->v[i].schema, "properties"), name)) return true;
    return requires(s, name);
}

/* A property that both require, with values of which none is common. */
static bool told_by_property(schema_reader *r, const schema_set *a, const schema_set *b,
                             schema_set work[2]) {
    const char *name;
    json_t *value;

    for (size_t i = 0; i < a->n; i++) {
        json_object_foreach(json_object_get(a->v[i].schema, "properties"), name, value) {
            if (!requires(a, name) || !requires(b, name)) continue;
            property_set(r, a, name, &work[0]);
            property_set(r, b, name, &work[1]);
            if (values_differ(&work[0], &work[1])) return true;
        }
    }
    return false;
}

/* b requires what is never in an object made for a. */
static bool lacks_what_is_required(const schema_facts *a, const schema_set *b) {
    json_t *name;
    size_t k;

    if (!a->is_closed && (a->is_open || !a->names_properties)) return false;
    for (size_t i = 0; i < b->n; i++) {
        json_array_foreach(json_object_get(b->v[i].schema, "required"), k, name) {
            if (!names_property(a->set, json_string_value(name))) return true;
        }
    }
    return false;
}

bool branches_differ(schema_reader *r, json_t *a, json_t *b) {
    schema_set *s = mem_array(4, sizeof *s);
    schema_facts fa, fb;
    unsigned common;
    bool differ = false;

    if (!s) {
        r->g.failed = true;
        return false;
    }
    set_add(r, &s[0], a);
    set_add(r, &s[1], b);
    if (schema_failed(r) || !facts_read(r, &s[0], &fa) || !facts_read(r, &s[1], &fb)) goto out;
    common = types_of(&fa) & types_of(&fb);
    differ = s[0].is_never || s[1].is_never || !common || values_differ(&s[0], &s[1]) ||
             (common == TYPE_OBJECT &&
              (told_by_property(r, &s[0], &s[1], s + 2) ||
               (lacks_what_is_required(&fa, &s[1]) && lacks_what_is_required(&fb, &s[0]))));
out:
    mem_free(s);
    return differ;
}
