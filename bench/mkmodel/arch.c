/* SPDX-License-Identifier: MIT
 *
 * What the layers of each architecture hold, from its published configurations. Kept apart from the
 * engine's descriptors: a file made by these and read by those is a test of both. */
#include "bench/mkmodel/mkmodel.h"

static const mk_arch archs[] = {
    {"llama", 0, NULL},
    {"qwen2", MK_QKV_BIAS, NULL},
    {"qwen3", MK_QK_NORM, NULL},
    {"gemma2", MK_POST_NORMS, NULL},
    {"gemma3", MK_POST_NORMS | MK_QK_NORM, NULL},
    {"phi3", MK_STACKED_QKV | MK_STACKED_GATE, NULL},
};

const mk_arch *mk_arch_find(const char *name) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strcmp(archs[i].name, name) == 0) return &archs[i];
    return NULL;
}
