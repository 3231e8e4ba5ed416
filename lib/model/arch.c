/* SPDX-License-Identifier: MIT */
#include "model/arch.h"

#include <stddef.h>

static const arch *const archs[] = {&arch_llama, &arch_qwen2};

const arch *arch_at(size_t i) {
    return i < sizeof archs / sizeof archs[0] ? archs[i] : NULL;
}

const arch *arch_find(str name) {
    const arch *a;

    for (size_t i = 0; (a = arch_at(i)) != NULL; i++)
        if (str_is(name, a->name)) return a;
    return NULL;
}

/* clang-format off: one tensor a line */
#define MATRIX(name, in, out, member) \
 { name ".weight", SLOT_MATRIX, false, in, out, offsetof(layer, member) }
#define VECTOR(name, in, member) \
 { name, SLOT_VECTOR, false, in, in, offsetof(layer, member) }
#define OPTIONAL(name, in, member) \
 { name, SLOT_VECTOR, true, in, in, offsetof(layer, member) }

const tensor_slot slots_dense[] = {
    VECTOR("attn_norm.weight", DIM_EMBD, attn_norm), MATRIX("attn_q", DIM_EMBD, DIM_Q, wq),
    MATRIX("attn_k", DIM_EMBD, DIM_K, wk),           MATRIX("attn_v", DIM_EMBD, DIM_V, wv),
    MATRIX("attn_output", DIM_O, DIM_EMBD, wo),      VECTOR("ffn_norm.weight", DIM_EMBD, ffn_norm),
    MATRIX("ffn_gate", DIM_EMBD, DIM_FF, gate),      MATRIX("ffn_up", DIM_EMBD, DIM_FF, up),
    MATRIX("ffn_down", DIM_FF, DIM_EMBD, down),      {0},
};

const tensor_slot slots_qkv_bias[] = {
    VECTOR("attn_q.bias", DIM_Q, bq),
    VECTOR("attn_k.bias", DIM_K, bk),
    VECTOR("attn_v.bias", DIM_V, bv),
    {0},
};

const tensor_slot slots_any_bias[] = {
    OPTIONAL("attn_q.bias", DIM_Q, bq),
    OPTIONAL("attn_k.bias", DIM_K, bk),
    OPTIONAL("attn_v.bias", DIM_V, bv),
    OPTIONAL("attn_output.bias", DIM_EMBD, bo),
    {0},
};
