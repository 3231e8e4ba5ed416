/* SPDX-License-Identifier: MIT */
#include "format/gguf_write.h"

#include "base/mem.h"
#include "format/gguf_impl.h"

enum {
    VERSION = 3,
    HEAD_BYTES_MAX = 1 << 30, /* of key/values, and of the tensor table */
    ALIGNMENT_DEFAULT = 32
};

void gguf_writer_init(gguf_writer *w) {
    *w = (gguf_writer){.alignment = ALIGNMENT_DEFAULT, .out = {.fd = -1}};
    strbuf_init(&w->kv, HEAD_BYTES_MAX);
    strbuf_init(&w->info, HEAD_BYTES_MAX);
}

void gguf_writer_fini(gguf_writer *w) {
    file_out_abort(&w->out);
    strbuf_fini(&w->kv);
    strbuf_fini(&w->info);
    mem_free(w->n_bytes);
    *w = (gguf_writer){.out = {.fd = -1}};
}

static void add_u32(strbuf *b, uint32_t v) {
    const uint8_t p[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};

    strbuf_add(b, p, sizeof p);
}

static void add_u64(strbuf *b, uint64_t v) {
    add_u32(b, (uint32_t)v);
    add_u32(b, (uint32_t)(v >> 32));
}

static void add_str(strbuf *b, str s) {
    add_u64(b, s.n);
    strbuf_str(b, s);
}

static void wrong(gguf_writer *w, const char *why) {
    if (!w->wrong) w->wrong = why;
}

static void begin_kv(gguf_writer *w, str key, gguf_type type) {
    add_str(&w->kv, key);
    add_u32(&w->kv, (uint32_t)type);
    w->n_kv++;
}

void gguf_put_scalar(gguf_writer *w, const char *key, gguf_type type, const void *bytes) {
    const size_t n = gguf_scalar_bytes((uint32_t)type);

    if (n == 0) wrong(w, "gguf_put_scalar: not the type of a scalar");
    begin_kv(w, str_of(key), type);
    strbuf_add(&w->kv, bytes, n);
}

void gguf_put_u32(gguf_writer *w, const char *key, uint32_t v) {
    begin_kv(w, str_of(key), GGUF_U32);
    add_u32(&w->kv, v);
}

void gguf_put_f32(gguf_writer *w, const char *key, float v) {
    uint32_t u;

    memcpy(&u, &v, sizeof u);
    begin_kv(w, str_of(key), GGUF_F32);
    add_u32(&w->kv, u);
}

void gguf_put_bool(gguf_writer *w, const char *key, bool v) {
    gguf_put_scalar(w, key, GGUF_BOOL, &(uint8_t){v});
}

void gguf_put_str(gguf_writer *w, const char *key, str v) {
    begin_kv(w, str_of(key), GGUF_STRING);
    add_str(&w->kv, v);
}

void gguf_put_alignment(gguf_writer *w, uint32_t alignment) {
    if (w->n_tensor) wrong(w, "gguf_put_alignment: after the first tensor");
    if (alignment < 8 || (alignment & (alignment - 1)) != 0)
        wrong(w, "gguf_put_alignment: not a power of two from 8 on");
    else
        w->alignment = alignment;
    gguf_put_u32(w, "general.alignment", alignment);
}

static void begin_array(gguf_writer *w, str key, gguf_type elem, uint64_t n) {
    begin_kv(w, key, GGUF_ARRAY);
    add_u32(&w->kv, (uint32_t)elem);
    add_u64(&w->kv, n);
}

void gguf_put_array(gguf_writer *w, const char *key, gguf_type elem, const void *bytes,
                    uint64_t n) {
    const size_t each = gguf_scalar_bytes((uint32_t)elem);

    if (each == 0) wrong(w, "gguf_put_array: not the type of a scalar");
    begin_array(w, str_of(key), elem, n);
    if (n > HEAD_BYTES_MAX)
        w->kv.failed = true;
    else
        strbuf_add(&w->kv, bytes, (size_t)n * each);
}

void gguf_put_strs(gguf_writer *w, const char *key, const str *v, uint64_t n) {
    begin_array(w, str_of(key), GGUF_STRING, n);
    for (uint64_t i = 0; i < n; i++) add_str(&w->kv, v[i]);
}

void gguf_put_kv(gguf_writer *w, const gguf_kv *kv) {
    if (kv->type == GGUF_ARRAY)
        begin_array(w, kv->key, kv->elem_type, kv->n_elem);
    else
        begin_kv(w, kv->key, kv->type);
    strbuf_add(&w->kv, kv->data, (size_t)kv->n_bytes);
}

/* The tensor's bytes; 0 when its shape is not that of a tensor of this type. */
static uint64_t tensor_bytes(elem_type type, uint32_t n_dims, const uint64_t *ne) {
    const type_info *info = type_get((uint32_t)type);
    uint64_t n = 1;

    if (!info->name || n_dims < 1 || n_dims > 4 || ne[0] % info->block_elems) return 0;
    for (uint32_t d = 0; d < n_dims; d++) {
        if (ne[d] == 0 || n > (uint64_t)INT64_MAX / info->block_bytes / ne[d]) return 0;
        n *= ne[d];
    }
    return n / info->block_elems * info->block_bytes;
}

void gguf_put_tensor(gguf_writer *w, const char *name, elem_type type, uint32_t n_dims,
                     const uint64_t *ne) {
    const uint64_t n = tensor_bytes(type, n_dims, ne);
    uint64_t *p;

    if (n == 0) {
        wrong(w, "gguf_put_tensor: the shape doesn't suit the type");
        return;
    }
    p = mem_resize(w->n_bytes, (size_t)w->n_tensor + 1, sizeof *p);
    if (!p) {
        w->info.failed = true;
        return;
    }
    w->n_bytes = p;
    p[w->n_tensor++] = n;
    add_str(&w->info, str_of(name));
    add_u32(&w->info, n_dims);
    for (uint32_t d = 0; d < n_dims; d++) add_u64(&w->info, ne[d]);
    add_u32(&w->info, (uint32_t)type);
    add_u64(&w->info, w->data_end);
    w->data_end += n + (-n & (w->alignment - 1u));
}

static ew_status write_padding(gguf_writer *w, uint64_t after, ew_error *err) {
    static const uint8_t zero[4096];
    uint64_t n = -after & (w->alignment - 1u);
    ew_status rc = EW_OK;

    while (n && !rc) {
        const size_t step = n < sizeof zero ? (size_t)n : sizeof zero;

        rc = file_out_write(&w->out, zero, step, err);
        n -= step;
    }
    return rc;
}

ew_status gguf_writer_open(gguf_writer *w, const char *path, ew_error *err) {
    strbuf head;
    uint64_t n;
    ew_status rc;

    if (w->wrong) return fail(err, EW_EINVAL, "%s: %s", path, w->wrong);
    strbuf_init(&head, 64);
    strbuf_add(&head, "GGUF", 4);
    add_u32(&head, VERSION);
    add_u64(&head, w->n_tensor);
    add_u64(&head, w->n_kv);
    n = head.n + w->kv.n + w->info.n;
    if (head.failed || w->kv.failed || w->info.failed)
        rc = fail(err, EW_ENOMEM, "%s: out of memory", path);
    else
        rc = file_out_open(&w->out, path, err);
    if (!rc) rc = file_out_write(&w->out, head.p, head.n, err);
    if (!rc) rc = file_out_write(&w->out, w->kv.p, w->kv.n, err);
    if (!rc) rc = file_out_write(&w->out, w->info.p, w->info.n, err);
    if (!rc) rc = write_padding(w, n, err);
    strbuf_fini(&head);
    return rc;
}

ew_status gguf_writer_data(gguf_writer *w, const void *bytes, uint64_t n, ew_error *err) {
    const uint8_t *p = bytes;
    ew_status rc = EW_OK;

    while (n && !rc) {
        uint64_t step = n;

        if (w->at == w->n_tensor)
            return fail(err, EW_EINVAL, "%s: more bytes than its tensors have", w->out.path);
        if (step > w->n_bytes[w->at] - w->done) step = w->n_bytes[w->at] - w->done;
        rc = file_out_write(&w->out, p, (size_t)step, err);
        p += step;
        n -= step;
        w->done += step;
        if (w->done < w->n_bytes[w->at] || rc) continue;
        rc = write_padding(w, w->done, err);
        w->at++;
        w->done = 0;
    }
    return rc;
}

ew_status gguf_writer_commit(gguf_writer *w, ew_error *err) {
    if (w->at < w->n_tensor)
        return fail(err, EW_EINVAL, "%s: tensor %zu of %llu is incomplete", w->out.path, w->at + 1,
                    (unsigned long long)w->n_tensor);
    return file_out_commit(&w->out, err);
}
