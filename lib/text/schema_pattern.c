/* SPDX-License-Identifier: MIT
 *
 * Regular expressions as JSON Schema has them (ECMA-262), without what a grammar can't say: looking
 * around, references back, borders of words. A pattern matches anywhere in a string unless it is
 * anchored. */
#include "text/schema.h"

#include "base/mem.h"
#include "base/utf8.h"

enum {
    NEST_MAX = 100
};

typedef struct {
    schema_reader *r;
    const json_t *at; /* for errors */
    const char *p, *end;
    bool raw;
    int nest;
} pattern_parser;

static bool refuse(pattern_parser *p, const char *why) {
    p->p = p->end;
    return schema_refuse(p->r, p->at, EW_EUNSUPPORTED, "pattern", why);
}

static bool is_at(const pattern_parser *p, char c) {
    return p->p < p->end && *p->p == c;
}

static bool take(pattern_parser *p, char c) {
    if (!is_at(p, c)) return false;
    p->p++;
    return true;
}

static bool take_str(pattern_parser *p, const char *s) {
    if (!str_starts((str){p->p, (size_t)(p->end - p->p)}, str_of(s))) return false;
    p->p += strlen(s);
    return true;
}

/* ---- characters as JSON writes them --------------------------------------------------------- */

static expr escaped(grammar_expr *g, uint32_t c) {
    static const char short_of[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    char text[8] = "\\u00", hex[] = "0123456789abcdef";

    for (size_t i = 0; short_of[i]; i += 2) {
        if ((uint8_t)short_of[i] != c) continue;
        return expr_text(g, (str){(char[]){'\\', short_of[i + 1]}, 2});
    }
    text[4] = hex[c >> 4];
    text[5] = hex[c & 15];
    return expr_lit(g, text);
}

/* A set of characters of the string; what needs an escape in JSON gets it. */
static expr character_set(pattern_parser *p, const range_list *l, bool is_negated) {
    static const char_range special[] = {{1, 0x1F}, {'"', '"'}, {'\\', '\\'}};
    grammar_expr *g = &p->r->g;
    const expr set = expr_set(g, l->v, l->n, is_negated);
    range_list plain = {0};
    expr_list parts = {0};
    expr e;

    if (p->raw || schema_failed(p->r) || g->nodes[set].kind != EXPR_SET) return set;
    for (uint32_t i = 0; i < g->nodes[set].n && !g->failed; i++) {
        const char_range c = g->ranges[g->nodes[set].at + i];
        uint32_t from = c.lo;

        for (size_t k = 0; k < 3; k++) {
            for (uint32_t s = special[k].lo; s <= special[k].hi; s++) {
                if (s < c.lo || s > c.hi) continue;
                if (s > from) range_push(g, &plain, from, s - 1);
                from = s + 1;
                expr_push(g, &parts, escaped(g, s));
            }
        }
        if (from <= c.hi) range_push(g, &plain, from, c.hi);
    }
    if (plain.n) expr_push(g, &parts, expr_set(g, plain.v, plain.n, false));
    e = expr_alt(g, parts.v, parts.n);
    mem_free(plain.v);
    mem_free(parts.v);
    return e;
}

static expr one_character(pattern_parser *p, uint32_t c) {
    char_range range = {c, c};
    const range_list l = {&range, 1, 1};

    return character_set(p, &l, false);
}

/* ---- escapes -------------------------------------------------------------------------------- */

/* \d \w \s and their opposites, added to a class. False: it is none of these. */
static bool class_escape(pattern_parser *p, char c, range_list *l) {
    static const char_range digits[] = {{'0', '9'}};
    static const char_range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    static const char_range spaces[] = {
        {9, 13},          {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
        {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    const char_range *v = (c | 32) == 'd' ? digits : (c | 32) == 'w' ? words : spaces;
    const size_t n = v == digits ? 1 : v == words ? 4 : 10;
    uint32_t next = 0;

    if (!strchr("dwsDWS", c) || !c) return false;
    for (size_t i = 0; i < n; i++) {
        if (c >= 'a')
            range_push(&p->r->g, l, v[i].lo, v[i].hi);
        else if (v[i].lo > next)
            range_push(&p->r->g, l, next, v[i].lo - 1);
        next = v[i].hi + 1;
    }
    if (c < 'a') range_push(&p->r->g, l, next, CODE_POINT_MAX);
    return true;
}

static bool take_hex(pattern_parser *p, int n, uint32_t *c) {
    *c = 0;
    for (int i = 0; i < n; i++) {
        const char d = p->p < p->end ? *p->p : 0;
        const bool is_digit = d >= '0' && d <= '9', is_letter = (d | 32) >= 'a' && (d | 32) <= 'f';

        if (!is_digit && !is_letter) return refuse(p, "an escape lacks hexadecimal digits");
        *c = *c << 4 | (uint32_t)(is_digit ? d - '0' : (d | 32) - 'a' + 10);
        p->p++;
    }
    return true;
}

/* After \u: XXXX, a pair of surrogates so written, or {X...}. */
static bool take_unicode(pattern_parser *p, uint32_t *c) {
    uint32_t low;

    if (take(p, '{')) {
        const size_t n = strcspn(p->p, "}");

        return n >= 1 && n <= 6 && take_hex(p, (int)n, c) && take(p, '}')
                   ? true
                   : refuse(p, "an escape lacks hexadecimal digits");
    }
    if (!take_hex(p, 4, c)) return false;
    if (*c < 0xD800 || *c > 0xDBFF) return true;
    if (!take_str(p, "\\u") || !take_hex(p, 4, &low) || low < 0xDC00 || low > 0xDFFF)
        return refuse(p, "half of a surrogate pair");
    *c = 0x10000 + ((*c - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

/* An escape that stands for one character; the backslash is taken. */
static bool take_escape(pattern_parser *p, bool in_class, uint32_t *c) {
    static const char letters[] = "t\tn\nr\rf\fv\v";
    const char e = p->p < p->end ? *p->p : 0;

    if (!e) return refuse(p, "ends after a backslash");
    p->p++;
    for (size_t i = 0; letters[i]; i += 2) {
        if (letters[i] != e) continue;
        *c = (uint8_t)letters[i + 1];
        return true;
    }
    if (e == 'x') return take_hex(p, 2, c);
    if (e == 'u') return take_unicode(p, c);
    if (strchr("^$\\.*+?()[]{}|/", e) || (in_class && e == '-')) {
        *c = (uint8_t)e;
        return true;
    }
    if (e == 'b' || e == 'B') return refuse(p, "borders of words (\\b) are not supported");
    if (e >= '1' && e <= '9') return refuse(p, "references back (\\1) are not supported");
    if (e == 'p' || e == 'P') return refuse(p, "character properties (\\p) are not supported");
    return refuse(p, "an escape that is not supported");
}

static bool take_character(pattern_parser *p, uint32_t *c) {
    const size_t n = utf8_decode(p->p, (size_t)(p->end - p->p), c);

    if (!n) return refuse(p, "not UTF-8");
    p->p += n;
    return true;
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* A member of a class. *is_one: it is one character, *c, and may begin a range. */
static bool class_member(pattern_parser *p, range_list *l, bool *is_one, uint32_t *c) {
    *is_one = true;
    if (!take(p, '\\')) return take_character(p, c);
    if (p->p < p->end && class_escape(p, *p->p, l)) {
        p->p++;
        *is_one = false;
        return true;
    }
    return take_escape(p, true, c);
}

static expr character_class(pattern_parser *p) {
    const bool is_negated = take(p, '^');
    range_list l = {0};
    expr e;

    while (!schema_failed(p->r) && !take(p, ']')) {
        uint32_t lo = 0, hi = 0;
        bool is_one, is_other;

        if (p->p == p->end) {
            refuse(p, "a character class has no end");
            break;
        }
        if (!class_member(p, &l, &is_one, &lo)) break;
        hi = lo;
        if (p->end - p->p > 1 && *p->p == '-' && p->p[1] != ']') {
            p->p++;
            if (!class_member(p, &l, &is_other, &hi)) break;
            if (!is_one || !is_other || hi < lo) refuse(p, "a range in a class makes no sense");
        }
        if (is_one) range_push(&p->r->g, &l, lo, hi);
    }
    e = character_set(p, &l, is_negated);
    mem_free(l.v);
    return e;
}

static expr alternatives(pattern_parser *p, bool is_top);

static expr group(pattern_parser *p) {
    expr e;

    if (take_str(p, "?<=") || take_str(p, "?<!") || take_str(p, "?=") || take_str(p, "?!")) {
        refuse(p, "looking ahead or behind is not supported");
    } else if (take_str(p, "?<")) {
        while (p->p < p->end && *p->p != '>') p->p++;
        take(p, '>');
    } else if (is_at(p, '?') && !take_str(p, "?:")) {
        refuse(p, "a group of this kind is not supported");
    }
    if (++p->nest > NEST_MAX) refuse(p, "groups are nested too deep");
    e = alternatives(p, false);
    p->nest--;
    if (!schema_failed(p->r) && !take(p, ')')) refuse(p, "a group is not closed");
    return e;
}

static expr any_in_line(pattern_parser *p) {
    char_range ends[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
    const range_list l = {ends, 3, 3};

    return character_set(p, &l, true);
}

static expr atom(pattern_parser *p) {
    uint32_t c = 0;

    if (take(p, '(')) return group(p);
    if (take(p, '[')) return character_class(p);
    if (take(p, '.')) return any_in_line(p);
    if (is_at(p, '^') || is_at(p, '$')) {
        refuse(p, "an anchor is only supported at the beginning and the end");
        return 0;
    }
    if (p->p < p->end && strchr("*+?{}", *p->p)) {
        refuse(p, "nothing stands before a repetition");
        return 0;
    }
    if (take(p, '\\')) {
        range_list l = {0};

        if (p->p < p->end && class_escape(p, *p->p, &l)) {
            const expr e = character_set(p, &l, false);

            p->p++;
            mem_free(l.v);
            return e;
        }
        return take_escape(p, false, &c) ? one_character(p, c) : 0;
    }
    return take_character(p, &c) ? one_character(p, c) : 0;
}

static bool take_count(pattern_parser *p, uint32_t *n) {
    const char *const from = p->p;

    for (*n = 0; p->p < p->end && *p->p >= '0' && *p->p <= '9'; p->p++) {
        *n = *n * 10 + (uint32_t)(*p->p - '0');
        if (*n > REPEAT_MAX) return refuse(p, "a count over 1000000");
    }
    return p->p > from;
}

static expr repeated(pattern_parser *p, expr e) {
    uint32_t min = 0, max = REPEAT_ANY;

    if (schema_failed(p->r) || p->p == p->end || !strchr("*+?{", *p->p)) return e;
    if (take(p, '+')) {
        min = 1;
    } else if (take(p, '?')) {
        max = 1;
    } else if (take(p, '{')) {
        if (!take_count(p, &min)) refuse(p, "a count is missing");
        max = min;
        if (take(p, ',') && !take_count(p, &max)) max = REPEAT_ANY;
        if (!take(p, '}') || max < min) refuse(p, "a count makes no sense");
    } else {
        take(p, '*');
    }
    take(p, '?'); /* few or many first: the same texts */
    if (p->p < p->end && strchr("*+?{", *p->p)) refuse(p, "a repetition of a repetition");
    return expr_repeat(&p->r->g, e, min, max);
}

static expr any_text(pattern_parser *p) {
    const range_list none = {0};
    const expr any = p->raw ? character_set(p, &none, true) : any_character(p->r);

    return expr_repeat(&p->r->g, any, 0, REPEAT_ANY);
}

/* One alternative; at the top with its anchors, or what may stand in their places. */
static expr branch(pattern_parser *p, bool is_top) {
    grammar_expr *g = &p->r->g;
    bool is_open = is_top && !take(p, '^');
    expr_list l = {0};
    expr e;

    if (is_open) expr_push(g, &l, any_text(p));
    is_open = is_top;
    while (!schema_failed(p->r) && p->p < p->end && *p->p != '|' && *p->p != ')') {
        if (is_top && *p->p == '$' && (p->p + 1 == p->end || p->p[1] == '|')) {
            p->p++;
            is_open = false;
            break;
        }
        e = atom(p);
        expr_push(g, &l, repeated(p, e));
    }
    if (is_open) expr_push(g, &l, any_text(p));
    e = expr_seq(g, l.v, l.n);
    mem_free(l.v);
    return e;
}

static expr alternatives(pattern_parser *p, bool is_top) {
    expr_list l = {0};
    expr e;

    do {
        e = branch(p, is_top);
        expr_push(&p->r->g, &l, e);
    } while (!schema_failed(p->r) && take(p, '|'));
    e = expr_alt(&p->r->g, l.v, l.n);
    mem_free(l.v);
    return e;
}

expr pattern_expr(schema_reader *r, const json_t *at, str pattern, bool raw) {
    pattern_parser p = {r, at, pattern.p, pattern.p + pattern.n, raw, 0};
    const expr e = alternatives(&p, true);

    if (!schema_failed(r) && p.p != p.end) refuse(&p, "no group is open at a ')'");
    return e;
}
