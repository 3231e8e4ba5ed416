/* SPDX-License-Identifier: MIT */
#include "cli/saved.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/term.h"

#include <jansson.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_LEN = 4096
};

static ew_status kv_path(char out[PATH_LEN], const char *path, ew_error *err) {
    if ((size_t)snprintf(out, PATH_LEN, "%s.kv", path) < PATH_LEN) return EW_OK;
    return fail(err, EW_EINVAL, "%.100s...: the name is too long", path);
}

static void add_message(strbuf *b, const char *role, const char *text, bool is_first) {
    strbuf_printf(b, "%s\n  {\"role\": \"%s\", \"content\": ", is_first ? "" : ",", role);
    json_add(b, text, strlen(text));
    strbuf_puts(b, "}");
}

static void add_json(strbuf *b, const talk *t) {
    strbuf_puts(b, "{\"edgewise_conversation\": 1, \"messages\": [");
    if (t->system) add_message(b, "system", t->system, true);
    for (size_t i = 0; i < t->n_turn; i++)
        add_message(b, t->turns[i].is_user ? "user" : "assistant", t->turns[i].text,
                    i == 0 && !t->system);
    strbuf_puts(b, "\n]}\n");
}

ew_status saved_write(const talk *t, const char *path, ew_error *err) {
    file_out out = {.fd = -1};
    char kv[PATH_LEN];
    strbuf text;
    ew_status rc;

    rc = kv_path(kv, path, err);
    if (rc) return rc;
    strbuf_init(&text, TEXT_MAX);
    add_json(&text, t);
    if (text.failed) rc = fail(err, EW_ENOMEM, "%s: the conversation is too large", path);
    if (!rc) rc = file_out_open(&out, path, err);
    if (!rc) rc = file_out_write(&out, text.p, text.n, err);
    /* The larger file first: if the disk can't hold it, neither is changed. */
    if (!rc) rc = ew_session_save(t->session, kv, err);
    if (!rc) rc = file_out_commit(&out, err);
    file_out_abort(&out);
    strbuf_fini(&text);
    return rc;
}

static ew_status read_message(talk *t, json_t *m, const char *path, ew_error *err) {
    const char *role = json_string_value(json_object_get(m, "role"));
    json_t *content = json_object_get(m, "content");
    const char *text = json_string_value(content);

    if (!role || !text)
        return fail(err, EW_EFORMAT, "%s: a message lacks its role or its content", path);
    if (strcmp(role, "system") == 0) return talk_set_system(t, text, err);
    if (strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0)
        return fail(err, EW_EFORMAT, "%s: unknown role '%.40s'", path, role);
    return talk_add(t, role[0] == 'u', text, json_string_length(content), err);
}

static ew_status read_messages(talk *t, const char *text, size_t n, const char *path,
                               ew_error *err) {
    json_error_t why;
    json_t *root = json_loadb(text, n, 0, &why);
    json_t *messages = json_object_get(root, "messages");
    ew_status rc = EW_OK;

    if (!root)
        rc = fail(err, EW_EFORMAT, "%s: line %d: %s", path, why.line, why.text);
    else if (!json_object_get(root, "edgewise_conversation") || !json_is_array(messages))
        rc = fail(err, EW_EFORMAT, "%s: is not a saved conversation", path);
    for (size_t i = 0; !rc && i < json_array_size(messages); i++)
        rc = read_message(t, json_array_get(messages, i), path, err);
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

ew_status saved_read(talk *t, const char *path, ew_error *err) {
    talk got = {0}; /* only its turns and system message are used */
    char *text = NULL;
    size_t n = 0;
    ew_status rc;

    rc = file_read(&text, &n, path, TEXT_MAX, err);
    if (rc) return rc;
    rc = read_messages(&got, text, n, path, err);
    mem_free(text);
    if (rc) {
        talk_drop(&got, 0);
        mem_free(got.turns);
        mem_free(got.system);
        return rc;
    }
    talk_drop(t, 0);
    mem_free(t->turns);
    mem_free(t->system);
    t->turns = got.turns;
    t->n_turn = got.n_turn;
    t->system = got.system;
    read_kv(t, path);
    return EW_OK;
}
