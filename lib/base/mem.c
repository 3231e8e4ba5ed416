/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include "base/error.h"
#include "base/str.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Counters for tests; they decide nothing unless a test sets fail_countdown. */
static atomic_long live_count, total_count, fail_countdown;

static bool allowed(void) {
    atomic_fetch_add(&total_count, 1);
    if (atomic_load(&fail_countdown) == 0) return true;
    return atomic_fetch_sub(&fail_countdown, 1) != 1;
}

void mem_fail_at(long n) {
    atomic_store(&fail_countdown, n);
}

long mem_live(void) {
    return atomic_load(&live_count);
}

long mem_count(void) {
    return atomic_load(&total_count);
}

void *mem_array(size_t count, size_t size) {
    void *p;

    if (!allowed()) return NULL;
    if (count == 0 || size == 0) count = size = 1;
    p = calloc(count, size); /* checks the product */
    if (p) atomic_fetch_add(&live_count, 1);
    return p;
}

void *mem_resize(void *p, size_t count, size_t size) {
    void *q;

    if (!allowed()) return NULL;
    if (count == 0 || size == 0) count = size = 1;
    if (count > SIZE_MAX / size) return NULL;
    q = realloc(p, count * size);
    if (q && !p) atomic_fetch_add(&live_count, 1);
    return q;
}

void mem_free(void *p) {
    if (!p) return;
    atomic_fetch_sub(&live_count, 1);
    free(p);
}

char *mem_copy_str(const char *s, size_t n) {
    char *p = n == SIZE_MAX ? NULL : mem_array(n + 1, 1);

    if (p && n) memcpy(p, s, n);
    return p;
}

void mem_budget_init(mem_budget *b, uint64_t limit_bytes) {
    *b = (mem_budget){.limit = limit_bytes};
    pthread_mutex_init(&b->lock, NULL);
}

void mem_budget_fini(mem_budget *b) {
    pthread_mutex_destroy(&b->lock);
}

ew_status mem_charge(mem_budget *b, ew_account account, uint64_t bytes, const char *what,
                     ew_error *err) {
    char need[SIZE_TEXT], taken[SIZE_TEXT], limit[SIZE_TEXT];
    ew_status rc = EW_OK;

    pthread_mutex_lock(&b->lock);
    if (b->limit && bytes > b->limit - (b->total < b->limit ? b->total : b->limit)) {
        rc = fail(err, EW_ENOMEM, "%s: %s beside the %s in use are more than the %s allowed", what,
                  size_text(need, bytes), size_text(taken, b->total), size_text(limit, b->limit));
    } else {
        b->used[account] += bytes;
        b->total += bytes;
        if (b->total > b->peak) b->peak = b->total;
    }
    pthread_mutex_unlock(&b->lock);
    return rc;
}

void mem_release(mem_budget *b, ew_account account, uint64_t bytes) {
    pthread_mutex_lock(&b->lock);
    b->used[account] -= bytes;
    b->total -= bytes;
    pthread_mutex_unlock(&b->lock);
}

enum {
    BIG_UNIT = 4096,          /* charge granularity, the smallest page of the systems we run on */
    HUGE_UNIT = 2 << 20,      /* x86 and most Arm huge pages */
    HUGE_FROM = 2 * HUGE_UNIT /* below this, rounding to huge pages would waste too much */
};

uint64_t big_round(uint64_t bytes) {
    if (bytes > UINT64_MAX - BIG_UNIT) return UINT64_MAX;
    return (bytes + BIG_UNIT - 1) / BIG_UNIT * BIG_UNIT;
}

ew_status big_alloc(big_block *out, mem_budget *b, ew_account account, uint64_t bytes,
                    const char *what, ew_error *err) {
    const uint64_t size = big_round(bytes ? bytes : 1);
    ew_status rc;
    void *p;

    *out = (big_block){0};
    if (size > SIZE_MAX / 2) return fail(err, EW_ENOMEM, "%s: size overflows", what);
    rc = mem_charge(b, account, size, what, err);
    if (rc) return rc;
    p = allowed() ? mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
                  : MAP_FAILED;
    if (p == MAP_FAILED) {
        mem_release(b, account, size);
        return fail(err, EW_ENOMEM, "%s: the system refused %llu bytes", what,
                    (unsigned long long)size);
    }
#ifdef MADV_HUGEPAGE
    if (size >= HUGE_FROM) madvise(p, (size_t)size, MADV_HUGEPAGE);
#endif
    atomic_fetch_add(&live_count, 1);
    *out = (big_block){.data = p, .size = (size_t)size, .budget = b, .account = account};
    return EW_OK;
}

ew_status big_lock(const big_block *block, ew_error *err) {
    if (!block->data || mlock(block->data, block->size) == 0) return EW_OK;
    return fail_errno(err, "mlock of %zu bytes (see `ulimit -l`)", block->size);
}

void big_free(big_block *block) {
    if (!block->data) return;
    munmap(block->data, block->size);
    mem_release(block->budget, block->account, block->size);
    atomic_fetch_sub(&live_count, 1);
    *block = (big_block){0};
}
