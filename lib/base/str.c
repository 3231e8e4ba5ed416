/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include "base/mem.h"

#include <stdio.h>

uint64_t str_hash(str s) {
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < s.n; i++) h = (h ^ (uint8_t)s.p[i]) * 1099511628211u;
    return h;
}

const char *size_text(char out[SIZE_TEXT], uint64_t bytes) {
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    size_t u = 0;

    /* 1023.95 and up would be printed as 1024.0 of the smaller unit. */
    while (v >= 1023.995 && u + 1 < sizeof unit / sizeof unit[0]) {
        v /= 1024;
        u++;
    }
    snprintf(out, SIZE_TEXT, u ? "%.2f %s" : "%.0f %s", v, unit[u]);
    return out;
}

void strbuf_init(strbuf *b, size_t max_bytes) {
    *b = (strbuf){.max = max_bytes};
}

void strbuf_fini(strbuf *b) {
    mem_free(b->p);
    *b = (strbuf){0};
}

void strbuf_clear(strbuf *b) {
    b->n = 0;
    b->failed = false;
    if (b->p) b->p[0] = 0;
}

static bool reserve(strbuf *b, size_t extra) {
    size_t want, cap;
    char *p;

    if (b->failed) return false;
    if (extra > b->max - b->n) return !(b->failed = true);
    want = b->n + extra + 1;
    if (want <= b->cap) return true;
    cap = b->cap < 64 ? 64 : b->cap;
    while (cap < want) cap = cap > SIZE_MAX / 2 ? want : cap * 2;
    p = mem_resize(b->p, cap, 1);
    if (!p) return !(b->failed = true);
    b->p = p;
    b->cap = cap;
    return true;
}

void strbuf_add(strbuf *b, const void *bytes, size_t n) {
    if (!reserve(b, n)) return;
    if (n) memcpy(b->p + b->n, bytes, n);
    b->n += n;
    b->p[b->n] = 0;
}

void strbuf_str(strbuf *b, str s) {
    strbuf_add(b, s.p, s.n);
}

void strbuf_puts(strbuf *b, const char *s) {
    strbuf_add(b, s, strlen(s));
}

void strbuf_printf(strbuf *b, const char *fmt, ...) {
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !reserve(b, (size_t)n)) {
        b->failed = true;
        return;
    }
    va_start(ap, fmt);
    vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->n += (size_t)n;
}

char *strbuf_take(strbuf *b, size_t *n) {
    char *p = NULL;

    if (!b->failed && reserve(b, 0)) {
        p = b->p;
        p[b->n] = 0;
        if (n) *n = b->n;
        b->p = NULL;
    }
    strbuf_fini(b);
    return p;
}
