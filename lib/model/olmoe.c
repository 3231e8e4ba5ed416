/* SPDX-License-Identifier: MIT
 *
 * olmoe: OLMoE. All heads of q, and of k, are normalised together; the chosen experts' weights are
 * left as the softmax has them. */
#include "model/arch.h"

const arch arch_olmoe = {
    .name = "olmoe",
    .rope = ROPE_NEOX,
    .qk_span = SPAN_WHOLE,
    .router = ROUTER_SOFTMAX,
    .slots = {slots_attn, slots_ffn, slots_moe, slots_qk_norms_whole, slots_any_bias},
};
