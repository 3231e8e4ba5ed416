/* SPDX-License-Identifier: MIT */
#include "text/grammar_match.h"

#include <stdlib.h>

enum {
    CACHE_MAX = 32 << 20,  /* bytes at which the cache is dropped between two tokens */
    CACHE_HARD = 96 << 20, /* bytes that one token's work may take it to */
    WORK_MAX = 1 << 13,    /* configurations looked at for one state */
    SEEN_SLOTS = 1 << 14,  /* a power of two */
    MASK_MAX = 128,        /* masks kept */
    DEAD = 0,              /* the state without configurations */
    UNKNOWN = -1
};

/* A frame on top of another: where a call returns to, or the loop a text is in. */
typedef struct {
    int32_t below;  /* 0: the bottom */
    int32_t node;   /* goes on there; of a loop, its number */
    uint32_t count; /* of a loop: times done */
    uint16_t depth; /* frames from the bottom to here */
    bool is_loop;
} frame;

typedef struct {
    int32_t node;  /* NODE_SET or a token's */
    int32_t stack; /* its top frame */
} config;

/* While a place is worked out: fresh frames were pushed without a byte between. */
typedef struct {
    config c;
    uint32_t fresh;
} todo;

/* A slot of the table of configurations noted; older rounds' count as free. */
typedef struct {
    uint32_t round;
    int32_t at; /* in work */
} seen_slot;

typedef struct {
    uint32_t at, n; /* configs */
    int32_t mask;   /* slot, UNKNOWN: none */
    bool can_end;
} state;

typedef struct {
    uint64_t *bits;
    int32_t owner; /* state, UNKNOWN: free */
} mask_slot;

typedef enum {
    FAIL_NONE,
    FAIL_MEMORY,
    FAIL_SIZE
} failure;

/* An array that grows, and is charged. */
typedef struct {
    void *p;
    size_t n, cap, size;
} pool;

struct matcher {
    const grammar *g;
    const token_trie *trie;
    mem_budget *budget;
    bool spaced;
    failure failed;
    int32_t now;                         /* the state the text is in */
    size_t charged;                      /* bytes of all pools and masks */
    pool frames, configs, states, steps; /* steps: [state * n_class + class] */
    pool work, found;                    /* of closure: todo, config */
    int32_t *frame_table, *state_table;  /* hash tables of numbers + 1 */
    size_t n_frame_slot, n_state_slot;
    seen_slot *seen; /* [SEEN_SLOTS] */
    uint32_t round;
    mask_slot masks[MASK_MAX];
    unsigned next_mask;
    int32_t *path; /* [trie depth + 1] states along a walk */
    size_t n_mask, n_drop;
};

/* ---- memory --------------------------------------------------------------------------------- */

static void *give_up(matcher *m, failure why) {
    if (!m->failed) m->failed = why;
    return NULL;
}

static bool charge(matcher *m, size_t bytes) {
    if (bytes > CACHE_HARD - m->charged) return give_up(m, FAIL_SIZE) != NULL;
    if (m->budget && mem_charge(m->budget, EW_MEM_SCRATCH, bytes, "grammar", NULL))
        return give_up(m, FAIL_MEMORY) != NULL;
    m->charged += bytes;
    return true;
}

static void discharge(matcher *m, size_t bytes) {
    if (m->budget) mem_release(m->budget, EW_MEM_SCRATCH, bytes);
    m->charged -= bytes;
}

/* Room for n more elements. */
static bool reserve(matcher *m, pool *p, size_t n) {
    size_t cap = p->cap ? p->cap : 64;
    void *v;

    if (m->failed) return false;
    if (n <= p->cap - p->n) return true;
    while (cap - p->n < n) cap *= 2;
    if (!charge(m, (cap - p->cap) * p->size)) return false;
    v = mem_resize(p->p, cap, p->size);
    if (!v) {
        discharge(m, (cap - p->cap) * p->size);
        return give_up(m, FAIL_MEMORY) != NULL;
    }
    p->p = v;
    p->cap = cap;
    return true;
}

static void pool_drop(matcher *m, pool *p) {
    discharge(m, p->cap * p->size);
    mem_free(p->p);
    p->p = NULL;
    p->n = p->cap = 0;
}

/* A hash table with at least twice as many slots as entries; true when it was made anew, empty. */
static bool table_grow(matcher *m, int32_t **table, size_t *n_slot, size_t n) {
    const size_t want = *n_slot ? *n_slot * 2 : 256;
    int32_t *v;

    if (m->failed || n * 2 < *n_slot) return false;
    if (!charge(m, (want - *n_slot) * sizeof *v)) return false;
    v = mem_array(want, sizeof *v);
    if (!v) {
        discharge(m, (want - *n_slot) * sizeof *v);
        give_up(m, FAIL_MEMORY);
        return false;
    }
    mem_free(*table);
    *table = v;
    *n_slot = want;
    return true;
}

static void table_drop(matcher *m, int32_t **table, size_t *n_slot) {
    discharge(m, *n_slot * sizeof **table);
    mem_free(*table);
    *table = NULL;
    *n_slot = 0;
}

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93u;
    return x ^ x >> 32;
}

/* ---- stacks --------------------------------------------------------------------------------- */

static frame *frame_at(const matcher *m, int32_t i) {
    return (frame *)m->frames.p + i;
}

static size_t frame_slot(const matcher *m, const frame *f) {
    const uint64_t key = (uint64_t)(uint32_t)f->below << 32 | (uint32_t)f->node;
    size_t i = (size_t)mix(mix(key) + f->count * 2 + f->is_loop) & (m->n_frame_slot - 1);

    for (; m->frame_table[i]; i = (i + 1) & (m->n_frame_slot - 1)) {
        const frame *g = frame_at(m, m->frame_table[i] - 1);

        if (g->below == f->below && g->node == f->node && g->count == f->count &&
            g->is_loop == f->is_loop)
            break;
    }
    return i;
}

/* The number of this frame on that stack. */
static int32_t push(matcher *m, int32_t below, int32_t node, uint32_t count, bool is_loop) {
    frame f = {below, node, count, 0, is_loop};
    size_t slot;

    if (table_grow(m, &m->frame_table, &m->n_frame_slot, m->frames.n))
        for (size_t i = 1; i < m->frames.n; i++)
            m->frame_table[frame_slot(m, frame_at(m, (int32_t)i))] = (int32_t)i + 1;
    if (!reserve(m, &m->frames, 1)) return 0;
    slot = frame_slot(m, &f);
    if (m->frame_table[slot]) return m->frame_table[slot] - 1;
    f.depth = (uint16_t)(frame_at(m, below)->depth + 1);
    *frame_at(m, (int32_t)m->frames.n++) = f;
    m->frame_table[slot] = (int32_t)m->frames.n;
    return (int32_t)m->frames.n - 1;
}

/* ---- places --------------------------------------------------------------------------------- */

static void start_place(matcher *m) {
    if (!++m->round) { /* once in 2^32 */
        memset(m->seen, 0, SEEN_SLOTS * sizeof *m->seen);
        m->round = 1;
    }
    m->work.n = 0;
    m->found.n = 0;
}

/* Notes a configuration to be looked at, once, unless it could not be finished. */
static void add(matcher *m, int32_t node, int32_t stack, uint32_t fresh) {
    const uint64_t key = (uint64_t)(uint32_t)node << 32 | (uint32_t)stack;
    seen_slot *s;

    if (m->failed || frame_at(m, stack)->depth + m->g->nodes[node].need > GRAMMAR_DEPTH_MAX) return;
    for (size_t i = (size_t)mix(key);; i++) {
        const config *c;

        s = &m->seen[i & (SEEN_SLOTS - 1)];
        if (s->round != m->round) break;
        c = &((todo *)m->work.p)[s->at].c;
        if (c->node == node && c->stack == stack) return;
    }
    if (m->work.n >= WORK_MAX) give_up(m, FAIL_SIZE);
    if (!reserve(m, &m->work, 1)) return;
    *s = (seen_slot){m->round, (int32_t)m->work.n};
    ((todo *)m->work.p)[m->work.n++] = (todo){{node, stack}, fresh};
}

static void enter_loop(matcher *m, int32_t loop, int32_t below, uint32_t count, uint32_t fresh) {
    const int32_t stack = push(m, below, loop, count, true);

    if (!m->failed) add(m, m->g->loops[loop].body, stack, fresh + 1);
}

/* The end of a rule or of a loop's body. */
static void leave(matcher *m, todo t) {
    const frame f = *frame_at(m, t.c.stack);
    const grammar_loop *l;
    uint32_t count;

    if (!f.is_loop) {
        add(m, f.node, f.below, t.fresh ? t.fresh - 1 : 0);
        return;
    }
    if (t.fresh) return; /* an empty round: only loops that may be left at once have such */
    l = &m->g->loops[f.node];
    count = f.count + 1;
    if (l->max == REPEAT_ANY && count > l->min) count = l->min;
    if (count >= l->min) add(m, l->exit, f.below, 0);
    if (count < l->max) enter_loop(m, f.node, f.below, count, 0);
}

/* One step without a byte from a configuration, or into `found` when it waits for one. True when
 * the text may end there. */
static bool follow(matcher *m, todo t) {
    const grammar_node n = m->g->nodes[t.c.node];

    switch ((node_kind)n.kind) {
    case NODE_SET:
    case NODE_TOKEN:
    case NODE_TOKEN_NOT:
        if (reserve(m, &m->found, 1)) ((config *)m->found.p)[m->found.n++] = t.c;
        return false;
    case NODE_SPLIT:
        add(m, n.a, t.c.stack, t.fresh);
        add(m, n.b, t.c.stack, t.fresh);
        return false;
    case NODE_CALL:
        if (n.b == 0) { /* nothing follows: no frame, so that lists do not pile up */
            add(m, n.a, t.c.stack, t.fresh);
        } else {
            const int32_t stack = push(m, t.c.stack, n.b, 0, false);

            add(m, n.a, stack, t.fresh + 1);
        }
        return false;
    case NODE_LOOP:
        if (!m->g->loops[n.b].min) add(m, m->g->loops[n.b].exit, t.c.stack, t.fresh);
        enter_loop(m, n.b, t.c.stack, 0, t.fresh);
        return false;
    case NODE_END:
        if (!t.c.stack) return true;
        leave(m, t);
        return false;
    case NODE_NEVER:
        return false;
    }
    return false;
}

static int by_config(const void *a, const void *b) {
    const config *x = a, *y = b;

    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static state *state_at(const matcher *m, int32_t i) {
    return (state *)m->states.p + i;
}

static size_t state_slot(const matcher *m, const config *c, size_t n, bool can_end) {
    size_t i = (size_t)mix(str_hash((str){(const char *)c, n * sizeof *c}) + can_end) &
               (m->n_state_slot - 1);

    for (; m->state_table[i]; i = (i + 1) & (m->n_state_slot - 1)) {
        const state *s = state_at(m, m->state_table[i] - 1);

        if (s->n == n && s->can_end == can_end &&
            (!n || !memcmp((config *)m->configs.p + s->at, c, n * sizeof *c)))
            break;
    }
    return i;
}

/* The number of the state with the configurations found. */
static int32_t intern_state(matcher *m, bool can_end) {
    config *const c = m->found.p;
    const size_t n = m->found.n, k = m->g->n_class;
    size_t slot;

    if (m->failed || (!n && !can_end)) return DEAD;
    if (n) qsort(c, n, sizeof *c, by_config);
    if (table_grow(m, &m->state_table, &m->n_state_slot, m->states.n)) {
        for (size_t i = 1; i < m->states.n; i++) {
            const state *s = state_at(m, (int32_t)i);

            m->state_table[state_slot(m, (config *)m->configs.p + s->at, s->n, s->can_end)] =
                (int32_t)i + 1;
        }
    }
    if (m->failed) return DEAD;
    slot = state_slot(m, c, n, can_end);
    if (m->state_table[slot]) return m->state_table[slot] - 1;
    if (!reserve(m, &m->configs, n) || !reserve(m, &m->states, 1) || !reserve(m, &m->steps, k))
        return DEAD;
    if (n) memcpy((config *)m->configs.p + m->configs.n, c, n * sizeof *c);
    *state_at(m, (int32_t)m->states.n++) =
        (state){(uint32_t)m->configs.n, (uint32_t)n, UNKNOWN, can_end};
    m->configs.n += n;
    for (size_t i = 0; i < k; i++) ((int32_t *)m->steps.p)[m->steps.n++] = UNKNOWN;
    m->state_table[slot] = (int32_t)m->states.n;
    return (int32_t)m->states.n - 1;
}

/* The state of what was added, and all it leads to without a byte. */
static int32_t end_place(matcher *m) {
    bool can_end = false;

    for (size_t i = 0; i < m->work.n && !m->failed; i++)
        can_end |= follow(m, ((todo *)m->work.p)[i]);
    return intern_state(m, can_end);
}

static int32_t work_out(matcher *m, int32_t from, unsigned class) {
    const state s = *state_at(m, from);
    int32_t to;

    start_place(m);
    for (uint32_t i = 0; i < s.n; i++) {
        const config c = ((config *)m->configs.p)[s.at + i];
        const grammar_node n = m->g->nodes[c.node];

        if (n.kind == NODE_SET && set_has(&m->g->sets[n.b], class)) add(m, n.a, c.stack, 0);
    }
    to = end_place(m);
    if (!m->failed) ((int32_t *)m->steps.p)[(size_t)from * m->g->n_class + class] = to;
    return to;
}

static inline int32_t step(matcher *m, int32_t from, uint8_t byte) {
    const unsigned class = m->g->class_of[byte];
    const int32_t to = ((int32_t *)m->steps.p)[(size_t)from * m->g->n_class + class];

    return to != UNKNOWN ? to : work_out(m, from, class);
}

static int32_t step_all(matcher *m, int32_t from, str bytes) {
    for (size_t i = 0; i < bytes.n && from != DEAD; i++) from = step(m, from, (uint8_t)bytes.p[i]);
    return m->failed ? DEAD : from;
}

/* ---- the cache ------------------------------------------------------------------------------ */

static void drop_masks(matcher *m) {
    for (unsigned i = 0; i < MASK_MAX; i++) {
        if (m->masks[i].bits) discharge(m, token_words(m->trie->v.n) * sizeof(uint64_t));
        mem_free(m->masks[i].bits);
        m->masks[i] = (mask_slot){NULL, UNKNOWN};
    }
}

static void drop_cache(matcher *m) {
    drop_masks(m);
    pool_drop(m, &m->frames);
    pool_drop(m, &m->configs);
    pool_drop(m, &m->states);
    pool_drop(m, &m->steps);
    pool_drop(m, &m->work);
    pool_drop(m, &m->found);
    table_drop(m, &m->frame_table, &m->n_frame_slot);
    table_drop(m, &m->state_table, &m->n_state_slot);
}

/* An empty cache: the bottom frame and the dead state. */
static void init_cache(matcher *m) {
    if (!reserve(m, &m->frames, 1) || !reserve(m, &m->states, 1) ||
        !reserve(m, &m->steps, m->g->n_class))
        return;
    *frame_at(m, 0) = (frame){.node = 0};
    m->frames.n = 1;
    *state_at(m, DEAD) = (state){.mask = UNKNOWN};
    m->states.n = 1;
    for (; m->steps.n < m->g->n_class; m->steps.n++) ((int32_t *)m->steps.p)[m->steps.n] = DEAD;
}

/* A stack as its frames from the bottom, taken over into the new cache. */
static int32_t copy_stack(matcher *m, const frame *old, int32_t top) {
    const unsigned n = old[top].depth;
    int32_t up[GRAMMAR_DEPTH_MAX + 1], stack = 0;

    for (unsigned i = n; i-- > 0; top = old[top].below) up[i] = top;
    for (unsigned i = 0; i < n && !m->failed; i++) {
        const frame f = old[up[i]];

        stack = push(m, stack, f.node, f.count, f.is_loop);
    }
    return stack;
}

/* Begins the cache again with the state at hand, once it is large. */
static void trim(matcher *m) {
    const state s = *state_at(m, m->now);
    config *old_config;
    frame *old_frame;

    if (m->charged < CACHE_MAX || m->failed) return;
    old_config = mem_array(s.n, sizeof *old_config);
    old_frame = mem_array(m->frames.n, sizeof *old_frame);
    if (!old_config || !old_frame) {
        give_up(m, FAIL_MEMORY);
    } else {
        if (s.n) memcpy(old_config, (config *)m->configs.p + s.at, s.n * sizeof *old_config);
        memcpy(old_frame, m->frames.p, m->frames.n * sizeof *old_frame);
        drop_cache(m);
        init_cache(m);
        m->n_drop++;
        start_place(m);
        for (uint32_t i = 0; i < s.n && reserve(m, &m->found, 1); i++)
            ((config *)m->found.p)[m->found.n++] =
                (config){old_config[i].node, copy_stack(m, old_frame, old_config[i].stack)};
        m->now = intern_state(m, s.can_end);
    }
    mem_free(old_config);
    mem_free(old_frame);
}

/* ---- life ----------------------------------------------------------------------------------- */

ew_status matcher_new(matcher **out, const grammar *g, const token_trie *trie, mem_budget *budget,
                      bool spaced, ew_error *err) {
    matcher *m = mem_array(1, sizeof *m);
    ew_status rc;

    *out = NULL;
    if (!m) return fail(err, EW_ENOMEM, "grammar: out of memory");
    m->g = g;
    m->trie = trie;
    m->budget = budget;
    m->spaced = spaced;
    m->frames.size = sizeof(frame);
    m->configs.size = m->found.size = sizeof(config);
    m->states.size = sizeof(state);
    m->steps.size = sizeof(int32_t);
    m->work.size = sizeof(todo);
    for (unsigned i = 0; i < MASK_MAX; i++) m->masks[i].owner = UNKNOWN;
    m->seen = mem_array(SEEN_SLOTS, sizeof *m->seen);
    m->path = mem_array((size_t)trie->depth + 1, sizeof *m->path);
    if (!m->seen || !m->path) give_up(m, FAIL_MEMORY);
    init_cache(m);
    if (!m->failed) matcher_restart(m);
    rc = matcher_status(m, err);
    if (!rc)
        *out = m;
    else
        matcher_free(m);
    return rc;
}

void matcher_free(matcher *m) {
    if (!m) return;
    drop_cache(m);
    mem_free(m->seen);
    mem_free(m->path);
    mem_free(m);
}

void matcher_restart(matcher *m) {
    start_place(m);
    add(m, m->spaced ? m->g->start_spaced : m->g->start, 0, 0);
    m->now = end_place(m);
}

/* ---- tokens --------------------------------------------------------------------------------- */

static bool is_token(const matcher *m, int32_t id) {
    return id >= 0 && id < m->trie->v.n;
}

/* Does a node that stands for whole tokens take this one? */
static bool takes(const matcher *m, grammar_node n, int32_t id) {
    if (n.kind == NODE_TOKEN) return n.b == id;
    return n.kind == NODE_TOKEN_NOT && n.b != id && m->trie->v.is_used(m->trie->v.ctx, id);
}

/* The state after a token that is no end; DEAD when it may not come. */
static int32_t after(matcher *m, int32_t id) {
    const str text = m->trie->v.bytes(m->trie->v.ctx, id);
    const bool has_text = text.n && !memchr(text.p, 0, text.n);
    const int32_t by_text = has_text ? step_all(m, m->now, text) : DEAD;
    const state s = *state_at(m, m->now);
    state t;
    bool any = false;

    if (!m->g->has_tokens || m->failed) return by_text;
    start_place(m);
    for (uint32_t i = 0; i < s.n; i++) {
        const config c = ((config *)m->configs.p)[s.at + i];
        const grammar_node n = m->g->nodes[c.node];

        if (!takes(m, n, id)) continue;
        add(m, n.a, c.stack, 0);
        any = true;
    }
    if (!any) return by_text;
    t = *state_at(m, by_text);
    for (uint32_t i = 0; i < t.n; i++) {
        const config c = ((config *)m->configs.p)[t.at + i];

        add(m, c.node, c.stack, 0);
    }
    if (t.can_end) add(m, 0, 0, 0);
    return end_place(m);
}

bool matcher_allows(matcher *m, int32_t id) {
    if (m->failed || !is_token(m, id)) return false;
    if (m->trie->v.is_eog(m->trie->v.ctx, id)) return matcher_can_end(m);
    trim(m);
    return after(m, id) != DEAD;
}

bool matcher_accept(matcher *m, int32_t id) {
    int32_t to;

    if (m->failed || !is_token(m, id)) return false;
    if (m->trie->v.is_eog(m->trie->v.ctx, id)) return true;
    trim(m);
    to = m->failed ? DEAD : after(m, id);
    if (to == DEAD) return false;
    m->now = to;
    return true;
}

bool matcher_feed(matcher *m, str bytes) {
    int32_t to;

    trim(m);
    to = m->failed ? DEAD : step_all(m, m->now, bytes);
    if (to == DEAD) return false;
    m->now = to;
    return true;
}

/* ---- masks ---------------------------------------------------------------------------------- */

static void walk(matcher *m, uint64_t *bits) {
    const token_trie *t = m->trie;

    m->path[0] = m->now;
    for (uint32_t i = 0; i < t->n_node && !m->failed;) {
        const trie_node n = t->nodes[i];
        const int32_t to = step(m, m->path[n.depth - 1], n.byte);

        if (to == DEAD) {
            i = n.skip;
            continue;
        }
        m->path[n.depth] = to;
        for (uint32_t k = t->token_at[i]; k < t->token_at[i + 1]; k++)
            token_put(bits, t->tokens[k]);
        i++;
    }
}

static void add_tokens(matcher *m, uint64_t *bits) {
    const state s = *state_at(m, m->now);

    for (uint32_t i = 0; i < s.n; i++) {
        const grammar_node n = m->g->nodes[((config *)m->configs.p)[s.at + i].node];

        if (n.kind != NODE_TOKEN && n.kind != NODE_TOKEN_NOT) continue;
        for (int32_t id = 0; id < m->trie->v.n; id++)
            if (takes(m, n, id)) token_put(bits, id);
    }
}

/* Only where the text may end, whatever a token's node says. */
static void add_ends(const matcher *m, uint64_t *bits) {
    const bool can_end = matcher_can_end(m);

    for (uint32_t i = 0; i < m->trie->n_end; i++) {
        const int32_t id = m->trie->ends[i];

        bits[id >> 6] &= ~((uint64_t)1 << (id & 63));
        if (can_end) token_put(bits, id);
    }
}

/* A slot for one more mask: a free one, or the oldest. */
static mask_slot *take_slot(matcher *m, int32_t *at) {
    const size_t n = token_words(m->trie->v.n);
    mask_slot *s = &m->masks[m->next_mask];

    *at = (int32_t)m->next_mask;
    m->next_mask = (m->next_mask + 1) % MASK_MAX;
    if (s->owner != UNKNOWN) state_at(m, s->owner)->mask = UNKNOWN;
    s->owner = UNKNOWN;
    if (!s->bits) {
        if (!charge(m, n * sizeof *s->bits)) return NULL;
        s->bits = mem_array(n, sizeof *s->bits);
        if (!s->bits) {
            discharge(m, n * sizeof *s->bits);
            return give_up(m, FAIL_MEMORY);
        }
    }
    memset(s->bits, 0, n * sizeof *s->bits);
    return s;
}

const uint64_t *matcher_mask(matcher *m) {
    mask_slot *s;
    int32_t at;

    trim(m);
    if (m->failed) return NULL;
    at = state_at(m, m->now)->mask;
    if (at != UNKNOWN) return m->masks[at].bits;
    s = take_slot(m, &at);
    if (!s) return NULL;
    m->n_mask++;
    walk(m, s->bits);
    if (m->g->has_tokens) add_tokens(m, s->bits);
    add_ends(m, s->bits);
    if (m->failed) return NULL;
    s->owner = m->now;
    state_at(m, m->now)->mask = at;
    return s->bits;
}

/* ---- questions ------------------------------------------------------------------------------ */

bool matcher_can_end(const matcher *m) {
    return !m->failed && state_at(m, m->now)->can_end;
}

bool matcher_is_complete(const matcher *m) {
    return matcher_can_end(m) && !state_at(m, m->now)->n;
}

ew_status matcher_status(const matcher *m, ew_error *err) {
    switch (m->failed) {
    case FAIL_NONE:
        return EW_OK;
    case FAIL_MEMORY:
        return fail(err, EW_ENOMEM, "grammar: out of memory");
    case FAIL_SIZE:
        break;
    }
    return fail(err, EW_EUNSUPPORTED,
                "grammar: it can be read in too many ways at once (over %d, or %d MiB for one "
                "token)",
                WORK_MAX, CACHE_HARD >> 20);
}

matcher_stats matcher_stats_get(const matcher *m) {
    return (matcher_stats){m->states.n, m->n_mask, m->n_drop, m->charged};
}
