/* SPDX-License-Identifier: MIT
 *
 * Filling the table, and the small facts about forms that its users need. */
#include "kernels/kern.h"

#include "edgewise.h"
#include "kernels/generic/generic.h"
#include "kernels/half.h"
#include "tensor/block.h"

void kern_fill_generic(kern_table *t) {
    memset(t, 0, sizeof *t);
    generic_fill_dequant(t);
    generic_fill_matmul(t);
    generic_fill_act(t);
    generic_fill_vec(t);
    generic_fill_attn(t);
    t->isa = "generic";
}

void kern_fill(kern_table *t, uint32_t features) {
    kern_fill_generic(t);
#if defined(__x86_64__)
    if (!(features & EW_CPU_AVX2)) return;
    kern_fill_avx2(t); /* Haswell 2013, Zen 2017 */
    if (!(features & EW_CPU_AVX512)) return;
    kern_fill_avx512(t); /* Cascade Lake 2019, Zen 4 2022 */
#else
    (void)features;
#endif
}

act_form act_of(elem_type t) {
    const uint32_t block = type_get((uint32_t)t)->block_elems;

    if (block == BLOCK_SUPER) return ACT_Q8_K;
    return block == BLOCK_SMALL ? ACT_Q8_32 : ACT_F32;
}

size_t act_bytes(act_form f, size_t n) {
    size_t bytes = 0;

    switch (f) {
    case ACT_F32:
        bytes = n * sizeof(float);
        break;
    case ACT_Q8_32:
        bytes = (n + 127) / 128 * sizeof(act_q8_32);
        break;
    case ACT_Q8_K:
        bytes = n / 256 * sizeof(act_q8_k);
        break;
    case ACT_COUNT:
        break;
    }
    return (bytes + 63) / 64 * 64;
}

size_t kv_row_bytes(kv_form f, size_t n) {
    switch (f) {
    case KVT_F16:
        return n * 2;
    case KVT_Q8_0:
        return (n + 31) / 32 * sizeof(block_q8_0);
    case KVT_F32:
        return n * sizeof(float);
    case KVT_COUNT:
        break;
    }
    return 0;
}

bool type_is_supported(elem_type t) {
    kern_table k;

    if ((uint32_t)t >= TYPE_COUNT) return false;
    kern_fill_generic(&k);
    return k.dequant[t] && k.matmul[t];
}

float f16_to_f32(uint16_t h) {
    return half_f32(h);
}

/* Rounding to nearest even by adding just under half of the last kept bit, plus that bit. */
uint16_t f32_to_f16(float f) {
    const uint32_t u = f32_bits(f), mag = u & 0x7fffffffu, sign = u >> 16 & 0x8000u;

    if (mag > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (mag >> 13 & 0x3ffu)); /* NaN */
    if (mag >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and up: infinity */
    if (mag < 0x38800000u) {
        /* Below 2^-14 halves are subnormal, a fixed step of 2^-24: adding 0.5 puts that step into
         * the last bit of the float, rounded by the addition itself. */
        return (uint16_t)(sign | (f32_bits(bits_f32(mag) + 0.5f) - f32_bits(0.5f)));
    }
    return (uint16_t)(sign | ((mag - 0x38000000u + 0xfffu + (mag >> 13 & 1u)) >> 13));
}
