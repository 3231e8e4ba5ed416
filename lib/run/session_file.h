/* SPDX-License-Identifier: MIT
 *
 * Session files. Little-endian:
 *   "EWSESSN\1"  u32 version  u32 k type  u32 v type  u32 tokens  u64 model fingerprint
 *   u64 KV bytes a token  i32 token ids[tokens]  padding to 8
 *   for each layer, each key/value head: keys of all tokens, values of all tokens, padding to 8
 *   u64 checksum of everything before it
 * The KV cache stands there without its pages, so that it can be read back with other page sizes.
 */
#ifndef EW_RUN_SESSION_FILE_H
#define EW_RUN_SESSION_FILE_H

#include "base/error.h"

#include <stdint.h>

/* A session file taken apart: views into its bytes. */
typedef struct {
    uint32_t type_k, type_v, n_tokens;
    uint64_t fingerprint, token_bytes;
    const uint8_t *tokens; /* n_tokens little-endian i32 */
    const uint8_t *kv;
    uint64_t kv_bytes;
} session_image;

/* Checks structure and checksum; name stands in errors. Pure function of the bytes. EW_EFORMAT, or
 * EW_EMISMATCH for another version. */
ew_status session_image_parse(session_image *out, const uint8_t *bytes, uint64_t n,
                              const char *name, ew_error *err);

/* Running checksum over whole 8-byte words. */
uint64_t session_checksum(uint64_t h, const uint8_t *bytes, uint64_t n);

#endif
