/* SPDX-License-Identifier: MIT
 *
 * A session: tokens evaluated so far, their KV cache, the work space of a step. Only whole chunks
 * count: a step that fails or is cancelled leaves the session as it was after the chunk before. */
#include "run/session.h"

#include "base/mem.h"
#include "base/str.h"
#include "run/sampler.h"

#include <stdio.h>
#include <string.h>

enum {
    DEFAULT_CTX = 8192,
    DEFAULT_CHUNK = 512,
    DEFAULT_PAGE = 64,
    MAX_CHUNK = 1 << 16,
    MAX_PAGE = 1 << 16,
    MAX_CTX = 1 << 28
};

static const char *const kv_names[] = {
    [EW_KV_F16] = "f16", [EW_KV_Q8_0] = "q8_0", [EW_KV_F32] = "f32"};
static const kv_form kv_forms[] = {
    [EW_KV_F16] = KVT_F16, [EW_KV_Q8_0] = KVT_Q8_0, [EW_KV_F32] = KVT_F32};

enum {
    N_KV_TYPE = sizeof kv_names / sizeof kv_names[0]
};

const char *ew_kv_type_name(ew_kv_type t) {
    return (unsigned)t < N_KV_TYPE ? kv_names[t] : "unknown";
}

bool ew_kv_type_parse(const char *name, ew_kv_type *out) {
    for (unsigned i = 0; i < N_KV_TYPE; i++) {
        if (strcmp(name, kv_names[i]) != 0) continue;
        *out = (ew_kv_type)i;
        return true;
    }
    return false;
}

void ew_session_defaults(ew_session_options *o) {
    *o = (ew_session_options){.size = sizeof *o};
}

/* Options with their zeros replaced, or the sentence that says what is wrong with them. */
static ew_status complete(ew_session_options *out, const ew_model *m, const ew_session_options *o,
                          ew_error *err) {
    ew_session_defaults(out);
    if (o) memcpy(out, o, o->size < sizeof *out ? o->size : sizeof *out);
    if (!m->layers)
        return fail(err, EW_EINVAL, "%s: the model can't run here, its vocabulary alone was opened",
                    m->path);
    if (!out->ctx_tokens)
        out->ctx_tokens = m->hp.ctx_train < DEFAULT_CTX ? m->hp.ctx_train : DEFAULT_CTX;
    if (!out->chunk_tokens) out->chunk_tokens = DEFAULT_CHUNK;
    if (!out->page_tokens) out->page_tokens = DEFAULT_PAGE;
    if (out->ctx_tokens > MAX_CTX)
        return fail(err, EW_EINVAL, "a context of %u tokens: at most %d", out->ctx_tokens, MAX_CTX);
    if (out->chunk_tokens > MAX_CHUNK)
        return fail(err, EW_EINVAL, "chunks of %u tokens: at most %d", out->chunk_tokens,
                    MAX_CHUNK);
    if (out->page_tokens > MAX_PAGE)
        return fail(err, EW_EINVAL, "pages of %u tokens: at most %d", out->page_tokens, MAX_PAGE);
    if ((unsigned)out->type_k >= N_KV_TYPE || (unsigned)out->type_v >= N_KV_TYPE)
        return fail(err, EW_EINVAL, "unknown KV cache type %d",
                    (int)((unsigned)out->type_k >= N_KV_TYPE ? out->type_k : out->type_v));
    if (out->chunk_tokens > out->ctx_tokens) out->chunk_tokens = out->ctx_tokens;
    return EW_OK;
}

static ew_status make_layout(kv_layout *l, const ew_model *m, const ew_session_options *o,
                             ew_error *err) {
    ew_status rc = kv_layout_init(l, &m->hp, m->layers, kv_forms[o->type_k], kv_forms[o->type_v],
                                  o->page_tokens, err);

    l->chunk = o->chunk_tokens;
    return rc;
}

static ew_session_cost cost_of(const ew_model *m, const kv_layout *l, const ew_session_options *o) {
    return (ew_session_cost){
        .kv_full = kv_bytes(l, o->ctx_tokens),
        .kv_token = kv_token_bytes(l),
        .scratch = walk_space_bytes(m, l, o->chunk_tokens),
        .sampler = sampler_default_bytes(tok_n(m->tok)),
    };
}

ew_status ew_session_estimate(const ew_model *m, const ew_session_options *o, ew_session_cost *out,
                              ew_error *err) {
    ew_session_options opt;
    kv_layout layout;
    ew_status rc = complete(&opt, m, o, err);

    if (!rc) rc = make_layout(&layout, m, &opt, err);
    if (rc) return rc;
    *out = cost_of(m, &layout, &opt);
    kv_layout_fini(&layout);
    return EW_OK;
}

static uint64_t sum_of(const ew_session_cost *c) {
    return c->kv_full + c->scratch + c->sampler;
}

/* The largest window that takes no more than this, 0 when none does. */
static uint32_t largest_ctx(const ew_session *s, uint64_t bytes) {
    uint32_t lo = 0, hi = s->opt.ctx_tokens;

    while (lo < hi) {
        const uint32_t mid = hi - (hi - lo) / 2;
        ew_session_options o = s->opt;
        ew_session_cost c;

        o.ctx_tokens = mid;
        if (o.chunk_tokens > mid) o.chunk_tokens = mid;
        c = cost_of(s->m, &s->layout, &o);
        if (sum_of(&c) <= bytes)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

/* Refuses a window whose cache could not be filled: better now than in the middle of an answer. */
static ew_status check_budget(const ew_session *s, ew_error *err) {
    char kv[SIZE_TEXT], space[SIZE_TEXT], in_use[SIZE_TEXT], sum[SIZE_TEXT], allowed[SIZE_TEXT];
    const ew_session_cost c = cost_of(s->m, &s->layout, &s->opt);
    const uint64_t limit = ew_engine_memory_limit(s->m->engine);
    char fits[64] = "no context fits";
    uint64_t used = 0, left;
    uint32_t most;

    if (!limit) return EW_OK;
    for (ew_account a = 0; a < EW_MEM_COUNT; a++) used += ew_engine_memory(s->m->engine, a);
    left = used < limit ? limit - used : 0;
    if (sum_of(&c) <= left) return EW_OK;
    most = largest_ctx(s, left);
    if (most)
        snprintf(fits, sizeof fits, "the largest context that fits is %u tokens", (unsigned)most);
    return fail(err, EW_ENOMEM,
                "a context of %u tokens needs %s of KV cache (%s/%s) and %s of work space beside "
                "the %s in use, together %s; allowed are %s: %s",
                s->opt.ctx_tokens, size_text(kv, c.kv_full), ew_kv_type_name(s->opt.type_k),
                ew_kv_type_name(s->opt.type_v), size_text(space, c.scratch + c.sampler),
                size_text(in_use, used), size_text(sum, sum_of(&c) + used),
                size_text(allowed, limit), fits);
}

ew_status ew_session_new(ew_session **out, ew_model *m, const ew_session_options *o,
                         ew_error *err) {
    ew_session *s;
    ew_status rc;

    *out = NULL;
    if (m->is_vocab_only)
        return fail(err, EW_EINVAL, "%s: opened for its vocabulary alone, has no weights", m->path);
    s = mem_array(1, sizeof *s);
    if (!s) return fail(err, EW_ENOMEM, "session: out of memory");
    s->m = m;
    atomic_init(&s->cancel, false);
    rc = complete(&s->opt, m, o, err);
    if (!rc) rc = make_layout(&s->layout, m, &s->opt, err);
    if (rc) goto out;
    rc = check_budget(s, err);
    if (rc) goto out;
    s->tokens = mem_array(s->opt.ctx_tokens, sizeof *s->tokens);
    rc = s->tokens ? kv_init(&s->kv, &s->layout, &m->engine->budget, s->opt.ctx_tokens, err)
                   : fail(err, EW_ENOMEM, "session: out of memory");
    if (!rc)
        rc = walk_space_init(&s->space, m, &s->layout, s->opt.chunk_tokens, s->opt.ctx_tokens, err);
    if (rc) goto out;
    *out = s;
    s = NULL;
out:
    ew_session_free(s);
    return rc;
}

void ew_session_free(ew_session *s) {
    if (!s) return;
    walk_space_fini(&s->space);
    kv_fini(&s->kv);
    kv_layout_fini(&s->layout);
    mem_free(s->tokens);
    mem_free(s);
}

uint32_t ew_session_ctx(const ew_session *s) {
    return s->opt.ctx_tokens;
}

size_t ew_session_n(const ew_session *s) {
    return s->n;
}

const int32_t *ew_session_tokens(const ew_session *s) {
    return s->tokens;
}

const float *ew_session_logits(const ew_session *s) {
    return s->has_logits ? s->space.logits : NULL;
}

uint64_t ew_session_bytes_per_token(const ew_session *s, size_t n_past) {
    return s->m->active_bytes + kv_seen_bytes(&s->layout, n_past);
}

void ew_session_cancel(ew_session *s) {
    atomic_store(&s->cancel, true);
}

void ew_session_cancel_clear(ew_session *s) {
    atomic_store(&s->cancel, false);
}

void ew_session_rewind(ew_session *s, size_t n_keep) {
    if (n_keep >= s->n) return;
    s->n = (uint32_t)n_keep;
    s->has_logits = false;
    kv_trim(&s->kv, s->n);
}

static ew_status check_tokens(const ew_session *s, const int32_t *tokens, size_t n, size_t n_past,
                              ew_error *err) {
    if (n > s->opt.ctx_tokens && !n_past)
        return fail(err, EW_EFULL, "%zu tokens do not fit the context of %u", n, s->opt.ctx_tokens);
    if (n > s->opt.ctx_tokens - n_past)
        return fail(err, EW_EFULL,
                    "%zu tokens do not fit the context of %u, of which %zu are in use", n,
                    s->opt.ctx_tokens, n_past);
    for (size_t i = 0; i < n; i++)
        if (tokens[i] < 0 || (uint32_t)tokens[i] >= s->m->hp.n_vocab)
            return fail(err, EW_EINVAL, "token %zu is %d, the vocabulary has %u", i, tokens[i],
                        s->m->hp.n_vocab);
    return EW_OK;
}

/* One chunk: n <= chunk_tokens. with_last: compute the logits after its last token. */
static ew_status eval_chunk(ew_session *s, const int32_t *tokens, uint32_t n, bool with_last,
                            ew_error *err) {
    const walk_part part = {.kv = &s->kv, .tokens = tokens, .pos = s->n, .n = n};
    const uint32_t last = n - 1;
    ew_status rc;

    s->has_logits = false;
    rc = kv_reserve(&s->kv, s->n + n, err);
    if (!rc) rc = walk_step(&s->space, &part, 1, &last, with_last ? 1 : 0, &s->cancel, err);
    if (rc) {
        kv_trim(&s->kv, s->n);
        if (rc == EW_ECANCEL) atomic_store(&s->cancel, false);
        return rc;
    }
    memmove(s->tokens + s->n, tokens, n * sizeof *tokens);
    s->n += n;
    s->has_logits = with_last;
    kv_leave(&s->kv, s->n);
    return EW_OK;
}

/* Evaluates the session's tokens anew when it was rewound behind what its windows have kept. */
static ew_status restore(ew_session *s, ew_error *err) {
    const uint32_t n = s->n;
    ew_status rc = EW_OK;

    if (kv_is_whole(&s->kv, n)) return EW_OK;
    s->n = 0;
    kv_restart(&s->kv, 0);
    while (s->n < n && !rc) {
        const uint32_t left = n - s->n;

        rc = eval_chunk(s, s->tokens + s->n,
                        left < s->opt.chunk_tokens ? left : s->opt.chunk_tokens, false, err);
    }
    return rc;
}

ew_status ew_session_eval(ew_session *s, const int32_t *tokens, size_t n, ew_error *err) {
    ew_status rc = check_tokens(s, tokens, n, s->n, err);

    if (!rc && n) rc = restore(s, err);
    for (size_t at = 0; at < n && !rc;) {
        const size_t left = n - at;
        const uint32_t m = left < s->opt.chunk_tokens ? (uint32_t)left : s->opt.chunk_tokens;

        rc = eval_chunk(s, tokens + at, m, at + m == n, err);
        at += m;
    }
    return rc;
}

/* Hands over the logits of the n tokens of the last step, a few rows at a time. */
static bool hand_over(ew_session *s, size_t at, uint32_t n, ew_logits_fn fn, void *ctx) {
    const size_t n_vocab = s->m->hp.n_vocab;

    for (uint32_t b = 0; b < n; b += WALK_LOGIT_ROWS) {
        uint32_t of[WALK_LOGIT_ROWS];
        const uint32_t m = n - b < WALK_LOGIT_ROWS ? n - b : WALK_LOGIT_ROWS;

        for (uint32_t i = 0; i < m; i++) of[i] = b + i;
        walk_logits(&s->space, of, m);
        for (uint32_t i = 0; i < m; i++)
            if (!fn(ctx, at + b + i, s->space.logits + i * n_vocab)) return false;
        if (b + m == n) /* ew_session_logits() reads the first row */
            memmove(s->space.logits, s->space.logits + (m - 1) * n_vocab,
                    n_vocab * sizeof *s->space.logits);
    }
    s->has_logits = true;
    return true;
}

ew_status ew_session_eval_all(ew_session *s, const int32_t *tokens, size_t n, ew_logits_fn fn,
                              void *ctx, ew_error *err) {
    ew_status rc = check_tokens(s, tokens, n, s->n, err);

    if (!rc && n) rc = restore(s, err);
    for (size_t at = 0; at < n && !rc;) {
        const size_t left = n - at;
        const uint32_t m = left < s->opt.chunk_tokens ? (uint32_t)left : s->opt.chunk_tokens;

        rc = eval_chunk(s, tokens + at, m, false, err);
        if (!rc && !hand_over(s, at, m, fn, ctx)) rc = fail(err, EW_ECANCEL, "ended by the caller");
        at += m;
    }
    return rc;
}

ew_status ew_session_sync(ew_session *s, const int32_t *tokens, size_t n, size_t *n_cached,
                          ew_error *err) {
    size_t keep = 0;
    ew_status rc;

    if (n_cached) *n_cached = 0;
    rc = check_tokens(s, tokens, n, 0, err);
    if (rc) return rc;
    while (keep < n && keep < s->n && s->tokens[keep] == tokens[keep]) keep++;
    if (keep && keep == n) keep--; /* the last one again, for its logits */
    ew_session_rewind(s, keep);
    if (!kv_is_whole(&s->kv, s->n)) ew_session_rewind(s, keep = 0);
    if (n_cached) *n_cached = keep;
    return ew_session_eval(s, tokens + keep, n - keep, err);
}
