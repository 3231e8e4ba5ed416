/* SPDX-License-Identifier: MIT
 *
 * Opening a model: metadata and tensors are bound to the descriptor's slots, every shape and type
 * checked before anything is evaluated. Matrices stay where the file is mapped. */
#include "base/mem.h"
#include "kernels/pack.h"
#include "model/arch.h"
#include "model/pack_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PREFAULT = 64 << 20, /* bytes between two calls of progress() */
    SAMPLE = 64          /* bytes of each tensor that enter the fingerprint */
};

/* State of binding one file's tensors. With m->vectors NULL only checks are made. */
typedef struct {
    ew_model *m;
    bool is_float; /* evaluate in float */
    bool *is_used; /* [n_tensor], may be NULL */
    ew_error *err;
} binder;

static uint32_t dim_size(const hparams *hp, const layer *l, dim d) {
    switch (d) {
    case DIM_ONE:
        return 1;
    case DIM_EMBD:
        return hp->n_embd;
    case DIM_Q:
        return l->n_head * l->head_dim_k;
    case DIM_K:
        return l->n_head_kv * l->head_dim_k;
    case DIM_V:
        return l->n_head_kv * l->head_dim_v;
    case DIM_O:
        return l->n_head * l->head_dim_v;
    case DIM_FF:
        return l->n_ff;
    case DIM_HEAD:
        return l->head_dim_k;
    case DIM_HEADS:
        return l->n_head;
    case DIM_HEADS_KV:
        return l->n_head_kv;
    case DIM_EXPERTS:
        return hp->n_expert;
    case DIM_FF_EXPERT:
        return hp->n_ff_expert;
    case DIM_FF_SHARED:
        return hp->n_ff_shared;
    }
    return 0;
}

/* The tensor with this name and shape [n0], [n0, n1] or [n0, n1, n2]. *out is NULL for an absent
 * optional one. */
static ew_status find_tensor(binder *b, const char *name, bool is_optional, uint64_t n0,
                             uint64_t n1, uint64_t n2, const gguf_tensor **out) {
    const char *file = b->m->path;
    const gguf_tensor *t = gguf_find_tensor(b->m->g, str_of(name));

    *out = NULL;
    if (!t && is_optional) return EW_OK;
    if (!t) return fail(b->err, EW_EFORMAT, "%s: has no tensor %s", file, name);
    if (t->ne[0] != n0 || t->ne[1] != n1 || t->ne[2] != n2 || t->ne[3] != 1)
        return fail(b->err, EW_EFORMAT,
                    "%s: tensor %s: shape is [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
                    "], the metadata call for [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
                    file, name, t->ne[0], t->ne[1], t->ne[2], t->ne[3], n0, n1, n2);
    if (!type_is_supported(t->type))
        return fail(b->err, EW_EUNSUPPORTED,
                    "%s: tensor %s: type %s is not supported; Q4_K_M or Q8_0 files of most models "
                    "exist",
                    file, name, type_get(t->type)->name);
    if (b->is_used) b->is_used[t - b->m->g->tensor] = true;
    *out = t;
    return EW_OK;
}

/* Rows [first, first + n_out) of each of n_mat matrices with n_row of them: several have all. */
static ew_status bind_rows(binder *b, const char *name, bool is_optional, uint64_t n_in,
                           uint64_t n_row, uint64_t n_mat, uint64_t first, uint64_t n_out,
                           weight *w) {
    const gguf_tensor *t;
    ew_status rc = find_tensor(b, name, is_optional, n_in, n_row, n_mat, &t);
    size_t row_bytes;

    if (rc || !t) return rc;
    row_bytes = type_row_bytes(t->type, (size_t)n_in);
    *w = (weight){
        .data = t->data + first * row_bytes,
        .type = t->type,
        .form = b->is_float ? ACT_F32 : act_of(t->type),
        .n_in = (size_t)n_in,
        .n_out = (size_t)n_out,
        .row_bytes = row_bytes,
        .n_mat = (size_t)n_mat,
    };
    if (w->n_in > b->m->n_in_max) b->m->n_in_max = w->n_in;
    return EW_OK;
}

static ew_status bind_matrix(binder *b, const char *name, bool is_optional, uint64_t n_in,
                             uint64_t n_out, weight *w) {
    return bind_rows(b, name, is_optional, n_in, n_out, 1, 0, n_out, w);
}

/* Elements [first, first + n) of a vector, or of a table of n1 vectors, which has n0 each. They are
 * kept as floats whatever their type in the file. */
static ew_status bind_elements(binder *b, const char *name, bool is_optional, uint64_t n0,
                               uint64_t n1, uint64_t first, uint64_t n, const float **out) {
    ew_model *m = b->m;
    const gguf_tensor *t;
    ew_status rc = find_tensor(b, name, is_optional, n0, n1, 1, &t);

    if (rc || !t) return rc;
    if (first && type_get((uint32_t)t->type)->block_elems != 1)
        return fail(b->err, EW_EUNSUPPORTED, "%s: tensor %s: type %s of a bias", m->path, name,
                    type_get((uint32_t)t->type)->name);
    if (m->vectors) {
        float *to = m->vectors + m->n_vectors;

        m->engine->kern.dequant[t->type](to, t->data + first * type_row_bytes(t->type, 1),
                                         (size_t)n);
        *out = to;
    }
    m->n_vectors += (size_t)n;
    return EW_OK;
}

static ew_status bind_vector(binder *b, const char *name, bool is_optional, uint64_t n,
                             const float **out) {
    return bind_elements(b, name, is_optional, n, 1, 0, n, out);
}

/* A slot's rows inside the tensor that stacks several. */
static ew_status bind_part(binder *b, uint32_t il, const tensor_slot *s, const char *name,
                           uint32_t in, uint32_t out, void *at) {
    uint64_t first = 0, all = 0;

    for (uint32_t i = 0; i < s->stack->n_part; i++) {
        const uint32_t n = dim_size(&b->m->hp, &b->m->layers[il], s->stack->part[i]);

        if (i < s->part) first += n;
        all += n;
    }
    if (s->kind == SLOT_MATRIX)
        return bind_rows(b, name, s->is_optional, in, all, 1, first, out, at);
    return bind_elements(b, name, s->is_optional, all, 1, first, in, at);
}

static ew_status bind_slot(binder *b, uint32_t il, const tensor_slot *s) {
    layer *l = &b->m->layers[il];
    void *at = (uint8_t *)l + s->offset;
    const uint32_t in = dim_size(&b->m->hp, l, s->in), out = dim_size(&b->m->hp, l, s->out);
    char name[96], whole[96];

    if (!in || !out || (s->layers != IN_ALL && (s->layers == IN_MOE) != l->is_moe)) return EW_OK;
    snprintf(name, sizeof name, "blk.%u.%s", il, s->name);
    if (s->stack) {
        snprintf(whole, sizeof whole, "blk.%u.%s", il,
                 s->kind == SLOT_MATRIX ? s->stack->weight : s->stack->bias);
        if (gguf_find_tensor(b->m->g, str_of(whole)) &&
            (!gguf_find_tensor(b->m->g, str_of(name)) || strcmp(name, whole) == 0))
            return bind_part(b, il, s, whole, in, out, at);
    }
    switch (s->kind) {
    case SLOT_MATRIX:
        return bind_matrix(b, name, s->is_optional, in, out, at);
    case SLOT_EXPERTS:
        return bind_rows(b, name, s->is_optional, in, out, b->m->hp.n_expert, 0, out, at);
    case SLOT_VECTOR:
        return bind_elements(b, name, s->is_optional, in, out, 0, (uint64_t)in * out, at);
    }
    return EW_OK;
}

static ew_status bind_layers(binder *b) {
    const arch *a = b->m->arch;
    ew_status rc = EW_OK;

    for (uint32_t il = 0; il < b->m->hp.n_layer; il++)
        for (size_t i = 0; i < ARCH_TABLES && a->slots[i]; i++)
            for (const tensor_slot *s = a->slots[i]; s->name && !rc; s++) rc = bind_slot(b, il, s);
    return rc;
}

/* Llama 3's divisors, or the pair for short and long contexts. */
static ew_status bind_rope_factors(binder *b) {
    rope_params *r = &b->m->hp.rope[ROPE_FULL];
    ew_status rc = bind_vector(b, "rope_freqs.weight", true, r->n_rot / 2, &r->freq_factor);

    if (!rc && !gguf_find_tensor(b->m->g, str_of("rope_freqs.weight")))
        rc = bind_vector(b, "rope_factors_short.weight", true, r->n_rot / 2, &r->freq_factor);
    if (!rc) rc = bind_vector(b, "rope_factors_long.weight", true, r->n_rot / 2, &r->long_factor);
    return rc;
}

/* All tensors of the model. Run once to check and count, and again to fill the vectors in. */
static ew_status bind_all(binder *b) {
    ew_model *m = b->m;
    const hparams *hp = &m->hp;
    ew_status rc;

    m->n_vectors = 0;
    m->head = (weight){0};
    rc = bind_matrix(b, "token_embd.weight", false, hp->n_embd, hp->n_vocab, &m->embd);
    if (!rc) rc = bind_vector(b, "output_norm.weight", false, hp->n_embd, &m->out_norm);
    if (!rc) rc = bind_vector(b, "output_norm.bias", true, hp->n_embd, &m->out_norm_b);
    if (!rc) rc = bind_matrix(b, "output.weight", true, hp->n_embd, hp->n_vocab, &m->head);
    if (!rc) rc = bind_rope_factors(b);
    if (!rc) rc = bind_layers(b);
    if (!rc && !m->head.data) m->head = m->embd;
    return rc;
}

static bool is_tied(const ew_model *m) {
    return m->head.data == m->embd.data;
}

static unsigned form_bit(const weight *w) {
    return weight_exists(w) ? 1u << w->form : 0;
}

static void collect_forms(ew_model *m) {
    m->forms_head = form_bit(&m->head);
    for (uint32_t i = 0; i < m->hp.n_layer; i++) {
        const layer *l = &m->layers[i];

        m->forms_attn_in |= form_bit(&l->wq) | form_bit(&l->wk) | form_bit(&l->wv);
        m->forms_attn_out |= form_bit(&l->wo);
        m->forms_expert_in |= form_bit(&l->x_gate) | form_bit(&l->x_up);
        m->forms_expert_out |= form_bit(&l->x_down);
        m->forms_ffn_in |= form_bit(&l->gate) | form_bit(&l->up) | form_bit(&l->router) |
                           form_bit(&l->s_gate) | form_bit(&l->s_up) | form_bit(&l->x_gate) |
                           form_bit(&l->x_up);
        m->forms_ffn_out |= form_bit(&l->down) | form_bit(&l->s_down);
    }
}

static void sum_tensors(ew_model *m) {
    const gguf *g = m->g;
    uint64_t h = str_hash(str_of(m->arch_name));

    for (size_t i = 0; i < g->n_tensor; i++) {
        const gguf_tensor *t = &g->tensor[i];
        const size_t sample = t->n_bytes < SAMPLE ? (size_t)t->n_bytes : SAMPLE;

        m->n_param += t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
        m->n_bytes += t->n_bytes;
        h = h * 31 + str_hash(t->name);
        h = h * 31 + str_hash((str){(const char *)t->data, sample});
    }
    m->fingerprint = h;
}

/* Names what there is. */
static ew_status refuse_arch(const ew_model *m, str name, ew_error *err) {
    char known[400] = "";
    size_t at = 0;

    for (size_t i = 0; arch_at(i) && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "",
                               arch_at(i)->name);
    return fail(err, EW_EUNSUPPORTED,
                "%s: architecture \"%.*s\" is not supported; supported are %s", m->path,
                (int)(name.n < 64 ? name.n : 64), name.p, known);
}

/* Which architecture, which numbers, and do all tensors fit them? Fills m as far as checks need. */
static ew_status check_model(ew_model *m, bool *is_used, ew_error *err) {
    const gguf_kv *kv = gguf_find(m->g, "general.architecture");
    binder b = {.m = m, .is_used = is_used, .err = err};
    ew_status rc;
    str name;

    if (!kv) return fail(err, EW_EFORMAT, "%s: metadata has no general.architecture", m->path);
    if (!gguf_kv_str(kv, 0, &name))
        return fail(err, EW_EFORMAT, "%s: general.architecture is not a string", m->path);
    m->arch = arch_find(name);
    if (!m->arch) return refuse_arch(m, name, err);
    rc = hparams_read(&m->hp, &m->layers, m->arch, m->g, m->path, err);
    if (rc) return rc;
    m->hp.n_vocab = (uint32_t)tok_n(m->tok);
    return bind_all(&b);
}

static void warn_unused(const ew_model *m, const bool *is_used) {
    size_t n = 0, first = 0;

    for (size_t i = m->g->n_tensor; i-- > 0;) {
        if (is_used[i]) continue;
        n++;
        first = i;
    }
    if (n)
        engine_log(m->engine, EW_LOG_WARN, "%s: %zu tensors are not used, %.*s among them", m->path,
                   n, (int)m->g->tensor[first].name.n, m->g->tensor[first].name.p);
}

/* Charges and fills in what bind_all() counted. */
static ew_status take_memory(ew_model *m, bool is_float, ew_error *err) {
    binder b = {.m = m, .is_float = is_float, .err = err};
    ew_status rc;

    m->vectors = mem_array(m->n_vectors, sizeof *m->vectors);
    if (!m->vectors) return fail(err, EW_ENOMEM, "%s: out of memory", m->path);
    rc = bind_all(&b);
    if (!rc) collect_forms(m);
    return rc;
}

static uint64_t header_bytes(const ew_model *m) {
    uint64_t n = 0;

    for (size_t i = 0; i < m->g->n_part; i++) n += m->g->map[i].size;
    return n > m->n_bytes ? n - m->n_bytes : 0;
}

/* Takes the experts of a matrix that a token does not use out of what it does. */
static void count_idle(ew_model *m, const weight *w) {
    const uint64_t n = (w->n_mat - m->hp.n_expert_used) * w->n_out;

    if (!weight_exists(w)) return;
    m->active_bytes -=
        m->cost_packed && pack_is_packable(w) ? n / PACK_ROWS * w->group_bytes : n * w->row_bytes;
    m->n_param_active -= n * w->n_in;
}

/* What the vocabulary and all that is not a weight take. */
static uint64_t fixed_bytes(const ew_model *m) {
    return big_round(tok_bytes(m->tok) + m->n_vectors * sizeof(float) + header_bytes(m));
}

static uint64_t bytes_in_use(const ew_model *m) {
    uint64_t used = 0;

    for (ew_account a = 0; a < EW_MEM_COUNT; a++) used += ew_engine_memory(m->engine, a);
    return used;
}

static bool fits_budget(const ew_model *m, uint64_t bytes) {
    const uint64_t limit = ew_engine_memory_limit(m->engine), used = bytes_in_use(m);

    return !limit || (used <= limit && bytes <= limit - used);
}

/* Packed, the weights are a little larger than the file: where that is too much, from the map. */
static bool is_to_pack(const ew_model *m, const ew_model_options *o, uint64_t packed,
                       uint64_t from_file) {
    char more[SIZE_TEXT];

    if (o->no_pack || !packed) return false;
    if (fits_budget(m, m->n_bytes - from_file + big_round(packed) + fixed_bytes(m))) return true;
    engine_log(m->engine, EW_LOG_WARN,
               "%s: runs from the mapped file, slower: packing its weights takes %s more", m->path,
               size_text(more, big_round(packed) - from_file));
    return false;
}

/* What the weights take: in the file's form, and packed. */
static void plan_packing(ew_model *m, const ew_model_options *o) {
    uint64_t from_file = 0;
    uint64_t packed = pack_mark(m, &from_file);

    if (!is_to_pack(m, o, packed, from_file)) packed = from_file = 0;
    m->cost_packed = packed ? big_round(packed) : 0;
    m->cost_weights = m->n_bytes - from_file;
    m->active_bytes = m->cost_weights + packed;
    if (!is_tied(m)) m->active_bytes -= m->embd.row_bytes * (m->embd.n_out - 1);
    m->n_param_active = m->n_param;
    for (uint32_t i = 0; i < m->hp.n_layer && m->hp.n_expert; i++) {
        count_idle(m, &m->layers[i].x_gate);
        count_idle(m, &m->layers[i].x_up);
        count_idle(m, &m->layers[i].x_down);
    }
}

/* Refuses what the budget does not hold before any of it is read, all of it in one sum. */
static ew_status check_budget(const ew_model *m, uint64_t weights, uint64_t fixed, ew_error *err) {
    char need[SIZE_TEXT], w[SIZE_TEXT], v[SIZE_TEXT], in_use[SIZE_TEXT], allowed[SIZE_TEXT];

    if (fits_budget(m, weights + fixed)) return EW_OK;
    return fail(err, EW_ENOMEM,
                "%s: %s for its weights and %s for its vocabulary make %s, beside %s in use; "
                "allowed are %s: no context fits",
                m->path, size_text(w, weights), size_text(v, fixed),
                size_text(need, weights + fixed), size_text(in_use, bytes_in_use(m)),
                size_text(allowed, ew_engine_memory_limit(m->engine)));
}

static ew_status charge(ew_model *m, ew_error *err) {
    const uint64_t fixed = fixed_bytes(m);
    const uint64_t weights = m->is_vocab_only ? 0 : m->cost_weights;
    const uint64_t packed = m->is_vocab_only ? 0 : m->cost_packed;
    char what[256];
    ew_status rc;

    rc = check_budget(m, weights + packed, fixed, err);
    if (rc) return rc;
    snprintf(what, sizeof what, "%s: the vocabulary", m->path);
    rc = mem_charge(&m->engine->budget, EW_MEM_FIXED, fixed, what, err);
    if (rc) return rc;
    m->charged_fixed = fixed;
    snprintf(what, sizeof what, "%s: the weights", m->path);
    rc = mem_charge(&m->engine->budget, EW_MEM_WEIGHTS, weights, what, err);
    if (!rc) m->charged_weights = weights;
    return rc;
}

/* Brings the weights into memory now, so that the first token does not pay for it. Where matrices
 * are packed, packing reads them, and what is left is small but for the embedding. */
static ew_status prefault(const ew_model *m, const ew_model_options *o, ew_error *err) {
    uint64_t total = 0, done = 0;

    for (size_t i = 0; i < m->g->n_part; i++) total += m->g->map[i].size;
    for (size_t i = 0; i < m->g->n_part; i++) {
        const file_map *map = &m->g->map[i];

        for (uint64_t at = 0; at < map->size; at += PREFAULT) {
            file_map_prefault(map, at, PREFAULT);
            done += map->size - at < PREFAULT ? map->size - at : PREFAULT;
            if (o->progress && !o->progress(o->progress_ctx, (float)done / (float)total))
                return fail(err, EW_ECANCEL, "%s: loading was cancelled", m->path);
        }
        if (o->lock) {
            ew_error why;

            if (file_map_lock(map, &why)) engine_log(m->engine, EW_LOG_WARN, "%s", why.text);
        }
    }
    return EW_OK;
}

static ew_status pack_weights(ew_model *m, const ew_model_options *o, ew_error *err) {
    char what[256];
    ew_error why;
    ew_status rc;

    snprintf(what, sizeof what, "%s: the packed weights", m->path);
    rc = big_alloc(&m->packed, &m->engine->budget, EW_MEM_PACKED, m->cost_packed, what, err);
    if (rc) return rc;
    if (m->embd.data && !is_tied(m)) matrix_prefault(m, &m->embd);
    rc = pack_run(m, o, err);
    if (!rc && o->lock && big_lock(&m->packed, &why))
        engine_log(m->engine, EW_LOG_WARN, "%s", why.text);
    return rc;
}

static ew_status copy_names(ew_model *m, ew_error *err) {
    const gguf_kv *kv = gguf_find(m->g, "general.name");
    str name = {0}, arch_name = {0};

    if (kv) gguf_kv_str(kv, 0, &name);
    kv = gguf_find(m->g, "general.architecture");
    if (kv) gguf_kv_str(kv, 0, &arch_name);
    m->name = mem_copy_str(name.p, name.n);
    m->arch_name = mem_copy_str(arch_name.p, arch_name.n);
    if (!m->name || !m->arch_name) return fail(err, EW_ENOMEM, "%s: out of memory", m->path);
    return EW_OK;
}

static ew_status load_weights(ew_model *m, const ew_model_options *o, ew_error *err) {
    bool *is_used = mem_array(m->g->n_tensor, sizeof *is_used);
    ew_status rc;

    if (!is_used) return fail(err, EW_ENOMEM, "%s: out of memory", m->path);
    rc = check_model(m, is_used, err);
    if (!rc) rc = take_memory(m, o->float_activations, err);
    if (!rc) plan_packing(m, o);
    if (!rc) rc = charge(m, err);
    if (!rc) rc = m->cost_packed ? pack_weights(m, o, err) : prefault(m, o, err);
    if (!rc) warn_unused(m, is_used);
    mem_free(is_used);
    if (rc) return rc;
    return EW_OK;
}

/* The vocabulary alone and, where the file could run, the shapes that an estimate of a session
 * needs: `fixed` is then charged as for a whole load, so that both sums agree. */
static ew_status load_vocab(ew_model *m, const ew_model_options *o, ew_error *err) {
    binder b = {.m = m, .is_float = o->float_activations};

    m->is_vocab_only = true;
    if (check_model(m, NULL, NULL) == EW_OK && bind_all(&b) == EW_OK) {
        collect_forms(m);
        plan_packing(m, o);
    } else {
        mem_free(m->layers);
        m->layers = NULL;
        m->hp = (hparams){0};
        m->n_vectors = 0;
    }
    return charge(m, err);
}

void ew_model_defaults(ew_model_options *o) {
    *o = (ew_model_options){.size = sizeof *o};
}

ew_status ew_model_open(ew_model **out, ew_engine *e, const char *path, const ew_model_options *o,
                        ew_error *err) {
    ew_model_options opt;
    ew_model *m = NULL;
    char warn[256] = "";
    ew_status rc;

    *out = NULL;
    ew_model_defaults(&opt);
    if (o) memcpy(&opt, o, o->size < sizeof opt ? o->size : sizeof opt);
    m = mem_array(1, sizeof *m);
    if (!m) return fail(err, EW_ENOMEM, "%s: out of memory", path);
    m->engine = e;
    m->path = mem_copy_str(path, strlen(path));
    rc = m->path ? gguf_file_open(&m->file, path, opt.no_mmap && !opt.vocab_only, err)
                 : fail(err, EW_ENOMEM, "%s: out of memory", path);
    if (rc) goto out;
    m->g = &m->file.g;
    rc = copy_names(m, err);
    if (!rc) rc = tok_open(&m->tok, m->g, path, warn, err);
    if (rc) goto out;
    if (warn[0]) engine_log(e, EW_LOG_WARN, "%s", warn);
    sum_tensors(m);
    rc = opt.vocab_only ? load_vocab(m, &opt, err) : load_weights(m, &opt, err);
    if (rc) goto out;
    *out = m;
    m = NULL;
out:
    ew_model_close(m);
    return rc;
}

void ew_model_close(ew_model *m) {
    if (!m) return;
    mem_release(&m->engine->budget, EW_MEM_WEIGHTS, m->charged_weights);
    mem_release(&m->engine->budget, EW_MEM_FIXED, m->charged_fixed);
    big_free(&m->packed);
    model_trie_free(m);
    mem_free(m->vectors);
    mem_free(m->layers);
    tok_close(m->tok);
    gguf_file_close(&m->file);
    mem_free(m->name);
    mem_free(m->arch_name);
    mem_free(m->path);
    mem_free(m);
}

ew_status ew_file_check(const ew_file *f, ew_error *err) {
    char name[] = "this file";
    ew_model m = {.g = &f->g, .path = f->g.n_part ? f->g.path[0] : name};
    ew_status rc = tok_open(&m.tok, m.g, m.path, NULL, err);

    if (!rc) rc = check_model(&m, NULL, err);
    tok_close(m.tok);
    mem_free(m.layers);
    return rc;
}
