/* SPDX-License-Identifier: MIT
 *
 * The options that decide which tokens are chosen and when to stop, with the names that users of
 * llama.cpp and Ollama know. */
#ifndef EW_CLI_SAMPLING_H
#define EW_CLI_SAMPLING_H

#include "cli/options.h"

typedef struct {
    ew_logit_bias *v;
    size_t n;
} bias_list;

typedef struct {
    double temp, top_p, min_p, typical_p;
    double repeat_penalty, presence_penalty, frequency_penalty;
    double dry_multiplier, dry_base, xtc_probability, xtc_threshold;
    double mirostat_tau, mirostat_eta;
    int64_t top_k, repeat_last_n, dry_allowed_length, dry_last_n, mirostat;
    int64_t seed;      /* below 1: another one each time */
    int64_t n_predict; /* below 0: until the model ends or the window is full */
    text_list stop, dry_breakers;
    bias_list bias;
    bool ignore_eos;
} sampling_args;

void sampling_args_init(sampling_args *a); /* the engine's defaults */
void sampling_args_fini(sampling_args *a);
option_group sampling_args_group(sampling_args *a);

/* EW_EINVAL names a token of --logit-bias that is not in the vocabulary: known only once there is
 * a model. */
ew_status sampling_check(const sampling_args *a, int32_t n_vocab, ew_error *err);

/* out borrows from a. */
void sampling_options(const sampling_args *a, ew_sampler_options *out);

#endif
