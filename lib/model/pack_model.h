/* SPDX-License-Identifier: MIT
 *
 * Packing a model's matrices for the kernels at load: in parallel, one matrix after another, giving
 * back the file's pages on the way, so that the peak is the packed size plus one matrix. */
#ifndef EW_MODEL_PACK_MODEL_H
#define EW_MODEL_PACK_MODEL_H

#include "model/model.h"

/* Sets group_bytes of the matrices that this engine multiplies by groups of rows, packed or not.
 * Returns the packed bytes of those that can be packed and, in *from_file, what they take there. */
uint64_t pack_mark(ew_model *m, uint64_t *from_file);

/* Is this one rewritten when weights are packed? */
bool pack_is_packable(const weight *w);

/* Brings a matrix's pages of the file into memory. */
void matrix_prefault(const ew_model *m, const weight *w);

/* Packs them into m->packed and drops their pages of the file; the others are brought
 * into memory. */
ew_status pack_run(ew_model *m, const ew_model_options *o, ew_error *err);

#endif
