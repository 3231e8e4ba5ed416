/* SPDX-License-Identifier: MIT
 *
 * granite and granitemoe: Granite 3 and 4. As llama with scales of embeddings, branches, scores and
 * logits. */
#include "model/arch.h"

/* Files of models without positions say so by a key that elsewhere tells a fine-tuned scaling. */
static void adjust(hparams *hp, layer *layers) {
    for (uint32_t i = 0; i < hp->n_layer && !hp->rope[ROPE_FULL].is_finetuned; i++)
        layers[i].rope_set = ROPE_NOT;
}

const arch arch_granite = {
    .name = "granite",
    .rope = ROPE_NORM,
    .divides_logits = true,
    .slots = {slots_attn, slots_ffn, slots_any_bias},
    .adjust = adjust,
};

const arch arch_granitemoe = {
    .name = "granitemoe",
    .rope = ROPE_NORM,
    .divides_logits = true,
    .router = ROUTER_SOFTMAX,
    .is_expert_norm = true,
    .slots = {slots_attn, slots_ffn, slots_moe, slots_any_bias},
};
