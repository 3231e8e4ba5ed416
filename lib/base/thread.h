/* SPDX-License-Identifier: MIT
 *
 * A pool of threads that run one function together. Inside it they meet at barriers and hand out
 * work from a shared counter: the model's walk is one pool_run() with a barrier after each stage,
 * so that no thread is started, woken or joined in between. */
#ifndef EW_BASE_THREAD_H
#define EW_BASE_THREAD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct pool pool;

/* n_threads includes the caller of pool_run(): 1 makes no thread at all. */
ew_status pool_new(pool **out, int n_threads, ew_error *err);
void pool_free(pool *p);
int pool_size(const pool *p);

/* Runs fn(arg, ith) for ith = 0 .. n-1 on all threads, the caller being 0; returns when all have.
 * One run at a time: calls from several threads queue up. */
void pool_run(pool *p, void (*fn)(void *arg, int ith), void *arg);

/* Inside fn only. All threads wait here until the last has come; what they wrote before is seen by
 * all after. Spins for a short time, then gives the core away, so that a busy neighbour costs its
 * share and not a stall. Resets the work counters. */
void pool_barrier(pool *p);

/* Inside fn only: the next piece of [0, n), at most `step` long; false when none is left. Each item
 * is handed out once between two barriers. n and step must be the same for all threads. */
bool pool_take(pool *p, size_t n, size_t step, size_t *begin, size_t *end);

/* The same one item at a time, for work that streams through memory: thread ith gets the items of
 * its own share, a run of neighbours, in order, and then what the others have left of theirs.
 * goes_on: the thread will most likely get the item after it next. */
bool pool_take_near(pool *p, int ith, size_t n, size_t *item, bool *goes_on);

#endif
