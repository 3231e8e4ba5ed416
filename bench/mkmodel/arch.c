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
    {"qwen2moe", MK_QKV_BIAS | MK_SHARED_GATE | MK_MOE, NULL},
    {"qwen3moe", MK_QK_NORM | MK_MOE, NULL},
    {"olmoe", MK_QK_NORM_WHOLE | MK_MOE, NULL},
    {"granite", 0, "logit_scale=8.0"},
    {"granitemoe", 0, "logit_scale=8.0"},
    {"gpt-oss", MK_QKV_BIAS | MK_OUT_BIAS | MK_SINKS | MK_EXPERT_BIAS | MK_LATE_FFN_NORM | MK_MOE,
     NULL},
    {"mistral3", 0, NULL},
    {"smollm3", 0, NULL},
    {"glm4", MK_POST_NORMS | MK_STACKED_GATE, NULL},
    {"command-r", MK_PARALLEL | MK_LAYER_NORM, NULL},
    {"cohere2", MK_PARALLEL | MK_LAYER_NORM, "logit_scale=0.25"},
    {"olmo2", MK_NO_PRE_NORMS | MK_POST_NORMS | MK_QK_NORM_WHOLE, NULL},
    {"exaone4", MK_NO_PRE_NORMS | MK_POST_NORMS | MK_QK_NORM, NULL},
    {"internlm2", 0, NULL},
    {"starcoder2",
     MK_LAYER_NORM | MK_NORM_BIAS | MK_QKV_BIAS | MK_OUT_BIAS | MK_FFN_BIAS | MK_NO_GATE, NULL},
};

const mk_arch *mk_arch_find(const char *name) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strcmp(archs[i].name, name) == 0) return &archs[i];
    return NULL;
}
