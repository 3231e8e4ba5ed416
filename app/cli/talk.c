/* SPDX-License-Identifier: MIT */
#include "cli/talk.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cancel.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/sink.h"
#include "cli/term.h"

#include <errno.h>

void talk_init(talk *t) {
    *t = (talk){.lock = {.fd = -1}};
    strbuf_init(&t->raw, TEXT_MAX);
    engine_args_defaults(&t->engine_args);
    sampling_args_init(&t->sampling);
}

void talk_fini(talk *t) {
    talk_back(t, (talk_mark){0});
    strbuf_fini(&t->raw);
    mem_free(t->turns);
    mem_free(t->system);
    file_lock_release(&t->lock);
    mem_free(t->path);
    sampling_args_fini(&t->sampling);
    for (size_t i = 0; i < t->n_kept; i++) mem_free(t->kept[i]);
    mem_free(t->kept);
    ew_session_free(t->session);
    ew_chat_free(t->chat);
    setup_close(t->engine, t->model);
    *t = (talk){.lock = {.fd = -1}};
}

static bool has_template(const talk *t) {
    ew_meta m;

    return ew_file_find_meta(ew_model_file(t->model), "tokenizer.chat_template", &m);
}

/* A model without a template and without a form that is known has its text continued. A template
 * that can't be run is no reason to guess. */
static ew_status open_chat(talk *t, const char *file, ew_error *err) {
    char *text = NULL;
    size_t n;
    ew_status rc = file ? file_read(&text, &n, file, TEXT_MAX, err) : EW_OK;

    if (rc) return rc;
    rc = ew_chat_new(&t->chat, t->model, text, err);
    mem_free(text);
    t->is_chat = rc == EW_OK;
    if (!rc || (rc == EW_EUNSUPPORTED && !file && !has_template(t))) return EW_OK;
    strncat(err->text, " (--raw does without the template)",
            sizeof err->text - strlen(err->text) - 1);
    return rc;
}

int talk_open(talk *t, const char *path, bool is_raw, const char *template_file) {
    const uint64_t t0 = clock_us();
    ew_error err = {0};
    int status;

    t->path = mem_copy_str(path, strlen(path));
    if (!t->path) return say_failure("out of memory");
    status = setup_open(&t->engine_args, path, false, &t->engine, &t->model);
    if (status) return status;
    if (!is_raw && open_chat(t, template_file, &err)) return say_error(&err);
    if (talk_new_session(t, &err)) return say_error(&err);
    t->t_load_us = clock_us() - t0;
    return EXIT_OK;
}

ew_status talk_new_session(talk *t, ew_error *err) {
    ew_session_options o;
    ew_session *s;
    ew_status rc;

    setup_session_options(&t->engine_args, &o);
    rc = ew_session_new(&s, t->model, &o, err);
    if (rc) return rc;
    ew_session_free(t->session);
    t->session = s;
    setup_warn_of_window(t->model, ew_session_ctx(s));
    return EW_OK;
}

const char *talk_keep(talk *t, const char *text, size_t n) {
    char **kept = mem_resize(t->kept, t->n_kept + 1, sizeof *kept);
    char *copy;

    if (!kept) return NULL;
    t->kept = kept;
    copy = mem_copy_str(text, n);
    if (copy) kept[t->n_kept++] = copy;
    return copy;
}

/* ---- turns -------------------------------------------------------------------------------- */

ew_status talk_set_system(talk *t, const char *text, ew_error *err) {
    char *copy = NULL;

    if (text && *text) {
        copy = mem_copy_str(text, strlen(text));
        if (!copy) return fail(err, EW_ENOMEM, "out of memory");
    }
    mem_free(t->system);
    t->system = copy;
    return EW_OK;
}

static ew_status add_turn(talk *t, bool is_user, const char *text, size_t n, ew_error *err) {
    turn *turns = mem_resize(t->turns, t->n_turn + 1, sizeof *turns);
    char *copy;

    if (turns) t->turns = turns;
    copy = turns ? mem_copy_str(text, n) : NULL;
    if (!copy) return fail(err, EW_ENOMEM, "out of memory");
    t->turns[t->n_turn++] = (turn){.is_user = is_user, .text = copy};
    return EW_OK;
}

static ew_status add_raw(talk *t, const char *text, size_t n, ew_error *err) {
    strbuf_add(&t->raw, text, n);
    if (!t->raw.failed) return EW_OK;
    t->raw.failed = false;
    return fail(err, EW_ENOMEM, "the text has become too long");
}

ew_status talk_add(talk *t, bool is_user, const char *text, size_t n, ew_error *err) {
    if (!t->is_chat) return add_raw(t, text, n, err);
    return add_turn(t, is_user, text, n, err);
}

talk_mark talk_now(const talk *t) {
    return (talk_mark){t->n_turn, t->raw.n};
}

void talk_back(talk *t, talk_mark to) {
    while (t->n_turn > to.n_turn) {
        mem_free(t->turns[--t->n_turn].text);
        mem_free(t->turns[t->n_turn].reasoning);
    }
    if (t->raw.n > to.n_raw) t->raw.n = to.n_raw;
}

/* ---- an answer ---------------------------------------------------------------------------- */

void answer_fini(answer *a) {
    strbuf_fini(&a->text);
    strbuf_fini(&a->reasoning);
}

ew_status talk_set_reasoning(talk *t, const char *text, size_t n, ew_error *err) {
    turn *last = &t->turns[t->n_turn - 1];
    char *copy = mem_copy_str(text, n);

    if (!copy) return fail(err, EW_ENOMEM, "out of memory");
    mem_free(last->reasoning);
    last->reasoning = copy;
    return EW_OK;
}

ew_status talk_add_answer(talk *t, const answer *a, ew_error *err) {
    ew_status rc = talk_add(t, false, a->text.p ? a->text.p : "", a->text.n, err);

    if (rc || !t->is_chat || !a->reasoning.n) return rc;
    return talk_set_reasoning(t, a->reasoning.p, a->reasoning.n, err);
}

static void chat_options(const talk *t, ew_chat_options *o) {
    ew_chat_defaults(o);
    o->think = t->think;
    o->variables = t->variables;
    input_clock(NULL, &o->clock_s);
}

static ew_status chat_prompt(const talk *t, int32_t **ids, size_t *n, ew_error *err) {
    ew_message *m = mem_array(t->n_turn + 1, sizeof *m);
    ew_chat_options o;
    size_t n_message = 0;
    ew_status rc;

    if (!m) return fail(err, EW_ENOMEM, "out of memory");
    chat_options(t, &o);
    if (t->system) m[n_message++] = (ew_message){.role = "system", .text = t->system};
    for (size_t i = 0; i < t->n_turn; i++)
        m[n_message++] = (ew_message){.role = t->turns[i].is_user ? "user" : "assistant",
                                      .text = t->turns[i].text,
                                      .reasoning = t->turns[i].reasoning};
    rc = ew_chat_tokenize(t->chat, m, n_message, &o, ids, n, err);
    mem_free(m);
    return rc;
}

static ew_status prompt_ids(const talk *t, int32_t **ids, size_t *n, ew_error *err) {
    const uint32_t ctx = ew_session_ctx(t->session);
    ew_status rc;

    *ids = NULL;
    if (t->is_chat)
        rc = chat_prompt(t, ids, n, err);
    else
        rc = ew_tokenize(t->model, t->raw.p ? t->raw.p : "", t->raw.n,
                         EW_TOK_ADD_SPECIAL | EW_TOK_PARSE_SPECIAL, ids, n, err);
    if (rc) return rc;
    if (*n == 0) return fail(err, EW_EINVAL, "the prompt is empty");
    /* One place more, for the first token of the answer. */
    if (*n < ctx) return EW_OK;
    return fail(err, EW_EFULL,
                "the prompt has %zu tokens and the context holds %u; --ctx-size makes it larger",
                *n, ctx);
}

static uint64_t swap_used(void) {
    ew_machine m = {.size = sizeof m};

    ew_machine_read(&m);
    return m.swap_used;
}

static ew_status generate(talk *t, ew_sampler *sampler, const ew_grammar *grammar,
                          const int32_t *ids, size_t n, sink *s, ew_error *err) {
    const uint64_t swap_before = swap_used();
    ew_generate_options o;
    uint64_t swap_after;
    ew_status rc;

    ew_generate_defaults(&o);
    o.n_predict = t->sampling.n_predict;
    o.stop = t->sampling.stop.v;
    o.n_stop = t->sampling.stop.n;
    o.ignore_eos = t->sampling.ignore_eos;
    o.grammar = grammar;
    o.on_text = sink_text;
    o.ctx = s;
    o.chat = t->chat;
    s->to->seed = ew_sampler_seed(sampler);
    cancel_begin(t->session);
    rc = ew_generate(t->session, sampler, ids, n, &o, &s->to->r, err);
    cancel_end();
    if (!rc) rc = sink_end(s, err);
    swap_after = swap_used();
    s->to->swap_grown = swap_after > swap_before ? swap_after - swap_before : 0;
    return rc;
}

ew_status talk_answer(talk *t, FILE *stream, answer *out, ew_error *err) {
    sink s = {.to = out, .stream = stream, .hides_thoughts = t->hides_thoughts};
    ew_chat_options chat;
    ew_sampler *sampler = NULL;
    ew_grammar *grammar = NULL;
    ew_sampler_options o;
    int32_t *ids = NULL;
    size_t n = 0;
    ew_status rc;

    *out = (answer){0};
    strbuf_init(&out->text, TEXT_MAX);
    strbuf_init(&out->reasoning, TEXT_MAX);
    rc = prompt_ids(t, &ids, &n, err);
    if (rc) goto out;
    chat_options(t, &chat);
    if (t->is_chat) rc = ew_reply_new(&s.reply, t->chat, ids, n, &chat, sink_part, &s, err);
    if (rc) goto out;
    sampling_options(&t->sampling, &o);
    rc = ew_sampler_new(&sampler, t->model, &o, err);
    if (rc) goto out;
    rc = constrain_make(&t->constrain, t->model, &grammar, err);
    if (!rc) rc = generate(t, sampler, grammar, ids, n, &s, err);
out:
    ew_reply_free(s.reply);
    ew_sampler_free(sampler);
    ew_grammar_free(grammar);
    ew_free(ids);
    return rc;
}
