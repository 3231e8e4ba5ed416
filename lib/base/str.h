/* SPDX-License-Identifier: MIT
 *
 * Strings. `str` is a borrowed view, not terminated. `strbuf` is a growing byte buffer with a
 * maximum given when it is made, so that no peer can grow it without end. A failed append sets
 * `failed` and leaves the bytes; check once at the end. */
#ifndef EW_BASE_STR_H
#define EW_BASE_STR_H

#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const char *p;
    size_t n;
} str;

/* A literal or terminated string as a view. */
static inline str str_of(const char *s) {
    return (str){s, strlen(s)};
}
static inline bool str_eq(str a, str b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool str_is(str a, const char *s) {
    return str_eq(a, str_of(s));
}
static inline bool str_starts(str a, str prefix) {
    return a.n >= prefix.n && memcmp(a.p, prefix.p, prefix.n) == 0;
}
uint64_t str_hash(str s); /* FNV-1a, 64 bit */

/* A number of bytes for people: "512 B", "12.00 KiB", "4.37 GiB". Returns out. */
enum {
    SIZE_TEXT = 24
};
const char *size_text(char out[SIZE_TEXT], uint64_t bytes);

typedef struct {
    char *p;    /* n bytes and a NUL, or NULL while empty */
    size_t n;   /* bytes in use */
    size_t cap; /* bytes allocated */
    size_t max; /* bytes allowed */
    bool failed;
} strbuf;

void strbuf_init(strbuf *b, size_t max_bytes);
void strbuf_fini(strbuf *b);
void strbuf_add(strbuf *b, const void *bytes, size_t n);
void strbuf_str(strbuf *b, str s);
void strbuf_puts(strbuf *b, const char *s);
void strbuf_printf(strbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strbuf_clear(strbuf *b); /* keeps the allocation */
/* Gives the bytes (terminated, freed with mem_free) to the caller; NULL when failed. */
char *strbuf_take(strbuf *b, size_t *n);

#endif
