/* SPDX-License-Identifier: MIT
 *
 * starcoder2: StarCoder2. Layer norms, biases everywhere, a feed-forward without a gate. */
#include "model/arch.h"

const arch arch_starcoder2 = {
    .name = "starcoder2",
    .rope = ROPE_NEOX,
    .norm = NORM_LAYER,
    .ffn = FFN_GELU_PLAIN,
    .slots = {slots_attn, slots_ffn_plain, slots_any_bias, slots_norm_bias},
};
