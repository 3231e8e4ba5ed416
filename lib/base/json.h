/* SPDX-License-Identifier: MIT
 *
 * JSON as text in memory that is ours: what jansson's json_dumps() gives could only be freed by its
 * own allocator. */
#ifndef EW_BASE_JSON_H
#define EW_BASE_JSON_H

#include <jansson.h>

/* v as text, n bytes (n may be NULL) and a NUL, by jansson's flags (mem_free). NULL: no memory, or
 * v is NULL or holds what JSON can't. */
char *json_dump_text(const json_t *v, size_t flags, size_t *n);

#endif
