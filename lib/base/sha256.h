/* SPDX-License-Identifier: MIT
 *
 * SHA-256 (FIPS 180-4), to name files by their contents. */
#ifndef EW_BASE_SHA256_H
#define EW_BASE_SHA256_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t h[8];
    uint64_t n_bytes;  /* so far */
    uint8_t block[64]; /* n_bytes % 64 of them are waiting */
} sha256;

typedef struct {
    char hex[65]; /* terminated */
} sha256_hex;

void sha256_init(sha256 *s);
void sha256_add(sha256 *s, const void *bytes, size_t n);
sha256_hex sha256_end(sha256 *s); /* s is used up */

/* The whole file at path. */
ew_status sha256_file(sha256_hex *out, const char *path, ew_error *err);

#endif
