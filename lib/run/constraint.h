/* SPDX-License-Identifier: MIT
 *
 * A grammar on the tokens that a sampler chooses. It holds from the first token on, or from where a
 * given text has come up ("</think>"). Masks change logits; the cheaper question whether the
 * candidates at hand are all allowed comes first, where the answer is the same. */
#ifndef EW_RUN_CONSTRAINT_H
#define EW_RUN_CONSTRAINT_H

#include "run/match.h"
#include "text/grammar_match.h"

struct ew_grammar {
    grammar *g;
    const token_trie *trie; /* of the vocabulary it is for; borrowed */
};

typedef struct {
    matcher *m;       /* NULL: no constraint */
    match_set *after; /* what it waits for; NULL: nothing */
    bool is_on;       /* it holds for the next token */
    bool is_broken;   /* a token was accepted that it forbids */
} constraint;

/* after NULL or "": from the first token on. */
ew_status constraint_init(constraint *c, const ew_grammar *g, const char *after, mem_budget *budget,
                          ew_error *err);
void constraint_fini(constraint *c); /* an empty {0} is fine */
void constraint_restart(constraint *c);

/* A token was chosen; text: what it adds, of control tokens the name. */
void constraint_accept(constraint *c, int32_t id, str text);
/* Sets the logits of what may not come to -INFINITY. */
ew_status constraint_apply(constraint *c, float *logits, size_t n, ew_error *err);
/* What keeps it from going on, if anything does. */
ew_status constraint_status(const constraint *c, ew_error *err);

#endif
