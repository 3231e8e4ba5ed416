/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* What decodes encodes to the same bytes, and no cut is inside a sequence. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *p = (const char *)data;

    for (size_t at = 0; at < size;) {
        uint32_t cp = 0;
        char back[4];
        const size_t n = utf8_decode(p + at, size - at, &cp);

        if (n && (utf8_encode(cp, back) != n || memcmp(back, p + at, n) != 0)) abort();
        at += n ? n : 1;
    }
    for (size_t n = 0; n <= size && n < 64; n++)
        if (utf8_whole(p, n) > n || utf8_whole(p, n) + 3 < n) abort();
    return 0;
}
