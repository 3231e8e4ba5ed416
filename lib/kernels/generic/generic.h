/* SPDX-License-Identifier: MIT
 *
 * The plain C versions, a file each, and how they get into the table. */
#ifndef EW_KERNELS_GENERIC_GENERIC_H
#define EW_KERNELS_GENERIC_GENERIC_H

#include "kernels/kern.h"

void generic_fill_dequant(kern_table *t);
void generic_fill_matmul(kern_table *t);
void generic_fill_act(kern_table *t);
void generic_fill_vec(kern_table *t);
void generic_fill_attn(kern_table *t);

float generic_dot_f32(const float *x, const float *y, size_t n);

#endif
