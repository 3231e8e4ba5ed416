/* SPDX-License-Identifier: MIT
 *
 * Grammars for the vocabulary of a model. */
#include "base/mem.h"
#include "model/model.h"
#include "run/constraint.h"

static int32_t find_token(const void *ctx, str name) {
    return tok_find(ctx, name);
}

/* Takes g over. */
static ew_status wrap(ew_grammar **out, ew_model *m, grammar *g, ew_error *err) {
    const token_trie *trie;
    ew_grammar *made = NULL;
    ew_status rc = model_trie(m, &trie, err);

    if (!rc) {
        made = mem_array(1, sizeof *made);
        if (!made) rc = fail(err, EW_ENOMEM, "grammar: out of memory");
    }
    if (rc) {
        grammar_free(g);
        return rc;
    }
    *made = (ew_grammar){g, trie};
    *out = made;
    return EW_OK;
}

ew_status ew_grammar_new_gbnf(ew_grammar **out, ew_model *m, const char *text, size_t n,
                              ew_error *err) {
    const grammar_tokens tokens = {tok_n(m->tok), find_token, m->tok};
    grammar *g;
    ew_status rc;

    *out = NULL;
    rc = grammar_from_gbnf(&g, (str){n ? text : "", n}, &tokens, err);
    return rc ? rc : wrap(out, m, g, err);
}

ew_status ew_grammar_new_json_schema(ew_grammar **out, ew_model *m, const char *text, size_t n,
                                     ew_error *err) {
    grammar *g;
    ew_status rc;

    *out = NULL;
    rc = grammar_from_schema(&g, (str){n ? text : "", n}, err);
    return rc ? rc : wrap(out, m, g, err);
}

void ew_grammar_free(ew_grammar *g) {
    if (!g) return;
    grammar_free(g->g);
    mem_free(g);
}
