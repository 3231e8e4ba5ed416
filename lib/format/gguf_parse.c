/* SPDX-License-Identifier: MIT
 *
 * Parsing one GGUF file: header, key/values, tensor table, then the place of every tensor. A pure
 * function of the bytes. Nothing is allocated by a number that the file merely claims: counts are
 * held against the bytes that are left, and time is O(n log n) in them, so that no file costs more
 * than its size deserves. */
#include "base/cursor.h"
#include "base/mem.h"
#include "format/gguf_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    VERSION_MIN = 2,
    VERSION_MAX = 3,
    COUNT_MAX = 1 << 20,          /* key/values or tensors: twenty times the largest known model */
    STRINGS_MAX = 1 << 24,        /* in all arrays together: sixty times the largest vocabulary */
    KEY_BYTES_MAX = 65535,        /* the format's limit */
    NAME_BYTES_MAX = 64,          /* of a tensor; the format's limit */
    KV_BYTES_MIN = 8 + 1 + 4 + 1, /* key, type, value */
    TENSOR_BYTES_MIN = 8 + 1 + 4 + 8 + 4 + 8, /* name, n_dims, ne, type, offset */
    ALIGNMENT_DEFAULT = 32,
    ALIGNMENT_MIN = 8, /* the format's, and what makes every element type aligned in memory */
    ALIGNMENT_MAX = 1 << 30
};

typedef struct {
    gguf *g;
    cursor c;
    const uint8_t *start;
    const char *file; /* name for messages */
    ew_error *err;
    const char *kind; /* "key", "tensor"; NULL in the header */
    uint64_t i, n;    /* which of how many */
    str name;         /* its name, once read */
    size_t str_cap;   /* allocated of g->str_at */
} reader;

/* Fails with the file, the thing at hand and the sentence. */
static ew_status bad(const reader *r, ew_status code, const char *fmt, ...) PRINTF_LIKE(3, 4);
static ew_status bad(const reader *r, ew_status code, const char *fmt, ...) {
    char what[256], shown[SHOWN_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (!r->kind) return fail(r->err, code, "%s: %s", r->file, what);
    if (r->name.n)
        return fail(r->err, code, "%s: %s %s: %s", r->file, r->kind, gguf_shown(shown, r->name),
                    what);
    return fail(r->err, code, "%s: %s %llu of %llu: %s", r->file, r->kind,
                (unsigned long long)r->i + 1, (unsigned long long)r->n, what);
}

static ew_status cut(const reader *r, const char *what) {
    return bad(r, EW_EFORMAT, "the file ends at byte %llu, inside %s; an unfinished download?",
               (unsigned long long)(r->c.end - r->start), what);
}

static ew_status no_memory(const reader *r) {
    return fail(r->err, EW_ENOMEM, "%s: out of memory", r->file);
}

/* The string's bytes; the cursor moves past them. */
static ew_status read_str(reader *r, str *out, const char *what) {
    const uint8_t *p;
    uint64_t n;

    if (!cursor_u64(&r->c, &n)) return cut(r, what);
    if (!cursor_take(&r->c, n, &p))
        return bad(r, EW_EFORMAT, "%s of %llu bytes, but only %llu bytes are left in the file",
                   what, (unsigned long long)n, (unsigned long long)cursor_left(&r->c));
    *out = (str){(const char *)p, (size_t)n};
    return EW_OK;
}

/* A key or a tensor's name. A NUL would end it early where it is passed on as a C string. */
static ew_status read_name(reader *r, str *out, size_t max_bytes) {
    str s = {0};
    const ew_status rc = read_str(r, &s, "a name");

    if (rc) return rc;
    if (s.n == 0) return bad(r, EW_EFORMAT, "its name is empty");
    if (s.n > max_bytes)
        return bad(r, EW_EFORMAT, "its name has %zu bytes, at most %zu are allowed", s.n,
                   max_bytes);
    if (memchr(s.p, 0, s.n)) return bad(r, EW_EFORMAT, "its name contains a NUL byte");
    *out = r->name = s;
    return EW_OK;
}

static ew_status check_bools(const reader *r, const gguf_kv *kv) {
    for (uint64_t i = 0; i < kv->n_elem; i++)
        if (kv->data[i] > 1) return bad(r, EW_EFORMAT, "a bool is %u, must be 0 or 1", kv->data[i]);
    return EW_OK;
}

/* Walks the strings of an array and notes where each begins, so that element i is found at once. */
static ew_status read_strings(reader *r, gguf_kv *kv) {
    gguf *g = r->g;

    if (kv->n_elem > STRINGS_MAX - g->n_str)
        return bad(r, EW_EFORMAT, "array of %llu strings, at most %d are read",
                   (unsigned long long)kv->n_elem, (int)STRINGS_MAX);
    for (uint64_t i = 0; i < kv->n_elem; i++) {
        const uint8_t *at = r->c.at;
        str s;
        ew_status rc;

        if (g->n_str == r->str_cap) {
            const size_t cap = r->str_cap ? 2 * r->str_cap : 1024;
            uint64_t *p = mem_resize(g->str_at, cap, sizeof *p);

            if (!p) return no_memory(r);
            g->str_at = p;
            r->str_cap = cap;
        }
        rc = read_str(r, &s, "a string of the array");
        if (rc) return rc;
        g->str_at[g->n_str++] = (uint64_t)(at - kv->data);
    }
    return EW_OK;
}

static ew_status read_array(reader *r, gguf_kv *kv) {
    uint32_t type;
    uint64_t n;
    size_t each;

    if (!cursor_u32(&r->c, &type) || !cursor_u64(&r->c, &n)) return cut(r, "an array's header");
    if (type > GGUF_F64) return bad(r, EW_EFORMAT, "array of unknown type %u", type);
    if (type == GGUF_ARRAY) return bad(r, EW_EUNSUPPORTED, "array of arrays");
    each = type == GGUF_STRING ? 8 : gguf_scalar_bytes(type);
    if (n > cursor_left(&r->c) / each)
        return bad(r, EW_EFORMAT,
                   "array of %llu %s values, but only %llu bytes are left in the file",
                   (unsigned long long)n, gguf_type_name((gguf_type)type),
                   (unsigned long long)cursor_left(&r->c));
    kv->elem_type = (gguf_type)type;
    kv->n_elem = n;
    kv->data = r->c.at;
    if (type == GGUF_STRING) return read_strings(r, kv);
    r->c.at += n * each;
    return type == GGUF_BOOL ? check_bools(r, kv) : EW_OK;
}

static ew_status read_kv(reader *r, gguf_kv *kv) {
    uint32_t type;
    ew_status rc = read_name(r, &kv->key, KEY_BYTES_MAX);

    if (rc) return rc;
    if (!cursor_u32(&r->c, &type)) return cut(r, "its type");
    if (type > GGUF_F64) return bad(r, EW_EFORMAT, "unknown value type %u", type);
    kv->type = kv->elem_type = (gguf_type)type;
    kv->n_elem = 1;
    kv->data = r->c.at;
    if (type == GGUF_ARRAY) {
        rc = read_array(r, kv);
    } else if (type == GGUF_STRING) {
        str s;

        rc = read_str(r, &s, "a string");
    } else {
        const uint8_t *p;

        if (!cursor_take(&r->c, gguf_scalar_bytes(type), &p)) return cut(r, "its value");
        if (type == GGUF_BOOL) rc = check_bools(r, kv);
    }
    kv->n_bytes = (uint64_t)(r->c.at - kv->data);
    return rc;
}

static int compare_str(str a, str b) {
    const int c = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

    return c ? c : (a.n > b.n) - (a.n < b.n);
}

static int by_key(const void *a, const void *b) {
    const gguf_kv *const *x = a, *const *y = b;

    return compare_str((*x)->key, (*y)->key);
}

static int by_name(const void *a, const void *b) {
    const gguf_tensor *const *x = a, *const *y = b;

    return compare_str((*x)->name, (*y)->name);
}

static int by_offset(const void *a, const void *b) {
    const gguf_tensor *const *x = a, *const *y = b;

    return ((*x)->off_bytes > (*y)->off_bytes) - ((*x)->off_bytes < (*y)->off_bytes);
}

static ew_status index_keys(reader *r) {
    gguf *g = r->g;

    g->kv_by_key = mem_array(g->n_kv, sizeof *g->kv_by_key);
    if (!g->kv_by_key) return no_memory(r);
    for (size_t i = 0; i < g->n_kv; i++) g->kv_by_key[i] = &g->kv[i];
    qsort(g->kv_by_key, g->n_kv, sizeof *g->kv_by_key, by_key);
    for (size_t i = 1; i < g->n_kv; i++) {
        r->name = g->kv_by_key[i]->key;
        if (str_eq(r->name, g->kv_by_key[i - 1]->key))
            return bad(r, EW_EFORMAT, "stands in the file twice");
    }
    return EW_OK;
}

ew_status gguf_index_tensors(gguf *g, const char *name, ew_error *err) {
    const gguf_tensor **t = mem_array(g->n_tensor, sizeof *t);
    char shown[SHOWN_MAX];

    mem_free(g->tensor_by_name);
    g->tensor_by_name = t;
    if (!t) return fail(err, EW_ENOMEM, "%s: out of memory", name);
    for (size_t i = 0; i < g->n_tensor; i++) t[i] = &g->tensor[i];
    qsort(t, g->n_tensor, sizeof *t, by_name);
    for (size_t i = 1; i < g->n_tensor; i++)
        if (str_eq(t[i]->name, t[i - 1]->name))
            return fail(err, EW_EFORMAT, "%s: tensor %s: stands in the file twice", name,
                        gguf_shown(shown, t[i]->name));
    return EW_OK;
}

/* Key/values that are there in number, not only claimed; the cursor stands before them. */
static ew_status check_count(reader *r, const char *kind, uint64_t n, size_t min_bytes) {
    const uint64_t left = cursor_left(&r->c);

    if (n > left / min_bytes)
        return bad(
            r, EW_EFORMAT,
            "claims %llu %ss of at least %zu bytes, but has only %llu bytes after its header",
            (unsigned long long)n, kind, min_bytes, (unsigned long long)left);
    if (n > COUNT_MAX)
        return bad(r, EW_EFORMAT, "claims %llu %ss, at most %d are read", (unsigned long long)n,
                   kind, (int)COUNT_MAX);
    return EW_OK;
}

static ew_status read_keys(reader *r, uint64_t n) {
    gguf *g = r->g;
    size_t used = 0;

    g->kv = mem_array((size_t)n, sizeof *g->kv);
    if (!g->kv) return no_memory(r);
    r->kind = "key";
    r->n = n;
    for (r->i = 0; r->i < n; r->i++) {
        ew_status rc;

        r->name = (str){0};
        rc = read_kv(r, &g->kv[r->i]);
        if (rc) return rc;
        g->n_kv++;
    }
    /* The offsets are complete and stay where they are. */
    for (size_t i = 0; i < g->n_kv; i++) {
        gguf_kv *kv = &g->kv[i];

        if (kv->type != GGUF_ARRAY || kv->elem_type != GGUF_STRING || kv->n_elem == 0) continue;
        kv->str_at = g->str_at + used;
        used += (size_t)kv->n_elem;
    }
    return index_keys(r);
}

static ew_status read_alignment(reader *r) {
    const gguf_kv *kv = gguf_find(r->g, "general.alignment");
    uint64_t a = ALIGNMENT_DEFAULT;

    if (kv) {
        r->name = kv->key;
        if (kv->type == GGUF_ARRAY || kv->type == GGUF_BOOL || !gguf_kv_uint(kv, 0, &a))
            return bad(r, EW_EFORMAT, "is a %s, must be a number", gguf_type_name(kv->type));
    }
    if (a < ALIGNMENT_MIN || a > ALIGNMENT_MAX || (a & (a - 1)) != 0)
        return bad(r, EW_EFORMAT, "is %llu, must be a power of two, at least %d",
                   (unsigned long long)a, (int)ALIGNMENT_MIN);
    r->g->alignment = (uint32_t)a;
    return EW_OK;
}

/* Ids that have a name but cannot be in a file of today. */
static const char *outdated(uint32_t id) {
    switch (id) {
    case 4:
        return "Q4_2, retired in 2023";
    case 5:
        return "Q4_3, retired in 2023";
    case 9:
        return "Q8_1, a type of activations and not of weights";
    case 15:
        return "Q8_K, a type of activations and not of weights";
    case 31:
        return "Q4_0_4_4, retired; quantize again as Q4_0";
    case 32:
        return "Q4_0_4_8, retired; quantize again as Q4_0";
    case 33:
        return "Q4_0_8_8, retired; quantize again as Q4_0";
    case 36:
        return "IQ4_NL_4_4, retired; quantize again as IQ4_NL";
    case 37:
        return "IQ4_NL_4_8, retired; quantize again as IQ4_NL";
    case 38:
        return "IQ4_NL_8_8, retired; quantize again as IQ4_NL";
    default:
        return NULL;
    }
}

static ew_status check_type(const reader *r, uint32_t id) {
    if (type_get(id)->name) return EW_OK;
    if (outdated(id)) return bad(r, EW_EUNSUPPORTED, "type %u is %s", id, outdated(id));
    return bad(r, EW_EUNSUPPORTED, "unknown type %u", id);
}

/* Sizes in elements and bytes; neither product may leave 63 bits. */
static ew_status set_size(const reader *r, gguf_tensor *t) {
    const type_info *info = type_get((uint32_t)t->type);
    uint64_t n_elem = 1;

    for (uint32_t d = 0; d < t->n_dims; d++) {
        if (t->ne[d] == 0 || t->ne[d] > INT64_MAX)
            return bad(r, EW_EFORMAT, "dimension %u is %lld", d + 1, (long long)t->ne[d]);
        if (n_elem > (uint64_t)INT64_MAX / t->ne[d])
            return bad(r, EW_EFORMAT, "the product of its dimensions overflows");
        n_elem *= t->ne[d];
    }
    if (t->ne[0] % info->block_elems)
        return bad(r, EW_EFORMAT, "rows of %llu elements are no multiple of %s's blocks of %u",
                   (unsigned long long)t->ne[0], info->name, info->block_elems);
    n_elem /= info->block_elems;
    if (n_elem > (uint64_t)INT64_MAX / info->block_bytes)
        return bad(r, EW_EFORMAT, "its size in bytes overflows");
    t->n_bytes = n_elem * info->block_bytes;
    return EW_OK;
}

static ew_status read_tensor(reader *r, gguf_tensor *t) {
    uint32_t type;
    ew_status rc = read_name(r, &t->name, NAME_BYTES_MAX);

    if (rc) return rc;
    if (!cursor_u32(&r->c, &t->n_dims)) return cut(r, "its dimensions");
    if (t->n_dims < 1 || t->n_dims > 4)
        return bad(r, EW_EFORMAT, "has %u dimensions, must be 1 to 4", t->n_dims);
    for (uint32_t d = 0; d < 4; d++) {
        t->ne[d] = 1;
        if (d < t->n_dims && !cursor_u64(&r->c, &t->ne[d])) return cut(r, "its dimensions");
    }
    if (!cursor_u32(&r->c, &type)) return cut(r, "its type");
    if (!cursor_u64(&r->c, &t->off_bytes)) return cut(r, "its offset");
    rc = check_type(r, type);
    if (rc) return rc;
    t->type = (elem_type)type;
    return set_size(r, t);
}

/* From an offset in the data section to a place in the file. */
static ew_status place(reader *r, gguf_tensor *t, uint64_t data_start) {
    const uint64_t size = (uint64_t)(r->c.end - r->start), off = t->off_bytes;

    r->name = t->name;
    if (off % r->g->alignment)
        return bad(r, EW_EFORMAT, "offset %llu is no multiple of the alignment %u",
                   (unsigned long long)off, r->g->alignment);
    if (data_start > size || off > size - data_start)
        return bad(r, EW_EFORMAT, "begins at byte %llu + %llu, but the file has %llu bytes",
                   (unsigned long long)data_start, (unsigned long long)off,
                   (unsigned long long)size);
    if (t->n_bytes > size - data_start - off)
        return bad(r, EW_EFORMAT,
                   "ends at byte %llu, but the file has %llu bytes; an unfinished download?",
                   (unsigned long long)(data_start + off + t->n_bytes), (unsigned long long)size);
    t->off_bytes = data_start + off;
    t->data = r->start + t->off_bytes;
    return EW_OK;
}

static ew_status check_overlap(reader *r) {
    gguf *g = r->g;
    const gguf_tensor **t = mem_array(g->n_tensor, sizeof *t);
    ew_status rc = EW_OK;
    char shown[SHOWN_MAX];

    if (!t) return no_memory(r);
    for (size_t i = 0; i < g->n_tensor; i++) t[i] = &g->tensor[i];
    qsort(t, g->n_tensor, sizeof *t, by_offset);
    for (size_t i = 1; i < g->n_tensor && !rc; i++) {
        const uint64_t end = t[i - 1]->off_bytes + t[i - 1]->n_bytes;

        r->name = t[i]->name;
        if (t[i]->off_bytes < end)
            rc = bad(r, EW_EFORMAT, "begins at byte %llu, inside tensor %s, which ends at %llu",
                     (unsigned long long)t[i]->off_bytes, gguf_shown(shown, t[i - 1]->name),
                     (unsigned long long)end);
    }
    mem_free(t);
    return rc;
}

static ew_status read_tensors(reader *r, uint64_t n) {
    gguf *g = r->g;
    uint64_t data_start;
    ew_status rc;

    r->kind = NULL;
    rc = check_count(r, "tensor", n, TENSOR_BYTES_MIN);
    if (rc) return rc;
    g->tensor = mem_array((size_t)n, sizeof *g->tensor);
    if (!g->tensor) return no_memory(r);
    r->kind = "tensor";
    r->n = n;
    for (r->i = 0; r->i < n; r->i++) {
        r->name = (str){0};
        rc = read_tensor(r, &g->tensor[r->i]);
        if (rc) return rc;
        g->n_tensor++;
    }
    data_start = (uint64_t)(r->c.at - r->start);
    data_start += -data_start & (g->alignment - 1u);
    for (size_t i = 0; i < g->n_tensor; i++) {
        rc = place(r, &g->tensor[i], data_start);
        if (rc) return rc;
    }
    rc = gguf_index_tensors(g, r->file, r->err);
    return rc ? rc : check_overlap(r);
}

static ew_status check_version(const reader *r, uint32_t version) {
    if (version >= VERSION_MIN && version <= VERSION_MAX) return EW_OK;
    if (version != 0 && (version & 0xFFFF) == 0)
        return bad(r, EW_EUNSUPPORTED,
                   "is a big-endian GGUF file (made for s390x or another such machine); only "
                   "little-endian ones can be read");
    if (version == 1)
        return bad(r, EW_EUNSUPPORTED, "is GGUF version 1 (August 2023); convert the model again");
    return bad(r, EW_EUNSUPPORTED, "is GGUF version %u; versions %d and %d can be read", version,
               (int)VERSION_MIN, (int)VERSION_MAX);
}

static ew_status parse(reader *r) {
    uint64_t n_tensor, n_kv;
    const uint8_t *magic;
    ew_status rc;

    if (!cursor_take(&r->c, 4, &magic) || memcmp(magic, "GGUF", 4) != 0)
        return gguf_refuse_magic(r->start, (uint64_t)(r->c.end - r->start), r->file, r->err);
    if (!cursor_u32(&r->c, &r->g->version)) return cut(r, "its header");
    rc = check_version(r, r->g->version);
    if (rc) return rc;
    if (!cursor_u64(&r->c, &n_tensor) || !cursor_u64(&r->c, &n_kv)) return cut(r, "its header");
    rc = check_count(r, "key", n_kv, KV_BYTES_MIN);
    if (!rc) rc = check_count(r, "tensor", n_tensor, TENSOR_BYTES_MIN);
    if (!rc) rc = read_keys(r, n_kv);
    if (!rc) rc = read_alignment(r);
    if (!rc) rc = read_tensors(r, n_tensor);
    return rc;
}

ew_status gguf_parse(gguf *out, const uint8_t *bytes, uint64_t n, const char *name, ew_error *err) {
    static const uint8_t none[1];
    reader r = {.g = out, .start = bytes ? bytes : none, .file = name, .err = err};
    ew_status rc;

    *out = (gguf){0};
    r.c = (cursor){r.start, r.start + n};
    rc = parse(&r);
    if (rc) gguf_close(out);
    return rc;
}
