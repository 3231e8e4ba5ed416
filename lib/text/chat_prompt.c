/* SPDX-License-Identifier: MIT
 *
 * Conversations to prompts: messages as the variables that templates expect, the rendering, whether
 * the model is to think, and tokens. */
#include "text/chat.h"

#include "base/json.h"
#include "base/mem.h"
#include "text/jinja_chars.h"

#include <stdio.h>

/* Templates differ in what they accept, and say so by raising an error. These are tried in turn.
 */
enum {
    ARGUMENTS_AS_TEXT = 1, /* of tool calls, as OpenAI's requests have them, rather than objects */
    SYSTEM_IN_USER = 2     /* the system message at the beginning of the first user's */
};

static ew_status no_memory(ew_error *err) {
    return fail(err, EW_ENOMEM, "a prompt: out of memory");
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Text that is no UTF-8 can't be in JSON; each wrong byte becomes U+FFFD. */
static json_t *text_json(const char *p) {
    json_t *v = json_string(p);
    strbuf b;

    if (v) return v;
    strbuf_init(&b, SIZE_MAX / 4);
    for (size_t n = strlen(p); n;) {
        uint32_t cp;
        const size_t len = jchar_at(p, n, &cp);

        if (cp >= 0xDC80 && cp <= 0xDCFF)
            strbuf_puts(&b, "\xEF\xBF\xBD");
        else
            strbuf_add(&b, p, len);
        p += len;
        n -= len;
    }
    v = b.failed ? NULL : json_stringn(b.p, b.n);
    strbuf_fini(&b);
    return v;
}

/* The arguments of a call as an object or as text, whichever they came as. */
static json_t *arguments_json(json_t *in, unsigned how) {
    json_t *out = NULL;
    char *text = NULL;

    if ((how & ARGUMENTS_AS_TEXT) && json_is_object(in)) {
        text = json_dump_text(in, 0, NULL);
        out = text ? json_string(text) : NULL;
        mem_free(text);
    } else if (!(how & ARGUMENTS_AS_TEXT) && json_is_string(in)) {
        out = json_loads(json_string_value(in), 0, NULL);
    }
    if (out) return out;
    return in ? json_incref(in) : json_object();
}

/* {"name", "arguments"} or OpenAI's {"id", "type", "function": {...}} as the latter. */
static json_t *call_json(const json_t *in, size_t i, unsigned how) {
    const json_t *function = json_object_get(in, "function");
    const json_t *f = function ? function : in;
    json_t *id = json_object_get(in, "id"), *out;
    char made[16] = "call00000"; /* nine letters and digits: Mistral's templates refuse others */

    for (size_t k = 8; i && k > 3; k--, i /= 10) made[k] = (char)('0' + i % 10);
    out = json_pack("{s:O*, s:s, s:{s:O*, s:o}}", "id", id, "type", "function", "function", "name",
                    json_object_get(f, "name"), "arguments",
                    arguments_json(json_object_get(f, "arguments"), how));
    if (out && !id) json_object_set_new(out, "id", json_string(made));
    return out;
}

static ew_status add_calls(json_t *message, const char *text, unsigned how, ew_error *err) {
    json_t *in = json_loads(text, 0, NULL), *out = json_array(), *call;
    size_t i;

    if (!json_is_array(in)) {
        json_decref(in);
        json_decref(out);
        return fail(err, EW_EINVAL, "the tool calls of a message are no JSON array");
    }
    json_array_foreach(in, i, call) json_array_append_new(out, call_json(call, i, how));
    json_decref(in);
    return json_object_set_new(message, "tool_calls", out) ? no_memory(err) : EW_OK;
}

static void set_text(json_t *o, const char *key, const char *text) {
    if (text) json_object_set_new(o, key, text_json(text));
}

static ew_status add_message(json_t *list, const ew_message *m, unsigned how, ew_error *err) {
    json_t *o = json_object();

    set_text(o, "role", m->role);
    set_text(o, "content", m->text ? m->text : "");
    set_text(o, "reasoning_content", m->reasoning);
    set_text(o, "thinking", m->reasoning);
    set_text(o, "tool_call_id", m->tool_call_id);
    set_text(o, "name", m->tool_name);
    if (json_array_append_new(list, o)) return no_memory(err);
    return m->tool_calls ? add_calls(o, m->tool_calls, how, err) : EW_OK;
}

/* The system message that comes first, before the text of the first user's. */
static void fold_system(json_t *list) {
    const char *system = json_string_value(json_object_get(json_array_get(list, 0), "content"));
    json_t *m;
    size_t i;

    json_array_foreach(list, i, m) {
        const char *role = json_string_value(json_object_get(m, "role"));
        const char *text = json_string_value(json_object_get(m, "content"));

        if (!i || !role || strcmp(role, "user") != 0) continue;
        json_object_set_new(m, "content", json_sprintf("%s\n\n%s", system, text));
        json_array_remove(list, 0);
        return;
    }
}

static ew_status set_messages(json_t *v, const ew_message *m, size_t n, unsigned how,
                              ew_error *err) {
    json_t *list = json_array();
    ew_status rc = json_object_set_new(v, "messages", list) ? no_memory(err) : EW_OK;

    for (size_t i = 0; i < n && !rc; i++) rc = add_message(list, m + i, how, err);
    if (!rc && (how & SYSTEM_IN_USER)) fold_system(list);
    return rc;
}

/* ---- variables ------------------------------------------------------------------------------ */

/* Whether to think, under the names that templates use for it. */
static void set_think(json_t *v, ew_think think) {
    if (think == EW_THINK_AUTO) return;
    json_object_set_new(v, "enable_thinking", json_boolean(think == EW_THINK_ON));
    json_object_set_new(v, "thinking", json_boolean(think == EW_THINK_ON));
    if (think == EW_THINK_OFF) {
        json_object_set_new(v, "thinking_budget", json_integer(0));
        json_object_set_new(v, "reasoning_effort", json_string("low"));
    }
}

static void set_token(json_t *v, const tokenizer *t, const char *name, int32_t id) {
    if (id < 0) return;
    json_object_set_new(v, name, json_stringn_nocheck(tok_name(t, id).p, tok_name(t, id).n));
}

static ew_status set_json(json_t *v, const char *name, const char *text, ew_error *err) {
    json_error_t where;
    json_t *value = json_loads(text, 0, &where);

    if (!value) return fail(err, EW_EINVAL, "%s: %s", name, where.text);
    return json_object_set_new(v, name, value) ? no_memory(err) : EW_OK;
}

/* The caller's own variables come last and win. */
static ew_status set_variables(json_t *v, const char *text, ew_error *err) {
    json_t *more = json_loads(text, 0, NULL);
    int failed;

    if (!json_is_object(more)) {
        json_decref(more);
        return fail(err, EW_EINVAL, "the template's variables are no JSON object");
    }
    failed = json_object_update(v, more);
    json_decref(more);
    return failed ? no_memory(err) : EW_OK;
}

static ew_status set_options(json_t *v, const ew_chat *c, const ew_chat_options *o, ew_error *err) {
    ew_status rc = EW_OK;

    json_object_set_new(v, "add_generation_prompt", json_boolean(!o->no_reply));
    set_token(v, c->t, "bos_token", tok_bos(c->t));
    set_token(v, c->t, "eos_token", tok_eos(c->t));
    set_think(v, o->think);
    if (o->tools) rc = set_json(v, "tools", o->tools, err);
    if (!rc && o->variables) rc = set_variables(v, o->variables, err);
    return rc;
}

/* ---- rendering ------------------------------------------------------------------------------ */

static ew_status render_as(const ew_chat *c, const ew_message *m, size_t n,
                           const ew_chat_options *o, unsigned how, jinja_text *out, ew_error *err) {
    const time_t clock = (time_t)o->clock_s;
    jinja_context context = {.marks_text = true};
    json_t *v = json_object();
    ew_status rc;

    *out = (jinja_text){0};
    context.values = v;
    rc = set_messages(v, m, n, how, err);
    if (!rc) rc = set_options(v, c, o, err);
    if (!gmtime_r(&clock, &context.now)) context.now = (struct tm){0};
    if (!rc) rc = jinja_render(c->program, &context, out, err);
    json_decref(v);
    return rc;
}

ew_status chat_render(const ew_chat *c, const ew_message *m, size_t n, const ew_chat_options *o,
                      jinja_text *out, ew_error *err) {
    const bool has_system = n && strcmp(m[0].role, "system") == 0;
    ew_error first = {0};
    bool has_calls = false;
    ew_status rc;

    for (size_t i = 0; i < n; i++) has_calls |= m[i].tool_calls != NULL;
    rc = render_as(c, m, n, o, 0, out, &first);
    for (unsigned how = 1; rc == EW_EINVAL && how < 4; how++) {
        if ((how & ARGUMENTS_AS_TEXT) && !has_calls) continue;
        if ((how & SYSTEM_IN_USER) && !has_system) continue;
        if (render_as(c, m, n, o, how, out, NULL) == EW_OK) return EW_OK;
    }
    if (rc && err) *err = first;
    return rc;
}

/* ---- thoughts ------------------------------------------------------------------------------- */

/* The prompt's last n_cut bytes go, then markup is added. */
static ew_status change_end(jinja_text *t, size_t n_cut, const char *add, ew_error *err) {
    const size_t n = strlen(add), keep = t->n - n_cut;
    char *text = mem_resize(t->text, keep + n + 1, 1);
    uint8_t *is_text = NULL;

    if (text) {
        t->text = text;
        is_text = mem_resize(t->is_text, keep + n + 1, 1);
    }
    if (!is_text) return no_memory(err);
    t->is_text = is_text;
    memcpy(text + keep, add, n + 1);
    memset(is_text + keep, 0, n);
    t->n = keep + n;
    return EW_OK;
}

/* Does the prompt end with a thought that is opened and closed again? Then close is where. */
static bool is_closed(const ew_chat *c, const jinja_text *t, size_t *close) {
    const str all = jchar_trim((str){t->text, t->n}, false, true);
    const size_t n = strlen(c->form.think_close);

    if (all.n < n || memcmp(all.p + all.n - n, c->form.think_close, n) != 0) return false;
    *close = all.n - n;
    return true;
}

/* Where the template itself opens or closes a thought, or leaves it to the model, its prompt is
 * made to say what was asked for. */
static ew_status apply_think(const ew_chat *c, const ew_chat_options *o, jinja_text *t,
                             ew_error *err) {
    const bool is_open = reply_begins_in_thought(&c->form, (str){t->text, t->n});
    size_t close = 0;
    char add[128];

    if (o->no_reply || c->form.kind != REPLY_PLAIN || !c->shows_thoughts) return EW_OK;
    if (o->think == EW_THINK_OFF && !is_closed(c, t, &close)) {
        snprintf(add, sizeof add, "%s%s%s\n\n", is_open ? "" : c->form.think_open,
                 is_open ? "" : "\n\n", c->form.think_close);
        return change_end(t, 0, add, err);
    }
    if (o->think == EW_THINK_ON && is_closed(c, t, &close)) {
        const str before = {t->text, close};

        if (reply_begins_in_thought(&c->form, before)) {
            const str open = jchar_trim(before, false, true);

            return change_end(t, t->n - open.n, "\n", err);
        }
    }
    return EW_OK;
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* Stretches of markup and of text. The tokenizer's own bos is left to it. */
static ew_status pieces_of(const tokenizer *t, const jinja_text *p, tok_piece **out, size_t *n,
                           ew_error *err) {
    const str bos = tok_bos(t) >= 0 ? tok_name(t, tok_bos(t)) : (str){"", 0};
    const bool skips =
        tok_adds_bos(t) && bos.n && str_starts((str){p->text, p->n}, bos) && !p->is_text[0];
    size_t from = skips ? bos.n : 0, count = 1;

    for (size_t i = from + 1; i < p->n; i++) count += p->is_text[i] != p->is_text[i - 1];
    *n = 0;
    *out = mem_array(count, sizeof **out);
    if (!*out) return no_memory(err);
    for (size_t i = from; i < p->n; i++) {
        if (i + 1 < p->n && p->is_text[i + 1] == p->is_text[i]) continue;
        (*out)[(*n)++] = (tok_piece){{p->text + from, i + 1 - from}, !p->is_text[i]};
        from = i + 1;
    }
    return EW_OK;
}

ew_status chat_prompt(const ew_chat *c, const ew_message *m, size_t n, const ew_chat_options *o,
                      int32_t **ids, size_t *n_ids, ew_error *err) {
    tok_piece *pieces = NULL;
    size_t n_piece = 0;
    jinja_text text;
    ew_status rc;

    *ids = NULL;
    *n_ids = 0;
    rc = chat_render(c, m, n, o, &text, err);
    if (!rc) rc = apply_think(c, o, &text, err);
    if (!rc) rc = pieces_of(c->t, &text, &pieces, &n_piece, err);
    if (!rc) rc = tok_encode(c->t, pieces, n_piece, true, ids, n_ids, err);
    /* A prompt is to be continued: an eos that the tokenizer adds is not part of it. */
    if (!rc && tok_adds_eos(c->t)) (*n_ids)--;
    mem_free(pieces);
    mem_free(text.text);
    mem_free(text.is_text);
    return rc;
}
