/* SPDX-License-Identifier: MIT */
#include "text/detok.h"

#include "base/mem.h"
#include "base/utf8.h"

enum {
    PENDING_MAX = 3
}; /* of a sequence of four bytes */

struct ew_detok {
    const tokenizer *t;
    const char *marks[DETOK_MARKS];
    size_t n_mark;
    bool is_start;
    size_t n, n_shown; /* bytes in text; of them, given out by the last call */
    char text[];       /* what waits, then the bytes of the token pushed */
};

/* Is this a control token that belongs to a mark? */
static bool is_mark(const ew_detok *d, int32_t id) {
    const str name = tok_name(d->t, id);

    if (!d->n_mark || tok_kind(d->t, id) != TOKEN_CONTROL || !name.n) return false;
    for (size_t i = 0; i < d->n_mark; i++)
        if (memmem(d->marks[i], strlen(d->marks[i]), name.p, name.n)) return true;
    return false;
}

ew_status detok_new_with(ew_detok **out, const tokenizer *t, const char *const *marks, size_t n,
                         ew_error *err) {
    size_t longest = 0;
    ew_detok *d;

    *out = NULL;
    for (int32_t i = 0; i < tok_n(t); i++)
        if (tok_bytes_of(t, i).n > longest) longest = tok_bytes_of(t, i).n;
    for (size_t i = 0; i < n; i++)
        if (strlen(marks[i]) > longest) longest = strlen(marks[i]);
    d = mem_array(1, sizeof *d + PENDING_MAX + longest);
    if (!d) return fail(err, EW_ENOMEM, "detokenizer: out of memory");
    d->t = t;
    d->is_start = true;
    for (; d->n_mark < n && d->n_mark < DETOK_MARKS; d->n_mark++)
        d->marks[d->n_mark] = marks[d->n_mark];
    *out = d;
    return EW_OK;
}

ew_status detok_new(ew_detok **out, const tokenizer *t, ew_error *err) {
    return detok_new_with(out, t, NULL, 0, err);
}

void ew_detok_free(ew_detok *d) {
    mem_free(d);
}

static void drop_shown(ew_detok *d) {
    d->n -= d->n_shown;
    memmove(d->text, d->text + d->n_shown, d->n);
    d->n_shown = 0;
}

ew_status ew_detok_push(ew_detok *d, int32_t id, const char **text, size_t *n, ew_error *err) {
    str s;

    *text = "";
    *n = 0;
    if (id < 0 || id >= tok_n(d->t))
        return fail(err, EW_EINVAL, "token %d is not in the vocabulary of %d", (int)id,
                    (int)tok_n(d->t));
    drop_shown(d);
    s = tok_text_of(d->t, id, is_mark(d, id), &d->is_start);
    memcpy(d->text + d->n, s.p, s.n);
    d->n += s.n;
    d->n_shown = utf8_whole(d->text, d->n);
    *text = d->text;
    *n = d->n_shown;
    return EW_OK;
}

void ew_detok_flush(ew_detok *d, const char **text, size_t *n) {
    drop_shown(d);
    d->n_shown = d->n;
    d->is_start = true;
    *text = d->text;
    *n = d->n;
}
