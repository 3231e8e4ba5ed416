/* SPDX-License-Identifier: MIT
 *
 * edgewise render: runs a chat template on a conversation and prints what the model would see. */
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/pick.h"
#include "cli/print.h"
#include "cli/term.h"

#include <stdio.h>
#include <string.h>

enum {
    TEMPLATE_MAX = 4 << 20 /* bytes */
};

typedef struct {
    const char *context, *variant, *now;
} render_args;

static const option render_options[] = {
    {"--context", "FILE",
     "the template's variables as a JSON object: messages, tools,\n"
     "add_generation_prompt, enable_thinking, ... (default: standard input)",
     OPT_TEXT, offsetof(render_args, context), 0, 0, NULL},
    {"--variant", "NAME", "the model's template of that name (tokenizer.chat_template.NAME)",
     OPT_TEXT, offsetof(render_args, variant), 0, 0, NULL},
    {"--now", "TIME", "what the template takes for the time: \"2026-01-15 12:00:00\"", OPT_TEXT,
     offsetof(render_args, now), 0, 0, NULL},
};

/* ---- the template --------------------------------------------------------------------------- */

/* A file that can be read and is no GGUF. */
static bool is_template_file(const char *path) {
    FILE *f = fopen(path, "rb");
    char magic[4] = {0};
    bool is_gguf;

    if (!f) return false;
    is_gguf = fread(magic, 1, sizeof magic, f) == sizeof magic && memcmp(magic, "GGUF", 4) == 0;
    fclose(f);
    return !is_gguf;
}

/* "bos_token" and "eos_token" as the model has them, unless the context says otherwise. */
static void add_token(json_t *context, const ew_file *f, const char *variable, const char *key) {
    ew_meta m, name;

    if (json_object_get(context, variable) || !ew_file_find_meta(f, key, &m)) return;
    if (!ew_file_meta_elem(f, "tokenizer.ggml.tokens", m.u, &name)) return;
    if (name.kind != EW_META_STRING) return;
    json_object_set_new(context, variable, json_stringn(name.text, name.text_n));
}

static ew_status model_template(ew_template **out, const char *path, const char *variant,
                                json_t *context, ew_error *err) {
    char key[160];
    ew_file *f;
    ew_meta m;
    ew_status rc;

    snprintf(key, sizeof key, "tokenizer.chat_template%s%.100s", variant ? "." : "",
             variant ? variant : "");
    rc = ew_file_open(&f, path, err);
    if (rc) return rc;
    if (!ew_file_find_meta(f, key, &m) || m.kind != EW_META_STRING)
        rc = fail(err, EW_EINVAL, "%s: has no %s", path, key);
    else
        rc = ew_template_new(out, m.text, m.text_n, path, err);
    add_token(context, f, "bos_token", "tokenizer.ggml.bos_token_id");
    add_token(context, f, "eos_token", "tokenizer.ggml.eos_token_id");
    ew_file_close(f);
    return rc;
}

static ew_status file_template(ew_template **out, const char *path, ew_error *err) {
    char *text;
    size_t n;
    ew_status rc;

    rc = file_read(&text, &n, path, TEMPLATE_MAX, err);
    if (rc) return rc;
    rc = ew_template_new(out, text, n, path, err);
    mem_free(text);
    return rc;
}

static int open_template(ew_template **out, const char *name, const char *variant,
                         json_t *context) {
    ew_error err = {0};
    int status;
    char *path;

    *out = NULL;
    if (is_template_file(name)) return file_template(out, name, &err) ? say_error(&err) : EXIT_OK;
    path = pick_model(name, false, &status);
    if (!path) return status;
    status = model_template(out, path, variant, context, &err) ? say_error(&err) : EXIT_OK;
    mem_free(path);
    return status;
}

/* ---- the context ---------------------------------------------------------------------------- */

static ew_status read_context(json_t **out, const char *path, ew_error *err) {
    json_error_t where;
    char *text;
    size_t n;
    ew_status rc;

    rc = input_file(&text, &n, path ? path : "-", err);
    if (rc) return rc;
    *out = json_loadb(text, n, JSON_ALLOW_NUL, &where);
    mem_free(text);
    if (!*out)
        return fail(err, EW_EFORMAT, "%s:%d:%d: %s", path ? path : "standard input", where.line,
                    where.column, where.text);
    if (json_is_object(*out)) return EW_OK;
    return fail(err, EW_EFORMAT, "%s: is no JSON object", path ? path : "standard input");
}

/* ---- the command ---------------------------------------------------------------------------- */

static int print_rendered(const ew_template *t, const json_t *context, int64_t clock_s) {
    size_t json_n, n = 0;
    char *json = json_dump_text(context, JSON_COMPACT, &json_n), *text = NULL;
    ew_error err = {0};
    int status = EXIT_OK;

    if (!json) {
        status = say_no_memory();
    } else if (ew_template_render(t, json, json_n, clock_s, &text, &n, &err)) {
        status = say_error(&err);
    } else {
        fwrite(text, 1, n, stdout);
        if (term_is_tty(stdout) && n && text[n - 1] != '\n') putchar('\n');
    }
    ew_free(text);
    mem_free(json);
    return status;
}

int cmd_render(int argc, char **argv) {
    render_args a = {0};
    const option_group group = {"Options", render_options,
                                sizeof render_options / sizeof render_options[0], &a};
    const usage u = {.command = "render",
                     .synopsis = "TEMPLATE.jinja|MODEL",
                     .about = "Runs a chat template, or a model's, on a conversation and prints "
                              "the result, byte for byte.",
                     .examples = "edgewise render model.gguf --context conversation.json\n"
                                 "edgewise render chat.jinja <conversation.json",
                     .groups = &group,
                     .n_group = 1,
                     .min_args = 1,
                     .max_args = 1};
    ew_template *t = NULL;
    json_t *context = NULL;
    ew_error err = {0};
    int64_t clock_s;
    int status = EXIT_OK;

    if (!options_parse(&u, &argc, argv, &status)) return status;
    if (!input_clock(a.now, &clock_s))
        return usage_error(&u, "--now takes a time such as \"2026-01-15 12:00:00\"");
    if (read_context(&context, a.context, &err)) status = say_error(&err);
    if (context && !status) status = open_template(&t, argv[0], a.variant, context);
    if (t) status = print_rendered(t, context, clock_s);
    json_decref(context);
    ew_template_free(t);
    return status;
}
