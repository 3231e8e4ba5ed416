/* SPDX-License-Identifier: MIT */
#include "cli/print.h"
#include "cli/show.h"

#include <stdio.h>
#include <string.h>

enum {
    WHOLE_ARRAY = 16 /* arrays up to this length are written whole */
};

static void set(json_t *o, const char *key, json_t *value) {
    json_object_set_new(o, key, value);
}

static void set_int(json_t *o, const char *key, uint64_t v) {
    set(o, key, json_integer((json_int_t)v));
}

static void set_text(json_t *o, const char *key, const char *text) {
    set(o, key, json_bytes(text, strlen(text)));
}

static json_t *scalar_json(const ew_meta *m) {
    switch (m->kind) {
    case EW_META_UINT:
        /* JSON integers here end at 2^63. */
        return m->u > INT64_MAX ? json_real((double)m->u) : json_integer((json_int_t)m->u);
    case EW_META_INT:
        return json_integer(m->i);
    case EW_META_FLOAT:
        return json_number(m->f);
    case EW_META_BOOL:
        return json_boolean(m->u);
    case EW_META_STRING:
        return json_bytes(m->text, m->text_n);
    case EW_META_ARRAY:
        break;
    }
    return json_null();
}

/* Short arrays as they are; of long ones the type, the length and the beginning. */
static json_t *value_json(const ew_file *f, const ew_meta *m) {
    const uint64_t n = m->n_elem > WHOLE_ARRAY ? SHOW_ARRAY : m->n_elem;
    json_t *a, *o;

    if (m->kind != EW_META_ARRAY) return scalar_json(m);
    a = json_array();
    for (uint64_t i = 0; i < n; i++) {
        ew_meta e;

        if (!ew_file_meta_elem(f, m->key, i, &e)) break;
        json_array_append_new(a, scalar_json(&e));
    }
    if (m->n_elem <= WHOLE_ARRAY) return a;
    o = json_object();
    set_text(o, "type", m->type);
    set_int(o, "n", m->n_elem);
    set(o, "first", a);
    return o;
}

/* A key that is no UTF-8 is escaped: JSON has no other way to write it. */
static json_t *metadata_json(const show *s) {
    json_t *o = json_object();
    strbuf key;

    strbuf_init(&key, 1 << 20);
    for (size_t i = 0; i < ew_file_n_meta(s->file); i++) {
        ew_meta m;

        ew_file_meta(s->file, i, &m);
        if (json_object_set_new(o, m.key, value_json(s->file, &m)) == 0) continue;
        strbuf_clear(&key);
        escape_bytes(&key, m.key, strlen(m.key));
        if (key.p) set(o, key.p, value_json(s->file, &m));
    }
    strbuf_fini(&key);
    return o;
}

static json_t *tensor_list_json(const show *s) {
    json_t *a = json_array();

    for (size_t i = 0; i < ew_file_n_tensor(s->file); i++) {
        ew_tensor_info t;
        json_t *o = json_object(), *shape = json_array();

        ew_file_tensor(s->file, i, &t);
        for (uint32_t d = 0; d < t.n_dims && d < 4; d++)
            json_array_append_new(shape, json_integer((json_int_t)t.shape[d]));
        set_text(o, "name", t.name);
        set_text(o, "type", t.type);
        set(o, "shape", shape);
        set_int(o, "bytes", t.n_bytes);
        set_int(o, "offset", t.off_bytes);
        set_int(o, "part", t.part);
        json_array_append_new(a, o);
    }
    return a;
}

static json_t *tensors_json(const show *s) {
    json_t *o = json_object();

    set_int(o, "count", ew_file_n_tensor(s->file));
    set_int(o, "bytes", s->types.n_bytes);
    set_int(o, "parameters", s->types.n_elem);
    set(o, "types", weight_types_json(&s->types));
    if (s->args->tensors) set(o, "list", tensor_list_json(s));
    return o;
}

static json_t *token_json(const show *s, int64_t id) {
    json_t *o = json_object();
    str name;

    set(o, "id", json_integer((json_int_t)id));
    if (show_token_name(s, id, &name)) set(o, "name", json_bytes(name.p, name.n));
    return o;
}

static json_t *specials_json(const show *s) {
    json_t *o = json_object();

    for (size_t i = 0; i < ew_file_n_meta(s->file); i++) {
        ew_meta m;
        str name;
        int64_t id;
        char key[64];

        ew_file_meta(s->file, i, &m);
        if (!show_special(&m, &name, &id)) continue;
        snprintf(key, sizeof key, "%.*s", (int)(name.n < 60 ? name.n : 60), name.p);
        set(o, key, token_json(s, id));
    }
    return o;
}

static json_t *tokenizer_json(const show *s) {
    json_t *o = json_object(), *eog = json_array();
    uint64_t n_control = 0;

    set(o, "usable", json_boolean(s->model != NULL));
    set(o, "special", specials_json(s));
    if (!s->model) {
        set_text(o, "reason", s->vocab_error.text);
        json_decref(eog);
        return o;
    }
    for (int32_t id = 0; id < ew_n_vocab(s->model); id++) {
        n_control += ew_token_is_control(s->model, id);
        if (ew_token_is_eog(s->model, id)) json_array_append_new(eog, token_json(s, id));
    }
    set_text(o, "kind", ew_tokenizer_name(s->model));
    set_int(o, "tokens", (uint64_t)ew_n_vocab(s->model));
    set_int(o, "control_tokens", n_control);
    set(o, "adds_bos", json_boolean(ew_model_adds_bos(s->model)));
    set(o, "bos", json_integer(ew_token_bos(s->model)));
    set(o, "eos", json_integer(ew_token_eos(s->model)));
    set(o, "ends_generation", eog);
    return o;
}

static json_t *template_json(const show *s) {
    ew_error err = {0};
    ew_chat *chat = NULL;
    json_t *o;
    str t;

    if (!show_template(s, &t)) return json_null();
    o = json_object();
    if (s->model && ew_chat_new(&chat, s->model, NULL, &err)) set_text(o, "error", err.text);
    set(o, "usable", json_boolean(chat != NULL));
    set(o, "reasoning", json_boolean(chat && ew_chat_thinks(chat)));
    ew_chat_free(chat);
    set(o, "text", json_bytes(t.p, t.n));
    return o;
}

static json_t *cost_json(const show *s) {
    json_t *o = json_object(), *accounts = json_object();

    for (int a = 0; a < EW_MEM_COUNT; a++)
        set_int(accounts, ew_account_name((ew_account)a), s->mem[a]);
    set_int(o, "ctx_tokens", s->ctx_tokens);
    set_text(o, "type_k", ew_kv_type_name(s->args->engine.type_k));
    set_text(o, "type_v", ew_kv_type_name(s->args->engine.type_v));
    set(o, "accounts", accounts);
    set_int(o, "sum_bytes", s->mem_sum);
    set_int(o, "kv_bytes_per_token", s->kv_token);
    set_int(o, "parameters_active", s->n_param_active);
    set_int(o, "weight_bytes_per_token", s->active_bytes);
    if (s->n_expert) {
        set_int(o, "experts", s->n_expert);
        set_int(o, "experts_used", s->n_expert_used);
    }
    if (s->mem_limit) {
        set_int(o, "limit_bytes", s->mem_limit);
        set(o, "fits", json_boolean(s->mem_sum <= s->mem_limit));
    }
    return o;
}

int show_json(const show *s) {
    json_t *o = json_object();

    set_text(o, "file", s->path);
    set_int(o, "file_bytes", ew_file_bytes(s->file));
    set_int(o, "gguf_version", ew_file_version(s->file));
    set_int(o, "parts", ew_file_n_part(s->file));
    set_text(o, "architecture", s->arch);
    set_text(o, "name", s->name);
    set_text(o, "file_type", s->file_type);
    set_int(o, "context_trained", s->ctx_train);
    set(o, "runs", json_boolean(s->runs));
    if (!s->runs) set_text(o, "reason", s->check_error.text);
    set(o, "tensors", tensors_json(s));
    set(o, "tokenizer", tokenizer_json(s));
    set(o, "chat_template", template_json(s));
    if (s->has_cost) set(o, "memory", cost_json(s));
    set(o, "metadata", metadata_json(s));
    return print_json(o);
}
