/* SPDX-License-Identifier: MIT */
#include "text/grammar_expr.h"

#include "base/mem.h"

#include <stdlib.h>

enum {
    CHARS_MAX = 1 << 22, /* bytes of all texts */
    NAMES_MIN = 64
};

bool expr_init(grammar_expr *g) {
    *g = (grammar_expr){.root = -1, .n_names = NAMES_MIN};
    strbuf_init(&g->chars, CHARS_MAX);
    g->names = mem_array(g->n_names, sizeof *g->names);
    return g->names != NULL;
}

void expr_fini(grammar_expr *g) {
    for (size_t i = 0; i < g->n_rule; i++) mem_free(g->rules[i].copy);
    mem_free(g->nodes);
    mem_free(g->parts);
    mem_free(g->ranges);
    mem_free(g->rules);
    mem_free(g->names);
    strbuf_fini(&g->chars);
    *g = (grammar_expr){0};
}

/* ---- pools ---------------------------------------------------------------------------------- */

void *expr_room(grammar_expr *g, void *p, size_t n, size_t *cap, size_t size) {
    size_t more;
    void *q;

    if (n < *cap) return p;
    if (g->failed || n >= EXPR_MAX) {
        if (!g->failed) g->is_large = true;
        g->failed = true;
        return NULL;
    }
    more = *cap ? *cap * 2 : 32;
    q = mem_resize(p, more, size);
    if (!q) {
        g->failed = true;
        return NULL;
    }
    *cap = more;
    return q;
}

void expr_push(grammar_expr *g, expr_list *l, expr e) {
    expr *v = expr_room(g, l->v, l->n, &l->cap, sizeof *v);

    if (!v) return;
    l->v = v;
    l->v[l->n++] = e;
}

void range_push(grammar_expr *g, range_list *l, uint32_t lo, uint32_t hi) {
    char_range *v = expr_room(g, l->v, l->n, &l->cap, sizeof *v);

    if (!v) return;
    l->v = v;
    l->v[l->n++] = (char_range){lo, hi};
}

static expr add_node(grammar_expr *g, expr_node e) {
    expr_node *v = expr_room(g, g->nodes, g->n_node, &g->cap_node, sizeof *v);

    if (!v) return 0;
    g->nodes = v;
    g->nodes[g->n_node] = e;
    return (expr)g->n_node++;
}

static void add_part(grammar_expr *g, expr part) {
    expr *v = expr_room(g, g->parts, g->n_part, &g->cap_part, sizeof *v);

    if (!v) return;
    g->parts = v;
    g->parts[g->n_part++] = part;
}

static void add_range(grammar_expr *g, uint32_t lo, uint32_t hi) {
    char_range *v;

    if (lo > hi) return;
    v = expr_room(g, g->ranges, g->n_range, &g->cap_range, sizeof *v);
    if (!v) return;
    g->ranges = v;
    g->ranges[g->n_range++] = (char_range){lo, hi};
}

/* ---- expressions ---------------------------------------------------------------------------- */

expr expr_empty(grammar_expr *g) {
    return add_node(g, (expr_node){.kind = EXPR_EMPTY});
}

expr expr_never(grammar_expr *g) {
    return add_node(g, (expr_node){.kind = EXPR_NEVER});
}

expr expr_text(grammar_expr *g, str text) {
    const size_t at = g->chars.n;

    if (!text.n) return expr_empty(g);
    if (text.n > CHARS_MAX - g->chars.n) g->is_large = true;
    strbuf_str(&g->chars, text);
    g->failed |= g->chars.failed;
    return add_node(g, (expr_node){EXPR_TEXT, (uint32_t)at, (uint32_t)text.n, 0, 0});
}

static int by_lo(const void *a, const void *b) {
    const char_range *x = a, *y = b;

    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* The range without surrogates, which no UTF-8 holds, and NUL, which no token has. */
static void add_scalars(grammar_expr *g, uint32_t lo, uint32_t hi) {
    if (lo == 0) lo = 1;
    if (hi > CODE_POINT_MAX) hi = CODE_POINT_MAX;
    if (hi < 0xD800 || lo > 0xDFFF) {
        add_range(g, lo, hi);
        return;
    }
    if (lo < 0xD800) add_range(g, lo, 0xD7FF);
    if (hi > 0xDFFF) add_range(g, 0xE000, hi);
}

/* Sorted ranges, joined where they touch, or what lies between them. */
static void add_sorted(grammar_expr *g, const char_range *v, size_t n, bool negated) {
    uint32_t next = 0; /* the first code point not looked at */

    for (size_t i = 0; i < n;) {
        const uint32_t lo = v[i].lo;
        uint32_t hi = v[i].hi;

        for (i++; i < n && v[i].lo <= (uint64_t)hi + 1; i++)
            if (v[i].hi > hi) hi = v[i].hi;
        if (!negated)
            add_scalars(g, lo, hi);
        else if (lo > next)
            add_scalars(g, next, lo - 1);
        next = hi < CODE_POINT_MAX ? hi + 1 : CODE_POINT_MAX + 1;
    }
    if (negated && next <= CODE_POINT_MAX) add_scalars(g, next, CODE_POINT_MAX);
}

expr expr_set(grammar_expr *g, const char_range *ranges, size_t n, bool negated) {
    const size_t at = g->n_range;
    char_range *v = mem_array(n, sizeof *v);

    if (!v) {
        g->failed = true;
        return 0;
    }
    if (n) memcpy(v, ranges, n * sizeof *v);
    if (n) qsort(v, n, sizeof *v, by_lo);
    add_sorted(g, v, n, negated);
    mem_free(v);
    if (g->n_range == at) return expr_never(g);
    return add_node(g, (expr_node){EXPR_SET, (uint32_t)at, (uint32_t)(g->n_range - at), 0, 0});
}

static expr add_list(grammar_expr *g, expr_kind kind, const expr *parts, size_t n) {
    const size_t at = g->n_part;

    for (size_t i = 0; i < n; i++) add_part(g, parts[i]);
    return add_node(g, (expr_node){kind, (uint32_t)at, (uint32_t)n, 0, 0});
}

expr expr_seq(grammar_expr *g, const expr *parts, size_t n) {
    if (n == 1) return parts[0];
    return n ? add_list(g, EXPR_SEQ, parts, n) : expr_empty(g);
}

expr expr_alt(grammar_expr *g, const expr *parts, size_t n) {
    if (n == 1) return parts[0];
    return n ? add_list(g, EXPR_ALT, parts, n) : expr_never(g);
}

static expr of_args(grammar_expr *g, expr_kind kind, int n, va_list args) {
    expr parts[8];

    for (int i = 0; i < n; i++) parts[i] = va_arg(args, expr);
    return add_list(g, kind, parts, (size_t)n);
}

expr expr_seq_of(grammar_expr *g, int n, ...) {
    va_list args;
    expr e;

    va_start(args, n);
    e = of_args(g, EXPR_SEQ, n, args);
    va_end(args);
    return e;
}

expr expr_alt_of(grammar_expr *g, int n, ...) {
    va_list args;
    expr e;

    va_start(args, n);
    e = of_args(g, EXPR_ALT, n, args);
    va_end(args);
    return e;
}

expr expr_repeat(grammar_expr *g, expr part, uint32_t min, uint32_t max) {
    const size_t at = g->n_part;

    if (max == 0) return expr_empty(g);
    if (min == 1 && max == 1) return part;
    add_part(g, part);
    return add_node(g, (expr_node){EXPR_REPEAT, (uint32_t)at, 1, min, max});
}

expr expr_rule(grammar_expr *g, rule_id r) {
    return add_node(g, (expr_node){EXPR_RULE, (uint32_t)r, 0, 0, 0});
}

expr expr_token(grammar_expr *g, int32_t id, bool negated) {
    return add_node(g, (expr_node){negated ? EXPR_TOKEN_NOT : EXPR_TOKEN, (uint32_t)id, 0, 0, 0});
}

/* ---- rules ---------------------------------------------------------------------------------- */

rule_id expr_rule_new(grammar_expr *g) {
    grammar_rule *v = expr_room(g, g->rules, g->n_rule, &g->cap_rule, sizeof *v);

    if (v && g->n_rule >= RULE_MAX) {
        g->failed = g->is_large = true;
        v = NULL;
    }
    if (!v) return 0;
    g->rules = v;
    g->rules[g->n_rule] = (grammar_rule){.body = -1};
    return (rule_id)g->n_rule++;
}

/* The slot of a name: its rule's, or the free one where it belongs. */
static uint32_t *slot_of(const grammar_expr *g, str name) {
    size_t i = str_hash(name) & (g->n_names - 1);

    while (g->names[i] && !str_eq(g->rules[g->names[i] - 1].name, name))
        i = (i + 1) & (g->n_names - 1);
    return &g->names[i];
}

static bool grow_names(grammar_expr *g) {
    uint32_t *const old = g->names;
    const size_t n_old = g->n_names;

    if (g->n_rule * 2 < n_old) return true;
    g->names = mem_array(n_old * 2, sizeof *g->names);
    if (!g->names) {
        g->names = old;
        g->failed = true;
        return false;
    }
    g->n_names = n_old * 2;
    for (size_t i = 0; i < n_old; i++)
        if (old[i]) *slot_of(g, g->rules[old[i] - 1].name) = old[i];
    mem_free(old);
    return true;
}

rule_id expr_rule_named(grammar_expr *g, str name) {
    uint32_t *slot = slot_of(g, name);
    char *copy;
    rule_id r;

    if (*slot) return (rule_id)*slot - 1;
    if (!grow_names(g)) return 0;
    copy = mem_copy_str(name.p, name.n);
    if (!copy) g->failed = true;
    if (g->failed) {
        mem_free(copy);
        return 0;
    }
    r = expr_rule_new(g);
    if (g->failed) {
        mem_free(copy);
        return 0;
    }
    g->rules[r].name = (str){copy, name.n};
    g->rules[r].copy = copy;
    *slot_of(g, name) = (uint32_t)r + 1;
    return r;
}

void expr_define(grammar_expr *g, rule_id r, expr body) {
    if (!g->failed) g->rules[r].body = body;
}
