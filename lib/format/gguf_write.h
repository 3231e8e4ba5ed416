/* SPDX-License-Identifier: MIT
 *
 * Writing GGUF version 3. Metadata and the tensor table are collected first, because the format has
 * them before the data; tensor bytes are then streamed in the same order, so a file of any size
 * takes little memory. Offsets are exactly sequential, as strict readers demand.
 *
 *     gguf_writer w;
 *     gguf_writer_init(&w);
 *     gguf_put_str(&w, "general.architecture", str_of("llama"));
 *     gguf_put_tensor(&w, "token_embd.weight", TYPE_F16, 2, ne);
 *     rc = gguf_writer_open(&w, "out.gguf", &err);
 *     if (!rc) rc = gguf_writer_data(&w, bytes, n, &err);     // any pieces, tensor after tensor
 *     if (!rc) rc = gguf_writer_commit(&w, &err);
 *     gguf_writer_fini(&w);                                   // without commit: leaves no file
 *
 * Out of memory or a wrong call while collecting is reported by gguf_writer_open. */
#ifndef EW_FORMAT_GGUF_WRITE_H
#define EW_FORMAT_GGUF_WRITE_H

#include "format/gguf.h"

typedef struct {
    strbuf kv, info; /* as they will be in the file */
    uint64_t n_kv, n_tensor;
    uint64_t *n_bytes; /* of each tensor */
    uint32_t alignment;
    const char *wrong; /* first wrong call, NULL: none */
    uint64_t data_end; /* offset after the last tensor, aligned */
    file_out out;
    size_t at;     /* the tensor that is being written */
    uint64_t done; /* bytes of it written */
} gguf_writer;

void gguf_writer_init(gguf_writer *w);
void gguf_writer_fini(gguf_writer *w);

/* Before the first tensor; 32 unless called. A power of two, at least 8. */
void gguf_put_alignment(gguf_writer *w, uint32_t alignment);
void gguf_put_u32(gguf_writer *w, const char *key, uint32_t v);
void gguf_put_f32(gguf_writer *w, const char *key, float v);
void gguf_put_bool(gguf_writer *w, const char *key, bool v);
void gguf_put_str(gguf_writer *w, const char *key, str v);
/* Scalars and arrays of every type but string and array. bytes: n elements, little-endian. */
void gguf_put_scalar(gguf_writer *w, const char *key, gguf_type type, const void *bytes);
void gguf_put_array(gguf_writer *w, const char *key, gguf_type elem, const void *bytes, uint64_t n);
void gguf_put_strs(gguf_writer *w, const char *key, const str *v, uint64_t n);
/* ne: n_dims numbers, fastest-varying first. */
void gguf_put_tensor(gguf_writer *w, const char *name, elem_type type, uint32_t n_dims,
                     const uint64_t *ne);
/* Key/values of a file that was read, as they are: for tools that rewrite a file. */
void gguf_put_kv(gguf_writer *w, const gguf_kv *kv);

/* Opens PATH's temporary file and writes all but the tensors' bytes. */
ew_status gguf_writer_open(gguf_writer *w, const char *path, ew_error *err);
ew_status gguf_writer_data(gguf_writer *w, const void *bytes, uint64_t n, ew_error *err);
/* EW_EINVAL when tensor bytes are missing; else syncs and gives the file its name. */
ew_status gguf_writer_commit(gguf_writer *w, ew_error *err);

#endif
