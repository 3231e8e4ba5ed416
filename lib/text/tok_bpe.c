/* SPDX-License-Identifier: MIT
 *
 * BPE with merges: over bytes (each byte has a printable stand-in, and names of tokens are written
 * in stand-ins), or over characters with spaces written as U+2581 ("raw"). The text is split into
 * words first; inside a word, pairs are joined by the rank of their merge. */
#include "base/mem.h"
#include "base/utf8.h"
#include "text/vocab.h"

/* GPT-2's alphabet: the 188 printable bytes of Latin-1 stand for themselves, the other 68 in
 * increasing order are U+0100 and on. */
static bool is_printable(unsigned b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
}

void stand_in_fill(tokenizer *t) {
    uint32_t next = 0x100;

    for (unsigned b = 0; b < 256; b++) {
        char buf[4];

        t->stand_in[b].n = (uint8_t)utf8_encode(is_printable(b) ? b : next++, buf);
        memcpy(t->stand_in[b].c, buf, 2);
    }
}

static bool can_join(const tokenizer *t, const char *text, const merge_sym *l, const merge_sym *r,
                     uint32_t *rank, int32_t *joined) {
    const size_t mask = t->n_pair - 1;

    (void)text;
    if (l->id < 0 || r->id < 0) return false;
    for (size_t i = pair_hash(l->id, r->id) & mask; t->pair[i].left >= 0; i = (i + 1) & mask) {
        if (t->pair[i].left != l->id || t->pair[i].right != r->id) continue;
        *rank = t->pair[i].rank;
        *joined = t->pair[i].joined;
        return true;
    }
    return false;
}

/* The token whose name is the word in stand-ins, -1: none. */
static int32_t whole_word(const tokenizer *t, str word) {
    char buf[512 + 2];
    size_t n = 0;

    if (word.n > 256 || word.n > t->symbols.n_longest) return -1;
    for (size_t i = 0; i < word.n; i++) {
        const uint8_t b = (uint8_t)word.p[i];

        memcpy(buf + n, t->stand_in[b].c, 2);
        n += t->stand_in[b].n;
    }
    return vocab_find(t, (str){buf, n});
}

static bool add_symbols(encoder *e, str word) {
    const tokenizer *const t = e->t;
    uint32_t cp;

    if (!merge_reserve(&e->merge, word.n)) return false;
    for (size_t i = 0, n; i < word.n; i += n) {
        n = 1;
        if (t->family == FAMILY_BPE) {
            merge_add(&e->merge, 1, t->byte_id[(uint8_t)word.p[i]]);
            continue;
        }
        n = utf8_decode(word.p + i, word.n - i, &cp);
        if (n == 0) n = 1;
        merge_add(&e->merge, n, (int32_t)names_find(&t->symbols, (str){word.p + i, n}));
    }
    return true;
}

static bool encode_word(encoder *e, str word) {
    const tokenizer *const t = e->t;
    merger *const m = &e->merge;

    if (!add_symbols(e, word)) return false;
    merge_run(m, t, word.p, can_join);
    for (uint32_t i = 0; i != MERGE_END; i = m->sym[i].next) {
        const merge_sym *const s = m->sym + i;

        if (s->id >= 0 && s->id < t->n ? !id_push(&e->ids, s->id)
                                       : !push_bytes(e, word.p + s->off, s->n))
            return false;
    }
    return true;
}

/* Lines of a raw vocabulary are long: cut where no merge reaches across. */
static bool encode_line(encoder *e, str line) {
    const size_t n_newline = line.p[0] == '\n' ? line.n : 0;
    const int32_t id = n_newline ? vocab_find(e->t, line) : -1;

    /* Runs of newlines that are a token are that token, whatever the merges say. */
    if (id >= 0) return id_push(&e->ids, id);
    while (line.n) {
        const size_t n = mark_span(e->t, line);

        if (!encode_word(e, (str){line.p, n})) return false;
        line.p += n;
        line.n -= n;
    }
    return true;
}

typedef struct {
    encoder *e;
    const char *text;
} word_ctx;

static bool on_word(void *ctx, size_t off, size_t n) {
    const word_ctx *const c = ctx;
    const str word = {c->text + off, n};
    int32_t id = -1;

    if (c->e->t->family == FAMILY_RAW) return encode_line(c->e, word);
    if (c->e->t->ignores_merges) id = whole_word(c->e->t, word);
    if (id >= 0) return id_push(&c->e->ids, id);
    return encode_word(c->e, word);
}

bool bpe_encode(encoder *e, str text) {
    word_ctx ctx = {e, NULL};

    if (text.n == 0) return true;
    if (e->t->family == FAMILY_RAW && !mark_spaces(e, text, false, &text)) return false;
    ctx.text = text.p;
    return pretok_split(e->t->pre, &e->pre, text, on_word, &ctx);
}
