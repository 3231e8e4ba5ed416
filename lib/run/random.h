/* SPDX-License-Identifier: MIT
 *
 * Random numbers for sampling: xoshiro256** (Blackman and Vigna), seeded through splitmix64 as its
 * authors advise. Integer arithmetic alone, so a seed means the same on every platform. */
#ifndef EW_RUN_RANDOM_H
#define EW_RUN_RANDOM_H

#include <stdint.h>

typedef struct {
    uint64_t s[4]; /* not all zero */
} rng;

static inline uint64_t splitmix64(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline void rng_seed(rng *r, uint64_t seed) {
    for (int i = 0; i < 4; i++) r->s[i] = splitmix64(&seed);
}

static inline uint64_t rng_rotl(uint64_t x, int k) {
    return x << k | x >> (64 - k);
}

static inline uint64_t rng_next(rng *r) {
    uint64_t *s = r->s;
    const uint64_t result = rng_rotl(s[1] * 5, 7) * 9;
    const uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rng_rotl(s[3], 45);
    return result;
}

/* In [0, 1), a multiple of 2^-53. */
static inline double rng_unit(rng *r) {
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

#endif
