/* SPDX-License-Identifier: MIT
 *
 * Inside the template engine, values: Python's, as far as templates meet them. All are immutable
 * but namespaces; all live in the arena of one rendering (constants in the template's). */
#ifndef EW_TEXT_JINJA_VALUE_H
#define EW_TEXT_JINJA_VALUE_H

#include "base/str.h"

typedef enum {
    JV_ABSENT, /* an argument that was not given */
    JV_UNDEF,
    JV_NONE,
    JV_BOOL,
    JV_INT,
    JV_FLOAT,
    JV_STR,
    JV_LIST, /* and what is like one: jlist_kind tells */
    JV_DICT,
    JV_SPACE, /* namespace() */
    JV_LOOP,  /* the variable `loop` */
    JV_MACRO,
    JV_BUILTIN /* a function of ours, or a method together with its object */
} jkind;

typedef struct jstr jstr;
typedef struct jlist jlist;
typedef struct jdict jdict;
typedef struct jloop jloop;
typedef struct jmacro jmacro;
typedef struct jbuiltin jbuiltin;

typedef struct {
    jkind kind;
    union {
        bool b;
        int64_t i;
        double f;
        const jstr *s;
        jlist *list;
        jdict *dict; /* DICT, SPACE */
        jloop *loop;
        const jmacro *macro;
        const jbuiltin *fn;
        const char *why; /* UNDEF: what to say when more than a look is wanted */
    } u;
} jvalue;

struct jstr {
    str s;
    /* For each byte whether it is text of the context (jinja_text.is_text); NULL: none is. */
    const uint8_t *mark;
    bool is_safe; /* went through `safe` or `escape`: "+" escapes what joins it, as Markup does */
};

typedef enum {
    SEQ_LIST,
    SEQ_TUPLE,
    SEQ_RANGE,
    SEQ_ITEMS, /* views of a dict */
    SEQ_KEYS,
    SEQ_VALUES,
    SEQ_GENERATOR /* can be run through once */
} jlist_kind;

struct jlist {
    jlist_kind kind;
    bool is_used; /* SEQ_GENERATOR */
    size_t n, cap;
    jvalue *v;
};

typedef struct {
    uint64_t hash;
    jvalue key, value;
} jpair;

/* In order of insertion. Searched from end to end: they are small. */
struct jdict {
    size_t n, cap;
    jpair *v;
};

#endif
