/* SPDX-License-Identifier: MIT
 *
 * olmo2: OLMo 2 and 3. Branches are normalised after instead of before; all heads of q, and of k,
 * together. With a window, its layers are not scaled. */
#include "model/arch.h"

const arch arch_olmo2 = {
    .name = "olmo2",
    .rope = ROPE_NEOX,
    .qk_span = SPAN_WHOLE,
    .window = {.period = 4, .has_rope = true, .is_plain = true},
    .slots = {slots_attn_bare, slots_ffn_bare, slots_post_norms, slots_qk_norms_whole,
              slots_any_bias},
};
