/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stdbool.h>

/* Length announced by a first byte, 0 for one that can't begin a sequence. */
static size_t announced(uint8_t b) {
    if (b < 0x80) return 1;
    if (b >= 0xC2 && b <= 0xDF) return 2;
    if (b >= 0xE0 && b <= 0xEF) return 3;
    if (b >= 0xF0 && b <= 0xF4) return 4;
    return 0;
}

/* May `b` be byte i (from 1) of a sequence that starts with `first`? The second byte's range is
 * narrower after E0, ED, F0 and F4 (overlong forms, surrogates, past U+10FFFF). */
static bool may_follow(uint8_t first, size_t i, uint8_t b) {
    if (i == 1 && first == 0xE0) return b >= 0xA0 && b <= 0xBF;
    if (i == 1 && first == 0xED) return b >= 0x80 && b <= 0x9F;
    if (i == 1 && first == 0xF0) return b >= 0x90 && b <= 0xBF;
    if (i == 1 && first == 0xF4) return b >= 0x80 && b <= 0x8F;
    return (b & 0xC0) == 0x80;
}

size_t utf8_decode(const char *p, size_t n, uint32_t *cp) {
    const uint8_t *u = (const uint8_t *)p;
    size_t len;
    uint32_t c;

    if (n == 0) return 0;
    len = announced(u[0]);
    if (len == 0 || len > n) return 0;
    c = len == 1 ? u[0] : u[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (!may_follow(u[0], i, u[i])) return 0;
        c = c << 6 | (u[i] & 0x3Fu);
    }
    *cp = c;
    return len;
}

size_t utf8_encode(uint32_t cp, char out[4]) {
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF)) return 0;
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

size_t utf8_whole(const char *p, size_t n) {
    const uint8_t *u = (const uint8_t *)p;

    /* Only the last three bytes can belong to an incomplete sequence. */
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        const uint8_t first = u[n - back];
        const size_t len = announced(first);

        if ((first & 0xC0) == 0x80) continue; /* a continuation: look further back */
        if (len <= back) return n;            /* complete, or can't begin a sequence */
        for (size_t i = 1; i < back; i++)
            if (!may_follow(first, i, u[n - back + i])) return n;
        return n - back;
    }
    return n;
}
