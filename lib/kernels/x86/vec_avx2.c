/* SPDX-License-Identifier: MIT
 *
 * Vectors of floats with AVX2: dot product, sums, norm, activation, softmax's parts. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/x86/x86.h"

#include <math.h>

/* Elements i .. of n, the missing ones zero. */
INLINE __m256 load_rest(const float *x, size_t n) {
    float rest[8] = {0};

    memcpy(rest, x, n * sizeof *x);
    return _mm256_loadu_ps(rest);
}

static float dot_f32(const float *x, const float *y, size_t n) {
    __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
    size_t i = 0;

    for (; i + 32 <= n; i += 32) {
        a = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i), a);
        b = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 8), _mm256_loadu_ps(y + i + 8), b);
        c = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 16), _mm256_loadu_ps(y + i + 16), c);
        d = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 24), _mm256_loadu_ps(y + i + 24), d);
    }
    for (; i + 8 <= n; i += 8) {
        a = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i), a);
    }
    if (i < n) a = _mm256_fmadd_ps(load_rest(x + i, n - i), load_rest(y + i, n - i), a);
    return lanes_sum(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)));
}

static void axpy_f32(float *y, float a, const float *x, size_t n) {
    const __m256 av = _mm256_set1_ps(a);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_fmadd_ps(av, _mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i));

        _mm256_storeu_ps(y + i, v);
    }
    for (; i < n; i++) y[i] = fmaf(a, x[i], y[i]);
}

static void add_f32(float *y, const float *x, size_t n) {
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), _mm256_loadu_ps(x + i)));
    }
    for (; i < n; i++) y[i] += x[i];
}

/* Squares in double, as the plain C has them. */
static double square_sum(const float *x, size_t n) {
    __m256d a = _mm256_setzero_pd(), b = a;
    double lanes[4], sum;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256d p = _mm256_cvtps_pd(_mm_loadu_ps(x + i));
        const __m256d q = _mm256_cvtps_pd(_mm_loadu_ps(x + i + 4));

        a = _mm256_fmadd_pd(p, p, a);
        b = _mm256_fmadd_pd(q, q, b);
    }
    _mm256_storeu_pd(lanes, _mm256_add_pd(a, b));
    sum = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
    for (; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

static void rms_norm(float *y, const float *x, const float *w, size_t n, float eps) {
    const float scale = (float)(1.0 / sqrt(square_sum(x, n) / (double)n + (double)eps));
    const __m256 s = _mm256_set1_ps(scale);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x + i), s);

        _mm256_storeu_ps(y + i, _mm256_mul_ps(v, _mm256_loadu_ps(w + i)));
    }
    for (; i < n; i++) y[i] = x[i] * scale * w[i];
}

static void silu_mul(float *g, const float *u, size_t n) {
    const __m256 one = _mm256_set1_ps(1.0f), minus = _mm256_set1_ps(-0.0f);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_loadu_ps(g + i);
        const __m256 e = exp_avx2(_mm256_xor_ps(v, minus));
        const __m256 silu = _mm256_div_ps(v, _mm256_add_ps(one, e));

        _mm256_storeu_ps(g + i, _mm256_mul_ps(silu, _mm256_loadu_ps(u + i)));
    }
    for (; i < n; i++) g[i] = g[i] / (1.0f + exp_f32(-g[i])) * u[i];
}

static void gelu_mul(float *g, const float *u, size_t n) {
    const __m256 one = _mm256_set1_ps(1.0f);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 v = gelu_avx2(_mm256_loadu_ps(g + i));

        _mm256_storeu_ps(g + i, _mm256_mul_ps(v, u ? _mm256_loadu_ps(u + i) : one));
    }
    for (; i < n; i++) g[i] = gelu_f32(g[i]) * (u ? u[i] : 1.0f);
}

/* Clamps as the plain C does: a NaN comes from the second operand. */
static void swiglu_clamped(float *g, const float *u, size_t n) {
    const __m256 one = _mm256_set1_ps(1.0f), alpha = _mm256_set1_ps(SWIGLU_ALPHA);
    const __m256 high = _mm256_set1_ps(SWIGLU_LIMIT), low = _mm256_set1_ps(-SWIGLU_LIMIT);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 a = _mm256_min_ps(high, _mm256_loadu_ps(g + i));
        const __m256 b = _mm256_max_ps(low, _mm256_min_ps(high, _mm256_loadu_ps(u + i)));
        const __m256 e = exp_avx2(_mm256_mul_ps(alpha, a));
        const __m256 v = _mm256_div_ps(a, _mm256_add_ps(one, e));

        _mm256_storeu_ps(g + i, _mm256_mul_ps(v, _mm256_add_ps(b, one)));
    }
    for (; i < n; i++) g[i] = swiglu_clamped_f32(g[i], u[i]);
}

static void softcap(float *x, float cap, size_t n) {
    const __m256 c = _mm256_set1_ps(cap);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 v = tanh_avx2(_mm256_div_ps(_mm256_loadu_ps(x + i), c));

        _mm256_storeu_ps(x + i, _mm256_mul_ps(c, v));
    }
    for (; i < n; i++) x[i] = cap * tanh_f32(x[i] / cap);
}

static float exp_sum(float *x, float max, size_t n) {
    const __m256 m = _mm256_set1_ps(max);
    __m256 acc = _mm256_setzero_ps();
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 e = exp_avx2(_mm256_sub_ps(_mm256_loadu_ps(x + i), m));

        _mm256_storeu_ps(x + i, e);
        acc = _mm256_add_ps(acc, e);
    }
    if (i < n) {
        float rest[8] = {0};

        for (size_t k = 0; i < n; i++, k++) rest[k] = x[i] = exp_f32(x[i] - max);
        acc = _mm256_add_ps(acc, _mm256_loadu_ps(rest));
    }
    return lanes_sum(acc);
}

/* vmaxps forgets a NaN in its first operand: unordered lanes are noted apart. */
static float max_f32(const float *x, size_t n) {
    float lanes[8], max = x[0];
    size_t i = 0;
    bool has_nan = false;

    if (n >= 8) {
        __m256 m = _mm256_loadu_ps(x), bad = _mm256_setzero_ps();

        for (; i + 8 <= n; i += 8) {
            const __m256 v = _mm256_loadu_ps(x + i);

            m = _mm256_max_ps(m, v);
            bad = _mm256_or_ps(bad, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
        }
        has_nan = _mm256_movemask_ps(bad) != 0;
        _mm256_storeu_ps(lanes, m);
        for (int k = 0; k < 8; k++) max = lanes[k] > max ? lanes[k] : max;
    }
    for (; i < n; i++) max = x[i] > max || isnan(x[i]) ? x[i] : max;
    return has_nan ? NAN : max;
}

static uint64_t read_sum(const void *p, size_t n) {
    const uint8_t *at = p;
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    uint64_t lanes[4];
    size_t i = 0;

    for (; i + 128 <= n; i += 128) {
        a = _mm256_add_epi64(a, load256(at + i));
        b = _mm256_add_epi64(b, load256(at + i + 32));
        c = _mm256_add_epi64(c, load256(at + i + 64));
        d = _mm256_add_epi64(d, load256(at + i + 96));
    }
    if (i < n) {
        a = _mm256_add_epi64(a, load256(at + i));
        b = _mm256_add_epi64(b, load256(at + i + 32));
    }
    store256(lanes, _mm256_add_epi64(_mm256_add_epi64(a, b), _mm256_add_epi64(c, d)));
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

void avx2_fill_vec(kern_table *t) {
    t->dot_f32 = dot_f32;
    t->axpy_f32 = axpy_f32;
    t->add_f32 = add_f32;
    t->rms_norm = rms_norm;
    t->silu_mul = silu_mul;
    t->gelu_mul = gelu_mul;
    t->swiglu_clamped = swiglu_clamped;
    t->softcap = softcap;
    t->exp_sum = exp_sum;
    t->max_f32 = max_f32;
    t->read_sum = read_sum;
}
