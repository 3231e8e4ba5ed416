/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t round_key[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

static uint32_t load_be(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static void take_block(uint32_t h[8], const uint8_t *p) {
    uint32_t w[64], v[8];

    for (int i = 0; i < 16; i++) w[i] = load_be(p + 4 * i);
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        const uint32_t a = v[0], e = v[4];
        const uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                            ((e & v[5]) ^ (~e & v[6])) + round_key[i] + w[i];
        const uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                            ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) h[i] += v[i];
}

void sha256_init(sha256 *s) {
    /* The fractions of the square roots of the first eight primes. */
    *s = (sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                        0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(sha256 *s, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    const size_t waiting = (size_t)(s->n_bytes % 64);

    s->n_bytes += n;
    if (waiting) {
        const size_t take = n < 64 - waiting ? n : 64 - waiting;

        memcpy(s->block + waiting, p, take);
        if (waiting + take < 64) return;
        take_block(s->h, s->block);
        p += take;
        n -= take;
    }
    for (; n >= 64; p += 64, n -= 64) take_block(s->h, p);
    if (n) memcpy(s->block, p, n);
}

sha256_hex sha256_end(sha256 *s) {
    const uint64_t n_bits = s->n_bytes * 8;
    /* 0x80, zeros up to 8 bytes before the end of a block, the length in bits. */
    const size_t n_pad = 1 + (size_t)((119 - s->n_bytes % 64) % 64);
    uint8_t pad[72] = {0x80};
    sha256_hex out;

    for (int i = 0; i < 8; i++) pad[n_pad + (size_t)i] = (uint8_t)(n_bits >> (56 - 8 * i));
    sha256_add(s, pad, n_pad + 8);
    for (int i = 0; i < 8; i++) snprintf(out.hex + 8 * i, 9, "%08x", s->h[i]);
    return out;
}

ew_status sha256_file(sha256_hex *out, const char *path, ew_error *err) {
    file_map map = {0};
    sha256 s;
    ew_status rc = file_map_open(&map, path, false, err);

    if (rc) return rc;
    sha256_init(&s);
    if (map.size) sha256_add(&s, map.data, (size_t)map.size);
    *out = sha256_end(&s);
    file_map_close(&map);
    return EW_OK;
}
