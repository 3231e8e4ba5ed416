/* SPDX-License-Identifier: MIT
 *
 * A model: hyper-parameters and weights of one architecture, bound from a GGUF file by the tables
 * of its descriptor. Immutable once open. */
#ifndef EW_MODEL_MODEL_H
#define EW_MODEL_MODEL_H

#include "backend/engine.h"
#include "backend/weight.h"
#include "format/gguf_file.h"
#include "text/token_trie.h"
#include "text/tokenizer.h"

#include <stdatomic.h>

typedef enum {
    ROPE_NORM, /* rotates elements (2p, 2p + 1) */
    ROPE_NEOX  /* rotates elements (p, p + n_rot / 2) */
} rope_kind;

typedef enum {
    ROPE_SCALE_NONE,
    ROPE_SCALE_LINEAR,
    ROPE_SCALE_YARN
} rope_scaling;

typedef struct {
    uint32_t n_rot; /* elements of a head that are rotated, even */
    double base;
    rope_scaling scaling;
    bool is_finetuned;           /* for that scaling; granite rotates only where it is */
    double factor;               /* of linear and YaRN */
    double orig_ctx;             /* context of the training before: of YaRN and long_factor */
    double attn_factor;          /* multiplies cos and sin */
    double log_mul;              /* YaRN: divides them by 1 + 0.1 log_mul ln(factor); 0: doesn't */
    double beta_fast, beta_slow; /* YaRN: ramp */
    const float *freq_factor;    /* [n_rot / 2] divisors of the frequencies, or NULL */
    const float *long_factor;    /* the same for sessions of more than orig_ctx tokens, or NULL */
} rope_params;

/* Layers that see a window may have rotary tables of their own. */
enum {
    ROPE_FULL,
    ROPE_WINDOW,
    ROPE_SETS,
    ROPE_NOT = ROPE_SETS /* a layer without positions */
};

typedef struct {
    uint32_t n_head, n_head_kv, n_ff;
    uint32_t head_dim_k, head_dim_v;
    uint32_t window;   /* a token sees this many, itself included; 0: all */
    uint32_t rope_set; /* ROPE_FULL, ROPE_WINDOW or ROPE_NOT */
    float attn_scale;  /* of scores */
    bool is_moe;       /* the feed-forward is a mixture of experts */
    /* Norms: [n_embd], or NULL where the architecture has none. The post ones are of the branch's
     * output, before it is added. */
    const float *attn_norm, *attn_norm_b, *attn_post_norm;
    const float *ffn_norm, *ffn_norm_b, *ffn_post_norm;
    const float *q_norm, *k_norm;   /* [head_dim_k] or [all heads], or NULL */
    const float *sinks;             /* [n_head] a score that takes part in each softmax, or NULL */
    weight wq, wk, wv, wo;          /* wo: [n_embd, n_head * head_dim_v] */
    const float *bq, *bk, *bv, *bo; /* NULL: none */
    weight gate, up, down;
    const float *b_gate, *b_up, *b_down;
    /* Experts: their matrices are stacked, their biases [n_expert, n_out]. */
    weight router, x_gate, x_up, x_down;
    const float *b_router, *bx_gate, *bx_up, *bx_down; /* or NULL */
    const float *b_choice;       /* [n_expert] added for the choice alone, or NULL */
    weight s_gate, s_up, s_down; /* the expert that all tokens share */
    const float *s_router;       /* [n_embd] sigmoid(s_router x) scales it; NULL: 1 */
} layer;

/* How a router's outputs become weights. */
typedef enum {
    ROUTER_SOFTMAX = 1, /* values of expert_gating_func */
    ROUTER_SIGMOID,
    ROUTER_SOFTMAX_CHOSEN /* softmax over the chosen ones */
} router_kind;

typedef struct {
    uint32_t n_layer, n_embd, n_vocab, ctx_train;
    uint32_t head_dim_k, head_dim_v;    /* the largest of a layer */
    uint32_t n_head_max, n_head_kv_max; /* over the layers */
    uint32_t n_ff_max;                  /* of dense layers and shared experts */
    float norm_eps;
    float embd_scale, residual_scale, logit_scale; /* 1: none */
    float attn_softcap, logit_softcap;             /* cap * tanh(x / cap); 0: none */
    uint32_t window;                               /* of the layers that have one; 0: none do */
    double temp_scale, temp_floor;                 /* queries of position p are multiplied by
                                                      1 + temp_scale * ln(1 + floor(p / temp_floor)); 0: not */
    uint32_t n_expert, n_expert_used;              /* 0: dense */
    uint32_t n_ff_expert, n_ff_shared;             /* widths of one; 0: there is no shared one */
    uint32_t n_lead_dense;                         /* first layers without experts */
    router_kind router;
    bool is_expert_norm;         /* the chosen ones' weights are made to sum up to 1 */
    float expert_scale;          /* then multiplies them */
    rope_params rope[ROPE_SETS]; /* that of windows has n_rot 0 when no layer uses it */
} hparams;

typedef struct arch arch;

struct ew_model {
    ew_engine *engine;
    ew_file file;
    const gguf *g; /* of file */
    tokenizer *tok;
    const arch *arch;   /* NULL when the architecture is not known (vocabulary only) */
    bool is_vocab_only; /* weights were not read: shapes may be known all the same */
    char *path;         /* as given */
    char *arch_name, *name;
    hparams hp;
    layer *layers;     /* [n_layer]; NULL when the model can't run (vocabulary only) */
    weight embd, head; /* head is embd when tied */
    const float *out_norm, *out_norm_b;
    float *vectors;   /* norms, biases and factors as floats, all in one block */
    size_t n_vectors; /* floats */
    big_block packed; /* matrices rewritten for the kernels (pack.c) */
    uint64_t charged_weights, charged_fixed; /* bytes held in the budget */
    uint64_t cost_weights, cost_packed;      /* bytes a load takes, in the file's form and packed */
    uint64_t n_param, n_bytes;               /* of all tensors in the file */
    uint64_t n_param_active;                 /* without the experts that a token does not use */
    uint64_t active_bytes; /* weights one token reads: of these all, but one row of an untied
                              embedding */
    uint64_t fingerprint;  /* tells this model's session files from another's */
    /* Activation forms each stage's weights want, as bits 1 << act_form. */
    unsigned forms_attn_in, forms_attn_out, forms_ffn_in, forms_ffn_out, forms_head;
    unsigned forms_expert_in, forms_expert_out;
    size_t n_in_max;            /* longest row of any weight */
    _Atomic(token_trie *) trie; /* of the vocabulary, once a grammar needed it (trie.c) */
};

/* Reads and checks the hyper-parameters of an architecture. Layers' own numbers (heads, widths)
 * are written to layers[n_layer] (mem_free). */
ew_status hparams_read(hparams *hp, layer **layers, const arch *a, const gguf *g, const char *name,
                       ew_error *err);

/* trie.c: the tree of the vocabulary, owned by the model. From any thread. */
ew_status model_trie(ew_model *m, const token_trie **out, ew_error *err);
void model_trie_free(ew_model *m);

str model_chat_template(const ew_model *m); /* empty when there is none */

#endif
