/* SPDX-License-Identifier: MIT
 *
 * Evaluating expressions. */
#include "text/jinja_run.h"

static jvalue eval_name(jrun *r, const jnode *node) {
    const jbuiltin *fn;
    const jvalue *found;

    for (const jframe *f = r->frame; f; f = f->up)
        for (const jvar *v = f->vars; v; v = v->next)
            if (str_eq(v->name, node->name)) return v->value;
    found = jdict_find_str(r->context, node->name);
    if (found) return *found;
    fn = jglobal_find(node->name);
    if (fn) return (jvalue){.kind = JV_BUILTIN, .u.fn = fn};
    return jundef(r, "'%.*s' is undefined", (int)(node->name.n < 60 ? node->name.n : 60),
                  node->name.p);
}

static jvalue eval_list(jrun *r, const jnode *node) {
    jlist *l = jlist_new(r, node->kind == N_TUPLE ? SEQ_TUPLE : SEQ_LIST, node->n);

    for (uint32_t i = 0; i < node->n && !r->rc; i++) jlist_add(r, l, jeval(r, node->list[i]));
    return jlist_value(l);
}

static jvalue eval_dict(jrun *r, const jnode *node) {
    jdict *d = jdict_new(r, node->n / 2);

    for (uint32_t i = 0; i + 1 < node->n && !r->rc; i += 2) {
        const jvalue key = jeval(r, node->list[i]);

        jdict_set(r, d, key, jeval(r, node->list[i + 1]));
    }
    return jdict_value(d);
}

static jvalue eval_concat(jrun *r, const jnode *node) {
    jbuf b = {0};

    for (uint32_t i = 0; i < node->n && !r->rc; i++) jprint(r, &b, jeval(r, node->list[i]));
    return jbuf_value(r, &b);
}

static jvalue eval_compare(jrun *r, const jnode *node) {
    jvalue left = jeval(r, node->a);

    for (uint32_t i = 0; i < node->n && !r->rc; i++) {
        const jvalue right = jeval(r, node->list[i]);

        if (r->rc || !jcompare(r, node->ops[i], left, right)) return jbool(false);
        left = right;
    }
    return jbool(true);
}

static jvalue eval_slice(jrun *r, const jnode *node) {
    const jvalue of = jeval(r, node->a);
    jvalue at[3];

    for (int i = 0; i < 3; i++)
        at[i] = node->list[i] ? jeval(r, node->list[i]) : (jvalue){.kind = JV_ABSENT};
    return jslice(r, of, at[0], at[1], at[2]);
}

static jvalue eval_call(jrun *r, const jnode *node) {
    const jvalue callee = node->kind == N_CALL ? jeval(r, node->a) : (jvalue){.kind = JV_ABSENT};
    const jvalue in = node->kind == N_CALL ? callee : jeval(r, node->a);
    jvalue *v = jget(r, node->n, sizeof *v);
    jargs a = {.v = v, .n = node->n_pos, .n_named = node->n - node->n_pos, .names = node->names};

    for (uint32_t i = 0; i < node->n && !r->rc; i++) v[i] = jeval(r, node->list[i]);
    r->line = node->line;
    if (r->rc) return jnone();
    if (node->kind == N_FILTER) return jfilter(r, node->name, in, &a);
    if (node->kind == N_TEST) return jbool(jtest(r, node->name, in, &a));
    return jcall(r, callee, &a);
}

static jvalue eval_cond(jrun *r, const jnode *node) {
    if (jtruth(jeval(r, node->a))) return jeval(r, node->b);
    if (node->c) return jeval(r, node->c);
    return jundef(r,
                  "the inline if-expression on line %u evaluated to false and no else section "
                  "was defined",
                  node->line);
}

static jvalue eval_binary(jrun *r, const jnode *node) {
    const jvalue a = jeval(r, node->a), b = jeval(r, node->b);

    r->line = node->line;
    return jbinary(r, node->op, a, b);
}

static jvalue eval_item(jrun *r, const jnode *node) {
    const jvalue of = jeval(r, node->a), key = jeval(r, node->b);

    r->line = node->line;
    return jitem(r, of, key);
}

static jvalue eval(jrun *r, const jnode *node) {
    jvalue v;

    switch (node->kind) {
    case N_CONST:
        return node->value;
    case N_NAME:
        return eval_name(r, node);
    case N_ATTR:
        return jattr(r, jeval(r, node->a), node->name);
    case N_ITEM:
        return eval_item(r, node);
    case N_SLICE:
        return eval_slice(r, node);
    case N_CALL:
    case N_FILTER:
    case N_TEST:
        return eval_call(r, node);
    case N_LIST:
    case N_TUPLE:
        return eval_list(r, node);
    case N_DICT:
        return eval_dict(r, node);
    case N_COND:
        return eval_cond(r, node);
    case N_AND:
        v = jeval(r, node->a);
        return jtruth(v) ? jeval(r, node->b) : v;
    case N_OR:
        v = jeval(r, node->a);
        return jtruth(v) ? v : jeval(r, node->b);
    case N_NOT:
        return jbool(!jtruth(jeval(r, node->a)));
    case N_NEG:
    case N_POS:
        return jnegate(r, jeval(r, node->a), node->kind == N_NEG);
    case N_BINARY:
        return eval_binary(r, node);
    case N_CONCAT:
        return eval_concat(r, node);
    case N_COMPARE:
        return eval_compare(r, node);
    case N_HOLE:
        return r->hole;
    case N_BODY:
    case N_DATA:
    case N_OUTPUT:
    case N_IF:
    case N_FOR:
    case N_SET:
    case N_CAPTURE:
    case N_MACRO:
    case N_CALL_BLOCK:
    case N_FILTER_BLOCK:
    case N_WITH:
    case N_BREAK:
    case N_CONTINUE:
        break;
    }
    return jnone();
}

jvalue jeval(jrun *r, const jnode *node) {
    jvalue v;

    if (!jenter(r)) return (jvalue){.kind = JV_UNDEF, .u.why = "failed"};
    r->line = node->line;
    v = eval(r, node);
    jleave(r);
    return v;
}
