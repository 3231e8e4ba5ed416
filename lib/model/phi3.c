/* SPDX-License-Identifier: MIT
 *
 * phi3: Phi-3, Phi-3.5, Phi-4. q, k and v stacked in one tensor, gate and up in another; long
 * contexts by frequency factors, one set for sessions longer than the original context. The
 * sliding window that some files name is not used: their metadata and the published models
 * disagree about it, and the reference leaves it off. */
#include "model/arch.h"

const arch arch_phi3 = {
    .name = "phi3",
    .rope = ROPE_NEOX,
    .slots = {slots_attn, slots_gate_up, slots_any_bias},
};
