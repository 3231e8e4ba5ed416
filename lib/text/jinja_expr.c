/* SPDX-License-Identifier: MIT
 *
 * Jinja's expressions: one function a level of precedence, from `x if y else z` down to names and
 * literals. */
#include "text/jinja_ast.h"

enum {
    DEPTH_MAX =
        300 /* expressions within expressions; brackets count twice and take a dozen frames */
};

static jnode *binary(jparser *p, jnode_kind kind, int op, uint32_t line, jnode *a, jnode *b) {
    jnode *node = jparse_node(p, kind, line);

    if (!node || !a || !b) return NULL;
    node->op = (uint8_t)op;
    node->a = a;
    node->b = b;
    return node;
}

static jnode *unary(jparser *p, jnode_kind kind, uint32_t line, jnode *a) {
    jnode *node = jparse_node(p, kind, line);

    if (!node || !a) return NULL;
    node->a = a;
    return node;
}

static jnode *with_list(jparser *p, jnode_kind kind, uint32_t line, const jnode_list *l) {
    jnode *node = jparse_node(p, kind, line);

    if (!node || p->rc) return NULL;
    node->list = l->v;
    node->n = l->n;
    return node;
}

static jnode *constant(jparser *p, uint32_t line, jvalue v) {
    jnode *node = jparse_node(p, N_CONST, line);

    if (node) node->value = v;
    return node;
}

/* ---- literals and names --------------------------------------------------------------------- */

/* Strings side by side are one. */
static jnode *string(jparser *p) {
    const uint32_t line = p->at->line;
    jstr *s = arena_get(p->mem, 1, sizeof *s);
    size_t n = 0;
    char *text;

    for (const jtoken *t = p->at; t->kind == T_STRING; t++) n += t->text.n;
    text = arena_get(p->mem, n + 1, 1);
    if (!s || !text) return jparse_no_memory(p);
    s->s.p = text;
    for (; p->at->kind == T_STRING; p->at++) {
        memcpy(text + s->s.n, p->at->text.p, p->at->text.n);
        s->s.n += p->at->text.n;
    }
    return constant(p, line, (jvalue){.kind = JV_STR, .u.s = s});
}

static jnode *name(jparser *p) {
    static const struct {
        const char *name;
        jvalue value;
    } words[] = {{"true", {.kind = JV_BOOL, .u.b = true}},
                 {"True", {.kind = JV_BOOL, .u.b = true}},
                 {"false", {.kind = JV_BOOL}},
                 {"False", {.kind = JV_BOOL}},
                 {"none", {.kind = JV_NONE}},
                 {"None", {.kind = JV_NONE}}};
    const jtoken *t = p->at++;
    jnode *node;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(t->text, words[i].name)) return constant(p, t->line, words[i].value);
    node = jparse_node(p, N_NAME, t->line);
    if (node) node->name = t->text;
    return node;
}

static jnode *list(jparser *p) {
    const uint32_t line = p->at++->line;
    jnode_list l = {0};

    while (!p->rc && !jparse_is_op(p, ']')) {
        if (l.n) jparse_need_op(p, ',');
        if (jparse_is_op(p, ']')) break;
        jparse_add(p, &l, jparse_expr(p));
    }
    jparse_need_op(p, ']');
    return with_list(p, N_LIST, line, &l);
}

static jnode *dict(jparser *p) {
    const uint32_t line = p->at++->line;
    jnode_list l = {0};

    while (!p->rc && !jparse_is_op(p, '}')) {
        if (l.n) jparse_need_op(p, ',');
        if (jparse_is_op(p, '}')) break;
        jparse_add(p, &l, jparse_expr(p));
        jparse_need_op(p, ':');
        jparse_add(p, &l, jparse_expr(p));
    }
    jparse_need_op(p, '}');
    return with_list(p, N_DICT, line, &l);
}

/* "a, b" up to what can't begin an expression: `simple` leaves out `x if y`, as `for` needs. */
static jnode *tuple(jparser *p, bool is_simple, bool may_be_empty) {
    const uint32_t line = p->at->line;
    jnode_list l = {0};
    bool is_tuple = may_be_empty;

    for (;;) {
        const bool ends = p->at->kind == T_BLOCK_END || p->at->kind == T_VAR_END ||
                          jparse_is_op(p, ')') || jparse_is_op(p, ']') || jparse_is_name(p, "in");

        if (ends && (l.n || may_be_empty)) break;
        jparse_add(p, &l, is_simple ? jparse_simple(p) : jparse_expr(p));
        if (p->rc) return NULL;
        if (l.n == 1) is_tuple = false;
        if (!jparse_skip_op(p, ',')) break;
        is_tuple = true;
    }
    return is_tuple ? with_list(p, N_TUPLE, line, &l) : l.v[0];
}

jnode *jparse_tuple(jparser *p) {
    return tuple(p, false, false);
}

static jnode *primary(jparser *p) {
    const jtoken *t = p->at;
    jnode *node;

    switch (t->kind) {
    case T_NAME:
        return name(p);
    case T_STRING:
        return string(p);
    case T_INT:
        p->at++;
        return constant(p, t->line, (jvalue){.kind = JV_INT, .u.i = t->i});
    case T_FLOAT:
        p->at++;
        return constant(p, t->line, (jvalue){.kind = JV_FLOAT, .u.f = t->f});
    case T_OP:
        if (t->op == '[') return list(p);
        if (t->op == '{') return dict(p);
        if (t->op != '(') break;
        p->at++;
        node = tuple(p, false, true);
        jparse_need_op(p, ')');
        return node;
    case T_END:
    case T_DATA:
    case T_VAR_BEGIN:
    case T_VAR_END:
    case T_BLOCK_BEGIN:
    case T_BLOCK_END:
        break;
    }
    return jparse_expected(p, "an expression");
}

/* ---- what follows a value ------------------------------------------------------------------- */

/* One argument; a keyword's name goes to names. */
static void argument(jparser *p, jnode_list *l, jnode_list *names, uint32_t *n_pos) {
    const jtoken *t = p->at;

    if (jparse_is_op(p, '*') || jparse_is_op(p, OP_POW)) {
        jparse_fail(p, EW_EUNSUPPORTED, t->line, "arguments unpacked with %s are not supported",
                    t->op == '*' ? "*" : "**");
        return;
    }
    if (t->kind == T_NAME && t[1].kind == T_OP && t[1].op == '=') {
        jnode *key = jparse_node(p, N_NAME, t->line);

        if (key) key->name = t->text;
        jparse_add(p, names, key);
        p->at += 2;
    } else if (names->n) {
        jparse_fail(p, EW_EFORMAT, t->line, "an argument by place after one by name");
    } else {
        ++*n_pos;
    }
    jparse_add(p, l, jparse_expr(p));
}

/* "(a, b=c)" into node->list, n, n_pos and names. */
static void arguments(jparser *p, jnode *node) {
    jnode_list l = {0}, names = {0};

    jparse_need_op(p, '(');
    while (!p->rc && !jparse_is_op(p, ')')) {
        if (l.n) jparse_need_op(p, ',');
        if (jparse_is_op(p, ')')) break;
        argument(p, &l, &names, &node->n_pos);
    }
    jparse_need_op(p, ')');
    node->list = l.v;
    node->n = l.n;
    node->names = arena_get(p->mem, names.n, sizeof *node->names);
    if (!node->names) {
        jparse_no_memory(p);
        return;
    }
    for (uint32_t i = 0; !p->rc && i < names.n; i++) node->names[i] = names.v[i]->name;
}

static jnode *call(jparser *p, jnode *callee) {
    jnode *node = jparse_node(p, N_CALL, p->at->line);

    if (!node || !callee) return NULL;
    node->a = callee;
    arguments(p, node);
    return p->rc ? NULL : node;
}

/* a[x], a[x:y:z], a[x, y] */
static jnode *subscript(jparser *p, jnode *of) {
    const uint32_t line = p->at++->line;
    jnode_list l = {0};
    bool is_slice = jparse_is_op(p, ':');
    jnode *node;

    if (is_slice)
        jparse_add(p, &l, NULL);
    else
        jparse_add(p, &l, jparse_tuple(p));
    while (!p->rc && l.n < 3 && jparse_skip_op(p, ':')) {
        const bool is_empty = jparse_is_op(p, ':') || jparse_is_op(p, ']');

        is_slice = true;
        jparse_add(p, &l, is_empty ? NULL : jparse_expr(p));
    }
    jparse_need_op(p, ']');
    if (!is_slice) return binary(p, N_ITEM, 0, line, of, p->rc ? NULL : l.v[0]);
    while (l.n < 3 && !p->rc) jparse_add(p, &l, NULL);
    node = with_list(p, N_SLICE, line, &l);
    if (node) node->a = of;
    return node;
}

static jnode *attribute(jparser *p, jnode *of) {
    const jtoken *t = ++p->at;
    jnode *node;

    if (t->kind == T_INT) {
        p->at++;
        return binary(p, N_ITEM, 0, t->line, of,
                      constant(p, t->line, (jvalue){.kind = JV_INT, .u.i = t->i}));
    }
    node = unary(p, N_ATTR, t->line, of);
    if (node) node->name = jparse_need_name(p);
    return node;
}

static jnode *postfix(jparser *p, jnode *node) {
    while (!p->rc) {
        if (jparse_is_op(p, '.'))
            node = attribute(p, node);
        else if (jparse_is_op(p, '['))
            node = subscript(p, node);
        else if (jparse_is_op(p, '('))
            node = call(p, node);
        else
            break;
    }
    return node;
}

/* "a.b" as the name of a filter or a test. */
static str dotted_name(jparser *p) {
    const str first = jparse_need_name(p);
    str last = first;

    while (!p->rc && jparse_skip_op(p, '.')) last = jparse_need_name(p);
    if (p->rc) return first;
    return (str){first.p, (size_t)(last.p + last.n - first.p)};
}

static jnode *filter(jparser *p, jnode *in) {
    jnode *node = unary(p, N_FILTER, p->at->line, in);

    if (!node) return NULL;
    node->name = dotted_name(p);
    if (jparse_is_op(p, '(')) arguments(p, node);
    return p->rc ? NULL : node;
}

static bool begins_test_argument(const jparser *p) {
    if (p->at->kind == T_OP) return p->at->op == '[' || p->at->op == '{';
    if (p->at->kind == T_NAME)
        return !jparse_is_name(p, "else") && !jparse_is_name(p, "or") && !jparse_is_name(p, "and");
    return p->at->kind == T_STRING || p->at->kind == T_INT || p->at->kind == T_FLOAT;
}

static jnode *test(jparser *p, jnode *of) {
    const uint32_t line = p->at++->line;
    const bool is_not = jparse_skip_name(p, "not");
    jnode *node = unary(p, N_TEST, line, of);
    jnode_list l = {0};

    if (!node) return NULL;
    node->name = dotted_name(p);
    if (jparse_is_op(p, '(')) {
        arguments(p, node);
    } else if (begins_test_argument(p)) {
        if (jparse_is_name(p, "is"))
            return jparse_fail(p, EW_EFORMAT, line, "a test of a test needs parentheses");
        jparse_add(p, &l, postfix(p, primary(p)));
        node->list = l.v;
        node->n = node->n_pos = l.n;
    }
    if (p->rc) return NULL;
    return is_not ? unary(p, N_NOT, line, node) : node;
}

jnode *jparse_filters(jparser *p, jnode *node, bool starts_with_name) {
    if (starts_with_name) node = filter(p, node);
    while (!p->rc) {
        if (jparse_skip_op(p, '|'))
            node = filter(p, node);
        else if (jparse_is_name(p, "is"))
            node = test(p, node);
        else if (jparse_is_op(p, '('))
            node = call(p, node);
        else
            break;
    }
    return node;
}

/* ---- operators ------------------------------------------------------------------------------ */

static jnode *sign(jparser *p, bool with_filters) {
    const uint32_t line = p->at->line;
    jnode *node;

    if (++p->depth > DEPTH_MAX) return jparse_fail(p, EW_EFORMAT, line, "nested too deeply");
    if (jparse_skip_op(p, '-'))
        node = unary(p, N_NEG, line, sign(p, false));
    else if (jparse_skip_op(p, '+'))
        node = unary(p, N_POS, line, sign(p, false));
    else
        node = primary(p);
    node = postfix(p, node);
    if (with_filters) node = jparse_filters(p, node, false);
    p->depth--;
    return node;
}

/* One of these operators, 0: another token. */
static int take_op(jparser *p, const char *ops) {
    if (p->at->kind != T_OP) return 0;
    for (; *ops; ops++)
        if (p->at->op == (uint8_t)*ops) return p->at++->op;
    return 0;
}

static jnode *power(jparser *p) {
    const uint32_t line = p->at->line;
    jnode *node = sign(p, true);
    int op;

    while (!p->rc && (op = take_op(p, (char[]){(char)OP_POW, 0})))
        node = binary(p, N_BINARY, op, line, node, sign(p, true));
    return node;
}

static jnode *product(jparser *p) {
    const uint32_t line = p->at->line;
    jnode *node = power(p);
    int op;

    while (!p->rc && (op = take_op(p, (char[]){'*', '/', (char)OP_FLOORDIV, '%', 0})))
        node = binary(p, N_BINARY, op, line, node, power(p));
    return node;
}

static jnode *concat(jparser *p) {
    const uint32_t line = p->at->line;
    jnode *node = product(p);
    jnode_list l = {0};

    if (!jparse_is_op(p, '~')) return node;
    jparse_add(p, &l, node);
    while (!p->rc && jparse_skip_op(p, '~')) jparse_add(p, &l, product(p));
    return with_list(p, N_CONCAT, line, &l);
}

static jnode *sum(jparser *p) {
    const uint32_t line = p->at->line;
    jnode *node = concat(p);
    int op;

    while (!p->rc && (op = take_op(p, "+-"))) node = binary(p, N_BINARY, op, line, node, concat(p));
    return node;
}

static int compare_op(jparser *p) {
    const int op =
        take_op(p, (char[]){'<', '>', (char)OP_EQ, (char)OP_NE, (char)OP_LE, (char)OP_GE, 0});

    if (op) return op;
    if (jparse_skip_name(p, "in")) return OP_IN;
    if (!jparse_is_name(p, "not") || p->at[1].kind != T_NAME || !str_is(p->at[1].text, "in"))
        return 0;
    p->at += 2;
    return OP_NOT_IN;
}

static jnode *compare(jparser *p) {
    const uint32_t line = p->at->line;
    jnode *first = sum(p), *node;
    uint8_t ops[16];
    jnode_list l = {0};
    int op;

    while (!p->rc && (op = compare_op(p))) {
        if (l.n == sizeof ops) return jparse_fail(p, EW_EFORMAT, line, "too many comparisons");
        ops[l.n] = (uint8_t)op;
        jparse_add(p, &l, sum(p));
    }
    if (!l.n || p->rc) return p->rc ? NULL : first;
    node = with_list(p, N_COMPARE, line, &l);
    if (!node) return NULL;
    node->a = first;
    node->ops = arena_get(p->mem, l.n, 1);
    if (!node->ops) return jparse_no_memory(p);
    memcpy(node->ops, ops, l.n);
    return node;
}

static jnode *negation(jparser *p) {
    const uint32_t line = p->at->line;
    jnode *node;

    if (!jparse_skip_name(p, "not")) return compare(p);
    if (++p->depth > DEPTH_MAX) return jparse_fail(p, EW_EFORMAT, line, "nested too deeply");
    node = unary(p, N_NOT, line, negation(p));
    p->depth--;
    return node;
}

static jnode *conjunction(jparser *p) {
    const uint32_t line = p->at->line;
    jnode *node = negation(p);

    while (!p->rc && jparse_skip_name(p, "and"))
        node = binary(p, N_AND, 0, line, node, negation(p));
    return node;
}

jnode *jparse_simple(jparser *p) {
    const uint32_t line = p->at->line;
    jnode *node = conjunction(p);

    while (!p->rc && jparse_skip_name(p, "or"))
        node = binary(p, N_OR, 0, line, node, conjunction(p));
    return node;
}

jnode *jparse_expr(jparser *p) {
    const uint32_t line = p->at->line;
    jnode *node;

    if (++p->depth > DEPTH_MAX) return jparse_fail(p, EW_EFORMAT, line, "nested too deeply");
    node = jparse_simple(p);
    while (!p->rc && jparse_skip_name(p, "if")) {
        jnode *choice = binary(p, N_COND, 0, line, jparse_simple(p), node);

        if (choice && jparse_skip_name(p, "else")) choice->c = jparse_expr(p);
        node = choice;
    }
    p->depth--;
    return p->rc ? NULL : node;
}

/* ---- targets of assignments ----------------------------------------------------------------- */

static bool is_target(const jnode *node, bool may_be_attr) {
    if (node->kind == N_NAME) return true;
    if (node->kind == N_ATTR) return may_be_attr && node->a->kind == N_NAME;
    if (node->kind != N_TUPLE || !node->n) return false;
    for (uint32_t i = 0; i < node->n; i++)
        if (!is_target(node->list[i], false)) return false;
    return true;
}

static jnode *target_part(jparser *p) {
    jnode *node = primary(p);

    return node && jparse_is_op(p, '.') ? attribute(p, node) : node;
}

jnode *jparse_target(jparser *p, bool may_be_attr) {
    const uint32_t line = p->at->line;
    jnode_list l = {0};
    jnode *node;

    jparse_add(p, &l, target_part(p));
    while (!p->rc && jparse_skip_op(p, ',') && p->at->kind != T_BLOCK_END &&
           !jparse_is_name(p, "in"))
        jparse_add(p, &l, target_part(p));
    if (p->rc) return NULL;
    node = l.n > 1 || p->at[-1].op == ',' ? with_list(p, N_TUPLE, line, &l) : l.v[0];
    if (node && !is_target(node, may_be_attr))
        return jparse_fail(p, EW_EFORMAT, line, "this can't be assigned to");
    return node;
}
