/* SPDX-License-Identifier: MIT
 *
 * Inside the template engine: characters as Python counts and classes them. A byte that is no UTF-8
 * counts as one character. */
#ifndef EW_TEXT_JINJA_CHARS_H
#define EW_TEXT_JINJA_CHARS_H

#include "base/str.h"

/* The character at p (n > 0 bytes left) and its length in bytes. */
size_t jchar_at(const char *p, size_t n, uint32_t *cp);
size_t jchar_count(str s);                    /* characters */
size_t jchar_offset(str s, size_t n_char);    /* where character n_char begins, s.n past the end */
bool jchar_is_space(uint32_t cp);             /* str.isspace */
bool jchar_is_printable(uint32_t cp);         /* what repr() leaves as it is */
str jchar_trim(str s, bool left, bool right); /* white space off */
/* Where needle begins in s from `from` on; s.n + 1: nowhere. */
size_t jchar_find(str s, str needle, size_t from);
size_t jchar_find_last(str s, str needle);

#endif
