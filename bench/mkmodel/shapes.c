/* SPDX-License-Identifier: MIT
 *
 * Shapes of public models, from their published configurations. */
#include "bench/mkmodel/mkmodel.h"

/* clang-format off */
static const mk_shape shapes[] = {
    /* name, arch, layers, embd, heads, kv, head_dim, ff, vocab, ctx, theta, factor, tied, bias */
    {"llama-3.2-1b",   "llama", 16, 2048, 32,  8,  64,  8192, 128256, 131072, 500000, 32, true,  false, MK_LLAMA3},
    {"llama-3.2-3b",   "llama", 28, 3072, 24,  8, 128,  8192, 128256, 131072, 500000, 32, true,  false, MK_LLAMA3},
    {"llama-3.1-8b",   "llama", 32, 4096, 32,  8, 128, 14336, 128256, 131072, 500000,  8, false, false, MK_LLAMA3},
    {"llama-3-8b",     "llama", 32, 4096, 32,  8, 128, 14336, 128256,   8192, 500000,  0, false, false, MK_LLAMA3},
    {"llama-3.3-70b",  "llama", 80, 8192, 64,  8, 128, 28672, 128256, 131072, 500000,  8, false, false, MK_LLAMA3},
    {"llama-2-7b",     "llama", 32, 4096, 32, 32, 128, 11008,  32000,   4096,  10000,  0, false, false, MK_SPM},
    {"llama-2-13b",    "llama", 40, 5120, 40, 40, 128, 13824,  32000,   4096,  10000,  0, false, false, MK_SPM},
    {"tinyllama-1.1b", "llama", 22, 2048, 32,  4,  64,  5632,  32000,   2048,  10000,  0, false, false, MK_TINYLLAMA},
    {"mistral-7b",     "llama", 32, 4096, 32,  8, 128, 14336,  32768,  32768, 1000000, 0, false, false, MK_MISTRAL},
    {"smollm2-135m",   "llama", 30,  576,  9,  3,  64,  1536,  49152,   8192, 100000,  0, true,  false, MK_SMOLLM},
    {"smollm2-360m",   "llama", 32,  960, 15,  5,  64,  2560,  49152,   8192, 100000,  0, true,  false, MK_SMOLLM},
    {"smollm2-1.7b",   "llama", 24, 2048, 32, 32,  64,  8192,  49152,   8192, 130000,  0, true,  false, MK_SMOLLM},
    {"qwen2.5-0.5b",   "qwen2", 24,  896, 14,  2,  64,  4864, 151936,  32768, 1000000, 0, true,  true,  MK_QWEN2},
    {"qwen2.5-1.5b",   "qwen2", 28, 1536, 12,  2, 128,  8960, 151936,  32768, 1000000, 0, true,  true,  MK_QWEN2},
    {"qwen2.5-3b",     "qwen2", 36, 2048, 16,  2, 128, 11008, 151936,  32768, 1000000, 0, true,  true,  MK_QWEN2},
    {"qwen2.5-7b",     "qwen2", 28, 3584, 28,  4, 128, 18944, 152064,  32768, 1000000, 0, false, true,  MK_QWEN2},
    {"qwen2.5-14b",    "qwen2", 48, 5120, 40,  8, 128, 13824, 152064,  32768, 1000000, 0, false, true,  MK_QWEN2},
    {"qwen2.5-32b",    "qwen2", 64, 5120, 40,  8, 128, 27648, 152064,  32768, 1000000, 0, false, true,  MK_QWEN2},
    {"qwen2.5-72b",    "qwen2", 80, 8192, 64,  8, 128, 29568, 152064,  32768, 1000000, 0, false, true,  MK_QWEN2},
    {"deepseek-r1-distill-qwen-1.5b", "qwen2", 28, 1536, 12, 2, 128,  8960, 151936, 131072,   10000, 0, false, true,  MK_R1_QWEN},
    {"deepseek-r1-distill-qwen-7b",   "qwen2", 28, 3584, 28, 4, 128, 18944, 152064, 131072,   10000, 0, false, true,  MK_R1_QWEN},
    {"deepseek-r1-distill-qwen-14b",  "qwen2", 48, 5120, 40, 8, 128, 13824, 152064, 131072, 1000000, 0, false, true,  MK_R1_QWEN},
    {"deepseek-r1-distill-qwen-32b",  "qwen2", 64, 5120, 40, 8, 128, 27648, 152064, 131072, 1000000, 0, false, true,  MK_R1_QWEN},
    {"deepseek-r1-distill-llama-8b",  "llama", 32, 4096, 32, 8, 128, 14336, 128256, 131072,  500000, 8, false, false, MK_R1_LLAMA},
};
/* clang-format on */

const mk_shape *mk_shape_at(size_t i) {
    return i < sizeof shapes / sizeof *shapes ? &shapes[i] : NULL;
}

const mk_shape *mk_shape_find(const char *name) {
    for (size_t i = 0; mk_shape_at(i); i++)
        if (strcmp(shapes[i].name, name) == 0) return &shapes[i];
    return NULL;
}
