/* SPDX-License-Identifier: MIT
 *
 * smollm3: SmolLM3. As llama; every fourth layer has no positions. */
#include "model/arch.h"

static void adjust(hparams *hp, layer *layers) {
    for (uint32_t i = 3; i < hp->n_layer; i += 4) layers[i].rope_set = ROPE_NOT;
}

const arch arch_smollm3 = {
    .name = "smollm3",
    .rope = ROPE_NORM,
    .slots = {slots_attn, slots_ffn, slots_any_bias},
    .adjust = adjust,
};
