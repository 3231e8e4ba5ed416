/* SPDX-License-Identifier: MIT */
#include "model/arch.h"

#include <stddef.h>

static const arch *const archs[] = {
    &arch_cohere2,    &arch_command_r, &arch_exaone4, &arch_gemma2,     &arch_gemma3,
    &arch_glm4,       &arch_gpt_oss,   &arch_granite, &arch_granitemoe, &arch_internlm2,
    &arch_llama,      &arch_mistral3,  &arch_olmo2,   &arch_olmoe,      &arch_phi3,
    &arch_qwen2,      &arch_qwen2moe,  &arch_qwen3,   &arch_qwen3moe,   &arch_smollm3,
    &arch_starcoder2,
};

const arch *arch_at(size_t i) {
    return i < sizeof archs / sizeof archs[0] ? archs[i] : NULL;
}

const arch *arch_find(str name) {
    const arch *a;

    for (size_t i = 0; (a = arch_at(i)) != NULL; i++)
        if (str_is(name, a->name)) return a;
    return NULL;
}

static const stacked qkv = {"attn_qkv.weight", "attn_qkv.bias", {DIM_Q, DIM_K, DIM_V}, 3};
static const stacked gate_up = {"ffn_up.weight", "ffn_up.bias", {DIM_FF, DIM_FF}, 2};

/* clang-format off: one tensor a line */
#define SLOT(name, kind, is_optional, in, out, member, stack, part, layers) \
 { name, kind, is_optional, in, out, offsetof(layer, member), stack, part, layers }
#define MATRIX(name, in, out, member, layers) \
 SLOT(name ".weight", SLOT_MATRIX, false, in, out, member, NULL, 0, layers)
#define EXPERTS(name, in, out, member) \
 SLOT(name ".weight", SLOT_EXPERTS, false, in, out, member, NULL, 0, IN_MOE)
#define VECTOR(name, in, member) \
 SLOT(name, SLOT_VECTOR, false, in, DIM_ONE, member, NULL, 0, IN_ALL)
#define OPTIONAL(name, in, member, layers) \
 SLOT(name, SLOT_VECTOR, true, in, DIM_ONE, member, NULL, 0, layers)
#define TABLE(name, in, out, member) SLOT(name, SLOT_VECTOR, true, in, out, member, NULL, 0, IN_ALL)
#define EXPERT_BIAS(name, in, member) \
 SLOT(name ".bias", SLOT_VECTOR, true, in, DIM_EXPERTS, member, NULL, 0, IN_MOE)
/* The same, perhaps part i of a stack. */
#define MATRIX_OF(stack, i, name, in, out, member) \
 SLOT(name ".weight", SLOT_MATRIX, false, in, out, member, &(stack), i, IN_ALL)
#define OPTIONAL_OF(stack, i, name, in, member) \
 SLOT(name, SLOT_VECTOR, true, in, DIM_ONE, member, &(stack), i, IN_ALL)

#define ATTENTION                                      \
 MATRIX_OF(qkv, 0, "attn_q", DIM_EMBD, DIM_Q, wq),     \
     MATRIX_OF(qkv, 1, "attn_k", DIM_EMBD, DIM_K, wk), \
     MATRIX_OF(qkv, 2, "attn_v", DIM_EMBD, DIM_V, wv), \
     MATRIX("attn_output", DIM_O, DIM_EMBD, wo, IN_ALL)
#define FEED_FORWARD                                   \
 MATRIX("ffn_gate", DIM_EMBD, DIM_FF, gate, IN_DENSE), \
     MATRIX("ffn_up", DIM_EMBD, DIM_FF, up, IN_DENSE), \
     MATRIX("ffn_down", DIM_FF, DIM_EMBD, down, IN_DENSE)

const tensor_slot slots_attn[] = {
    VECTOR("attn_norm.weight", DIM_EMBD, attn_norm),
    ATTENTION,
    {0},
};

const tensor_slot slots_attn_bare[] = {ATTENTION, {0}};

const tensor_slot slots_ffn[] = {
    VECTOR("ffn_norm.weight", DIM_EMBD, ffn_norm),
    FEED_FORWARD,
    {0},
};

const tensor_slot slots_ffn_bare[] = {FEED_FORWARD, {0}};

const tensor_slot slots_ffn_plain[] = {
    VECTOR("ffn_norm.weight", DIM_EMBD, ffn_norm),
    MATRIX("ffn_up", DIM_EMBD, DIM_FF, up, IN_DENSE),
    MATRIX("ffn_down", DIM_FF, DIM_EMBD, down, IN_DENSE),
    {0},
};

const tensor_slot slots_norm_bias[] = {
    VECTOR("attn_norm.bias", DIM_EMBD, attn_norm_b),
    VECTOR("ffn_norm.bias", DIM_EMBD, ffn_norm_b),
    {0},
};

const tensor_slot slots_gate_up[] = {
    VECTOR("ffn_norm.weight", DIM_EMBD, ffn_norm),
    MATRIX_OF(gate_up, 0, "ffn_gate", DIM_EMBD, DIM_FF, gate),
    MATRIX_OF(gate_up, 1, "ffn_up", DIM_EMBD, DIM_FF, up),
    MATRIX("ffn_down", DIM_FF, DIM_EMBD, down, IN_DENSE),
    {0},
};

const tensor_slot slots_qkv_bias[] = {
    VECTOR("attn_q.bias", DIM_Q, bq),
    VECTOR("attn_k.bias", DIM_K, bk),
    VECTOR("attn_v.bias", DIM_V, bv),
    {0},
};

#define QKV_BIAS                                                                               \
 OPTIONAL_OF(qkv, 0, "attn_q.bias", DIM_Q, bq), OPTIONAL_OF(qkv, 1, "attn_k.bias", DIM_K, bk), \
     OPTIONAL_OF(qkv, 2, "attn_v.bias", DIM_V, bv)

const tensor_slot slots_qkv_any_bias[] = {QKV_BIAS, {0}};

const tensor_slot slots_any_bias[] = {
    QKV_BIAS,
    OPTIONAL("attn_output.bias", DIM_EMBD, bo, IN_ALL),
    OPTIONAL("ffn_gate.bias", DIM_FF, b_gate, IN_DENSE),
    OPTIONAL("ffn_up.bias", DIM_FF, b_up, IN_DENSE),
    OPTIONAL("ffn_down.bias", DIM_EMBD, b_down, IN_DENSE),
    {0},
};

const tensor_slot slots_qk_norm[] = {
    VECTOR("attn_q_norm.weight", DIM_HEAD, q_norm),
    VECTOR("attn_k_norm.weight", DIM_HEAD, k_norm),
    {0},
};

const tensor_slot slots_qk_norms_apart[] = {
    TABLE("attn_q_norm.weight", DIM_HEAD, DIM_HEADS, q_norm),
    TABLE("attn_k_norm.weight", DIM_HEAD, DIM_HEADS_KV, k_norm),
    {0},
};

const tensor_slot slots_qk_norms_whole[] = {
    VECTOR("attn_q_norm.weight", DIM_Q, q_norm),
    VECTOR("attn_k_norm.weight", DIM_K, k_norm),
    {0},
};

const tensor_slot slots_late_norm[] = {
    VECTOR("post_attention_norm.weight", DIM_EMBD, ffn_norm),
    {0},
};

const tensor_slot slots_sinks[] = {
    VECTOR("attn_sinks.weight", DIM_HEADS, sinks),
    {0},
};

const tensor_slot slots_post_norms[] = {
    VECTOR("post_attention_norm.weight", DIM_EMBD, attn_post_norm),
    VECTOR("post_ffw_norm.weight", DIM_EMBD, ffn_post_norm),
    {0},
};

const tensor_slot slots_moe[] = {
    MATRIX("ffn_gate_inp", DIM_EMBD, DIM_EXPERTS, router, IN_MOE),
    OPTIONAL("ffn_gate_inp.bias", DIM_EXPERTS, b_router, IN_MOE),
    OPTIONAL("exp_probs_b.bias", DIM_EXPERTS, b_choice, IN_MOE),
    EXPERTS("ffn_gate_exps", DIM_EMBD, DIM_FF_EXPERT, x_gate),
    EXPERTS("ffn_up_exps", DIM_EMBD, DIM_FF_EXPERT, x_up),
    EXPERTS("ffn_down_exps", DIM_FF_EXPERT, DIM_EMBD, x_down),
    EXPERT_BIAS("ffn_gate_exps", DIM_FF_EXPERT, bx_gate),
    EXPERT_BIAS("ffn_up_exps", DIM_FF_EXPERT, bx_up),
    EXPERT_BIAS("ffn_down_exps", DIM_EMBD, bx_down),
    MATRIX("ffn_gate_shexp", DIM_EMBD, DIM_FF_SHARED, s_gate, IN_MOE),
    MATRIX("ffn_up_shexp", DIM_EMBD, DIM_FF_SHARED, s_up, IN_MOE),
    MATRIX("ffn_down_shexp", DIM_FF_SHARED, DIM_EMBD, s_down, IN_MOE),
    OPTIONAL("ffn_gate_inp_shexp.weight", DIM_EMBD, s_router, IN_MOE),
    {0},
};
