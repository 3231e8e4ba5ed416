/* SPDX-License-Identifier: MIT
 *
 * Architecture descriptors. An architecture is a table of the tensors a layer has and a few
 * switches; the walk (walk.h) is the same for all. To add one: a file with its descriptor, a line
 * in arch.c, a golden test. */
#ifndef EW_MODEL_ARCH_H
#define EW_MODEL_ARCH_H

#include "model/model.h"

/* What a dimension of a layer's tensor must be. */
typedef enum {
    DIM_ONE,
    DIM_EMBD,  /* n_embd */
    DIM_Q,     /* n_head * head_dim_k */
    DIM_K,     /* n_head_kv * head_dim_k */
    DIM_V,     /* n_head_kv * head_dim_v */
    DIM_O,     /* n_head * head_dim_v */
    DIM_FF,    /* n_ff */
    DIM_HEAD,  /* head_dim_k */
    DIM_HEADS, /* n_head */
    DIM_HEADS_KV,
    DIM_EXPERTS,
    DIM_FF_EXPERT,
    DIM_FF_SHARED /* a slot of 0 is none */
} dim;

typedef enum {
    SLOT_MATRIX,  /* a weight in struct layer: [in, out] */
    SLOT_EXPERTS, /* the same: [in, out, n_expert] */
    SLOT_VECTOR   /* a const float * in struct layer: [in, out] */
} slot_kind;

/* Matrices or biases of one input that some files keep stacked in one tensor. */
typedef struct {
    const char *weight, *bias;
    dim part[3]; /* rows of each; unused ones DIM_ONE */
    uint32_t n_part;
} stacked;

/* Which layers have a tensor. */
typedef enum {
    IN_ALL,
    IN_DENSE,
    IN_MOE
} layer_kind;

/* One tensor of a layer, "blk.<N>.<name>", and where in struct layer it goes. */
typedef struct {
    const char *name; /* NULL ends a table */
    slot_kind kind;
    bool is_optional;
    dim in, out;
    size_t offset;        /* in struct layer */
    const stacked *stack; /* where its rows are when there is no such tensor, or NULL */
    uint32_t part;        /* which of the stack's */
    layer_kind layers;
} tensor_slot;

enum {
    ARCH_TABLES = 8
};

typedef enum {
    NORM_RMS,
    NORM_LAYER
} norm_kind;

/* What q_norm and k_norm are of. */
typedef enum {
    SPAN_HEAD,  /* each head, all by the same weights */
    SPAN_APART, /* each head, by weights of its own */
    SPAN_WHOLE  /* all heads together */
} norm_span;

/* What stands between the feed-forward's matrices. */
typedef enum {
    FFN_SILU,       /* silu(gate) * up */
    FFN_GELU,       /* gelu(gate) * up, gelu by tanh */
    FFN_GELU_PLAIN, /* gelu(up): there is no gate */
    FFN_CLAMPED     /* clamped swiglu, see kern.h */
} ffn_kind;

typedef struct {
    uint32_t period; /* every period-th layer sees all; 0: no layer has a window */
    uint32_t tokens; /* the window where the metadata have none; 0: then there is none */
    bool has_rope;   /* windows may have a frequency base of their own */
    bool is_plain;   /* their rotation is not scaled */
    double base;     /* their base unless given; 0: that of the others */
} window_rule;

struct arch {
    const char *name; /* general.architecture */
    rope_kind rope;
    norm_kind norm;
    ffn_kind ffn;
    bool is_parallel;     /* attention and feed-forward read the same norm's output */
    bool has_temperature; /* attention.temperature_scale counts */
    norm_span qk_span;
    bool divides_logits; /* logit_scale divides */
    window_rule window;
    router_kind router;  /* 0: there are no experts */
    bool divides_ff;     /* the width of an expert, when not given, is n_ff / n_expert_used */
    bool is_expert_norm; /* unless the metadata say otherwise */
    const tensor_slot *slots[ARCH_TABLES];      /* unused ones NULL */
    void (*adjust)(hparams *hp, layer *layers); /* what no key says, or NULL */
};

/* Tables that architectures share. */
extern const tensor_slot slots_attn[];      /* norm, q, k, v (stacked or not), output */
extern const tensor_slot slots_ffn[];       /* norm, gate, up, down */
extern const tensor_slot slots_attn_bare[]; /* the same without a norm before */
extern const tensor_slot slots_ffn_bare[];
extern const tensor_slot slots_ffn_plain[];      /* norm, up, down */
extern const tensor_slot slots_norm_bias[];      /* of layer norms */
extern const tensor_slot slots_qkv_any_bias[];   /* of q, k and v, optional */
extern const tensor_slot slots_qk_norms_apart[]; /* of each head its own, optional */
extern const tensor_slot slots_qkv_bias[];       /* biases of q, k and v, required */
extern const tensor_slot slots_any_bias[];       /* of all matrices of a dense layer, optional */
extern const tensor_slot slots_qk_norm[];        /* of each head */
extern const tensor_slot slots_post_norms[];     /* of attention's and feed-forward's output */
extern const tensor_slot slots_qk_norms_whole[]; /* of all heads together */
extern const tensor_slot slots_late_norm[];      /* the feed-forward's, as gpt-oss calls it */
extern const tensor_slot slots_sinks[];
extern const tensor_slot slots_moe[];     /* router, experts, the shared one */
extern const tensor_slot slots_gate_up[]; /* as slots_ffn, gate and up stacked in ffn_up */

const arch *arch_find(str name); /* NULL: not supported */
const arch *arch_at(size_t i);   /* the supported ones, from 0 until NULL */

extern const arch arch_cohere2, arch_command_r, arch_exaone4, arch_gemma2, arch_gemma3, arch_glm4,
    arch_gpt_oss, arch_granite, arch_granitemoe, arch_internlm2, arch_llama, arch_mistral3,
    arch_olmo2, arch_olmoe, arch_phi3, arch_qwen2, arch_qwen2moe, arch_qwen3, arch_qwen3moe,
    arch_smollm3, arch_starcoder2;

#endif
