/* SPDX-License-Identifier: MIT
 *
 * A vocabulary and a text. Input that begins with "GGUF" is a file's bytes, and its end is the text
 * as well. Otherwise it is lines, each a letter and a value, up to an empty line; the rest is the
 * text:
 *   m model    p pre-tokenizer    g merge
 *   0..6 name  a token of that kind, its score falling (the letter "s": rising)
 *   b          the 256 byte tokens    c  the 256 stand-ins of byte-level BPE
 *   B E U X    bos, eos, unk, eot id  +  add_bos_token  -  no add_space_prefix */
#include "tests/fuzz/fuzz.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "format/gguf_write.h"
#include "text/detok.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LIST_MAX = 1024,
    TEXT_CAP = 1 << 22
};

typedef struct {
    gguf_writer w;
    str name[LIST_MAX], merge[LIST_MAX];
    int32_t kind[LIST_MAX];
    float score[LIST_MAX];
    size_t n, n_merge;
    char made[256][8]; /* names that are not in the input */
    bool is_rising;
} recipe;

static void token(recipe *r, str name, int32_t kind) {
    if (r->n == LIST_MAX) return;
    r->name[r->n] = name;
    r->kind[r->n] = kind;
    r->score[r->n] = r->is_rising ? (float)r->n : -(float)r->n;
    r->n++;
}

static void all_bytes(recipe *r, bool as_stand_ins) {
    for (unsigned b = 0, next = 0x100; b < 256; b++) {
        const bool itself = (b > 32 && b < 127) || (b > 160 && b != 173);
        const int n = as_stand_ins ? (int)utf8_encode(itself ? b : next++, r->made[b])
                                   : snprintf(r->made[b], sizeof r->made[b], "<0x%02X>", b);

        token(r, (str){r->made[b], (size_t)n}, as_stand_ins ? TOKEN_NORMAL : TOKEN_BYTE);
    }
}

static void line(recipe *r, char what, str value) {
    uint32_t number = 0;

    for (size_t i = 0; i < value.n && i < 9; i++)
        number = number * 10 + (uint32_t)(value.p[i] & 15);
    switch (what) {
    case 'm':
        gguf_put_str(&r->w, "tokenizer.ggml.model", value);
        break;
    case 'p':
        gguf_put_str(&r->w, "tokenizer.ggml.pre", value);
        break;
    case 'n':
        gguf_put_str(&r->w, "general.name", value);
        break;
    case 'g':
        if (r->n_merge < LIST_MAX) r->merge[r->n_merge++] = value;
        break;
    case 's':
        r->is_rising = true;
        break;
    case 'b':
    case 'c':
        all_bytes(r, what == 'c');
        break;
    case 'B':
        gguf_put_u32(&r->w, "tokenizer.ggml.bos_token_id", number);
        break;
    case 'E':
        gguf_put_u32(&r->w, "tokenizer.ggml.eos_token_id", number);
        break;
    case 'U':
        gguf_put_u32(&r->w, "tokenizer.ggml.unknown_token_id", number);
        break;
    case 'X':
        gguf_put_u32(&r->w, "tokenizer.ggml.eot_token_id", number);
        break;
    case '+':
        gguf_put_bool(&r->w, "tokenizer.ggml.add_bos_token", true);
        break;
    case '-':
        gguf_put_bool(&r->w, "tokenizer.ggml.add_space_prefix", false);
        break;
    default:
        if (what >= '0' && what <= '6') token(r, value, what - '0');
    }
}

/* Reads the lines; what follows is the text. */
static str cook(recipe *r, str s) {
    while (s.n && s.p[0] != '\n') {
        const char *end = memchr(s.p, '\n', s.n);
        const size_t n = end ? (size_t)(end - s.p) : s.n;

        line(r, s.p[0], (str){s.p + 1, n - 1});
        s = (str){s.p + n + (end != NULL), s.n - n - (end != NULL)};
    }
    gguf_put_strs(&r->w, "tokenizer.ggml.tokens", r->name, r->n);
    gguf_put_array(&r->w, "tokenizer.ggml.token_type", GGUF_I32, r->kind, r->n);
    gguf_put_array(&r->w, "tokenizer.ggml.scores", GGUF_F32, r->score, r->n);
    gguf_put_strs(&r->w, "tokenizer.ggml.merges", r->merge, r->n_merge);
    return s.n ? (str){s.p + 1, s.n - 1} : s;
}

/* A stream of the tokens gives what decoding all of them gives. */
static void check_stream(const tokenizer *t, const int32_t *ids, size_t n) {
    ew_detok *d;
    const char *p;
    size_t len;
    strbuf whole, parts;

    strbuf_init(&whole, TEXT_CAP);
    strbuf_init(&parts, TEXT_CAP);
    if (detok_new(&d, t, NULL)) abort();
    for (size_t i = 0; i < n; i++) {
        if (ew_detok_push(d, ids[i], &p, &len, NULL)) abort(); /* ids are in range */
        strbuf_add(&parts, p, len);
    }
    ew_detok_flush(d, &p, &len);
    strbuf_add(&parts, p, len);
    tok_decode(t, ids, n, false, &whole);
    if (!whole.failed && !str_eq((str){whole.p, whole.n}, (str){parts.p, parts.n})) abort();
    ew_detok_free(d);
    strbuf_fini(&whole);
    strbuf_fini(&parts);
}

static void encode(const gguf *g, str text) {
    const size_t half = text.n / 2;
    const tok_piece pieces[] = {{{text.p, half}, true}, {{text.p + half, text.n - half}, false}};
    tokenizer *t;
    char warn[256];
    int32_t *ids;
    size_t n;

    if (tok_open(&t, g, "fuzz", warn, NULL)) return;
    if (tok_encode(t, pieces, 2, true, &ids, &n, NULL)) abort();
    check_stream(t, ids, n);
    mem_free(ids);
    tok_close(t);
}

static void encode_recipe(str input) {
    static const uint8_t magic[24] = {'G', 'G', 'U', 'F', 3};
    recipe *r = mem_array(1, sizeof *r);
    uint8_t *bytes;
    gguf g = {0};
    str text;

    if (!r) return;
    gguf_writer_init(&r->w);
    text = cook(r, input);
    bytes = r->w.kv.failed ? NULL : mem_array(sizeof magic + r->w.kv.n, 1);
    if (bytes) {
        memcpy(bytes, magic, sizeof magic);
        bytes[16] = (uint8_t)r->w.n_kv;
        bytes[17] = (uint8_t)(r->w.n_kv >> 8);
        memcpy(bytes + sizeof magic, r->w.kv.p, r->w.kv.n);
        if (gguf_parse(&g, bytes, sizeof magic + r->w.kv.n, "fuzz", NULL) == EW_OK)
            encode(&g, text);
    }
    gguf_close(&g);
    gguf_writer_fini(&r->w);
    mem_free(bytes);
    mem_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const str input = {(const char *)data, size};
    gguf g = {0};

    if (!str_starts(input, str_of("GGUF"))) {
        encode_recipe(input);
    } else if (gguf_parse(&g, data, size, "fuzz", NULL) == EW_OK) {
        const size_t n = size < 512 ? size : 512;

        encode(&g, (str){input.p + size - n, n});
    }
    gguf_close(&g);
    if (mem_live()) abort();
    return 0;
}
