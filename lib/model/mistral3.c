/* SPDX-License-Identifier: MIT
 *
 * mistral3: Ministral 3 and Mistral models since. As llama, with queries sharpened by their
 * position where the metadata say so. */
#include "model/arch.h"

const arch arch_mistral3 = {
    .name = "mistral3",
    .rope = ROPE_NORM,
    .has_temperature = true,
    .router = ROUTER_SOFTMAX,
    .is_expert_norm = true,
    .slots = {slots_attn, slots_ffn, slots_moe, slots_any_bias},
};
