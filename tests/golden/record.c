/* SPDX-License-Identifier: MIT
 *
 * Records what llama.cpp makes of a GGUF file: the oracle of the golden tests. Built and run by
 * record.sh, never by `make`: it links the reference's shared libraries through their C headers.
 *
 *   record BACKEND.so PROMPTS.json MODEL.gguf [EXPANDED.gguf]
 *
 * BACKEND.so is one of the reference's CPU libraries; record.sh takes the one for AVX2, so that the
 * numbers are the same on every machine that has it (other instruction sets sum in another order,
 * and round activations of F16 and BF16 weights differently).
 *
 * PROMPTS.json: [{"ids": [...]} or {"text": "..."}, with "n": greedy tokens]. Prints
 *   {"fnv1a": "hash of the file", "rows": [RUN...], "float": [RUN...]}
 * where rows is the file as it is and float (when EXPANDED.gguf is given, a file to write) is the
 * same with every tensor expanded to F32 by the reference's own decoders, so that no activation is
 * rounded. A RUN is {"prompt_ids", "top": [[id, logit]...], "pick": [[id, logit]...], "greedy_ids",
 * "gap"}: the largest logits after the prompt, logits of ids spread over the vocabulary, the
 * continuation by argmax, and the distance between the two best logits at each of its steps.
 * CPU, one thread, F32 KV cache, flash attention off, the whole prompt in one batch. */
#include "ggml-backend.h"
#include "gguf.h"
#include "llama.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_TOP = 20,  /* largest logits recorded */
    N_PICK = 16, /* logits recorded at even distances over the vocabulary */
    N_CTX = 1024,
    MAX_PROMPT = 900
};

static void die(const char *what, const char *name) {
    fprintf(stderr, "record: %s: %s\n", what, name);
    exit(1);
}

static void quiet(enum ggml_log_level level, const char *text, void *ctx) {
    (void)ctx;
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

/* Writes `to`: the metadata of `from` and its tensors as F32. */
static void expand(const char *from, const char *to) {
    struct ggml_context *src_ctx = NULL, *ctx;
    struct gguf_context *src, *dst;
    const struct gguf_init_params params = {.no_alloc = false, .ctx = &src_ctx};
    struct ggml_init_params room = {.no_alloc = false};

    src = gguf_init_from_file(from, params);
    if (!src) die("can't read", from);
    for (struct ggml_tensor *t = ggml_get_first_tensor(src_ctx); t;
         t = ggml_get_next_tensor(src_ctx, t))
        room.mem_size += (size_t)ggml_nelements(t) * 4 + ggml_tensor_overhead() + 64;
    ctx = ggml_init(room);
    dst = gguf_init_empty();
    gguf_set_kv(dst, src);
    for (int64_t i = 0; i < gguf_get_n_tensors(src); i++) {
        struct ggml_tensor *a = ggml_get_tensor(src_ctx, gguf_get_tensor_name(src, i));
        struct ggml_tensor *b = ggml_new_tensor(ctx, GGML_TYPE_F32, ggml_n_dims(a), a->ne);

        ggml_set_name(b, a->name);
        if (a->type == GGML_TYPE_F32)
            memcpy(b->data, a->data, ggml_nbytes(a));
        else
            ggml_get_type_traits(a->type)->to_float(a->data, b->data, ggml_nelements(a));
        gguf_add_tensor(dst, b);
    }
    gguf_set_val_u32(dst, "general.file_type", 0);
    if (!gguf_write_to_file(dst, to, false)) die("can't write", to);
    gguf_free(dst);
    gguf_free(src);
    ggml_free(ctx);
    ggml_free(src_ctx);
}

static json_t *file_hash(const char *path) {
    FILE *f = fopen(path, "rb");
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a, 64 bit */
    char text[32];

    if (!f) die("can't read", path);
    for (int c; (c = getc(f)) != EOF;) h = (h ^ (uint64_t)c) * 0x100000001B3u;
    fclose(f);
    snprintf(text, sizeof text, "%016" PRIx64, h);
    return json_string(text);
}

static json_t *pair(int id, const float *logits) {
    char text[32];

    /* Six decimals; a double would be printed with seventeen digits of noise. */
    snprintf(text, sizeof text, "%.6f", (double)logits[id]);
    return json_pack("[i, f]", id, strtod(text, NULL));
}

static int best(const float *logits, int n, const char *taken) {
    int b = -1;

    for (int i = 0; i < n; i++)
        if (!(taken && taken[i]) && (b < 0 || logits[i] > logits[b])) b = i;
    return b;
}

static json_t *top(const float *logits, int n) {
    json_t *out = json_array();
    char *taken = calloc((size_t)n, 1);

    for (int k = 0; k < N_TOP && k < n; k++) {
        const int b = best(logits, n, taken);

        taken[b] = 1;
        json_array_append_new(out, pair(b, logits));
    }
    free(taken);
    return out;
}

static json_t *pick(const float *logits, int n) {
    json_t *out = json_array();

    for (int k = 0; k < N_PICK && k < n; k++)
        json_array_append_new(out, pair((int)((long long)k * n / N_PICK), logits));
    return out;
}

static int prompt_ids(const struct llama_vocab *v, json_t *spec, llama_token *ids) {
    json_t *list = json_object_get(spec, "ids");
    const char *text = json_string_value(json_object_get(spec, "text"));
    int n = 0;

    if (text) n = llama_tokenize(v, text, (int)strlen(text), ids, MAX_PROMPT, true, true);
    for (; !text && n < (int)json_array_size(list) && n < MAX_PROMPT; n++)
        ids[n] = (llama_token)json_integer_value(json_array_get(list, (size_t)n));
    if (n <= 0) die("no tokens in prompt", text ? text : "ids");
    return n;
}

static json_t *run(struct llama_model *m, json_t *spec) {
    const struct llama_vocab *v = llama_model_get_vocab(m);
    const int n_vocab = llama_vocab_n_tokens(v);
    const int n_greedy = (int)json_integer_value(json_object_get(spec, "n"));
    struct llama_context_params cp = llama_context_default_params();
    struct llama_context *c;
    llama_token ids[MAX_PROMPT];
    int n = prompt_ids(v, spec, ids);
    json_t *out = json_object(), *prompt = json_array(), *greedy = json_array(),
           *gap = json_array();

    cp.n_ctx = N_CTX;
    cp.n_batch = cp.n_ubatch = N_CTX;
    cp.n_threads = cp.n_threads_batch = 1;
    cp.type_k = cp.type_v = GGML_TYPE_F32;
    cp.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    c = llama_init_from_model(m, cp);
    if (!c) die("no context", "llama_init_from_model");
    for (int i = 0; i < n; i++) json_array_append_new(prompt, json_integer(ids[i]));
    for (int step = 0; step < n_greedy; step++) {
        const float *logits;
        char *taken = calloc((size_t)n_vocab, 1), text[32];
        int first, second;

        if (llama_decode(c, llama_batch_get_one(ids, n))) die("decode failed", "llama_decode");
        logits = llama_get_logits_ith(c, -1);
        if (step == 0) {
            json_object_set_new(out, "top", top(logits, n_vocab));
            json_object_set_new(out, "pick", pick(logits, n_vocab));
        }
        first = best(logits, n_vocab, NULL);
        taken[first] = 1;
        second = best(logits, n_vocab, taken);
        free(taken);
        snprintf(text, sizeof text, "%.6f", (double)(logits[first] - logits[second]));
        json_array_append_new(greedy, json_integer(first));
        json_array_append_new(gap, json_real(strtod(text, NULL)));
        ids[0] = first;
        n = 1;
    }
    llama_free(c);
    json_object_set_new(out, "prompt_ids", prompt);
    json_object_set_new(out, "greedy_ids", greedy);
    json_object_set_new(out, "gap", gap);
    return out;
}

static json_t *runs(const char *path, json_t *prompts) {
    struct llama_model_params mp = llama_model_default_params();
    struct llama_model *m;
    json_t *out = json_array();

    mp.n_gpu_layers = 0;
    m = llama_model_load_from_file(path, mp);
    if (!m) die("can't load", path);
    for (size_t i = 0; i < json_array_size(prompts); i++)
        json_array_append_new(out, run(m, json_array_get(prompts, i)));
    llama_model_free(m);
    return out;
}

int main(int argc, char **argv) {
    json_error_t err;
    json_t *prompts, *out = json_object();

    if (argc < 4) die("usage", "record BACKEND.so PROMPTS.json MODEL.gguf [EXPANDED.gguf]");
    prompts = json_load_file(argv[2], 0, &err);
    if (!prompts) die(argv[2], err.text);
    llama_log_set(quiet, NULL);
    if (!ggml_backend_load(argv[1])) die("can't load", argv[1]);
    llama_backend_init();
    json_object_set_new(out, "fnv1a", file_hash(argv[3]));
    json_object_set_new(out, "rows", runs(argv[3], prompts));
    if (argc > 4) {
        expand(argv[3], argv[4]);
        json_object_set_new(out, "float", runs(argv[4], prompts));
    }
    json_dumpf(out, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(out);
    json_decref(prompts);
    llama_backend_free();
    return 0;
}
