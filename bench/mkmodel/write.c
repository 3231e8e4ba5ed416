/* SPDX-License-Identifier: MIT
 *
 * The file: metadata, tensor table, then the tensors one after another, filled in pieces. */
#include "base/mem.h"
#include "bench/mkmodel/mkmodel.h"

#include <stdio.h>

enum {
    PIECE_BYTES = 4 << 20
};

typedef enum {
    MATRIX,
    NORM,
    BIAS,
    ROPE_FACTORS
} content;

typedef struct {
    char name[64];
    content content;
    elem_type type;
    uint32_t n_dims;
    uint64_t ne[2]; /* row length, rows */
    double std;     /* of a matrix's weights */
} tensor;

/* All tensors of a model, in file order. */
typedef struct {
    const mk_shape *s;
    mk_type type;
    tensor *t; /* NULL: only counting */
    size_t n;
} list;

static recipe_model facts_of(const mk_shape *s) {
    return (recipe_model){.n_layer = s->n_layer,
                          .n_head = s->n_head,
                          .n_head_kv = s->n_head_kv,
                          .is_tied = s->is_tied};
}

static void add(list *l, tensor t) {
    const str name = str_of(t.name);
    const recipe_model facts = facts_of(l->s);

    t.type = TYPE_F32;
    if (!recipe_keeps_f32(name, t.n_dims))
        t.type = l->type.recipe ? recipe_type(l->type.recipe, &facts, name, t.n_dims, t.ne[0])
                                : recipe_fit(l->type.pure, t.ne[0]);
    if (l->t) l->t[l->n] = t;
    l->n++;
}

/* A matrix with `in` inputs and `out` outputs; gain 1 keeps the size of what goes through. */
static void add_matrix(list *l, const char *name, int layer, uint64_t in, uint64_t out,
                       double gain) {
    tensor t = {.content = MATRIX, .n_dims = 2, .ne = {in, out}};

    t.std = gain / mk_sqrt((double)in);
    if (layer < 0)
        snprintf(t.name, sizeof t.name, "%s.weight", name);
    else
        snprintf(t.name, sizeof t.name, "blk.%d.%s.weight", layer, name);
    add(l, t);
}

static void add_vector(list *l, const char *name, int layer, uint64_t n, content c) {
    tensor t = {.content = c, .n_dims = 1, .ne = {n, 1}};
    const char *suffix = c == BIAS ? "bias" : "weight";

    if (layer < 0)
        snprintf(t.name, sizeof t.name, "%s.%s", name, suffix);
    else
        snprintf(t.name, sizeof t.name, "blk.%d.%s.%s", layer, name, suffix);
    add(l, t);
}

static void add_layer(list *l, int i) {
    const mk_shape *s = l->s;
    const uint64_t d = s->n_embd, q = (uint64_t)s->n_head * s->head_dim;
    const uint64_t kv = (uint64_t)s->n_head_kv * s->head_dim;
    /* Each layer adds twice to the residual stream; together they add about as much as one. */
    const double residual = 1 / mk_sqrt(2.0 * s->n_layer);

    add_vector(l, "attn_norm", i, d, NORM);
    add_matrix(l, "attn_q", i, d, q, 1);
    add_matrix(l, "attn_k", i, d, kv, 1);
    add_matrix(l, "attn_v", i, d, kv, 1);
    if (s->has_qkv_bias) {
        add_vector(l, "attn_q", i, q, BIAS);
        add_vector(l, "attn_k", i, kv, BIAS);
        add_vector(l, "attn_v", i, kv, BIAS);
    }
    add_matrix(l, "attn_output", i, q, d, residual);
    add_vector(l, "ffn_norm", i, d, NORM);
    add_matrix(l, "ffn_gate", i, d, s->n_ff, 1);
    add_matrix(l, "ffn_up", i, d, s->n_ff, 1);
    add_matrix(l, "ffn_down", i, s->n_ff, d, residual);
}

static void add_all(list *l) {
    const mk_shape *s = l->s;

    l->n = 0;
    add_matrix(l, "token_embd", -1, s->n_embd, s->n_vocab, 1);
    if (s->rope_factor) add_vector(l, "rope_freqs", -1, s->head_dim / 2, ROPE_FACTORS);
    for (uint32_t i = 0; i < s->n_layer; i++) add_layer(l, (int)i);
    add_vector(l, "output_norm", -1, s->n_embd, NORM);
    if (!s->is_tied) add_matrix(l, "output", -1, s->n_embd, s->n_vocab, 1);
}

static ew_status list_new(list *l, const mk_shape *s, mk_type type, ew_error *err) {
    *l = (list){.s = s, .type = type};
    add_all(l);
    l->t = mem_array(l->n, sizeof *l->t);
    if (!l->t) return fail(err, EW_ENOMEM, "out of memory for the tensor list");
    add_all(l);
    return EW_OK;
}

static uint64_t tensor_bytes(const tensor *t) {
    return type_row_bytes(t->type, (size_t)t->ne[0]) * t->ne[1];
}

uint64_t mk_tensor_bytes(const mk_shape *s, mk_type type) {
    uint64_t n = 0;
    list l;

    if (list_new(&l, s, type, NULL)) return 0;
    for (size_t i = 0; i < l.n; i++) n += tensor_bytes(&l.t[i]);
    mem_free(l.t);
    return n;
}

ew_status mk_type_parse(mk_type *out, const char *name, bool is_pure, ew_error *err) {
    *out = (mk_type){.recipe = is_pure ? NULL : recipe_find(name)};
    if (out->recipe) return EW_OK;
    for (uint32_t t = 0; t < TYPE_COUNT; t++) {
        if (!type_get(t)->name || strcmp(type_get(t)->name, name) != 0) continue;
        out->pure = (elem_type)t;
        if (mk_can_fill(out->pure)) return EW_OK;
        return fail(err, EW_EINVAL, "random weights of type %s can't be made", name);
    }
    return fail(err, EW_EINVAL, "%s is neither a recipe nor a type", name);
}

ew_status mk_check(const mk_shape *s, ew_error *err) {
    enum {
        LIMIT = 1 << 20
    }; /* keeps every product below within 64 bits */

    if (s->n_layer < 1 || s->n_layer > LIMIT || s->n_embd < 1 || s->n_embd > LIMIT ||
        s->n_head < 1 || s->n_head > LIMIT || s->n_ff < 1 || s->n_ff > LIMIT ||
        s->head_dim > LIMIT || s->n_vocab > LIMIT || s->ctx_train < 1)
        return fail(err, EW_EINVAL, "layers, embd, heads, ff and ctx must be from 1 to %d",
                    (int)LIMIT);
    if (s->n_head_kv < 1 || s->n_head % s->n_head_kv)
        return fail(err, EW_EINVAL, "%u heads can't share %u key/value heads evenly", s->n_head,
                    s->n_head_kv);
    if (s->head_dim < 2 || s->head_dim % 2)
        return fail(err, EW_EINVAL, "head size %u must be even", s->head_dim);
    if (s->n_vocab < mk_vocab_min(s->vocab))
        return fail(err, EW_EINVAL, "a %s vocabulary has at least %u tokens, not %u",
                    mk_vocab_name(s->vocab), mk_vocab_min(s->vocab), s->n_vocab);
    return EW_OK;
}

static void put_u32(gguf_writer *w, const mk_shape *s, const char *key, uint32_t v) {
    char full[96];

    snprintf(full, sizeof full, "%s.%s", s->arch, key);
    gguf_put_u32(w, full, v);
}

static void put_f32(gguf_writer *w, const mk_shape *s, const char *key, float v) {
    char full[96];

    snprintf(full, sizeof full, "%s.%s", s->arch, key);
    gguf_put_f32(w, full, v);
}

static uint32_t file_type_of(mk_type type) {
    const recipe *r = type.recipe ? type.recipe : recipe_find(type_get(type.pure)->name);

    if (r) return recipe_file_type(r);
    switch (type.pure) { /* the nearest mix */
    case TYPE_Q3_K:
        return 11;
    case TYPE_Q4_K:
        return 14;
    case TYPE_Q5_K:
        return 16;
    case TYPE_MXFP4:
        return 38;
    default:
        return 0;
    }
}

static void put_metadata(gguf_writer *w, const mk_shape *s, mk_type type) {
    gguf_put_str(w, "general.architecture", str_of(s->arch));
    gguf_put_str(w, "general.type", str_of("model"));
    gguf_put_str(w, "general.name", str_of(s->name));
    gguf_put_str(w, "general.description", str_of("random weights, made by mkmodel"));
    gguf_put_u32(w, "general.file_type", file_type_of(type));
    gguf_put_u32(w, "general.quantization_version", 2);
    put_u32(w, s, "block_count", s->n_layer);
    put_u32(w, s, "context_length", s->ctx_train);
    put_u32(w, s, "embedding_length", s->n_embd);
    put_u32(w, s, "feed_forward_length", s->n_ff);
    put_u32(w, s, "attention.head_count", s->n_head);
    put_u32(w, s, "attention.head_count_kv", s->n_head_kv);
    if (s->head_dim * s->n_head != s->n_embd) {
        put_u32(w, s, "attention.key_length", s->head_dim);
        put_u32(w, s, "attention.value_length", s->head_dim);
    }
    put_f32(w, s, "attention.layer_norm_rms_epsilon", strcmp(s->arch, "qwen2") ? 1e-5f : 1e-6f);
    put_u32(w, s, "rope.dimension_count", s->head_dim);
    put_f32(w, s, "rope.freq_base", (float)s->rope_theta);
    put_u32(w, s, "vocab_size", s->n_vocab);
}

/* Small numbers: around 1 for norms, around 0 for biases, in steps of 1/1024. */
static void fill_vector(float *out, const tensor *t, uint64_t seed) {
    const float middle = t->content == NORM ? 1.0f : 0.0f;

    for (uint64_t i = 0; i < t->ne[0]; i++)
        out[i] = middle + (float)((int)(mk_mix(seed + i) & 255) - 128) / 1024.0f;
}

static ew_status write_vector(gguf_writer *w, const mk_shape *s, const tensor *t, uint64_t seed,
                              ew_error *err) {
    float *v = mem_array((size_t)t->ne[0], sizeof *v);
    ew_status rc;

    if (!v) return fail(err, EW_ENOMEM, "out of memory");
    if (t->content == ROPE_FACTORS)
        mk_rope_factors(v, s->head_dim, s->rope_theta, s->rope_factor);
    else
        fill_vector(v, t, seed);
    rc = gguf_writer_data(w, v, t->ne[0] * sizeof *v, err);
    mem_free(v);
    return rc;
}

static ew_status write_matrix(gguf_writer *w, const tensor *t, uint64_t seed, uint8_t *piece,
                              ew_error *err) {
    const size_t block = type_get((uint32_t)t->type)->block_bytes, most = PIECE_BYTES / block;
    uint64_t left = tensor_bytes(t) / block;
    ew_status rc = EW_OK;

    for (uint64_t i = 0; left && !rc; i++) {
        const size_t n = left < most ? (size_t)left : most;

        mk_fill(piece, t->type, n, t->std, mk_mix(seed + i));
        rc = gguf_writer_data(w, piece, n * block, err);
        left -= n;
    }
    return rc;
}

static ew_status write_tensors(gguf_writer *w, const list *l, uint64_t seed, ew_error *err) {
    uint8_t *piece = mem_array(PIECE_BYTES, 1);
    ew_status rc = piece ? EW_OK : fail(err, EW_ENOMEM, "out of memory");

    for (size_t i = 0; i < l->n && !rc; i++) {
        const tensor *t = &l->t[i];
        /* By name: a tensor's content does not depend on which others there are. */
        const uint64_t own = mk_mix(seed ^ str_hash(str_of(t->name)));

        rc = t->content == MATRIX ? write_matrix(w, t, own, piece, err)
                                  : write_vector(w, l->s, t, own, err);
    }
    mem_free(piece);
    return rc;
}

ew_status mk_write(const mk_shape *s, mk_type type, uint64_t seed, const char *path,
                   ew_error *err) {
    list l = {0};
    gguf_writer w;
    ew_status rc = mk_check(s, err);

    if (rc) return rc;
    gguf_writer_init(&w);
    rc = list_new(&l, s, type, err);
    if (!rc) {
        put_metadata(&w, s, type);
        rc = mk_put_vocab(&w, s->vocab, s->n_vocab, err);
    }
    for (size_t i = 0; i < l.n && !rc; i++)
        gguf_put_tensor(&w, l.t[i].name, l.t[i].type, l.t[i].n_dims, l.t[i].ne);
    if (!rc) rc = gguf_writer_open(&w, path, err);
    if (!rc) rc = write_tensors(&w, &l, seed, err);
    if (!rc) rc = gguf_writer_commit(&w, err);
    gguf_writer_fini(&w);
    mem_free(l.t);
    return rc;
}
