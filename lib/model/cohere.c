/* SPDX-License-Identifier: MIT
 *
 * command-r and cohere2: Command R, Command R7B, Aya. Attention and feed-forward read one layer
 * norm; logits are scaled. In cohere2 the layers with a window alone have positions. */
#include "model/arch.h"

static void adjust(hparams *hp, layer *layers) {
    for (uint32_t i = 0; i < hp->n_layer; i++)
        if (!layers[i].window) layers[i].rope_set = ROPE_NOT;
}

const arch arch_command_r = {
    .name = "command-r",
    .rope = ROPE_NORM,
    .norm = NORM_LAYER,
    .is_parallel = true,
    .qk_span = SPAN_APART,
    .slots = {slots_attn, slots_ffn_bare, slots_any_bias, slots_qk_norms_apart},
};

const arch arch_cohere2 = {
    .name = "cohere2",
    .rope = ROPE_NORM,
    .norm = NORM_LAYER,
    .is_parallel = true,
    .window = {.period = 4},
    .slots = {slots_attn, slots_ffn_bare, slots_any_bias},
    .adjust = adjust,
};
