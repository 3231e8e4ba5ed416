/* SPDX-License-Identifier: MIT
 *
 * tanh() for soft caps, and the activations GELU by tanh and clamped SwiGLU, on top of exp.h and
 * like it the same steps in every instruction set. Relative error under 4e-7.
 *
 * tanh(x) = (1 - t) / (1 + t) with t = exp(-2 |x|); near 0, where 1 - t cancels, the Taylor series
 * to x^9 (the next term is under 1e-8 of the sum). gelu(x) = x / 2 (1 + tanh(z)) is
 * x / (1 + exp(-2 z)). */
#ifndef EW_KERNELS_TANH_H
#define EW_KERNELS_TANH_H

#include "kernels/exp.h"

#define TANH_SMALL 0.25f
#define TANH_C3    -0.333333343f
#define TANH_C5    0.133333340f
#define TANH_C7    -0.0539682545f
#define TANH_C9    0.0218694881f
#define GELU_A     -1.59576917f   /* -2 sqrt(2 / pi) */
#define GELU_B     -0.0713548163f /* GELU_A * 0.044715 */

static inline float tanh_f32(float x) {
    const float a = bits_f32(f32_bits(x) & 0x7FFFFFFFu), x2 = x * x;
    const float t = exp_f32(-2.0f * a);
    float p = TANH_C9;

    if (a >= TANH_SMALL)
        return bits_f32(f32_bits((1.0f - t) / (1.0f + t)) | (f32_bits(x) & 1u << 31));
    p = p * x2 + TANH_C7;
    p = p * x2 + TANH_C5;
    p = p * x2 + TANH_C3;
    return x + x * (x2 * p);
}

static inline float gelu_f32(float x) {
    return x / (1.0f + exp_f32(x * (GELU_A + GELU_B * (x * x))));
}

#define SWIGLU_LIMIT 7.0f
#define SWIGLU_ALPHA -1.702f

static inline float swiglu_clamped_f32(float g, float u) {
    g = g > SWIGLU_LIMIT ? SWIGLU_LIMIT : g; /* these keep a NaN */
    u = u > SWIGLU_LIMIT ? SWIGLU_LIMIT : u;
    u = u < -SWIGLU_LIMIT ? -SWIGLU_LIMIT : u;
    return g / (1.0f + exp_f32(SWIGLU_ALPHA * g)) * (u + 1.0f);
}

#endif
