/* SPDX-License-Identifier: MIT */
#include "text/chat.h"

#include "base/mem.h"
#include "text/jinja_chars.h"

#include <stdio.h>

/* ---- what ends an answer -------------------------------------------------------------------- */

/* Words that no template contains, for a conversation whose rendering shows what stands around
 * them. */
#define ANSWER "Zqxanswerxqz"
#define NEXT   "Zqxnextxqz"

/* What the template writes between an answer and the user's next message; n 0: it can't be told. */
static str closing_of(const ew_chat *c, jinja_text *text) {
    const ew_message m[] = {{.role = "user", .text = "Zqxfirstxqz"},
                            {.role = "assistant", .text = ANSWER},
                            {.role = "user", .text = NEXT}};
    const ew_chat_options o = {.size = sizeof o, .no_reply = true};
    size_t at = 0;
    str out, all;

    if (chat_render(c, m, 3, &o, text, NULL)) return (str){"", 0};
    all = (str){text->text, text->n};
    return reply_between(all, &at, ANSWER, NEXT, &out) ? out : (str){"", 0};
}

/* The first line of a closing that is made of letters, as "\n\n### Instruction:": enough of it not
 * to be met in an answer by chance. */
static str stop_text(str closing) {
    size_t from = closing.n - jchar_trim(closing, true, false).n, to = from;

    while (to < closing.n && closing.p[to] != '\n') to++;
    return to - from < 5 ? (str){"", 0} : jchar_trim((str){closing.p, to}, false, true);
}

/* A template may end answers with a token that the vocabulary takes for an ordinary one, or with
 * text. */
static ew_status read_stop(ew_chat *c, ew_error *err) {
    jinja_text text;
    const str closing = closing_of(c, &text);
    const tok_piece piece = {jchar_trim(closing, true, false), true};
    int32_t *ids = NULL;
    ew_status rc = EW_OK;
    size_t n = 0;
    str stop;

    if (piece.text.n) rc = tok_encode(c->t, &piece, 1, false, &ids, &n, err);
    if (n && (tok_kind(c->t, ids[0]) == TOKEN_CONTROL ||
              (tok_kind(c->t, ids[0]) == TOKEN_USER_DEFINED && tok_name(c->t, ids[0]).n > 2))) {
        c->stop_id = tok_is_eog(c->t, ids[0]) ? -1 : ids[0];
    } else if (n) {
        stop = stop_text(closing);
        c->stop = stop.n ? mem_copy_str(stop.p, stop.n) : NULL;
        if (stop.n && !c->stop) rc = fail(err, EW_ENOMEM, "chat template: out of memory");
    }
    mem_free(ids);
    mem_free(text.text);
    mem_free(text.is_text);
    return rc;
}

bool chat_ends(const ew_chat *c, int32_t id) {
    return tok_is_eog(c->t, id) || (c->stop_id >= 0 && id == c->stop_id);
}

/* ---- where an answer begins ----------------------------------------------------------------- */

enum {
    PROMPT_END = 64 /* tokens at the end of a prompt that tell how the answer begins */
};

ew_status chat_begins_in_thought(const ew_chat *c, const int32_t *prompt, size_t n, bool *out,
                                 ew_error *err) {
    const size_t from = n > PROMPT_END ? n - PROMPT_END : 0;
    ew_status rc = EW_OK;
    strbuf end;

    strbuf_init(&end, 1 << 20);
    tok_decode(c->t, prompt + from, n - from, true, &end);
    *out = !end.failed && reply_begins_in_thought(&c->form, (str){end.p, end.n});
    if (end.failed) rc = fail(err, EW_ENOMEM, "out of memory");
    strbuf_fini(&end);
    return rc;
}

ew_status chat_answer_after(const ew_chat *c, const int32_t *prompt, size_t n, const char **out,
                            ew_error *err) {
    bool in_thought = false;
    ew_status rc;

    *out = c->form.kind == REPLY_HARMONY ? "<|channel|>final<|message|>" : NULL;
    if (*out) return EW_OK;
    rc = chat_begins_in_thought(c, prompt, n, &in_thought, err);
    if (in_thought) *out = c->form.think_close;
    return rc;
}

/* ---- opening -------------------------------------------------------------------------------- */

static ew_status open_program(ew_chat *c, str text, const char *what, ew_error *err) {
    const char *form = NULL, *ours;
    char own[64];
    ew_status rc;

    if (!text.n) {
        ours = chat_form_text(c->t, &form);
        if (!ours)
            return fail(
                err, EW_EUNSUPPORTED,
                "the model has no chat template, and its tokens show no form that is known");
        text = str_of(ours);
        snprintf(own, sizeof own, "the %s form", form);
        what = own;
    }
    rc = jinja_parse(&c->program, text, "chat template", err);
    if (rc) return rc;
    c->what = mem_copy_str(what, strlen(what));
    if (!c->what) return fail(err, EW_ENOMEM, "chat template: out of memory");
    reply_form_of(&c->form, text);
    c->shows_thoughts = reply_find(text, c->form.think_close, 0) <= text.n;
    return read_stop(c, err);
}

ew_status chat_new(ew_chat **out, str text, const char *what, const tokenizer *t, ew_error *err) {
    ew_chat *c = mem_array(1, sizeof *c);
    ew_status rc;

    *out = NULL;
    if (!c) return fail(err, EW_ENOMEM, "chat template: out of memory");
    c->t = t;
    c->stop_id = -1;
    rc = open_program(c, text, what, err);
    if (rc)
        chat_free(c);
    else
        *out = c;
    return rc;
}

void chat_free(ew_chat *c) {
    if (!c) return;
    jinja_free(c->program);
    mem_free(c->what);
    mem_free(c->stop);
    mem_free(c);
}
