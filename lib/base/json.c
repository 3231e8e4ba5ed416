/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include "base/mem.h"

char *json_dump_text(const json_t *v, size_t flags, size_t *n) {
    const size_t size = json_dumpb(v, NULL, 0, flags);
    char *text = size ? mem_array(size + 1, 1) : NULL;

    if (text) json_dumpb(v, text, size, flags);
    if (n) *n = text ? size : 0;
    return text;
}
