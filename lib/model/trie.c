/* SPDX-License-Identifier: MIT
 *
 * The tree of a model's vocabulary, which grammars need: made when the first one does, shared by
 * all, freed with the model. */
#include "base/mem.h"
#include "model/model.h"

static str token_text(const void *ctx, int32_t id) {
    return tok_kind(ctx, id) == TOKEN_CONTROL ? (str){"", 0} : tok_bytes_of(ctx, id);
}

static bool token_is_eog(const void *ctx, int32_t id) {
    return tok_is_eog(ctx, id);
}

static bool token_is_used(const void *ctx, int32_t id) {
    return tok_kind(ctx, id) != TOKEN_UNUSED && !tok_is_eog(ctx, id) && tok_name(ctx, id).n;
}

ew_status model_trie(ew_model *m, const token_trie **out, ew_error *err) {
    const trie_vocab v = {tok_n(m->tok), token_text, token_is_eog, token_is_used, m->tok};
    token_trie *made, *there = NULL;
    ew_status rc;

    *out = atomic_load(&m->trie);
    if (*out) return EW_OK;
    rc = trie_new(&made, &v, err);
    if (!rc) {
        rc = mem_charge(&m->engine->budget, EW_MEM_FIXED, trie_bytes(made),
                        "the tree of the vocabulary", err);
        if (rc) trie_free(made);
    }
    if (rc) return rc;
    *out = made;
    if (atomic_compare_exchange_strong(&m->trie, &there, made)) return EW_OK;
    /* Another thread was faster. */
    mem_release(&m->engine->budget, EW_MEM_FIXED, trie_bytes(made));
    trie_free(made);
    *out = there;
    return EW_OK;
}

void model_trie_free(ew_model *m) {
    token_trie *t = atomic_load(&m->trie);

    if (t) mem_release(&m->engine->budget, EW_MEM_FIXED, trie_bytes(t));
    trie_free(t);
}
