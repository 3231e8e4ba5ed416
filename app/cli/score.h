/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of likelihoods, in double and without overflow: logits may be any floats, also
 * -infinity. Natural logarithms throughout. */
#ifndef EW_CLI_SCORE_H
#define EW_CLI_SCORE_H

#include <stddef.h>

/* log(sum(exp(logits))); NaN when a logit is NaN. log p(i) = logits[i] - that. n >= 1. */
double score_log_sum(const float *logits, size_t n);

/* sum p * log(p / q), at least 0; log_sum_* as above. Infinity where q rules out what p allows. */
double score_kl(const float *p, double log_sum_p, const float *q, double log_sum_q, size_t n);

size_t score_argmax(const float *logits, size_t n); /* the first of equal ones */

/* What many values come to. */
typedef struct {
    double mean, mean_error; /* standard error of the mean */
    double median, p99, max; /* percentiles interpolate between neighbours */
} score_summary;

score_summary score_summarise(double *values, size_t n); /* sorts them; n >= 1 */

#endif
