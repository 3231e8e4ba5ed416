/* SPDX-License-Identifier: MIT
 *
 * Inside the template engine, running: the state of one rendering and what its parts offer each
 * other. Files: jinja_load.c (the context from JSON), jinja_text.c (strings and buffers),
 * jinja_object.c (values, lists, dicts), jinja_print.c (str, repr and tojson), jinja_op.c
 * (operators), jinja_eval.c (expressions), jinja_exec.c (statements and the rendering),
 * jinja_call.c (arguments, functions), jinja_filter.c, jinja_filter_list.c (filters),
 * jinja_test.c (tests), jinja_method.c, jinja_format.c (methods of strings and dicts).
 *
 * Failing. The first failure sets run->rc; from then on what is evaluated means nothing (JV_UNDEF
 * or JV_NONE), loops end, and the failure comes out at the end. Code checks rc only where it would
 * loop or index. */
#ifndef EW_TEXT_JINJA_RUN_H
#define EW_TEXT_JINJA_RUN_H

#include "text/jinja_ast.h"
#include "text/jinja_value.h"

/* Text that grows in the arena. */
typedef struct {
    char *p;
    uint8_t *mark; /* NULL while no byte is marked */
    size_t n, cap;
} jbuf;

/* The variables of a scope; looked for here, then in up. */
typedef struct jvar jvar;
struct jvar {
    jvar *next;
    str name;
    jvalue value;
};
typedef struct jframe jframe;
struct jframe {
    jframe *up;
    jvar *vars;
    bool is_kept; /* something holds on to it beyond its end */
};

struct jloop {
    const jlist *items;
    size_t i;          /* of the item now, from 0 */
    unsigned depth;    /* of recursive loops, from 1 */
    const jnode *node; /* NULL unless recursive */
    jframe *frame;     /* the one around the loop */
    jvalue last;       /* what changed() saw */
};

struct jmacro {
    const jnode *node; /* N_MACRO */
    jframe *frame;     /* where it was defined */
};

typedef enum {
    FLOW_ON,
    FLOW_BREAK,
    FLOW_CONTINUE
} jflow;

typedef struct {
    const char *name;
    arena mem;
    ew_status rc;
    ew_error *err;
    uint32_t line;
    unsigned depth;
    uint64_t steps; /* left */
    jflow flow;
    jbuf *out;
    jframe *frame;
    jvar *free_vars; /* of scopes that have ended */
    jdict *context;
    const struct tm *now;
    jvalue hole; /* what a filter block has captured */
} jrun;

/* Arguments: n by place, then n_named by name. */
typedef struct {
    const jvalue *v;
    size_t n, n_named;
    const str *names; /* names[i] belongs to v[n + i] */
} jargs;

/* A function of ours. params: "value default=2": names of the parameters, which reach fn by place,
 * JV_ABSENT where not given; a leading "!" marks those that must be. "*": fn takes the arguments as
 * they are. */
struct jbuiltin {
    const char *name, *params;
    jvalue (*fn)(jrun *r, jvalue self, const jargs *a);
    jvalue self; /* of a bound method */
};

enum {
    JARGS_MAX = 8 /* parameters of a function of ours */
};

/* ---- failing and bounds (jinja_object.c) ---------------------------------------------------- */

jvalue jfail(jrun *r, ew_status code, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool jstep(jrun *r, size_t n); /* n steps are taken; false: there are none left, or it failed */
bool jenter(jrun *r);          /* one level deeper; false: too deep */
void jleave(jrun *r);
void *jget(jrun *r, size_t count, size_t size); /* of the arena */

/* ---- values (jinja_object.c) ---------------------------------------------------------------- */

jvalue jundef(jrun *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
jvalue jnone(void);
jvalue jbool(bool b);
jvalue jint(int64_t i);
jvalue jfloat(double f);
const char *jtype(jvalue v); /* Python's name of its type */
bool jtruth(jvalue v);
bool jis_number(jvalue v);            /* bool, int, float */
double jto_double(jvalue v);          /* of a number */
bool jto_int(jvalue v, int64_t *out); /* of a bool or an int */

jlist *jlist_new(jrun *r, jlist_kind kind, size_t cap);
void jlist_add(jrun *r, jlist *l, jvalue v);
jvalue jlist_value(jlist *l); /* NULL: JV_UNDEF */
jdict *jdict_new(jrun *r, size_t cap);
void jdict_set(jrun *r, jdict *d, jvalue key, jvalue v);
jvalue *jdict_find(jrun *r, const jdict *d, jvalue key); /* NULL: not there */
jvalue *jdict_find_str(const jdict *d, str key);
jvalue jdict_value(jdict *d);

/* What a loop over v goes through; false: failed, v is nothing to loop over. */
bool jiterate(jrun *r, jvalue v, jlist *out);

/* ---- text (jinja_text.c) -------------------------------------------------------------------- */

void jbuf_add(jrun *r, jbuf *b, const char *p, size_t n, const uint8_t *mark);
void jbuf_puts(jrun *r, jbuf *b, const char *s);
void jbuf_str(jrun *r, jbuf *b, const jstr *s);
void jbuf_part(jrun *r, jbuf *b, const jstr *s, size_t from, size_t to); /* bytes */
void jbuf_char(jrun *r, jbuf *b, uint32_t cp, bool is_marked);
jvalue jbuf_value(jrun *r, const jbuf *b);
jvalue jstr_value(jrun *r, str s, const uint8_t *mark);
jvalue jstr_part(jrun *r, const jstr *s, size_t from, size_t to); /* bytes */
bool jstr_marked(const jstr *s, size_t at);
jvalue jtext(jrun *r, jvalue v); /* str(v), as a JV_STR value */
/* The string in v; "" after a failure, also when v is none: what names the culprit. */
const jstr *jneed_str(jrun *r, jvalue v, const char *what);
/* An escaped copy for HTML, safe. */
jvalue jescape(jrun *r, const jstr *s);

/* ---- printing (jinja_print.c) --------------------------------------------------------------- */

void jprint(jrun *r, jbuf *b, jvalue v); /* str(v) */
void jrepr(jrun *r, jbuf *b, jvalue v);
void jprint_float(jrun *r, jbuf *b, double f);
typedef struct {
    bool ascii_only, sorts_keys;
    bool has_indent;
    str indent;             /* one level */
    const jstr *item, *key; /* separators */
} jjson;
void jprint_json(jrun *r, jbuf *b, jvalue v, const jjson *how);

/* ---- order (jinja_filter_list.c) ----------------------------------------------------------- */

typedef struct {
    jvalue key, item;
} jkeyed;
/* By key. Stable, as Python's, also in reverse. */
void jsort(jrun *r, jkeyed *v, size_t n, bool reverse);

/* ---- operators (jinja_op.c) ----------------------------------------------------------------- */

jvalue jbinary(jrun *r, int op, jvalue a, jvalue b);
jvalue jnegate(jrun *r, jvalue v, bool is_minus);
bool jequal(jrun *r, jvalue a, jvalue b);
/* < 0, 0, > 0; fails where Python knows no order, naming op. */
int jorder(jrun *r, jvalue a, jvalue b, const char *op);
bool jcontains(jrun *r, jvalue in, jvalue v);
bool jcompare(jrun *r, int op, jvalue a, jvalue b);
jvalue jitem(jrun *r, jvalue of, jvalue key);       /* of[key] */
jvalue jattr(jrun *r, jvalue of, str name);         /* of.name */
jvalue jattr_path(jrun *r, jvalue of, jvalue path); /* filters' attribute="a.b.0" */
jvalue jslice(jrun *r, jvalue of, jvalue from, jvalue to, jvalue step);

/* ---- calling (jinja_call.c) ----------------------------------------------------------------- */

jvalue jcall(jrun *r, jvalue callee, const jargs *a);
jvalue jcall_builtin(jrun *r, const jbuiltin *fn, jvalue self, const jargs *a);
const jbuiltin *jglobal_find(str name);
/* The method of a value; JV_ABSENT: none. (jinja_method.c) */
jvalue jmethod(jrun *r, jvalue of, str name);
/* A table's entry by name; NULL: none. */
const jbuiltin *jbuiltin_find(const jbuiltin *table, size_t n, str name);
/* An argument's value with a default where it is absent; failing when of another type. */
int64_t jarg_int(jrun *r, jvalue v, int64_t dflt);
bool jarg_bool(jvalue v, bool dflt);
bool jarg_named(const jargs *a, str name, jvalue *out); /* false: it wasn't given */

jvalue jfilter(jrun *r, str name, jvalue in, const jargs *a);
bool jtest(jrun *r, str name, jvalue v, const jargs *a);

/* The filters' tables, in two files. */
const jbuiltin *jfilter_text(str name);
const jbuiltin *jfilter_list(str name);

jvalue jstr_split(jrun *r, const jstr *s, jvalue sep, int64_t max, bool from_right);
jvalue jstr_replace(jrun *r, const jstr *s, const jstr *old, const jstr *new, int64_t max);
jvalue jstr_strip(jrun *r, const jstr *s, jvalue chars, bool left, bool right);
jvalue jstr_lines(jrun *r, const jstr *s);
jvalue jstr_case(jrun *r, const jstr *s, const char *how); /* "upper", "lower", "title", ... */
jvalue jstr_join(jrun *r, const jstr *sep, const jlist *items);
/* "%s" % args (jinja_format.c) and "{}".format(...) */
jvalue jstr_percent(jrun *r, const jstr *fmt, jvalue args);
jvalue jstr_format(jrun *r, const jstr *fmt, const jargs *a);

/* ---- evaluating ----------------------------------------------------------------------------- */

jvalue jeval(jrun *r, const jnode *node);                        /* jinja_eval.c */
void jexec(jrun *r, const jnode *node);                          /* jinja_exec.c; NULL is fine */
jvalue jexec_macro(jrun *r, const jmacro *m, const jargs *a);    /* "" or its output */
jvalue jexec_loop_call(jrun *r, const jloop *loop, jvalue over); /* loop(children) */

/* jinja_load.c: the context. NULL after a failure. */
jdict *jload(jrun *r, const json_t *values, bool marks_text);

#endif
