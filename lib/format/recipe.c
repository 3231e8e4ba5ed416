/* SPDX-License-Identifier: MIT */
#include "format/recipe.h"

/* For which layers an exception holds. */
typedef enum {
    NEVER,
    ALWAYS,
    FIRST_2,
    FIRST_4,
    FIRST_8TH,
    FIRST_16TH,
    MORE_BITS, /* the first and last eighth, and every third layer between */
    GROUPED    /* at least 4 query heads share a key/value head: attn_v is small */
} which;

/* TYPE_F32 stands for "the base type" below: no exception makes a matrix F32. */
typedef struct {
    which when;
    elem_type type, otherwise;
} rule;

struct recipe {
    const char *name;
    uint32_t file_type;
    elem_type base;
    rule attn_v, ffn_down;
    elem_type attn_output, attn_qkv, token_embd, experts;
    bool is_mixtral_q5; /* with 8 experts attn_output is Q5_K */
};

static const recipe recipes[] = {
    {.name = "F32", .file_type = 0, .base = TYPE_F32},
    {.name = "F16", .file_type = 1, .base = TYPE_F16},
    {.name = "BF16", .file_type = 32, .base = TYPE_BF16},
    {.name = "Q8_0", .file_type = 7, .base = TYPE_Q8_0},
    {.name = "Q6_K", .file_type = 18, .base = TYPE_Q6_K},
    {.name = "Q5_K_M",
     .file_type = 17,
     .base = TYPE_Q5_K,
     .attn_v = {MORE_BITS, TYPE_Q6_K, TYPE_F32},
     .ffn_down = {MORE_BITS, TYPE_Q6_K, TYPE_F32},
     .attn_qkv = TYPE_Q6_K},
    {.name = "Q5_K_S", .file_type = 16, .base = TYPE_Q5_K},
    {.name = "Q4_K_M",
     .file_type = 15,
     .base = TYPE_Q4_K,
     .attn_v = {MORE_BITS, TYPE_Q6_K, TYPE_F32},
     .ffn_down = {MORE_BITS, TYPE_Q6_K, TYPE_F32},
     .attn_qkv = TYPE_Q5_K,
     .is_mixtral_q5 = true},
    {.name = "Q4_K_S",
     .file_type = 14,
     .base = TYPE_Q4_K,
     .attn_v = {FIRST_4, TYPE_Q5_K, TYPE_F32},
     .ffn_down = {FIRST_8TH, TYPE_Q5_K, TYPE_F32},
     .is_mixtral_q5 = true},
    {.name = "Q3_K_L",
     .file_type = 13,
     .base = TYPE_Q3_K,
     .attn_v = {ALWAYS, TYPE_Q5_K, TYPE_F32},
     .ffn_down = {ALWAYS, TYPE_Q5_K, TYPE_F32},
     .attn_output = TYPE_Q5_K,
     .attn_qkv = TYPE_Q4_K},
    {.name = "Q3_K_M",
     .file_type = 12,
     .base = TYPE_Q3_K,
     .attn_v = {FIRST_2, TYPE_Q5_K, TYPE_Q4_K},
     .ffn_down = {FIRST_16TH, TYPE_Q5_K, TYPE_Q4_K},
     .attn_output = TYPE_Q4_K,
     .attn_qkv = TYPE_Q4_K,
     .is_mixtral_q5 = true},
    {.name = "Q3_K_S", .file_type = 11, .base = TYPE_Q3_K, .is_mixtral_q5 = true},
    {.name = "Q2_K",
     .file_type = 10,
     .base = TYPE_Q2_K,
     .attn_v = {GROUPED, TYPE_Q4_K, TYPE_Q3_K},
     .ffn_down = {ALWAYS, TYPE_Q3_K, TYPE_F32},
     .attn_output = TYPE_Q3_K,
     .is_mixtral_q5 = true},
    {.name = "IQ4_XS",
     .file_type = 30,
     .base = TYPE_IQ4_XS,
     .attn_v = {GROUPED, TYPE_Q5_K, TYPE_F32},
     .ffn_down = {FIRST_8TH, TYPE_Q5_K, TYPE_F32},
     .is_mixtral_q5 = true},
    {.name = "IQ4_NL",
     .file_type = 25,
     .base = TYPE_IQ4_NL,
     .attn_v = {GROUPED, TYPE_Q5_K, TYPE_F32},
     .ffn_down = {FIRST_8TH, TYPE_Q5_K, TYPE_F32},
     .is_mixtral_q5 = true},
    {.name = "Q5_1", .file_type = 9, .base = TYPE_Q5_1},
    {.name = "Q5_0", .file_type = 8, .base = TYPE_Q5_0},
    {.name = "Q4_1", .file_type = 3, .base = TYPE_Q4_1},
    {.name = "Q4_0", .file_type = 2, .base = TYPE_Q4_0},
    {.name = "TQ1_0", .file_type = 36, .base = TYPE_TQ1_0, .token_embd = TYPE_Q4_K},
    {.name = "TQ2_0", .file_type = 37, .base = TYPE_TQ2_0, .token_embd = TYPE_Q4_K},
    {.name = "MXFP4_MOE", .file_type = 38, .base = TYPE_Q8_0, .experts = TYPE_MXFP4},
};

const recipe *recipe_at(size_t i) {
    return i < sizeof recipes / sizeof *recipes ? &recipes[i] : NULL;
}

const recipe *recipe_find(const char *name) {
    for (size_t i = 0; recipe_at(i); i++)
        if (strcmp(recipes[i].name, name) == 0) return &recipes[i];
    return NULL;
}

const char *recipe_name(const recipe *r) {
    return r->name;
}

uint32_t recipe_file_type(const recipe *r) {
    return r->file_type;
}

elem_type recipe_fit(elem_type t, uint64_t ne0) {
    elem_type smaller = t;

    if (ne0 % type_get((uint32_t)t)->block_elems == 0) return t;
    if (t == TYPE_Q2_K || t == TYPE_Q3_K || t == TYPE_TQ1_0 || t == TYPE_TQ2_0)
        smaller = TYPE_Q4_0;
    else if (t == TYPE_Q4_K)
        smaller = TYPE_Q5_0;
    else if (t == TYPE_Q5_K)
        smaller = TYPE_Q5_1;
    else if (t == TYPE_Q6_K)
        smaller = TYPE_Q8_0;
    else if (type_get((uint32_t)t)->block_elems == 256)
        smaller = TYPE_IQ4_NL;
    return ne0 % type_get((uint32_t)smaller)->block_elems == 0 ? smaller : TYPE_F16;
}

static bool ends(str name, const char *with) {
    const size_t n = strlen(with);

    return name.n >= n && memcmp(name.p + name.n - n, with, n) == 0;
}

bool recipe_keeps_f32(str name, uint32_t n_dims) {
    return n_dims < 2 || !ends(name, "weight") || ends(name, "_norm.weight") ||
           ends(name, "ffn_gate_inp.weight") || str_is(name, "position_embd.weight") ||
           str_is(name, "token_types.weight") || ends(name, "ssm_conv1d.weight");
}

/* N of "blk.N."; 0 for other names. */
static uint32_t layer_of(str name) {
    uint32_t n = 0;

    if (!str_starts(name, str_of("blk."))) return 0;
    for (size_t i = 4; i < name.n && name.p[i] >= '0' && name.p[i] <= '9' && n < 100000; i++)
        n = n * 10 + (uint32_t)(name.p[i] - '0');
    return n;
}

static bool holds(which w, const recipe_model *m, uint32_t layer) {
    const uint32_t n = m->n_layer;

    switch (w) {
    case NEVER:
        return false;
    case ALWAYS:
        return true;
    case FIRST_2:
        return layer < 2;
    case FIRST_4:
        return layer < 4;
    case FIRST_8TH:
        return layer < n / 8;
    case FIRST_16TH:
        return layer < n / 16;
    case MORE_BITS:
        return layer < n / 8 || layer >= 7 * n / 8 || (layer - n / 8) % 3 == 2;
    case GROUPED:
        return m->n_head_kv && m->n_head / m->n_head_kv >= 4;
    }
    return false;
}

static elem_type choose(const rule *x, const recipe *r, const recipe_model *m, uint32_t layer) {
    const elem_type t = holds(x->when, m, layer) ? x->type : x->otherwise;

    return t == TYPE_F32 ? r->base : t;
}

static elem_type attn_v_type(const recipe *r, const recipe_model *m, uint32_t layer) {
    const elem_type t = choose(&r->attn_v, r, m, layer);

    if (m->n_expert == 8) return TYPE_Q8_0;
    /* The 70B class: 8 query heads share each key/value head, so more bits cost next to nothing. */
    if (m->n_layer == 80 && m->n_head != m->n_head_kv && (t == TYPE_Q3_K || t == TYPE_Q4_K))
        return TYPE_Q5_K;
    return t;
}

static elem_type attn_output_type(const recipe *r, const recipe_model *m) {
    if (m->n_expert == 8) return r->is_mixtral_q5 ? TYPE_Q5_K : r->base;
    return r->attn_output == TYPE_F32 ? r->base : r->attn_output;
}

static elem_type matrix_type(const recipe *r, const recipe_model *m, str name, uint64_t ne0) {
    const uint32_t layer = layer_of(name);

    if (str_is(name, "output.weight") || (m->is_tied && str_is(name, "token_embd.weight"))) {
        if (r->base == TYPE_Q8_0 || ne0 % type_get((uint32_t)r->base)->block_elems)
            return TYPE_Q8_0;
        return TYPE_Q6_K;
    }
    if (str_is(name, "token_embd.weight"))
        return r->token_embd == TYPE_F32 ? r->base : r->token_embd;
    if (r->experts != TYPE_F32 && ends(name, "_exps.weight")) return r->experts;
    if (ends(name, ".attn_v.weight")) return attn_v_type(r, m, layer);
    if (ends(name, ".attn_k.weight") && m->n_expert == 8) return TYPE_Q8_0;
    if (ends(name, ".ffn_down.weight") || ends(name, ".ffn_down_exps.weight"))
        return choose(&r->ffn_down, r, m, layer);
    if (ends(name, ".attn_output.weight")) return attn_output_type(r, m);
    if (ends(name, ".attn_qkv.weight") && r->attn_qkv != TYPE_F32) return r->attn_qkv;
    return r->base;
}

elem_type recipe_type(const recipe *r, const recipe_model *m, str name, uint32_t n_dims,
                      uint64_t ne0) {
    if (recipe_keeps_f32(name, n_dims)) return TYPE_F32;
    if (type_get((uint32_t)r->base)->block_elems == 1) return r->base;
    return recipe_fit(matrix_type(r, m, name, ne0), ne0);
}
