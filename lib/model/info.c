/* SPDX-License-Identifier: MIT */
#include "model/model.h"

#include <string.h>

void ew_model_info_get(const ew_model *m, ew_model_info *out) {
    const gguf_kv *kv = gguf_find(m->g, "general.file_type");
    uint64_t file_type;
    ew_model_info info = {
        .size = out->size,
        .architecture = m->arch_name,
        .name = m->name,
        .file_type = "",
        .n_param = m->n_param,
        .n_bytes = m->n_bytes,
        .n_layer = m->hp.n_layer,
        .n_embd = m->hp.n_embd,
        .n_ff = m->hp.n_expert ? m->hp.n_ff_expert : m->hp.n_ff_max,
        .n_head = m->hp.n_head_max,
        .n_head_kv = m->hp.n_head_kv_max,
        .head_dim = m->hp.head_dim_k,
        .n_vocab = (uint32_t)tok_n(m->tok),
        .ctx_train = m->hp.ctx_train,
        .load_weights = m->cost_weights,
        .load_packed = m->cost_packed,
        .n_expert = m->hp.n_expert,
        .n_expert_used = m->hp.n_expert_used,
        .n_param_active = m->n_param_active,
        .active_bytes = m->active_bytes,
    };

    if (kv && gguf_kv_uint(kv, 0, &file_type)) info.file_type = gguf_file_type_name(file_type);
    memcpy(out, &info, out->size < sizeof info ? out->size : sizeof info);
}

const ew_file *ew_model_file(const ew_model *m) {
    return &m->file;
}

str model_chat_template(const ew_model *m) {
    const gguf_kv *kv = gguf_find(m->g, "tokenizer.chat_template");
    str s = {0};

    if (kv) gguf_kv_str(kv, 0, &s);
    return s;
}
