/* SPDX-License-Identifier: MIT
 *
 * One evaluation step: tokens of one or more sequences go through all layers together, so that the
 * weights are read once for all of them. All threads walk the layers side by side and meet at a
 * barrier after each stage. */
#ifndef EW_MODEL_WALK_H
#define EW_MODEL_WALK_H

#include "backend/cpu/ops.h"
#include "model/attention.h"
#include "model/moe.h"

#include <stdatomic.h>

enum {
    WALK_LOGIT_ROWS = 8 /* rows of logits computed together */
};

/* Consecutive tokens of one sequence, to be appended at position pos. The cache has room. */
typedef struct {
    kv_cache *kv;
    const int32_t *tokens;
    uint32_t pos, n;
} walk_part;

/* One token of a step. */
typedef struct {
    kv_cache *kv;
    int32_t token;
    uint32_t pos;
} walk_token;

/* Work space of steps of up to chunk tokens, allocated once. */
typedef struct {
    const ew_model *m;
    uint32_t chunk;
    big_block block; /* all below lie in it */
    float *x;        /* [chunk, n_embd] the residual stream */
    acts in;         /* [chunk, n_embd] normalised */
    acts att;        /* [chunk, n_head * head_dim_v] attention output */
    acts ffn;        /* [chunk, n_ff] activated gate * up */
    float *q;        /* [chunk, n_head * head_dim_k] */
    float *k, *v;    /* [chunk, n_head_kv * head_dim] */
    float *out;      /* [chunk, n_embd] a branch's output that is not added as it is; may be NULL */
    moe_space moe;   /* empty in dense models */
    struct {
        float *cs;    /* [chunk, n_rot] cosines and sines */
        double *freq; /* [n_rot / 2] */
        double magnitude;
    } rope[ROPE_SETS];
    float *logits;  /* [WALK_LOGIT_ROWS, n_vocab] */
    walk_token *at; /* [chunk] */
    cpu_work *work; /* [n_thread] */
    attn_sizes attn;
    attn_part *parts; /* [chunk] of the step */
    float *spans;     /* attn_span_floats() */
    float *attn_work; /* [n_thread, attn_work_floats()] */
    const kv_layout *layout;
} walk_space;

/* Bytes that walk_space_init() allocates. */
uint64_t walk_space_bytes(const ew_model *m, const kv_layout *l, uint32_t chunk);
/* ctx_tokens: the most a sequence will have; some models rotate by it. */
ew_status walk_space_init(walk_space *w, const ew_model *m, const kv_layout *l, uint32_t chunk,
                          uint32_t ctx_tokens, ew_error *err);
void walk_space_fini(walk_space *w);

/* Evaluates the parts' tokens (at most chunk in all). Then w->x holds the last layer's output, and
 * with n_logit > 0 the first rows of w->logits those of the given token indices (at most
 * WALK_LOGIT_ROWS). cancel is read once a layer; EW_ECANCEL leaves the caches' new rows undefined.
 */
ew_status walk_step(walk_space *w, const walk_part *parts, size_t n_part, const uint32_t *logit_of,
                    size_t n_logit, atomic_bool *cancel, ew_error *err);

/* Logits of other tokens of the step before. */
void walk_logits(walk_space *w, const uint32_t *logit_of, size_t n_logit);

#endif
