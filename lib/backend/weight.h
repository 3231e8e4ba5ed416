/* SPDX-License-Identifier: MIT
 *
 * A weight matrix where the backend keeps it. The walk never looks inside: it hands weights to the
 * backend's products, so that another memory order or another device changes this file alone. */
#ifndef EW_BACKEND_WEIGHT_H
#define EW_BACKEND_WEIGHT_H

#include "kernels/kern.h"

typedef struct {
    const uint8_t *data;   /* [n_out, n_in] in rows of row_bytes; NULL when packed or absent */
    const uint8_t *packed; /* the same in packed form (kernels/pack.h), or NULL */
    size_t group_bytes;    /* of 16 packed rows; 0: no kernel takes this matrix by groups of rows */
    elem_type type;
    act_form form; /* the form its activations must have; ACT_F32 for evaluation in float */
    size_t n_in, n_out, row_bytes;
    size_t n_mat; /* matrices of this shape one after another, as experts have them; else 1 */
} weight;

/* One of them. n_out is a multiple of 16 where they are packed. */
static inline weight weight_of(const weight *w, size_t i) {
    weight one = *w;

    if (one.data) one.data += i * w->n_out * w->row_bytes;
    if (one.packed) one.packed += i * w->n_out / 16 * w->group_bytes;
    one.n_mat = 1;
    return one;
}

static inline bool weight_exists(const weight *w) {
    return w->data || w->packed;
}

#endif
