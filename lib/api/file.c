/* SPDX-License-Identifier: MIT
 *
 * ew_file of edgewise.h: the header of a GGUF file as plain structs. */
#include "edgewise.h"

#include "base/mem.h"
#include "format/gguf_file.h"

ew_status ew_file_open(ew_file **out, const char *path, ew_error *err) {
    ew_file *f;
    ew_status rc;

    *out = NULL;
    f = mem_array(1, sizeof *f);
    if (!f) return fail(err, EW_ENOMEM, "%s: out of memory", path);
    rc = gguf_file_open(f, path, false, err);
    if (rc)
        mem_free(f);
    else
        *out = f;
    return rc;
}

void ew_file_close(ew_file *f) {
    if (!f) return;
    gguf_file_close(f);
    mem_free(f);
}

uint32_t ew_file_version(const ew_file *f) {
    return f->g.version;
}

uint32_t ew_file_n_part(const ew_file *f) {
    return (uint32_t)f->g.n_part;
}

uint64_t ew_file_bytes(const ew_file *f) {
    uint64_t n = 0;

    for (size_t i = 0; i < f->g.n_part; i++) n += f->g.map[i].size;
    return n;
}

size_t ew_file_n_meta(const ew_file *f) {
    return f->g.n_kv;
}

size_t ew_file_n_tensor(const ew_file *f) {
    return f->g.n_tensor;
}

static ew_meta_kind kind_of(gguf_type t) {
    switch (t) {
    case GGUF_U8:
    case GGUF_U16:
    case GGUF_U32:
    case GGUF_U64:
        return EW_META_UINT;
    case GGUF_I8:
    case GGUF_I16:
    case GGUF_I32:
    case GGUF_I64:
        return EW_META_INT;
    case GGUF_F32:
    case GGUF_F64:
        return EW_META_FLOAT;
    case GGUF_BOOL:
        return EW_META_BOOL;
    case GGUF_STRING:
        return EW_META_STRING;
    case GGUF_ARRAY:
        break;
    }
    return EW_META_ARRAY;
}

static const char *array_name(gguf_type elem) {
    switch (elem) {
    case GGUF_U8:
        return "array of u8";
    case GGUF_I8:
        return "array of i8";
    case GGUF_U16:
        return "array of u16";
    case GGUF_I16:
        return "array of i16";
    case GGUF_U32:
        return "array of u32";
    case GGUF_I32:
        return "array of i32";
    case GGUF_F32:
        return "array of f32";
    case GGUF_BOOL:
        return "array of bool";
    case GGUF_STRING:
        return "array of string";
    case GGUF_U64:
        return "array of u64";
    case GGUF_I64:
        return "array of i64";
    case GGUF_F64:
        return "array of f64";
    case GGUF_ARRAY:
        break;
    }
    return "array";
}

/* The scalar at element i, of type t. */
static void set_value(ew_meta *out, const gguf_kv *kv, gguf_type t, uint64_t i) {
    str s = {0};

    out->kind = kind_of(t);
    out->type = gguf_type_name(t);
    (void)gguf_kv_float(kv, i, &out->f); /* each reads only values of its kind */
    (void)gguf_kv_str(kv, i, &s);
    if (out->kind == EW_META_INT)
        (void)gguf_kv_int(kv, i, &out->i);
    else
        (void)gguf_kv_uint(kv, i, &out->u);
    out->text = s.p;
    out->text_n = s.n;
}

void ew_file_meta(const ew_file *f, size_t i, ew_meta *out) {
    const gguf_kv *kv = &f->g.kv[i];

    *out = (ew_meta){.key = f->key[i]};
    if (kv->type != GGUF_ARRAY) {
        set_value(out, kv, kv->type, 0);
        return;
    }
    out->kind = EW_META_ARRAY;
    out->type = array_name(kv->elem_type);
    out->n_elem = kv->n_elem;
    out->elem_kind = kind_of(kv->elem_type);
}

bool ew_file_find_meta(const ew_file *f, const char *key, ew_meta *out) {
    const gguf_kv *kv = gguf_find(&f->g, key);

    if (!kv) return false;
    ew_file_meta(f, (size_t)(kv - f->g.kv), out);
    return true;
}

bool ew_file_meta_elem(const ew_file *f, const char *key, uint64_t i, ew_meta *out) {
    const gguf_kv *kv = gguf_find(&f->g, key);

    if (!kv || kv->type != GGUF_ARRAY || i >= kv->n_elem) return false;
    *out = (ew_meta){.key = f->key[kv - f->g.kv]};
    set_value(out, kv, kv->elem_type, i);
    return true;
}

void ew_file_tensor(const ew_file *f, size_t i, ew_tensor_info *out) {
    const gguf_tensor *t = &f->g.tensor[i];

    *out = (ew_tensor_info){
        .name = f->tensor_name[i],
        .type = type_get((uint32_t)t->type)->name,
        .n_dims = t->n_dims,
        .n_bytes = t->n_bytes,
        .off_bytes = t->off_bytes,
        .part = t->part,
    };
    memcpy(out->shape, t->ne, sizeof out->shape);
}
