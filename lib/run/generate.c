/* SPDX-License-Identifier: MIT
 *
 * One generation: the prompt into the session, then sample, show, evaluate, until something ends
 * it. Text takes the way token -> detokenizer (whole UTF-8 sequences) -> stop filter (no part of a
 * stop string) -> on_text. */
#include "base/clock.h"
#include "run/sampler.h"
#include "run/session.h"
#include "run/stop.h"
#include "text/chat.h"
#include "text/detok.h"

typedef struct {
    ew_session *s;
    ew_sampler *sampler;
    ew_generate_options opt;
    ew_generate_result r;
    uint64_t t_start, t_first; /* clock */
    ew_detok *detok;
    stop_filter stop;
    bool is_done; /* r.reason tells why */
    bool is_shut; /* no text may follow */
} generation;

void ew_generate_defaults(ew_generate_options *o) {
    *o = (ew_generate_options){.size = sizeof *o, .n_predict = -1};
}

const char *ew_stop_reason_name(ew_stop_reason r) {
    switch (r) {
    case EW_STOP_EOG:
        return "stop";
    case EW_STOP_STRING:
        return "string";
    case EW_STOP_LENGTH:
        return "length";
    case EW_STOP_CONTEXT:
        return "context";
    case EW_STOP_CANCEL:
        return "cancel";
    }
    return "unknown";
}

static void stop_for(generation *g, ew_stop_reason reason) {
    g->r.reason = reason;
    g->is_done = true;
}

/* ---- text ----------------------------------------------------------------------------------- */

static void show(generation *g, str text) {
    if (!text.n || g->is_shut || !g->opt.on_text) return;
    if (g->opt.on_text(g->opt.ctx, text.p, text.n)) return;
    g->is_shut = true;
    stop_for(g, EW_STOP_CANCEL);
}

static void add_text(generation *g, const char *text, size_t n) {
    str pieces[2];
    const bool is_stopped = stop_feed(&g->stop, (str){text, n}, pieces);

    show(g, pieces[0]);
    show(g, pieces[1]);
    if (!is_stopped || g->is_shut) return;
    g->is_shut = true;
    stop_for(g, EW_STOP_STRING);
}

/* What the detokenizer and the filter still hold is text as well, unless a stop string ended it. */
static void add_rest(generation *g) {
    const char *text;
    size_t n;

    if (g->is_shut) return;
    ew_detok_flush(g->detok, &text, &n);
    add_text(g, text, n);
    if (!g->is_shut) show(g, stop_flush(&g->stop));
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* The sampler looks back on what the session holds, no more and no less: a prompt that repeats the
 * conversation must not count twice. */
static void remember(generation *g) {
    const int32_t *tokens = ew_session_tokens(g->s);
    const size_t n = ew_session_n(g->s);

    sampler_forget(g->sampler);
    for (size_t i = 0; i < n; i++) ew_sampler_accept(g->sampler, tokens[i]);
}

static ew_status take_prompt(generation *g, const int32_t *prompt, size_t n, ew_error *err) {
    ew_status rc = EW_OK;

    if (!n) {
        g->r.n_prompt = g->r.n_cached = ew_session_n(g->s);
        if (!ew_session_logits(g->s)) {
            return fail(err, EW_EINVAL,
                        "the prompt is empty and the session holds nothing that "
                        "could be continued");
        }
    } else {
        g->r.n_prompt = n;
        rc = ew_session_sync(g->s, prompt, n, &g->r.n_cached, err);
        if (rc && rc != EW_ECANCEL) return rc;
        g->r.n_evaluated = ew_session_n(g->s) - g->r.n_cached;
    }
    g->r.t_prefill_us = clock_us() - g->t_start;
    if (rc == EW_ECANCEL) {
        stop_for(g, EW_STOP_CANCEL);
    } else {
        remember(g);
    }
    return EW_OK;
}

static ew_status choose(generation *g, int32_t *id, ew_error *err) {
    const ew_status rc = ew_sampler_sample(g->sampler, ew_session_logits(g->s), id, err);
    const uint64_t t = clock_us();

    if (rc) return rc;
    ew_sampler_accept(g->sampler, *id);
    if (!g->r.n_generated++) {
        g->t_first = t;
        g->r.t_first_us = t - g->t_start;
    }
    g->r.t_decode_us = t - g->t_first;
    return EW_OK;
}

static bool is_end(const generation *g, int32_t id) {
    return g->opt.chat ? chat_ends(g->opt.chat, id) : tok_is_eog(g->s->m->tok, id);
}

/* One token: chosen, shown, and evaluated if more are to come. */
static ew_status go_on(generation *g, ew_error *err) {
    const char *text;
    size_t n;
    int32_t id;
    ew_status rc = choose(g, &id, err);

    if (rc) return rc;
    if (is_end(g, id) && !g->opt.ignore_eos) {
        stop_for(g, EW_STOP_EOG);
        return EW_OK;
    }
    rc = ew_detok_push(g->detok, id, &text, &n, err);
    if (rc) return rc;
    add_text(g, text, n);
    if (g->is_done) return EW_OK;
    if (ew_sampler_is_complete(g->sampler)) {
        stop_for(g, EW_STOP_EOG);
    } else if (g->opt.n_predict >= 0 && g->r.n_generated >= (uint64_t)g->opt.n_predict) {
        stop_for(g, EW_STOP_LENGTH);
    } else if (ew_session_n(g->s) >= ew_session_ctx(g->s)) {
        stop_for(g, EW_STOP_CONTEXT);
    } else {
        rc = ew_session_eval(g->s, &id, 1, err);
        if (rc != EW_ECANCEL) return rc;
        stop_for(g, EW_STOP_CANCEL);
    }
    return EW_OK;
}

/* ---- the call ------------------------------------------------------------------------------- */

static ew_status read_options(generation *g, const ew_generate_options *o, ew_error *err) {
    ew_generate_defaults(&g->opt);
    if (o && (o->size < sizeof o->size || o->size > sizeof *o)) {
        return fail(err, EW_EINVAL, "generation option size is %zu, this library knows %zu",
                    o->size, sizeof *o);
    }
    if (o) memcpy(&g->opt, o, o->size);
    if (g->opt.n_predict < -1) {
        return fail(err, EW_EINVAL, "generation option n_predict is %lld, must be at least -1",
                    (long long)g->opt.n_predict);
    }
    if (sampler_n_vocab(g->sampler) != tok_n(g->s->m->tok)) {
        return fail(err, EW_EMISMATCH, "the sampler is for %d tokens, the model has %d",
                    (int)sampler_n_vocab(g->sampler), (int)tok_n(g->s->m->tok));
    }
    return EW_OK;
}

/* The caller's stop strings, and the chat's. */
static ew_status open_stop(generation *g, ew_error *err) {
    const char *own = g->opt.chat ? g->opt.chat->stop : NULL;
    const char **all;
    ew_status rc;

    if (!own) return stop_init(&g->stop, g->opt.stop, g->opt.n_stop, err);
    all = mem_array(g->opt.n_stop + 1, sizeof *all);
    if (!all) return fail(err, EW_ENOMEM, "out of memory");
    for (size_t i = 0; i < g->opt.n_stop; i++) all[i] = g->opt.stop[i];
    all[g->opt.n_stop] = own;
    rc = stop_init(&g->stop, all, g->opt.n_stop + 1, err);
    mem_free(all);
    return rc;
}

static ew_status open_detok(generation *g, ew_error *err) {
    const char *marks[REPLY_MARKS];
    const size_t n = g->opt.chat ? reply_marks(&g->opt.chat->form, marks) : 0;

    return detok_new_with(&g->detok, g->s->m->tok, marks, n, err);
}

/* In a chat the grammar is one of the answer: it holds when what is thought before is over. */
static ew_status set_grammar(generation *g, const int32_t *prompt, size_t n, ew_error *err) {
    const char *after = g->opt.grammar_after;
    ew_status rc = EW_OK;

    if (!after && g->opt.chat) rc = chat_answer_after(g->opt.chat, prompt, n, &after, err);
    return rc ? rc : ew_sampler_set_grammar(g->sampler, g->opt.grammar, after, err);
}

static ew_status run(generation *g, const int32_t *prompt, size_t n, ew_error *err) {
    ew_status rc = open_stop(g, err);

    if (!rc) rc = open_detok(g, err);
    if (!rc) rc = take_prompt(g, prompt, n, err);
    if (!rc) rc = set_grammar(g, prompt, n, err);
    if (rc) return rc;
    if (!g->is_done && g->opt.n_predict == 0) stop_for(g, EW_STOP_LENGTH);
    if (!g->is_done && ew_sampler_is_complete(g->sampler)) stop_for(g, EW_STOP_EOG);
    while (!rc && !g->is_done) rc = go_on(g, err);
    add_rest(g);
    return rc;
}

ew_status ew_generate(ew_session *s, ew_sampler *sampler, const int32_t *prompt, size_t n,
                      const ew_generate_options *o, ew_generate_result *out, ew_error *err) {
    generation g = {.s = s, .sampler = sampler, .t_start = clock_us()};
    ew_status rc = read_options(&g, o, err);

    if (!rc) rc = run(&g, prompt, n, err);
    ew_sampler_set_grammar(sampler, NULL, NULL, NULL);
    stop_fini(&g.stop);
    ew_detok_free(g.detok);
    g.r.t_wall_us = clock_us() - g.t_start;
    if (out) *out = g.r;
    return rc;
}
