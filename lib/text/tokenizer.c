/* SPDX-License-Identifier: MIT
 *
 * Opening a tokenizer and encoding: the text is cut at special tokens, what lies between goes to
 * the family's encoder. */
#include "text/tokenizer.h"

#include "base/mem.h"
#include "text/vocab.h"

static uint64_t count_bytes(const tokenizer *t) {
    return sizeof *t + names_bytes(&t->symbols) + t->symbols.at[t->n] +
           (uint64_t)t->n * (sizeof *t->bytes_at + 2 + (t->order ? sizeof *t->order : 0)) +
           t->n_pair * sizeof *t->pair + t->special_at[256] * sizeof *t->special;
}

ew_status tok_open(tokenizer **out, const gguf *g, const char *name, char warn[256],
                   ew_error *err) {
    tokenizer *t = mem_array(1, sizeof *t);
    ew_status rc;

    *out = NULL;
    if (warn) warn[0] = 0;
    if (!t) return fail(err, EW_ENOMEM, "%s: tokenizer: out of memory", name);
    rc = meta_read(t, g, name, warn, err);
    if (!rc && !decode_prepare(t)) rc = fail(err, EW_ENOMEM, "%s: tokenizer: out of memory", name);
    if (!rc) rc = special_index(t, err);
    if (rc) {
        tok_close(t);
        return rc;
    }
    t->n_bytes = count_bytes(t);
    *out = t;
    return EW_OK;
}

void tok_close(tokenizer *t) {
    if (!t) return;
    names_fini(&t->symbols);
    pretok_free(t->pre);
    mem_free(t->bytes);
    mem_free(t->bytes_at);
    mem_free(t->kind);
    mem_free(t->flags);
    mem_free(t->order);
    mem_free(t->pair);
    mem_free(t->special);
    mem_free(t);
}

bool id_push(id_list *l, int32_t id) {
    if (l->n == l->cap) {
        const size_t cap = l->cap ? l->cap * 2 : 64;
        int32_t *p = mem_resize(l->p, cap, sizeof *p);

        if (!p) return false;
        l->p = p;
        l->cap = cap;
    }
    l->p[l->n++] = id;
    return true;
}

/* Where in the joined text control tokens count: a zone is a run of markup pieces. */
typedef struct {
    const tok_piece *piece;
    size_t n_piece, next; /* pieces before `next` end at or before `end` */
    size_t end;           /* of the stretch that contains the position */
    bool is_markup;
} zones;

/* How far markup reaches from position i on; i never goes back. */
static size_t markup_left(zones *z, size_t i) {
    while (i >= z->end && z->next < z->n_piece) {
        z->is_markup = z->piece[z->next].is_markup;
        do z->end += z->piece[z->next++].text.n;
        while (z->next < z->n_piece && z->piece[z->next].is_markup == z->is_markup);
    }
    return z->is_markup ? z->end - i : 0;
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool encode_plain(encoder *e, str text) {
    return e->t->family == FAMILY_SPM ? spm_encode(e, text) : bpe_encode(e, text);
}

static bool encode_text(encoder *e, str text, zones z) {
    const tokenizer *const t = e->t;
    size_t from = 0;

    for (size_t i = 0; i < text.n;) {
        const uint8_t b = (uint8_t)text.p[i];
        size_t end = i;
        int32_t id = -1;

        if (t->special_at[b] < t->special_at[b + 1])
            id = special_match(t, text.p + i, text.n - i, markup_left(&z, i));
        if (id < 0) {
            i++;
            continue;
        }
        if (t->flags[id] & TOKEN_LSTRIP)
            while (end > from && is_space(text.p[end - 1])) end--;
        if (!encode_plain(e, (str){text.p + from, end - from}) || !id_push(&e->ids, id))
            return false;
        i += names_get(&t->symbols, (uint32_t)id).n;
        if (t->flags[id] & TOKEN_RSTRIP)
            while (i < text.n && is_space(text.p[i])) i++;
        from = i;
    }
    return encode_plain(e, (str){text.p + from, text.n - from});
}

/* The pieces' texts as one; *copy (mem_free) holds it when there are several. */
static ew_status join(const tok_piece *pieces, size_t n_piece, str *text, char **copy,
                      ew_error *err) {
    uint64_t n = 0;

    *copy = NULL;
    *text = n_piece ? pieces[0].text : (str){"", 0};
    for (size_t i = 0; i < n_piece; i++) {
        n += pieces[i].text.n;
        if (n > TEXT_MAX)
            return fail(err, EW_EINVAL, "a text of over %d bytes can't be tokenized", TEXT_MAX);
    }
    if (n_piece < 2) return EW_OK;
    *copy = mem_array((size_t)n, 1);
    if (!*copy) return fail(err, EW_ENOMEM, "tokenizing %zu bytes: out of memory", (size_t)n);
    *text = (str){*copy, 0};
    for (size_t i = 0; i < n_piece; i++) {
        if (pieces[i].text.n) memcpy(*copy + text->n, pieces[i].text.p, pieces[i].text.n);
        text->n += pieces[i].text.n;
    }
    return EW_OK;
}

ew_status tok_encode(const tokenizer *t, const tok_piece *pieces, size_t n_piece, bool add_special,
                     int32_t **out, size_t *n, ew_error *err) {
    encoder e = {.t = t};
    char *copy;
    str text;
    ew_status rc = join(pieces, n_piece, &text, &copy, err);
    bool ok = true;

    *out = NULL;
    *n = 0;
    if (rc) return rc;
    if (add_special && t->adds_bos) ok = id_push(&e.ids, t->bos);
    ok = ok && encode_text(&e, text, (zones){.piece = pieces, .n_piece = n_piece});
    if (ok && add_special && t->adds_eos) ok = id_push(&e.ids, t->eos);
    if (ok && !e.ids.p) ok = (e.ids.p = mem_array(1, sizeof *e.ids.p)) != NULL;
    if (ok) {
        *out = e.ids.p;
        *n = e.ids.n;
        e.ids.p = NULL;
    } else {
        rc = fail(err, EW_ENOMEM, "tokenizing %zu bytes: out of memory", text.n);
    }
    mem_free(e.ids.p);
    mem_free(e.text);
    merge_fini(&e.merge);
    pretok_work_fini(&e.pre);
    mem_free(copy);
    return rc;
}

uint64_t tok_bytes(const tokenizer *t) {
    return t->n_bytes;
}

int32_t tok_n(const tokenizer *t) {
    return t->n;
}

str tok_name(const tokenizer *t, int32_t id) {
    if (id < 0 || id >= t->n) return (str){"", 0};
    return names_get(&t->symbols, (uint32_t)id);
}

token_kind tok_kind(const tokenizer *t, int32_t id) {
    return id < 0 || id >= t->n ? TOKEN_UNUSED : (token_kind)t->kind[id];
}

bool tok_is_eog(const tokenizer *t, int32_t id) {
    return id >= 0 && id < t->n && t->flags[id] & TOKEN_EOG;
}

int32_t tok_find(const tokenizer *t, str name) {
    return vocab_find(t, name);
}

int32_t tok_bos(const tokenizer *t) {
    return t->bos;
}

int32_t tok_eos(const tokenizer *t) {
    return t->eos;
}

bool tok_adds_bos(const tokenizer *t) {
    return t->adds_bos;
}

bool tok_adds_eos(const tokenizer *t) {
    return t->adds_eos;
}

const char *tok_model_name(const tokenizer *t) {
    return t->model_name;
}
