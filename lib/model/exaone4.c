/* SPDX-License-Identifier: MIT
 *
 * exaone4: EXAONE 4. Branches are normalised after instead of before, heads of q and k each. The
 * largest model has windows, and positions in their layers alone; smaller files may name a window
 * that their models don't have. */
#include "model/arch.h"

enum {
    LAYERS_32B = 64
};

static void adjust(hparams *hp, layer *layers) {
    for (uint32_t i = 0; i < hp->n_layer; i++)
        if (hp->n_layer != LAYERS_32B)
            layers[i].window = 0;
        else if (!layers[i].window)
            layers[i].rope_set = ROPE_NOT;
}

const arch arch_exaone4 = {
    .name = "exaone4",
    .rope = ROPE_NEOX,
    .window = {.period = 4, .tokens = 4096},
    .slots = {slots_attn_bare, slots_ffn_bare, slots_post_norms, slots_qk_norm, slots_any_bias},
    .adjust = adjust,
};
