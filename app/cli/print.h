/* SPDX-License-Identifier: MIT
 *
 * How commands write values that are not plain words: counts, bytes that may not be text, JSON. */
#ifndef EW_CLI_PRINT_H
#define EW_CLI_PRINT_H

#include "base/str.h"

#include <jansson.h>

/* "7.62 B", "656 K", "512": powers of 1000. */
const char *count_text(char buf[24], uint64_t n);

/* Appends the bytes on one line as C would write them: \n \t \\ \x1b; valid printable UTF-8 stays.
 */
void escape_bytes(strbuf *out, const char *p, size_t n);

/* The same on standard output, between quotes when quote is not 0. */
void print_escaped(const char *p, size_t n, char quote);

/* A JSON string, or an array of byte values when the bytes are not UTF-8. */
json_t *json_bytes(const char *p, size_t n);

/* A JSON number; null when it isn't finite. */
json_t *json_number(double v);

/* Writes root (its reference is taken; NULL: out of memory) and a newline to standard output.
 * Returns the exit status. */
int print_json(json_t *root);

/* What could not be kept because memory ran out: says so, returns EXIT_RUNTIME. */
int say_no_memory(void);

#endif
