/* SPDX-License-Identifier: MIT
 *
 * Candidates for the next token and the cuts that thin them out: top-k, typical, top-p, min-p, XTC
 * and mirostat's.
 *
 * Nothing here sorts. Each cut that keeps "the best until a sum is reached" is one selection by
 * parts (quickselect with weights, its pivots pseudo-random but the same every time), linear in the
 * number of candidates; the others are filters.
 * Probabilities are kept as weights exp(x) beside their sum, so that a cut needs no second softmax.
 * Weights take IEEE basic operations only (kernels/exp.h), so equal logits give equal weights on
 * every platform. */
#ifndef EW_RUN_CUT_H
#define EW_RUN_CUT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    float x; /* logit; after cut_softmax less the largest one and divided by the temperature */
    float p; /* exp(x), not normalised */
    int32_t id;
} cand;

typedef struct {
    cand *c;
    size_t n;
    double mass; /* sum of p */
} cand_set;

enum {
    CUT_HEAP_MAX = 1024
}; /* up to this top_k, cut_gather needs room for top_k candidates only */

/* Fills s with the top_k largest logits (0: all); logits of -INFINITY are left out,
 * so that s->n may become 0. No logit is NaN or +INFINITY. s->c has room for top_k candidates when
 * it is at most CUT_HEAP_MAX (and not 0), for n otherwise. Ties: the lower id is the better. */
void cut_gather(cand_set *s, const float *logits, size_t n, size_t top_k);

/* The best first: what is left does not depend on the way it was gathered. */
void cut_order(cand_set *s);

/* Sets x, p and mass; drops what is too unlikely for a float. temperature > 0. From here on s->n is
 * at least 1 and every p over 0. */
void cut_softmax(cand_set *s, float temperature);

/* Each keeps at least one candidate and needs cut_softmax before it. */
void cut_typical(cand_set *s, double p);     /* nearest to the expected surprise, until mass > p */
void cut_top_p(cand_set *s, double p);       /* the most likely, until mass >= p */
void cut_min_p(cand_set *s, double p);       /* p times as likely as the best, or more */
void cut_xtc(cand_set *s, double threshold); /* of those at or over it, only the least likely */
void cut_mirostat(cand_set *s, double mu);   /* surprise of at most mu bits */

/* The candidate at share u, in [0, 1), of the mass, counted from the most likely one down: a
 * definition that does not depend on the order the cuts have left. Leaves s in disorder. */
cand cut_choose(cand_set *s, double u);

/* mu after a candidate with probability p among the survivors was chosen. */
double mirostat_next(double mu, double tau, double eta, double p);

#endif
