/* SPDX-License-Identifier: MIT
 *
 * llama: Llama 1 to 3, Mistral, TinyLlama, SmolLM, the Llama distills of DeepSeek-R1; with
 * experts Mixtral. Converted files have q and k rows re-ordered so that rotary pairs are
 * neighbours. */
#include "model/arch.h"

const arch arch_llama = {
    .name = "llama",
    .rope = ROPE_NORM,
    .router = ROUTER_SOFTMAX,
    .is_expert_norm = true,
    .slots = {slots_attn, slots_ffn, slots_moe, slots_any_bias},
};
