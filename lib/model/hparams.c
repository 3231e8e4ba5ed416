/* SPDX-License-Identifier: MIT
 *
 * Hyper-parameters from metadata. Every number is bounded here, so that no later product of them
 * can overflow and nothing absurd is allocated. */
#include "base/mem.h"
#include "model/arch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    MAX_LAYERS = 4096,
    MAX_WIDTH = 1 << 20, /* embedding, feed-forward */
    MAX_HEADS = 4096,
    MAX_HEAD_DIM = 4096,
    MAX_EXPERTS = 1024,
    MAX_CTX = 1 << 28 /* tokens */
};

typedef struct {
    const gguf *g;
    const char *file;
    str arch;
    char key[128]; /* the key being read */
    ew_error *err;
} reader;

static const gguf_kv *find(reader *r, const char *suffix) {
    snprintf(r->key, sizeof r->key, "%.*s.%s", (int)r->arch.n, r->arch.p, suffix);
    return gguf_find(r->g, r->key);
}

/* An unsigned number in [min, max], or `missing` when the key is absent (missing 0: required).
 * An array gives its element i. */
static ew_status read_uint(reader *r, const char *suffix, uint64_t i, uint64_t min, uint64_t max,
                           uint32_t missing, uint32_t *out) {
    const gguf_kv *kv = find(r, suffix);
    uint64_t v;

    if (!kv && !missing) return fail(r->err, EW_EFORMAT, "%s: metadata has no %s", r->file, r->key);
    if (!kv) {
        *out = missing;
        return EW_OK;
    }
    if (kv->type == GGUF_ARRAY && i >= kv->n_elem)
        return fail(r->err, EW_EFORMAT,
                    "%s: %s has %" PRIu64 " elements, layer %" PRIu64 " needs one", r->file, r->key,
                    kv->n_elem, i);
    if (!gguf_kv_uint(kv, kv->type == GGUF_ARRAY ? i : 0, &v))
        return fail(r->err, EW_EFORMAT, "%s: %s is not an unsigned number but %s", r->file, r->key,
                    gguf_type_name(kv->type == GGUF_ARRAY ? kv->elem_type : kv->type));
    if (v < min || v > max)
        return fail(r->err, EW_EFORMAT, "%s: %s is %" PRIu64 ", allowed is %" PRIu64 " to %" PRIu64,
                    r->file, r->key, v, min, max);
    *out = (uint32_t)v;
    return EW_OK;
}

static ew_status read_float(reader *r, const char *suffix, double min, double max, double missing,
                            double *out) {
    const gguf_kv *kv = find(r, suffix);
    double v;

    *out = missing;
    if (!kv) return EW_OK;
    if (!gguf_kv_float(kv, 0, &v))
        return fail(r->err, EW_EFORMAT, "%s: %s is not a floating-point number but %s", r->file,
                    r->key, gguf_type_name(kv->type));
    if (!(v >= min && v <= max))
        return fail(r->err, EW_EFORMAT, "%s: %s is %g, allowed is %g to %g", r->file, r->key, v,
                    min, max);
    *out = v;
    return EW_OK;
}

/* As read_uint(), with 0 for what is absent. */
static ew_status read_optional(reader *r, const char *suffix, uint64_t i, uint64_t max,
                               uint32_t *out) {
    *out = 0;
    return find(r, suffix) ? read_uint(r, suffix, i, 0, max, 0, out) : EW_OK;
}

static ew_status read_single(reader *r, const char *suffix, double min, double max, double missing,
                             float *out) {
    double v = missing;
    ew_status rc = read_float(r, suffix, min, max, missing, &v);

    *out = (float)v;
    return rc;
}

/* Without a type a factor is one of linear scaling. */
static ew_status read_scaling_kind(reader *r, rope_params *rope) {
    const gguf_kv *kv = find(r, "rope.scaling.type");
    str s;

    rope->scaling = ROPE_SCALE_LINEAR;
    if (!kv) return EW_OK;
    if (!gguf_kv_str(kv, 0, &s))
        return fail(r->err, EW_EFORMAT, "%s: %s is not a string", r->file, r->key);
    if (str_is(s, "yarn"))
        rope->scaling = ROPE_SCALE_YARN;
    else if (str_is(s, "none"))
        rope->scaling = ROPE_SCALE_NONE;
    else if (!str_is(s, "linear") && !str_is(s, "longrope"))
        return fail(r->err, EW_EUNSUPPORTED,
                    "%s: %s is \"%.*s\"; supported are none, linear, yarn and longrope", r->file,
                    r->key, (int)(s.n < 32 ? s.n : 32), s.p);
    return EW_OK;
}

static ew_status read_scaling(reader *r, const hparams *hp, rope_params *rope) {
    uint32_t orig = 0, is_finetuned = 1;
    ew_status rc = read_scaling_kind(r, rope);

    if (!rc) rc = read_float(r, "rope.scale_linear", 1e-3, 1e6, 1.0, &rope->factor);
    if (!rc) rc = read_float(r, "rope.scaling.factor", 1e-3, 1e6, rope->factor, &rope->factor);
    if (!rc) rc = read_float(r, "rope.scaling.attn_factor", 1e-6, 1e6, 1.0, &rope->attn_factor);
    if (!rc) rc = read_float(r, "rope.scaling.yarn_beta_fast", 1e-3, 1e6, 32.0, &rope->beta_fast);
    if (!rc) rc = read_float(r, "rope.scaling.yarn_beta_slow", 1e-3, 1e6, 1.0, &rope->beta_slow);
    if (!rc) rc = read_float(r, "rope.scaling.yarn_log_multiplier", 0, 1e3, 0, &rope->log_mul);
    if (!rc)
        rc = read_uint(r, "rope.scaling.original_context_length", 0, 1, MAX_CTX, hp->ctx_train,
                       &orig);
    rope->orig_ctx = orig;
    if (!rc && find(r, "rope.scaling.finetuned"))
        rc = read_optional(r, "rope.scaling.finetuned", 0, 1, &is_finetuned);
    rope->is_finetuned = is_finetuned;
    return rc;
}

static ew_status read_n_rot(reader *r, const char *suffix, uint32_t head_dim, uint32_t *n_rot) {
    ew_status rc = read_uint(r, suffix, 0, 2, head_dim, head_dim, n_rot);

    if (!rc && *n_rot % 2)
        rc = fail(r->err, EW_EFORMAT, "%s: %s is %u, which is odd", r->file, r->key, *n_rot);
    return rc;
}

/* The rotation of layers that see a window: the others' with what differs. */
static ew_status read_window_rope(reader *r, hparams *hp, const window_rule *rule) {
    rope_params *rope = &hp->rope[ROPE_WINDOW];

    *rope = hp->rope[ROPE_FULL];
    if (rule->is_plain) {
        rope->scaling = ROPE_SCALE_NONE;
        rope->attn_factor = 1;
    }
    return read_float(r, "rope.freq_base_swa", 1e-3, 1e12, rule->base > 0 ? rule->base : rope->base,
                      &rope->base);
}

static ew_status read_rope(reader *r, hparams *hp) {
    rope_params *rope = &hp->rope[ROPE_FULL];
    ew_status rc = read_n_rot(r, "rope.dimension_count", hp->head_dim_k, &rope->n_rot);

    if (!rc) rc = read_float(r, "rope.freq_base", 1e-3, 1e12, 10000.0, &rope->base);
    if (!rc) rc = read_scaling(r, hp, rope);
    return rc;
}

/* Which layers see a window: every one but each period-th, or as an array says. */
static ew_status read_windows(reader *r, hparams *hp, const window_rule *rule, layer *l) {
    const gguf_kv *kv;
    uint32_t period = rule->period;
    ew_status rc = read_optional(r, "attention.sliding_window", 0, MAX_CTX, &hp->window);

    if (!find(r, "attention.sliding_window")) hp->window = rule->tokens;
    if (rc || !hp->window) return rc;
    kv = find(r, "attention.sliding_window_pattern");
    if (kv && kv->type != GGUF_ARRAY)
        rc = read_optional(r, "attention.sliding_window_pattern", 0, MAX_LAYERS, &period);
    for (uint32_t i = 0; i < hp->n_layer && !rc; i++) {
        uint32_t has = period == 0 || i % period < period - 1;

        if (kv && kv->type == GGUF_ARRAY)
            rc = read_uint(r, "attention.sliding_window_pattern", i, 0, 1, 0, &has);
        if (!has) continue;
        l[i].window = hp->window;
        if (rule->has_rope) l[i].rope_set = ROPE_WINDOW;
    }
    if (!rc && rule->has_rope) rc = read_window_rope(r, hp, rule);
    return rc;
}

static ew_status read_layer(reader *r, hparams *hp, layer *l, uint64_t i) {
    ew_status rc = read_uint(r, "attention.head_count", i, 1, MAX_HEADS, 0, &l->n_head);

    if (!rc)
        rc = read_uint(r, "attention.head_count_kv", i, 1, MAX_HEADS, l->n_head, &l->n_head_kv);
    if (!rc && l->n_head % l->n_head_kv)
        rc = fail(r->err, EW_EFORMAT,
                  "%s: layer %" PRIu64 ": %u heads can't share %u key/value heads", r->file, i,
                  l->n_head, l->n_head_kv);
    if (!rc) rc = read_uint(r, "feed_forward_length", i, 1, MAX_WIDTH, 0, &l->n_ff);
    if (rc) return rc;
    if (l->n_head > hp->n_head_max) hp->n_head_max = l->n_head;
    if (l->n_head_kv > hp->n_head_kv_max) hp->n_head_kv_max = l->n_head_kv;
    return EW_OK;
}

/* Head sizes: given, or the embedding shared out among the heads of the first layer. */
static ew_status read_head_dims(reader *r, hparams *hp, uint32_t n_head) {
    const uint32_t shared = hp->n_embd / n_head;
    ew_status rc;

    if (!find(r, "attention.key_length") && (shared == 0 || hp->n_embd % n_head))
        return fail(r->err, EW_EFORMAT, "%s: an embedding of %u can't be shared by %u heads",
                    r->file, hp->n_embd, n_head);
    rc = read_uint(r, "attention.key_length", 0, 2, MAX_HEAD_DIM, shared, &hp->head_dim_k);
    if (!rc)
        rc = read_uint(r, "attention.value_length", 0, 1, MAX_HEAD_DIM, hp->head_dim_k,
                       &hp->head_dim_v);
    return rc;
}

static ew_status read_scales(reader *r, hparams *hp, const arch *a, layer *l) {
    float attn_scale = 0;
    ew_status rc = read_single(r, "embedding_scale", 1e-6, 1e6, 1, &hp->embd_scale);

    if (!rc) rc = read_single(r, "residual_scale", 1e-6, 1e6, 1, &hp->residual_scale);
    if (!rc) rc = read_single(r, "logit_scale", 1e-6, 1e6, 1, &hp->logit_scale);
    if (!rc && a->divides_logits) hp->logit_scale = 1 / hp->logit_scale;
    if (!rc) rc = read_single(r, "attn_logit_softcapping", 0, 1e6, 0, &hp->attn_softcap);
    if (!rc) rc = read_single(r, "final_logit_softcapping", 0, 1e6, 0, &hp->logit_softcap);
    if (!rc) rc = read_single(r, "attention.scale", 0, 1e6, 0, &attn_scale);
    for (uint32_t i = 0; i < hp->n_layer; i++) {
        l[i].head_dim_k = hp->head_dim_k;
        l[i].head_dim_v = hp->head_dim_v;
        l[i].attn_scale = attn_scale > 0 ? attn_scale : 1.0f / sqrtf((float)hp->head_dim_k);
    }
    return rc;
}

/* After the rotation, of which it takes the original context. */
static ew_status read_temperature(reader *r, hparams *hp) {
    hp->temp_floor = hp->rope[ROPE_FULL].orig_ctx;
    return read_float(r, "attention.temperature_scale", 0, 1e6, 0, &hp->temp_scale);
}

static ew_status read_norm_eps(reader *r, hparams *hp, norm_kind kind) {
    return read_single(
        r, kind == NORM_LAYER ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
        0, 1, 1e-5, &hp->norm_eps);
}

static ew_status read_router(reader *r, hparams *hp, const arch *a) {
    uint32_t kind = a->router, is_norm = a->is_expert_norm;
    ew_status rc =
        read_uint(r, "expert_gating_func", 0, ROUTER_SOFTMAX, ROUTER_SOFTMAX_CHOSEN, kind, &kind);

    hp->router = (router_kind)kind;
    if (!rc && find(r, "expert_weights_norm"))
        rc = read_optional(r, "expert_weights_norm", 0, 1, &is_norm);
    hp->is_expert_norm = is_norm;
    if (!rc) rc = read_single(r, "expert_weights_scale", 0, 1e6, 1, &hp->expert_scale);
    if (hp->expert_scale == 0) hp->expert_scale = 1;
    return rc;
}

static ew_status read_experts(reader *r, hparams *hp, const arch *a, layer *l) {
    ew_status rc = read_optional(r, "expert_count", 0, MAX_EXPERTS, &hp->n_expert);
    uint32_t width;

    if (rc || !hp->n_expert) return rc;
    if (!a->router)
        return fail(r->err, EW_EUNSUPPORTED, "%s: %s is %u, but %s is known without experts only",
                    r->file, r->key, hp->n_expert, a->name);
    rc = read_uint(r, "expert_used_count", 0, 1, hp->n_expert, 0, &hp->n_expert_used);
    if (rc) return rc;
    width = a->divides_ff ? l[0].n_ff / hp->n_expert_used : l[0].n_ff;
    rc = read_uint(r, "expert_feed_forward_length", 0, 1, MAX_WIDTH, width, &hp->n_ff_expert);
    if (!rc)
        rc = read_optional(r, "expert_shared_feed_forward_length", 0, MAX_WIDTH, &hp->n_ff_shared);
    if (!rc) rc = read_optional(r, "leading_dense_block_count", 0, MAX_LAYERS, &hp->n_lead_dense);
    if (!rc) rc = read_router(r, hp, a);
    for (uint32_t i = hp->n_lead_dense; i < hp->n_layer; i++) l[i].is_moe = true;
    return rc;
}

ew_status hparams_read(hparams *hp, layer **layers, const arch *a, const gguf *g, const char *name,
                       ew_error *err) {
    reader r = {.g = g, .file = name, .arch = str_of(a->name), .err = err};
    layer *l = NULL;
    ew_status rc;

    *hp = (hparams){0};
    *layers = NULL;
    rc = read_uint(&r, "block_count", 0, 1, MAX_LAYERS, 0, &hp->n_layer);
    if (!rc) rc = read_uint(&r, "embedding_length", 0, 1, MAX_WIDTH, 0, &hp->n_embd);
    if (!rc) rc = read_uint(&r, "context_length", 0, 1, MAX_CTX, 0, &hp->ctx_train);
    if (rc) return rc;
    l = mem_array(hp->n_layer, sizeof *l);
    if (!l) return fail(err, EW_ENOMEM, "%s: out of memory", name);
    for (uint32_t i = 0; i < hp->n_layer && !rc; i++) rc = read_layer(&r, hp, &l[i], i);
    if (!rc) rc = read_head_dims(&r, hp, l[0].n_head);
    if (!rc) rc = read_norm_eps(&r, hp, a->norm);
    if (!rc) rc = read_scales(&r, hp, a, l);
    if (!rc) rc = read_rope(&r, hp);
    if (!rc && a->has_temperature) rc = read_temperature(&r, hp);
    if (!rc && (a->window.period || a->window.tokens)) rc = read_windows(&r, hp, &a->window, l);
    if (!rc) rc = read_experts(&r, hp, a, l);
    if (!rc && a->adjust) a->adjust(hp, l);
    hp->n_ff_max = hp->n_ff_shared;
    for (uint32_t i = 0; i < hp->n_layer; i++)
        if (!l[i].is_moe && l[i].n_ff > hp->n_ff_max) hp->n_ff_max = l[i].n_ff;
    if (rc) {
        mem_free(l);
        return rc;
    }
    *layers = l;
    return EW_OK;
}
