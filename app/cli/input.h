/* SPDX-License-Identifier: MIT
 *
 * What commands read besides the model: text from an argument, a file or standard input, and lists
 * of token ids. */
#ifndef EW_CLI_INPUT_H
#define EW_CLI_INPUT_H

#include "edgewise.h"

/* All bytes, unchanged, and a NUL (mem_free): of arg when it isn't NULL, of standard input
 * otherwise. */
ew_status input_text(char **out, size_t *n, const char *arg, ew_error *err);

/* The same from a file; "-" is standard input. */
ew_status input_file(char **out, size_t *n, const char *path, ew_error *err);

/* Token ids (mem_free) from a JSON array, or from numbers with white space or commas between. */
ew_status input_ids(int32_t **out, size_t *n, const char *text, size_t text_n, ew_error *err);

/* The clock on the wall, or a time as "2026-01-15 12:00:00"; in seconds as if it were UTC. False:
 * text is no time. */
bool input_clock(const char *text, int64_t *out);

/* EW_TOK_* for --no-bos and --special. */
unsigned input_flags(bool no_bos, bool parse_special);

#endif
