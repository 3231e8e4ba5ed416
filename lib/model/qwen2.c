/* SPDX-License-Identifier: MIT
 *
 * qwen2: Qwen2, Qwen2.5, the Qwen distills of DeepSeek-R1. As llama with biases on q, k and v and
 * rotary pairs half a head apart. */
#include "model/arch.h"

const arch arch_qwen2 = {
    .name = "qwen2",
    .rope = ROPE_NEOX,
    .slots = {slots_attn, slots_ffn, slots_qkv_bias},
};
