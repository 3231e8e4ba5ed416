/* SPDX-License-Identifier: MIT */
#include "cli/score.h"

#include <math.h>
#include <stdlib.h>

double score_log_sum(const float *logits, size_t n) {
    float max = logits[0];
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        if (isnan(logits[i])) return (double)NAN;
        if (logits[i] > max) max = logits[i];
    }
    if (isinf(max)) return (double)max; /* inf - inf below would be NaN */
    for (size_t i = 0; i < n; i++) sum += exp((double)logits[i] - (double)max);
    return (double)max + log(sum);
}

double score_kl(const float *p, double log_sum_p, const float *q, double log_sum_q, size_t n) {
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        const double log_p = (double)p[i] - log_sum_p;
        const double prob = exp(log_p);

        if (prob > 0) sum += prob * (log_p - ((double)q[i] - log_sum_q));
    }
    return sum < 0 ? 0 : sum; /* rounding may leave a little less than nothing */
}

size_t score_argmax(const float *logits, size_t n) {
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double percentile(const double *sorted, size_t n, double share) {
    const double at = share * (double)(n - 1);
    const size_t below = (size_t)at;

    if (below + 1 >= n) return sorted[n - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

score_summary score_summarise(double *values, size_t n) {
    score_summary s = {0};
    double squares = 0;

    for (size_t i = 0; i < n; i++) s.mean += values[i];
    s.mean /= (double)n;
    for (size_t i = 0; i < n; i++) squares += (values[i] - s.mean) * (values[i] - s.mean);
    if (n > 1) s.mean_error = sqrt(squares / (double)(n - 1) / (double)n);
    qsort(values, n, sizeof *values, compare);
    s.median = percentile(values, n, 0.5);
    s.p99 = percentile(values, n, 0.99);
    s.max = values[n - 1];
    return s;
}
