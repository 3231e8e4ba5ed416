/* SPDX-License-Identifier: MIT
 *
 * gpt-oss. Biases everywhere; every other layer sees a window; a learned score, the sink, takes
 * part in each head's softmax; the router's softmax is over the chosen experts alone. The
 * feed-forward's norm is stored under the name that others give to the attention's second one. */
#include "model/arch.h"

const arch arch_gpt_oss = {
    .name = "gpt-oss",
    .rope = ROPE_NEOX,
    .ffn = FFN_CLAMPED,
    .window = {.period = 2, .has_rope = true},
    .router = ROUTER_SOFTMAX_CHOSEN,
    .slots = {slots_attn, slots_late_norm, slots_moe, slots_any_bias, slots_sinks},
};
