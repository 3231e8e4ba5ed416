/* SPDX-License-Identifier: MIT */
#include "cli/weights.h"

#include <stdlib.h>
#include <string.h>

/* Types have unique names; more than fit can't be, as formats know some forty. */
static weight_type *entry_of(weight_types *w, const char *type) {
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->v[i].type, type) == 0) return &w->v[i];
    if (w->n == WEIGHT_TYPES_MAX) return &w->v[WEIGHT_TYPES_MAX - 1];
    w->v[w->n].type = type;
    return &w->v[w->n++];
}

static int larger_first(const void *a, const void *b) {
    const uint64_t x = ((const weight_type *)a)->n_bytes, y = ((const weight_type *)b)->n_bytes;

    return (x < y) - (x > y);
}

weight_types weight_types_of(const ew_file *f) {
    weight_types w = {0};

    for (size_t i = 0; i < ew_file_n_tensor(f); i++) {
        ew_tensor_info t;
        weight_type *e;
        uint64_t n;

        ew_file_tensor(f, i, &t);
        n = t.shape[0] * t.shape[1] * t.shape[2] * t.shape[3];
        e = entry_of(&w, t.type);
        e->n_tensor++;
        e->n_elem += n;
        e->n_bytes += t.n_bytes;
        w.n_elem += n;
        w.n_bytes += t.n_bytes;
    }
    qsort(w.v, w.n, sizeof *w.v, larger_first);
    return w;
}

json_t *weight_types_json(const weight_types *w) {
    json_t *a = json_array();

    for (size_t i = 0; i < w->n; i++)
        json_array_append_new(a, json_pack("{s:s, s:I, s:I, s:I}", "type", w->v[i].type, "tensors",
                                           (json_int_t)w->v[i].n_tensor, "parameters",
                                           (json_int_t)w->v[i].n_elem, "bytes",
                                           (json_int_t)w->v[i].n_bytes));
    return a;
}
