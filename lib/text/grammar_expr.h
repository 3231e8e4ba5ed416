/* SPDX-License-Identifier: MIT
 *
 * A grammar while it is made: rules whose bodies are expressions over text. The readers of GBNF and
 * of JSON Schema make one, grammar_compile.c turns it into an automaton.
 *
 * Expressions are numbers into one pool and may be used several times. A failure (no memory, or
 * over a limit) sticks: whatever is made afterwards is nonsense, and grammar_compile() tells. */
#ifndef EW_TEXT_GRAMMAR_EXPR_H
#define EW_TEXT_GRAMMAR_EXPR_H

#include "base/str.h"

enum {
    EXPR_MAX = 1 << 18,      /* expressions, their parts, ranges; each */
    RULE_MAX = 1 << 14,      /* rules */
    RULE_NAME_MAX = 1 << 10, /* bytes */
    REPEAT_MAX = 1000000,    /* the highest number of repetitions that is not "any number" */
    CODE_POINT_MAX = 0x10FFFF
};
#define REPEAT_ANY UINT32_MAX

typedef int32_t expr;
typedef int32_t rule_id;

typedef enum {
    EXPR_EMPTY,    /* the empty text */
    EXPR_NEVER,    /* no text at all */
    EXPR_TEXT,     /* n bytes at chars[at] */
    EXPR_SET,      /* one character of n ranges at ranges[at] */
    EXPR_SEQ,      /* n parts at parts[at], one after the other */
    EXPR_ALT,      /* one of n parts at parts[at] */
    EXPR_REPEAT,   /* parts[at], from min to max times; max REPEAT_ANY: no limit */
    EXPR_RULE,     /* the text of rule at */
    EXPR_TOKEN,    /* the one token at, whatever its text */
    EXPR_TOKEN_NOT /* any one token but at */
} expr_kind;

typedef struct {
    expr_kind kind;
    uint32_t at, n;
    uint32_t min, max;
} expr_node;

typedef struct {
    uint32_t lo, hi; /* code points, both included */
} char_range;

typedef struct {
    str name;              /* p NULL for rules without one */
    char *copy;            /* the memory of the name */
    expr body;             /* -1: not defined yet */
    uint32_t line, column; /* where it is named first, from 1; 0: nowhere */
} grammar_rule;

typedef struct {
    expr_node *nodes;
    expr *parts;
    char_range *ranges;
    grammar_rule *rules;
    strbuf chars;
    size_t n_node, n_part, n_range, n_rule;
    size_t cap_node, cap_part, cap_range, cap_rule;
    uint32_t *names; /* hash table of rule + 1, 0: free */
    size_t n_names;  /* slots, a power of two */
    rule_id root;
    bool failed, is_large; /* is_large: a limit, not the memory */
} grammar_expr;

bool expr_init(grammar_expr *g);
void expr_fini(grammar_expr *g);

expr expr_empty(grammar_expr *g);
expr expr_never(grammar_expr *g);
expr expr_text(grammar_expr *g, str text);
/* Ranges in any order, overlapping or not; surrogates and NUL are left out. negated: all others. */
expr expr_set(grammar_expr *g, const char_range *ranges, size_t n, bool negated);
expr expr_seq(grammar_expr *g, const expr *parts, size_t n);
expr expr_alt(grammar_expr *g, const expr *parts, size_t n);
expr expr_repeat(grammar_expr *g, expr part, uint32_t min, uint32_t max);
expr expr_rule(grammar_expr *g, rule_id r);
expr expr_token(grammar_expr *g, int32_t id, bool negated);

/* The same with the parts listed: expr_seq_of(g, 2, a, b). */
expr expr_seq_of(grammar_expr *g, int n, ...);
expr expr_alt_of(grammar_expr *g, int n, ...);
static inline expr expr_lit(grammar_expr *g, const char *text) {
    return expr_text(g, str_of(text));
}
static inline expr expr_optional(grammar_expr *g, expr part) {
    return expr_repeat(g, part, 0, 1);
}

/* The rule of this name, made if need be; without a name a new one. */
rule_id expr_rule_named(grammar_expr *g, str name);
rule_id expr_rule_new(grammar_expr *g);
void expr_define(grammar_expr *g, rule_id r, expr body);

/* A list of expressions or ranges that grows; false: no memory or over the limit. */
typedef struct {
    expr *v;
    size_t n, cap;
} expr_list;
void expr_push(grammar_expr *g, expr_list *l, expr e);
typedef struct {
    char_range *v;
    size_t n, cap;
} range_list;
void range_push(grammar_expr *g, range_list *l, uint32_t lo, uint32_t hi);

/* Room for one more in an array of *cap elements; the new pointer or NULL when it fails. */
void *expr_room(grammar_expr *g, void *p, size_t n, size_t *cap, size_t size);

#endif
