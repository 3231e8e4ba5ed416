/* SPDX-License-Identifier: MIT
 *
 * Mixture of experts: a router gives each token a few experts; the step's tokens are grouped by
 * expert, so that the weights of each are read once, and every token's results are added up in the
 * order of its choice, whatever else is in the step. */
#ifndef EW_MODEL_MOE_H
#define EW_MODEL_MOE_H

#include "backend/cpu/ops.h"
#include "model/model.h"

/* Work space: a row is one token's share of one expert. */
typedef struct {
    float *scores;    /* [chunk, n_expert] the router's outputs */
    uint32_t *chosen; /* [chunk, n_used] experts, the most probable first */
    float *by;        /* [chunk, n_used] their weights */
    uint32_t *row;    /* [chunk, n_used] where the token's row of each is */
    uint32_t *token;  /* [chunk * n_used] the token of each row */
    uint32_t *first;  /* [n_expert + 1] */
    uint32_t *active; /* [n_expert] */
    acts in;          /* [chunk * n_used, n_embd] gathered by expert */
    acts hidden;      /* [chunk * n_used, n_ff_expert] */
    float *out;       /* [chunk * n_used, n_embd] */
    size_t n_active;
} moe_space;

/* Chooses the experts of a token from its scores, which are overwritten. b_choice may be NULL. */
void moe_choose(const hparams *hp, const float *b_choice, float *scores, uint32_t *chosen,
                float *by);

/* Gives each of n_tok tokens' choices a row, those of an expert together, in the tokens' order. */
void moe_group(const hparams *hp, moe_space *s, uint32_t n_tok);

#endif
