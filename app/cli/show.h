/* SPDX-License-Identifier: MIT
 *
 * What is known of a file: show.c gathers it and writes it for people, show_json.c for programs. */
#ifndef EW_CLI_SHOW_H
#define EW_CLI_SHOW_H

#include "base/str.h"
#include "cli/setup.h"
#include "cli/weights.h"

typedef struct {
    bool tensors, metadata, chat_template, json;
    engine_args engine;
} show_args;

enum {
    SHOW_ARRAY = 8,   /* elements of a long array that are shown */
    SHOW_TEXT = 160,  /* bytes of a long string that are shown */
    SHOW_EOG_MAX = 32 /* end-of-generation ids that are listed */
};

typedef struct {
    const show_args *args;
    const char *path;
    ew_file *file;
    ew_engine *engine;
    ew_model *model; /* vocabulary alone; NULL: vocab_error says why */
    ew_error vocab_error;
    bool runs; /* false: check_error says why not */
    ew_error check_error;
    uint32_t n_expert, n_expert_used; /* 0: dense, or not known */
    uint64_t n_param_active, active_bytes;
    char arch[64], name[256], file_type[32]; /* "" when not told */
    weight_types types;
    uint32_t ctx_train; /* tokens; 0: not told */
    /* What a session would cost; has_cost false where that can't be told. */
    bool has_cost;
    uint32_t ctx_tokens;
    uint64_t mem[EW_MEM_COUNT], mem_sum, kv_token;
    uint64_t mem_limit; /* what the machine has to give; 0: not known */
} show;

int show_json(const show *s);

/* The chat template's text, borrowed from the file; false when there is none. */
bool show_template(const show *s, str *out);

/* The token id under a metadata key such as "tokenizer.ggml.bos_token_id"; false when the key is no
 * such key or its value no id. name: "bos", not terminated. */
bool show_special(const ew_meta *meta, str *name, int64_t *id);

/* A token's name in the file's vocabulary; false when there is none with this id. */
bool show_token_name(const show *s, int64_t id, str *out);

#endif
