/* SPDX-License-Identifier: MIT
 *
 * Rotary positions: the table of cosines and sines of one position, all scalings folded in. */
#ifndef EW_MODEL_ROPE_H
#define EW_MODEL_ROPE_H

#include "model/model.h"

/* Whether sessions of this many tokens rotate by the long factors. */
bool rope_is_long(const rope_params *r, uint32_t ctx_tokens);

/* freq[n_rot / 2]: radians a position for each pair, and the factor of cos and sin. */
void rope_frequencies(const rope_params *r, bool is_long, double *freq, double *magnitude);

/* cs[2p], cs[2p + 1] = magnitude * cos, sin of pos * freq[p] for p < n_pair. */
void rope_table(float *cs, const double *freq, double magnitude, uint32_t n_pair, uint32_t pos);

#endif
