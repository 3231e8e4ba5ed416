/* SPDX-License-Identifier: MIT
 *
 * Element types of tensors, with the numbers that GGUF files use, and their block sizes. */
#ifndef EW_TENSOR_TYPE_H
#define EW_TENSOR_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values are GGUF's type ids (docs of the format, table of ids). */
typedef enum {
    TYPE_F32 = 0,
    TYPE_F16 = 1,
    TYPE_Q4_0 = 2,
    TYPE_Q4_1 = 3,
    TYPE_Q5_0 = 6,
    TYPE_Q5_1 = 7,
    TYPE_Q8_0 = 8,
    TYPE_Q2_K = 10,
    TYPE_Q3_K = 11,
    TYPE_Q4_K = 12,
    TYPE_Q5_K = 13,
    TYPE_Q6_K = 14,
    TYPE_IQ2_XXS = 16,
    TYPE_IQ2_XS = 17,
    TYPE_IQ3_XXS = 18,
    TYPE_IQ1_S = 19,
    TYPE_IQ4_NL = 20,
    TYPE_IQ3_S = 21,
    TYPE_IQ2_S = 22,
    TYPE_IQ4_XS = 23,
    TYPE_I8 = 24,
    TYPE_I16 = 25,
    TYPE_I32 = 26,
    TYPE_I64 = 27,
    TYPE_F64 = 28,
    TYPE_IQ1_M = 29,
    TYPE_BF16 = 30,
    TYPE_TQ1_0 = 34,
    TYPE_TQ2_0 = 35,
    TYPE_MXFP4 = 39,
    TYPE_NVFP4 = 40,
    TYPE_Q1_0 = 41,
    TYPE_Q2_0 = 42,
    TYPE_COUNT = 43
} elem_type;

typedef struct {
    const char *name;     /* NULL: no such id, or a retired one */
    uint32_t block_elems; /* elements that share a block */
    uint32_t block_bytes;
} type_info;

/* For any id, also one from a file: info with name NULL when unknown. */
const type_info *type_get(uint32_t id);

/* Bytes of a row of n elements; n must be a multiple of block_elems. */
static inline size_t type_row_bytes(elem_type t, size_t n) {
    const type_info *i = type_get((uint32_t)t);

    return n / i->block_elems * i->block_bytes;
}

#endif
