/* SPDX-License-Identifier: MIT
 *
 * Architecture descriptors. An architecture is a table of the tensors a layer has and a few
 * switches; the walk (walk.h) is the same for all. To add one: a file with its descriptor, a line
 * in arch.c, a golden test. */
#ifndef EW_MODEL_ARCH_H
#define EW_MODEL_ARCH_H

#include "model/model.h"

/* What a dimension of a layer's tensor must be. */
typedef enum {
    DIM_EMBD, /* n_embd */
    DIM_Q,    /* n_head * head_dim_k */
    DIM_K,    /* n_head_kv * head_dim_k */
    DIM_V,    /* n_head_kv * head_dim_v */
    DIM_O,    /* n_head * head_dim_v */
    DIM_FF    /* n_ff */
} dim;

typedef enum {
    SLOT_MATRIX, /* a weight in struct layer: [in, out] */
    SLOT_VECTOR  /* a const float * in struct layer: [in] */
} slot_kind;

/* One tensor of a layer, "blk.<N>.<name>", and where in struct layer it goes. */
typedef struct {
    const char *name; /* NULL ends a table */
    slot_kind kind;
    bool is_optional;
    dim in, out;
    size_t offset; /* in struct layer */
} tensor_slot;

enum {
    ARCH_TABLES = 3
};

struct arch {
    const char *name; /* general.architecture */
    rope_kind rope;
    const tensor_slot *slots[ARCH_TABLES]; /* unused ones NULL */
};

/* Tables that architectures share. */
extern const tensor_slot slots_dense[];    /* norms, attention, gated feed-forward */
extern const tensor_slot slots_qkv_bias[]; /* biases of q, k and v, required */
extern const tensor_slot slots_any_bias[]; /* the same and the output's, optional */

const arch *arch_find(str name); /* NULL: not supported */
const arch *arch_at(size_t i);   /* the supported ones, from 0 until NULL */

extern const arch arch_llama, arch_qwen2;

#endif
