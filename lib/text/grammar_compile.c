/* SPDX-License-Identifier: MIT
 *
 * Rules to automaton. Expressions are compiled from their ends: compile(e, next) makes nodes that
 * read e and go on at next, and returns where they begin. Characters become their UTF-8 bytes.
 * Then bytes that no set tells apart are joined to classes, and the needs are computed. */
#include "base/mem.h"
#include "base/utf8.h"
#include "text/grammar.h"

enum {
    SPACED_MAX = 4, /* blanks before a constraint that starts inside an answer */
    TAIL_LOOK = 8   /* sequences looked back on for one with the same tail */
};

/* Bytes of one character, each in a range. */
typedef struct {
    uint8_t lo[4], hi[4], n;
} byte_seq;

typedef struct {
    byte_set first;
    byte_seq tail; /* without its first byte */
} seq_group;

typedef struct {
    const grammar_expr *e;
    grammar *g;
    size_t cap_node, cap_loop, cap_set;
    int32_t *start;     /* [n_rule] */
    uint32_t *set_slot; /* hash table of set + 1 */
    size_t n_slot;      /* a power of two */
    seq_group *groups;  /* of the character set at hand */
    size_t n_group, cap_group;
    bool failed, is_large;
} compiler;

/* ---- pools ---------------------------------------------------------------------------------- */

static void *room(compiler *c, void *p, size_t n, size_t *cap, size_t size) {
    void *q;

    if (n < *cap) return p;
    if (n >= GRAMMAR_NODE_MAX) c->is_large = true;
    if (c->failed || c->is_large) {
        c->failed = true;
        return NULL;
    }
    q = mem_resize(p, *cap ? *cap * 2 : 64, size);
    if (!q) {
        c->failed = true;
        return NULL;
    }
    *cap = *cap ? *cap * 2 : 64;
    return q;
}

static int32_t add_node(compiler *c, node_kind kind, int32_t a, int32_t b) {
    grammar_node *v = room(c, c->g->nodes, c->g->n_node, &c->cap_node, sizeof *v);

    if (!v) return 0;
    c->g->nodes = v;
    c->g->nodes[c->g->n_node] = (grammar_node){(uint8_t)kind, NEED_NEVER, a, b};
    return (int32_t)c->g->n_node++;
}

static int32_t add_loop(compiler *c, grammar_loop l) {
    grammar_loop *v = room(c, c->g->loops, c->g->n_loop, &c->cap_loop, sizeof *v);

    if (!v) return 0;
    c->g->loops = v;
    c->g->loops[c->g->n_loop] = l;
    return (int32_t)c->g->n_loop++;
}

static size_t set_slot(const compiler *c, const byte_set *s) {
    const str bytes = {(const char *)s, sizeof *s};
    size_t i = str_hash(bytes) & (c->n_slot - 1);

    while (c->set_slot[i] && memcmp(&c->g->sets[c->set_slot[i] - 1], s, sizeof *s) != 0)
        i = (i + 1) & (c->n_slot - 1);
    return i;
}

static bool grow_slots(compiler *c) {
    const size_t n = c->n_slot ? c->n_slot * 2 : 256;

    mem_free(c->set_slot);
    c->set_slot = mem_array(n, sizeof *c->set_slot);
    c->n_slot = c->set_slot ? n : 0;
    c->failed |= !c->set_slot;
    for (size_t i = 0; c->set_slot && i < c->g->n_set; i++)
        c->set_slot[set_slot(c, &c->g->sets[i])] = (uint32_t)i + 1;
    return !c->failed;
}

/* The number of this set, made if it is new. */
static int32_t intern_set(compiler *c, const byte_set *s) {
    byte_set *v;
    size_t at;

    if (c->g->n_set * 2 >= c->n_slot && !grow_slots(c)) return 0;
    at = set_slot(c, s);
    if (c->set_slot[at]) return (int32_t)c->set_slot[at] - 1;
    v = room(c, c->g->sets, c->g->n_set, &c->cap_set, sizeof *v);
    if (!v) return 0;
    c->g->sets = v;
    c->g->sets[c->g->n_set++] = *s;
    c->set_slot[at] = (uint32_t)c->g->n_set;
    return (int32_t)c->g->n_set - 1;
}

static void set_range(byte_set *s, unsigned lo, unsigned hi) {
    for (unsigned b = lo; b <= hi; b++) s->bit[b >> 6] |= (uint64_t)1 << (b & 63);
}

static int32_t add_bytes(compiler *c, unsigned lo, unsigned hi, int32_t next) {
    byte_set s = {{0}};

    set_range(&s, lo, hi);
    return add_node(c, NODE_SET, next, intern_set(c, &s));
}

/* ---- characters ----------------------------------------------------------------------------- */

static bool same_tail(const byte_seq *a, const byte_seq *b) {
    return a->n == b->n && memcmp(a->lo + 1, b->lo + 1, a->n - 1u) == 0 &&
           memcmp(a->hi + 1, b->hi + 1, a->n - 1u) == 0;
}

static void add_seq(compiler *c, const byte_seq *s) {
    seq_group *v;

    for (size_t i = c->n_group, look = 0; i-- > 0 && look < TAIL_LOOK; look++) {
        if (!same_tail(&c->groups[i].tail, s)) continue;
        set_range(&c->groups[i].first, s->lo[0], s->hi[0]);
        return;
    }
    v = room(c, c->groups, c->n_group, &c->cap_group, sizeof *v);
    if (!v) return;
    c->groups = v;
    v[c->n_group] = (seq_group){.tail = *s};
    set_range(&v[c->n_group++].first, s->lo[0], s->hi[0]);
}

/* Code points whose encodings have the same length, cut until every byte runs through a range of
 * its own. */
static void add_code_points(compiler *c, uint32_t lo, uint32_t hi) {
    byte_seq s = {.n = 0};
    char from[4], to[4];

    for (unsigned i = 1; i < 4 && lo >= 0x80; i++) {
        const uint32_t m = ((uint32_t)1 << 6 * i) - 1;

        if ((lo & ~m) == (hi & ~m)) break;
        if (lo & m) {
            add_code_points(c, lo, lo | m);
            add_code_points(c, (lo | m) + 1, hi);
            return;
        }
        if ((hi & m) != m) {
            add_code_points(c, lo, (hi & ~m) - 1);
            add_code_points(c, hi & ~m, hi);
            return;
        }
    }
    s.n = (uint8_t)utf8_encode(lo, from);
    utf8_encode(hi, to);
    memcpy(s.lo, from, s.n);
    memcpy(s.hi, to, s.n);
    add_seq(c, &s);
}

static void add_char_range(compiler *c, char_range r) {
    static const uint32_t last[] = {0x7F, 0x7FF, 0xFFFF, CODE_POINT_MAX};

    for (size_t i = 0; i < 4; i++) {
        const uint32_t lo = i && r.lo <= last[i - 1] ? last[i - 1] + 1 : r.lo;
        const uint32_t hi = r.hi < last[i] ? r.hi : last[i];

        if (lo <= hi) add_code_points(c, lo, hi);
    }
}

static int32_t compile_set(compiler *c, const expr_node *e, int32_t next) {
    int32_t all = -1;

    c->n_group = 0;
    for (uint32_t i = 0; i < e->n; i++) add_char_range(c, c->e->ranges[e->at + i]);
    for (size_t i = 0; i < c->n_group && !c->failed; i++) {
        const seq_group *s = &c->groups[i];
        int32_t at = next;

        for (unsigned b = s->tail.n; b-- > 1;) at = add_bytes(c, s->tail.lo[b], s->tail.hi[b], at);
        at = add_node(c, NODE_SET, at, intern_set(c, &s->first));
        all = all < 0 ? at : add_node(c, NODE_SPLIT, all, at);
    }
    return all;
}

/* ---- expressions ---------------------------------------------------------------------------- */

static int32_t compile(compiler *c, expr id, int32_t next);

static int32_t compile_text(compiler *c, const expr_node *e, int32_t next) {
    for (uint32_t i = e->n; i-- > 0;) {
        const uint8_t b = (uint8_t)c->e->chars.p[e->at + i];

        next = add_bytes(c, b, b, next);
    }
    return next;
}

/* Any number of times: a split that is entered again. */
static int32_t compile_star(compiler *c, expr part, int32_t next, bool once_at_least) {
    const int32_t split = add_node(c, NODE_SPLIT, 0, next);
    const int32_t body = compile(c, part, split);

    if (!c->failed) c->g->nodes[split].a = body;
    return once_at_least ? body : split;
}

static int32_t compile_repeat(compiler *c, const expr_node *e, int32_t next) {
    const expr part = c->e->parts[e->at];

    if (e->max == 1) return add_node(c, NODE_SPLIT, compile(c, part, next), next);
    if (e->max == REPEAT_ANY && e->min <= 1) return compile_star(c, part, next, e->min == 1);
    return add_node(c, NODE_LOOP, 0,
                    add_loop(c, (grammar_loop){compile(c, part, 0), next, e->min, e->max}));
}

static int32_t compile_alt(compiler *c, const expr_node *e, int32_t next) {
    int32_t all = -1;

    for (uint32_t i = e->n; i-- > 0 && !c->failed;) {
        const int32_t at = compile(c, c->e->parts[e->at + i], next);

        all = all < 0 ? at : add_node(c, NODE_SPLIT, at, all);
    }
    return all;
}

static int32_t compile(compiler *c, expr id, int32_t next) {
    const expr_node *e = &c->e->nodes[id];

    if (c->failed) return 0;
    switch (e->kind) {
    case EXPR_EMPTY:
        return next;
    case EXPR_NEVER:
        return add_node(c, NODE_NEVER, 0, 0);
    case EXPR_TEXT:
        return compile_text(c, e, next);
    case EXPR_SET:
        return compile_set(c, e, next);
    case EXPR_SEQ:
        for (uint32_t i = e->n; i-- > 0;) next = compile(c, c->e->parts[e->at + i], next);
        return next;
    case EXPR_ALT:
        return compile_alt(c, e, next);
    case EXPR_REPEAT:
        return compile_repeat(c, e, next);
    case EXPR_RULE:
        return add_node(c, NODE_CALL, (int32_t)e->at, next);
    case EXPR_TOKEN:
    case EXPR_TOKEN_NOT:
        c->g->has_tokens = true;
        return add_node(c, e->kind == EXPR_TOKEN ? NODE_TOKEN : NODE_TOKEN_NOT, next,
                        (int32_t)e->at);
    }
    return 0;
}

static void compile_rules(compiler *c) {
    const int32_t root = c->e->root;
    byte_set blanks = {{0}};

    add_node(c, NODE_END, 0, 0);
    for (size_t i = 0; i < c->e->n_rule && !c->failed; i++)
        c->start[i] = compile(c, c->e->rules[i].body, 0);
    c->g->start = add_node(c, NODE_CALL, root, 0);
    set_range(&blanks, ' ', ' ');
    set_range(&blanks, '\t', '\n');
    set_range(&blanks, '\r', '\r');
    c->g->start_spaced =
        add_node(c, NODE_LOOP, 0,
                 add_loop(c, (grammar_loop){add_node(c, NODE_SET, 0, intern_set(c, &blanks)),
                                            c->g->start, 0, SPACED_MAX}));
}

/* ---- byte classes --------------------------------------------------------------------------- */

/* Bytes that are in the same sets behave the same; a set is then one of classes. */
static void make_classes(grammar *g) {
    uint8_t first[256]; /* a byte of each class */

    g->n_class = 1;
    memset(g->class_of, 0, sizeof g->class_of);
    for (size_t i = 0; i < g->n_set && g->n_class < 256; i++) {
        int16_t moved[256]; /* where the members of a class go that are in the set */
        bool stays[256] = {false};

        memset(moved, -1, sizeof moved);
        for (unsigned b = 0; b < 256; b++)
            if (!set_has(&g->sets[i], b)) stays[g->class_of[b]] = true;
        for (unsigned b = 0; b < 256; b++) {
            const uint8_t was = g->class_of[b];

            if (!set_has(&g->sets[i], b) || !stays[was]) continue;
            if (moved[was] < 0) moved[was] = (int16_t)g->n_class++;
            g->class_of[b] = (uint8_t)moved[was];
        }
    }
    for (unsigned b = 0; b < 256; b++) first[g->class_of[b]] = (uint8_t)b;
    for (size_t i = 0; i < g->n_set; i++) {
        const byte_set of_bytes = g->sets[i];

        g->sets[i] = (byte_set){{0}};
        for (unsigned k = 0; k < g->n_class; k++)
            if (set_has(&of_bytes, first[k])) set_range(&g->sets[i], k, k);
    }
}

/* ---- what a node needs ---------------------------------------------------------------------- */

/* One value a node, from those of the nodes it goes on to: for `need` the frames, and in the same
 * way, without bytes, whether the end can be reached at once. Values are settled from small to
 * large, each node when its last (or, of a split, its first) successor is. */
typedef struct {
    const grammar *g;
    const int32_t *start;
    bool without_bytes;
    uint16_t *value;   /* [n_node] */
    uint8_t *waits;    /* [n_node] successors not settled yet */
    uint32_t *user_at; /* [n_node + 1] offsets into user */
    int32_t *user;     /* nodes that go on to this one */
    int32_t *next;     /* [n_node] the queue of a value */
    int32_t queue[GRAMMAR_DEPTH_MAX + 1];
} solver;

/* The one or two nodes that the value of node i is made of; -1: none. */
static void successors(const solver *s, size_t i, int32_t out[2]) {
    const grammar_node n = s->g->nodes[i];
    const grammar_loop *l;

    out[0] = out[1] = -1;
    switch ((node_kind)n.kind) {
    case NODE_END:
    case NODE_NEVER:
        return;
    case NODE_SET:
    case NODE_TOKEN:
    case NODE_TOKEN_NOT:
        if (!s->without_bytes) out[0] = n.a;
        return;
    case NODE_SPLIT:
        out[0] = n.a;
        out[1] = n.b;
        return;
    case NODE_CALL:
        out[0] = n.b;
        out[1] = s->start[n.a];
        return;
    case NODE_LOOP:
        l = &s->g->loops[n.b];
        out[0] = l->exit;
        if (l->min) out[1] = l->body;
        return;
    }
}

/* The value of a node whose successors are settled, as far as it waits for them. */
static unsigned value_of(const solver *s, size_t i) {
    const grammar_node n = s->g->nodes[i];
    const unsigned frame = s->without_bytes ? 0 : 1;
    int32_t to[2];
    unsigned v, w;

    successors(s, i, to);
    if (to[0] < 0) return 0;
    v = s->value[to[0]];
    if (to[1] < 0) return v;
    w = s->value[to[1]];
    if (n.kind == NODE_SPLIT) return v < w ? v : w;
    if (n.kind == NODE_CALL && n.b == 0) return w; /* needs no frame */
    return v > w + frame ? v : w + frame;
}

static void enqueue(solver *s, size_t i) {
    const unsigned v = value_of(s, i);

    if (v > GRAMMAR_DEPTH_MAX) return;
    s->next[i] = s->queue[v];
    s->queue[v] = (int32_t)i;
}

static bool solver_init(solver *s, const grammar *g, const int32_t *start) {
    const size_t n = g->n_node;

    *s = (solver){.g = g, .start = start};
    s->value = mem_array(n, sizeof *s->value);
    s->waits = mem_array(n, sizeof *s->waits);
    s->user_at = mem_array(n + 2, sizeof *s->user_at);
    s->user = mem_array(2 * n, sizeof *s->user);
    s->next = mem_array(n, sizeof *s->next);
    return s->value && s->waits && s->user_at && s->user && s->next;
}

static void solver_fini(solver *s) {
    mem_free(s->value);
    mem_free(s->waits);
    mem_free(s->user_at);
    mem_free(s->user);
    mem_free(s->next);
}

/* Who uses whom, as offsets and one list. */
static void find_users(solver *s) {
    const size_t n = s->g->n_node;
    int32_t to[2];

    memset(s->user_at, 0, (n + 2) * sizeof *s->user_at);
    for (size_t i = 0; i < n; i++) {
        successors(s, i, to);
        for (int k = 0; k < 2; k++)
            if (to[k] >= 0) s->user_at[to[k] + 2]++;
    }
    for (size_t i = 0; i < n; i++) s->user_at[i + 2] += s->user_at[i + 1];
    for (size_t i = 0; i < n; i++) {
        successors(s, i, to);
        for (int k = 0; k < 2; k++)
            if (to[k] >= 0) s->user[s->user_at[to[k] + 1]++] = (int32_t)i;
    }
}

static void solve(solver *s, bool without_bytes) {
    const size_t n = s->g->n_node;
    int32_t to[2];

    s->without_bytes = without_bytes;
    find_users(s);
    memset(s->queue, -1, sizeof s->queue);
    for (size_t i = 0; i < n; i++) {
        const node_kind kind = s->g->nodes[i].kind;

        s->value[i] = NEED_NEVER;
        successors(s, i, to);
        s->waits[i] = kind == NODE_SPLIT ? 1 : (uint8_t)((to[0] >= 0) + (to[1] >= 0));
        if (kind == NODE_END) enqueue(s, i);
    }
    for (unsigned v = 0; v <= GRAMMAR_DEPTH_MAX; v++) {
        while (s->queue[v] >= 0) {
            const int32_t i = s->queue[v];

            s->queue[v] = s->next[i];
            s->value[i] = (uint16_t)v;
            for (uint32_t u = s->user_at[i]; u < s->user_at[i + 1]; u++)
                if (s->waits[s->user[u]] && !--s->waits[s->user[u]]) enqueue(s, (size_t)s->user[u]);
        }
    }
}

/* ---- left recursion ------------------------------------------------------------------------- */

/* Rules that a rule may begin with, walked depth first. */
typedef struct {
    const grammar *g;
    const solver *empty; /* value NEED_NEVER: can't be empty */
    const int32_t *start;
    int32_t *stack; /* nodes to look at, [2 * n_node + 2] */
    uint8_t *seen;  /* [n_node] */
    uint32_t *at;   /* [n_rule + 1] offsets into begins */
    int32_t *begins;
    size_t n_begin;
} left_search;

static void begin_with(left_search *l, int32_t start) {
    size_t n = 0;

    l->stack[n++] = start;
    while (n) {
        const int32_t i = l->stack[--n];
        const grammar_node node = l->g->nodes[i];

        if (i == 0 || l->seen[i]) continue;
        l->seen[i] = 1;
        if (node.kind == NODE_SPLIT) {
            l->stack[n++] = node.a;
            l->stack[n++] = node.b;
        } else if (node.kind == NODE_CALL) {
            l->begins[l->n_begin++] = node.a;
            if (l->empty->value[l->start[node.a]] != NEED_NEVER) l->stack[n++] = node.b;
        } else if (node.kind == NODE_LOOP) {
            l->stack[n++] = l->g->loops[node.b].body;
            if (!l->g->loops[node.b].min) l->stack[n++] = l->g->loops[node.b].exit;
        }
    }
}

/* A rule that begins with itself, by way of others or not; -1: none. Rules that begin with nothing
 * left are taken away until only circles, and what leads to them, remain. */
static int32_t find_circle(left_search *l, size_t n_rule) {
    bool any = true;
    int32_t r = -1;

    memset(l->seen, 0, n_rule); /* now: rules taken away */
    while (any) {
        any = false;
        for (size_t i = n_rule; i-- > 0;) {
            bool leads_on = false;

            for (uint32_t k = l->at[i]; k < l->at[i + 1]; k++) leads_on |= !l->seen[l->begins[k]];
            if (l->seen[i] || leads_on) continue;
            l->seen[i] = 1;
            any = true;
        }
    }
    for (size_t i = 0; i < n_rule && r < 0; i++)
        if (!l->seen[i]) r = (int32_t)i;
    for (size_t step = 0; r >= 0 && step < n_rule; step++) {
        uint32_t k = l->at[r];

        while (l->seen[l->begins[k]]) k++;
        r = l->begins[k];
    }
    return r;
}

static ew_status refuse_circle(const grammar_rule *r, ew_error *err) {
    if (!r->name.p)
        return fail(err, EW_EFORMAT, "grammar: a rule begins with itself (left recursion)");
    if (!r->line)
        return fail(err, EW_EFORMAT, "%.*s refers to itself without anything between",
                    (int)r->name.n, r->name.p);
    return fail(err, EW_EFORMAT,
                "grammar: line %u, column %u: rule %.*s begins with itself (left recursion)",
                (unsigned)r->line, (unsigned)r->column, (int)r->name.n, r->name.p);
}

static ew_status check_left(const compiler *c, const solver *empty, ew_error *err) {
    const size_t n = c->g->n_node, n_rule = c->e->n_rule;
    left_search l = {.g = c->g, .empty = empty, .start = c->start};
    ew_status rc = EW_OK;
    int32_t r;

    l.stack = mem_array(2 * n + 2, sizeof *l.stack);
    l.seen = mem_array(n + n_rule, 1);
    l.at = mem_array(n_rule + 1, sizeof *l.at);
    l.begins = mem_array(n, sizeof *l.begins);
    if (!l.stack || !l.seen || !l.at || !l.begins) {
        rc = fail(err, EW_ENOMEM, "grammar: out of memory");
        goto out;
    }
    for (size_t i = 0; i < n_rule; i++) {
        begin_with(&l, c->start[i]);
        l.at[i + 1] = (uint32_t)l.n_begin;
    }
    r = find_circle(&l, n_rule);
    if (r >= 0) rc = refuse_circle(&c->e->rules[r], err);
out:
    mem_free(l.stack);
    mem_free(l.seen);
    mem_free(l.at);
    mem_free(l.begins);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static ew_status analyse(compiler *c, ew_error *err) {
    grammar *g = c->g;
    solver s;
    ew_status rc = EW_OK;

    if (!solver_init(&s, g, c->start)) {
        solver_fini(&s);
        return fail(err, EW_ENOMEM, "grammar: out of memory");
    }
    solve(&s, true);
    /* A body that may be empty is as good as repeated: only the most matters. */
    for (size_t i = 0; i < g->n_loop; i++)
        if (s.value[g->loops[i].body] != NEED_NEVER) g->loops[i].min = 0;
    rc = check_left(c, &s, err);
    if (!rc) solve(&s, false);
    for (size_t i = 0; i < g->n_node; i++) g->nodes[i].need = s.value[i];
    solver_fini(&s);
    if (!rc && g->nodes[g->start].need == NEED_NEVER)
        return fail(err, EW_EFORMAT,
                    "grammar: no text follows it, or none that ends within %d levels of rules",
                    GRAMMAR_DEPTH_MAX);
    for (size_t i = 0; i < g->n_node; i++)
        if (g->nodes[i].kind == NODE_CALL) g->nodes[i].a = c->start[g->nodes[i].a];
    return rc;
}

ew_status grammar_compile(grammar **out, const grammar_expr *e, ew_error *err) {
    compiler c = {.e = e, .failed = e->failed, .is_large = e->is_large};
    ew_status rc;

    *out = NULL;
    c.g = mem_array(1, sizeof *c.g);
    c.start = mem_array(e->n_rule + 1, sizeof *c.start);
    c.failed |= !c.g || !c.start;
    if (!c.failed) compile_rules(&c);
    if (c.is_large) {
        rc = fail(err, EW_EUNSUPPORTED, "grammar: too large, more than %d nodes or %d parts",
                  GRAMMAR_NODE_MAX, EXPR_MAX);
    } else if (c.failed) {
        rc = fail(err, EW_ENOMEM, "grammar: out of memory");
    } else {
        make_classes(c.g);
        rc = analyse(&c, err);
    }
    mem_free(c.start);
    mem_free(c.set_slot);
    mem_free(c.groups);
    if (!rc) {
        *out = c.g;
        return EW_OK;
    }
    grammar_free(c.g);
    return rc;
}

void grammar_free(grammar *g) {
    if (!g) return;
    mem_free(g->nodes);
    mem_free(g->loops);
    mem_free(g->sets);
    mem_free(g);
}
