/* SPDX-License-Identifier: MIT */
#include "cli/input.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INPUT_MAX_BYTES ((size_t)1 << 30) /* a gigabyte of text is no text */

static ew_status read_stdin(char **out, size_t *n, ew_error *err) {
    char chunk[65536];
    strbuf b;
    ew_status rc = EW_OK;
    size_t got;

    strbuf_init(&b, INPUT_MAX_BYTES);
    if (isatty(STDIN_FILENO)) fputs("edgewise: reading standard input; Ctrl-D ends it\n", stderr);
    while (!b.failed && (got = fread(chunk, 1, sizeof chunk, stdin)) > 0)
        strbuf_add(&b, chunk, got);
    if (ferror(stdin))
        rc = fail_errno(err, "standard input");
    else if (b.n + sizeof chunk > INPUT_MAX_BYTES && b.failed)
        rc = fail(err, EW_EINVAL, "standard input: more than %zu bytes", INPUT_MAX_BYTES);
    else if (!(*out = strbuf_take(&b, n)))
        rc = fail(err, EW_ENOMEM, "standard input: out of memory");
    strbuf_fini(&b);
    return rc;
}

ew_status input_text(char **out, size_t *n, const char *arg, ew_error *err) {
    *out = NULL;
    if (!arg) return read_stdin(out, n, err);
    *n = strlen(arg);
    *out = mem_copy_str(arg, *n);
    return *out ? EW_OK : fail(err, EW_ENOMEM, "out of memory");
}

ew_status input_file(char **out, size_t *n, const char *path, ew_error *err) {
    *out = NULL;
    if (strcmp(path, "-") == 0) return read_stdin(out, n, err);
    return file_read(out, n, path, INPUT_MAX_BYTES, err);
}

bool input_clock(const char *text, int64_t *out) {
    struct tm tm = {0};
    time_t now = time(NULL);

    if (!text) {
        localtime_r(&now, &tm);
    } else {
        const char *end = strptime(text, "%Y-%m-%d", &tm);

        if (end && (*end == ' ' || *end == 'T')) end = strptime(end + 1, "%H:%M:%S", &tm);
        if (!end || *end) return false;
    }
    *out = (int64_t)timegm(&tm);
    return true;
}

unsigned input_flags(bool no_bos, bool parse_special) {
    return (no_bos ? 0 : EW_TOK_ADD_SPECIAL) | (parse_special ? EW_TOK_PARSE_SPECIAL : 0);
}

static bool is_between(char c) {
    return c == ' ' || c == ',' || c == '\n' || c == '\r' || c == '\t';
}

static ew_status bad_id(const char *at, const char *end, ew_error *err) {
    size_t n = 0;

    while (at + n < end && n < 20 && !is_between(at[n])) n++;
    return fail(err, EW_EINVAL, "'%.*s' is not a token id", (int)n, at);
}

/* A whole non-negative number that fits an id, followed by a separator or the end. */
static ew_status take_id(const char **at, const char *end, int32_t *out, ew_error *err) {
    const char *p = *at;
    int64_t v = 0;

    while (p < end && *p >= '0' && *p <= '9' && v <= INT32_MAX) v = v * 10 + (*p++ - '0');
    if (p == *at || v > INT32_MAX || (p < end && !is_between(*p))) return bad_id(*at, end, err);
    *at = p;
    *out = (int32_t)v;
    return EW_OK;
}

ew_status input_ids(int32_t **out, size_t *n, const char *text, size_t text_n, ew_error *err) {
    const char *at = text, *end = text + text_n;
    int32_t *ids;
    ew_status rc = EW_OK;

    *out = NULL;
    *n = 0;
    while (at < end && is_between(*at)) at++;
    while (end > at && is_between(end[-1])) end--;
    if (at < end && *at == '[') { /* an array of numbers is the same with brackets around it */
        if (end[-1] != ']') return fail(err, EW_EINVAL, "the array of token ids has no end");
        at++;
        end--;
    }
    ids = mem_array(text_n / 2 + 1, sizeof *ids); /* an id and a separator take two bytes */
    if (!ids) return fail(err, EW_ENOMEM, "out of memory");
    while (rc == EW_OK) {
        while (at < end && is_between(*at)) at++;
        if (at == end) break;
        rc = take_id(&at, end, &ids[*n], err);
        if (rc == EW_OK) ++*n;
    }
    if (rc) {
        mem_free(ids);
        return rc;
    }
    *out = ids;
    return EW_OK;
}
