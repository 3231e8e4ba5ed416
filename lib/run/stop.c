/* SPDX-License-Identifier: MIT */
#include "run/stop.h"

#include "base/utf8.h"

static bool is_utf8(const char *s) {
    const size_t n = strlen(s);
    uint32_t cp;

    for (size_t at = 0, len; at < n; at += len) {
        len = utf8_decode(s + at, n - at, &cp);
        if (!len) return false;
    }
    return true;
}

ew_status stop_init(stop_filter *f, const char *const *strings, size_t n, ew_error *err) {
    *f = (stop_filter){.held = {"", 0}};
    if (!n) return EW_OK;
    for (size_t i = 0; i < n; i++) {
        if (strings[i] && !is_utf8(strings[i])) {
            return fail(err, EW_EINVAL, "stop string %zu is not UTF-8", i);
        }
    }
    return match_new(&f->set, strings, n, "stop string", err);
}

void stop_fini(stop_filter *f) {
    match_free(f->set);
    *f = (stop_filter){0};
}

/* The first n bytes of held and text together. */
static void show_first(str held, str text, size_t n, str show[2]) {
    show[0] = (str){held.p, n < held.n ? n : held.n};
    show[1] = (str){text.p, n < held.n ? 0 : n - held.n};
}

bool stop_feed(stop_filter *f, str text, str show[2]) {
    const str held = f->held;

    if (!f->set) {
        show_first((str){"", 0}, text, text.n, show);
        return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        const size_t len = match_byte(f->set, text.p[i]);

        if (!len) continue;
        show_first(held, text, held.n + i + 1 - len, show);
        f->held = (str){"", 0};
        return true;
    }
    f->held = match_pending(f->set);
    show_first(held, text, held.n + text.n - f->held.n, show);
    return false;
}

str stop_flush(stop_filter *f) {
    const str held = f->held;

    f->held = (str){"", 0};
    if (f->set) match_reset(f->set);
    return held;
}
