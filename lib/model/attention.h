/* SPDX-License-Identifier: MIT
 *
 * Attention of a step's tokens over their sequences' caches, one layer at a time.
 *
 * Keys are cut into spans at fixed positions. Within a span a running softmax goes from page to
 * page; the spans' results (largest score, sum, weighted values) are then joined from the first to
 * the last. A span's result for one (token, head) does not depend on what else is computed with it,
 * so tokens and spans may be shared out among threads in any way: neither the number of threads nor
 * the number of tokens in a step changes a bit.
 *
 * Tokens that follow one another in a sequence form blocks, whose rows (token, query head of the
 * group) go over a page together: it is read, and converted to floats, once for all of them. */
#ifndef EW_MODEL_ATTENTION_H
#define EW_MODEL_ATTENTION_H

#include "base/thread.h"
#include "model/kv.h"

/* Consecutive tokens of one sequence in a step. Their keys and values are in the cache. */
typedef struct {
    const kv_cache *kv;
    uint32_t at;     /* the first one's index in the step */
    uint32_t pos, n; /* the first one's position; how many they are */
} attn_part;

/* Sizes that the work space is laid out for: the largest of all layers. */
typedef struct {
    uint32_t n_head, group; /* query heads, and those that share a key/value head */
    uint32_t dim_k, dim_v, page_tokens;
} attn_sizes;

/* Attention of one layer. */
typedef struct {
    const kern_table *k;
    const kv_layout *layout;
    attn_sizes sizes;
    uint32_t il, n_head, n_head_kv, dim_k, dim_v;
    float scale;        /* of scores */
    float softcap;      /* scores become cap * tanh(score / cap); 0: they don't */
    uint32_t window;    /* a token sees this many keys, its own included; 0: all before it */
    bool is_both_ways;  /* a token sees all keys of its sequence, those after it too; no window */
    const float *sinks; /* [n_head] a score that takes part in each softmax, or NULL */
    const attn_part *parts;
    size_t n_part;
    const float *q; /* [n_tok, n_head * dim_k] */
    float *out;     /* [n_tok, n_head * dim_v] */
    float *spans;   /* [attn_span_floats()] results of spans */
} attention;

size_t attn_work_floats(const attn_sizes *z); /* of one thread */
size_t attn_span_floats(const attn_sizes *z); /* for all together */

/* A place among the blocks of a step, zero at first. Moves forward only. */
typedef struct {
    size_t part;           /* index */
    uint32_t first, n;     /* tokens of the part; n 0: before the first block */
    uint32_t span, n_span; /* of keys that the block sees */
    size_t unit, n_unit;   /* units of work before the block, and of it */
    size_t row;            /* results before the block, in rows of a span */
    bool is_kept;          /* of attn_join() */
} attn_cursor;

/* All threads of the pool call attn_spans(), with a work space each, and pass a barrier. Then out
 * has the rows of tokens for which attn_join() was called, which moves *c: in ascending order. */
void attn_spans(const attention *a, pool *p, float *work);
void attn_join(const attention *a, attn_cursor *c, uint32_t t);

#endif
