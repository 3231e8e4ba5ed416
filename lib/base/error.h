/* SPDX-License-Identifier: MIT
 *
 * Errors. A function that can fail returns ew_status and writes one sentence into the caller's
 * ew_error (which may be NULL). The sentence names the thing, the place and the number, because
 * the command line prints it as it is. */
#ifndef EW_BASE_ERROR_H
#define EW_BASE_ERROR_H

#include "edgewise.h"

#if defined(__GNUC__)
# define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#else
# define PRINTF_LIKE(fmt, first)
#endif

/* Writes the sentence and returns code, so that `return fail(...)` and `rc = fail(...)` read well.
 */
ew_status fail(ew_error *err, ew_status code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same with the text of errno at the end: "PREFIX: No such file or directory". */
ew_status fail_errno(ew_error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

#ifdef __clang_analyzer__
/* It sees one file at a time, and has to be told that these never return EW_OK. */
# define fail(err, code, ...) ((fail)(err, code, __VA_ARGS__), (code))
# define fail_errno(err, ...) ((fail_errno)(err, __VA_ARGS__), EW_EIO)
#endif

#endif
