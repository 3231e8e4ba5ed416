/* SPDX-License-Identifier: MIT
 *
 * Repeatable random numbers for tests (splitmix64). */
#ifndef EW_TESTS_SUPPORT_RNG_H
#define EW_TESTS_SUPPORT_RNG_H

#include <stdint.h>

typedef struct {
    uint64_t state;
} rng;

static inline uint64_t rng_next(rng *r) {
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Even in [-1, 1). */
static inline float rng_float(rng *r) {
    return (float)(int32_t)(rng_next(r) >> 32) * 0x1p-31f;
}

static inline uint32_t rng_below(rng *r, uint32_t n) {
    return (uint32_t)((rng_next(r) >> 32) * n >> 32);
}

#endif
