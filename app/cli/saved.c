/* SPDX-License-Identifier: MIT */
#include "cli/saved.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/term.h"

#include <jansson.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_LEN = 4096,
    VERSION = 1
};

static ew_status kv_path(char out[PATH_LEN], const char *path, ew_error *err) {
    if ((size_t)snprintf(out, PATH_LEN, "%s.kv", path) < PATH_LEN) return EW_OK;
    return fail(err, EW_EINVAL, "%.100s...: the name is too long", path);
}

static void add_message(strbuf *b, const char *role, const char *text, const char *reasoning,
                        bool is_first) {
    strbuf_printf(b, "%s\n  {\"role\": \"%s\", \"content\": ", is_first ? "" : ",", role);
    json_add(b, text, strlen(text));
    if (reasoning) {
        strbuf_puts(b, ", \"reasoning_content\": ");
        json_add(b, reasoning, strlen(reasoning));
    }
    strbuf_puts(b, "}");
}

static void add_json(strbuf *b, const talk *t) {
    strbuf_printf(b, "{\"edgewise_conversation\": %d, ", VERSION);
    if (!t->is_chat) {
        strbuf_puts(b, "\"text\": ");
        json_add(b, t->raw.p ? t->raw.p : "", t->raw.n);
        strbuf_puts(b, "}\n");
        return;
    }
    strbuf_puts(b, "\"messages\": [");
    if (t->system) add_message(b, "system", t->system, NULL, true);
    for (size_t i = 0; i < t->n_turn; i++)
        add_message(b, t->turns[i].is_user ? "user" : "assistant", t->turns[i].text,
                    t->turns[i].reasoning, i == 0 && !t->system);
    strbuf_puts(b, "\n]}\n");
}

ew_status saved_write(const talk *t, const char *path, ew_error *err) {
    file_out out = {.fd = -1};
    file_lock lock = {.fd = -1};
    char kv[PATH_LEN];
    strbuf text;
    ew_status rc;

    rc = kv_path(kv, path, err);
    if (rc) return rc;
    strbuf_init(&text, TEXT_MAX);
    add_json(&text, t);
    if (text.failed) rc = fail(err, EW_ENOMEM, "%s: the conversation is too large", path);
    if (!rc && !file_lock_is_of(&t->lock, path)) rc = file_lock_take(&lock, path, err);
    if (!rc) rc = file_out_open(&out, path, err);
    if (!rc) rc = file_out_write(&out, text.p, text.n, err);
    /* The larger file first: if the disk can't hold it, neither is changed. */
    if (!rc) rc = ew_session_save(t->session, kv, err);
    if (!rc) rc = file_out_commit(&out, err);
    file_out_abort(&out);
    file_lock_release(&lock);
    strbuf_fini(&text);
    return rc;
}

static ew_status read_message(talk *t, json_t *m, const char *path, ew_error *err) {
    const char *role = json_string_value(json_object_get(m, "role"));
    json_t *content = json_object_get(m, "content");
    const char *text = json_string_value(content);
    const char *thought = json_string_value(json_object_get(m, "reasoning_content"));
    ew_status rc;

    if (!role || !text)
        return fail(err, EW_EFORMAT, "%s: a message lacks its role or its content", path);
    if (strlen(text) != json_string_length(content))
        return fail(err, EW_EFORMAT, "%s: a message has a NUL byte in it", path);
    if (strcmp(role, "system") == 0) return talk_set_system(t, text, err);
    if (strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0)
        return fail(err, EW_EFORMAT, "%s: unknown role '%.40s'", path, role);
    rc = talk_add(t, role[0] == 'u', text, json_string_length(content), err);
    if (rc || !thought) return rc;
    return talk_set_reasoning(t, thought, strlen(thought), err);
}

static ew_status read_messages(talk *t, const json_t *messages, const char *path, ew_error *err) {
    const size_t n = json_array_size(messages);
    ew_status rc = EW_OK;

    if (n && !t->is_chat)
        return fail(err, EW_EMISMATCH,
                    "%s: is a conversation of messages, which goes on in a chat form only", path);
    for (size_t i = 0; !rc && i < n; i++)
        rc = read_message(t, json_array_get(messages, i), path, err);
    return rc;
}

static ew_status read_text(talk *t, const json_t *text, const char *path, ew_error *err) {
    const size_t n = json_string_length(text);

    if (n && t->is_chat)
        return fail(err, EW_EMISMATCH, "%s: is a text without messages, which goes on with --raw",
                    path);
    return n ? talk_add(t, true, json_string_value(text), n, err) : EW_OK;
}

static ew_status read_root(talk *t, const json_t *root, const char *path, ew_error *err) {
    const json_t *version = json_object_get(root, "edgewise_conversation");
    const json_t *messages = json_object_get(root, "messages");
    const json_t *text = json_object_get(root, "text");

    if (json_is_integer(version) && json_integer_value(version) != VERSION)
        return fail(err, EW_EMISMATCH, "%s: conversation version %lld, this program reads %d", path,
                    (long long)json_integer_value(version), VERSION);
    if (!json_is_integer(version) || !(json_is_array(messages) || json_is_string(text)))
        return fail(err, EW_EFORMAT, "%s: is not a saved conversation", path);
    return json_is_array(messages) ? read_messages(t, messages, path, err)
                                   : read_text(t, text, path, err);
}

static ew_status read_json(talk *t, const char *json, size_t n, const char *path, ew_error *err) {
    json_error_t why;
    json_t *root = json_loadb(json, n, JSON_ALLOW_NUL, &why);
    ew_status rc;

    rc = root ? read_root(t, root, path, err)
              : fail(err, EW_EFORMAT, "%s: line %d: %s", path, why.line, why.text);
    json_decref(root);
    return rc;
}

static void read_kv(talk *t, const char *path) {
    char kv[PATH_LEN];
    ew_error err = {0};

    if (kv_path(kv, path, NULL) || access(kv, F_OK) != 0) return;
    if (ew_session_load(t->session, kv, &err) == EW_OK) return;
    say_note("%s; the conversation will be evaluated again", err.text);
}

/* Exchanges what was said. */
static void swap_said(talk *a, talk *b) {
    const talk was = *a;

    a->system = b->system;
    a->turns = b->turns;
    a->n_turn = b->n_turn;
    a->raw = b->raw;
    b->system = was.system;
    b->turns = was.turns;
    b->n_turn = was.n_turn;
    b->raw = was.raw;
}

ew_status saved_read(talk *t, const char *path, ew_error *err) {
    talk got; /* only what was said is used */
    char *json = NULL;
    size_t n = 0;
    ew_status rc;

    rc = file_read(&json, &n, path, TEXT_MAX, err);
    if (rc) return rc;
    talk_init(&got);
    got.is_chat = t->is_chat;
    rc = read_json(&got, json, n, path, err);
    if (!rc) swap_said(t, &got);
    if (!rc) read_kv(t, path);
    talk_fini(&got);
    mem_free(json);
    return rc;
}
