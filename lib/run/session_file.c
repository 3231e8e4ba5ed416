/* SPDX-License-Identifier: MIT */
#include "run/session_file.h"

#include "base/cursor.h"
#include "base/file.h"
#include "base/mem.h"
#include "model/rope.h"
#include "run/session.h"

#include <string.h>

enum {
    VERSION = 1,
    HEADER = 40, /* bytes before the token ids */
    WORD = 8,
    BUFFER = 1 << 16 /* bytes gathered before a write */
};

static const char magic[8] = {'E', 'W', 'S', 'E', 'S', 'S', 'N', 1};

static uint64_t pad(uint64_t n) {
    return (n + WORD - 1) / WORD * WORD;
}

uint64_t session_checksum(uint64_t h, const uint8_t *bytes, uint64_t n) {
    for (uint64_t i = 0; i + WORD <= n; i += WORD) {
        h = (h ^ load_u64(bytes + i)) * 0x9E3779B97F4A7C15u; /* golden ratio: mixes upwards */
        h ^= h >> 32;
    }
    return h;
}

ew_status session_image_parse(session_image *out, const uint8_t *bytes, uint64_t n,
                              const char *name, ew_error *err) {
    session_image im = {0};
    uint64_t body;

    if (n < HEADER + WORD || memcmp(bytes, magic, sizeof magic) != 0)
        return fail(err, EW_EFORMAT, "%s: is not a session file", name);
    if (load_u32(bytes + 8) != VERSION)
        return fail(err, EW_EMISMATCH, "%s: session file version %u, this program reads %d", name,
                    load_u32(bytes + 8), VERSION);
    im.type_k = load_u32(bytes + 12);
    im.type_v = load_u32(bytes + 16);
    im.n_tokens = load_u32(bytes + 20);
    im.fingerprint = load_u64(bytes + 24);
    im.token_bytes = load_u64(bytes + 32);
    body = n - HEADER - WORD;
    if (n % WORD || pad((uint64_t)im.n_tokens * 4) > body)
        return fail(err, EW_EFORMAT, "%s: %llu bytes are too few for %u tokens", name,
                    (unsigned long long)n, im.n_tokens);
    if (session_checksum(0, bytes, n - WORD) != load_u64(bytes + n - WORD))
        return fail(err, EW_EFORMAT, "%s: damaged: the checksum does not match", name);
    im.tokens = bytes + HEADER;
    im.kv = im.tokens + pad((uint64_t)im.n_tokens * 4);
    im.kv_bytes = body - pad((uint64_t)im.n_tokens * 4);
    *out = im;
    return EW_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

typedef struct {
    file_out file;
    uint8_t *buffer;
    size_t n;     /* bytes in the buffer */
    uint64_t sum; /* checksum of all written out */
    ew_status rc;
    ew_error *err;
} writer;

/* After a failure the buffer is emptied all the same: put() goes on until all is handed over. */
static void drain(writer *w) {
    if (!w->rc) {
        w->sum = session_checksum(w->sum, w->buffer, w->n);
        w->rc = file_out_write(&w->file, w->buffer, w->n, w->err);
    }
    w->n = 0;
}

static void put(writer *w, const void *bytes, size_t n) {
    const uint8_t *p = bytes;

    while (n) {
        const size_t room = BUFFER - w->n, m = n < room ? n : room;

        memcpy(w->buffer + w->n, p, m);
        w->n += m;
        p += m;
        n -= m;
        if (w->n == BUFFER) drain(w);
    }
}

static void put_le(writer *w, uint64_t v, size_t n) {
    uint8_t b[8];

    for (size_t i = 0; i < n; i++) b[i] = (uint8_t)(v >> 8 * i);
    put(w, b, n);
}

static void put_padding(writer *w) {
    static const uint8_t zero[WORD] = {0};

    put(w, zero, (size_t)(pad(w->n) - w->n)); /* the buffer is a multiple of a word */
}

/* Rows of a page from token t on, for t below n; *m gets how many. */
static uint8_t *rows_at(const ew_session *s, uint32_t il, uint32_t h, bool is_keys, uint32_t t,
                        uint32_t n, uint32_t *m) {
    const kv_layout *l = &s->layout;
    const uint32_t p = t / l->page_tokens, at = t % l->page_tokens;
    const uint32_t left = n - t, room = l->page_tokens - at;

    *m = left < room ? left : room;
    return is_keys ? kv_keys(&s->kv, il, h, p) + at * l->k_row
                   : kv_values(&s->kv, il, h, p) + at * l->v_row;
}

/* All rows of one kind of a head that the next token sees, page by page. */
static void put_rows(writer *w, const ew_session *s, uint32_t il, uint32_t h, bool is_keys) {
    const kv_layout *l = &s->layout;
    const size_t row = is_keys ? l->k_row : l->v_row;
    uint32_t m;

    for (uint32_t t = kv_seen_from(l, il, s->n); t < s->n; t += m) {
        const uint8_t *rows = rows_at(s, il, h, is_keys, t, s->n, &m);

        put(w, rows, m * row);
    }
}

/* Keys rotated by the factors of long contexts are another model's, as it were. */
static uint64_t fingerprint_of(const ew_session *s) {
    return s->m->fingerprint + rope_is_long(&s->m->hp.rope[ROPE_FULL], s->opt.ctx_tokens);
}

ew_status ew_session_save(const ew_session *s, const char *path, ew_error *err) {
    writer w = {.file = {.fd = -1}, .err = err};
    const kv_layout *l = &s->layout;

    if (!kv_is_whole(&s->kv, s->n))
        return fail(err, EW_EINVAL,
                    "%s: the session was rewound further than its windows reach back; it can be "
                    "saved after the next evaluation",
                    path);
    w.buffer = mem_array(BUFFER, 1);
    if (!w.buffer) return fail(err, EW_ENOMEM, "%s: out of memory", path);
    w.rc = file_out_open(&w.file, path, err);
    if (w.rc) goto out;
    put(&w, magic, sizeof magic);
    put_le(&w, VERSION, 4);
    put_le(&w, (uint64_t)s->opt.type_k, 4);
    put_le(&w, (uint64_t)s->opt.type_v, 4);
    put_le(&w, s->n, 4);
    put_le(&w, fingerprint_of(s), 8);
    put_le(&w, kv_token_bytes(l), 8);
    for (uint32_t i = 0; i < s->n; i++) put_le(&w, (uint32_t)s->tokens[i], 4);
    put_padding(&w);
    for (uint32_t il = 0; il < l->n_layer; il++)
        for (uint32_t h = 0; h < l->n_head_kv[il]; h++) {
            put_rows(&w, s, il, h, true);
            put_rows(&w, s, il, h, false);
        }
    put_padding(&w);
    drain(&w);
    put_le(&w, w.sum, 8);
    drain(&w);
    if (!w.rc) w.rc = file_out_commit(&w.file, err);
out:
    file_out_abort(&w.file);
    mem_free(w.buffer);
    return w.rc;
}

/* ---- reading -------------------------------------------------------------------------------- */

static ew_status check_image(const ew_session *s, const session_image *im, const char *path,
                             ew_error *err) {
    if (im->fingerprint != fingerprint_of(s))
        return fail(err, EW_EMISMATCH, "%s: was saved with another model than %s", path,
                    s->m->path);
    if (im->type_k != (uint32_t)s->opt.type_k || im->type_v != (uint32_t)s->opt.type_v ||
        im->token_bytes != kv_token_bytes(&s->layout))
        return fail(
            err, EW_EMISMATCH, "%s: was saved with KV cache types %s/%s, this session has %s/%s",
            path, ew_kv_type_name((ew_kv_type)im->type_k), ew_kv_type_name((ew_kv_type)im->type_v),
            ew_kv_type_name(s->opt.type_k), ew_kv_type_name(s->opt.type_v));
    if (im->n_tokens > s->opt.ctx_tokens)
        return fail(err, EW_EFULL, "%s: holds %u tokens, the context has %u", path, im->n_tokens,
                    s->opt.ctx_tokens);
    if (im->kv_bytes != pad(kv_seen_bytes(&s->layout, im->n_tokens)))
        return fail(err, EW_EFORMAT, "%s: %u tokens need %llu bytes of KV cache, it holds %llu",
                    path, im->n_tokens, (unsigned long long)kv_seen_bytes(&s->layout, im->n_tokens),
                    (unsigned long long)im->kv_bytes);
    for (uint32_t i = 0; i < im->n_tokens; i++)
        if (load_u32(im->tokens + 4 * (size_t)i) >= s->m->hp.n_vocab)
            return fail(err, EW_EFORMAT, "%s: token %u is out of range", path, i);
    return EW_OK;
}

static const uint8_t *get_rows(ew_session *s, uint32_t il, uint32_t h, bool is_keys, uint32_t n_tok,
                               const uint8_t *from) {
    const kv_layout *l = &s->layout;
    const size_t row = is_keys ? l->k_row : l->v_row;

    for (uint32_t m, t = kv_seen_from(l, il, n_tok); t < n_tok; t += m) {
        uint8_t *rows = rows_at(s, il, h, is_keys, t, n_tok, &m);

        memcpy(rows, from, m * row);
        from += m * row;
    }
    return from;
}

ew_status ew_session_load(ew_session *s, const char *path, ew_error *err) {
    file_map map = {0};
    session_image im;
    const uint8_t *at;
    ew_status rc = file_map_open(&map, path, false, err);

    if (!rc) rc = session_image_parse(&im, map.data, map.size, path, err);
    if (!rc) rc = check_image(s, &im, path, err);
    if (!rc && s->layout.page_bytes[KV_WINDOW]) { /* other pages than those there are */
        ew_session_rewind(s, 0);
        kv_restart(&s->kv, im.n_tokens > s->layout.window ? im.n_tokens - s->layout.window : 0);
    }
    if (!rc) rc = kv_reserve(&s->kv, im.n_tokens, err);
    if (rc) {
        kv_trim(&s->kv, s->n);
        goto out;
    }
    at = im.kv;
    for (uint32_t il = 0; il < s->layout.n_layer; il++)
        for (uint32_t h = 0; h < s->layout.n_head_kv[il]; h++) {
            at = get_rows(s, il, h, true, im.n_tokens, at);
            at = get_rows(s, il, h, false, im.n_tokens, at);
        }
    for (uint32_t i = 0; i < im.n_tokens; i++)
        s->tokens[i] = (int32_t)load_u32(im.tokens + 4 * (size_t)i);
    s->n = im.n_tokens;
    s->has_logits = false;
    kv_trim(&s->kv, s->n);
out:
    file_map_close(&map);
    return rc;
}
