/* SPDX-License-Identifier: MIT */
#include "text/jinja_chars.h"

#include "base/utf8.h"

#include <utf8proc.h>

size_t jchar_at(const char *p, size_t n, uint32_t *cp) {
    const size_t len = utf8_decode(p, n, cp);

    if (len) return len;
    *cp = 0xDC00u + (uint8_t)*p; /* as Python's surrogateescape */
    return 1;
}

size_t jchar_count(str s) {
    size_t count = 0;

    for (size_t i = 0; i < s.n; count++) {
        uint32_t cp;

        i += (uint8_t)s.p[i] < 0x80 ? 1 : jchar_at(s.p + i, s.n - i, &cp);
    }
    return count;
}

size_t jchar_offset(str s, size_t n_char) {
    size_t i = 0;

    for (; n_char && i < s.n; n_char--) {
        uint32_t cp;

        i += (uint8_t)s.p[i] < 0x80 ? 1 : jchar_at(s.p + i, s.n - i, &cp);
    }
    return i;
}

bool jchar_is_space(uint32_t cp) {
    if (cp < 0x80) return cp == ' ' || (cp >= 9 && cp <= 13) || (cp >= 0x1c && cp <= 0x1f);
    return cp == 0x85 || cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200a) ||
           cp == 0x2028 || cp == 0x2029 || cp == 0x202f || cp == 0x205f || cp == 0x3000;
}

bool jchar_is_printable(uint32_t cp) {
    if (cp < 0x7f) return cp >= ' ';
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
        return false;
    default:
        return true;
    }
}

str jchar_trim(str s, bool left, bool right) {
    uint32_t cp;

    while (left && s.n) {
        const size_t n = jchar_at(s.p, s.n, &cp);

        if (!jchar_is_space(cp)) break;
        s = (str){s.p + n, s.n - n};
    }
    while (right && s.n) {
        size_t at = s.n - 1;

        while (at && s.n - at < 4 && ((uint8_t)s.p[at] & 0xC0) == 0x80) at--;
        if (at + jchar_at(s.p + at, s.n - at, &cp) != s.n || !jchar_is_space(cp)) break;
        s.n = at;
    }
    return s;
}

size_t jchar_find(str s, str needle, size_t from) {
    while (needle.n <= s.n && from <= s.n - needle.n) {
        const char *p =
            needle.n ? memchr(s.p + from, needle.p[0], s.n - needle.n - from + 1) : s.p + from;

        if (!p) break;
        from = (size_t)(p - s.p);
        if (!needle.n || memcmp(p, needle.p, needle.n) == 0) return from;
        from++;
    }
    return s.n + 1;
}

size_t jchar_find_last(str s, str needle) {
    for (size_t end = s.n + 1; end-- > needle.n;)
        if (!needle.n || memcmp(s.p + end - needle.n, needle.p, needle.n) == 0)
            return end - needle.n;
    return s.n + 1;
}
