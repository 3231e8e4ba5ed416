/* SPDX-License-Identifier: MIT
 *
 * glm4: GLM-4-0414, GLM-Z1. Norms before and after each branch, gate and up stacked, part of each
 * head rotated. */
#include "model/arch.h"

const arch arch_glm4 = {
    .name = "glm4",
    .rope = ROPE_NORM,
    .slots = {slots_attn, slots_gate_up, slots_post_norms, slots_qkv_any_bias},
};
