/* SPDX-License-Identifier: MIT
 *
 * edgewise tokenize: text to token ids, and back. Needs the vocabulary alone, so it works on files
 * whose architecture can't be run. */
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/print.h"
#include "cli/setup.h"
#include "cli/term.h"

#include <stdio.h>

typedef struct {
    bool ids_only, special, no_bos, detokenize, json;
} tokenize_args;

static const option tokenize_options[] = {
    {"--ids", NULL, "print the ids alone, as one JSON array", OPT_FLAG,
     offsetof(tokenize_args, ids_only), 0, 0, NULL},
    {"--special --parse-special", NULL,
     "<|im_end|> and its like in the text are those tokens, not their\n"
     "letters; with --detokenize: write control tokens out by name",
     OPT_FLAG, offsetof(tokenize_args, special), 0, 0, NULL},
    {"--no-bos", NULL, "add no token at the beginning or the end", OPT_FLAG,
     offsetof(tokenize_args, no_bos), 0, 0, NULL},
    {"--detokenize", NULL,
     "the other way: ids (a JSON array, or numbers with spaces between)\n"
     "give the text, byte for byte, without a newline",
     OPT_FLAG, offsetof(tokenize_args, detokenize), 0, 0, NULL},
    {"--json", NULL, "everything as a JSON object", OPT_FLAG, offsetof(tokenize_args, json), 0, 0,
     NULL},
};

static void print_ids(const int32_t *ids, size_t n) {
    putchar('[');
    for (size_t i = 0; i < n; i++) printf("%s%d", i ? ", " : "", ids[i]);
    fputs("]\n", stdout);
}

/* Control tokens have no text; their name stands without quotes. */
static void print_tokens(const ew_model *m, const int32_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const bool is_control = ew_token_is_control(m, ids[i]);
        size_t len = 0;
        const char *p =
            is_control ? ew_token_name(m, ids[i], &len) : ew_token_bytes(m, ids[i], &len);

        printf("%7d  ", ids[i]);
        print_escaped(p, len, is_control ? 0 : '\'');
        putchar('\n');
    }
}

static json_t *token_json(const ew_model *m, int32_t id) {
    size_t piece_n = 0, name_n = 0;
    const char *piece = ew_token_bytes(m, id, &piece_n), *name = ew_token_name(m, id, &name_n);

    return json_pack("{s:i, s:o, s:o, s:b, s:b}", "id", id, "piece", json_bytes(piece, piece_n),
                     "name", json_bytes(name, name_n), "control", ew_token_is_control(m, id), "eog",
                     ew_token_is_eog(m, id));
}

static int print_tokens_json(const ew_model *m, const int32_t *ids, size_t n) {
    json_t *tokens = json_array();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(tokens, token_json(m, ids[i]))) {
            json_decref(tokens);
            return say_no_memory();
        }
    return print_json(json_pack("{s:s, s:I, s:o}", "tokenizer", ew_tokenizer_name(m), "n_tokens",
                                (json_int_t)n, "tokens", tokens));
}

static int tokenize_text(const ew_model *m, const tokenize_args *a, const char *text, size_t n) {
    int32_t *ids = NULL;
    ew_error err = {0};
    size_t n_ids = 0;
    int status = EXIT_OK;

    if (ew_tokenize(m, text, n, input_flags(a->no_bos, a->special), &ids, &n_ids, &err))
        return say_error(&err);
    if (a->json)
        status = print_tokens_json(m, ids, n_ids);
    else if (a->ids_only)
        print_ids(ids, n_ids);
    else
        print_tokens(m, ids, n_ids);
    ew_free(ids);
    return status;
}

static int detokenize(const ew_model *m, const tokenize_args *a, const char *list, size_t n) {
    int32_t *ids = NULL;
    char *text = NULL;
    size_t n_ids = 0, text_n = 0;
    ew_error err = {0};
    int status = EXIT_OK;

    if (input_ids(&ids, &n_ids, list, n, &err) ||
        ew_detokenize(m, ids, n_ids, a->special, &text, &text_n, &err))
        status = say_error(&err);
    else if (a->json)
        status = print_json(json_pack("{s:o}", "text", json_bytes(text, text_n)));
    else
        fwrite(text, 1, text_n, stdout);
    mem_free(ids);
    ew_free(text);
    return status;
}

int cmd_tokenize(int argc, char **argv) {
    tokenize_args a = {0};
    engine_args engine_a;
    const option_group group = {"Options", tokenize_options,
                                sizeof tokenize_options / sizeof tokenize_options[0], &a};
    const usage u = {.command = "tokenize",
                     .synopsis = "FILE [TEXT]",
                     .about = "Shows the tokens of TEXT, or of standard input.",
                     .examples = "edgewise tokenize model.gguf 'Once upon a time'\n"
                                 "edgewise tokenize model.gguf --ids <book.txt\n"
                                 "edgewise tokenize model.gguf --detokenize '[1, 403, 407]'",
                     .groups = &group,
                     .n_group = 1,
                     .min_args = 1,
                     .max_args = 2};
    ew_engine *engine = NULL;
    ew_model *model = NULL;
    ew_error err = {0};
    char *text = NULL;
    size_t n = 0;
    int status;

    if (!options_parse(&u, &argc, argv, &status)) return status;
    engine_args_defaults(&engine_a);
    engine_a.threads = 1; /* nothing here is worth a second */
    status = setup_open(&engine_a, argv[0], true, &engine, &model);
    if (status) return status;
    if (input_text(&text, &n, argv[1], &err))
        status = say_error(&err);
    else
        status = a.detokenize ? detokenize(model, &a, text, n) : tokenize_text(model, &a, text, n);
    mem_free(text);
    setup_close(engine, model);
    return status;
}
