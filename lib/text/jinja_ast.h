/* SPDX-License-Identifier: MIT
 *
 * Inside the template engine, parsing: tokens and the tree. Files: jinja_lex.c (tokens),
 * jinja_expr.c (expressions), jinja_parse.c (statements). */
#ifndef EW_TEXT_JINJA_AST_H
#define EW_TEXT_JINJA_AST_H

#include "base/arena.h"
#include "text/jinja.h"
#include "text/jinja_value.h"

typedef enum {
    T_END,
    T_DATA,        /* text between the marks */
    T_VAR_BEGIN,   /* {{ */
    T_VAR_END,     /* }} */
    T_BLOCK_BEGIN, /* {% */
    T_BLOCK_END,   /* %} */
    T_NAME,
    T_STRING, /* text: what the literal means */
    T_INT,
    T_FLOAT,
    T_OP
} jtoken_kind;

/* Operators of one character are that character. */
enum {
    OP_EQ = 128,
    OP_NE,
    OP_LE,
    OP_GE,
    OP_FLOORDIV,
    OP_POW,
    OP_IN,
    OP_NOT_IN
};

typedef struct {
    jtoken_kind kind;
    uint8_t op; /* T_OP */
    uint32_t line;
    str text;  /* DATA, NAME, STRING */
    int64_t i; /* T_INT */
    double f;  /* T_FLOAT */
} jtoken;

typedef enum {
    /* statements */
    N_BODY,         /* list */
    N_DATA,         /* value */
    N_OUTPUT,       /* a: expression */
    N_IF,           /* list: condition, body, condition, body, ...; c: else body or NULL */
    N_FOR,          /* a: target, b: sequence, c: condition or NULL; list: body, else body or NULL;
                       is_recursive */
    N_SET,          /* a: target, b: value */
    N_CAPTURE,      /* set block: a: target, b: filters over N_HOLE or NULL, c: body */
    N_MACRO,        /* name, names: parameters, list: their defaults (NULL: none), c: body */
    N_CALL_BLOCK,   /* a: the call; b: N_MACRO, what caller() runs */
    N_FILTER_BLOCK, /* a: filters over N_HOLE, c: body */
    N_WITH,         /* list: target, value, target, value, ...; c: body */
    N_BREAK,
    N_CONTINUE,
    /* expressions */
    N_CONST,  /* value */
    N_NAME,   /* name */
    N_ATTR,   /* a.name */
    N_ITEM,   /* a[b] */
    N_SLICE,  /* a[list[0]:list[1]:list[2]], each may be NULL */
    N_CALL,   /* a(list...): the first n_pos by place, the others by names[i - n_pos] */
    N_FILTER, /* a | name(list...) */
    N_TEST,   /* a is name(list...) */
    N_LIST,   /* list */
    N_TUPLE,
    N_DICT,    /* list: key, value, key, value, ... */
    N_COND,    /* b if a else c; c may be NULL */
    N_AND,     /* a, b */
    N_OR,      /* a, b */
    N_NOT,     /* a */
    N_NEG,     /* a */
    N_POS,     /* a */
    N_BINARY,  /* a op b */
    N_CONCAT,  /* list, joined by ~ */
    N_COMPARE, /* a, then for each i: ops[i] list[i] */
    N_HOLE     /* what a filter block has captured */
} jnode_kind;

typedef struct jnode jnode;

struct jnode {
    jnode_kind kind;
    uint8_t op;
    bool is_recursive;
    uint32_t line;
    str name;
    jnode *a, *b, *c;
    jnode **list;
    uint32_t n, n_pos;
    str *names;
    uint8_t *ops;
    jvalue value;
};

struct ew_template {
    arena mem; /* holds everything */
    char *name;
    jnode *root;
};

/* jinja_lex.c: the tokens of a text, in mem; the last is T_END. */
ew_status jlex(arena *mem, str text, const char *name, jtoken **out, ew_error *err);

/* The parser's state. After a failure `rc` is set, and `at` stands on the last token. */
typedef struct {
    arena *mem;
    const char *name;
    const jtoken *at;
    unsigned depth; /* of what is being parsed */
    unsigned n_loop;
    ew_status rc;
    ew_error *err;
} jparser;

/* Says what is wrong at this line, unless something was already; returns NULL. */
jnode *jparse_fail(jparser *p, ew_status code, uint32_t line, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
jnode *jparse_expected(jparser *p, const char *what); /* "expected WHAT, got ..." */
jnode *jparse_no_memory(jparser *p);
jnode *jparse_node(jparser *p, jnode_kind kind, uint32_t line);

/* A list of nodes that grows. */
typedef struct {
    jnode **v;
    uint32_t n, cap;
} jnode_list;
void jparse_add(jparser *p, jnode_list *l, jnode *node); /* NULL is added, too */

bool jparse_is_op(const jparser *p, int op);
bool jparse_is_name(const jparser *p, const char *name);
bool jparse_skip_op(jparser *p, int op); /* true: it was there */
bool jparse_skip_name(jparser *p, const char *name);
void jparse_need_op(jparser *p, char op);
str jparse_need_name(jparser *p);

/* jinja_expr.c. NULL after a failure. */
jnode *jparse_expr(jparser *p);   /* with `x if y else z` */
jnode *jparse_simple(jparser *p); /* without */
jnode *jparse_tuple(jparser *p);  /* "a, b" without parentheses, or one expression */
jnode *jparse_target(jparser *p, bool may_be_attr); /* what `set` and `for` assign to */
jnode *jparse_filters(jparser *p, jnode *node, bool starts_with_name);

#endif
