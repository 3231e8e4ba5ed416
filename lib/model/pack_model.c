/* SPDX-License-Identifier: MIT */
#include "model/pack_model.h"

#include "kernels/pack.h"
#include "model/arch.h"

enum {
    GROUPS_TAKE = 4,  /* groups of 16 rows that a thread packs at a time */
    ALIGN_PACKED = 64 /* vectors are read from aligned addresses */
};

/* Calls fn for every matrix of the layers and the output head, in the file's usual order. */
static ew_status each_matrix(ew_model *m, ew_status (*fn)(ew_model *m, weight *w, void *ctx),
                             void *ctx) {
    ew_status rc = EW_OK;

    for (uint32_t il = 0; il < m->hp.n_layer; il++)
        for (size_t i = 0; i < ARCH_TABLES && m->arch->slots[i]; i++)
            for (const tensor_slot *s = m->arch->slots[i]; s->name && !rc; s++)
                if (s->kind != SLOT_VECTOR)
                    rc = fn(m, (weight *)(void *)((uint8_t *)&m->layers[il] + s->offset), ctx);
    return rc ? rc : fn(m, &m->head, ctx);
}

typedef struct {
    uint64_t packed, from_file;
} sums;

static size_t packed_size(const weight *w) {
    return (w->group_bytes * (w->n_out / PACK_ROWS * w->n_mat) + ALIGN_PACKED - 1) / ALIGN_PACKED *
           ALIGN_PACKED;
}

bool pack_is_packable(const weight *w) {
    return w->group_bytes && w->n_out % PACK_ROWS == 0;
}

static ew_status mark(ew_model *m, weight *w, void *ctx) {
    sums *s = ctx;

    if (!w->data || w->form != act_of(w->type) || !m->engine->kern.matmul_groups[w->type])
        return EW_OK;
    w->group_bytes = pack_bytes(w->type, PACK_ROWS, w->n_in);
    if (!pack_is_packable(w)) return EW_OK;
    s->packed += packed_size(w);
    s->from_file += w->row_bytes * w->n_out * w->n_mat;
    return EW_OK;
}

uint64_t pack_mark(ew_model *m, uint64_t *from_file) {
    sums s = {0};

    each_matrix(m, mark, &s);
    *from_file = s.from_file;
    return s.packed;
}

typedef struct {
    const ew_engine *e;
    const weight *w;
    uint8_t *to;
} job;

static void pack_groups(void *arg, int ith) {
    const job *j = arg;
    const weight *w = j->w;
    size_t b, e;

    (void)ith;
    while (pool_take(j->e->pool, w->n_out / PACK_ROWS * w->n_mat, GROUPS_TAKE, &b, &e))
        for (size_t g = b; g < e; g++)
            j->e->kern.pack_group[w->type](j->to + g * w->group_bytes,
                                           w->data + g * PACK_ROWS * w->row_bytes, w->row_bytes,
                                           w->n_in);
}

/* Gives back the file's pages under a matrix, wherever it is mapped. */
static void drop_source(const ew_model *m, const weight *w) {
    const uint64_t n = (uint64_t)w->row_bytes * w->n_out * w->n_mat;

    for (size_t i = 0; i < m->g->n_part; i++) {
        const file_map *map = &m->g->map[i];

        if (w->data >= map->data && w->data < map->data + map->size)
            file_map_drop(map, (uint64_t)(w->data - map->data), n);
    }
}

void matrix_prefault(const ew_model *m, const weight *w) {
    for (size_t i = 0; i < m->g->n_part; i++) {
        const file_map *map = &m->g->map[i];

        if (w->data >= map->data && w->data < map->data + map->size)
            file_map_prefault(map, (uint64_t)(w->data - map->data),
                              w->row_bytes * w->n_out * w->n_mat);
    }
}

typedef struct {
    uint64_t at;
    const ew_model_options *o;
    ew_error *err;
} progress;

static ew_status pack_one(ew_model *m, weight *w, void *ctx) {
    progress *p = ctx;
    job j = {.e = m->engine, .w = w, .to = (uint8_t *)m->packed.data + p->at};

    if (!pack_is_packable(w)) {
        if (w->data) matrix_prefault(m, w);
        return EW_OK;
    }
    pool_run(m->engine->pool, pack_groups, &j);
    drop_source(m, w);
    w->packed = j.to;
    w->data = NULL;
    p->at += packed_size(w);
    if (p->o->progress && !p->o->progress(p->o->progress_ctx, (float)p->at / (float)m->cost_packed))
        return fail(p->err, EW_ECANCEL, "%s: loading was cancelled", m->path);
    return EW_OK;
}

ew_status pack_run(ew_model *m, const ew_model_options *o, ew_error *err) {
    progress p = {.o = o, .err = err};
    const bool is_tied = m->head.data == m->embd.data;
    ew_status rc = each_matrix(m, pack_one, &p);

    if (!rc && is_tied) m->embd = m->head;
    return rc;
}
