/* SPDX-License-Identifier: MIT
 *
 * Comparing the engine with recorded results of another implementation (llama.cpp): what a recorded
 * run holds, how far two correct implementations may be apart, and the comparison.
 *
 * How far apart two correct evaluations may be. Each rounds: the input x of a matrix product goes
 * to 8-bit blocks with quantised weights (step d = max|x| / 127, error uniform in +-d/2, so
 * d/sqrt(12) rms), to half or bfloat16 in the reference with F16 and BF16 weights, and a float sum
 * of n terms is off by about sqrt(n) * 2^-24. Call eps the error's length relative to x. A matrix
 * that doesn't single out the error's direction hands the relative length on, and so does RMS norm;
 * a branch adds its relative error to the residual stream weighed by its share of it, at most 1. A
 * layer rounds four times in series (into q/k/v, the output projection, gate/up, down), the head
 * once, and independent errors add as squares:
 *
 *     sigma <= eps * sqrt(4 * n_layer + 1) * S,    S = rms of the logits
 *
 * for one side. In float that is the sigma used: eps = sqrt(n) * 2^-24, n the longest row. With 8
 * bits it is several times too large, as trained matrices amplify the signal more than noise, so
 * there the noise is taken from the reference: it has been recorded with its rounding and with
 * weights expanded to F32, and the rms difference of the two is its sigma (differences of gaps, of
 * two logits, count half). The formula must hold for that sigma; it is asserted, with eps =
 * kappa / (127 * sqrt(12)), kappa = max|x| / rms(x) of a block: 2.5 for 32 normal values, 3.1 for
 * 256, taken as 4 and 6 as activations have heavier tails.
 *
 * When both sides round, their roundings agree only while their inputs do: inputs that differ by a
 * share t of a step round differently for a share t of the elements, which makes the difference
 * sqrt(t) steps, and a few layers later the roundings are independent. So
 *
 *     bound = 5 * sqrt(sides) * sigma,
 *
 * sides = 2 for 8 bits and for float; 1 for F16 and BF16 weights, whose activations the engine
 * keeps in float. Of the twenty thousand numbers that the tests compare, not one normal one is
 * beyond 5 sigma.
 *
 * A router chooses: where two experts are all but equal, another rounding may take the other one,
 * and the result is no longer near. With 8 bits or halves this befalls a few steps in a hundred of
 * a mixture of experts; as many are let through (never in float).
 *
 * Nothing in the bound comes from the engine's own results. */
#ifndef EW_TESTS_ORACLE_H
#define EW_TESTS_ORACLE_H

#include "edgewise.h"

#include <jansson.h>

enum {
    ORACLE_MAX_PROMPT = 1024,
    ORACLE_MAX_STEP = 256,
    ORACLE_MAX_LOGIT = 64
};

typedef struct {
    int32_t id;
    float logit;
} oracle_logit;

typedef struct {
    int32_t prompt[ORACLE_MAX_PROMPT], greedy[ORACLE_MAX_STEP];
    float gap[ORACLE_MAX_STEP]; /* between the two best logits at each step */
    size_t n_prompt, n_greedy, n_logit;
    oracle_logit logit[ORACLE_MAX_LOGIT]; /* after the prompt */
    const char *text;                     /* the prompt, or NULL; lives as long as the JSON */
} oracle_run;

/* Reads a run as the recorder writes it, or as the reference.json of the test data has it. */
void oracle_read(oracle_run *out, const json_t *j);

/* A logit's standard deviation on one side: relative to the logits' rms or absolute (one is 0). */
typedef struct {
    double relative, absolute;
    int sides;       /* how many of the two sides round so */
    bool may_choose; /* a router may choose otherwise */
} oracle_noise;

/* The formula, for the weight type of the model that rounds most; as_float: for float evaluation,
 * whatever the weights. */
oracle_noise oracle_formula(const ew_model *m, bool as_float);
/* From recorded runs of the same prompts with rounding and without; sides as in limit. Asserts that
 * the formula's limit holds. */
oracle_noise oracle_measured(const json_t *rounded, const json_t *exact, const oracle_noise *limit);
/* Are all matrices F32? Then nothing but float sums is rounded. */
bool oracle_is_float(const ew_model *m);
double oracle_bound(const oracle_noise *n, double logit_rms);

typedef struct {
    double max_logit; /* largest difference of a logit after a prompt */
    double max_gap;   /* of a gap at any step */
    double sum_gap2;  /* of squared differences of gaps */
    double sum_var;   /* of the variance expected of them */
    double bound;     /* smallest bound applied */
    size_t n_step, n_left, n_run;
    size_t n_chosen; /* steps beyond their bound, where a router may have chosen otherwise */
} oracle_score;

/* Evaluates the prompt and then the reference's own continuation in s (which is brought to the
 * prompt with ew_session_sync), and asserts: logits after the prompt within the bound, at every
 * step the reference's token is the best one unless its gap is within twice the bound, and the gap
 * differs by at most twice the bound. Adds to the score. */
void oracle_compare(ew_session *s, const ew_model *m, const oracle_run *run,
                    const oracle_noise *noise, oracle_score *score);

/* Asserts that greedy generation from the run's prompt gives its tokens, leaving them only at a
 * step where the recorded gap is within twice the bound. */
void oracle_generate(ew_session *s, ew_model *m, const oracle_run *run, const oracle_noise *noise,
                     oracle_score *score);

/* Asserts that the differences' rms is what the noise explains, and prints the largest.
 * how: "float" or "fast". */
void oracle_conclude(const char *name, const char *how, const oracle_score *stepped,
                     const oracle_score *generated);

double oracle_rms(const float *logits, int32_t n);

#endif
