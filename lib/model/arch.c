/* SPDX-License-Identifier: MIT */
#include "model/arch.h"

#include <stddef.h>

static const arch *const archs[] = {&arch_gemma2, &arch_gemma3, &arch_llama,
                                    &arch_phi3,   &arch_qwen2,  &arch_qwen3};

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
#define MATRIX(name, in, out, member) \
 { name ".weight", SLOT_MATRIX, false, in, out, offsetof(layer, member), NULL, 0 }
#define VECTOR(name, in, member) \
 { name, SLOT_VECTOR, false, in, DIM_ONE, offsetof(layer, member), NULL, 0 }
#define OPTIONAL(name, in, member) \
 { name, SLOT_VECTOR, true, in, DIM_ONE, offsetof(layer, member), NULL, 0 }
/* The same, perhaps part i of a stack. */
#define MATRIX_OF(stack, i, name, in, out, member) \
 { name ".weight", SLOT_MATRIX, false, in, out, offsetof(layer, member), &stack, i }
#define OPTIONAL_OF(stack, i, name, in, member) \
 { name, SLOT_VECTOR, true, in, DIM_ONE, offsetof(layer, member), &stack, i }

const tensor_slot slots_attn[] = {
    VECTOR("attn_norm.weight", DIM_EMBD, attn_norm),
    MATRIX_OF(qkv, 0, "attn_q", DIM_EMBD, DIM_Q, wq),
    MATRIX_OF(qkv, 1, "attn_k", DIM_EMBD, DIM_K, wk),
    MATRIX_OF(qkv, 2, "attn_v", DIM_EMBD, DIM_V, wv),
    MATRIX("attn_output", DIM_O, DIM_EMBD, wo),
    {0},
};

const tensor_slot slots_ffn[] = {
    VECTOR("ffn_norm.weight", DIM_EMBD, ffn_norm),
    MATRIX("ffn_gate", DIM_EMBD, DIM_FF, gate),
    MATRIX("ffn_up", DIM_EMBD, DIM_FF, up),
    MATRIX("ffn_down", DIM_FF, DIM_EMBD, down),
    {0},
};

const tensor_slot slots_gate_up[] = {
    VECTOR("ffn_norm.weight", DIM_EMBD, ffn_norm),
    MATRIX_OF(gate_up, 0, "ffn_gate", DIM_EMBD, DIM_FF, gate),
    MATRIX_OF(gate_up, 1, "ffn_up", DIM_EMBD, DIM_FF, up),
    MATRIX("ffn_down", DIM_FF, DIM_EMBD, down),
    {0},
};

const tensor_slot slots_qkv_bias[] = {
    VECTOR("attn_q.bias", DIM_Q, bq),
    VECTOR("attn_k.bias", DIM_K, bk),
    VECTOR("attn_v.bias", DIM_V, bv),
    {0},
};

const tensor_slot slots_any_bias[] = {
    OPTIONAL_OF(qkv, 0, "attn_q.bias", DIM_Q, bq), OPTIONAL_OF(qkv, 1, "attn_k.bias", DIM_K, bk),
    OPTIONAL_OF(qkv, 2, "attn_v.bias", DIM_V, bv), OPTIONAL("attn_output.bias", DIM_EMBD, bo),
    OPTIONAL("ffn_gate.bias", DIM_FF, b_gate),     OPTIONAL("ffn_up.bias", DIM_FF, b_up),
    OPTIONAL("ffn_down.bias", DIM_EMBD, b_down),   {0},
};

const tensor_slot slots_qk_norm[] = {
    VECTOR("attn_q_norm.weight", DIM_HEAD, q_norm),
    VECTOR("attn_k_norm.weight", DIM_HEAD, k_norm),
    {0},
};

const tensor_slot slots_post_norms[] = {
    VECTOR("post_attention_norm.weight", DIM_EMBD, attn_post_norm),
    VECTOR("post_ffw_norm.weight", DIM_EMBD, ffn_post_norm),
    {0},
};
