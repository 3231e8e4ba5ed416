/* SPDX-License-Identifier: MIT
 *
 * The parts of the x86 versions, a file each. */
#ifndef EW_KERNELS_X86_X86_H
#define EW_KERNELS_X86_X86_H

#include "kernels/kern.h"

void avx2_fill_float(kern_table *t); /* F32, F16, BF16 */
void avx2_fill_small(kern_table *t); /* blocks of 32 */
void avx2_fill_super(kern_table *t); /* blocks of 256 */
void avx2_fill_act(kern_table *t);
void avx2_fill_vec(kern_table *t);
void avx2_fill_attn(kern_table *t);
void avx2_fill_packed(kern_table *t);
void avx512_fill_packed(kern_table *t);
void avx512_fill_attn(kern_table *t);
void avx512_fill_vec(kern_table *t);

#endif
