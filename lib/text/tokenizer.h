/* SPDX-License-Identifier: MIT
 *
 * Tokenizers from GGUF metadata: SentencePiece-style BPE with scores ("llama") and byte-level BPE
 * with merges ("gpt2", "gemma4"). Immutable after opening; encoding allocates its own work space,
 * so one tokenizer serves any number of threads. */
#ifndef EW_TEXT_TOKENIZER_H
#define EW_TEXT_TOKENIZER_H

#include "base/str.h"
#include "format/gguf.h"

typedef struct tokenizer tokenizer;

/* Token kinds with the numbers of tokenizer.ggml.token_type. */
typedef enum {
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN,
    TOKEN_CONTROL,
    TOKEN_USER_DEFINED,
    TOKEN_UNUSED,
    TOKEN_BYTE
} token_kind;

/* Copies what it needs; g may be closed afterwards. name stands in errors. warn (may be NULL) gets
 * a sentence when the pre-tokenizer is unknown and the default one is used. */
ew_status tok_open(tokenizer **out, const gguf *g, const char *name, char warn[256], ew_error *err);
void tok_close(tokenizer *t);
uint64_t tok_bytes(const tokenizer *t); /* memory it takes */

/* A piece of text to encode; in markup pieces control tokens are recognised, in others their names
 * are plain text. Pieces join seamlessly: letters on both sides of a border may become one token.
 */
typedef struct {
    str text;
    bool is_markup;
} tok_piece;

/* *out: ids, mem_free. add_special: bos and eos as the metadata say. */
ew_status tok_encode(const tokenizer *t, const tok_piece *pieces, size_t n_piece, bool add_special,
                     int32_t **out, size_t *n, ew_error *err);

int32_t tok_n(const tokenizer *t);
str tok_bytes_of(const tokenizer *t,
                 int32_t id);                 /* what it adds to a text; "" for control tokens */
str tok_name(const tokenizer *t, int32_t id); /* as in the vocabulary */
token_kind tok_kind(const tokenizer *t, int32_t id);
bool tok_is_eog(const tokenizer *t, int32_t id);
int32_t tok_find(const tokenizer *t, str name); /* -1: none */
int32_t tok_bos(const tokenizer *t);            /* -1: none */
int32_t tok_eos(const tokenizer *t);
bool tok_adds_bos(const tokenizer *t);
bool tok_adds_eos(const tokenizer *t);
const char *tok_model_name(const tokenizer *t); /* "BPE (qwen2)" */

/* Decoding a sequence. The first token's leading space is dropped when the encoder put it there
 * (SentencePiece); with_special writes control tokens' names. Appends to out. */
/* The same token by token. *is_start: true before the first one. */
str tok_text_of(const tokenizer *t, int32_t id, bool with_special, bool *is_start);
void tok_decode(const tokenizer *t, const int32_t *ids, size_t n, bool with_special, strbuf *out);

#endif
