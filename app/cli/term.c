/* SPDX-License-Identifier: MIT */
#include "cli/term.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"
#include "cli/commands.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BAR_WIDTH = 30,
    BAR_AFTER_US = 300000, /* work shorter than this needs no bar */
    BAR_EVERY_US = 100000
};

static void PRINTF_LIKE(2, 0) say(const char *what, const char *fmt, va_list ap) {
    fprintf(stderr, "edgewise: %s", what);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

int say_error(const ew_error *err) {
    return say_failure("%s", err->text[0] ? err->text : ew_status_name(err->status));
}

int say_failure(const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    say("", fmt, ap);
    va_end(ap);
    return EXIT_RUNTIME;
}

int say_write_error(int write_errno) {
    if (write_errno == EPIPE) return EXIT_SIGPIPE;
    return say_failure("standard output: %s", strerror(write_errno));
}

void say_warning(const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    say("warning: ", fmt, ap);
    va_end(ap);
}

void say_note(const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    say("", fmt, ap);
    va_end(ap);
}

void say_engine_log(void *ctx, ew_log_level level, const char *text) {
    (void)ctx;
    if (level == EW_LOG_WARN) say_warning("%s", text);
}

bool term_is_tty(FILE *f) {
    return isatty(fileno(f)) == 1;
}

bool term_has_color(FILE *f) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    if ((no && *no) || !term || strcmp(term, "dumb") == 0) return false;
    return term_is_tty(f);
}

const char *term_on(FILE *f, term_style s) {
    if (!term_has_color(f)) return "";
    switch (s) {
    case TERM_PLAIN:
        return "\033[0m";
    case TERM_BOLD:
        return "\033[1m";
    case TERM_DIM:
        return "\033[2m";
    case TERM_RED:
        return "\033[31m";
    case TERM_GREEN:
        return "\033[32m";
    }
    return "";
}

void progress_start(progress *p, const char *label) {
    *p = (progress){.label = label, .t_start_us = clock_us()};
}

void progress_show(progress *p, double share) {
    const uint64_t now = clock_us();
    const int filled = (int)(share * BAR_WIDTH);

    if (now - p->t_start_us < BAR_AFTER_US || now - p->t_drawn_us < BAR_EVERY_US) return;
    if (!term_is_tty(stderr)) return;
    fprintf(stderr, "\r%s [", p->label);
    for (int i = 0; i < BAR_WIDTH; i++) fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f %%", share * 100);
    fflush(stderr);
    p->t_drawn_us = now;
    p->is_drawn = true;
}

void progress_end(progress *p) {
    if (p->is_drawn) fputs("\r\033[K", stderr);
    p->is_drawn = false;
}

const char *time_text(char buf[24], uint64_t us) {
    if (us < 1000000)
        snprintf(buf, 24, "%.1f ms", (double)us / 1e3);
    else
        snprintf(buf, 24, "%.2f s", (double)us / 1e6);
    return buf;
}

double rate(size_t n, uint64_t us) {
    return us ? (double)n * 1e6 / (double)us : 0;
}

void json_add(strbuf *b, const char *text, size_t n) {
    strbuf_puts(b, "\"");
    for (size_t i = 0; i < n;) {
        const unsigned char c = (unsigned char)text[i];
        uint32_t cp;
        const size_t len = utf8_decode(text + i, n - i, &cp);

        if (len == 0)
            strbuf_puts(b, "\\ufffd");
        else if (c == '"' || c == '\\')
            strbuf_printf(b, "\\%c", c);
        else if (c == '\n')
            strbuf_puts(b, "\\n");
        else if (c < 0x20 || c == 0x7F)
            strbuf_printf(b, "\\u%04x", c);
        else
            strbuf_add(b, text + i, len);
        i += len ? len : 1;
    }
    strbuf_puts(b, "\"");
}

void json_text(FILE *f, const char *text, size_t n) {
    strbuf b;

    strbuf_init(&b, SIZE_MAX / 2);
    json_add(&b, text, n);
    if (b.failed)
        fputs("null", f); /* out of memory */
    else
        fwrite(b.p, 1, b.n, f);
    strbuf_fini(&b);
}
