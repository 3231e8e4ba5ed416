/* SPDX-License-Identifier: MIT
 *
 * qwen3: Qwen3. As qwen2 without biases; each head of q and k is normalised before it is rotated.
 */
#include "model/arch.h"

const arch arch_qwen3 = {
    .name = "qwen3",
    .rope = ROPE_NEOX,
    .slots = {slots_attn, slots_ffn, slots_qk_norm, slots_any_bias},
};
