/* SPDX-License-Identifier: MIT
 *
 * Writes tests/golden/sampler.json: which tokens llama.cpp's samplers leave, and with which
 * probabilities, for fixed logits, options and histories. Built and run by sampler-record.sh.
 * usage: sampler-record VOCAB.gguf (a scratch file) > sampler.json */
#include "gguf.h"
#include "llama.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names that make breakers come alone, inside a token and across tokens. */
static const char *const vocab[] = {
    "<unk>", "<s>", "</s>", "\n",   ":",   "\"", "*",   "#",   "a",  "b",   "c",    "d",      "e",
    "n",     "a:",  ":b",   "\n\n", ".\n", "##", "###", "en",  "nd", "end", "bend", "ending", "e n",
    "f",     "g",   "h",    "i",    "j",   "k",  "l",   "m",   "o",  "p",   "q",    "r",      "s",
    "t",     "u",   "v",    "w",    "x",   "y",  "z",   "the", "of", "and", "to",   "in",     "is",
    "it",    "on",  "as",   "at",   "be",  "by", "he",  "or",  "we", "so",  "up",   "no",
};
enum {
    N = sizeof vocab / sizeof *vocab
};

static float logits_of[2][N];
static const char *const logits_name[] = {"peaked", "flat"};
static struct llama_model *model;

typedef struct {
    const char *name;
    int logits;
    const char *history; /* ids, as the JSON array's inside */
    float temperature;   /* of all members: 0 is off */
    int top_k;
    float typical_p, top_p, min_p;
    int repeat_last_n;
    float repeat_penalty, frequency_penalty, presence_penalty;
    float dry_multiplier, dry_base;
    int dry_allowed_length, dry_last_n;
    const char *breakers[4];
    float xtc_threshold;
    float tau, eta;
    llama_logit_bias bias[3];
    int n_bias;
} golden_case;

static void make_vocab(const char *path) {
    struct gguf_context *g = gguf_init_empty();
    const char *names[N];
    float scores[N];
    int32_t types[N];

    for (int i = 0; i < N; i++) {
        names[i] = vocab[i];
        scores[i] = (float)-i;
        types[i] = i == 0 ? 2 : i < 3 ? 3 : 1;
    }
    gguf_set_val_str(g, "general.architecture", "llama");
    gguf_set_val_str(g, "tokenizer.ggml.model", "llama");
    gguf_set_arr_str(g, "tokenizer.ggml.tokens", (const char **)names, N);
    gguf_set_arr_data(g, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores, N);
    gguf_set_arr_data(g, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types, N);
    gguf_set_val_bool(g, "tokenizer.ggml.add_space_prefix", false);
    gguf_write_to_file(g, path, true);
    gguf_free(g);
}

static void make_logits(void) {
    uint64_t x = 42;

    for (int set = 0; set < 2; set++) {
        for (int i = 0; i < N; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            logits_of[set][i] = (float)((int)(x >> 48) - 32768) / (set ? 16384.0f : 4096.0f);
            for (int j = 0; j < i; j++) {
                if (logits_of[set][j] == logits_of[set][i]) exit(3); /* a tie: change the seed */
            }
        }
    }
}

/* The chain in edgewise's order, of the stages that are on. */
static struct llama_sampler *make_chain(const golden_case *c) {
    struct llama_sampler *s = llama_sampler_chain_init(llama_sampler_chain_default_params());
    int n_breaker = 0;

    while (n_breaker < 4 && c->breakers[n_breaker]) n_breaker++;
    if (c->n_bias) llama_sampler_chain_add(s, llama_sampler_init_logit_bias(N, c->n_bias, c->bias));
    if (c->repeat_last_n) {
        llama_sampler_chain_add(
            s, llama_sampler_init_penalties(N, c->repeat_last_n, c->repeat_penalty,
                                            c->frequency_penalty, c->presence_penalty));
    }
    if (c->dry_multiplier > 0) {
        llama_sampler_chain_add(s, llama_sampler_init_dry(llama_model_get_vocab(model),
                                                          c->dry_multiplier, c->dry_base,
                                                          c->dry_allowed_length, c->dry_last_n,
                                                          (const char **)c->breakers, n_breaker));
    }
    if (c->temperature > 0) llama_sampler_chain_add(s, llama_sampler_init_temp(c->temperature));
    if (c->top_k) llama_sampler_chain_add(s, llama_sampler_init_top_k(c->top_k));
    if (c->typical_p > 0) llama_sampler_chain_add(s, llama_sampler_init_typical(c->typical_p, 1));
    if (c->top_p > 0) llama_sampler_chain_add(s, llama_sampler_init_top_p(c->top_p, 1));
    if (c->min_p > 0) llama_sampler_chain_add(s, llama_sampler_init_min_p(c->min_p, 1));
    if (c->xtc_threshold > 0) {
        llama_sampler_chain_add(s, llama_sampler_init_xtc(1.0f, c->xtc_threshold, 1, 1));
    }
    if (c->tau > 0) llama_sampler_chain_add(s, llama_sampler_init_mirostat_v2(7, c->tau, c->eta));
    return s;
}

static int by_id(const void *a, const void *b) {
    return ((const llama_token_data *)a)->id - ((const llama_token_data *)b)->id;
}

/* One application: prints the survivors by id; their probabilities are computed here, as not every
 * sampler leaves them. Returns the token that was selected, if the chain selects. */
static int32_t print_survivors(struct llama_sampler *s, const float *logits, const char *suffix) {
    llama_token_data data[N];
    llama_token_data_array a = {data, N, -1, false};
    int32_t selected;
    double max = -INFINITY, sum = 0;

    for (int i = 0; i < N; i++) data[i] = (llama_token_data){i, logits[i], 0};
    llama_sampler_apply(s, &a);
    selected = a.selected < 0 ? -1 : a.data[a.selected].id;
    for (size_t i = 0; i < a.size; i++) max = fmax(max, a.data[i].logit);
    for (size_t i = 0; i < a.size; i++) sum += exp(a.data[i].logit - max);
    qsort(a.data, a.size, sizeof *a.data, by_id);
    printf(",\n   \"ids%s\": [", suffix);
    for (size_t i = 0; i < a.size; i++) printf("%s%d", i ? ", " : "", a.data[i].id);
    printf("],\n   \"p%s\": [", suffix);
    for (size_t i = 0; i < a.size; i++) {
        printf("%s%.7g", i ? ", " : "", exp(a.data[i].logit - max) / sum);
    }
    printf("]");
    return selected;
}

static void print_options(const golden_case *c) {
    const char *sep = "";

#define PUT(name, fmt)                           \
 if (c->name > 0 || c->name < 0) {               \
  printf("%s\"" #name "\": " fmt, sep, c->name); \
  sep = ", ";                                    \
 }
    PUT(temperature, "%.9g")
    PUT(top_k, "%d")
    PUT(typical_p, "%.9g")
    PUT(top_p, "%.9g")
    PUT(min_p, "%.9g")
    PUT(repeat_last_n, "%d")
    PUT(repeat_penalty, "%.9g")
    PUT(frequency_penalty, "%.9g")
    PUT(presence_penalty, "%.9g")
    PUT(dry_multiplier, "%.9g")
    PUT(dry_base, "%.9g")
    PUT(dry_allowed_length, "%d")
    PUT(dry_last_n, "%d")
    PUT(xtc_threshold, "%.9g")
    PUT(tau, "%.9g")
    PUT(eta, "%.9g")
#undef PUT
}

static void print_string(const char *s) {
    printf("\"");
    for (; *s; s++) {
        if (*s == '\n') {
            printf("\\n");
        } else {
            printf(*s == '"' ? "\\%c" : "%c", *s);
        }
    }
    printf("\"");
}

static void print_case(const golden_case *c, const char *sep) {
    struct llama_sampler *s = make_chain(c);
    int32_t selected;

    printf("%s\n  {\"name\": \"%s\", \"logits\": \"%s\",\n   \"options\": {", sep, c->name,
           logits_name[c->logits]);
    print_options(c);
    printf("}, \"bias\": [");
    for (int i = 0; i < c->n_bias; i++) {
        printf("%s[%d, %.9g]", i ? ", " : "", c->bias[i].token, c->bias[i].bias);
    }
    printf("], \"breakers\": [");
    for (int i = 0; i < 4 && c->breakers[i]; i++) {
        printf("%s", i ? ", " : "");
        print_string(c->breakers[i]);
    }
    printf("],\n   \"history\": [%s]", c->history ? c->history : "");
    for (const char *p = c->history; p && *p;) {
        char *end;

        llama_sampler_accept(s, (llama_token)strtol(p, &end, 10));
        p = *end ? end + 1 : end;
    }
    selected = print_survivors(s, logits_of[c->logits], "");
    if (c->tau > 0) {
        printf(",\n   \"selected\": %d", selected);
        print_survivors(s, logits_of[c->logits], "_next");
    }
    printf("}");
    llama_sampler_free(s);
}

static void quiet(enum ggml_log_level level, const char *text, void *ctx) {
    (void)ctx;
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

#define USUAL \
 { "\n", ":", "\"", "*" }
#define DRY .dry_multiplier = 0.8f, .dry_base = 1.75f, .dry_allowed_length = 2, .dry_last_n = 1024

static const golden_case cases[] = {
    {.name = "nothing"},
    {.name = "temperature", .temperature = 0.7f},
    {.name = "hot", .logits = 1, .temperature = 3},
    {.name = "top_k 1", .top_k = 1},
    {.name = "top_k 10", .top_k = 10},
    {.name = "top_k over the vocabulary", .top_k = 1000},
    {.name = "top_p 0.9", .top_p = 0.9f},
    {.name = "top_p 0.5 flat", .logits = 1, .top_p = 0.5f},
    {.name = "top_p 0.01", .top_p = 0.01f},
    {.name = "min_p 0.05", .min_p = 0.05f},
    {.name = "min_p 0.5 flat", .logits = 1, .min_p = 0.5f},
    {.name = "min_p 1", .min_p = 1},
    {.name = "typical 0.9", .typical_p = 0.9f},
    {.name = "typical 0.5 flat", .logits = 1, .typical_p = 0.5f},
    {.name = "typical 0.2", .typical_p = 0.2f},
    {.name = "xtc 0.1", .xtc_threshold = 0.1f},
    {.name = "xtc 0.03 flat", .logits = 1, .xtc_threshold = 0.03f},
    {.name = "xtc nothing over the threshold", .logits = 1, .xtc_threshold = 0.3f},
    {.name = "bias", .bias = {{5, 9}, {40, -3}, {7, -INFINITY}}, .n_bias = 2},
    {.name = "repeat", .history = "8,9,10,9,9,40,3", .repeat_last_n = 64, .repeat_penalty = 1.3f},
    {.name = "repeat window",
     .history = "8,9,10,9,9,40,3",
     .repeat_last_n = 4,
     .repeat_penalty = 1.3f},
    {.name = "frequency",
     .history = "8,9,10,9,9,40,3",
     .repeat_last_n = 64,
     .repeat_penalty = 1,
     .frequency_penalty = 0.6f},
    {.name = "presence",
     .history = "8,9,10,9,9,40,3",
     .repeat_last_n = 64,
     .repeat_penalty = 1,
     .presence_penalty = 1.5f},
    {.name = "all penalties",
     .logits = 1,
     .history = "8,9,10,9,9,40,3,61,61,8,2",
     .repeat_last_n = 6,
     .repeat_penalty = 1.2f,
     .frequency_penalty = -0.3f,
     .presence_penalty = 0.5f},
    {.name = "dry", DRY, .breakers = USUAL, .history = "30,31,32,33,40,30,31,32"},
    {.name = "dry one short", DRY, .breakers = USUAL, .history = "31,33,40,30,31"},
    {.name = "dry two continuations",
     DRY,
     .breakers = USUAL,
     .history = "30,31,32,33,9,30,31,32,45,9,30,31,32"},
    {.name = "dry run of one token", DRY, .breakers = USUAL, .history = "30,30,30,30,30,30,30"},
    {.name = "dry overlapping runs",
     DRY,
     .breakers = USUAL,
     .history = "30,31,30,31,30,31,33,30,31,30,31,30"},
    {.name = "dry after a breaker", DRY, .breakers = USUAL, .history = "30,31,4,33,40,30,31,4,33"},
    {.name = "dry breaker shortens",
     DRY,
     .breakers = USUAL,
     .history = "30,31,4,33,34,35,40,30,31,4,33,34"},
    {.name = "dry breaker inside a token",
     DRY,
     .breakers = USUAL,
     .history = "30,31,14,33,34,35,40,30,31,14,33,34"},
    {.name = "dry breaker would continue",
     DRY,
     .breakers = USUAL,
     .history = "30,31,32,4,40,30,31,32"},
    {.name = "dry breaker begins with a token",
     DRY,
     .breakers = {"end"},
     .history = "30,31,20,11,33,34,35,40,30,31,20,11,33,34"},
    {.name = "dry breaker across two tokens",
     DRY,
     .breakers = {"###"},
     .history = "30,31,7,18,33,34,35,40,30,31,7,18,33,34"},
    {.name = "dry breaker begun and not ended",
     DRY,
     .breakers = {"end"},
     .history = "30,31,20,33,34,35,40,30,31,20,33,34"},
    {.name = "dry breaker within a longer token",
     DRY,
     .breakers = {"end"},
     .history = "30,31,24,33,34,35,40,30,31,24,33,34"},
    {.name = "dry without breakers", DRY, .history = "30,31,4,33,34,35,40,30,31,4,33,34"},
    {.name = "dry window",
     .dry_multiplier = 0.8f,
     .dry_base = 1.75f,
     .dry_allowed_length = 2,
     .dry_last_n = 7,
     .breakers = USUAL,
     .history = "30,31,32,33,40,30,31,32"},
    {.name = "dry allowed 4",
     .dry_multiplier = 2,
     .dry_base = 1.2f,
     .dry_allowed_length = 4,
     .dry_last_n = 1024,
     .breakers = USUAL,
     .history = "30,31,32,33,34,35,40,30,31,32,33,34,41,31,32,33,34"},
    {.name = "chain defaults", .temperature = 0.8f, .top_k = 40, .top_p = 0.9f},
    {.name = "chain typical top_p",
     .logits = 1,
     .temperature = 0.8f,
     .top_k = 40,
     .typical_p = 0.8f,
     .top_p = 0.9f},
    {.name = "chain min_p xtc",
     .logits = 1,
     .temperature = 1.2f,
     .top_k = 30,
     .top_p = 0.95f,
     .min_p = 0.2f,
     .xtc_threshold = 0.06f},
    {.name = "chain of all",
     .logits = 1,
     .history = "30,31,32,33,40,30,31,32,9,30,31,32",
     .temperature = 0.9f,
     .top_k = 50,
     .typical_p = 0.95f,
     .top_p = 0.9f,
     .min_p = 0.1f,
     .repeat_last_n = 64,
     .repeat_penalty = 1.1f,
     .frequency_penalty = 0.1f,
     .presence_penalty = 0.2f,
     DRY,
     .breakers = USUAL,
     .xtc_threshold = 0.05f,
     .bias = {{12, 1}, {60, -1}},
     .n_bias = 2},
    {.name = "mirostat", .tau = 2, .eta = 0.1f},
    {.name = "mirostat flat", .logits = 1, .tau = 2.4f, .eta = 0.5f},
    {.name = "mirostat nothing is likely enough", .logits = 1, .tau = 1, .eta = 0.1f},
    {.name = "mirostat temperature", .logits = 1, .temperature = 0.6f, .tau = 2, .eta = 1},
};

int main(int argc, char **argv) {
    struct llama_model_params mp = llama_model_default_params();

    if (argc != 2) return 2;
    llama_log_set(quiet, NULL);
    make_logits();
    make_vocab(argv[1]);
    mp.vocab_only = true;
    model = llama_model_load_from_file(argv[1], mp);
    if (!model) return 1;
    printf("{\"vocab\": [");
    for (int i = 0; i < N; i++) {
        printf("%s", i ? ", " : "");
        print_string(vocab[i]);
    }
    printf("],\n \"logits\": {");
    for (int set = 0; set < 2; set++) {
        printf("%s\"%s\": [", set ? ",\n  " : "", logits_name[set]);
        for (int i = 0; i < N; i++) printf("%s%.16g", i ? ", " : "", logits_of[set][i]);
        printf("]");
    }
    printf("},\n \"cases\": [");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) print_case(&cases[i], i ? "," : "");
    printf("\n]}\n");
    llama_model_free(model);
    return 0;
}
