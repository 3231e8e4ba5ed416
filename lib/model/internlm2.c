/* SPDX-License-Identifier: MIT
 *
 * internlm2: InternLM 2 and 2.5. As llama. */
#include "model/arch.h"

const arch arch_internlm2 = {
    .name = "internlm2",
    .rope = ROPE_NORM,
    .slots = {slots_attn, slots_ffn, slots_any_bias},
};
