/* SPDX-License-Identifier: MIT
 *
 * Recipes: which type each tensor of a quantized file has. "Q4_K_M" is not a type but a mix, in
 * which tensors that matter more get more bits. The choices are those of the reference quantizer
 * without an importance matrix, so that sizes computed from them are those of published files. */
#ifndef EW_FORMAT_RECIPE_H
#define EW_FORMAT_RECIPE_H

#include "base/str.h"
#include "tensor/type.h"

typedef struct recipe recipe;

/* What the choice depends on besides the tensor. */
typedef struct {
    uint32_t n_layer, n_head, n_head_kv;
    uint32_t n_expert; /* 0: dense */
    bool is_tied;      /* no output.weight: token_embd serves for both */
} recipe_model;

const recipe *recipe_find(const char *name); /* "Q4_K_M"; NULL when there is none */
const recipe *recipe_at(size_t i);           /* NULL after the last */
const char *recipe_name(const recipe *r);
uint32_t recipe_file_type(const recipe *r); /* for general.file_type */

/* The tensor's type; ne0 is its row length. Norms, biases and routers stay F32. */
elem_type recipe_type(const recipe *r, const recipe_model *m, str name, uint32_t n_dims,
                      uint64_t ne0);

/* t, or what stands for it where rows are no multiple of its block: a type of 32-element blocks,
 * in the last resort F16. */
elem_type recipe_fit(elem_type t, uint64_t ne0);

/* Does the tensor stay F32 in every recipe? */
bool recipe_keeps_f32(str name, uint32_t n_dims);

#endif
