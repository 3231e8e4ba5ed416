/* SPDX-License-Identifier: MIT
 *
 * The first line is what a template shows, the rest an answer: given whole, and byte by byte, it
 * has the same parts. */
#include "tests/fuzz/fuzz.h"

#include "base/mem.h"
#include "text/reply.h"

#include <stdlib.h>

static const char tools[] =
    "[{\"function\": {\"name\": \"f\", \"parameters\": {\"properties\": {\"a\": {\"type\": "
    "\"string\"}, \"b\": {\"type\": \"integer\"}}}}}]";

typedef struct {
    strbuf part[3];
} parts;

static void take(void *ctx, ew_part part, const char *text, size_t n) {
    strbuf_add(&((parts *)ctx)->part[part], text, n);
}

static void run(parts *p, str signs, str text, size_t size) {
    reply_form f;
    reply *r;

    for (int i = 0; i < 3; i++) strbuf_init(&p->part[i], 1 << 24);
    reply_form_of(&f, signs);
    if (reply_new(&r, &f, tools, signs.n & 1, take, p, NULL)) abort();
    for (size_t at = 0; at < text.n; at += size)
        if (reply_push(r, text.p + at, size < text.n - at ? size : text.n - at, NULL)) abort();
    if (reply_end(r, NULL)) abort();
    reply_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *p = (const char *)data;
    const char *line = size ? memchr(p, '\n', size) : NULL;
    const str signs = {p, line ? (size_t)(line - p) : size};
    const str text = {line ? line + 1 : p + size, line ? size - signs.n - 1 : 0};
    parts whole, bytes;

    run(&whole, signs, text, text.n ? text.n : 1);
    run(&bytes, signs, text, 1);
    for (int i = 0; i < 3; i++) {
        const strbuf *a = &whole.part[i], *b = &bytes.part[i];

        if (a->n != b->n || (a->n && memcmp(a->p, b->p, a->n) != 0)) abort();
    }
    for (int i = 0; i < 3; i++) {
        strbuf_fini(&whole.part[i]);
        strbuf_fini(&bytes.part[i]);
    }
    return 0;
}
