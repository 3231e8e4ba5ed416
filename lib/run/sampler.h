/* SPDX-License-Identifier: MIT
 *
 * The sampler as the rest of the library and its tests see it: ew_sampler_new is sampler_new with a
 * model's vocabulary. */
#ifndef EW_RUN_SAMPLER_H
#define EW_RUN_SAMPLER_H

#include "base/mem.h"
#include "run/constraint.h"
#include "run/cut.h"
#include "run/penalty.h"

/* What is needed of a vocabulary. */
typedef struct {
    int32_t n;
    token_texts texts; /* what a token adds to a text; for control tokens their names */
    bool (*is_eog)(const void *ctx, int32_t id); /* with texts.ctx */
} sampler_vocab;

/* budget: charged for the work space (EW_MEM_SCRATCH). What v refers to must outlive the sampler.
 */
ew_status sampler_new(ew_sampler **out, const sampler_vocab *v, mem_budget *budget,
                      const ew_sampler_options *o, ew_error *err);

/* All of ew_sampler_sample but the choice: the candidates left, borrowed until the next call. */
ew_status sampler_candidates(ew_sampler *s, const float *logits, cand_set *out, ew_error *err);

/* What a sampler with the default options is charged for. */
uint64_t sampler_default_bytes(int32_t n_vocab);

int32_t sampler_n_vocab(const ew_sampler *s);

/* Forgets accepted tokens; random numbers and mirostat go on. */
void sampler_forget(ew_sampler *s);

#endif
