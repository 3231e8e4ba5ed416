/* SPDX-License-Identifier: MIT
 *
 * From ids to text. What a token adds is worked out once, when the vocabulary is read; decoding
 * copies. The "clean-up" of spaces before punctuation that some libraries do after decoding is
 * left out: it changes texts that had such spaces. */
#include "base/mem.h"
#include "base/utf8.h"
#include "text/vocab.h"

enum {
    STAND_INS = 0x144
}; /* code points below that stand for a byte, or none */

static void invert_stand_ins(const tokenizer *t, int16_t byte_of[STAND_INS]) {
    for (size_t cp = 0; cp < STAND_INS; cp++) byte_of[cp] = -1;
    for (int16_t b = 0; b < 256; b++) {
        uint32_t cp = 0;

        if (utf8_decode(t->stand_in[b].c, t->stand_in[b].n, &cp) && cp < STAND_INS) byte_of[cp] = b;
    }
}

/* Bytes that the stand-ins of a name mean; other characters mean themselves. out has room for
 * name.n. */
static size_t from_stand_ins(const int16_t byte_of[STAND_INS], str name, char *out) {
    size_t n = 0;

    for (size_t i = 0; i < name.n;) {
        uint32_t cp = STAND_INS;
        size_t len = utf8_decode(name.p + i, name.n - i, &cp);

        if (len && cp < STAND_INS && byte_of[cp] >= 0) {
            out[n++] = (char)byte_of[cp];
        } else {
            len = len ? len : 1;
            memcpy(out + n, name.p + i, len);
            n += len;
        }
        i += len;
    }
    return n;
}

static size_t from_marks(str name, char *out) {
    size_t n = 0;

    for (size_t i = 0; i < name.n;) {
        if (name.n - i >= 3 && memcmp(name.p + i, SPACE_MARK, 3) == 0) {
            out[n++] = ' ';
            i += 3;
        } else {
            out[n++] = name.p[i++];
        }
    }
    return n;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

/* "<0x0A>"; another name of a byte token is taken as it is. */
static size_t from_hex(str name, char *out) {
    if (name.n == 6 && memcmp(name.p, "<0x", 3) == 0 && hex(name.p[3]) >= 0 &&
        hex(name.p[4]) >= 0) {
        out[0] = (char)(hex(name.p[3]) * 16 + hex(name.p[4]));
        return 1;
    }
    memcpy(out, name.p, name.n);
    return name.n;
}

bool decode_prepare(tokenizer *t) {
    int16_t byte_of[STAND_INS];
    size_t n = 0;

    /* No token adds more bytes than its name has. */
    t->bytes = mem_array(t->symbols.at[t->n], 1);
    t->bytes_at = mem_array((size_t)t->n + 1, sizeof *t->bytes_at);
    if (!t->bytes || !t->bytes_at) return false;
    invert_stand_ins(t, byte_of);
    for (int32_t i = 0; i < t->n; i++) {
        const str name = names_get(&t->symbols, (uint32_t)i);
        char *const out = t->bytes + n;

        switch ((token_kind)t->kind[i]) {
        case TOKEN_NORMAL:
            n += t->family == FAMILY_BPE ? from_stand_ins(byte_of, name, out)
                                         : from_marks(name, out);
            break;
        case TOKEN_USER_DEFINED:
            memcpy(out, name.p, name.n);
            n += name.n;
            break;
        case TOKEN_BYTE:
            n += from_hex(name, out);
            break;
        case TOKEN_UNKNOWN:
        case TOKEN_CONTROL:
        case TOKEN_UNUSED:
            break;
        }
        t->bytes_at[i + 1] = (uint32_t)n;
    }
    return true;
}

str tok_bytes_of(const tokenizer *t, int32_t id) {
    if (id < 0 || id >= t->n) return (str){"", 0};
    return (str){t->bytes + t->bytes_at[id], t->bytes_at[id + 1] - t->bytes_at[id]};
}

static bool is_hidden(const tokenizer *t, int32_t id) {
    return t->kind[id] == TOKEN_CONTROL || t->kind[id] == TOKEN_UNKNOWN;
}

str tok_text_of(const tokenizer *t, int32_t id, bool with_special, bool *is_start) {
    str s;

    if (id < 0 || id >= t->n) return (str){"", 0};
    s = with_special && is_hidden(t, id) ? tok_name(t, id) : tok_bytes_of(t, id);
    if (*is_start && t->adds_space && s.n && s.p[0] == ' ') s = (str){s.p + 1, s.n - 1};
    if (with_special || !is_hidden(t, id)) *is_start = false;
    return s;
}

void tok_decode(const tokenizer *t, const int32_t *ids, size_t n, bool with_special, strbuf *out) {
    bool is_start = true;

    for (size_t i = 0; i < n; i++) strbuf_str(out, tok_text_of(t, ids[i], with_special, &is_start));
}
