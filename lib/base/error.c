/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Macros only for the analyzer. */
#undef fail
#undef fail_errno

ew_status fail(ew_error *err, ew_status code, const char *fmt, ...) {
    va_list ap;

    if (!err) return code;
    err->status = code;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    return code;
}

ew_status fail_errno(ew_error *err, const char *fmt, ...) {
    const int saved = errno;
    const ew_status code = saved == ENOMEM ? EW_ENOMEM : EW_EIO;
    char why[128] = "unknown error";
    va_list ap;
    int n;

    if (!err) return code;
    /* strerror() shares a buffer between threads; the two strerror_r() differ in what they return,
     * so the plain call is made with only the codes that files and maps give. */
    snprintf(why, sizeof why, "%s", strerror(saved));
    err->status = code;
    va_start(ap, fmt);
    n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof err->text)
        snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s", why);
    return code;
}
