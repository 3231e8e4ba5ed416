/* SPDX-License-Identifier: MIT
 *
 * Models with random weights: the true shapes, hyper-parameters, vocabulary sizes and quantization
 * mix of public models, or any other shape, in a valid GGUF file. Speed and memory can be measured
 * at full size without a download, and tests get models of every kind in milliseconds.
 *
 * The same shape, type and seed give the same bytes on every machine. */
#ifndef EW_BENCH_MKMODEL_H
#define EW_BENCH_MKMODEL_H

#include "format/gguf_write.h"
#include "format/recipe.h"

/* A vocabulary's kind says its tokenizer, special tokens and chat template. */
typedef enum {
    MK_SPM, /* SentencePiece, Llama 2 */
    MK_TINYLLAMA,
    MK_MISTRAL,
    MK_LLAMA3, /* byte-level BPE from here on */
    MK_QWEN2,
    MK_SMOLLM,
    MK_R1_LLAMA,
    MK_R1_QWEN,
    MK_VOCAB_COUNT
} mk_vocab;

/* Which tensors the layers of an architecture have. */
enum {
    MK_QKV_BIAS = 1 << 0,
    MK_OUT_BIAS = 1 << 1, /* of the attention's output */
    MK_FFN_BIAS = 1 << 2,
    MK_QK_NORM = 1 << 3,       /* of each head */
    MK_QK_NORM_WHOLE = 1 << 4, /* of all heads together */
    MK_POST_NORMS = 1 << 5,    /* of both branches' outputs */
    MK_NO_PRE_NORMS = 1 << 6,  /* none of their inputs */
    MK_PARALLEL = 1 << 7,      /* both read one norm */
    MK_STACKED_QKV = 1 << 8,   /* one tensor for q, k and v */
    MK_STACKED_GATE = 1 << 9,  /* one for gate and up */
    MK_NO_GATE = 1 << 10,      /* up and down alone */
    MK_LAYER_NORM = 1 << 11,
    MK_NORM_BIAS = 1 << 12,
    MK_SINKS = 1 << 13,
    MK_EXPERT_BIAS = 1 << 14,   /* of router and experts */
    MK_SHARED_GATE = 1 << 15,   /* the shared expert has a gate of its own */
    MK_LATE_FFN_NORM = 1 << 16, /* the feed-forward's norm is called post_attention_norm */
    MK_MOE = 1 << 17            /* never without experts */
};

typedef struct {
    const char *name;
    unsigned has;    /* of the bits above */
    const char *set; /* metadata that it always has, as mk_shape has it, or NULL */
} mk_arch;

const mk_arch *mk_arch_find(const char *name);

typedef struct {
    const char *name; /* "llama-3.2-1b"; goes into general.name */
    const char *arch; /* "llama", "qwen2" */
    uint32_t n_layer, n_embd, n_head, n_head_kv, head_dim, n_ff, n_vocab;
    uint32_t ctx_train;
    uint32_t rope_theta;  /* rope.freq_base */
    uint32_t rope_factor; /* of Llama 3's scaling: a rope_freqs tensor; 0: none */
    bool is_tied;
    mk_vocab vocab;
    uint32_t n_expert, n_expert_used; /* 0: dense */
    uint32_t n_ff_expert;             /* width of an expert; 0: n_ff */
    uint32_t n_ff_shared;             /* of the shared one; 0: there is none */
    uint32_t n_rot;                   /* 0: head_dim */
    bool has_long_factors;            /* rope_factors_long and _short */
    /* More metadata, "KEY=VALUE KEY=VALUE": keys without the architecture's prefix; a value is a
     * number, a float when it has a point, true or false, or else a string. */
    const char *set;
} mk_shape;

/* How the matrices are stored: a recipe's mix, or, where recipe is NULL, one type for all. */
typedef struct {
    const recipe *recipe;
    elem_type pure;
} mk_type;

const mk_shape *mk_shape_at(size_t i); /* the named ones; NULL after the last */
const mk_shape *mk_shape_find(const char *name);

/* A recipe's name, or with is_pure (or when there is no such recipe) an element type's. EW_EINVAL
 * when it is neither or random blocks of the type can't be made. */
ew_status mk_type_parse(mk_type *out, const char *name, bool is_pure, ew_error *err);

/* EW_EINVAL names what contradicts what. */
ew_status mk_check(const mk_shape *s, ew_error *err);
/* chat_template NULL: the vocabulary's own. */
ew_status mk_write(const mk_shape *s, mk_type type, uint64_t seed, const char *chat_template,
                   const char *path, ew_error *err);
uint64_t mk_tensor_bytes(const mk_shape *s, mk_type type); /* without padding */

/* ---- its parts ------------------------------------------------------------------------------ */

const char *mk_vocab_name(mk_vocab v);
uint32_t mk_vocab_min(mk_vocab v); /* tokens it needs at least */
/* Adds tokenizer.* with n tokens. */
ew_status mk_put_vocab(gguf_writer *w, mk_vocab v, uint32_t n, const char *chat_template,
                       ew_error *err);

/* n_block blocks of random weights with a standard deviation of about std. */
bool mk_can_fill(elem_type t);
void mk_fill(uint8_t *out, elem_type t, size_t n_block, double std, uint64_t seed);
double mk_sqrt(double x); /* the same bits everywhere */
/* The n_rot / 2 divisors of Llama 3's frequency scaling. */
void mk_rope_factors(float *out, uint32_t n_rot, uint32_t theta, uint32_t factor);
uint64_t mk_mix(uint64_t x); /* a well-mixed function of x */

#endif
