/* SPDX-License-Identifier: MIT
 *
 * Angles are computed in double: at position 100,000 a float's angle would be off by some 0.005
 * radians. Source of the scalings: "YaRN: Efficient Context Window Extension of Large Language
 * Models", section 3; the Llama 3 factors come ready in the file (rope_freqs.weight). */
#include "model/rope.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* The pair index at which a frequency turns `beta` times over the original context. */
static double yarn_pair(const rope_params *r, double beta) {
    return r->n_rot * log(r->orig_ctx / (beta * 2 * pi)) / (2 * log(r->base));
}

/* Share of pair p that is extrapolated (1: left as trained) rather than interpolated. */
static double yarn_keep(const rope_params *r, uint32_t p) {
    const double low = fmax(0, floor(yarn_pair(r, r->beta_fast)));
    const double high = fmin(r->n_rot - 1, ceil(yarn_pair(r, r->beta_slow)));
    const double at = (p - low) / fmax(0.001, high - low);

    return 1 - fmin(1, fmax(0, at));
}

bool rope_is_long(const rope_params *r, uint32_t ctx_tokens) {
    return r->long_factor && ctx_tokens > r->orig_ctx;
}

/* YaRN's growth of cos and sin with the factor. */
static double yarn_growth(double factor, double mul) {
    return factor > 1 ? 1 + 0.1 * mul * log(factor) : 1;
}

void rope_frequencies(const rope_params *r, bool is_long, double *freq, double *magnitude) {
    const float *divisor = is_long ? r->long_factor : r->freq_factor;

    *magnitude = r->attn_factor;
    if (r->scaling == ROPE_SCALE_YARN)
        *magnitude *= yarn_growth(r->factor, 1) / yarn_growth(r->factor, r->log_mul);
    for (uint32_t p = 0; p < r->n_rot / 2; p++) {
        double f = pow(r->base, -2.0 * p / r->n_rot);

        if (divisor) f /= (double)divisor[p];
        switch (r->scaling) {
        case ROPE_SCALE_NONE:
            break;
        case ROPE_SCALE_LINEAR:
            f /= r->factor;
            break;
        case ROPE_SCALE_YARN: {
            const double keep = yarn_keep(r, p);

            f = f / r->factor * (1 - keep) + f * keep;
            break;
        }
        }
        freq[p] = f;
    }
}

void rope_table(float *cs, const double *freq, double magnitude, uint32_t n_pair, uint32_t pos) {
    for (uint32_t p = 0; p < n_pair; p++) {
        const double a = freq[p] * pos;

        cs[2 * p] = (float)(magnitude * cos(a));
        cs[2 * p + 1] = (float)(magnitude * sin(a));
    }
}
