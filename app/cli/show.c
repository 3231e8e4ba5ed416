/* SPDX-License-Identifier: MIT
 *
 * edgewise show: what is in a GGUF file, whether it runs here, and what that would cost. Works on
 * every well-formed file; what can't be said of an unknown architecture is left out. */
#include "cli/show.h"

#include "base/mem.h"

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/pick.h"
#include "cli/print.h"
#include "cli/term.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const option show_options[] = {
    {"--tensors", NULL, "list every tensor", OPT_FLAG, offsetof(show_args, tensors), 0, 0, NULL},
    {"--metadata", NULL, "list every metadata key; long arrays are abbreviated", OPT_FLAG,
     offsetof(show_args, metadata), 0, 0, NULL},
    {"--template", NULL, "print the chat template and nothing else", OPT_FLAG,
     offsetof(show_args, chat_template), 0, 0, NULL},
    {"--json", NULL, "write JSON", OPT_FLAG, offsetof(show_args, json), 0, 0, NULL},
};

/* ---- gathering ------------------------------------------------------------------------------ */

static void copy_text(const ew_file *f, const char *key, char *out, size_t cap) {
    ew_meta m;

    out[0] = 0;
    if (ew_file_find_meta(f, key, &m) && m.kind == EW_META_STRING)
        snprintf(out, cap, "%.*s", (int)(m.text_n < cap ? m.text_n : cap), m.text);
}

/* A whole number >= 0 whatever its width and sign in the file. */
static bool meta_uint(const ew_meta *m, uint64_t *out) {
    if (m->kind == EW_META_UINT) *out = m->u;
    if (m->kind == EW_META_INT && m->i >= 0) *out = (uint64_t)m->i;
    return m->kind == EW_META_UINT || (m->kind == EW_META_INT && m->i >= 0);
}

static uint32_t find_ctx_train(const show *s) {
    char key[128];
    ew_meta m;
    uint64_t v;

    snprintf(key, sizeof key, "%s.context_length", s->arch);
    if (!ew_file_find_meta(s->file, key, &m) || !meta_uint(&m, &v) || v > UINT32_MAX) return 0;
    return (uint32_t)v;
}

bool show_template(const show *s, str *out) {
    ew_meta m;

    if (!ew_file_find_meta(s->file, "tokenizer.chat_template", &m) || m.kind != EW_META_STRING)
        return false;
    *out = (str){m.text, m.text_n};
    return true;
}

bool show_special(const ew_meta *meta, str *name, int64_t *id) {
    const str prefix = str_of("tokenizer.ggml."), suffix = str_of("_token_id");
    const str key = str_of(meta->key);
    uint64_t v;

    if (key.n <= prefix.n + suffix.n || !str_starts(key, prefix)) return false;
    if (memcmp(key.p + key.n - suffix.n, suffix.p, suffix.n) != 0) return false;
    if (!meta_uint(meta, &v) || v > INT32_MAX) return false;
    *name = (str){key.p + prefix.n, key.n - prefix.n - suffix.n};
    *id = (int64_t)v;
    return true;
}

/* From the metadata, so that it works without a usable tokenizer. */
bool show_token_name(const show *s, int64_t id, str *out) {
    ew_meta m;

    if (id < 0 || !ew_file_meta_elem(s->file, "tokenizer.ggml.tokens", (uint64_t)id, &m))
        return false;
    *out = (str){m.text, m.text_n};
    return m.kind == EW_META_STRING;
}

static void take_cost(show *s) {
    ew_session_options o;
    ew_session_cost c;
    ew_model_info info = {.size = sizeof info};
    ew_machine machine = {.size = sizeof machine};

    setup_session_options(&s->args->engine, &o);
    if (!s->model || !s->runs || ew_session_estimate(s->model, &o, &c, NULL)) return;
    s->ctx_tokens = o.ctx_tokens;
    if (!s->ctx_tokens) s->ctx_tokens = s->ctx_train && s->ctx_train < 8192 ? s->ctx_train : 8192;
    for (int a = 0; a < EW_MEM_COUNT; a++) s->mem[a] = ew_engine_memory(s->engine, (ew_account)a);
    s->has_cost = true;
    ew_model_info_get(s->model, &info);
    s->n_expert = info.n_expert;
    s->n_expert_used = info.n_expert_used;
    s->n_param_active = info.n_param_active;
    s->active_bytes = info.active_bytes;
    s->mem[EW_MEM_WEIGHTS] = info.load_weights;
    s->mem[EW_MEM_PACKED] = info.load_packed;
    s->mem[EW_MEM_KV] = c.kv_full;
    s->mem[EW_MEM_SCRATCH] += c.scratch + c.sampler; /* a session seldom comes without one */
    for (int a = 0; a < EW_MEM_COUNT; a++) s->mem_sum += s->mem[a];
    s->kv_token = c.kv_token;
    ew_machine_read(&machine);
    s->mem_limit = s->args->engine.memory_limit;
    if (s->mem_limit == MEMORY_AUTO) s->mem_limit = memory_limit_auto(&machine);
}

/* Only a file that can't be read fails: whatever else is missing is said where it belongs. */
static ew_status gather(show *s, ew_error *err) {
    ew_engine_options eo;
    ew_model_options mo;
    ew_status rc = ew_file_open(&s->file, s->path, err);

    if (rc) return rc;
    copy_text(s->file, "general.architecture", s->arch, sizeof s->arch);
    copy_text(s->file, "general.name", s->name, sizeof s->name);
    s->types = weight_types_of(s->file);
    s->ctx_train = find_ctx_train(s);
    s->runs = ew_file_check(s->file, &s->check_error) == EW_OK;
    ew_engine_defaults(&eo);
    eo.n_threads = (int32_t)s->args->engine.threads; /* each has scratch of its own */
    eo.cpu_mask = s->args->engine.cpu_mask;
    rc = ew_engine_new(&s->engine, &eo, err);
    if (rc) return rc;
    setup_model_options(&s->args->engine, &mo);
    mo.vocab_only = true;
    if (ew_model_open(&s->model, s->engine, s->path, &mo, &s->vocab_error) == EW_OK) {
        ew_model_info info = {.size = sizeof info};

        ew_model_info_get(s->model, &info);
        snprintf(s->file_type, sizeof s->file_type, "%s", info.file_type);
    }
    take_cost(s);
    return EW_OK;
}

static void show_fini(show *s) {
    ew_model_close(s->model);
    ew_engine_free(s->engine);
    ew_file_close(s->file);
}

/* ---- values --------------------------------------------------------------------------------- */

/* Strings are cut between characters. */
static void add_string(strbuf *out, const char *p, size_t n) {
    size_t shown = n;

    if (n > SHOW_TEXT) shown = utf8_whole(p, SHOW_TEXT);
    strbuf_puts(out, "\"");
    escape_bytes(out, p, shown);
    strbuf_puts(out, "\"");
    if (shown < n) strbuf_printf(out, "... (%zu bytes)", n);
}

static void add_scalar(strbuf *out, const ew_meta *m) {
    switch (m->kind) {
    case EW_META_UINT:
        strbuf_printf(out, "%" PRIu64, m->u);
        break;
    case EW_META_INT:
        strbuf_printf(out, "%" PRId64, m->i);
        break;
    case EW_META_FLOAT:
        strbuf_printf(out, "%g", m->f);
        break;
    case EW_META_BOOL:
        strbuf_puts(out, m->u ? "true" : "false");
        break;
    case EW_META_STRING:
        add_string(out, m->text, m->text_n);
        break;
    case EW_META_ARRAY:
        strbuf_puts(out, m->type);
        break;
    }
}

static void add_value(strbuf *out, const ew_file *f, const ew_meta *m) {
    if (m->kind != EW_META_ARRAY) {
        add_scalar(out, m);
        return;
    }
    strbuf_printf(out, "%s, %" PRIu64 ": ", m->type, m->n_elem); /* "array of f32, 512: " */
    for (uint64_t i = 0; i < m->n_elem && i < SHOW_ARRAY; i++) {
        ew_meta e;

        if (!ew_file_meta_elem(f, m->key, i, &e)) break;
        if (i) strbuf_puts(out, ", ");
        add_scalar(out, &e);
    }
    if (m->n_elem > SHOW_ARRAY) strbuf_puts(out, ", ...");
}

/* ---- text ----------------------------------------------------------------------------------- */

static void heading(const char *text) {
    printf("\n%s%s%s\n", term_on(stdout, TERM_BOLD), text, term_on(stdout, TERM_PLAIN));
}

static void line(const char *label, const char *text) {
    printf("  %-18s %s\n", label, text);
}

static void print_value(const char *label, int width, const ew_file *f, const ew_meta *m) {
    strbuf b;

    strbuf_init(&b, 1 << 20);
    add_value(&b, f, m);
    printf("  %-*s %s\n", width, label, b.p && !b.failed ? b.p : "");
    strbuf_fini(&b);
}

static void print_general(const show *s) {
    static const char *const extra[] = {
        "general.author",     "general.organization", "general.license", "general.basename",
        "general.size_label", "general.quantized_by", "general.url"};
    char size[24], n[24];
    ew_meta m;

    printf("  %-18s %s", "file", s->path);
    if (ew_file_n_part(s->file) > 1) printf(" (a set of %u parts)", ew_file_n_part(s->file));
    printf("\n  %-18s %s, GGUF version %u\n", "size", size_text(size, ew_file_bytes(s->file)),
           ew_file_version(s->file));
    line("architecture", s->arch[0] ? s->arch : "not told");
    if (ew_file_find_meta(s->file, "general.name", &m)) print_value("name", 18, s->file, &m);
    if (s->file_type[0]) line("file type", s->file_type);
    line("parameters", count_text(n, s->types.n_elem));
    if (s->n_expert)
        printf("  %-18s %u, a token uses %u of each layer's: %s parameters\n", "experts",
               s->n_expert, s->n_expert_used, count_text(n, s->n_param_active));
    for (size_t i = 0; i < sizeof extra / sizeof *extra; i++)
        if (ew_file_find_meta(s->file, extra[i], &m) && m.kind == EW_META_STRING && m.text_n)
            print_value(extra[i] + strlen("general."), 18, s->file, &m);
    printf("  %-18s %s%s\n", "runs here",
           s->runs ? "yes" : "no: ", s->runs ? "" : s->check_error.text);
}

static void print_architecture(const show *s) {
    const size_t n = strlen(s->arch);
    bool any = false;

    for (size_t i = 0; n && i < ew_file_n_meta(s->file); i++) {
        ew_meta m;

        ew_file_meta(s->file, i, &m);
        if (strncmp(m.key, s->arch, n) != 0 || m.key[n] != '.') continue;
        if (!any) heading("Architecture");
        any = true;
        print_value(m.key + n + 1, 34, s->file, &m);
    }
}

static void print_tensors(const show *s) {
    char size[24], n[24];

    heading("Tensors");
    printf("  %-18s %zu, %s\n", "all", ew_file_n_tensor(s->file),
           size_text(size, s->types.n_bytes));
    for (size_t i = 0; i < s->types.n; i++) {
        const weight_type *t = &s->types.v[i];

        printf("  %-18s %zu, %s parameters, %s (%.1f %%), %.2f bits each\n", t->type, t->n_tensor,
               count_text(n, t->n_elem), size_text(size, t->n_bytes),
               s->types.n_bytes ? 100.0 * (double)t->n_bytes / (double)s->types.n_bytes : 0,
               t->n_elem ? 8.0 * (double)t->n_bytes / (double)t->n_elem : 0);
    }
}

static void print_tensor_list(const show *s) {
    char size[24], shape[96];

    heading("Tensor list");
    for (size_t i = 0; i < ew_file_n_tensor(s->file); i++) {
        ew_tensor_info t;
        int at = 0;

        ew_file_tensor(s->file, i, &t);
        for (uint32_t d = 0; d < t.n_dims && d < 4; d++)
            at += snprintf(shape + at, sizeof shape - (size_t)at, "%s%" PRIu64, d ? " x " : "",
                           t.shape[d]);
        printf("  %-32s %-8s %-20s %10s", t.name, t.type, t.n_dims ? shape : "",
               size_text(size, t.n_bytes));
        if (ew_file_n_part(s->file) > 1) printf("  part %u", t.part + 1);
        putchar('\n');
    }
}

static void print_token(const show *s, const char *label, int64_t id) {
    str name;

    printf("  %-18s %" PRId64, label, id);
    if (show_token_name(s, id, &name)) {
        putchar(' ');
        print_escaped(name.p, name.n, 0);
    }
    putchar('\n');
}

static void print_specials(const show *s) {
    for (size_t i = 0; i < ew_file_n_meta(s->file); i++) {
        ew_meta m;
        str name;
        int64_t id;
        char label[64];

        ew_file_meta(s->file, i, &m);
        if (!show_special(&m, &name, &id)) continue;
        snprintf(label, sizeof label, "%.*s", (int)(name.n < 60 ? name.n : 60), name.p);
        print_token(s, label, id);
    }
}

static void print_eog(const show *s) {
    size_t n = 0;

    for (int32_t id = 0; id < ew_n_vocab(s->model) && n < SHOW_EOG_MAX; id++)
        if (ew_token_is_eog(s->model, id)) print_token(s, n++ ? "" : "ends generation", id);
}

static void print_tokenizer(const show *s) {
    ew_meta m;
    int32_t n_control = 0;

    heading("Tokenizer");
    if (!s->model) {
        if (ew_file_find_meta(s->file, "tokenizer.ggml.model", &m))
            print_value("kind", 18, s->file, &m);
        if (ew_file_find_meta(s->file, "tokenizer.ggml.tokens", &m) && m.kind == EW_META_ARRAY)
            printf("  %-18s %" PRIu64 "\n", "tokens", m.n_elem);
        printf("  %-18s no: %s\n", "usable", s->vocab_error.text);
        print_specials(s);
        return;
    }
    for (int32_t id = 0; id < ew_n_vocab(s->model); id++)
        n_control += ew_token_is_control(s->model, id);
    line("kind", ew_tokenizer_name(s->model));
    printf("  %-18s %d, %d of them control tokens\n", "tokens", ew_n_vocab(s->model), n_control);
    line("adds bos", ew_model_adds_bos(s->model) ? "yes" : "no");
    print_specials(s);
    print_eog(s);
}

static void print_template(const show *s) {
    ew_error err = {0};
    ew_chat *chat = NULL;
    str t;

    if (!show_template(s, &t)) return;
    heading("Chat template");
    if (!s->model)
        line("usable", "no: the tokenizer isn't");
    else if (ew_chat_new(&chat, s->model, NULL, &err))
        printf("  %-18s no: %s\n", "usable", err.text);
    else
        line("usable", ew_chat_thinks(chat) ? "yes, with reasoning" : "yes");
    ew_chat_free(chat);
    printf("  %-18s %zu bytes (--template prints it)\n", "text", t.n);
}

static void print_cost(const show *s) {
    char size[24], limit[24], label[64];
    const engine_args *e = &s->args->engine;

    heading("Memory of a session");
    for (int a = 0; a < EW_MEM_COUNT; a++) {
        if (!s->mem[a]) continue;
        if (a == EW_MEM_KV)
            snprintf(label, sizeof label, " at %u tokens, %s/%s", s->ctx_tokens,
                     ew_kv_type_name(e->type_k), ew_kv_type_name(e->type_v));
        printf("  %-18s %10s%s\n", ew_account_name((ew_account)a), size_text(size, s->mem[a]),
               a == EW_MEM_KV ? label : "");
    }
    printf("  %-18s %10s", "sum", size_text(size, s->mem_sum));
    if (s->mem_limit)
        printf(", %s what this machine has to give (%s)",
               s->mem_sum <= s->mem_limit ? "within" : "more than", size_text(limit, s->mem_limit));
    printf("\n  %-18s %10s\n", "a token adds", size_text(size, s->kv_token));
    printf("  %-18s %10s of weights\n", "a token reads", size_text(size, s->active_bytes));
}

static void print_metadata(const show *s) {
    heading("Metadata");
    for (size_t i = 0; i < ew_file_n_meta(s->file); i++) {
        ew_meta m;

        ew_file_meta(s->file, i, &m);
        print_value(m.key, 42, s->file, &m);
    }
}

static int print_all(const show *s) {
    print_general(s);
    print_architecture(s);
    print_tensors(s);
    print_tokenizer(s);
    print_template(s);
    if (s->has_cost) print_cost(s);
    if (s->args->metadata) print_metadata(s);
    if (s->args->tensors) print_tensor_list(s);
    return EXIT_OK;
}

static int print_template_alone(const show *s) {
    str t;

    if (!show_template(s, &t)) return say_failure("%s: has no chat template", s->path);
    fwrite(t.p, 1, t.n, stdout);
    if (t.n == 0 || t.p[t.n - 1] != '\n') putchar('\n');
    return EXIT_OK;
}

int cmd_show(int argc, char **argv) {
    show_args a = {0};
    const option_group groups[] = {
        {"Options", show_options, sizeof show_options / sizeof show_options[0], &a},
        engine_args_group(&a.engine)};
    const usage u = {.command = "show",
                     .synopsis = "FILE",
                     .about = "Shows what is in a GGUF file, whether it runs here, and what a "
                              "session would cost in memory.",
                     .examples = "edgewise show model.gguf -c 32768 --cache-type-k q8_0\n"
                                 "edgewise show model.gguf --template",
                     .groups = groups,
                     .n_group = 2,
                     .min_args = 1,
                     .max_args = 1};
    show s = {.args = &a};
    ew_error err = {0};
    char *path;
    int status;

    engine_args_defaults(&a.engine);
    if (!options_parse(&u, &argc, argv, &status)) return status;
    path = pick_model(argv[0], false, &status);
    if (!path) return status;
    s.path = path;
    if (gather(&s, &err))
        status = say_error(&err);
    else if (a.chat_template)
        status = print_template_alone(&s);
    else
        status = a.json ? show_json(&s) : print_all(&s);
    show_fini(&s);
    mem_free(path);
    return status;
}
