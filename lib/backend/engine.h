/* SPDX-License-Identifier: MIT
 *
 * What an engine owns: threads, the kernels chosen for this CPU, and the memory budget. */
#ifndef EW_BACKEND_ENGINE_H
#define EW_BACKEND_ENGINE_H

#include "base/mem.h"
#include "base/thread.h"
#include "kernels/kern.h"

struct ew_engine {
    pool *pool;
    kern_table kern; /* constant after creation */
    uint32_t features;
    mem_budget budget;
    ew_log_fn log; /* may be NULL */
    void *log_ctx;
};

void engine_log(const ew_engine *e, ew_log_level level, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
