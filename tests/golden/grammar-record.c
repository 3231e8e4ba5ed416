/* SPDX-License-Identifier: MIT
 *
 * Writes tests/golden/grammar.json: for each grammar and text of grammar-cases.json, the tokens
 * that llama.cpp's grammar sampler allows before each token of the text, until one is not allowed.
 * Built and run by grammar-record.sh. usage: grammar-record VOCAB.gguf (a scratch file) CASES.json
 * < TOKENS.json > grammar.json */
#include "gguf.h"
#include "llama.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct llama_model *model;
static int n_vocab;

/* Tokens as the tests have them: 256 bytes, </s>, <mark>, and texts. */
static void make_vocab(const char *path, const json_t *texts) {
    struct gguf_context *g = gguf_init_empty();
    const char **names;
    float *scores;
    int32_t *types;
    json_t *text;
    size_t i;

    n_vocab = 258 + (int)json_array_size(texts);
    names = calloc((size_t)n_vocab, sizeof *names);
    scores = calloc((size_t)n_vocab, sizeof *scores);
    types = calloc((size_t)n_vocab, sizeof *types);
    for (int b = 0; b < 256; b++) {
        char *name = malloc(8);

        snprintf(name, 8, "<0x%02X>", (unsigned)b);
        names[b] = name;
        types[b] = 6;
    }
    names[256] = "</s>";
    names[257] = "<mark>";
    types[256] = types[257] = 3;
    json_array_foreach(texts, i, text) {
        names[258 + i] = json_string_value(text);
        types[258 + i] = 4; /* user-defined: the text as it stands */
    }
    gguf_set_val_str(g, "general.architecture", "llama");
    gguf_set_val_str(g, "tokenizer.ggml.model", "llama");
    gguf_set_arr_str(g, "tokenizer.ggml.tokens", names, (size_t)n_vocab);
    gguf_set_arr_data(g, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores, (size_t)n_vocab);
    gguf_set_arr_data(g, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types, (size_t)n_vocab);
    gguf_set_val_u32(g, "tokenizer.ggml.eos_token_id", 256);
    gguf_set_val_bool(g, "tokenizer.ggml.add_space_prefix", false);
    gguf_write_to_file(g, path, true);
    gguf_free(g);
}

/* The longest token at p; bytes where there is none. */
static int next_token(const json_t *texts, const char *p) {
    size_t best = 0, i;
    int id = (uint8_t)*p;
    json_t *text;

    json_array_foreach(texts, i, text) {
        const char *s = json_string_value(text);
        const size_t n = strlen(s);

        if (n <= best || strncmp(p, s, n) != 0) continue;
        best = n;
        id = 258 + (int)i;
    }
    return id;
}

static json_t *allowed(struct llama_sampler *s, bool *is_allowed) {
    llama_token_data *data = calloc((size_t)n_vocab, sizeof *data);
    llama_token_data_array a = {data, (size_t)n_vocab, -1, false};
    json_t *ids = json_array();

    for (int i = 0; i < n_vocab; i++) data[i] = (llama_token_data){i, 0, 0};
    llama_sampler_apply(s, &a);
    for (int i = 0; i < n_vocab; i++) {
        is_allowed[i] = a.data[i].logit > -INFINITY;
        if (is_allowed[i]) json_array_append_new(ids, json_integer(i));
    }
    free(data);
    return ids;
}

static json_t *run_text(const char *grammar, const char *text, const json_t *texts) {
    struct llama_sampler *s =
        llama_sampler_init_grammar(llama_model_get_vocab(model), grammar, "root");
    bool *is_allowed = calloc((size_t)n_vocab, sizeof *is_allowed);
    json_t *steps = json_array(), *tokens = json_array();

    if (!s) exit(4);
    for (;;) {
        const int id = *text ? next_token(texts, text) : -1;

        json_array_append_new(steps, allowed(s, is_allowed));
        if (id < 0) break;
        json_array_append_new(tokens, json_integer(id));
        if (!is_allowed[id]) break;
        llama_sampler_accept(s, id);
        text += id < 256 ? 1 : strlen(json_string_value(json_array_get(texts, (size_t)id - 258)));
    }
    llama_sampler_free(s);
    free(is_allowed);
    return json_pack("{s:o,s:o}", "tokens", tokens, "allowed", steps);
}

int main(int argc, char **argv) {
    json_t *cases = argc == 3 ? json_load_file(argv[2], 0, NULL) : NULL;
    json_t *texts = json_loadf(stdin, 0, NULL), *out = json_array(), *c, *text;
    struct llama_model_params p = llama_model_default_params();
    size_t i, k;

    if (!cases || !texts) return 2;
    make_vocab(argv[1], texts);
    llama_backend_init();
    p.vocab_only = true;
    model = llama_model_load_from_file(argv[1], p);
    if (!model) return 3;
    json_array_foreach(cases, i, c) {
        const char *grammar = json_string_value(json_object_get(c, "grammar"));
        json_t *runs = json_array();

        json_array_foreach(json_object_get(c, "texts"), k, text) {
            json_array_append_new(runs, run_text(grammar, json_string_value(text), texts));
        }
        json_array_append_new(out,
                              json_pack("{s:O,s:O,s:o}", "name", json_object_get(c, "name"),
                                        "grammar", json_object_get(c, "grammar"), "runs", runs));
    }
    json_dumpf(out, stdout, JSON_COMPACT);
    putchar('\n');
    llama_model_free(model);
    return 0;
}
