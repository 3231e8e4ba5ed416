/* SPDX-License-Identifier: MIT */
#include "cli/print.h"

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/term.h"

#include <math.h>
#include <stdio.h>

enum {
    /* Nine digits give every float back exactly. */
    JSON_STYLE = JSON_INDENT(2) | JSON_REAL_PRECISION(9) | JSON_ENCODE_ANY
};

const char *count_text(char buf[24], uint64_t n) {
    static const char *const unit[] = {"", " K", " M", " B", " T"};
    double v = (double)n;
    size_t u = 0;

    while (v >= 999.5 && u + 1 < sizeof unit / sizeof unit[0]) {
        v /= 1000;
        u++;
    }
    snprintf(buf, 24, "%.*f%s", u == 0 || v >= 100 ? 0 : v < 10 ? 2 : 1, v, unit[u]);
    return buf;
}

static void escape_byte(strbuf *out, unsigned char c) {
    switch (c) {
    case '\n':
        strbuf_puts(out, "\\n");
        break;
    case '\r':
        strbuf_puts(out, "\\r");
        break;
    case '\t':
        strbuf_puts(out, "\\t");
        break;
    case '\\':
        strbuf_puts(out, "\\\\");
        break;
    default:
        if (c < 0x20 || c >= 0x7f)
            strbuf_printf(out, "\\x%02x", c);
        else
            strbuf_add(out, &c, 1);
    }
}

/* C1 controls move a terminal's cursor as the ASCII ones do, U+2028 and U+2029 break lines, and the
 * bidirectional controls turn them around. */
static bool is_printable(uint32_t cp) {
    if (cp >= 0x202a && cp <= 0x202e) return false;
    if (cp >= 0x2066 && cp <= 0x2069) return false;
    return cp >= 0xa0 && cp != 0x2028 && cp != 0x2029;
}

void escape_bytes(strbuf *out, const char *p, size_t n) {
    size_t i = 0;

    while (i < n) {
        uint32_t cp;
        const size_t len = utf8_decode(p + i, n - i, &cp);

        if (len > 1 && is_printable(cp)) {
            strbuf_add(out, p + i, len);
            i += len;
        } else {
            escape_byte(out, (unsigned char)p[i++]);
        }
    }
}

void print_escaped(const char *p, size_t n, char quote) {
    strbuf b;

    strbuf_init(&b, SIZE_MAX / 2);
    if (quote) strbuf_add(&b, &quote, 1);
    escape_bytes(&b, p, n);
    if (quote) strbuf_add(&b, &quote, 1);
    if (b.n && !b.failed) fwrite(b.p, 1, b.n, stdout);
    if (b.failed) fputs("(out of memory)", stdout);
    strbuf_fini(&b);
}

json_t *json_bytes(const char *p, size_t n) {
    json_t *a = json_stringn(p, n); /* refuses what isn't UTF-8 */

    if (a) return a;
    a = json_array();
    for (size_t i = 0; a && i < n; i++) json_array_append_new(a, json_integer((unsigned char)p[i]));
    return a;
}

json_t *json_number(double v) {
    return isfinite(v) ? json_real(v) : json_null();
}

int say_no_memory(void) {
    return say_failure("out of memory");
}

int print_json(json_t *root) {
    const int rc = root ? json_dumpf(root, stdout, JSON_STYLE) : -1;

    json_decref(root);
    if (rc) return ferror(stdout) ? EXIT_RUNTIME : say_no_memory();
    putchar('\n');
    return EXIT_OK;
}
