/* SPDX-License-Identifier: MIT
 *
 * Inside the tokenizer: what one holds, and what its parts offer each other. Files: tokenizer.c
 * (opening, encoding), tok_meta.c (the vocabulary from metadata), tok_merges.c (the merge table),
 * tok_ends.c (which tokens end a generation), tok_decode.c (ids to text), special.c (special
 * tokens in text), merge.c (the merging loop both families share), tok_spm.c, tok_bpe.c, pretok.c
 * (splitting before BPE), pretok_table.c (its rules by name). */
#ifndef EW_TEXT_VOCAB_H
#define EW_TEXT_VOCAB_H

#include "text/names.h"
#include "text/pretok.h"
#include "text/tokenizer.h"

enum {
    TEXT_MAX = 1 << 30, /* bytes of one encode: offsets stay in 32 bits even when spaces triple */
    TOKENS_MAX = 1 << 26,
    SPECIAL_MAX = 1024 /* bytes; a longer special token is not looked for in text */
};

/* U+2581, which stands for a space in SentencePiece vocabularies. */
#define SPACE_MARK "\xE2\x96\x81"

enum { /* token_flags */
    TOKEN_EOG = 1,
    TOKEN_LSTRIP = 2, /* eats white space before it in text */
    TOKEN_RSTRIP = 4  /* and after it */
};

typedef enum {
    FAMILY_SPM, /* SentencePiece BPE: scores */
    FAMILY_BPE, /* byte-level BPE: merges over bytes */
    FAMILY_RAW  /* BPE: merges over UTF-8 characters, spaces written as SPACE_MARK */
} tok_family;

/* An entry of the merge table: the symbols left and right become `joined`. Free: left == -1. */
typedef struct {
    int32_t left, right;
    uint32_t rank; /* lower merges first */
    int32_t joined;
} tok_pair;

static inline size_t pair_hash(int32_t left, int32_t right) {
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;

    return (size_t)(key * 0x9E3779B97F4A7C15u >> 24);
}

struct tokenizer {
    tok_family family;
    int32_t n; /* tokens */
    /* Symbols: the tokens' names, then texts that only merges name ("ghosts", ids from n on): they
     * take part in merging, but what is left of them becomes bytes. */
    names symbols;
    char *bytes;        /* what each token adds to a text, one after the other */
    uint32_t *bytes_at; /* n + 1 offsets */
    uint8_t *kind;      /* token_kind */
    uint8_t *flags;
    uint32_t *order;      /* FAMILY_SPM: scores as ranks, lower merges first */
    tok_pair *pair;       /* FAMILY_BPE and RAW: a hash table */
    size_t n_pair;        /* slots, a power of two */
    int32_t byte_id[256]; /* the symbol of a byte, -1: none */
    struct {
        char c[2];
        uint8_t n;
    } stand_in[256]; /* FAMILY_BPE: how names write a byte */

    /* Special tokens, sorted by name so that a longest match narrows a range byte by byte. Those
     * that begin with byte b are special[special_at[b]] .. special[special_at[b + 1] - 1]. */
    int32_t *special;
    uint32_t special_at[257];

    int32_t bos, eos, unk; /* -1: none */
    bool adds_bos, adds_eos;
    bool adds_space;        /* FAMILY_SPM: a text begins with a space that is not there */
    bool ignores_merges;    /* FAMILY_BPE: a word that is a token is that token */
    uint8_t joins_mark[32]; /* bit b: some token has byte b right before a SPACE_MARK */
    pretok *pre;            /* BPE and RAW */
    char model_name[64];
    uint64_t n_bytes; /* memory it takes */
};

/* tok_meta.c */
ew_status meta_read(tokenizer *t, const gguf *g, const char *name, char warn[256], ew_error *err);
int32_t vocab_find(const tokenizer *t, str name); /* a token, -1: none */
/* The id under this key, dflt when there is none; -1 for none, also where dflt is no token. */
ew_status meta_id(const tokenizer *t, const gguf *g, const char *name, const char *key,
                  int32_t dflt, int32_t *out, ew_error *err);

/* tok_merges.c: fills t->pair, may add symbols. */
ew_status merges_read(tokenizer *t, const gguf *g, const char *name, ew_error *err);

/* tok_ends.c: end-of-generation flags, and kinds that files get wrong. */
ew_status ends_read(tokenizer *t, const gguf *g, const char *name, ew_error *err);

/* tok_decode.c: t->bytes, what each token adds to a text. False: no memory. */
bool decode_prepare(tokenizer *t);

/* An id list that grows; false: no memory. */
typedef struct {
    int32_t *p;
    size_t n, cap;
} id_list;
bool id_push(id_list *l, int32_t id);

/* merge.c: symbols in a chain, joined pair by pair. */
typedef struct {
    uint32_t prev, next; /* MERGE_END: none */
    uint32_t off, n;     /* bytes of the text; n 0: joined to its left neighbour */
    int32_t id;          /* -1: nothing can be joined to it */
} merge_sym;

#define MERGE_END UINT32_MAX

typedef struct {
    uint64_t key;         /* rank, then position: the smallest merges first */
    uint32_t right, size; /* size: bytes of both when it was noted */
} merge_step;

typedef struct {
    merge_sym *sym;
    size_t n, cap_sym;
    merge_step *heap;
    size_t n_heap;
} merger;

/* Can l and the r after it be joined? text: of the word. */
typedef bool merge_fn(const tokenizer *t, const char *text, const merge_sym *l, const merge_sym *r,
                      uint32_t *rank, int32_t *joined);

void merge_fini(merger *m);
bool merge_reserve(merger *m, size_t n);               /* room for n symbols */
void merge_add(merger *m, size_t n_bytes, int32_t id); /* the next symbol; after m->n = 0 */
void merge_run(merger *m, const tokenizer *t, const char *text, merge_fn *can);

/* The work space of one encode. */
typedef struct {
    const tokenizer *t;
    id_list ids;
    merger merge;
    pretok_work pre;
    char *text; /* the fragment with its spaces rewritten */
    size_t cap_text;
} encoder;

/* Encode a stretch of text without special tokens: the whole, or what lies between two of them.
 * False: no memory. */
bool spm_encode(encoder *e, str text);
bool bpe_encode(encoder *e, str text);

/* tok_spm.c: the text of a fragment with spaces as SPACE_MARK; false: no memory. */
bool mark_spaces(encoder *e, str text, bool has_prefix, str *out);
/* The length of the piece at the start of text that no token reaches beyond. */
size_t mark_span(const tokenizer *t, str text);
/* What is left of a symbol that is no token: its bytes as tokens, or <unk>. */
bool push_bytes(encoder *e, const char *p, size_t n);

/* special.c */
ew_status special_index(tokenizer *t, ew_error *err);
/* The longest special token at p (n bytes follow), -1: none. n_markup: bytes from p on where
 * control tokens count. */
int32_t special_match(const tokenizer *t, const char *p, size_t n, size_t n_markup);

/* tok_bpe.c: the printable stand-ins of byte-level BPE. */
void stand_in_fill(tokenizer *t);

#endif
