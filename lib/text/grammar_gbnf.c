/* SPDX-License-Identifier: MIT
 *
 * GBNF, the notation of llama.cpp's grammars. docs/grammars.md has the syntax. A recursive descent
 * parser over one cursor; groups nest at most NEST_MAX deep. */
#include "base/mem.h"
#include "base/utf8.h"
#include "text/grammar.h"

enum {
    NEST_MAX = 200
};

typedef struct {
    const char *start, *at, *end;
    const grammar_tokens *tokens;
    grammar_expr g;
    int nest;
    ew_error *err;
    ew_status rc; /* the first failure */
} parser;

/* ---- errors and small steps ----------------------------------------------------------------- */

static void place_of(const parser *p, const char *at, unsigned *line, unsigned *column) {
    *line = *column = 1;
    for (const char *c = p->start; c < at; c++) {
        if (*c == '\n') {
            (*line)++;
            *column = 1;
        } else {
            *column += ((uint8_t)*c & 0xC0) != 0x80; /* characters, not bytes */
        }
    }
}

static bool failed(const parser *p) {
    return p->rc != EW_OK || p->g.failed;
}

/* False, and the parser is at its end, so that every loop stops. */
static bool refuse(parser *p, const char *at, const char *what) {
    unsigned line, column;

    if (!p->rc) {
        place_of(p, at, &line, &column);
        p->rc = fail(p->err, EW_EFORMAT, "grammar: line %u, column %u: %s", line, column, what);
    }
    p->at = p->end;
    return false;
}

static bool is_at(const parser *p, char c) {
    return p->at < p->end && *p->at == c;
}

static bool take(parser *p, char c) {
    if (!is_at(p, c)) return false;
    p->at++;
    return true;
}

static void skip_space(parser *p, bool over_lines) {
    for (; p->at < p->end; p->at++) {
        const char c = *p->at;

        if (c == '#') {
            while (p->at + 1 < p->end && p->at[1] != '\n' && p->at[1] != '\r') p->at++;
        } else if (c != ' ' && c != '\t' && !(over_lines && (c == '\n' || c == '\r'))) {
            return;
        }
    }
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

/* A rule's name, empty when there is none. */
static str take_name(parser *p) {
    str name = {p->at, 0};

    while (p->at < p->end && is_word(*p->at)) p->at++;
    name.n = (size_t)(p->at - name.p);
    if (name.n > RULE_NAME_MAX) refuse(p, name.p, "the rule's name is too long");
    return name;
}

/* A number up to max. */
static bool take_number(parser *p, uint32_t max, uint32_t *out) {
    const char *const from = p->at;
    uint64_t v = 0;

    while (p->at < p->end && is_digit(*p->at)) {
        v = v * 10 + (uint64_t)(*p->at - '0');
        if (v > max) return refuse(p, from, "the number is too large");
        p->at++;
    }
    if (p->at == from) return refuse(p, from, "expected a number");
    *out = (uint32_t)v;
    return true;
}

/* ---- characters ----------------------------------------------------------------------------- */

static bool take_hex(parser *p, int n_digit, const char *escape, uint32_t *cp) {
    *cp = 0;
    for (int i = 0; i < n_digit; i++) {
        const char c = p->at < p->end ? *p->at : 0;
        const bool is_letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');

        if (!is_digit(c) && !is_letter)
            return refuse(p, escape, "the escape needs more hexadecimal digits");
        if (*cp > CODE_POINT_MAX >> 4) return refuse(p, escape, "no such code point");
        *cp = *cp << 4 | (uint32_t)(is_digit(c) ? c - '0' : (c | 32) - 'a' + 10);
        p->at++;
    }
    if (*cp > CODE_POINT_MAX || (*cp >= 0xD800 && *cp < 0xE000))
        return refuse(p, escape, "no such code point");
    return true;
}

static bool take_escape(parser *p, uint32_t *cp) {
    const char *const from = p->at++;
    const char c = p->at < p->end ? *p->at : 0;

    if (c) p->at++;
    switch (c) {
    case 'x':
        return take_hex(p, 2, from, cp);
    case 'u':
        return take_hex(p, 4, from, cp);
    case 'U':
        return take_hex(p, 8, from, cp);
    case 't':
        *cp = '\t';
        return true;
    case 'r':
        *cp = '\r';
        return true;
    case 'n':
        *cp = '\n';
        return true;
    case '\\':
    case '"':
    case '[':
    case ']':
    case '-':
        *cp = (uint8_t)c;
        return true;
    default:
        return refuse(p, from,
                      "unknown escape; there are \\x \\u \\U \\t \\r \\n \\\\ \\\" \\[ \\] "
                      "\\-");
    }
}

/* One character of a literal or a class. */
static bool take_char(parser *p, uint32_t *cp) {
    size_t n;

    if (is_at(p, '\\')) return take_escape(p, cp);
    n = utf8_decode(p->at, (size_t)(p->end - p->at), cp);
    if (!n) return refuse(p, p->at, "the text is not UTF-8");
    p->at += n;
    return true;
}

static expr parse_literal(parser *p) {
    const char *const from = p->at++;
    strbuf text;
    expr e;

    strbuf_init(&text, GRAMMAR_TEXT_MAX);
    while (!is_at(p, '"')) {
        char utf8[4];
        uint32_t cp;

        if (p->at == p->end) {
            refuse(p, from, "the literal has no end");
            break;
        }
        if (!take_char(p, &cp)) break;
        if (!cp) {
            refuse(p, from, "no token has a NUL character");
            break;
        }
        strbuf_add(&text, utf8, utf8_encode(cp, utf8));
    }
    take(p, '"');
    if (text.failed) p->g.failed = true;
    e = expr_text(&p->g, (str){text.p ? text.p : "", text.n});
    strbuf_fini(&text);
    return e;
}

static bool parse_range(parser *p, range_list *l) {
    const char *const from = p->at;
    uint32_t lo, hi;

    if (!take_char(p, &lo)) return false;
    hi = lo;
    if (p->end - p->at > 1 && p->at[0] == '-' && p->at[1] != ']') {
        p->at++;
        if (!take_char(p, &hi)) return false;
        if (hi < lo) return refuse(p, from, "the range ends before it begins");
    }
    range_push(&p->g, l, lo, hi);
    return true;
}

static expr parse_class(parser *p) {
    const char *const from = p->at++;
    const bool is_negated = take(p, '^');
    range_list l = {0};
    expr e;

    while (!is_at(p, ']')) {
        if (p->at == p->end) {
            refuse(p, from, "the character class has no end");
            break;
        }
        if (!parse_range(p, &l)) break;
    }
    if (!failed(p) && !l.n) refuse(p, from, "the character class is empty");
    take(p, ']');
    e = expr_set(&p->g, l.v, l.n, is_negated);
    mem_free(l.v);
    return e;
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* <[id]> or <name>, where the brackets belong to the name. */
static expr parse_token(parser *p) {
    const char *const from = p->at;
    const bool is_negated = take(p, '!');
    const char *const name = p->at;
    uint32_t number = 0;
    int32_t id = -1;

    if (!take(p, '<')) {
        refuse(p, p->at, "expected a token, <name> or <[id]>, after '!'");
    } else if (!p->tokens) {
        refuse(p, from, "a token can only be named with a model");
    } else if (take(p, '[')) {
        if (take_number(p, INT32_MAX, &number) && (!take(p, ']') || !take(p, '>')))
            refuse(p, p->at, "expected \"]>\" after the token's number");
        id = (int32_t)number;
        if (!failed(p) && id >= p->tokens->n)
            refuse(p, from, "the vocabulary has no token of this number");
    } else {
        while (p->at < p->end && *p->at != '>' && *p->at != '\n') p->at++;
        if (!take(p, '>'))
            refuse(p, from, "the token's name has no end");
        else
            id = p->tokens->find(p->tokens->ctx, (str){name, (size_t)(p->at - name)});
        if (!failed(p) && id < 0) refuse(p, from, "the vocabulary has no token of this name");
    }
    return expr_token(&p->g, id, is_negated);
}

/* ---- sequences ------------------------------------------------------------------------------ */

static expr parse_alternatives(parser *p, bool is_group);

/* The rule whose name stands here; remembers where that was first. */
static rule_id take_rule(parser *p) {
    const char *const from = p->at;
    const rule_id r = expr_rule_named(&p->g, take_name(p));
    unsigned line, column;

    if (!failed(p) && !p->g.rules[r].line) {
        place_of(p, from, &line, &column);
        p->g.rules[r].line = line;
        p->g.rules[r].column = column;
    }
    return r;
}

static expr parse_group(parser *p) {
    const char *const from = p->at++;
    expr e;

    if (++p->nest > NEST_MAX) refuse(p, from, "groups are nested too deep");
    skip_space(p, true);
    e = parse_alternatives(p, true);
    p->nest--;
    if (!failed(p) && !take(p, ')'))
        refuse(p, p->at, p->at == p->end ? "a group is not closed" : "expected ')'");
    return e;
}

static bool parse_item(parser *p, expr *out) {
    if (failed(p) || p->at == p->end) return false;
    switch (*p->at) {
    case '"':
        *out = parse_literal(p);
        return true;
    case '[':
        *out = parse_class(p);
        return true;
    case '(':
        *out = parse_group(p);
        return true;
    case '<':
    case '!':
        *out = parse_token(p);
        return true;
    case '.':
        p->at++;
        *out = expr_set(&p->g, NULL, 0, true);
        return true;
    case '*':
    case '+':
    case '?':
    case '{':
        return refuse(p, p->at, "nothing stands before it that could be repeated");
    default:
        if (!is_word(*p->at)) return false;
        *out = expr_rule(&p->g, take_rule(p));
        return true;
    }
}

/* {m}, {m,} or {m,n}. */
static bool parse_counts(parser *p, bool is_group, uint32_t *min, uint32_t *max) {
    const char *const from = p->at++;

    skip_space(p, is_group);
    if (!take_number(p, REPEAT_MAX, min)) return false;
    *max = *min;
    skip_space(p, is_group);
    if (take(p, ',')) {
        skip_space(p, is_group);
        *max = REPEAT_ANY;
        if (!is_at(p, '}') && !take_number(p, REPEAT_MAX, max)) return false;
        skip_space(p, is_group);
    }
    if (!take(p, '}')) return refuse(p, p->at, "expected '}'");
    if (*max < *min) return refuse(p, from, "the highest number is below the lowest");
    return true;
}

static expr parse_repeats(parser *p, bool is_group, expr e) {
    for (;;) {
        uint32_t min = 0, max = REPEAT_ANY;

        skip_space(p, is_group);
        if (failed(p) || p->at == p->end) return e;
        switch (*p->at) {
        case '*':
            p->at++;
            break;
        case '+':
            p->at++;
            min = 1;
            break;
        case '?':
            p->at++;
            max = 1;
            break;
        case '{':
            if (!parse_counts(p, is_group, &min, &max)) return e;
            break;
        default:
            return e;
        }
        e = expr_repeat(&p->g, e, min, max);
    }
}

static expr parse_sequence(parser *p, bool is_group) {
    expr_list l = {0};
    expr e = 0;

    while (parse_item(p, &e)) {
        e = parse_repeats(p, is_group, e);
        expr_push(&p->g, &l, e);
    }
    e = expr_seq(&p->g, l.v, l.n);
    mem_free(l.v);
    return e;
}

static expr parse_alternatives(parser *p, bool is_group) {
    expr_list l = {0};
    expr e;

    do {
        if (l.n) skip_space(p, true);
        e = parse_sequence(p, is_group);
        expr_push(&p->g, &l, e);
    } while (!failed(p) && take(p, '|'));
    e = expr_alt(&p->g, l.v, l.n);
    mem_free(l.v);
    return e;
}

/* ---- rules ---------------------------------------------------------------------------------- */

static void parse_rule(parser *p) {
    const char *const from = p->at;
    rule_id r;
    expr body;

    if (!is_word(*from)) {
        refuse(p, from, "expected a rule's name, of letters, digits and '-'");
        return;
    }
    r = take_rule(p);
    if (failed(p)) return;
    skip_space(p, false);
    if (p->end - p->at < 3 || memcmp(p->at, "::=", 3) != 0) {
        refuse(p, p->at, "expected \"::=\"");
        return;
    }
    if (p->g.rules[r].body >= 0) {
        refuse(p, from, "a rule of this name was defined before");
        return;
    }
    p->at += 3;
    skip_space(p, true);
    body = parse_alternatives(p, false);
    expr_define(&p->g, r, body);
    if (!failed(p) && p->at < p->end && *p->at != '\n' && *p->at != '\r')
        refuse(p, p->at, *p->at == ')' ? "no group is open here" : "unexpected character");
    skip_space(p, true);
}

static ew_status check_rules(parser *p) {
    const rule_id root = expr_rule_named(&p->g, str_of("root"));

    if (p->g.failed) return EW_OK; /* grammar_compile tells */
    if (p->g.rules[root].body < 0 && !p->g.rules[root].line)
        return fail(p->err, EW_EFORMAT, "grammar: there is no rule named root");
    for (size_t i = 0; i < p->g.n_rule; i++) {
        const grammar_rule *r = &p->g.rules[i];

        if (r->body >= 0) continue;
        return fail(p->err, EW_EFORMAT, "grammar: line %u, column %u: rule %.*s is not defined",
                    (unsigned)r->line, (unsigned)r->column, (int)r->name.n, r->name.p);
    }
    p->g.root = root;
    return EW_OK;
}

ew_status grammar_from_gbnf(grammar **out, str text, const grammar_tokens *tokens, ew_error *err) {
    parser p = {
        .start = text.p, .at = text.p, .end = text.p + text.n, .tokens = tokens, .err = err};

    *out = NULL;
    if (text.n > GRAMMAR_TEXT_MAX)
        return fail(err, EW_EUNSUPPORTED, "grammar: %zu bytes, the most are %d", text.n,
                    GRAMMAR_TEXT_MAX);
    if (!expr_init(&p.g)) return fail(err, EW_ENOMEM, "grammar: out of memory");
    skip_space(&p, true);
    while (!failed(&p) && p.at < p.end) parse_rule(&p);
    if (!p.rc && !p.g.failed) p.rc = check_rules(&p);
    if (!p.rc) p.rc = grammar_compile(out, &p.g, err);
    expr_fini(&p.g);
    return p.rc;
}
