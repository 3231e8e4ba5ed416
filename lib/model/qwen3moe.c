/* SPDX-License-Identifier: MIT
 *
 * qwen3moe: Qwen3-30B-A3B and its like. qwen3's attention, experts in every layer. */
#include "model/arch.h"

const arch arch_qwen3moe = {
    .name = "qwen3moe",
    .rope = ROPE_NEOX,
    .router = ROUTER_SOFTMAX,
    .divides_ff = true,
    .is_expert_norm = true,
    .slots = {slots_attn, slots_ffn, slots_moe, slots_qk_norm, slots_any_bias},
};
