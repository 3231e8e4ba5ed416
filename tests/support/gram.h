/* SPDX-License-Identifier: MIT
 *
 * Grammars for tests: a vocabulary of the 256 bytes, "</s>" (256, which ends a generation),
 * "<mark>" (257, a control token) and some longer texts, and texts held against a grammar. */
#ifndef EW_TESTS_GRAM_H
#define EW_TESTS_GRAM_H

#include "text/grammar_match.h"

enum {
    GRAM_EOG = 256,
    GRAM_MARK = 257
};

extern const char *const gram_texts[]; /* tokens from 258 on; NULL at the end */

/* The vocabulary's tree and the names for GBNF; the tree is made once and freed by gram_fini. */
const token_trie *gram_trie(void);
const grammar_tokens *gram_tokens(void);
void gram_fini(void);

/* Fail the test when the grammar is refused. */
grammar *gram_gbnf(const char *text);
grammar *gram_schema(const char *json);
matcher *gram_matcher(const grammar *g);

/* How a text fares: the whole follows the grammar; it is a beginning; or it breaks off. */
typedef enum {
    GRAM_NO,
    GRAM_PREFIX,
    GRAM_YES
} gram_verdict;
gram_verdict gram_holds(const grammar *g, const char *text, size_t n);

#endif
