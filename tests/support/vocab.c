/* SPDX-License-Identifier: MIT */
#include "tests/support/vocab.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

void vocab_init(test_vocab *v, const char *model) {
    *v = (test_vocab){0};
    gguf_writer_init(&v->w);
    gguf_put_str(&v->w, "general.architecture", str_of("llama"));
    if (model) gguf_put_str(&v->w, "tokenizer.ggml.model", str_of(model));
}

void vocab_fini(test_vocab *v) {
    gguf_writer_fini(&v->w);
    for (size_t i = 0; i < v->n; i++) test_free((void *)(uintptr_t)v->name[i].p);
    test_free(v->name);
    test_free(v->kind);
    test_free(v->score);
    gguf_close(&v->g);
    test_free(v->bytes);
    *v = (test_vocab){0};
}

static void *grown(void *p, size_t n, size_t size) {
    p = test_realloc(p, n * size);
    assert_non_null(p);
    return p;
}

void vocab_token(test_vocab *v, str name, int32_t kind, float score) {
    char *copy = grown(NULL, name.n + 1, 1);

    memcpy(copy, name.p, name.n);
    if ((v->n & (v->n + 1)) == 0) { /* room for the next power of two */
        v->name = grown(v->name, v->n * 2 + 2, sizeof *v->name);
        v->kind = grown(v->kind, v->n * 2 + 2, sizeof *v->kind);
        v->score = grown(v->score, v->n * 2 + 2, sizeof *v->score);
    }
    v->name[v->n] = (str){copy, name.n};
    v->kind[v->n] = kind;
    v->score[v->n] = score;
    v->n++;
}

void vocab_tokens(test_vocab *v, const char *names) {
    while (*names) {
        const size_t n = strcspn(names, " ");

        vocab_token(v, (str){names, n}, TOKEN_NORMAL, -(float)v->n);
        names += n;
        names += strspn(names, " ");
    }
}

void vocab_bytes(test_vocab *v) {
    for (unsigned b = 0; b < 256; b++) {
        char name[8];

        snprintf(name, sizeof name, "<0x%02X>", b);
        vocab_token(v, str_of(name), TOKEN_BYTE, 0);
    }
}

void vocab_stand_ins(test_vocab *v) {
    for (unsigned b = 0, next = 0x100; b < 256; b++) {
        const bool itself = (b > 32 && b < 127) || (b > 160 && b != 173);
        char name[4];
        const size_t n = utf8_encode(itself ? b : next++, name);

        vocab_token(v, (str){name, n}, TOKEN_NORMAL, 0);
    }
}

void vocab_merges(test_vocab *v, const char *merges) {
    str list[64];
    size_t n = 0;

    while (*merges) {
        const size_t len = strcspn(merges, ",");

        assert_true(n < sizeof list / sizeof *list);
        list[n++] = (str){merges, len};
        merges += len;
        merges += *merges == ',';
    }
    gguf_put_strs(&v->w, "tokenizer.ggml.merges", list, n);
}

void vocab_build(test_vocab *v) {
    uint8_t head[24] = {'G', 'G', 'U', 'F', 3};
    ew_error err = {0};

    if (v->n) {
        gguf_put_strs(&v->w, "tokenizer.ggml.tokens", v->name, v->n);
        gguf_put_array(&v->w, "tokenizer.ggml.token_type", GGUF_I32, v->kind, v->n);
        gguf_put_array(&v->w, "tokenizer.ggml.scores", GGUF_F32, v->score, v->n);
    }
    assert_false(v->w.kv.failed);
    for (size_t i = 0; i < 8; i++) head[16 + i] = (uint8_t)(v->w.n_kv >> 8 * i);
    v->bytes = grown(NULL, sizeof head + v->w.kv.n, 1);
    memcpy(v->bytes, head, sizeof head);
    memcpy(v->bytes + sizeof head, v->w.kv.p, v->w.kv.n);
    if (gguf_parse(&v->g, (const uint8_t *)v->bytes, sizeof head + v->w.kv.n, "vocab", &err))
        fail_msg("%s", err.text);
}

tokenizer *vocab_open(test_vocab *v) {
    ew_error err = {0};
    tokenizer *t;

    vocab_build(v);
    if (tok_open(&t, &v->g, "vocab", NULL, &err)) fail_msg("%s", err.text);
    return t;
}
