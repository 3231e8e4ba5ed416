/* SPDX-License-Identifier: MIT
 *
 * Running statements, and a whole rendering. */
#include "text/jinja_run.h"

#include "base/mem.h"

enum {
    STEPS = 20 * 1000 * 1000, /* a few seconds; chat templates take some ten a message */
    BYTES = 512 << 20
};

/* ---- scopes and output ---------------------------------------------------------------------- */

static void set_var(jrun *r, jframe *f, str name, jvalue v) {
    jvar *var;

    for (var = f->vars; var; var = var->next)
        if (str_eq(var->name, name)) break;
    if (!var) {
        var = r->free_vars ? r->free_vars : jget(r, 1, sizeof *var);
        if (!var) return;
        if (r->free_vars) r->free_vars = var->next;
        var->name = name;
        var->next = f->vars;
        f->vars = var;
    }
    var->value = v;
}

/* A new scope inside `up` becomes the current one; the one before is returned. NULL: no memory. */
static jframe *push_frame(jrun *r, jframe *up) {
    jframe *f = jget(r, 1, sizeof *f), *before = r->frame;

    if (!f) return NULL;
    f->up = up;
    r->frame = f;
    return before;
}

/* The output of a body as a string, in a scope of its own inside `up`. */
static jvalue capture_in(jrun *r, const jnode *body, jframe *scope) {
    jframe *before = r->frame;
    jbuf b = {0}, *out = r->out;

    r->frame = scope;
    r->out = &b;
    jexec(r, body);
    r->out = out;
    r->frame = before;
    return jbuf_value(r, &b);
}

static jvalue capture(jrun *r, const jnode *body) {
    jframe *f = jget(r, 1, sizeof *f);

    if (!f) return jnone();
    f->up = r->frame;
    return capture_in(r, body, f);
}

/* ---- assignment ----------------------------------------------------------------------------- */

static void assign_tuple(jrun *r, const jnode *target, jvalue v) {
    jlist items;

    if (!jiterate(r, v, &items)) return;
    if (items.n != target->n) {
        jfail(r, EW_EINVAL, "%zu values for %u names", items.n, target->n);
        return;
    }
    for (uint32_t i = 0; i < target->n; i++) {
        if (target->list[i]->kind == N_TUPLE)
            assign_tuple(r, target->list[i], items.v[i]);
        else
            set_var(r, r->frame, target->list[i]->name, items.v[i]);
    }
}

static void assign(jrun *r, const jnode *target, jvalue v) {
    if (r->rc) return;
    if (target->kind == N_NAME) {
        set_var(r, r->frame, target->name, v);
    } else if (target->kind == N_TUPLE) {
        assign_tuple(r, target, v);
    } else {
        const jvalue of = jeval(r, target->a);

        if (of.kind == JV_SPACE)
            jdict_set(r, of.u.dict, jstr_value(r, target->name, NULL), v);
        else
            jfail(r, EW_EINVAL, "cannot assign attribute on non-namespace object");
    }
}

static jvalue with_hole(jrun *r, const jnode *filters, jvalue v) {
    const jvalue before = r->hole;

    r->hole = v;
    v = jeval(r, filters);
    r->hole = before;
    return v;
}

static void exec_capture(jrun *r, const jnode *node) {
    jvalue v = capture(r, node->c);

    if (node->b) v = with_hole(r, node->b, v);
    assign(r, node->a, v);
}

/* ---- loops ---------------------------------------------------------------------------------- */

/* The items for which the loop's condition holds. */
static jlist *select_items(jrun *r, const jnode *node, const jlist *all) {
    jlist *some = jlist_new(r, SEQ_LIST, all->n);
    jframe *before = push_frame(r, r->frame);

    for (size_t i = 0; i < all->n && !r->rc; i++) {
        r->frame->vars = NULL;
        assign(r, node->a, all->v[i]);
        if (jtruth(jeval(r, node->c))) jlist_add(r, some, all->v[i]);
    }
    if (before) r->frame = before;
    return r->rc ? NULL : some;
}

/* The variables of a pass can be used again, unless a macro holds on to them. */
static void end_pass(jrun *r, jframe *f) {
    while (!f->is_kept && f->vars) {
        jvar *var = f->vars;

        f->vars = var->next;
        var->next = r->free_vars;
        r->free_vars = var;
    }
}

/* A pass with frame and loop in place. */
static void exec_pass(jrun *r, const jnode *node, jloop *loop, jframe **frame) {
    jframe *f = *frame && !(*frame)->is_kept ? *frame : jget(r, 1, sizeof *f);

    if (!f) return;
    *frame = f;
    f->up = loop->frame;
    r->frame = f;
    assign(r, node->a, loop->items->v[loop->i]);
    set_var(r, f, str_of("loop"), (jvalue){.kind = JV_LOOP, .u.loop = loop});
    jexec(r, node->list[0]);
    end_pass(r, f);
}

static void exec_for_over(jrun *r, const jnode *node, jvalue over, unsigned depth) {
    jloop *loop = jget(r, 1, sizeof *loop);
    jlist *items = jget(r, 1, sizeof *items);
    jframe *frame = r->frame, *inner = NULL;

    if (!loop || !items || !jiterate(r, over, items)) return;
    if (node->c) items = select_items(r, node, items);
    if (!items) return;
    *loop = (jloop){.items = items, .depth = depth, .frame = frame};
    if (node->is_recursive) loop->node = node;
    for (jframe *f = frame; node->is_recursive && f; f = f->up) f->is_kept = true;
    loop->last.kind = JV_ABSENT;
    for (; loop->i < items->n && jstep(r, 1) && r->flow != FLOW_BREAK; loop->i++) {
        r->flow = FLOW_ON;
        exec_pass(r, node, loop, &inner);
    }
    r->flow = FLOW_ON;
    r->frame = frame;
    if (!items->n) jexec(r, node->list[1]);
}

jvalue jexec_loop_call(jrun *r, const jloop *loop, jvalue over) {
    jframe *before = r->frame;
    jbuf b = {0}, *out = r->out;

    if (!loop->node)
        return jfail(r, EW_EINVAL, "the loop must have the 'recursive' marker to be called");
    if (!jenter(r)) return jnone();
    r->frame = loop->frame;
    r->out = &b;
    exec_for_over(r, loop->node, over, loop->depth + 1);
    r->out = out;
    r->frame = before;
    jleave(r);
    return jbuf_value(r, &b);
}

/* ---- macros --------------------------------------------------------------------------------- */

static jmacro *macro_of(jrun *r, const jnode *node) {
    jmacro *m = jget(r, 1, sizeof *m);

    if (!m) return NULL;
    *m = (jmacro){.node = node, .frame = r->frame};
    for (jframe *f = r->frame; f; f = f->up) f->is_kept = true;
    return m;
}

static void define_macro(jrun *r, const jnode *node) {
    jmacro *m = macro_of(r, node);

    if (!m) return;
    set_var(r, r->frame, node->name, (jvalue){.kind = JV_MACRO, .u.macro = m});
}

/* A parameter by place, by name, or its default, which may use those before it. */
static jvalue parameter(jrun *r, const jnode *node, uint32_t i, const jargs *a) {
    const str name = node->names[i];
    jvalue v;

    if (i < a->n) return a->v[i];
    if (jarg_named(a, name, &v)) return v;
    if (node->list[i]) return jeval(r, node->list[i]);
    return jundef(r, "parameter '%.*s' was not provided", (int)name.n, name.p);
}

static bool is_parameter(const jnode *node, str name) {
    for (uint32_t i = 0; i < node->n; i++)
        if (str_eq(node->names[i], name)) return true;
    return false;
}

/* varargs, kwargs and caller: what the parameters don't name. */
static void bind_rest(jrun *r, const jnode *node, const jargs *a) {
    jlist *varargs = jlist_new(r, SEQ_TUPLE, 0);
    jdict *kwargs = jdict_new(r, 0);

    for (size_t i = node->n; i < a->n && !r->rc; i++) jlist_add(r, varargs, a->v[i]);
    for (size_t i = 0; i < a->n_named && !r->rc; i++) {
        if (str_is(a->names[i], "caller"))
            set_var(r, r->frame, a->names[i], a->v[a->n + i]);
        else if (!is_parameter(node, a->names[i]))
            jdict_set(r, kwargs, jstr_value(r, a->names[i], NULL), a->v[a->n + i]);
    }
    if (r->rc) return;
    set_var(r, r->frame, str_of("varargs"), jlist_value(varargs));
    set_var(r, r->frame, str_of("kwargs"), jdict_value(kwargs));
}

jvalue jexec_macro(jrun *r, const jmacro *m, const jargs *a) {
    jframe *before;
    jvalue v;

    if (!jenter(r)) return jnone();
    before = push_frame(r, m->frame);
    if (!before) return jnone();
    bind_rest(r, m->node, a);
    for (uint32_t i = 0; i < m->node->n && !r->rc; i++)
        set_var(r, r->frame, m->node->names[i], parameter(r, m->node, i, a));
    v = capture_in(r, m->node->c, r->frame);
    r->frame = before;
    jleave(r);
    return v;
}

/* The call's arguments and one more, caller. */
static void exec_call_block(jrun *r, const jnode *node) {
    const jnode *call = node->a;
    const jvalue callee = jeval(r, call->a);
    jvalue *v = jget(r, call->n + 1, sizeof *v);
    str *names = jget(r, call->n - call->n_pos + 1, sizeof *names);
    jmacro *caller = macro_of(r, node->b);
    jargs a = {v, call->n_pos, call->n - call->n_pos + 1, names};

    if (r->rc) return;
    for (uint32_t i = 0; i < call->n; i++) v[i] = jeval(r, call->list[i]);
    for (size_t i = 0; i + 1 < a.n_named; i++) names[i] = call->names[i];
    v[call->n] = (jvalue){.kind = JV_MACRO, .u.macro = caller};
    names[a.n_named - 1] = str_of("caller");
    jprint(r, r->out, jcall(r, callee, &a));
}

/* ---- statements ----------------------------------------------------------------------------- */

static void exec_body(jrun *r, const jnode *node) {
    for (uint32_t i = 0; i < node->n && !r->rc && r->flow == FLOW_ON; i++) jexec(r, node->list[i]);
}

static void exec_if(jrun *r, const jnode *node) {
    for (uint32_t i = 0; i + 1 < node->n && !r->rc; i += 2)
        if (jtruth(jeval(r, node->list[i]))) {
            jexec(r, node->list[i + 1]);
            return;
        }
    jexec(r, node->c);
}

/* The values know the scope outside; the names are the body's. */
static void exec_with(jrun *r, const jnode *node) {
    jframe *inner = jget(r, 1, sizeof *inner), *before = r->frame;

    if (!inner) return;
    inner->up = before;
    for (uint32_t i = 0; i + 1 < node->n && !r->rc; i += 2) {
        const jvalue v = jeval(r, node->list[i + 1]);

        r->frame = inner;
        assign(r, node->list[i], v);
        r->frame = before;
    }
    r->frame = inner;
    jexec(r, node->c);
    r->frame = before;
}

static void exec(jrun *r, const jnode *node) {
    switch (node->kind) {
    case N_BODY:
        exec_body(r, node);
        break;
    case N_DATA:
        jbuf_str(r, r->out, node->value.u.s);
        break;
    case N_OUTPUT:
        jprint(r, r->out, jeval(r, node->a));
        break;
    case N_IF:
        exec_if(r, node);
        break;
    case N_FOR:
        exec_for_over(r, node, jeval(r, node->b), 1);
        break;
    case N_SET:
        assign(r, node->a, jeval(r, node->b));
        break;
    case N_CAPTURE:
        exec_capture(r, node);
        break;
    case N_MACRO:
        define_macro(r, node);
        break;
    case N_CALL_BLOCK:
        exec_call_block(r, node);
        break;
    case N_FILTER_BLOCK:
        jprint(r, r->out, with_hole(r, node->a, capture(r, node->c)));
        break;
    case N_WITH:
        exec_with(r, node);
        break;
    case N_BREAK:
        r->flow = FLOW_BREAK;
        break;
    case N_CONTINUE:
        r->flow = FLOW_CONTINUE;
        break;
    default: /* expressions: jeval */
        break;
    }
}

void jexec(jrun *r, const jnode *node) {
    if (!node || !jenter(r)) return;
    r->line = node->line;
    exec(r, node);
    jleave(r);
}

/* ---- a rendering ---------------------------------------------------------------------------- */

static ew_status take_output(const jrun *r, const jbuf *b, bool marks_text, jinja_text *out) {
    out->text = mem_copy_str(b->p, b->n);
    if (out->text && marks_text) out->is_text = mem_array(b->n, 1);
    if (!out->text || (marks_text && !out->is_text)) {
        mem_free(out->text);
        *out = (jinja_text){0};
        return fail(r->err, EW_ENOMEM, "%s: out of memory", r->name);
    }
    if (out->is_text && b->mark) memcpy(out->is_text, b->mark, b->n);
    out->n = b->n;
    return EW_OK;
}

ew_status jinja_render(const jinja *t, const jinja_context *c, jinja_text *out, ew_error *err) {
    jrun r = {.name = t->name,
              .err = err,
              .steps = c->max_steps ? c->max_steps : STEPS,
              .now = &c->now,
              .hole = {.kind = JV_NONE}};
    jframe root = {0};
    jbuf text = {0};

    *out = (jinja_text){0};
    arena_init(&r.mem, c->max_bytes ? c->max_bytes : BYTES);
    r.frame = &root;
    r.out = &text;
    r.context = jload(&r, c->values, c->marks_text);
    if (r.context) jexec(&r, t->root);
    if (!r.rc) r.rc = take_output(&r, &text, c->marks_text, out);
    arena_fini(&r.mem);
    return r.rc;
}
