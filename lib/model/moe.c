/* SPDX-License-Identifier: MIT */
#include "model/moe.h"

#include <math.h>
#include <string.h>

static void softmax(float *x, size_t n) {
    float max = x[0];
    double sum = 0;

    for (size_t i = 1; i < n; i++) max = x[i] > max ? x[i] : max;
    for (size_t i = 0; i < n; i++) sum += (double)(x[i] = expf(x[i] - max));
    for (size_t i = 0; i < n; i++) x[i] = (float)((double)x[i] / sum);
}

/* The n_used best of x[i] + bias[i], best first, of equals the first. NaNs come last. */
static void choose_best(const float *x, const float *bias, uint32_t n, uint32_t n_used,
                        uint32_t *chosen) {
    for (uint32_t k = 0; k < n_used; k++) {
        float best = -INFINITY;
        uint32_t at = n;

        for (uint32_t i = 0; i < n; i++) {
            const float v = x[i] + (bias ? bias[i] : 0);
            bool is_taken = false;

            if (at < n && !(v > best)) continue;
            for (uint32_t j = 0; j < k && !is_taken; j++) is_taken = chosen[j] == i;
            if (is_taken) continue;
            at = i;
            best = v;
        }
        chosen[k] = at;
    }
}

void moe_choose(const hparams *hp, const float *b_choice, float *scores, uint32_t *chosen,
                float *by) {
    const uint32_t n = hp->n_expert, n_used = hp->n_expert_used;
    float sum = 0;

    if (hp->router == ROUTER_SOFTMAX) softmax(scores, n);
    for (uint32_t i = 0; i < n && hp->router == ROUTER_SIGMOID; i++)
        scores[i] = 1 / (1 + expf(-scores[i]));
    choose_best(scores, b_choice, n, n_used, chosen);
    for (uint32_t k = 0; k < n_used; k++) by[k] = scores[chosen[k]];
    if (hp->router == ROUTER_SOFTMAX_CHOSEN) softmax(by, n_used);
    for (uint32_t k = 0; k < n_used; k++) sum += by[k];
    sum = sum > 0x1p-14f ? sum : 0x1p-14f; /* as the reference has it */
    for (uint32_t k = 0; k < n_used; k++)
        by[k] = (hp->is_expert_norm ? by[k] / sum : by[k]) * hp->expert_scale;
}

void moe_group(const hparams *hp, moe_space *s, uint32_t n_tok) {
    const uint32_t n = hp->n_expert, n_row = n_tok * hp->n_expert_used;

    memset(s->first, 0, (n + 1) * sizeof *s->first);
    for (uint32_t i = 0; i < n_row; i++) s->first[s->chosen[i] + 1]++;
    s->n_active = 0;
    for (uint32_t e = 0; e < n; e++) {
        if (s->first[e + 1]) s->active[s->n_active++] = e;
        s->first[e + 1] += s->first[e];
    }
    for (uint32_t i = 0; i < n_row; i++) {
        s->row[i] = s->first[s->chosen[i]]++;
        s->token[s->row[i]] = i / hp->n_expert_used;
    }
    memmove(s->first + 1, s->first, n * sizeof *s->first); /* each is now the next one's */
    s->first[0] = 0;
}
