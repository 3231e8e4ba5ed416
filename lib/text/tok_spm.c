/* SPDX-License-Identifier: MIT
 *
 * SentencePiece-style BPE: any two neighbours whose joined text is a token may be joined, the one
 * with the best score first. Spaces are written as U+2581; a character that is no token becomes
 * its byte tokens, or <unk> in a vocabulary without them. */
#include "base/mem.h"
#include "base/utf8.h"
#include "text/vocab.h"

bool mark_spaces(encoder *e, str text, bool has_prefix, str *out) {
    size_t n = text.n + (has_prefix ? 3 : 0);
    char *p;

    for (size_t i = 0; i < text.n; i++) n += text.p[i] == ' ' ? 2 : 0;
    if (n > e->cap_text) {
        p = mem_resize(e->text, n * 2, 1);
        if (!p) return false;
        e->text = p;
        e->cap_text = n * 2;
    }
    p = e->text;
    if (has_prefix) {
        memcpy(p, SPACE_MARK, 3);
        p += 3;
    }
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == ' ') {
            memcpy(p, SPACE_MARK, 3);
            p += 3;
        } else {
            *p++ = text.p[i];
        }
    }
    *out = (str){e->text, n};
    return true;
}

static bool is_mark(const char *p) {
    return memcmp(p, SPACE_MARK, 3) == 0;
}

/* A SPACE_MARK after another byte than those found before one inside tokens begins a new piece:
 * nothing is ever joined across that border, and short pieces keep the heap in the cache. */
size_t mark_span(const tokenizer *t, str text) {
    const char *const end = text.p + text.n;
    const char *p = text.p;

    while (end - p > 3) {
        p = memchr(p + 1, SPACE_MARK[0], (size_t)(end - p - 1));
        if (!p || end - p < 3) break;
        if (!is_mark(p)) continue;
        if (p - text.p >= 3 && is_mark(p - 3)) continue;
        if (t->joins_mark[(uint8_t)p[-1] / 8] >> (uint8_t)p[-1] % 8 & 1) continue;
        return (size_t)(p - text.p);
    }
    return text.n;
}

bool push_bytes(encoder *e, const char *p, size_t n) {
    const tokenizer *const t = e->t;

    for (size_t i = 0; i < n; i++) {
        const int32_t id = t->byte_id[(uint8_t)p[i]];

        if (id >= 0 && id < t->n) {
            if (!id_push(&e->ids, id)) return false;
            continue;
        }
        /* Neighbouring unknowns share one <unk>, as in the libraries the vocabularies come from. */
        if (t->unk < 0 || (e->ids.n && e->ids.p[e->ids.n - 1] == t->unk)) continue;
        if (!id_push(&e->ids, t->unk)) return false;
    }
    return true;
}

static bool can_join(const tokenizer *t, const char *text, const merge_sym *l, const merge_sym *r,
                     uint32_t *rank, int32_t *joined) {
    const int64_t id = names_find(&t->symbols, (str){text + l->off, (size_t)l->n + r->n});

    if (id < 0) return false;
    *rank = t->order[id];
    *joined = (int32_t)id;
    return true;
}

static bool encode_span(encoder *e, str text) {
    const tokenizer *const t = e->t;
    merger *const m = &e->merge;

    if (!merge_reserve(m, text.n)) return false;
    for (size_t i = 0, n; i < text.n; i += n) {
        uint32_t cp;

        n = utf8_decode(text.p + i, text.n - i, &cp);
        if (n == 0) n = 1;
        merge_add(m, n, -1);
    }
    merge_run(m, t, text.p, can_join);
    for (uint32_t i = 0; i != MERGE_END; i = m->sym[i].next) {
        const str s = {text.p + m->sym[i].off, m->sym[i].n};
        const int32_t id = m->sym[i].id >= 0 ? m->sym[i].id : vocab_find(t, s);

        if (id >= 0 ? !id_push(&e->ids, id) : !push_bytes(e, s.p, s.n)) return false;
    }
    return true;
}

bool spm_encode(encoder *e, str text) {
    if (text.n == 0) return true;
    if (!mark_spaces(e, text, e->t->adds_space, &text)) return false;
    while (text.n) {
        const size_t n = mark_span(e->t, text);

        if (!encode_span(e, (str){text.p, n})) return false;
        text.p += n;
        text.n -= n;
    }
    return true;
}
