/* SPDX-License-Identifier: MIT */
#include "run/match.h"

#include "base/mem.h"

typedef struct {
    str text;
    const uint32_t *border; /* [i]: longest proper prefix of text[0..i] that also ends it */
    uint32_t at;            /* bytes of text matched so far, less than text.n between calls */
} pattern;

struct match_set {
    pattern *patterns;
    size_t n;
    char *bytes;       /* all texts, one after the other */
    uint32_t *borders; /* one for each of bytes */
};

/* The state after byte c, text.n when it completes the text. */
static uint32_t step(const pattern *p, uint32_t at, char c) {
    while (at && (at == p->text.n || p->text.p[at] != c)) at = p->border[at - 1];
    return p->text.p[at] == c ? at + 1 : 0;
}

static void fill_borders(const pattern *p, uint32_t *border) {
    border[0] = 0;
    for (size_t i = 1; i < p->text.n; i++) border[i] = step(p, border[i - 1], p->text.p[i]);
}

static ew_status check(const char *const *strings, size_t n, const char *what, size_t *total,
                       ew_error *err) {
    *total = 0;
    if (n > MATCH_MAX_STRINGS) {
        return fail(err, EW_EINVAL, "%zu %ss are given, at most %d can be", n, what,
                    (int)MATCH_MAX_STRINGS);
    }
    for (size_t i = 0; i < n; i++) {
        const size_t len = strings[i] ? strlen(strings[i]) : 0;

        if (!len) return fail(err, EW_EINVAL, "%s %zu is empty", what, i);
        if (len > MATCH_MAX_BYTES) {
            return fail(err, EW_EINVAL, "%s %zu has %zu bytes, at most %d can be", what, i, len,
                        (int)MATCH_MAX_BYTES);
        }
        *total += len;
    }
    return EW_OK;
}

ew_status match_new(match_set **out, const char *const *strings, size_t n, const char *what,
                    ew_error *err) {
    match_set *m;
    size_t total, at = 0;
    ew_status rc;

    *out = NULL;
    rc = check(strings, n, what, &total, err);
    if (rc) return rc;
    m = mem_array(1, sizeof *m);
    if (m) {
        m->patterns = mem_array(n, sizeof *m->patterns);
        m->bytes = mem_array(total, 1);
        m->borders = mem_array(total, sizeof *m->borders);
    }
    if (!m || !m->patterns || !m->bytes || !m->borders) {
        match_free(m);
        return fail(err, EW_ENOMEM, "%ss: out of memory", what);
    }
    m->n = n;
    for (size_t i = 0; i < n; i++) {
        const size_t len = strlen(strings[i]);

        memcpy(m->bytes + at, strings[i], len);
        m->patterns[i] = (pattern){{m->bytes + at, len}, m->borders + at, 0};
        fill_borders(&m->patterns[i], m->borders + at);
        at += len;
    }
    *out = m;
    return EW_OK;
}

void match_free(match_set *m) {
    if (!m) return;
    mem_free(m->patterns);
    mem_free(m->bytes);
    mem_free(m->borders);
    mem_free(m);
}

void match_reset(match_set *m) {
    for (size_t i = 0; i < m->n; i++) m->patterns[i].at = 0;
}

size_t match_byte(match_set *m, char c) {
    size_t longest = 0;

    for (size_t i = 0; i < m->n; i++) {
        pattern *p = &m->patterns[i];

        p->at = step(p, p->at, c);
        if (p->at < p->text.n) continue;
        if (p->text.n > longest) longest = p->text.n;
        p->at = p->border[p->at - 1];
    }
    return longest;
}

str match_pending(const match_set *m) {
    str longest = {"", 0};

    for (size_t i = 0; i < m->n; i++) {
        if (m->patterns[i].at > longest.n) {
            longest = (str){m->patterns[i].text.p, m->patterns[i].at};
        }
    }
    return longest;
}

bool match_within(const match_set *m, str text) {
    for (size_t i = 0; i < m->n; i++) {
        const pattern *p = &m->patterns[i];
        uint32_t at = 0;

        for (size_t j = 0; j < text.n; j++) {
            at = step(p, at, text.p[j]);
            if (at == p->text.n) return true;
        }
    }
    return false;
}
