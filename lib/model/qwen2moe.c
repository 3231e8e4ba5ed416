/* SPDX-License-Identifier: MIT
 *
 * qwen2moe: Qwen1.5-MoE, Qwen2-57B-A14B. qwen2's attention; the chosen experts' weights are left as
 * the softmax has them, and an expert that all tokens share is scaled by a gate of its own. */
#include "model/arch.h"

static void adjust(hparams *hp, layer *layers) {
    if (hp->n_expert && !hp->n_ff_shared) hp->n_ff_shared = layers[0].n_ff;
}

const arch arch_qwen2moe = {
    .name = "qwen2moe",
    .rope = ROPE_NEOX,
    .router = ROUTER_SOFTMAX,
    .divides_ff = true,
    .slots = {slots_attn, slots_ffn, slots_moe, slots_any_bias},
    .adjust = adjust,
};
