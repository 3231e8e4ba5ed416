/* SPDX-License-Identifier: MIT
 *
 * UTF-8 as it comes from strangers: overlong forms, surrogates and values past U+10FFFF are
 * invalid. */
#ifndef EW_BASE_UTF8_H
#define EW_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The length of the valid sequence at p (n bytes left) and its code point; 0 when there is none. */
size_t utf8_decode(const char *p, size_t n, uint32_t *cp);

size_t utf8_encode(uint32_t cp, char out[4]); /* bytes written; 0 when cp is no code point */

/* How many of the n bytes form whole sequences when more may follow: an incomplete but so far valid
 * sequence at the end is left out; bytes that can never become valid count as whole. */
size_t utf8_whole(const char *p, size_t n);

#endif
