/* SPDX-License-Identifier: MIT
 *
 * Jinja's statements, and what the parser's parts share. */
#include "text/jinja_ast.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    SOURCE_MAX = 4 << 20, /* bytes of a template */
    TREE_MAX = 512 << 20, /* bytes of its tokens and tree */
    BLOCKS_MAX = 100      /* blocks within blocks */
};

/* ---- shared --------------------------------------------------------------------------------- */

jnode *jparse_fail(jparser *p, ew_status code, uint32_t line, const char *fmt, ...) {
    char text[400];
    va_list ap;

    if (p->rc) return NULL;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    p->rc = fail(p->err, code, "%s:%u: %s", p->name, line, text);
    return NULL;
}

jnode *jparse_no_memory(jparser *p) {
    if (!p->rc) p->rc = fail(p->err, EW_ENOMEM, "%s: out of memory", p->name);
    return NULL;
}

static const char *describe(const jtoken *t, char *buf, size_t n) {
    static const char *const two[] = {"==", "!=", "<=", ">=", "//", "**"};

    switch (t->kind) {
    case T_END:
        return "the end of the template";
    case T_DATA:
        return "text";
    case T_VAR_BEGIN:
        return "'{{'";
    case T_VAR_END:
        return "'}}'";
    case T_BLOCK_BEGIN:
        return "'{%'";
    case T_BLOCK_END:
        return "'%}'";
    case T_STRING:
        return "a string";
    case T_INT:
    case T_FLOAT:
        return "a number";
    case T_NAME:
        snprintf(buf, n, "'%.*s'", (int)(t->text.n < 40 ? t->text.n : 40), t->text.p);
        return buf;
    case T_OP:
        if (t->op >= OP_EQ)
            snprintf(buf, n, "'%s'", two[t->op - OP_EQ]);
        else
            snprintf(buf, n, "'%c'", t->op);
        return buf;
    }
    return "";
}

jnode *jparse_expected(jparser *p, const char *what) {
    char buf[64];

    return jparse_fail(p, EW_EFORMAT, p->at->line, "expected %s, got %s", what,
                       describe(p->at, buf, sizeof buf));
}

jnode *jparse_node(jparser *p, jnode_kind kind, uint32_t line) {
    jnode *node = p->rc ? NULL : arena_get(p->mem, 1, sizeof *node);

    if (!node) return p->rc ? NULL : jparse_no_memory(p);
    node->kind = kind;
    node->line = line;
    return node;
}

void jparse_add(jparser *p, jnode_list *l, jnode *node) {
    if (p->rc) return;
    if (l->n == l->cap) {
        const uint32_t cap = l->cap ? l->cap * 2 : 4;
        jnode **v = arena_get(p->mem, cap, sizeof *v);

        if (!v) {
            jparse_no_memory(p);
            return;
        }
        if (l->n) memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = node;
}

bool jparse_is_op(const jparser *p, int op) {
    return p->at->kind == T_OP && p->at->op == op;
}

bool jparse_is_name(const jparser *p, const char *name) {
    return p->at->kind == T_NAME && str_is(p->at->text, name);
}

bool jparse_skip_op(jparser *p, int op) {
    const bool is = !p->rc && jparse_is_op(p, op);

    p->at += is;
    return is;
}

bool jparse_skip_name(jparser *p, const char *name) {
    const bool is = !p->rc && jparse_is_name(p, name);

    p->at += is;
    return is;
}

void jparse_need_op(jparser *p, char op) {
    const char what[] = {'\'', op, '\'', 0};

    if (!jparse_skip_op(p, op)) jparse_expected(p, what);
}

str jparse_need_name(jparser *p) {
    if (!p->rc && p->at->kind == T_NAME) return p->at++->text;
    jparse_expected(p, "a name");
    return (str){"", 0};
}

/* ---- bodies --------------------------------------------------------------------------------- */

static jnode *statement(jparser *p);

static jnode *data(jparser *p) {
    jnode *node = jparse_node(p, N_DATA, p->at->line);
    jstr *s = arena_get(p->mem, 1, sizeof *s);

    if (!node || !s) return jparse_no_memory(p);
    s->s = p->at++->text;
    node->value = (jvalue){.kind = JV_STR, .u.s = s};
    return node;
}

static jnode *output(jparser *p) {
    jnode *node = jparse_node(p, N_OUTPUT, p->at++->line);
    jnode *expr = jparse_tuple(p);

    if (p->rc) return NULL;
    if (p->at->kind != T_VAR_END) return jparse_expected(p, "'}}'");
    p->at++;
    node->a = expr;
    return node;
}

static bool is_one_of(str word, const char *const *ends) {
    for (; *ends; ends++)
        if (str_is(word, *ends)) return true;
    return false;
}

/* Up to a block whose word is in ends (NULL: to the end of the template), on which p->at then
 * stands. */
static jnode *body(jparser *p, const char *const *ends) {
    jnode *node = jparse_node(p, N_BODY, p->at->line);
    jnode_list l = {0};

    if (++p->depth > BLOCKS_MAX)
        jparse_fail(p, EW_EFORMAT, p->at->line, "blocks nested too deeply");
    while (!p->rc && p->at->kind != T_END) {
        if (p->at->kind == T_DATA) {
            jparse_add(p, &l, data(p));
        } else if (p->at->kind == T_VAR_BEGIN) {
            jparse_add(p, &l, output(p));
        } else {
            p->at++;
            if (ends && p->at->kind == T_NAME && is_one_of(p->at->text, ends)) break;
            jparse_add(p, &l, statement(p));
        }
    }
    p->depth--;
    if (ends && !p->rc && p->at->kind == T_END) {
        char what[64];

        snprintf(what, sizeof what, "{%% %s %%}", *ends);
        return jparse_expected(p, what);
    }
    if (p->rc) return NULL;
    node->list = l.v;
    node->n = l.n;
    return node;
}

static void block_end(jparser *p) {
    if (p->rc) return;
    if (p->at->kind == T_BLOCK_END)
        p->at++;
    else
        jparse_expected(p, "'%}'");
}

/* "%} body {% end %}" */
static jnode *block_body(jparser *p, const char *end) {
    jnode *b;

    block_end(p);
    b = body(p, (const char *const[]){end, NULL});
    if (b) p->at++;
    block_end(p);
    return p->rc ? NULL : b;
}

/* ---- statements ----------------------------------------------------------------------------- */

static jnode *parse_if(jparser *p) {
    static const char *const ends[] = {"endif", "elif", "else", NULL}, *const end[] = {"endif",
                                                                                       NULL};
    jnode *node = jparse_node(p, N_IF, p->at->line);
    jnode_list l = {0};

    do {
        p->at++; /* "if" or "elif" */
        jparse_add(p, &l, jparse_tuple(p));
        block_end(p);
        jparse_add(p, &l, body(p, ends));
    } while (!p->rc && jparse_is_name(p, "elif"));
    if (jparse_skip_name(p, "else")) {
        block_end(p);
        if (!p->rc) node->c = body(p, end);
    }
    if (p->rc) return NULL;
    p->at++; /* "endif" */
    block_end(p);
    node->list = l.v;
    node->n = l.n;
    return p->rc ? NULL : node;
}

static jnode *parse_for(jparser *p) {
    static const char *const ends[] = {"endfor", "else", NULL}, *const end[] = {"endfor", NULL};
    jnode *node = jparse_node(p, N_FOR, p->at++->line);
    jnode_list l = {0};

    if (!node) return NULL;
    node->a = jparse_target(p, false);
    if (!jparse_skip_name(p, "in")) return jparse_expected(p, "'in'");
    node->b = jparse_simple(p);
    if (jparse_is_op(p, ',')) return jparse_expected(p, "one sequence");
    if (jparse_skip_name(p, "if")) node->c = jparse_expr(p);
    node->is_recursive = jparse_skip_name(p, "recursive");
    block_end(p);
    p->n_loop++;
    jparse_add(p, &l, body(p, ends));
    p->n_loop--;
    if (jparse_skip_name(p, "else")) {
        block_end(p);
        jparse_add(p, &l, p->rc ? NULL : body(p, end));
    } else {
        jparse_add(p, &l, NULL);
    }
    if (p->rc) return NULL;
    p->at++; /* "endfor" */
    block_end(p);
    node->list = l.v;
    node->n = l.n;
    return p->rc ? NULL : node;
}

static jnode *parse_set(jparser *p) {
    jnode *node = jparse_node(p, N_SET, p->at++->line), *hole;

    if (!node) return NULL;
    node->a = jparse_target(p, true);
    if (jparse_skip_op(p, '=')) {
        node->b = jparse_tuple(p);
        block_end(p);
        return p->rc ? NULL : node;
    }
    node->kind = N_CAPTURE;
    hole = jparse_node(p, N_HOLE, node->line);
    if (!p->rc && jparse_is_op(p, '|')) node->b = jparse_filters(p, hole, false);
    node->c = block_body(p, "endset");
    return p->rc ? NULL : node;
}

/* "(a, b=1)" of a macro or a call block. */
static void parameters(jparser *p, jnode *macro) {
    jnode_list names = {0}, defaults = {0};

    jparse_need_op(p, '(');
    while (!p->rc && !jparse_is_op(p, ')')) {
        jnode *param;

        if (names.n) jparse_need_op(p, ',');
        if (jparse_is_op(p, ')')) break;
        param = jparse_node(p, N_NAME, p->at->line);
        if (param) param->name = jparse_need_name(p);
        jparse_add(p, &names, param);
        jparse_add(p, &defaults, jparse_skip_op(p, '=') ? jparse_expr(p) : NULL);
    }
    jparse_need_op(p, ')');
    macro->list = defaults.v;
    macro->n = defaults.n;
    macro->names = arena_get(p->mem, names.n, sizeof *macro->names);
    if (!macro->names) jparse_no_memory(p);
    for (uint32_t i = 0; !p->rc && i < names.n; i++) macro->names[i] = names.v[i]->name;
}

/* A body of its own, in which a `break` can't reach the loop outside. */
static jnode *own_body(jparser *p, const char *end) {
    const unsigned n_loop = p->n_loop;
    jnode *b;

    p->n_loop = 0;
    b = block_body(p, end);
    p->n_loop = n_loop;
    return b;
}

static jnode *parse_macro(jparser *p) {
    jnode *node = jparse_node(p, N_MACRO, p->at++->line);

    if (!node) return NULL;
    node->name = jparse_need_name(p);
    parameters(p, node);
    node->c = own_body(p, "endmacro");
    return p->rc ? NULL : node;
}

static jnode *parse_call_block(jparser *p) {
    jnode *node = jparse_node(p, N_CALL_BLOCK, p->at++->line);
    jnode *caller = jparse_node(p, N_MACRO, node ? node->line : 0);

    if (!node || !caller) return NULL;
    caller->name = str_of("caller");
    if (jparse_is_op(p, '(')) parameters(p, caller);
    node->a = jparse_expr(p);
    if (node->a && node->a->kind != N_CALL) return jparse_expected(p, "a call");
    caller->c = own_body(p, "endcall");
    node->b = caller;
    return p->rc ? NULL : node;
}

static jnode *parse_filter(jparser *p) {
    jnode *node = jparse_node(p, N_FILTER_BLOCK, p->at++->line);

    if (!node) return NULL;
    node->a = jparse_filters(p, jparse_node(p, N_HOLE, node->line), true);
    node->c = own_body(p, "endfilter");
    return p->rc ? NULL : node;
}

static jnode *parse_with(jparser *p) {
    jnode *node = jparse_node(p, N_WITH, p->at++->line);
    jnode_list l = {0};

    while (!p->rc && p->at->kind != T_BLOCK_END) {
        if (l.n) jparse_need_op(p, ',');
        jparse_add(p, &l, jparse_target(p, false));
        jparse_need_op(p, '=');
        jparse_add(p, &l, jparse_expr(p));
    }
    if (p->rc) return NULL;
    node->list = l.v;
    node->n = l.n;
    node->c = block_body(p, "endwith");
    return p->rc ? NULL : node;
}

/* Training code wants to know which text is the model's; here it is a scope and no more. */
static jnode *parse_generation(jparser *p) {
    jnode *node = jparse_node(p, N_WITH, p->at++->line);

    if (!node) return NULL;
    node->c = own_body(p, "endgeneration");
    return p->rc ? NULL : node;
}

static jnode *parse_jump(jparser *p) {
    const bool is_break = jparse_is_name(p, "break");
    jnode *node = jparse_node(p, is_break ? N_BREAK : N_CONTINUE, p->at->line);

    if (!p->n_loop)
        return jparse_fail(p, EW_EFORMAT, p->at->line, "%s outside a loop",
                           is_break ? "break" : "continue");
    p->at++;
    block_end(p);
    return p->rc ? NULL : node;
}

static jnode *statement(jparser *p) {
    static const struct {
        const char *word;
        jnode *(*parse)(jparser *p);
    } known[] = {{"if", parse_if},         {"for", parse_for},
                 {"set", parse_set},       {"macro", parse_macro},
                 {"with", parse_with},     {"call", parse_call_block},
                 {"filter", parse_filter}, {"generation", parse_generation},
                 {"break", parse_jump},    {"continue", parse_jump}};
    static const char *const other[] = {"include", "import",     "from",  "extends", "block",
                                        "do",      "autoescape", "trans", "debug",   NULL};
    const str word = p->at->text;
    char buf[64];

    if (p->at->kind != T_NAME) return jparse_expected(p, "a statement");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is(word, known[i].word)) return known[i].parse(p);
    if (is_one_of(word, other))
        return jparse_fail(p, EW_EUNSUPPORTED, p->at->line, "the statement %s is not supported",
                           describe(p->at, buf, sizeof buf));
    return jparse_fail(p, EW_EFORMAT, p->at->line, "unknown statement %s",
                       describe(p->at, buf, sizeof buf));
}

/* ---- the whole ------------------------------------------------------------------------------ */

static ew_status parse(jinja *t, str text, const char *name, ew_error *err) {
    jparser p = {.mem = &t->mem, .name = name, .err = err};
    jtoken *tokens;
    ew_status rc;

    rc = jlex(&t->mem, text, name, &tokens, err);
    if (rc) return rc;
    p.at = tokens;
    t->root = body(&p, NULL);
    return p.rc;
}

ew_status jinja_parse(jinja **out, str text, const char *name, ew_error *err) {
    jinja *t = NULL;
    ew_status rc;

    *out = NULL;
    if (text.n > SOURCE_MAX)
        return fail(err, EW_EUNSUPPORTED, "%s: a template of %zu bytes (at most %d)", name, text.n,
                    SOURCE_MAX);
    t = mem_array(1, sizeof *t);
    if (!t) return fail(err, EW_ENOMEM, "%s: out of memory", name);
    arena_init(&t->mem, TREE_MAX);
    t->name = mem_copy_str(name, strlen(name));
    rc = t->name ? parse(t, text, t->name, err) : fail(err, EW_ENOMEM, "%s: out of memory", name);
    if (!rc) {
        *out = t;
        t = NULL;
    }
    jinja_free(t);
    return rc;
}

void jinja_free(jinja *t) {
    if (!t) return;
    arena_fini(&t->mem);
    mem_free(t->name);
    mem_free(t);
}
