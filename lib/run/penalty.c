/* SPDX-License-Identifier: MIT */
#include "run/penalty.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>

ew_status hist_init(history *h, size_t keep, size_t reserve, bool for_dry, ew_error *err) {
    *h = (history){.keep = keep};
    if (!keep) return EW_OK;
    h->cap = keep == SIZE_MAX ? reserve : 2 * keep;
    h->tokens = mem_array(h->cap, sizeof *h->tokens);
    if (for_dry) h->match = mem_array(h->cap, sizeof *h->match);
    if (h->tokens && (h->match || !for_dry)) return EW_OK;
    hist_fini(h);
    return fail(err, EW_ENOMEM, "sampler: no memory for a history of %zu tokens", keep);
}

void hist_fini(history *h) {
    mem_free(h->tokens);
    mem_free(h->match);
    *h = (history){0};
}

void hist_clear(history *h) {
    h->n = 0;
    h->is_lost = false;
}

static bool grow(history *h) {
    const size_t cap = 2 * h->cap;
    int32_t *const tokens = mem_resize(h->tokens, cap, sizeof *tokens);

    if (tokens) h->tokens = tokens;
    if (tokens && h->match) {
        int32_t *const match = mem_resize(h->match, cap, sizeof *match);

        if (!match) return false;
        h->match = match;
    }
    if (tokens) h->cap = cap;
    return tokens != NULL;
}

void hist_add(history *h, int32_t id) {
    if (!h->keep || h->is_lost) return;
    if (h->n == h->cap && h->keep == SIZE_MAX) {
        if (!grow(h)) {
            h->is_lost = true; /* ew_sampler_accept cannot fail, the next sample does */
            return;
        }
    } else if (h->n == h->cap) {
        memmove(h->tokens, h->tokens + h->n - h->keep, h->keep * sizeof *h->tokens);
        h->n = h->keep;
    }
    h->tokens[h->n++] = id;
}

void penalties_accept(penalties *p, const history *h, int32_t id) {
    if (!p->count || !p->last) return;
    if (p->last <= h->n) p->count[h->tokens[h->n - p->last]]--; /* falls out of the window */
    p->count[id]++;
}

/* A penalty, however large, neither forbids a token nor makes an infinity. */
static float bounded(float x) {
    return x < -FLT_MAX ? -FLT_MAX : x > FLT_MAX ? FLT_MAX : x;
}

void penalties_apply(const penalties *p, float *logits, size_t n_vocab) {
    if (!p->count) return;
    for (size_t i = 0; i < n_vocab; i++) {
        if (!p->count[i] || !(logits[i] > -INFINITY)) continue;
        /* Dividing a negative logit would make the token likelier. */
        if (logits[i] <= 0) {
            logits[i] *= p->repeat;
        } else {
            logits[i] /= p->repeat;
        }
        logits[i] = bounded(logits[i] - ((float)p->count[i] * p->frequency + p->presence));
    }
}

void dry_accept(dry *d, str text) {
    bool has_break = false;

    if (!d->longest) return;
    for (size_t i = 0; i < text.n; i++) has_break |= match_byte(d->breakers, text.p[i]) > 0;
    d->since_break = has_break ? 0 : d->since_break + 1;
}

/* z[k], 0 < k < n: how many of the last tokens also end at k tokens before the end. `at` counts
 * from the end, so this is the Z function of the reversed window. Linear: the box [l, r) of what is
 * known to repeat only moves on. */
static void find_repeats(const int32_t *end, size_t n, int32_t *z) {
    size_t l = 0, r = 0;

    for (size_t k = 1; k < n; k++) {
        size_t len = 0;

        if (k < r) {
            len = (size_t)z[k - l];
            if (len > r - k) len = r - k;
        }
        while (k + len < n && end[-1 - (ptrdiff_t)len] == end[-1 - (ptrdiff_t)(k + len)]) len++;
        z[k] = (int32_t)len;
        if (k + len > r) {
            l = k;
            r = k + len;
        }
    }
}

static float penalty_of(const dry *d, int32_t exponent) {
    return bounded((float)((double)d->multiplier * pow((double)d->base, (double)exponent)));
}

void dry_apply(const dry *d, const history *h, token_texts texts, float *logits) {
    const size_t n = h->n < d->last ? h->n : d->last;
    const size_t reach = d->since_break < n ? d->since_break : n;
    const int32_t *const end = h->tokens + h->n;
    const size_t allowed = (size_t)d->allowed;

    if (!d->longest || n <= allowed || reach < allowed) return;
    find_repeats(end, n, h->match);
    /* The token after a repeat, end[-k], would continue it. Lengths are kept plus one: 0 is none.
     */
    for (size_t k = 1; k < n; k++) {
        const size_t len = (size_t)h->match[k] < reach ? (size_t)h->match[k] : reach;
        int32_t *const longest = &d->longest[end[-(ptrdiff_t)k]];

        if (len >= allowed && *longest < (int32_t)len + 1) *longest = (int32_t)len + 1;
    }
    for (size_t k = 1; k < n; k++) {
        const int32_t id = end[-(ptrdiff_t)k], len = d->longest[id] - 1;

        if (len < 0) continue;
        d->longest[id] = 0;
        if (match_within(d->breakers, texts.text(texts.ctx, id))) continue;
        if (!(logits[id] > -INFINITY)) continue;
        logits[id] = bounded(logits[id] - penalty_of(d, len - d->allowed));
    }
}
