/* SPDX-License-Identifier: MIT
 *
 * What the Gemma architectures share beyond their tables. */
#ifndef EW_MODEL_GEMMA_H
#define EW_MODEL_GEMMA_H

#include "model/arch.h"

#include <math.h>

/* Embeddings are scaled by the root of their width. The largest model of a generation, known by
 * its n_layer_27b layers, divides scores by the root of n_embd / n_head instead of head_dim. */
static inline void gemma_scales(hparams *hp, layer *layers, uint32_t n_layer_27b) {
    hp->embd_scale = sqrtf((float)hp->n_embd);
    for (uint32_t i = 0; i < hp->n_layer && hp->n_layer == n_layer_27b; i++)
        layers[i].attn_scale = 1.0f / sqrtf((float)(hp->n_embd / layers[i].n_head));
}

#endif
