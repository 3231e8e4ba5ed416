/* SPDX-License-Identifier: MIT
 *
 * gemma3: Gemma 3. As gemma2 without caps; heads of q and k normalised; five layers of six see a
 * window, with rotary frequencies of their own that no scaling touches. */
#include "model/arch.h"
#include "model/gemma.h"

static void adjust(hparams *hp, layer *layers) {
    gemma_scales(hp, layers, 62);
}

const arch arch_gemma3 = {
    .name = "gemma3",
    .rope = ROPE_NEOX,
    .ffn = FFN_GELU,
    .window = {.period = 6, .has_rope = true, .is_plain = true, .base = 10000},
    .slots = {slots_attn, slots_ffn, slots_post_norms, slots_qk_norm},
    .adjust = adjust,
};
