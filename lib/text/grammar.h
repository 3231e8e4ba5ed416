/* SPDX-License-Identifier: MIT
 *
 * Grammars: what a generated text may be. A grammar is read from GBNF or from a JSON Schema into
 * rules (grammar_expr.h), which become a pushdown automaton over the bytes of UTF-8
 * (grammar_compile.c). A matcher runs it (grammar_match.h) and says which tokens may come next.
 * Immutable once made: any number of matchers and threads share one.
 *
 * The automaton. Nodes consume a byte of a set, split, call a rule, repeat, or end. A place in the
 * text is a set of configurations, each a node and a stack of frames (where calls return to, and
 * the loops they are in). Three things are settled when the grammar is made, so that a text that
 * follows it can always be finished:
 *   - rules that call themselves before they consume anything (left recursion) are refused;
 *   - every node knows how many frames it needs at least to finish (`need`), and a configuration
 *     whose need exceeds what DEPTH_MAX leaves is dropped. What is left is never a dead end, and
 *     nesting is bounded;
 *   - what can never be finished has an infinite need and so goes the same way. */
#ifndef EW_TEXT_GRAMMAR_H
#define EW_TEXT_GRAMMAR_H

#include "base/str.h"
#include "text/grammar_expr.h"

enum {
    GRAMMAR_TEXT_MAX = 1 << 20, /* bytes of GBNF or of a schema */
    GRAMMAR_NODE_MAX = 1 << 19,
    GRAMMAR_DEPTH_MAX = 512 /* frames on a stack */
};

typedef enum {
    NODE_END,   /* the rule's end, or the loop body's: node 0 */
    NODE_SET,   /* a byte of set b, then node a */
    NODE_SPLIT, /* node a or node b; b -1: only a */
    NODE_CALL,  /* rule a, then node b */
    NODE_LOOP,  /* loop b */
    NODE_TOKEN, /* the token b, then node a */
    NODE_TOKEN_NOT,
    NODE_NEVER
} node_kind;

typedef struct {
    uint8_t kind;  /* node_kind */
    uint16_t need; /* frames on top of its stack until the bottom can be reached; NEED_NEVER */
    int32_t a, b;
} grammar_node;

enum {
    NEED_NEVER = UINT16_MAX
};

/* A repetition that has to be counted: the body ends with node 0 and a frame that counts. */
typedef struct {
    int32_t body, exit;
    uint32_t min, max; /* a max of REPEAT_ANY: the count stops at min */
} grammar_loop;

typedef struct {
    uint64_t bit[4];
} byte_set;

typedef struct {
    grammar_node *nodes;
    grammar_loop *loops;
    byte_set *sets; /* over byte classes, not bytes */
    size_t n_node, n_loop, n_set;
    int32_t start;        /* of the root rule */
    int32_t start_spaced; /* the same after up to a few blanks */
    uint8_t class_of[256];
    uint32_t n_class;
    bool has_tokens; /* nodes that stand for whole tokens */
} grammar;

/* What GBNF's <name> and <[id]> refer to. */
typedef struct {
    int32_t n;
    int32_t (*find)(const void *ctx, str name); /* -1: none */
    const void *ctx;
} grammar_tokens;

/* GBNF as llama.cpp documents it. tokens may be NULL: then a grammar that names one is refused.
 * EW_EFORMAT with line and column. */
ew_status grammar_from_gbnf(grammar **out, str text, const grammar_tokens *tokens, ew_error *err);

/* A JSON Schema: what follows the grammar is JSON that it accepts. EW_EFORMAT when it is no schema,
 * EW_EUNSUPPORTED names keyword and place of what can't be promised. */
ew_status grammar_from_schema(grammar **out, str text, ew_error *err);

/* The automaton of rules, whoever made them. */
ew_status grammar_compile(grammar **out, const grammar_expr *e, ew_error *err);

void grammar_free(grammar *g);

static inline bool set_has(const byte_set *s, unsigned i) {
    return s->bit[i >> 6] >> (i & 63) & 1;
}

#endif
