/* SPDX-License-Identifier: MIT
 *
 * gemma2: Gemma 2. Norms before and after each branch, soft caps on scores and logits, embeddings
 * scaled, every other layer sees a window. Stored norm weights include the 1 of the paper's 1 + w.
 */
#include "model/arch.h"
#include "model/gemma.h"

static void adjust(hparams *hp, layer *layers) {
    gemma_scales(hp, layers, 46);
    if (hp->logit_softcap == 0) hp->logit_softcap = 30;
    if (hp->attn_softcap == 0) hp->attn_softcap = 50;
}

const arch arch_gemma2 = {
    .name = "gemma2",
    .rope = ROPE_NEOX,
    .ffn = FFN_GELU,
    .window = {.period = 2, .tokens = 4096, .has_rope = true},
    .slots = {slots_attn, slots_ffn, slots_post_norms},
    .adjust = adjust,
};
