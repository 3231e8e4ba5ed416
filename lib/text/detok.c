/* SPDX-License-Identifier: MIT */
#include "text/detok.h"

#include "base/mem.h"
#include "base/utf8.h"

enum {
    PENDING_MAX = 3
}; /* of a sequence of four bytes */

struct ew_detok {
    const tokenizer *t;
    bool is_start;
    size_t n, n_shown; /* bytes in text; of them, given out by the last call */
    char text[];       /* what waits, then the bytes of the token pushed */
};

ew_status detok_new(ew_detok **out, const tokenizer *t, ew_error *err) {
    size_t longest = 0;
    ew_detok *d;

    *out = NULL;
    for (int32_t i = 0; i < tok_n(t); i++)
        if (tok_bytes_of(t, i).n > longest) longest = tok_bytes_of(t, i).n;
    d = mem_array(1, sizeof *d + PENDING_MAX + longest);
    if (!d) return fail(err, EW_ENOMEM, "detokenizer: out of memory");
    d->t = t;
    d->is_start = true;
    *out = d;
    return EW_OK;
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
    s = tok_text_of(d->t, id, false, &d->is_start);
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
