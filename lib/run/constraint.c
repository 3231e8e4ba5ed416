/* SPDX-License-Identifier: MIT */
#include "run/constraint.h"

#include <math.h>

ew_status constraint_init(constraint *c, const ew_grammar *g, const char *after, mem_budget *budget,
                          ew_error *err) {
    const bool waits = after && *after;
    ew_status rc;

    *c = (constraint){.is_on = !waits};
    rc = matcher_new(&c->m, g->g, g->trie, budget, waits, err);
    if (!rc && waits) rc = match_new(&c->after, &after, 1, "text that a grammar waits for", err);
    if (rc) constraint_fini(c);
    return rc;
}

void constraint_fini(constraint *c) {
    matcher_free(c->m);
    match_free(c->after);
    *c = (constraint){0};
}

void constraint_restart(constraint *c) {
    if (!c->m) return;
    matcher_restart(c->m);
    if (c->after) match_reset(c->after);
    c->is_on = !c->after;
    c->is_broken = false;
}

void constraint_accept(constraint *c, int32_t id, str text) {
    if (!c->m) return;
    if (c->is_on) {
        c->is_broken |= !matcher_accept(c->m, id);
        return;
    }
    for (size_t i = 0; i < text.n && !c->is_on; i++) {
        if (!match_byte(c->after, text.p[i])) continue;
        c->is_on = true;
        /* The rest of the token counts if it can; it was chosen freely. */
        matcher_feed(c->m, (str){text.p + i + 1, text.n - i - 1});
    }
}

ew_status constraint_status(const constraint *c, ew_error *err) {
    const ew_status rc = matcher_status(c->m, err);

    if (rc || !c->is_broken) return rc;
    return fail(err, EW_EINVAL, "a token was accepted that the grammar does not allow");
}

ew_status constraint_apply(constraint *c, float *logits, size_t n, ew_error *err) {
    const uint64_t *bits = matcher_mask(c->m);

    if (!bits) return matcher_status(c->m, err);
    for (size_t i = 0; i < n; i += 64) {
        const uint64_t word = bits[i / 64];
        const size_t end = n - i < 64 ? n - i : 64;

        if (word == UINT64_MAX) continue;
        for (size_t k = 0; k < end; k++)
            if (!(word >> k & 1)) logits[i + k] = -INFINITY;
    }
    return EW_OK;
}
