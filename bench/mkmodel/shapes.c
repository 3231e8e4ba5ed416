/* SPDX-License-Identifier: MIT
 *
 * Shapes of public models, from their published configurations. */
#include "bench/mkmodel/mkmodel.h"

/* The end of a row without experts and what else is rare. */
#define DENSE 0, 0, 0, 0, 0, false, NULL
#define GEMMA_4B                                                                      \
 "attention.sliding_window=1024 rope.freq_base_swa=10000.0 rope.scaling.type=linear " \
 "rope.scaling.factor=8.0"

#define GPT_OSS                                                                  \
 "attention.sliding_window=128 rope.scaling.type=yarn rope.scaling.factor=32.0 " \
 "rope.scaling.original_context_length=4096"

/* clang-format off */
static const mk_shape shapes[] = {
    /* name, arch, layers, embd, heads, kv, head_dim, ff, vocab, ctx, theta, factor, tied, vocabulary;
     * then experts, of them used, their width, the shared one's, rotated elements, long factors */
    {"llama-3.2-1b",   "llama", 16, 2048, 32,  8,  64,  8192, 128256, 131072, 500000, 32, true,  MK_LLAMA3, DENSE},
    {"llama-3.2-3b",   "llama", 28, 3072, 24,  8, 128,  8192, 128256, 131072, 500000, 32, true,  MK_LLAMA3, DENSE},
    {"llama-3.1-8b",   "llama", 32, 4096, 32,  8, 128, 14336, 128256, 131072, 500000,  8, false, MK_LLAMA3, DENSE},
    {"llama-3-8b",     "llama", 32, 4096, 32,  8, 128, 14336, 128256,   8192, 500000,  0, false, MK_LLAMA3, DENSE},
    {"llama-3.3-70b",  "llama", 80, 8192, 64,  8, 128, 28672, 128256, 131072, 500000,  8, false, MK_LLAMA3, DENSE},
    {"llama-2-7b",     "llama", 32, 4096, 32, 32, 128, 11008,  32000,   4096,  10000,  0, false, MK_SPM, DENSE},
    {"llama-2-13b",    "llama", 40, 5120, 40, 40, 128, 13824,  32000,   4096,  10000,  0, false, MK_SPM, DENSE},
    {"tinyllama-1.1b", "llama", 22, 2048, 32,  4,  64,  5632,  32000,   2048,  10000,  0, false, MK_TINYLLAMA, DENSE},
    {"mistral-7b",     "llama", 32, 4096, 32,  8, 128, 14336,  32768,  32768, 1000000, 0, false, MK_MISTRAL, DENSE},
    {"smollm2-135m",   "llama", 30,  576,  9,  3,  64,  1536,  49152,   8192, 100000,  0, true,  MK_SMOLLM, DENSE},
    {"smollm2-360m",   "llama", 32,  960, 15,  5,  64,  2560,  49152,   8192, 100000,  0, true,  MK_SMOLLM, DENSE},
    {"smollm2-1.7b",   "llama", 24, 2048, 32, 32,  64,  8192,  49152,   8192, 130000,  0, true,  MK_SMOLLM, DENSE},
    {"qwen2.5-0.5b",   "qwen2", 24,  896, 14,  2,  64,  4864, 151936,  32768, 1000000, 0, true,  MK_QWEN2, DENSE},
    {"qwen2.5-1.5b",   "qwen2", 28, 1536, 12,  2, 128,  8960, 151936,  32768, 1000000, 0, true,  MK_QWEN2, DENSE},
    {"qwen2.5-3b",     "qwen2", 36, 2048, 16,  2, 128, 11008, 151936,  32768, 1000000, 0, true,  MK_QWEN2, DENSE},
    {"qwen2.5-7b",     "qwen2", 28, 3584, 28,  4, 128, 18944, 152064,  32768, 1000000, 0, false, MK_QWEN2, DENSE},
    {"qwen2.5-14b",    "qwen2", 48, 5120, 40,  8, 128, 13824, 152064,  32768, 1000000, 0, false, MK_QWEN2, DENSE},
    {"qwen2.5-32b",    "qwen2", 64, 5120, 40,  8, 128, 27648, 152064,  32768, 1000000, 0, false, MK_QWEN2, DENSE},
    {"qwen2.5-72b",    "qwen2", 80, 8192, 64,  8, 128, 29568, 152064,  32768, 1000000, 0, false, MK_QWEN2, DENSE},
    {"deepseek-r1-distill-qwen-1.5b", "qwen2", 28, 1536, 12, 2, 128,  8960, 151936, 131072,   10000, 0, false, MK_R1_QWEN, DENSE},
    {"deepseek-r1-distill-qwen-7b",   "qwen2", 28, 3584, 28, 4, 128, 18944, 152064, 131072,   10000, 0, false, MK_R1_QWEN, DENSE},
    {"deepseek-r1-distill-qwen-14b",  "qwen2", 48, 5120, 40, 8, 128, 13824, 152064, 131072, 1000000, 0, false, MK_R1_QWEN, DENSE},
    {"deepseek-r1-distill-qwen-32b",  "qwen2", 64, 5120, 40, 8, 128, 27648, 152064, 131072, 1000000, 0, false, MK_R1_QWEN, DENSE},
    {"qwen3-0.6b",     "qwen3", 28, 1024, 16,  8, 128,  3072, 151936,  40960, 1000000, 0, true,  MK_QWEN2, DENSE},
    {"qwen3-4b",       "qwen3", 36, 2560, 32,  8, 128,  9728, 151936,  40960, 1000000, 0, true,  MK_QWEN2, DENSE},
    {"qwen3-8b",       "qwen3", 36, 4096, 32,  8, 128, 12288, 151936,  40960, 1000000, 0, false, MK_QWEN2, DENSE},
    {"gemma-3-4b",     "gemma3", 34, 2560,  8, 4, 256, 10240, 262144, 131072, 1000000, 0, true,  MK_SPM, 0, 0, 0, 0, 0, false, GEMMA_4B},
    {"gemma-3-12b",    "gemma3", 48, 3840, 16, 8, 256, 15360, 262144, 131072, 1000000, 0, true,  MK_SPM, 0, 0, 0, 0, 0, false, GEMMA_4B},
    {"qwen3-30b-a3b",  "qwen3moe", 48, 2048, 32, 4, 128, 6144, 151936, 40960, 1000000, 0, false, MK_QWEN2, 128, 8, 768, 0, 0, false, NULL},
    {"olmoe-1b-7b",    "olmoe",   16, 2048, 16, 16, 128, 1024,  50304,  4096,   10000, 0, false, MK_SMOLLM, 64, 8, 0, 0, 0, false, NULL},
    {"gpt-oss-20b",    "gpt-oss", 24, 2880, 64,  8,  64, 2880, 201088, 131072, 150000, 0, false, MK_LLAMA3, 32, 4, 2880, 0, 0, false, GPT_OSS},
    {"deepseek-r1-distill-llama-8b",  "llama", 32, 4096, 32, 8, 128, 14336, 128256, 131072,  500000, 8, false, MK_R1_LLAMA, DENSE},
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
