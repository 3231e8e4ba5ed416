/* SPDX-License-Identifier: MIT
 *
 * Splitting a text into words before byte-pair merging. A rule is a list of passes; each splits the
 * pieces that the one before made, every piece as if it stood alone. */
#ifndef EW_TEXT_PRETOK_H
#define EW_TEXT_PRETOK_H

#include "base/error.h"
#include "base/str.h"

enum {
    PRETOK_PASSES = 6
};

enum {                        /* flags of a rule, facts of the model families that use it */
    PRETOK_IGNORE_MERGES = 1, /* a word that is a token is taken whole */
    PRETOK_ADD_BOS = 2,       /* unless the metadata says otherwise */
    PRETOK_FORCE_BOS = 4,     /* whatever the metadata says */
    PRETOK_NO_BOS = 8,        /* no default bos id */
    PRETOK_RAW = 16           /* merges over characters, spaces as U+2581 */
};

typedef struct {
    const char *names; /* separated by spaces */
    unsigned flags;
    /* PCRE2 patterns (UTF, UCP); what lies between two matches is a word too. "@..." names a split
     * by hand, see pretok.c. */
    const char *pass[PRETOK_PASSES];
} pretok_rule;

const pretok_rule *pretok_find(str name); /* NULL: unknown */
const pretok_rule *pretok_default(void);  /* the rule called "default" */
size_t pretok_n_rule(void);
const pretok_rule *pretok_get(size_t i);

typedef struct pretok pretok; /* a rule ready to run; immutable */

ew_status pretok_new(pretok **out, const pretok_rule *rule, ew_error *err);
void pretok_free(pretok *p);

/* The work space of one thread; {0} to begin with. */
typedef struct {
    void *match, *context, *stack, *general; /* of PCRE2 */
    char *copy;                              /* of a text that is not UTF-8 */
} pretok_work;

void pretok_work_fini(pretok_work *w);

/* Calls word(ctx, off, n) for every word of the text in order; any bytes are accepted (a byte that
 * is not UTF-8 counts as a symbol). False: no memory, or word returned false. */
bool pretok_split(const pretok *p, pretok_work *w, str text,
                  bool (*word)(void *ctx, size_t off, size_t n), void *ctx);

#endif
