/* SPDX-License-Identifier: MIT
 *
 * What a file's tensors are made of: bytes by element type. */
#ifndef EW_CLI_WEIGHTS_H
#define EW_CLI_WEIGHTS_H

#include "edgewise.h"

#include <jansson.h>

enum {
    WEIGHT_TYPES_MAX = 64
};

typedef struct {
    const char *type; /* "Q4_K" */
    size_t n_tensor;
    uint64_t n_elem, n_bytes;
} weight_type;

typedef struct {
    weight_type v[WEIGHT_TYPES_MAX]; /* largest first */
    size_t n;
    uint64_t n_elem, n_bytes; /* of all */
} weight_types;

weight_types weight_types_of(const ew_file *f);

json_t *weight_types_json(const weight_types *w); /* array */

#endif
