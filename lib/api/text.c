/* SPDX-License-Identifier: MIT
 *
 * Text to tokens and back, for the vocabulary of a model. */
#include "base/mem.h"
#include "model/model.h"
#include "text/detok.h"

ew_status ew_tokenize(const ew_model *m, const char *text, size_t text_n, unsigned flags,
                      int32_t **out, size_t *n, ew_error *err) {
    const tok_piece piece = {{text_n ? text : "", text_n}, flags & EW_TOK_PARSE_SPECIAL};

    return tok_encode(m->tok, &piece, 1, flags & EW_TOK_ADD_SPECIAL, out, n, err);
}

ew_status ew_detokenize(const ew_model *m, const int32_t *ids, size_t n, bool with_special,
                        char **out, size_t *out_n, ew_error *err) {
    strbuf b;

    *out = NULL;
    *out_n = 0;
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= tok_n(m->tok))
            return fail(err, EW_EINVAL, "token %d is not in the vocabulary of %d", (int)ids[i],
                        (int)tok_n(m->tok));
    strbuf_init(&b, SIZE_MAX / 2);
    tok_decode(m->tok, ids, n, with_special, &b);
    *out = strbuf_take(&b, out_n);
    if (!*out) return fail(err, EW_ENOMEM, "the text of %zu tokens: out of memory", n);
    return EW_OK;
}

int32_t ew_n_vocab(const ew_model *m) {
    return tok_n(m->tok);
}

static const char *view(const ew_model *m, int32_t id, str s, size_t *n) {
    const bool ok = id >= 0 && id < tok_n(m->tok);

    *n = ok ? s.n : 0;
    return ok ? s.p : NULL;
}

const char *ew_token_bytes(const ew_model *m, int32_t id, size_t *n) {
    return view(m, id, tok_bytes_of(m->tok, id), n);
}

const char *ew_token_name(const ew_model *m, int32_t id, size_t *n) {
    return view(m, id, tok_name(m->tok, id), n);
}

bool ew_token_is_control(const ew_model *m, int32_t id) {
    return tok_kind(m->tok, id) == TOKEN_CONTROL;
}

bool ew_token_is_eog(const ew_model *m, int32_t id) {
    return tok_is_eog(m->tok, id);
}

int32_t ew_token_bos(const ew_model *m) {
    return tok_bos(m->tok);
}

int32_t ew_token_eos(const ew_model *m) {
    return tok_eos(m->tok);
}

bool ew_model_adds_bos(const ew_model *m) {
    return tok_adds_bos(m->tok);
}

const char *ew_tokenizer_name(const ew_model *m) {
    return tok_model_name(m->tok);
}

ew_status ew_detok_new(ew_detok **out, const ew_model *m, ew_error *err) {
    return detok_new(out, m->tok, err);
}
