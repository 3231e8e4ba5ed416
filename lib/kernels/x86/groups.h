/* SPDX-License-Identifier: MIT
 *
 * Products of 16 rows at a time: the part that all instruction sets share. The includer has made
 *     gather(rec, src, row_bytes, type, layout): one record from 16 rows of the file
 *     all_tokens(y, y_stride, rec, x, x_bytes, n_tok, i, n_rec, layout): y += the product of n_rec
 *         records, from number i of the rows on, up to 256 columns
 * and both are inlined here, once for each weight type. */
#ifndef EW_KERNELS_X86_GROUPS_H
#define EW_KERNELS_X86_GROUPS_H

/* Fetches bytes [at, at + n) of the group at w, from its beginning on: sixteen streams of a row
 * each are more than the hardware follows, and a group lies in one piece. */
INLINE void fetch(const uint8_t *w, size_t at, size_t n) {
    for (const uint8_t *p = w + at; p < w + at + n; p += 64)
        _mm_prefetch((const char *)p, _MM_HINT_T1);
}

/* row_bytes 0: w is packed. */
INLINE void matmul(float *y, size_t y_stride, const uint8_t *w, size_t row_bytes, const uint8_t *x,
                   size_t x_bytes, size_t n_group, size_t n_tok, size_t n, bool goes_on,
                   const elem_type type) {
    const pack_layout l = pack_of(type);
    const size_t block = pack_block_bytes(type), n_rec = n / l.cols, most = COLS / l.cols;
    const size_t step = row_bytes ? block : l.bytes;
    _Alignas(64) uint8_t made[PACK_SPAN_MAX];

    for (size_t g = 0; g < n_group; g++, y += PACK_ROWS) {
        const uint8_t *at = w, *next = w + (row_bytes ? PACK_ROWS * row_bytes : n_rec * l.bytes);

        for (size_t t = 0; t < n_tok; t++) memset(y + t * y_stride, 0, PACK_ROWS * sizeof *y);
        for (size_t i = 0; i < n_rec; i += most, at += most * step) {
            const size_t m = n_rec - i < most ? n_rec - i : most;
            const uint8_t *rec = at;

            if (row_bytes) {
                if (g + 1 < n_group || goes_on)
                    fetch(next, i * PACK_ROWS * block, m * PACK_ROWS * block);
                for (size_t k = 0; k < m; k++)
                    gather(made + k * l.bytes, at + k * block, row_bytes, type, l);
                rec = made;
            }
            all_tokens(y, y_stride, rec, x, x_bytes, n_tok, i, m, l);
        }
        w = next;
    }
}

INLINE void pack(uint8_t *dst, const uint8_t *src, size_t row_bytes, size_t n,
                 const elem_type type) {
    const pack_layout l = pack_of(type);
    const size_t block = pack_block_bytes(type);

    for (size_t i = 0; i < n / l.cols; i++) {
        fetch(src + PACK_ROWS * row_bytes, i * PACK_ROWS * block, PACK_ROWS * block);
        gather(dst + i * l.bytes, src + i * block, row_bytes, type, l);
    }
}

#define KERNEL(name, type)                                                                        \
 static void groups_##name(float *y, size_t y_stride, const void *w, size_t row_bytes,            \
                           const void *x, size_t x_bytes, size_t n_group, size_t n_tok, size_t n, \
                           bool goes_on) {                                                        \
  matmul(y, y_stride, w, row_bytes, x, x_bytes, n_group, n_tok, n, goes_on, type);                \
 }                                                                                                \
 static void pack_##name(uint8_t *dst, const uint8_t *src, size_t row_bytes, size_t n) {          \
  pack(dst, src, row_bytes, n, type);                                                             \
 }
KERNEL(q4_0, TYPE_Q4_0)
KERNEL(q4_1, TYPE_Q4_1)
KERNEL(q5_0, TYPE_Q5_0)
KERNEL(q5_1, TYPE_Q5_1)
KERNEL(q8_0, TYPE_Q8_0)
KERNEL(q2_k, TYPE_Q2_K)
KERNEL(q3_k, TYPE_Q3_K)
KERNEL(q4_k, TYPE_Q4_K)
KERNEL(q5_k, TYPE_Q5_K)
KERNEL(q6_k, TYPE_Q6_K)

static void fill_groups(kern_table *t) {
    t->matmul_groups[TYPE_Q4_0] = groups_q4_0;
    t->pack_group[TYPE_Q4_0] = pack_q4_0;
    t->matmul_groups[TYPE_Q4_1] = groups_q4_1;
    t->pack_group[TYPE_Q4_1] = pack_q4_1;
    t->matmul_groups[TYPE_Q5_0] = groups_q5_0;
    t->pack_group[TYPE_Q5_0] = pack_q5_0;
    t->matmul_groups[TYPE_Q5_1] = groups_q5_1;
    t->pack_group[TYPE_Q5_1] = pack_q5_1;
    t->matmul_groups[TYPE_Q8_0] = groups_q8_0;
    t->pack_group[TYPE_Q8_0] = pack_q8_0;
    t->matmul_groups[TYPE_Q2_K] = groups_q2_k;
    t->pack_group[TYPE_Q2_K] = pack_q2_k;
    t->matmul_groups[TYPE_Q3_K] = groups_q3_k;
    t->pack_group[TYPE_Q3_K] = pack_q3_k;
    t->matmul_groups[TYPE_Q4_K] = groups_q4_k;
    t->pack_group[TYPE_Q4_K] = pack_q4_k;
    t->matmul_groups[TYPE_Q5_K] = groups_q5_k;
    t->pack_group[TYPE_Q5_K] = pack_q5_k;
    t->matmul_groups[TYPE_Q6_K] = groups_q6_k;
    t->pack_group[TYPE_Q6_K] = pack_q6_k;
}

#endif
