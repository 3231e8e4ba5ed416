/* SPDX-License-Identifier: MIT
 *
 * What was said before makes its repetition less likely: the repeat, frequency and presence
 * penalties over the last tokens, and DRY over the last sequences.
 *
 * One array keeps the tokens both look back on. It slides by halves, so that accepting a token
 * costs constant time and the window is contiguous. */
#ifndef EW_RUN_PENALTY_H
#define EW_RUN_PENALTY_H

#include "run/match.h"

typedef struct {
    int32_t *tokens; /* [cap], the last n of what was accepted */
    int32_t *match;  /* [cap] work space of DRY, NULL without it */
    size_t n, cap;
    size_t keep;  /* tokens that must stay within reach; SIZE_MAX: all, and the arrays grow */
    bool is_lost; /* no memory to grow: a token is missing since */
} history;

/* reserve: tokens taken before anything has to grow when keep is SIZE_MAX. */
ew_status hist_init(history *h, size_t keep, size_t reserve, bool for_dry, ew_error *err);
void hist_fini(history *h); /* an empty {0} is fine */
void hist_clear(history *h);
void hist_add(history *h, int32_t id);

/* Repeat, frequency and presence penalty over a window of `last` tokens (SIZE_MAX: all). */
typedef struct {
    int32_t *count; /* [n_vocab] occurrences in the window; NULL: off */
    size_t last;
    float repeat, frequency, presence;
} penalties;

/* Call before the token joins h. */
void penalties_accept(penalties *p, const history *h, int32_t id);
void penalties_apply(const penalties *p, float *logits, size_t n_vocab);

/* DRY ("don't repeat yourself"): a token that would continue a sequence seen before, whose `len`
 * tokens end what was said, loses multiplier * base^(len - allowed). Sequences do not reach back
 * over a breaker: a string whose last byte lies in some token. */
typedef struct {
    int32_t *longest; /* [n_vocab], all 0 between calls; NULL: off */
    match_set *breakers;
    size_t last;        /* tokens looked at, SIZE_MAX: all */
    size_t since_break; /* tokens accepted after the one a breaker ended in */
    float multiplier, base;
    int32_t allowed;
} dry;

void dry_accept(dry *d, str text); /* text of the accepted token */
/* text gives a token's text: a token that holds a whole breaker is never penalised. */
typedef struct {
    const void *ctx;
    str (*text)(const void *ctx, int32_t id);
} token_texts;
void dry_apply(const dry *d, const history *h, token_texts texts, float *logits);

#endif
