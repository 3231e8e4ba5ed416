/* SPDX-License-Identifier: MIT
 *
 * Looking things up in a parsed GGUF header. Names are found by binary search in an index sorted
 * when the file was parsed: unlike a hash table it has no bad case that a file could aim for.
 * Everything was checked then, so reading a value cannot leave the file. */
#include "format/gguf.h"

#include "base/cursor.h"
#include "format/gguf_impl.h"

size_t gguf_scalar_bytes(uint32_t t) {
    static const uint8_t bytes[] = {
        [GGUF_U8] = 1,  [GGUF_I8] = 1,  [GGUF_U16] = 2, [GGUF_I16] = 2,
        [GGUF_U32] = 4, [GGUF_I32] = 4, [GGUF_F32] = 4, [GGUF_BOOL] = 1,
        [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8,
    };

    return t < sizeof bytes ? bytes[t] : 0;
}

const char *gguf_type_name(gguf_type t) {
    static const char *const names[] = {
        [GGUF_U8] = "u8",         [GGUF_I8] = "i8",       [GGUF_U16] = "u16", [GGUF_I16] = "i16",
        [GGUF_U32] = "u32",       [GGUF_I32] = "i32",     [GGUF_F32] = "f32", [GGUF_BOOL] = "bool",
        [GGUF_STRING] = "string", [GGUF_ARRAY] = "array", [GGUF_U64] = "u64", [GGUF_I64] = "i64",
        [GGUF_F64] = "f64",
    };

    return (size_t)t < sizeof names / sizeof *names ? names[t] : "?";
}

const char *gguf_file_type_name(uint64_t file_type) {
    static const char *const names[] = {
        [0] = "F32",      [1] = "F16",      [2] = "Q4_0",    [3] = "Q4_1",    [7] = "Q8_0",
        [8] = "Q5_0",     [9] = "Q5_1",     [10] = "Q2_K",   [11] = "Q3_K_S", [12] = "Q3_K_M",
        [13] = "Q3_K_L",  [14] = "Q4_K_S",  [15] = "Q4_K_M", [16] = "Q5_K_S", [17] = "Q5_K_M",
        [18] = "Q6_K",    [19] = "IQ2_XXS", [20] = "IQ2_XS", [21] = "Q2_K_S", [22] = "IQ3_XS",
        [23] = "IQ3_XXS", [24] = "IQ1_S",   [25] = "IQ4_NL", [26] = "IQ3_S",  [27] = "IQ3_M",
        [28] = "IQ2_S",   [29] = "IQ2_M",   [30] = "IQ4_XS", [31] = "IQ1_M",  [32] = "BF16",
        [36] = "TQ1_0",   [37] = "TQ2_0",   [38] = "MXFP4",
    };

    if (file_type >= sizeof names / sizeof *names || !names[file_type]) return "";
    return names[file_type];
}

static int compare(str a, str b) {
    const size_t n = a.n < b.n ? a.n : b.n;
    const int c = n ? memcmp(a.p, b.p, n) : 0;

    return c ? c : (a.n > b.n) - (a.n < b.n);
}

const gguf_kv *gguf_find(const gguf *g, const char *key) {
    const str want = str_of(key);
    size_t lo = 0, hi = g->kv_by_key ? g->n_kv : 0;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        const int c = compare(g->kv_by_key[mid]->key, want);

        if (c == 0) return g->kv_by_key[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

const gguf_tensor *gguf_find_tensor(const gguf *g, str name) {
    size_t lo = 0, hi = g->tensor_by_name ? g->n_tensor : 0;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        const int c = compare(g->tensor_by_name[mid]->name, name);

        if (c == 0) return g->tensor_by_name[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

/* Element i and its type; NULL when there is no such element. */
static const uint8_t *element(const gguf_kv *kv, uint64_t i, gguf_type *type) {
    if (!kv || i >= kv->n_elem) return NULL;
    *type = kv->type == GGUF_ARRAY ? kv->elem_type : kv->type;
    if (*type == GGUF_STRING) return kv->data + (kv->str_at ? kv->str_at[i] : 0);
    return kv->data + i * gguf_scalar_bytes((uint32_t)*type);
}

/* An integer as sign and 64 bits: the value is `u`, or, when negative, `u` read as int64_t. */
static bool integer(const gguf_kv *kv, uint64_t i, uint64_t *u, bool *is_negative) {
    gguf_type t;
    const uint8_t *p = element(kv, i, &t);
    int64_t s = 0;

    if (!p) return false;
    *is_negative = false;
    switch (t) {
    case GGUF_U8:
    case GGUF_BOOL:
        *u = p[0];
        return true;
    case GGUF_U16:
        *u = load_u16(p);
        return true;
    case GGUF_U32:
        *u = load_u32(p);
        return true;
    case GGUF_U64:
        *u = load_u64(p);
        return true;
    case GGUF_I8:
        s = (int8_t)p[0]; /* NOLINT(bugprone-signed-char-misuse): it is a number */
        break;
    case GGUF_I16:
        s = (int16_t)load_u16(p);
        break;
    case GGUF_I32:
        s = (int32_t)load_u32(p);
        break;
    case GGUF_I64:
        s = (int64_t)load_u64(p);
        break;
    case GGUF_F32:
    case GGUF_F64:
    case GGUF_STRING:
    case GGUF_ARRAY:
        return false;
    }
    *is_negative = s < 0;
    *u = (uint64_t)s;
    return true;
}

bool gguf_kv_uint(const gguf_kv *kv, uint64_t i, uint64_t *out) {
    uint64_t u;
    bool is_negative;

    if (!integer(kv, i, &u, &is_negative) || is_negative) return false;
    *out = u;
    return true;
}

bool gguf_kv_int(const gguf_kv *kv, uint64_t i, int64_t *out) {
    uint64_t u;
    bool is_negative;

    if (!integer(kv, i, &u, &is_negative)) return false;
    if (!is_negative && u > INT64_MAX) return false;
    *out = (int64_t)u;
    return true;
}

bool gguf_kv_float(const gguf_kv *kv, uint64_t i, double *out) {
    gguf_type t;
    const uint8_t *p = element(kv, i, &t);

    if (p && t == GGUF_F32) {
        *out = (double)load_f32(p);
        return true;
    }
    if (p && t == GGUF_F64) {
        const uint64_t u = load_u64(p);

        memcpy(out, &u, sizeof u);
        return true;
    }
    return false;
}

bool gguf_kv_bool(const gguf_kv *kv, uint64_t i, bool *out) {
    gguf_type t;
    const uint8_t *p = element(kv, i, &t);

    if (!p || t != GGUF_BOOL) return false;
    *out = p[0] != 0;
    return true;
}

bool gguf_kv_str(const gguf_kv *kv, uint64_t i, str *out) {
    gguf_type t;
    const uint8_t *p = element(kv, i, &t);

    if (!p || t != GGUF_STRING) return false;
    *out = (str){(const char *)p + 8, (size_t)load_u64(p)};
    return true;
}
