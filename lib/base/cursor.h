/* SPDX-License-Identifier: MIT
 *
 * Reading untrusted bytes: a cursor that cannot run past its end. Numbers are little-endian and
 * assembled from bytes, never read through a cast pointer. */
#ifndef EW_BASE_CURSOR_H
#define EW_BASE_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const uint8_t *at, *end;
} cursor;

static inline uint64_t cursor_left(const cursor *c) {
    return (uint64_t)(c->end - c->at);
}

static inline bool cursor_take(cursor *c, uint64_t n, const uint8_t **out) {
    if (n > cursor_left(c)) return false;
    *out = c->at;
    c->at += n;
    return true;
}

static inline uint32_t load_u16(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}
static inline uint32_t load_u32(const uint8_t *p) {
    return load_u16(p) | load_u16(p + 2) << 16;
}
static inline uint64_t load_u64(const uint8_t *p) {
    return load_u32(p) | (uint64_t)load_u32(p + 4) << 32;
}
static inline float load_f32(const uint8_t *p) {
    const uint32_t u = load_u32(p);
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

static inline bool cursor_u32(cursor *c, uint32_t *out) {
    const uint8_t *p;

    if (!cursor_take(c, 4, &p)) return false;
    *out = load_u32(p);
    return true;
}
static inline bool cursor_u64(cursor *c, uint64_t *out) {
    const uint8_t *p;

    if (!cursor_take(c, 8, &p)) return false;
    *out = load_u64(p);
    return true;
}

#endif
