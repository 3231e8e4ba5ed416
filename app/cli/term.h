/* SPDX-License-Identifier: MIT
 *
 * What people see: errors and warnings on standard error, a progress bar where a terminal is
 * there to draw it on, sizes and rates in words. */
#ifndef EW_CLI_TERM_H
#define EW_CLI_TERM_H

#include "base/str.h"

#include <stdio.h>

/* "edgewise: SENTENCE" on standard error; returns EXIT_RUNTIME. */
int say_error(const ew_error *err);
int say_failure(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Standard output can't be written; nothing is said of a reader that has gone. The exit status. */
int say_write_error(int write_errno);
void say_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "edgewise: SENTENCE", neither an error nor a warning. */
void say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The engine's warnings, for ew_engine_options.log. */
void say_engine_log(void *ctx, ew_log_level level, const char *text);

bool term_is_tty(FILE *f);
/* A terminal that wants colours: NO_COLOR is unset or empty, TERM is not "dumb". */
bool term_has_color(FILE *f);

typedef enum {
    TERM_PLAIN,
    TERM_BOLD,
    TERM_DIM,
    TERM_RED,
    TERM_GREEN
} term_style;

/* The escape sequence of a style, "" where f has no colours. */
const char *term_on(FILE *f, term_style s);

/* A progress bar on standard error, drawn only on a terminal and only when the work takes longer
 * than a moment. share: 0..1. */
typedef struct {
    const char *label;
    uint64_t t_start_us, t_drawn_us;
    bool is_drawn;
} progress;

void progress_start(progress *p, const char *label);
void progress_show(progress *p, double share);
void progress_end(progress *p); /* wipes it */

/* "1.3 s", "250 ms" */
const char *time_text(char buf[24], uint64_t us);
/* n things a second, 0 when no time has passed. */
double rate(size_t n, uint64_t us);

/* A JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void json_text(FILE *f, const char *text, size_t n);
void json_add(strbuf *b, const char *text, size_t n); /* the same into a buffer */

#endif
