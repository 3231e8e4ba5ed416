/* SPDX-License-Identifier: MIT
 *
 * Strings: any, of some length, of a format; and names that are not among some. */
#include "text/schema.h"

#include "base/mem.h"
#include "base/utf8.h"

/* ---- characters ----------------------------------------------------------------------------- */

/* "\uXXXX", but no NUL and no half of a surrogate pair alone. */
static expr unicode_escape(grammar_expr *g) {
    static const char_range hex[] = {{'0', '9'}, {'a', 'f'}, {'A', 'F'}};
    static const char_range plain[] = {{'1', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}};
    static const char_range some[] = {{'1', '9'}, {'a', 'f'}, {'A', 'F'}};
    static const char_range d[] = {{'d', 'd'}, {'D', 'D'}};
    static const char_range low[] = {{'0', '7'}};
    static const char_range high[] = {{'8', '9'}, {'a', 'b'}, {'A', 'B'}};
    static const char_range second[] = {{'c', 'f'}, {'C', 'F'}};
    const expr x = expr_set(g, hex, 3, false), x2 = expr_repeat(g, x, 2, 2);
    const expr x3 = expr_repeat(g, x, 3, 3), s = expr_set(g, some, 3, false);
    const expr in_d = expr_set(g, d, 2, false);
    expr part[6];

    part[0] = expr_seq_of(g, 2, expr_set(g, plain, 5, false), x3);
    part[1] = expr_seq_of(g, 3, expr_lit(g, "0"), s, x2);
    part[2] = expr_seq_of(g, 3, expr_lit(g, "00"), s, x);
    part[3] = expr_seq_of(g, 2, expr_lit(g, "000"), s);
    part[4] = expr_seq_of(g, 3, in_d, expr_set(g, low, 1, false), x2);
    part[5] = expr_seq_of(g, 7, in_d, expr_set(g, high, 3, false), x2, expr_lit(g, "\\u"), in_d,
                          expr_set(g, second, 2, false), x2);
    return expr_seq_of(g, 2, expr_lit(g, "\\u"), expr_alt(g, part, 6));
}

expr any_character(schema_reader *r) {
    static const char_range quoted[] = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
    static const char_range letters[] = {{'"', '"'}, {'/', '/'}, {'\\', '\\'}, {'b', 'b'},
                                         {'f', 'f'}, {'n', 'n'}, {'r', 'r'},   {'t', 't'}};
    grammar_expr *g = &r->g;

    if (r->character < 0) {
        r->character = expr_rule_new(g);
        expr_define(
            g, r->character,
            expr_alt_of(g, 3, expr_set(g, quoted, 3, true),
                        expr_seq_of(g, 2, expr_lit(g, "\\"), expr_set(g, letters, 8, false)),
                        unicode_escape(g)));
    }
    return expr_rule(g, r->character);
}

static expr in_quotes(grammar_expr *g, expr e) {
    const expr quote = expr_lit(g, "\"");

    return expr_seq_of(g, 3, quote, e, quote);
}

expr any_string(schema_reader *r) {
    if (r->string < 0) {
        r->string = expr_rule_new(&r->g);
        expr_define(&r->g, r->string,
                    in_quotes(&r->g, expr_repeat(&r->g, any_character(r), 0, REPEAT_ANY)));
    }
    return expr_rule(&r->g, r->string);
}

/* ---- names that are none of some ------------------------------------------------------------ */

/* The rest of a name that begins as the sorted names do up to byte `at`. Names have no escapes, so
 * that no other spelling of one gets through. */
static expr rest_but(schema_reader *r, const str *names, size_t n, size_t at, int depth) {
    static const char_range quoted[] = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
    grammar_expr *g = &r->g;
    const expr any = expr_repeat(g, expr_set(g, quoted, 3, true), 0, REPEAT_ANY);
    const bool ends_here = n && names[0].n == at;
    range_list others = {0};
    expr_list l = {0};
    expr e;

    for (size_t i = 0; i < 3; i++) range_push(g, &others, quoted[i].lo, quoted[i].hi);
    for (size_t i = ends_here; i < n && !schema_failed(r);) {
        uint32_t cp = 0;
        const size_t len = utf8_decode(names[i].p + at, names[i].n - at, &cp);
        size_t end = i + 1;

        while (end < n && names[end].n >= at + len &&
               !memcmp(names[end].p + at, names[i].p + at, len))
            end++;
        range_push(g, &others, cp, cp);
        if (depth > SCHEMA_DEPTH_MAX)
            schema_refuse(r, r->root, EW_EUNSUPPORTED, "", "a property's name is too long");
        else if (cp >= 0x20 && cp != '"' && cp != '\\')
            expr_push(g, &l,
                      expr_seq_of(g, 2, expr_text(g, (str){names[i].p + at, len}),
                                  rest_but(r, names + i, end - i, at + len, depth + 1)));
        i = end;
    }
    expr_push(g, &l, expr_seq_of(g, 2, expr_set(g, others.v, others.n, true), any));
    if (!ends_here && at) expr_push(g, &l, expr_empty(g));
    e = expr_alt(g, l.v, l.n);
    mem_free(others.v);
    mem_free(l.v);
    return e;
}

expr string_but(schema_reader *r, const str *names, size_t n) {
    return n ? in_quotes(&r->g, rest_but(r, names, n, 0, 0)) : any_string(r);
}

/* ---- formats -------------------------------------------------------------------------------- */

#define DAYS                                                           \
 "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|"       \
 "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|" \
 "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
#define TIME                                                    \
 "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,6})?" \
 "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
#define LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]{0,20}[A-Za-z0-9])?"
#define HOST  LABEL "(?:\\." LABEL "){0,7}"
#define BYTE  "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#define GROUP "[0-9a-fA-F]{1,4}"
#define COUNT "[0-9]{1,4}"
#define URI                                                               \
 "https?://" HOST "(?::[1-9][0-9]{0,3})?(?:/[A-Za-z0-9_.~-]{0,64}){0,12}" \
 "(?:\\?[A-Za-z0-9_.~=&-]{0,128})?(?:#[A-Za-z0-9_.~-]{0,64})?"

/* Patterns that say no more than the format does, and what is commonly meant by it. */
static const struct {
    const char *name, *pattern;
} formats[] = {
    {"date", "^" DAYS "$"},
    {"time", "^" TIME "$"},
    {"date-time", "^" DAYS "T" TIME "$"},
    {"duration",
     "^P(?:" COUNT "W|(?:" COUNT "Y(?:" COUNT "M)?(?:" COUNT "D)?|" COUNT "M(?:" COUNT "D)?|" COUNT
     "D)(?:T(?:" COUNT "H(?:" COUNT "M)?(?:" COUNT "S)?|" COUNT "M(?:" COUNT "S)?|" COUNT
     "S))?|T(?:" COUNT "H(?:" COUNT "M)?(?:" COUNT "S)?|" COUNT "M(?:" COUNT "S)?|" COUNT "S))$"},
    {"uuid", "^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"},
    {"email",
     "^[A-Za-z0-9_+-]{1,32}(?:\\.[A-Za-z0-9_+-]{1,32}){0,2}@(?:" LABEL "\\.){1,4}[a-z]{2,12}$"},
    {"hostname", "^" HOST "$"},
    {"ipv4", "^" BYTE "(?:\\." BYTE "){3}$"},
    {"ipv6", "^(?:(?:" GROUP ":){7}" GROUP "|(?:" GROUP ":){1,6}:" GROUP "|::" GROUP ")$"},
    {"uri", "^" URI "$"},
    {"uri-reference", "^" URI "$"},
};

static const char *format_pattern(const char *name) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].name, name)) return formats[i].pattern;
    return NULL;
}

/* ---- lengths -------------------------------------------------------------------------------- */

typedef struct {
    size_t min, max; /* SIZE_MAX: no limit */
} width;

static size_t times(size_t n, uint32_t k) {
    if (!n || !k) return 0;
    return n == SIZE_MAX || k == REPEAT_ANY || n > SIZE_MAX / k ? SIZE_MAX : n * k;
}

static size_t plus(size_t a, size_t b) {
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

/* How many characters an expression without rules reads. */
static width width_of(const grammar_expr *g, expr id) {
    const expr_node *e = &g->nodes[id];
    width w = {0, 0};

    switch (e->kind) {
    case EXPR_SET:
        return (width){1, 1};
    case EXPR_SEQ:
        for (uint32_t i = 0; i < e->n; i++) {
            const width p = width_of(g, g->parts[e->at + i]);

            w = (width){plus(w.min, p.min), plus(w.max, p.max)};
        }
        return w;
    case EXPR_ALT:
        w.min = SIZE_MAX;
        for (uint32_t i = 0; i < e->n; i++) {
            const width p = width_of(g, g->parts[e->at + i]);

            if (p.min < w.min) w.min = p.min;
            if (p.max > w.max) w.max = p.max;
        }
        return w;
    case EXPR_REPEAT:
        w = width_of(g, g->parts[e->at]);
        return (width){times(w.min, e->min), times(w.max, e->max)};
    case EXPR_EMPTY:
    case EXPR_NEVER:
    case EXPR_TEXT:
    case EXPR_RULE:
    case EXPR_TOKEN:
    case EXPR_TOKEN_NOT:
        break; /* patterns have none */
    }
    return w;
}

static expr matching(schema_reader *r, const schema_facts *f, const json_t *at, const char *keyword,
                     str pattern) {
    const expr raw = pattern_expr(r, at, pattern, true);
    width w;

    if (schema_failed(r)) return 0;
    w = width_of(&r->g, raw);
    if (w.min < f->min_length || w.max > f->max_length) {
        schema_refuse(r, at, EW_EUNSUPPORTED, keyword,
                      "together with minLength or maxLength this is only supported where they "
                      "follow from it");
        return 0;
    }
    return in_quotes(&r->g, pattern_expr(r, at, pattern, false));
}

expr string_of_facts(schema_reader *r, const schema_facts *f) {
    grammar_expr *g = &r->g;
    const uint32_t max = f->max_length == SIZE_MAX ? REPEAT_ANY : (uint32_t)f->max_length;
    const json_t *pattern, *format;

    if (f->pattern_at && f->format_at) {
        schema_refuse(r, f->pattern_at, EW_EUNSUPPORTED, "pattern",
                      "together with format this is not supported");
        return 0;
    }
    if (f->pattern_at) {
        pattern = json_object_get(f->pattern_at, "pattern");
        return matching(r, f, f->pattern_at, "pattern",
                        (str){json_string_value(pattern), json_string_length(pattern)});
    }
    if (f->format_at) {
        format = json_object_get(f->format_at, "format");
        if (format_pattern(json_string_value(format)))
            return matching(r, f, f->format_at, "format",
                            str_of(format_pattern(json_string_value(format))));
        schema_refuse(r, f->format_at, EW_EUNSUPPORTED, "format", "this format is not supported");
        return 0;
    }
    if (f->min_length > f->max_length) return expr_never(g);
    if (!f->min_length && max == REPEAT_ANY) return any_string(r);
    return in_quotes(g, expr_repeat(g, any_character(r), (uint32_t)f->min_length, max));
}
