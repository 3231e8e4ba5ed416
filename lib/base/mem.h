/* SPDX-License-Identifier: MIT
 *
 * Memory. Small objects come from mem_array() and friends: zeroed, count * size checked. Large
 * blocks come from big_alloc() and are charged to a named account of a budget, so that what was
 * planned can be compared with what was taken; a charge over the limit is refused.
 * Tests can make the n-th allocation fail (mem_fail_at) and count what is live (mem_live). */
#ifndef EW_BASE_MEM_H
#define EW_BASE_MEM_H

#include "edgewise.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* count * size zeroed bytes; NULL when out of memory or when the product overflows.
 * A request of 0 bytes gives a valid pointer. */
void *mem_array(size_t count, size_t size);

/* Grows or shrinks p (NULL: new) to count * size bytes. New bytes are NOT zeroed. On failure
 * returns NULL and p stays valid. */
void *mem_resize(void *p, size_t count, size_t size);

void mem_free(void *p); /* NULL is fine */

char *mem_copy_str(const char *s, size_t n); /* n bytes and a terminating NUL; NULL: no memory */

/* Tests only: the n-th allocation from now fails (1 = the next), 0 turns it off. */
void mem_fail_at(long n);
long mem_live(void);  /* allocations of any kind not yet freed */
long mem_count(void); /* allocations made since the start */

/* What is charged, by account. One budget belongs to one engine. */
typedef struct {
    pthread_mutex_t lock;        /* guards all below */
    uint64_t limit;              /* bytes; 0: no limit */
    uint64_t used[EW_MEM_COUNT]; /* bytes now */
    uint64_t total;              /* sum of used */
    uint64_t peak;               /* largest total so far */
} mem_budget;

void mem_budget_init(mem_budget *b, uint64_t limit_bytes);
void mem_budget_fini(mem_budget *b);

/* Adds bytes to an account without allocating (a mapping, a library's own memory). EW_ENOMEM with
 * the sum and the limit in err when over the limit; what names the thing ("KV cache"). */
ew_status mem_charge(mem_budget *b, ew_account account, uint64_t bytes, const char *what,
                     ew_error *err);
void mem_release(mem_budget *b, ew_account account, uint64_t bytes);

/* A large block: page-aligned, zeroed, charged. Huge pages are asked for when at least 4 MiB. */
typedef struct {
    void *data;
    size_t size; /* bytes charged: the request rounded up to 4 KiB */
    mem_budget *budget;
    ew_account account;
} big_block;

/* The bytes that big_alloc() charges for a request: the planner's and the engine's one arithmetic.
 */
uint64_t big_round(uint64_t bytes);

ew_status big_alloc(big_block *out, mem_budget *b, ew_account account, uint64_t bytes,
                    const char *what, ew_error *err);
/* Keeps it from being swapped out; EW_EIO names the limit when the system refuses. */
ew_status big_lock(const big_block *block, ew_error *err);
void big_free(big_block *block); /* an empty {0} block is fine; leaves it empty */

#endif
