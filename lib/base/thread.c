/* SPDX-License-Identifier: MIT
 *
 * The pool. Workers sleep on a condition between runs, after spinning briefly: the pauses between
 * two tokens are shorter than a wake-up. The barrier counts arrivals and publishes a phase number;
 * waiting threads spin, then yield, so that a thread without a core is not spun against. */
#include "base/thread.h"

#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum {
    SPIN_BARRIER = 1000, /* about 10-40 us, the length of a short stage */
    SPIN_IDLE = 4000,    /* about the pause between two tokens */
    MAX_THREADS = 1024,
    LINE = 64 /* cache line: the hot words below must not share one */
};

typedef struct {
    pool *owner;
    int ith;
    pthread_t thread;
} worker;

typedef struct {
    atomic_size_t taken; /* of this thread's share */
    char pad[LINE - sizeof(atomic_size_t)];
} share;

struct pool {
    int n; /* threads, the caller included */
    int n_started;
    worker *workers; /* n - 1 */
    share *shares;   /* n */

    pthread_mutex_t run_lock; /* held by pool_run(): one run at a time */

    pthread_mutex_t lock; /* guards sleeping: job may only grow while it is held */
    pthread_cond_t wake;
    bool is_closing;                /* under lock */
    void (*fn)(void *arg, int ith); /* written before job grows, read after */
    void *arg;

    _Alignas(LINE) atomic_uint job;     /* number of the current run */
    _Alignas(LINE) atomic_int arrived;  /* at the barrier */
    _Alignas(LINE) atomic_uint phase;   /* barriers passed */
    _Alignas(LINE) atomic_size_t taken; /* pool_take() since the last barrier */
};

static inline void cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void reset_counters(pool *p) {
    atomic_store_explicit(&p->taken, 0, memory_order_relaxed);
    for (int i = 0; i < p->n; i++)
        atomic_store_explicit(&p->shares[i].taken, 0, memory_order_relaxed);
}

void pool_barrier(pool *p) {
    const unsigned phase = atomic_load_explicit(&p->phase, memory_order_relaxed);

    if (p->n == 1) {
        reset_counters(p);
        return;
    }
    /* acq_rel: the last to arrive sees what all others wrote before they arrived. */
    if (atomic_fetch_add_explicit(&p->arrived, 1, memory_order_acq_rel) == p->n - 1) {
        atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
        reset_counters(p);
        /* release: pairs with the acquire of those who wait below. */
        atomic_store_explicit(&p->phase, phase + 1, memory_order_release);
        return;
    }
    for (unsigned spins = 0; atomic_load_explicit(&p->phase, memory_order_acquire) == phase;) {
        if (spins < SPIN_BARRIER) {
            spins++;
            cpu_relax();
        } else {
            sched_yield();
        }
    }
}

bool pool_take(pool *p, size_t n, size_t step, size_t *begin, size_t *end) {
    size_t at;

    /* A look before the add keeps the counter from growing without end. */
    if (atomic_load_explicit(&p->taken, memory_order_relaxed) >= n) return false;
    at = atomic_fetch_add_explicit(&p->taken, step, memory_order_relaxed);
    if (at >= n) return false;
    *begin = at;
    *end = step < n - at ? at + step : n;
    return true;
}

bool pool_take_near(pool *p, int ith, size_t n, size_t *item, bool *goes_on) {
    for (int i = 0; i < p->n; i++) {
        const size_t of = (size_t)((ith + i) % p->n), n_thread = (size_t)p->n;
        const size_t begin = n * of / n_thread, len = n * (of + 1) / n_thread - begin;
        atomic_size_t *taken = &p->shares[of].taken;
        size_t at;

        if (atomic_load_explicit(taken, memory_order_relaxed) >= len) continue;
        at = atomic_fetch_add_explicit(taken, 1, memory_order_relaxed);
        if (at >= len) continue;
        *item = begin + at;
        *goes_on = i == 0 && at + 1 < len;
        return true;
    }
    return false;
}

/* Waits for a run after number `seen`; false when the pool closes. */
static bool wait_for_job(pool *p, unsigned seen) {
    bool is_open = true;

    for (int i = 0; i < SPIN_IDLE; i++) {
        if (atomic_load_explicit(&p->job, memory_order_acquire) != seen) return true;
        cpu_relax();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->job) == seen && !p->is_closing) pthread_cond_wait(&p->wake, &p->lock);
    if (atomic_load(&p->job) == seen) is_open = false;
    pthread_mutex_unlock(&p->lock);
    return is_open;
}

static void *worker_main(void *arg) {
    worker *w = arg;
    pool *p = w->owner;
    unsigned seen = 0;

    while (wait_for_job(p, seen)) {
        seen++;
        p->fn(p->arg, w->ith);
        pool_barrier(p);
    }
    return NULL;
}

void pool_run(pool *p, void (*fn)(void *arg, int ith), void *arg) {
    pthread_mutex_lock(&p->run_lock);
    reset_counters(p);
    if (p->n > 1) {
        p->fn = fn;
        p->arg = arg;
        pthread_mutex_lock(&p->lock);
        atomic_fetch_add_explicit(&p->job, 1, memory_order_release);
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->lock);
    }
    fn(arg, 0);
    pool_barrier(p);
    pthread_mutex_unlock(&p->run_lock);
}

ew_status pool_new(pool **out, int n_threads, ew_error *err) {
    pool *p;

    *out = NULL;
    if (n_threads < 1 || n_threads > MAX_THREADS)
        return fail(err, EW_EINVAL, "threads: %d is not in 1..%d", n_threads, MAX_THREADS);
    p = mem_array(1, sizeof *p);
    if (!p) return fail(err, EW_ENOMEM, "thread pool: out of memory");
    p->n = n_threads;
    pthread_mutex_init(&p->run_lock, NULL);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    p->workers = mem_array((size_t)n_threads, sizeof *p->workers);
    p->shares = mem_array((size_t)n_threads, sizeof *p->shares);
    if (!p->workers || !p->shares) {
        pool_free(p);
        return fail(err, EW_ENOMEM, "thread pool: out of memory");
    }
    for (int i = 1; i < n_threads; i++) {
        worker *w = &p->workers[i - 1];
        int rc;

        *w = (worker){.owner = p, .ith = i};
        rc = pthread_create(&w->thread, NULL, worker_main, w);
        if (rc) {
            pool_free(p);
            return fail(err, EW_EIO, "thread %d of %d can't be started: %s", i + 1, n_threads,
                        strerror(rc));
        }
        p->n_started = i;
    }
    *out = p;
    return EW_OK;
}

void pool_free(pool *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->is_closing = true;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_started; i++) pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->run_lock);
    mem_free(p->workers);
    mem_free(p->shares);
    mem_free(p);
}

int pool_size(const pool *p) {
    return p->n;
}
