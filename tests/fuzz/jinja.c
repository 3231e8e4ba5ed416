/* SPDX-License-Identifier: MIT
 *
 * A template, and after a NUL the context as JSON (without one, a small conversation). What it
 * renders is the same a second time, and marking text changes none of it. */
#include "tests/fuzz/fuzz.h"

#include "base/mem.h"
#include "text/jinja.h"

#include <stdlib.h>

static const char usual[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"Be brief.\"}, {\"role\": \"user\", "
    "\"content\": \"Hi \\u4e2d <|im_end|>\"}, {\"role\": \"assistant\", \"content\": null, "
    "\"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": {\"a\": [1, 2.5, true]}}}]}],"
    "\"add_generation_prompt\": true, \"bos_token\": \"<s>\", \"tools\": [], \"n\": 3}";

static json_t *context_of(const char *p, size_t n) {
    json_t *v = n ? json_loadb(p, n, JSON_ALLOW_NUL, NULL) : NULL;

    return v ? v : json_loadb(usual, sizeof usual - 1, 0, NULL);
}

static bool is_same(const jinja_text *a, const jinja_text *b) {
    return a->n == b->n && (!a->n || memcmp(a->text, b->text, a->n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *p = (const char *)data;
    const char *nul = size ? memchr(p, 0, size) : NULL;
    const str template = {p, nul ? (size_t)(nul - p) : size};
    jinja_context c = {
        .now = {.tm_year = 126, .tm_mday = 1}, .max_steps = 50000, .max_bytes = 8 << 20};
    jinja_text plain = {0}, marked = {0};
    json_t *values;
    jinja *t;

    if (jinja_parse(&t, template, "fuzz", NULL)) return 0;
    c.values = values = context_of(nul ? nul + 1 : p, nul ? size - template.n - 1 : 0);
    if (values && jinja_render(t, &c, &plain, NULL) == EW_OK) {
        c.marks_text = true;
        c.max_bytes *= 4; /* marks take memory, too */
        if (jinja_render(t, &c, &marked, NULL) || !is_same(&plain, &marked)) abort();
    }
    mem_free(plain.text);
    mem_free(marked.text);
    mem_free(marked.is_text);
    json_decref(values);
    jinja_free(t);
    return 0;
}
