/* SPDX-License-Identifier: MIT
 *
 * Reading GGUF versions 2 and 3, split sets included. Everything is checked against the file's size
 * before it is used; a malformed file gives one clear error. Strings and tensors are views into the
 * mapped bytes. */
#ifndef EW_FORMAT_GGUF_H
#define EW_FORMAT_GGUF_H

#include "base/file.h"
#include "base/str.h"
#include "tensor/type.h"

/* Value type ids of the format. */
typedef enum {
    GGUF_U8 = 0,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64
} gguf_type;

typedef struct {
    str key;
    gguf_type type;         /* of the value */
    gguf_type elem_type;    /* of an array's elements */
    uint64_t n_elem;        /* array length, 1 otherwise */
    const uint8_t *data;    /* the value's bytes (an array's first element); a string's start at its
                               8-byte length */
    uint64_t n_bytes;       /* all bytes at data; checked to be in the file */
    const uint64_t *str_at; /* array of strings: offset of each from data; NULL otherwise */
} gguf_kv;

typedef struct {
    str name;
    elem_type type;
    uint32_t n_dims;
    uint64_t ne[4]; /* fastest-varying first; missing ones 1 */
    uint64_t n_bytes;
    uint64_t off_bytes;  /* from the start of its file */
    const uint8_t *data; /* n_bytes, in the file's bytes */
    uint32_t part;       /* which file of a split set, from 0 */
} gguf_tensor;

typedef struct {
    uint32_t version, alignment;
    gguf_kv *kv; /* of the first part */
    size_t n_kv;
    gguf_tensor *tensor; /* of all parts */
    size_t n_tensor;
    file_map *map; /* n_part mappings, in order; empty when parsed from memory */
    char **path;   /* their paths */
    size_t n_part;
    /* private: */
    uint64_t *str_at; /* all string offsets */
    size_t n_str;
    const gguf_kv **kv_by_key; /* indexes sorted by name */
    const gguf_tensor **tensor_by_name;
} gguf;

/* Opens path, or the whole set when it is any member of a split one. is_copy: see file_map_open. */
ew_status gguf_open(gguf *out, const char *path, bool is_copy, ew_error *err);
/* Parses one file's bytes (borrowed while g lives); name stands in errors. Pure function of the
 * bytes: the fuzz target. */
ew_status gguf_parse(gguf *out, const uint8_t *bytes, uint64_t n, const char *name, ew_error *err);
void gguf_close(gguf *g); /* an empty {0} is fine */

const gguf_kv *gguf_find(const gguf *g, const char *key);
const gguf_tensor *gguf_find_tensor(const gguf *g, str name);

/* Typed reading of element i (0 unless an array), by any width of the same kind, as files vary.
 * False when kv is NULL, i is out of range or the value is of another kind; *out is then unchanged.
 */
bool gguf_kv_uint(const gguf_kv *kv, uint64_t i,
                  uint64_t *out); /* any integer type >= 0, or bool */
bool gguf_kv_int(const gguf_kv *kv, uint64_t i, int64_t *out);
bool gguf_kv_float(const gguf_kv *kv, uint64_t i, double *out); /* f32 or f64 */
bool gguf_kv_bool(const gguf_kv *kv, uint64_t i, bool *out);
bool gguf_kv_str(const gguf_kv *kv, uint64_t i, str *out);

const char *gguf_type_name(gguf_type t); /* "u32" */
/* The recipe of general.file_type: "Q4_K_M"; "" when not known. */
const char *gguf_file_type_name(uint64_t file_type);

#endif
