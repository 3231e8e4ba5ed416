/* SPDX-License-Identifier: MIT
 *
 * ew_chat and ew_reply of edgewise.h. */
#include "text/chat.h"

#include "base/mem.h"
#include "model/model.h"

enum {
    PROMPT_END = 64 /* tokens at the end of a prompt that tell how the answer begins */
};

void ew_chat_defaults(ew_chat_options *o) {
    *o = (ew_chat_options){.size = sizeof *o};
}

static ew_status read_options(ew_chat_options *out, const ew_chat_options *o, ew_error *err) {
    ew_chat_defaults(out);
    if (o && (o->size < sizeof o->size || o->size > sizeof *o))
        return fail(err, EW_EINVAL, "chat option size is %zu, this library knows %zu", o->size,
                    sizeof *o);
    if (o) memcpy(out, o, o->size);
    return EW_OK;
}

ew_status ew_chat_new(ew_chat **out, const ew_model *m, const char *text, ew_error *err) {
    if (text) return chat_new(out, str_of(text), "the template given", m->tok, err);
    return chat_new(out, model_chat_template(m), "the model's template", m->tok, err);
}

void ew_chat_free(ew_chat *c) {
    chat_free(c);
}

const char *ew_chat_name(const ew_chat *c) {
    return c->what;
}

bool ew_chat_thinks(const ew_chat *c) {
    return c->shows_thoughts || c->form.kind == REPLY_HARMONY;
}

ew_status ew_chat_tokenize(const ew_chat *c, const ew_message *messages, size_t n_message,
                           const ew_chat_options *o, int32_t **out, size_t *n, ew_error *err) {
    ew_chat_options opt;
    ew_status rc = read_options(&opt, o, err);

    *out = NULL;
    *n = 0;
    return rc ? rc : chat_prompt(c, messages, n_message, &opt, out, n, err);
}

static ew_status begins_in_thought(const ew_chat *c, const int32_t *prompt, size_t n, bool *out,
                                   ew_error *err) {
    const size_t from = n > PROMPT_END ? n - PROMPT_END : 0;
    strbuf end;

    strbuf_init(&end, 1 << 20);
    tok_decode(c->t, prompt + from, n - from, true, &end);
    *out = !end.failed && reply_begins_in_thought(&c->form, (str){end.p, end.n});
    strbuf_fini(&end);
    return end.failed ? fail(err, EW_ENOMEM, "out of memory") : EW_OK;
}

ew_status ew_reply_new(ew_reply **out, const ew_chat *c, const int32_t *prompt, size_t n,
                       const ew_chat_options *o, ew_part_fn fn, void *ctx, ew_error *err) {
    ew_chat_options opt;
    bool in_thought = false;
    ew_status rc = read_options(&opt, o, err);

    *out = NULL;
    if (!rc) rc = begins_in_thought(c, prompt, n, &in_thought, err);
    return rc ? rc : reply_new(out, &c->form, opt.tools, in_thought, fn, ctx, err);
}

void ew_reply_free(ew_reply *r) {
    reply_free(r);
}

ew_status ew_reply_push(ew_reply *r, const char *text, size_t n, ew_error *err) {
    return reply_push(r, text, n, err);
}

ew_status ew_reply_end(ew_reply *r, ew_error *err) {
    return reply_end(r, err);
}
