/* SPDX-License-Identifier: MIT
 *
 * GBNF up to the first NUL byte (or all), then bytes that choose what it allows. */
#include "tests/fuzz/follow.h"
#include "tests/fuzz/fuzz.h"

static int32_t find(const void *ctx, str name) {
    (void)ctx;
    return str_is(name, "<mark>") ? 257 : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const grammar_tokens tokens = {N, find, NULL};
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    const size_t n = nul ? (size_t)(nul - data) : size;
    grammar *g;

    if (grammar_from_gbnf(&g, (str){(const char *)data, n}, &tokens, NULL) == EW_OK) {
        follow(g, data + n + (nul != NULL), size - n - (nul != NULL));
        grammar_free(g);
    }
    if (mem_live()) abort();
    return 0;
}
