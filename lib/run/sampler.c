/* SPDX-License-Identifier: MIT
 *
 * The sampler: options checked, work space laid out once, then for every token the chain
 *
 *   logit bias, penalties, DRY   on a copy of the logits (penalty.c)
 *   grammar                      forbids tokens          (constraint.c)
 *   temperature, cuts, choice    on the candidates left  (cut.c)
 *
 * docs/sampling.md says what each does. Nothing is allocated after creation, unless dry_last_n is
 * -1 and the history outgrows its reserve, or a grammar's cache grows. */
#include "run/sampler.h"

#include "base/clock.h"
#include "model/model.h"
#include "run/random.h"

#include <float.h>
#include <math.h>
#include <time.h>

enum {
    WIDE_MIN = 64,         /* candidates looked at, at least, where a grammar forbids some */
    LAST_N_MAX = 1 << 20,  /* tokens a penalty may look back on, other than all */
    HISTORY_RESERVE = 8192 /* tokens, the usual context; grows beyond when all are kept */
};

struct ew_sampler {
    sampler_vocab vocab;
    ew_sampler_options opt; /* without its pointers */
    ew_logit_bias *bias;    /* [n_bias], end-of-generation tokens included when ignored */
    size_t n_bias;
    big_block work; /* logits, candidates, counts */
    float *logits;  /* [vocab.n] */
    cand *cands;    /* [wide_of(top_k) or vocab.n] */
    mem_budget *budget;
    constraint limit; /* the grammar, if there is one */
    history past;
    penalties pen;
    dry dry;
    uint64_t seed;
    rng rng;
    double mu; /* mirostat's bound of surprise, bits */
};

void ew_sampler_defaults(ew_sampler_options *o) {
    *o = (ew_sampler_options){
        .size = sizeof *o,
        .temperature = 0.8f,
        .top_k = 40,
        .top_p = 0.9f,
        .min_p = 0.0f,
        .typical_p = 1.0f,
        .repeat_last_n = 64,
        .repeat_penalty = 1.0f,
        .dry_base = 1.75f,
        .dry_allowed_length = 2,
        .dry_last_n = -1,
        .xtc_threshold = 0.1f,
        .mirostat_tau = 5.0f,
        .mirostat_eta = 0.1f,
    };
}

/* ---- options -------------------------------------------------------------------------------- */

static ew_status check_float(const char *name, float v, float min, float max, ew_error *err) {
    if (v >= min && v <= max) return EW_OK;
    if (max < FLT_MAX) {
        return fail(err, EW_EINVAL, "sampler option %s is %g, must be from %g to %g", name,
                    (double)v, (double)min, (double)max);
    }
    if (min > -FLT_MAX) {
        return fail(err, EW_EINVAL, "sampler option %s is %g, must be at least %g", name, (double)v,
                    (double)min);
    }
    return fail(err, EW_EINVAL, "sampler option %s is %g, must be a finite number", name,
                (double)v);
}

static ew_status check_int(const char *name, int32_t v, int32_t min, int32_t max, ew_error *err) {
    if (v >= min && v <= max) return EW_OK;
    return fail(err, EW_EINVAL, "sampler option %s is %d, must be from %d to %d", name, (int)v,
                (int)min, (int)max);
}

static ew_status check_floats(const ew_sampler_options *o, ew_error *err) {
    const struct {
        const char *name;
        float v, min, max;
    } rows[] = {
        {"temperature", o->temperature, 0, FLT_MAX},
        {"top_p", o->top_p, 0, 1},
        {"min_p", o->min_p, 0, 1},
        {"typical_p", o->typical_p, 0, 1},
        {"repeat_penalty", o->repeat_penalty, 0.001f, 1000},
        {"frequency_penalty", o->frequency_penalty, -FLT_MAX, FLT_MAX},
        {"presence_penalty", o->presence_penalty, -FLT_MAX, FLT_MAX},
        {"dry_multiplier", o->dry_multiplier, 0, FLT_MAX},
        {"dry_base", o->dry_base, 1, FLT_MAX},
        {"xtc_probability", o->xtc_probability, 0, 1},
        {"xtc_threshold", o->xtc_threshold, 0, 1},
        {"mirostat_tau", o->mirostat_tau, 0, FLT_MAX},
        {"mirostat_eta", o->mirostat_eta, 0, FLT_MAX},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const ew_status rc = check_float(rows[i].name, rows[i].v, rows[i].min, rows[i].max, err);

        if (rc) return rc;
    }
    return EW_OK;
}

static ew_status check_ints(const ew_sampler_options *o, ew_error *err) {
    const struct {
        const char *name;
        int32_t v, min, max;
    } rows[] = {
        {"top_k", o->top_k, 0, INT32_MAX},
        {"repeat_last_n", o->repeat_last_n, -1, LAST_N_MAX},
        {"dry_allowed_length", o->dry_allowed_length, 0, INT32_MAX},
        {"dry_last_n", o->dry_last_n, -1, LAST_N_MAX},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const ew_status rc = check_int(rows[i].name, rows[i].v, rows[i].min, rows[i].max, err);

        if (rc) return rc;
    }
    if (o->mirostat != 0 && o->mirostat != 2) {
        return fail(err, EW_EINVAL, "sampler option mirostat is %d, must be 0 or 2",
                    (int)o->mirostat);
    }
    return EW_OK;
}

static ew_status check_bias(const ew_sampler_options *o, int32_t n_vocab, ew_error *err) {
    for (size_t i = 0; i < o->n_bias; i++) {
        const ew_logit_bias b = o->bias[i];

        if (b.id < 0 || b.id >= n_vocab) {
            return fail(err, EW_EINVAL, "logit bias %zu is of token %d, the vocabulary has %d", i,
                        (int)b.id, (int)n_vocab);
        }
        if (!(b.bias < INFINITY)) {
            return fail(err, EW_EINVAL,
                        "logit bias of token %d is %g, must be a finite number or -inf", (int)b.id,
                        (double)b.bias);
        }
    }
    return EW_OK;
}

/* The caller's options over the defaults. Callers built against a shorter struct are served. */
static ew_status read_options(ew_sampler_options *to, const ew_sampler_options *from,
                              int32_t n_vocab, ew_error *err) {
    ew_status rc;

    ew_sampler_defaults(to);
    if (from) {
        if (from->size < sizeof from->size || from->size > sizeof *to) {
            return fail(err, EW_EINVAL, "sampler option size is %zu, this library knows %zu",
                        from->size, sizeof *to);
        }
        memcpy(to, from, from->size);
    }
    rc = check_floats(to, err);
    if (!rc) rc = check_ints(to, err);
    if (!rc) rc = check_bias(to, n_vocab, err);
    return rc;
}

/* ---- creation ------------------------------------------------------------------------------- */

/* 32 bits: easily typed again, and exact as a JSON number. Never 0, which means the clock. */
static uint64_t seed_from_clock(const void *unique) {
    uint64_t state = clock_us() ^ (uint64_t)time(NULL) << 20 ^ (uint64_t)(uintptr_t)unique;
    const uint64_t seed = splitmix64(&state) & 0xFFFFFFFFu;

    return seed ? seed : 1;
}

static ew_status init_bias(ew_sampler *s, const ew_sampler_options *o, ew_error *err) {
    size_t n_eog = 0;

    for (int32_t id = 0; o->ignore_eos && id < s->vocab.n; id++) {
        n_eog += s->vocab.is_eog(s->vocab.texts.ctx, id);
    }
    s->bias = mem_array(o->n_bias + n_eog, sizeof *s->bias);
    if (!s->bias) return fail(err, EW_ENOMEM, "sampler: out of memory");
    s->n_bias = o->n_bias;
    if (o->n_bias) memcpy(s->bias, o->bias, o->n_bias * sizeof *s->bias);
    for (int32_t id = 0; n_eog && id < s->vocab.n; id++) {
        if (!s->vocab.is_eog(s->vocab.texts.ctx, id)) continue;
        s->bias[s->n_bias++] = (ew_logit_bias){id, -INFINITY};
    }
    return EW_OK;
}

static size_t window(int32_t last_n) {
    return last_n < 0 ? SIZE_MAX : (size_t)last_n;
}

static bool has_penalties(const ew_sampler_options *o) {
    return o->repeat_last_n != 0 && (o->repeat_penalty != 1.0f || o->frequency_penalty != 0.0f ||
                                     o->presence_penalty != 0.0f);
}

static bool has_dry(const ew_sampler_options *o) {
    return o->dry_multiplier > 0 && o->dry_last_n != 0;
}

/* How far back tokens are kept. Penalties over all tokens need only the counts. */
static size_t reach(const ew_sampler_options *o) {
    size_t keep = 0;

    if (has_penalties(o) && o->repeat_last_n > 0) keep = window(o->repeat_last_n);
    if (has_dry(o) && window(o->dry_last_n) > keep) keep = window(o->dry_last_n);
    return keep;
}

/* Is the number of candidates small from the start? */
static bool has_few(const ew_sampler_options *o) {
    return !o->mirostat && o->top_k > 0 && o->top_k <= CUT_HEAP_MAX;
}

/* How many candidates are looked at to find so many that a grammar allows. */
static size_t wide_of(size_t want) {
    const size_t wide = want < WIDE_MIN / 4 ? WIDE_MIN : want * 4;

    return wide < CUT_HEAP_MAX ? wide : CUT_HEAP_MAX;
}

/* Elements of what has the vocabulary's size. */
typedef struct {
    size_t n_cand, n_logit, n_count, n_longest;
} work_sizes;

static work_sizes sizes_of(const ew_sampler_options *o, size_t n_vocab) {
    const size_t few = has_few(o) ? wide_of((size_t)o->top_k) : 0;

    return (work_sizes){.n_cand = few                  ? few
                                  : n_vocab < WIDE_MIN ? WIDE_MIN
                                                       : n_vocab,
                        .n_logit = n_vocab,
                        .n_count = has_penalties(o) ? n_vocab : 0,
                        .n_longest = has_dry(o) ? n_vocab : 0};
}

static uint64_t work_bytes(const work_sizes *w) {
    return w->n_cand * sizeof(cand) + w->n_logit * sizeof(float) +
           (w->n_count + w->n_longest) * sizeof(int32_t);
}

uint64_t sampler_default_bytes(int32_t n_vocab) {
    ew_sampler_options o;
    work_sizes w;

    ew_sampler_defaults(&o);
    w = sizes_of(&o, (size_t)n_vocab);
    return big_round(work_bytes(&w));
}

/* One block for all of it. */
static ew_status init_work(ew_sampler *s, mem_budget *budget, ew_error *err) {
    const work_sizes w = sizes_of(&s->opt, (size_t)s->vocab.n);
    int32_t *ints;
    ew_status rc;

    rc = big_alloc(&s->work, budget, EW_MEM_SCRATCH, work_bytes(&w), "sampler", err);
    if (rc) return rc;
    s->cands = s->work.data;
    s->logits = (float *)(void *)(s->cands + w.n_cand);
    ints = (int32_t *)(void *)(s->logits + w.n_logit);
    if (w.n_count) s->pen.count = ints;
    if (w.n_longest) s->dry.longest = ints + w.n_count;
    return EW_OK;
}

static ew_status init_past(ew_sampler *s, const ew_sampler_options *o, ew_error *err) {
    static const char *const usual[] = {"\n", ":", "\"", "*"};
    const bool is_given = o->dry_breakers != NULL;
    ew_status rc;

    s->pen.last = window(o->repeat_last_n);
    s->pen.repeat = o->repeat_penalty;
    s->pen.frequency = o->frequency_penalty;
    s->pen.presence = o->presence_penalty;
    s->dry.last = window(o->dry_last_n);
    s->dry.multiplier = o->dry_multiplier;
    s->dry.base = o->dry_base;
    s->dry.allowed = o->dry_allowed_length;
    rc = hist_init(&s->past, reach(o), HISTORY_RESERVE, has_dry(o), err);
    if (rc || !has_dry(o)) return rc;
    return match_new(&s->dry.breakers, is_given ? o->dry_breakers : usual,
                     is_given ? o->n_dry_breaker : sizeof usual / sizeof *usual,
                     "DRY sequence breaker", err);
}

ew_status sampler_new(ew_sampler **out, const sampler_vocab *v, mem_budget *budget,
                      const ew_sampler_options *o, ew_error *err) {
    ew_sampler_options opt;
    ew_sampler *s;
    ew_status rc;

    *out = NULL;
    if (v->n < 1) return fail(err, EW_EINVAL, "sampler: the vocabulary is empty");
    rc = read_options(&opt, o, v->n, err);
    if (rc) return rc;
    s = mem_array(1, sizeof *s);
    if (!s) return fail(err, EW_ENOMEM, "sampler: out of memory");
    s->vocab = *v;
    s->budget = budget;
    s->opt = opt;
    s->opt.bias = NULL;
    s->opt.dry_breakers = NULL;
    s->seed = opt.seed ? opt.seed : seed_from_clock(s);
    rc = init_bias(s, &opt, err);
    if (!rc) rc = init_work(s, budget, err);
    if (!rc) rc = init_past(s, &opt, err);
    if (rc) {
        ew_sampler_free(s);
        return rc;
    }
    ew_sampler_reset(s);
    *out = s;
    return EW_OK;
}

static str model_token(const void *ctx, int32_t id) {
    const tokenizer *t = ctx;

    return tok_kind(t, id) == TOKEN_CONTROL ? tok_name(t, id) : tok_bytes_of(t, id);
}

static bool model_eog(const void *ctx, int32_t id) {
    return tok_is_eog(ctx, id);
}

ew_status ew_sampler_new(ew_sampler **out, const ew_model *m, const ew_sampler_options *o,
                         ew_error *err) {
    const sampler_vocab v = {tok_n(m->tok), {m->tok, model_token}, model_eog};

    return sampler_new(out, &v, &m->engine->budget, o, err);
}

void ew_sampler_free(ew_sampler *s) {
    if (!s) return;
    mem_free(s->bias);
    big_free(&s->work);
    hist_fini(&s->past);
    match_free(s->dry.breakers);
    constraint_fini(&s->limit);
    mem_free(s);
}

int32_t sampler_n_vocab(const ew_sampler *s) {
    return s->vocab.n;
}

uint64_t ew_sampler_seed(const ew_sampler *s) {
    return s->seed;
}

void sampler_forget(ew_sampler *s) {
    hist_clear(&s->past);
    if (s->pen.count) memset(s->pen.count, 0, (size_t)s->vocab.n * sizeof *s->pen.count);
    if (s->dry.breakers) match_reset(s->dry.breakers);
    s->dry.since_break = 0;
}

void ew_sampler_reset(ew_sampler *s) {
    sampler_forget(s);
    constraint_restart(&s->limit);
    rng_seed(&s->rng, s->seed);
    s->mu = 2 * (double)s->opt.mirostat_tau;
}

ew_status ew_sampler_set_grammar(ew_sampler *s, const ew_grammar *g, const char *after,
                                 ew_error *err) {
    constraint_fini(&s->limit);
    if (!g) return EW_OK;
    if (g->trie->v.n != s->vocab.n) {
        return fail(err, EW_EMISMATCH, "the grammar is for %d tokens, the sampler for %d",
                    (int)g->trie->v.n, (int)s->vocab.n);
    }
    return constraint_init(&s->limit, g, after, s->budget, err);
}

bool ew_sampler_is_complete(const ew_sampler *s) {
    return s->limit.is_on && matcher_is_complete(s->limit.m);
}

void ew_sampler_accept(ew_sampler *s, int32_t id) {
    if (id < 0 || id >= s->vocab.n) return; /* nothing that could come up again */
    constraint_accept(&s->limit, id, s->vocab.texts.text(s->vocab.texts.ctx, id));
    penalties_accept(&s->pen, &s->past, id);
    if (s->dry.longest) dry_accept(&s->dry, s->vocab.texts.text(s->vocab.texts.ctx, id));
    hist_add(&s->past, id);
}

/* ---- the chain ------------------------------------------------------------------------------ */

/* Copies the logits with NaN as -INFINITY and +INFINITY as the largest float. False when none is
 * finite. */
static bool copy_logits(float *to, const float *from, size_t n) {
    int any = 0;

    for (size_t i = 0; i < n; i++) {
        const float x = from[i];

        any |= fabsf(x) <= FLT_MAX;
        to[i] = x > -INFINITY ? (x < FLT_MAX ? x : FLT_MAX) : -INFINITY;
    }
    return any;
}

static void apply_bias(ew_sampler *s) {
    for (size_t i = 0; i < s->n_bias; i++) {
        float *const x = &s->logits[s->bias[i].id];

        *x += s->bias[i].bias;
        if (*x > FLT_MAX) *x = FLT_MAX;
    }
}

/* The lowest id of those with the largest logit; nothing when all are -INFINITY. */
static void take_most_likely(cand_set *out, const float *logits, size_t n) {
    float best = -INFINITY;

    for (size_t i = 0; i < n; i++) {
        if (!(logits[i] > best)) continue;
        best = logits[i];
        out->c[0] = (cand){0, 1, (int32_t)i};
        out->n = 1;
        out->mass = 1;
    }
}

static void apply_cuts(ew_sampler *s, cand_set *c) {
    const ew_sampler_options *o = &s->opt;

    cut_softmax(c, o->temperature);
    if (o->mirostat) {
        cut_mirostat(c, s->mu);
        return;
    }
    cut_typical(c, (double)o->typical_p);
    cut_top_p(c, (double)o->top_p);
    cut_min_p(c, (double)o->min_p);
    if (o->xtc_probability > 0 && rng_unit(&s->rng) < (double)o->xtc_probability) {
        cut_xtc(c, (double)o->xtc_threshold);
    }
}

/* Temperature keeps the order, so top-k may come first and spare it most of the work. */
static void gather(ew_sampler *s, cand_set *out) {
    const size_t n = (size_t)s->vocab.n;

    if (s->opt.temperature > 0)
        cut_gather(out, s->logits, n, s->opt.mirostat ? 0 : (size_t)s->opt.top_k);
    else
        take_most_likely(out, s->logits, n);
}

/* Keeps the best n of the candidates that the grammar allows. */
static void keep_allowed(ew_sampler *s, cand_set *c, size_t n) {
    size_t kept = 0;

    cut_order(c);
    for (size_t i = 0; i < c->n && kept < n; i++)
        if (matcher_allows(s->limit.m, c->c[i].id)) c->c[kept++] = c->c[i];
    c->n = kept;
}

/* The candidates that the grammar leaves. Where few are wanted, somewhat more are gathered and
 * asked after one by one: if enough are allowed, they are the best of all that are, and the mask
 * need not be made. */
static ew_status gather_allowed(ew_sampler *s, cand_set *out, ew_error *err) {
    const bool is_greedy = !(s->opt.temperature > 0);
    const size_t want = is_greedy ? 1 : (size_t)s->opt.top_k;
    ew_status rc = constraint_status(&s->limit, err);

    if (rc) return rc;
    if (is_greedy) {
        take_most_likely(out, s->logits, (size_t)s->vocab.n);
        if (out->n && matcher_allows(s->limit.m, out->c[0].id)) return EW_OK;
    }
    if (is_greedy || has_few(&s->opt)) {
        const size_t wide = wide_of(want);

        cut_gather(out, s->logits, (size_t)s->vocab.n, wide);
        keep_allowed(s, out, want);
        if (out->n == want) return EW_OK;
    }
    *out = (cand_set){.c = s->cands};
    rc = constraint_apply(&s->limit, s->logits, (size_t)s->vocab.n, err);
    if (rc) return rc;
    gather(s, out);
    if (has_few(&s->opt)) cut_order(out);
    return EW_OK;
}

static ew_status fail_nothing_left(const ew_sampler *s, ew_error *err) {
    if (s->limit.is_on) {
        return fail(err, EW_EINVAL,
                    "the grammar, logit bias and ignore_eos together forbid every token");
    }
    return fail(err, EW_EINVAL, "logit bias or ignore_eos forbids every token that is left");
}

ew_status sampler_candidates(ew_sampler *s, const float *logits, cand_set *out, ew_error *err) {
    const size_t n = (size_t)s->vocab.n;
    ew_status rc = EW_OK;

    *out = (cand_set){.c = s->cands};
    if (s->past.is_lost) {
        return fail(err, EW_ENOMEM, "sampler: no memory for a history of more than %zu tokens",
                    s->past.n);
    }
    if (!copy_logits(s->logits, logits, n)) {
        return fail(err, EW_EFORMAT, "none of the %zu logits is a finite number", n);
    }
    apply_bias(s);
    penalties_apply(&s->pen, s->logits, n);
    dry_apply(&s->dry, &s->past, s->vocab.texts, s->logits);
    if (s->limit.is_on)
        rc = gather_allowed(s, out, err);
    else
        gather(s, out);
    if (rc) return rc;
    if (!out->n) return fail_nothing_left(s, err);
    if (s->opt.temperature > 0) apply_cuts(s, out);
    return EW_OK;
}

ew_status ew_sampler_sample(ew_sampler *s, const float *logits, int32_t *out, ew_error *err) {
    cand_set c;
    cand chosen;
    double mass;
    ew_status rc;

    *out = -1;
    rc = sampler_candidates(s, logits, &c, err);
    if (rc) return rc;
    mass = c.mass;
    chosen = s->opt.temperature > 0 ? cut_choose(&c, rng_unit(&s->rng)) : c.c[0];
    *out = chosen.id;
    if (s->opt.mirostat && s->opt.temperature > 0) {
        s->mu = mirostat_next(s->mu, (double)s->opt.mirostat_tau, (double)s->opt.mirostat_eta,
                              (double)chosen.p / mass);
    }
    return EW_OK;
}
