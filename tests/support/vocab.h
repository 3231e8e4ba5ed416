/* SPDX-License-Identifier: MIT
 *
 * Small vocabularies made in memory: metadata put together with the GGUF writer, parsed and opened
 * as a tokenizer. */
#ifndef EW_TESTS_VOCAB_H
#define EW_TESTS_VOCAB_H

#include "format/gguf_write.h"
#include "text/tokenizer.h"

typedef struct {
    gguf_writer w; /* add keys to it before opening */
    str *name;     /* tokens so far, copies */
    int32_t *kind;
    float *score;
    size_t n;
    char *bytes; /* the file */
    gguf g;
} test_vocab;

/* model: tokenizer.ggml.model; NULL leaves the key out. */
void vocab_init(test_vocab *v, const char *model);
void vocab_fini(test_vocab *v);
void vocab_token(test_vocab *v, str name, int32_t kind, float score);
void vocab_tokens(test_vocab *v,
                  const char *names); /* separated by spaces, normal, scores falling */
void vocab_bytes(test_vocab *v);      /* <0x00> .. <0xFF> */
void vocab_stand_ins(test_vocab *v);  /* the 256 characters of byte-level BPE */
void vocab_merges(test_vocab *v, const char *merges); /* separated by commas: "a b,ab c" */

/* Writes tokens, types and scores, parses; call once. */
void vocab_build(test_vocab *v);
/* vocab_build and tok_open, which must succeed. */
tokenizer *vocab_open(test_vocab *v);

#endif
