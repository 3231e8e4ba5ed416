/* SPDX-License-Identifier: MIT
 *
 * The file: metadata, tensor table, then the tensors one after another, filled in pieces. */
#include "base/mem.h"
#include "bench/mkmodel/mkmodel.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PIECE_BYTES = 4 << 20
};

typedef enum {
    MATRIX,
    NORM,
    BIAS,
    SINKS,
    ROUTER,
    ROPE_FACTORS,
    LONG_FACTORS,
    SHORT_FACTORS
} content;

typedef struct {
    char name[64];
    content content;
    elem_type type;
    uint32_t n_dims;
    uint64_t ne[3]; /* row length, rows, matrices */
    double std;     /* of a matrix's weights */
} tensor;

/* All tensors of a model, in file order. */
typedef struct {
    const mk_shape *s;
    unsigned has; /* of its architecture */
    mk_type type;
    tensor *t; /* NULL: only counting */
    size_t n;
} list;

static recipe_model facts_of(const mk_shape *s) {
    return (recipe_model){.n_layer = s->n_layer,
                          .n_head = s->n_head,
                          .n_head_kv = s->n_head_kv,
                          .n_expert = s->n_expert,
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

static void name_tensor(tensor *t, const char *name, int layer, const char *suffix) {
    if (layer < 0)
        snprintf(t->name, sizeof t->name, "%s.%s", name, suffix);
    else
        snprintf(t->name, sizeof t->name, "blk.%d.%s.%s", layer, name, suffix);
}

/* n_mat matrices with `in` inputs and `out` outputs; gain 1 keeps the size of what goes through. */
static void add_matrices(list *l, const char *name, int layer, uint64_t in, uint64_t out,
                         uint64_t n_mat, double gain) {
    tensor t = {.content = MATRIX, .n_dims = n_mat > 1 ? 3 : 2, .ne = {in, out, n_mat}};

    t.std = gain / mk_sqrt((double)in);
    name_tensor(&t, name, layer, "weight");
    add(l, t);
}

static void add_matrix(list *l, const char *name, int layer, uint64_t in, uint64_t out,
                       double gain) {
    add_matrices(l, name, layer, in, out, 1, gain);
}

static void add_vectors(list *l, const char *name, int layer, uint64_t n, uint64_t n_vec,
                        content c) {
    tensor t = {.content = c, .n_dims = n_vec > 1 ? 2 : 1, .ne = {n, n_vec, 1}};

    name_tensor(&t, name, layer, c == BIAS ? "bias" : "weight");
    add(l, t);
}

static void add_vector(list *l, const char *name, int layer, uint64_t n, content c) {
    add_vectors(l, name, layer, n, 1, c);
}

static void add_norm(list *l, const char *name, int layer, uint64_t n) {
    add_vector(l, name, layer, n, NORM);
    if (l->has & MK_NORM_BIAS) add_vector(l, name, layer, n, BIAS);
}

/* Each layer adds twice to the residual stream; together they add about as much as one. */
static double residual_gain(const mk_shape *s) {
    return 1 / mk_sqrt(2.0 * s->n_layer);
}

/* command-r has them in its large models alone, of each head its own. */
static bool has_norms_apart(const mk_shape *s) {
    return strcmp(s->arch, "command-r") == 0 && s->n_layer >= 64;
}

static void add_qk_norms(list *l, int i, uint64_t q, uint64_t kv) {
    const mk_shape *s = l->s;

    if (has_norms_apart(s)) {
        add_vectors(l, "attn_q_norm", i, s->head_dim, s->n_head, NORM);
        add_vectors(l, "attn_k_norm", i, s->head_dim, s->n_head_kv, NORM);
    } else if (l->has & MK_QK_NORM_WHOLE) {
        add_vector(l, "attn_q_norm", i, q, NORM);
        add_vector(l, "attn_k_norm", i, kv, NORM);
    } else if (l->has & MK_QK_NORM) {
        add_vector(l, "attn_q_norm", i, s->head_dim, NORM);
        add_vector(l, "attn_k_norm", i, s->head_dim, NORM);
    }
}

static void add_attention(list *l, int i) {
    const mk_shape *s = l->s;
    const uint64_t d = s->n_embd, q = (uint64_t)s->n_head * s->head_dim;
    const uint64_t kv = (uint64_t)s->n_head_kv * s->head_dim;

    if (!(l->has & MK_NO_PRE_NORMS)) add_norm(l, "attn_norm", i, d);
    if (l->has & MK_STACKED_QKV) {
        add_matrix(l, "attn_qkv", i, d, q + 2 * kv, 1);
        if (l->has & MK_QKV_BIAS) add_vector(l, "attn_qkv", i, q + 2 * kv, BIAS);
    } else {
        add_matrix(l, "attn_q", i, d, q, 1);
        add_matrix(l, "attn_k", i, d, kv, 1);
        add_matrix(l, "attn_v", i, d, kv, 1);
    }
    if ((l->has & MK_QKV_BIAS) && !(l->has & MK_STACKED_QKV)) {
        add_vector(l, "attn_q", i, q, BIAS);
        add_vector(l, "attn_k", i, kv, BIAS);
        add_vector(l, "attn_v", i, kv, BIAS);
    }
    add_qk_norms(l, i, q, kv);
    if (l->has & MK_SINKS) add_vector(l, "attn_sinks", i, s->n_head, SINKS);
    add_matrix(l, "attn_output", i, q, d, residual_gain(s));
    if (l->has & MK_OUT_BIAS) add_vector(l, "attn_output", i, d, BIAS);
    if (l->has & MK_POST_NORMS) add_norm(l, "post_attention_norm", i, d);
}

/* The router's gain makes it sure of its choice, so that another rounding seldom takes another. */
static void add_experts(list *l, int i) {
    const mk_shape *s = l->s;
    const uint64_t d = s->n_embd, ff = s->n_ff_expert ? s->n_ff_expert : s->n_ff;
    const uint64_t n = s->n_expert, shared = s->n_ff_shared;

    add_matrix(l, "ffn_gate_inp", i, d, n, 4);
    add_matrices(l, "ffn_gate_exps", i, d, ff, n, 1);
    add_matrices(l, "ffn_up_exps", i, d, ff, n, 1);
    add_matrices(l, "ffn_down_exps", i, ff, d, n, residual_gain(s));
    if (l->has & MK_EXPERT_BIAS) {
        add_vector(l, "ffn_gate_inp", i, n, BIAS);
        add_vectors(l, "ffn_gate_exps", i, ff, n, BIAS);
        add_vectors(l, "ffn_up_exps", i, ff, n, BIAS);
        add_vectors(l, "ffn_down_exps", i, d, n, BIAS);
    }
    if (!shared) return;
    if (l->has & MK_SHARED_GATE) add_vector(l, "ffn_gate_inp_shexp", i, d, ROUTER);
    add_matrix(l, "ffn_gate_shexp", i, d, shared, 1);
    add_matrix(l, "ffn_up_shexp", i, d, shared, 1);
    add_matrix(l, "ffn_down_shexp", i, shared, d, residual_gain(s));
}

static void add_feed_forward(list *l, int i) {
    const mk_shape *s = l->s;
    const uint64_t d = s->n_embd, ff = s->n_ff;

    if (!(l->has & (MK_NO_PRE_NORMS | MK_PARALLEL)))
        add_norm(l, l->has & MK_LATE_FFN_NORM ? "post_attention_norm" : "ffn_norm", i, d);
    if (s->n_expert) {
        add_experts(l, i);
    } else {
        if (!(l->has & (MK_NO_GATE | MK_STACKED_GATE))) add_matrix(l, "ffn_gate", i, d, ff, 1);
        add_matrix(l, "ffn_up", i, d, l->has & MK_STACKED_GATE ? 2 * ff : ff, 1);
        add_matrix(l, "ffn_down", i, ff, d, residual_gain(s));
        if (l->has & MK_FFN_BIAS) {
            add_vector(l, "ffn_up", i, ff, BIAS);
            add_vector(l, "ffn_down", i, d, BIAS);
        }
    }
    if (l->has & MK_POST_NORMS) add_norm(l, "post_ffw_norm", i, d);
}

static uint32_t n_rot_of(const mk_shape *s) {
    return s->n_rot ? s->n_rot : s->head_dim;
}

static void add_all(list *l) {
    const mk_shape *s = l->s;

    l->n = 0;
    add_matrix(l, "token_embd", -1, s->n_embd, s->n_vocab, 1);
    if (s->rope_factor) add_vector(l, "rope_freqs", -1, n_rot_of(s) / 2, ROPE_FACTORS);
    if (s->has_long_factors) {
        add_vector(l, "rope_factors_long", -1, n_rot_of(s) / 2, LONG_FACTORS);
        add_vector(l, "rope_factors_short", -1, n_rot_of(s) / 2, SHORT_FACTORS);
    }
    for (uint32_t i = 0; i < s->n_layer; i++) {
        add_attention(l, (int)i);
        add_feed_forward(l, (int)i);
    }
    add_norm(l, "output_norm", -1, s->n_embd);
    if (!s->is_tied) add_matrix(l, "output", -1, s->n_embd, s->n_vocab, 1);
}

static ew_status list_new(list *l, const mk_shape *s, mk_type type, ew_error *err) {
    *l = (list){.s = s, .has = mk_arch_find(s->arch)->has, .type = type};
    add_all(l);
    l->t = mem_array(l->n, sizeof *l->t);
    if (!l->t) return fail(err, EW_ENOMEM, "out of memory for the tensor list");
    add_all(l);
    return EW_OK;
}

static uint64_t tensor_bytes(const tensor *t) {
    return type_row_bytes(t->type, (size_t)t->ne[0]) * t->ne[1] * t->ne[2];
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

    if (!mk_arch_find(s->arch)) return fail(err, EW_EINVAL, "no architecture %s", s->arch);
    if (s->n_expert > LIMIT || s->n_expert_used > s->n_expert ||
        (s->n_expert > 0) != (s->n_expert_used > 0))
        return fail(err, EW_EINVAL, "%u of %u experts can't be used", s->n_expert_used,
                    s->n_expert);
    if (!s->n_expert && (mk_arch_find(s->arch)->has & MK_MOE))
        return fail(err, EW_EINVAL, "%s needs experts", s->arch);
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

static void put_experts(gguf_writer *w, const mk_shape *s) {
    put_u32(w, s, "expert_count", s->n_expert);
    put_u32(w, s, "expert_used_count", s->n_expert_used);
    if (s->n_ff_expert) put_u32(w, s, "expert_feed_forward_length", s->n_ff_expert);
    if (s->n_ff_shared) put_u32(w, s, "expert_shared_feed_forward_length", s->n_ff_shared);
}

/* One of mk_shape's KEY=VALUE. */
static void put_pair(gguf_writer *w, const mk_shape *s, const char *key, const char *value) {
    char full[128], *end;
    const unsigned long n = strtoul(value, &end, 10);

    snprintf(full, sizeof full, "%s.%s", s->arch, key);
    if (!*end)
        gguf_put_u32(w, full, (uint32_t)n);
    else if (strchr(value, '.') && (value[0] == '-' || (value[0] >= '0' && value[0] <= '9')))
        gguf_put_f32(w, full, strtof(value, NULL));
    else if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        gguf_put_bool(w, full, value[0] == 't');
    else
        gguf_put_str(w, full, str_of(value));
}

static void put_pairs(gguf_writer *w, const mk_shape *s, const char *set) {
    char pairs[512], *save = NULL;

    snprintf(pairs, sizeof pairs, "%s", set ? set : "");
    for (char *p = strtok_r(pairs, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
        char *value = strchr(p, '=');

        if (!value) continue;
        *value = 0;
        put_pair(w, s, p, value + 1);
    }
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
    put_f32(w, s,
            mk_arch_find(s->arch)->has & MK_LAYER_NORM ? "attention.layer_norm_epsilon"
                                                       : "attention.layer_norm_rms_epsilon",
            strcmp(s->arch, "qwen2") ? 1e-5f : 1e-6f);
    put_u32(w, s, "rope.dimension_count", n_rot_of(s));
    put_f32(w, s, "rope.freq_base", (float)s->rope_theta);
    put_u32(w, s, "vocab_size", s->n_vocab);
    if (s->n_expert) put_experts(w, s);
    put_pairs(w, s, mk_arch_find(s->arch)->set);
    put_pairs(w, s, s->set);
}

/* Small numbers: around 1 for norms, around 0 for biases, in steps of 1/1024; sinks are a few
 * times larger; a router of one expert is a matrix's row. The factors grow evenly. */
static float element(const tensor *t, uint64_t i, uint64_t seed) {
    const float small = (float)((int)(mk_mix(seed + i) & 255) - 128) / 1024.0f;

    switch (t->content) {
    case NORM:
        return 1 + small;
    case SINKS:
        return 16 * small;
    case ROUTER:
        return 4 * small;
    case LONG_FACTORS:
        return 1 + (float)i / 2;
    case SHORT_FACTORS:
        return 1 + (float)i / 64;
    default:
        return small;
    }
}

static ew_status write_vector(gguf_writer *w, const mk_shape *s, const tensor *t, uint64_t seed,
                              ew_error *err) {
    const uint64_t n = t->ne[0] * t->ne[1];
    float *v = mem_array((size_t)n, sizeof *v);
    ew_status rc;

    if (!v) return fail(err, EW_ENOMEM, "out of memory");
    for (uint64_t i = 0; i < n; i++) v[i] = element(t, i, seed);
    if (t->content == ROPE_FACTORS) mk_rope_factors(v, n_rot_of(s), s->rope_theta, s->rope_factor);
    rc = gguf_writer_data(w, v, n * sizeof *v, err);
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

ew_status mk_write(const mk_shape *s, mk_type type, uint64_t seed, const char *chat_template,
                   const char *path, ew_error *err) {
    list l = {0};
    gguf_writer w;
    ew_status rc = mk_check(s, err);

    if (rc) return rc;
    gguf_writer_init(&w);
    rc = list_new(&l, s, type, err);
    if (!rc) {
        put_metadata(&w, s, type);
        rc = mk_put_vocab(&w, s->vocab, s->n_vocab, chat_template, err);
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
