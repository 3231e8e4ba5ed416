/* SPDX-License-Identifier: MIT
 *
 * Read bandwidth: the ceiling of decoding. All threads of the engine sum their share of a block
 * that no cache holds, in pieces handed out as the matrix kernels' are, and the clock of the
 * fastest pass counts: slower ones were disturbed. */
#include "backend/engine.h"
#include "base/clock.h"

#include <string.h>

enum {
    PIECE = 256 * 1024, /* bytes taken at a time; a cost of one atomic a piece vanishes */
    LINE = 64           /* read_sum's granularity */
};

typedef struct {
    pool *threads;
    uint64_t (*read_sum)(const void *p, size_t n);
    uint8_t *data;
    size_t n; /* bytes, a multiple of LINE */
    int32_t n_round;
    uint64_t best_us; /* thread 0's */
} sweep;

/* Untouched pages all map to one page of zeros, which the cache holds: write before reading. */
static void fill(sweep *s) {
    size_t begin, end;

    while (pool_take(s->threads, s->n, PIECE, &begin, &end))
        memset(s->data + begin, 0x5a, end - begin);
}

static void run(void *arg, int ith) {
    sweep *s = arg;

    fill(s);
    for (int32_t round = 0; round < s->n_round; round++) {
        uint64_t start, took;
        size_t begin, end;

        pool_barrier(s->threads);
        start = clock_us();
        while (pool_take(s->threads, s->n, PIECE, &begin, &end))
            s->read_sum(s->data + begin, end - begin);
        pool_barrier(s->threads);
        took = clock_us() - start;
        if (ith == 0 && (s->best_us == 0 || took < s->best_us)) s->best_us = took ? took : 1;
    }
}

ew_status ew_engine_read_bandwidth(ew_engine *e, uint64_t n_bytes, int32_t n_round, double *out,
                                   ew_error *err) {
    big_block block = {0};
    sweep s = {.threads = e->pool, .read_sum = e->kern.read_sum, .n_round = n_round};
    ew_status rc;

    *out = 0;
    if (n_bytes < LINE || n_round < 1)
        return fail(err, EW_EINVAL, "read bandwidth: at least %d bytes and 1 round are needed",
                    LINE);
    rc = big_alloc(&block, &e->budget, EW_MEM_SCRATCH, n_bytes, "the bandwidth probe", err);
    if (rc) return rc;
    s.data = block.data;
    s.n = (size_t)(n_bytes / LINE * LINE);
    pool_run(e->pool, run, &s);
    *out = (double)s.n * 1e6 / (double)s.best_us;
    big_free(&block);
    return EW_OK;
}
