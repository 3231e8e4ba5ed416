/* SPDX-License-Identifier: MIT
 *
 * The x86 instruction sets' places in the table. */
#include "kernels/x86/x86.h"

void kern_fill_avx2(kern_table *t) {
    avx2_fill_float(t);
    avx2_fill_small(t);
    avx2_fill_super(t);
    avx2_fill_act(t);
    avx2_fill_vec(t);
    avx2_fill_attn(t);
    avx2_fill_packed(t);
    t->isa = "avx2";
}

void kern_fill_avx512(kern_table *t) {
    avx512_fill_packed(t);
    avx512_fill_attn(t);
    avx512_fill_vec(t);
    t->isa = "avx512";
}
