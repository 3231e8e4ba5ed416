/* SPDX-License-Identifier: MIT */
#include "tensor/type.h"

static const type_info types[TYPE_COUNT] = {
    [TYPE_F32] = {"F32", 1, 4},
    [TYPE_F16] = {"F16", 1, 2},
    [TYPE_Q4_0] = {"Q4_0", 32, 18},
    [TYPE_Q4_1] = {"Q4_1", 32, 20},
    [TYPE_Q5_0] = {"Q5_0", 32, 22},
    [TYPE_Q5_1] = {"Q5_1", 32, 24},
    [TYPE_Q8_0] = {"Q8_0", 32, 34},
    [TYPE_Q2_K] = {"Q2_K", 256, 84},
    [TYPE_Q3_K] = {"Q3_K", 256, 110},
    [TYPE_Q4_K] = {"Q4_K", 256, 144},
    [TYPE_Q5_K] = {"Q5_K", 256, 176},
    [TYPE_Q6_K] = {"Q6_K", 256, 210},
    [TYPE_IQ2_XXS] = {"IQ2_XXS", 256, 66},
    [TYPE_IQ2_XS] = {"IQ2_XS", 256, 74},
    [TYPE_IQ3_XXS] = {"IQ3_XXS", 256, 98},
    [TYPE_IQ1_S] = {"IQ1_S", 256, 50},
    [TYPE_IQ4_NL] = {"IQ4_NL", 32, 18},
    [TYPE_IQ3_S] = {"IQ3_S", 256, 110},
    [TYPE_IQ2_S] = {"IQ2_S", 256, 82},
    [TYPE_IQ4_XS] = {"IQ4_XS", 256, 136},
    [TYPE_I8] = {"I8", 1, 1},
    [TYPE_I16] = {"I16", 1, 2},
    [TYPE_I32] = {"I32", 1, 4},
    [TYPE_I64] = {"I64", 1, 8},
    [TYPE_F64] = {"F64", 1, 8},
    [TYPE_IQ1_M] = {"IQ1_M", 256, 56},
    [TYPE_BF16] = {"BF16", 1, 2},
    [TYPE_TQ1_0] = {"TQ1_0", 256, 54},
    [TYPE_TQ2_0] = {"TQ2_0", 256, 66},
    [TYPE_MXFP4] = {"MXFP4", 32, 17},
    [TYPE_NVFP4] = {"NVFP4", 64, 36},
    [TYPE_Q1_0] = {"Q1_0", 128, 18},
    [TYPE_Q2_0] = {"Q2_0", 64, 18},
};

const type_info *type_get(uint32_t id) {
    static const type_info none = {0};

    return id < TYPE_COUNT ? &types[id] : &none;
}
