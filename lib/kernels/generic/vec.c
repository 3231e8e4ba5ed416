/* SPDX-License-Identifier: MIT
 *
 * Vectors of floats: dot product, sums, norms, activation, rotation. Sums run in eight lanes that
 * are added up in a fixed order, as a vector unit does it. */
#include "kernels/generic/generic.h"
#include "kernels/tanh.h"

#include <math.h>

static float lanes_sum(const float *a) {
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

float generic_dot_f32(const float *x, const float *y, size_t n) {
    float acc[8] = {0};
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        for (size_t k = 0; k < 8; k++) acc[k] += x[i + k] * y[i + k];
    }
    for (; i < n; i++) acc[i % 8] += x[i] * y[i];
    return lanes_sum(acc);
}

static void axpy_f32(float *y, float a, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

static void add_f32(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

/* The sum of squares is kept in double: activations of some models reach 1e4 in a few places,
 * and their squares would drown the rest. */
static void rms_norm(float *y, const float *x, const float *w, size_t n, float eps) {
    double sum = 0;
    float scale;

    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    scale = (float)(1.0 / sqrt(sum / (double)n + (double)eps));
    for (size_t i = 0; i < n; i++) y[i] = x[i] * scale * w[i];
}

static void silu_mul(float *g, const float *u, size_t n) {
    for (size_t i = 0; i < n; i++) g[i] = g[i] / (1.0f + exp_f32(-g[i])) * u[i];
}

static void gelu_mul(float *g, const float *u, size_t n) {
    for (size_t i = 0; i < n; i++) g[i] = gelu_f32(g[i]) * (u ? u[i] : 1.0f);
}

static void swiglu_clamped(float *g, const float *u, size_t n) {
    for (size_t i = 0; i < n; i++) g[i] = swiglu_clamped_f32(g[i], u[i]);
}

static void layer_norm(float *y, const float *x, const float *w, const float *b, size_t n,
                       float eps) {
    double sum = 0, squares = 0, mean;
    float scale;

    for (size_t i = 0; i < n; i++) sum += (double)x[i];
    mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    scale = (float)(1.0 / sqrt(squares / (double)n + (double)eps));
    for (size_t i = 0; i < n; i++) y[i] = (x[i] - (float)mean) * scale * w[i] + (b ? b[i] : 0);
}

static void softcap(float *x, float cap, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = cap * tanh_f32(x[i] / cap);
}

static void rope_norm(float *x, const float *cs, size_t n_rot) {
    for (size_t i = 0; i < n_rot; i += 2) {
        const float a = x[i], b = x[i + 1];

        x[i] = a * cs[i] - b * cs[i + 1];
        x[i + 1] = a * cs[i + 1] + b * cs[i];
    }
}

static void rope_neox(float *x, const float *cs, size_t n_rot) {
    const size_t half = n_rot / 2;

    for (size_t p = 0; p < half; p++) {
        const float a = x[p], b = x[p + half];

        x[p] = a * cs[2 * p] - b * cs[2 * p + 1];
        x[p + half] = a * cs[2 * p + 1] + b * cs[2 * p];
    }
}

static float exp_sum(float *x, float max, size_t n) {
    float acc[8] = {0};

    for (size_t i = 0; i < n; i++) {
        x[i] = exp_f32(x[i] - max);
        acc[i % 8] += x[i];
    }
    return lanes_sum(acc);
}

/* A NaN among the values gives NaN, wherever it stands. */
static float max_f32(const float *x, size_t n) {
    float max = x[0];

    for (size_t i = 1; i < n; i++) max = x[i] > max || isnan(x[i]) ? x[i] : max;
    return max;
}

static uint64_t read_sum(const void *p, size_t n) {
    const uint8_t *at = p;
    uint64_t sum[8] = {0};

    for (size_t i = 0; i < n; i += 64) {
        uint64_t word[8];

        memcpy(word, at + i, sizeof word);
        for (int k = 0; k < 8; k++) sum[k] += word[k];
    }
    return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

void generic_fill_vec(kern_table *t) {
    t->dot_f32 = generic_dot_f32;
    t->axpy_f32 = axpy_f32;
    t->add_f32 = add_f32;
    t->rms_norm = rms_norm;
    t->silu_mul = silu_mul;
    t->gelu_mul = gelu_mul;
    t->swiglu_clamped = swiglu_clamped;
    t->layer_norm = layer_norm;
    t->softcap = softcap;
    t->rope_norm = rope_norm;
    t->rope_neox = rope_neox;
    t->exp_sum = exp_sum;
    t->max_f32 = max_f32;
    t->read_sum = read_sum;
}
