/* SPDX-License-Identifier: MIT
 *
 * ew_chat and ew_reply of edgewise.h. */
#include "text/chat.h"

#include "model/model.h"

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

ew_status ew_reply_new(ew_reply **out, const ew_chat *c, const int32_t *prompt, size_t n,
                       const ew_chat_options *o, ew_part_fn fn, void *ctx, ew_error *err) {
    ew_chat_options opt;
    bool in_thought = false;
    ew_status rc = read_options(&opt, o, err);

    *out = NULL;
    if (!rc) rc = chat_begins_in_thought(c, prompt, n, &in_thought, err);
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
