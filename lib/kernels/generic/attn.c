/* SPDX-License-Identifier: MIT
 *
 * Cached keys and values: storing, loading, scores and weighted sums. A row of the cache is
 * turned into floats strip by strip and used for all heads that share it. For one (head, token)
 * or (head, element) the order of the sum does not depend on the call's shape. */
#include "kernels/generic/generic.h"
#include "kernels/half.h"
#include "tensor/block.h"

#include <math.h>

/* dst[n] from elements at .. at + n of a row; at a multiple of 32 */
typedef void kv_part(float *dst, const uint8_t *row, size_t at, size_t n);

static void part_f32(float *dst, const uint8_t *row, size_t at, size_t n) {
    memcpy(dst, row + at * sizeof *dst, n * sizeof *dst);
}

static void part_f16(float *dst, const uint8_t *row, size_t at, size_t n) {
    for (size_t i = 0; i < n; i++) dst[i] = f16_at(row + 2 * (at + i));
}

static void part_q8_0(float *dst, const uint8_t *row, size_t at, size_t n) {
    const block_q8_0 *b = (const void *)row;

    for (size_t i = 0; i < n; i++) {
        const block_q8_0 *c = b + (at + i) / 32;

        dst[i] = f16_at(c->d) * (float)c->qs[(at + i) % 32];
    }
}

static void store_f32(void *dst, const float *src, size_t n) {
    memcpy(dst, src, n * sizeof *src);
}

static void store_f16(void *dst, const float *src, size_t n) {
    uint8_t *p = dst;

    for (size_t i = 0; i < n; i++) {
        const uint16_t h = f32_to_f16(src[i]);

        memcpy(p + 2 * i, &h, sizeof h);
    }
}

/* As the activation quantiser does a block, with d rounded to f16 on storing. */
static void store_q8_0_block(block_q8_0 *b, const float *x, size_t n) {
    uint32_t max_bits = 0;
    float d = 0, inv = 0;
    uint16_t h;

    for (size_t i = 0; i < n; i++) {
        const uint32_t u = f32_bits(x[i]) & 0x7fffffffu;

        if (u > max_bits) max_bits = u;
    }
    if (max_bits >= 0x7f800000u) {
        d = NAN;
    } else if (bits_f32(max_bits) >= 0x1p-100f) {
        d = bits_f32(max_bits) / 127.0f;
        inv = 127.0f / bits_f32(max_bits);
    }
    h = f32_to_f16(d);
    memcpy(b->d, &h, sizeof h);
    memset(b->qs, 0, sizeof b->qs);
    if (inv > 0) {
        for (size_t i = 0; i < n; i++) b->qs[i] = (int8_t)lrintf(x[i] * inv);
    }
}

static void store_q8_0(void *dst, const float *src, size_t n) {
    block_q8_0 *b = dst;

    for (size_t at = 0; at < n; at += 32) {
        store_q8_0_block(b++, src + at, n - at < 32 ? n - at : 32);
    }
}

static inline void qk(float *s, size_t s_stride, const float *q, const uint8_t *k, size_t row_bytes,
                      float scale, size_t n_head, size_t n_tok, size_t n, kv_part *part) {
    float strip[256];

    for (size_t t = 0; t < n_tok; t++) {
        for (size_t h = 0; h < n_head; h++) s[h * s_stride + t] = 0;
        for (size_t at = 0; at < n; at += 256) {
            const size_t len = n - at < 256 ? n - at : 256;

            part(strip, k + t * row_bytes, at, len);
            for (size_t h = 0; h < n_head; h++) {
                s[h * s_stride + t] += generic_dot_f32(q + h * n + at, strip, len);
            }
        }
        for (size_t h = 0; h < n_head; h++) s[h * s_stride + t] *= scale;
    }
}

static void keep_part(float *o, float keep, size_t n) {
    if (keep == 0) {
        memset(o, 0, n * sizeof *o);
    } else {
        for (size_t i = 0; i < n; i++) o[i] *= keep;
    }
}

static inline void pv(float *o, const float *keep, const float *p, size_t p_stride,
                      const uint8_t *v, size_t row_bytes, size_t n_head, size_t n_tok, size_t n,
                      kv_part *part) {
    float strip[256];

    for (size_t h = 0; h < n_head; h++) keep_part(o + h * n, keep[h], n);
    for (size_t t = 0; t < n_tok; t++) {
        for (size_t at = 0; at < n; at += 256) {
            const size_t len = n - at < 256 ? n - at : 256;

            part(strip, v + t * row_bytes, at, len);
            for (size_t h = 0; h < n_head; h++) {
                const float a = p[h * p_stride + t];

                for (size_t i = 0; i < len; i++) o[h * n + at + i] += a * strip[i];
            }
        }
    }
}

#define KV_FORM(type, form)                                                                      \
 static void load_##type(float *dst, const void *src, size_t n) {                                \
  part_##type(dst, src, 0, n);                                                                   \
 }                                                                                               \
 static void qk_##type(float *s, size_t s_stride, const float *q, const void *k, float scale,    \
                       size_t n_head, size_t n_tok, size_t n, const void *next) {                \
  (void)next;                                                                                    \
  qk(s, s_stride, q, k, kv_row_bytes(form, n), scale, n_head, n_tok, n, part_##type);            \
 }                                                                                               \
 static void pv_##type(float *o, const float *keep, const float *p, size_t p_stride,             \
                       const void *v, size_t n_head, size_t n_tok, size_t n, const void *next) { \
  (void)next;                                                                                    \
  pv(o, keep, p, p_stride, v, kv_row_bytes(form, n), n_head, n_tok, n, part_##type);             \
 }

KV_FORM(f32, KVT_F32)
KV_FORM(f16, KVT_F16)
KV_FORM(q8_0, KVT_Q8_0)

void generic_fill_attn(kern_table *t) {
    t->kv_store[KVT_F32] = store_f32;
    t->kv_store[KVT_F16] = store_f16;
    t->kv_store[KVT_Q8_0] = store_q8_0;
    t->kv_load[KVT_F32] = load_f32;
    t->kv_load[KVT_F16] = load_f16;
    t->kv_load[KVT_Q8_0] = load_q8_0;
    t->attn_qk[KVT_F32] = qk_f32;
    t->attn_qk[KVT_F16] = qk_f16;
    t->attn_qk[KVT_Q8_0] = qk_q8_0;
    t->attn_pv[KVT_F32] = pv_f32;
    t->attn_pv[KVT_F16] = pv_f16;
    t->attn_pv[KVT_Q8_0] = pv_q8_0;
}
