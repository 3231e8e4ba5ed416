/* SPDX-License-Identifier: MIT
 *
 * The vocabulary from tokenizer.ggml.*: every count, type and id is checked, since files come from
 * strangers; a fault is named with its key and its number. */
#include "base/mem.h"
#include "text/vocab.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

int32_t vocab_find(const tokenizer *t, str name) {
    const int64_t id = names_find(&t->symbols, name);

    return id < t->n ? (int32_t)id : -1;
}

static ew_status no_memory(const char *name, ew_error *err) {
    return fail(err, EW_ENOMEM, "%s: tokenizer: out of memory", name);
}

static str meta_str(const gguf *g, const char *key) {
    const gguf_kv *kv = gguf_find(g, key);
    str s = {"", 0};

    if (kv && kv->type == GGUF_STRING) gguf_kv_str(kv, 0, &s);
    return s;
}

static bool meta_bool(const gguf *g, const char *key, bool dflt) {
    const gguf_kv *kv = gguf_find(g, key);
    bool b = dflt;

    if (kv && kv->type == GGUF_BOOL) gguf_kv_bool(kv, 0, &b);
    return b;
}

ew_status meta_id(const tokenizer *t, const gguf *g, const char *name, const char *key,
                  int32_t dflt, int32_t *out, ew_error *err) {
    const gguf_kv *kv = gguf_find(g, key);
    int64_t id;

    *out = dflt < t->n ? dflt : -1;
    if (!kv) return EW_OK;
    if (kv->type == GGUF_ARRAY || !gguf_kv_int(kv, 0, &id))
        return fail(err, EW_EFORMAT, "%s: %s is no integer", name, key);
    /* Writers that know of none store -1 in whatever width. */
    if (id == -1 || id == UINT32_MAX) {
        *out = -1;
        return EW_OK;
    }
    if (id < 0 || id >= t->n)
        return fail(err, EW_EFORMAT, "%s: %s is %" PRId64 ", but the vocabulary has %d tokens",
                    name, key, id, (int)t->n);
    *out = (int32_t)id;
    return EW_OK;
}

static ew_status read_tokens(tokenizer *t, const gguf *g, const char *name, ew_error *err) {
    static const char key[] = "tokenizer.ggml.tokens";
    const gguf_kv *kv = gguf_find(g, key);

    if (!kv) return fail(err, EW_EFORMAT, "%s: %s is missing", name, key);
    if (kv->type != GGUF_ARRAY || kv->elem_type != GGUF_STRING)
        return fail(err, EW_EFORMAT, "%s: %s is no array of strings", name, key);
    if (kv->n_elem == 0 || kv->n_elem > TOKENS_MAX)
        return fail(err, EW_EFORMAT, "%s: %s has %" PRIu64 " elements", name, key, kv->n_elem);
    for (uint64_t i = 0; i < kv->n_elem; i++) {
        str s = {"", 0};
        uint32_t id;
        bool is_new;

        gguf_kv_str(kv, i, &s);
        if (!names_add(&t->symbols, s, &id, &is_new)) return no_memory(name, err);
        if (!is_new)
            return fail(err, EW_EFORMAT, "%s: %s: %" PRIu32 " and %" PRIu64 " are both \"%.*s\"",
                        name, key, id, i, (int)(s.n < 64 ? s.n : 64), s.p);
    }
    t->n = (int32_t)kv->n_elem;
    return EW_OK;
}

/* The array under key when there is one, checked to have an element for each token. */
static ew_status find_column(const tokenizer *t, const gguf *g, const char *name, const char *key,
                             const gguf_kv **out, ew_error *err) {
    const gguf_kv *kv = gguf_find(g, key);

    *out = kv;
    if (!kv) return EW_OK;
    if (kv->type != GGUF_ARRAY || kv->elem_type == GGUF_STRING || kv->elem_type == GGUF_BOOL)
        return fail(err, EW_EFORMAT, "%s: %s is no array of numbers", name, key);
    if (kv->n_elem < (uint64_t)t->n)
        return fail(err, EW_EFORMAT, "%s: %s has %" PRIu64 " elements for %d tokens", name, key,
                    kv->n_elem, (int)t->n);
    return EW_OK;
}

static ew_status read_kinds(tokenizer *t, const gguf *g, const char *name, ew_error *err) {
    const gguf_kv *kv;
    ew_status rc = find_column(t, g, name, "tokenizer.ggml.token_type", &kv, err);

    if (rc) return rc;
    t->kind = mem_array((size_t)t->n, 1);
    t->flags = mem_array((size_t)t->n, 1);
    if (!t->kind || !t->flags) return no_memory(name, err);
    for (int32_t i = 0; i < t->n; i++) {
        int64_t kind = TOKEN_NORMAL;

        if (kv && !gguf_kv_int(kv, (uint64_t)i, &kind))
            return fail(err, EW_EFORMAT, "%s: tokenizer.ggml.token_type[%d] is no integer", name,
                        (int)i);
        /* 0 is "undefined", higher ones are not known: such a token has no text. */
        if (kind < TOKEN_NORMAL || kind > TOKEN_BYTE) kind = TOKEN_UNUSED;
        t->kind[i] = (uint8_t)kind;
    }
    return EW_OK;
}

/* Scores as integers that order the other way round: the best one is the lowest rank. */
static uint32_t score_rank(double score) {
    const float f = isnan(score) ? -INFINITY : (float)score + 0.0f; /* -0 is 0 */
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    return u >> 31 ? u : ~(u | 0x80000000u);
}

static ew_status read_scores(tokenizer *t, const gguf *g, const char *name, ew_error *err) {
    const gguf_kv *kv;
    ew_status rc = find_column(t, g, name, "tokenizer.ggml.scores", &kv, err);

    if (rc) return rc;
    t->order = mem_array((size_t)t->n, sizeof *t->order);
    if (!t->order) return no_memory(name, err);
    for (int32_t i = 0; i < t->n; i++) {
        double score = 0;
        int64_t whole = 0;

        if (kv && gguf_kv_int(kv, (uint64_t)i, &whole))
            score = (double)whole;
        else if (kv)
            gguf_kv_float(kv, (uint64_t)i, &score);
        t->order[i] = score_rank(score);
    }
    return EW_OK;
}

/* Which symbol a byte becomes when nothing longer is found. */
static void find_bytes(tokenizer *t) {
    for (unsigned b = 0; b < 256; b++) {
        char buf[8];
        int64_t id;

        if (t->family == FAMILY_BPE) {
            id = names_find(&t->symbols, (str){t->stand_in[b].c, t->stand_in[b].n});
        } else {
            snprintf(buf, sizeof buf, "<0x%02X>", b);
            id = vocab_find(t, (str){buf, 6});
            if (id < 0 && t->family == FAMILY_SPM) {
                buf[0] = (char)b;
                id = vocab_find(t, (str){buf, 1});
            }
        }
        t->byte_id[b] = (int32_t)id;
    }
}

/* See mark_span(). */
static void find_joins(tokenizer *t) {
    const char *const p = t->symbols.text;

    for (size_t s = 0; s < t->symbols.n; s++)
        for (size_t i = t->symbols.at[s] + 1; i + 3 <= t->symbols.at[s + 1]; i++) {
            const uint8_t before = (uint8_t)p[i - 1];

            if (memcmp(p + i, SPACE_MARK, 3) != 0) continue;
            if (i >= t->symbols.at[s] + 3 && memcmp(p + i - 3, SPACE_MARK, 3) == 0) continue;
            t->joins_mark[before / 8] |= (uint8_t)(1u << before % 8);
        }
}

static ew_status read_family(tokenizer *t, const gguf *g, const char *name, ew_error *err) {
    static const char key[] = "tokenizer.ggml.model";
    static const struct {
        const char *model, *what;
    } known[] = {{"bert", "WordPiece"}, {"t5", "Unigram"}, {"rwkv", "RWKV"}, {"plamo2", "PLaMo 2"}};
    const gguf_kv *kv = gguf_find(g, key);
    const str model = meta_str(g, key);

    if (!kv) return fail(err, EW_EFORMAT, "%s: %s is missing", name, key);
    if (kv->type != GGUF_STRING) return fail(err, EW_EFORMAT, "%s: %s is no string", name, key);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is(model, known[i].model))
            return fail(err, EW_EUNSUPPORTED, "%s: tokenizer \"%s\" (%s) is not supported", name,
                        known[i].model, known[i].what);
    if (str_is(model, "none") || str_is(model, "no_vocab"))
        return fail(err, EW_EUNSUPPORTED, "%s: has no tokenizer", name);
    if (str_is(model, "llama"))
        t->family = FAMILY_SPM;
    else if (str_is(model, "gpt2"))
        t->family = FAMILY_BPE;
    else if (str_is(model, "gemma4"))
        t->family = FAMILY_RAW;
    else
        return fail(err, EW_EUNSUPPORTED, "%s: tokenizer \"%.*s\" is not known", name,
                    (int)(model.n < 64 ? model.n : 64), model.p);
    return EW_OK;
}

static const pretok_rule *find_rule(const tokenizer *t, const gguf *g, const char *name,
                                    char warn[256]) {
    const str pre = t->family == FAMILY_RAW ? str_of("gemma4") : meta_str(g, "tokenizer.ggml.pre");
    const pretok_rule *rule = pretok_find(pre);

    if (rule) return rule;
    if (warn && pre.n)
        snprintf(warn, 256,
                 "%.80s: pre-tokenizer \"%.*s\" is not known; with the default one the model may "
                 "answer worse",
                 name, (int)(pre.n < 64 ? pre.n : 64), pre.p);
    else if (warn)
        snprintf(warn, 256,
                 "%.80s: names no pre-tokenizer; with the default one the model may answer worse",
                 name);
    return pretok_default();
}

static ew_status read_bpe(tokenizer *t, const gguf *g, const char *name, const pretok_rule *rule,
                          ew_error *err) {
    const str pre = meta_str(g, "tokenizer.ggml.pre");
    const char *shown = t->family == FAMILY_RAW && !pretok_find(pre) ? "gemma4" : NULL;
    ew_status rc;

    if (rule->flags & PRETOK_RAW) t->family = FAMILY_RAW;
    t->ignores_merges = rule->flags & PRETOK_IGNORE_MERGES;
    t->adds_bos = rule->flags & (PRETOK_ADD_BOS | PRETOK_FORCE_BOS);
    if (rule == pretok_default()) shown = "default";
    if (shown)
        snprintf(t->model_name, sizeof t->model_name, "BPE (%s)", shown);
    else
        snprintf(t->model_name, sizeof t->model_name, "BPE (%.*s)", (int)(pre.n < 48 ? pre.n : 48),
                 pre.p);
    if (t->family == FAMILY_BPE) stand_in_fill(t);
    rc = merges_read(t, g, name, err);
    if (!rc) rc = pretok_new(&t->pre, rule, err);
    return rc;
}

/* bos, eos, unk, and whether the first two are added. */
static ew_status read_ends(tokenizer *t, const gguf *g, const char *name, const pretok_rule *rule,
                           ew_error *err) {
    static const char key_bos[] = "tokenizer.ggml.add_bos_token";
    static const char key_eos[] = "tokenizer.ggml.add_eos_token";
    const bool is_spm = t->family == FAMILY_SPM;
    const bool is_gpt2 = str_is(meta_str(g, "tokenizer.ggml.model"), "gpt2");
    int32_t bos = is_spm ? 1 : -1, eos = is_spm ? 2 : -1;
    ew_status rc;

    if (is_gpt2) bos = eos = 11; /* the reference's defaults, from Falcon */
    if (rule && rule->flags & PRETOK_NO_BOS) bos = -1;
    rc = meta_id(t, g, name, "tokenizer.ggml.bos_token_id", bos, &t->bos, err);
    if (!rc) rc = meta_id(t, g, name, "tokenizer.ggml.eos_token_id", eos, &t->eos, err);
    if (!rc)
        rc = meta_id(t, g, name, "tokenizer.ggml.unknown_token_id", is_spm ? 0 : -1, &t->unk, err);
    if (rc) return rc;
    if (is_spm) t->adds_bos = true;
    t->adds_bos = meta_bool(g, key_bos, t->adds_bos) || (rule && rule->flags & PRETOK_FORCE_BOS);
    t->adds_eos = meta_bool(g, key_eos, false);
    if (t->adds_bos && t->bos < 0 && gguf_find(g, key_bos))
        return fail(err, EW_EFORMAT, "%s: %s is set, but there is no bos token", name, key_bos);
    if (t->adds_eos && t->eos < 0)
        return fail(err, EW_EFORMAT, "%s: %s is set, but there is no eos token", name, key_eos);
    t->adds_bos = t->adds_bos && t->bos >= 0;
    return EW_OK;
}

ew_status meta_read(tokenizer *t, const gguf *g, const char *name, char warn[256], ew_error *err) {
    const pretok_rule *rule = NULL;
    ew_status rc = read_family(t, g, name, err);

    if (rc) return rc;
    rc = read_tokens(t, g, name, err);
    if (!rc) rc = read_kinds(t, g, name, err);
    if (rc) return rc;
    if (t->family == FAMILY_SPM) {
        snprintf(t->model_name, sizeof t->model_name, "SentencePiece");
        t->adds_space = meta_bool(g, "tokenizer.ggml.add_space_prefix", true);
        rc = read_scores(t, g, name, err);
    } else {
        rule = find_rule(t, g, name, warn);
        rc = read_bpe(t, g, name, rule, err);
    }
    if (rc) return rc;
    find_bytes(t);
    find_joins(t);
    rc = read_ends(t, g, name, rule, err);
    if (!rc) rc = ends_read(t, g, name, err);
    return rc;
}
