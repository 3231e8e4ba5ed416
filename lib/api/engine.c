/* SPDX-License-Identifier: MIT */
#include "backend/engine.h"

#include <string.h>

void ew_engine_defaults(ew_engine_options *o) {
    *o = (ew_engine_options){.size = sizeof *o};
}

ew_status ew_engine_new(ew_engine **out, const ew_engine_options *o, ew_error *err) {
    ew_engine_options opt;
    ew_engine *e;
    ew_status rc;

    *out = NULL;
    ew_engine_defaults(&opt);
    if (o) memcpy(&opt, o, o->size < sizeof opt ? o->size : sizeof opt);
    if (!opt.n_threads) {
        ew_machine machine = {.size = sizeof machine};

        ew_machine_read(&machine);
        opt.n_threads = machine.n_core_usable > 0 ? machine.n_core_usable : 1;
    }
    e = mem_array(1, sizeof *e);
    if (!e) return fail(err, EW_ENOMEM, "engine: out of memory");
    e->features = cpu_features();
    if (opt.cpu_mask) e->features &= opt.cpu_mask;
    e->features |= EW_CPU_GENERIC;
    kern_fill(&e->kern, e->features);
    e->log = opt.log;
    e->log_ctx = opt.log_ctx;
    mem_budget_init(&e->budget, opt.memory_limit);
    rc = pool_new(&e->pool, opt.n_threads, err);
    if (rc) {
        ew_engine_free(e);
        return rc;
    }
    *out = e;
    return EW_OK;
}

void ew_engine_free(ew_engine *e) {
    if (!e) return;
    pool_free(e->pool);
    mem_budget_fini(&e->budget);
    mem_free(e);
}

int32_t ew_engine_threads(const ew_engine *e) {
    return pool_size(e->pool);
}

uint32_t ew_engine_cpu(const ew_engine *e) {
    return e->features;
}

uint64_t ew_engine_memory(ew_engine *e, ew_account a) {
    uint64_t n;

    pthread_mutex_lock(&e->budget.lock);
    n = e->budget.used[a];
    pthread_mutex_unlock(&e->budget.lock);
    return n;
}

uint64_t ew_engine_memory_peak(ew_engine *e) {
    uint64_t n;

    pthread_mutex_lock(&e->budget.lock);
    n = e->budget.peak;
    pthread_mutex_unlock(&e->budget.lock);
    return n;
}

uint64_t ew_engine_memory_limit(const ew_engine *e) {
    return e->budget.limit;
}

const char *ew_account_name(ew_account a) {
    switch (a) {
    case EW_MEM_WEIGHTS:
        return "weights";
    case EW_MEM_PACKED:
        return "packed weights";
    case EW_MEM_KV:
        return "kv cache";
    case EW_MEM_SCRATCH:
        return "scratch";
    case EW_MEM_ADAPTERS:
        return "adapters";
    case EW_MEM_DRAFT:
        return "draft";
    case EW_MEM_FIXED:
        return "fixed";
    case EW_MEM_COUNT:
        break;
    }
    return "unknown";
}

/* Names of EW_CPU_* as --cpu-mask takes them. */
static const struct {
    const char *name;
    uint32_t bit;
} features[] = {{"all", UINT32_MAX},
                {"generic", EW_CPU_GENERIC},
                {"avx2", EW_CPU_AVX2},
                {"avx512", EW_CPU_AVX512}};

ew_status ew_cpu_mask_parse(const char *s, uint32_t *out, ew_error *err) {
    uint32_t mask = 0;

    while (*s) {
        const size_t n = strcspn(s, ",");
        uint32_t bit = 0;

        for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
            if (strlen(features[i].name) == n && memcmp(features[i].name, s, n) == 0)
                bit = features[i].bit;
        if (!bit)
            return fail(err, EW_EINVAL,
                        "unknown CPU feature \"%.*s\"; known are generic, avx2, avx512", (int)n, s);
        mask |= bit;
        s += n + (s[n] == ',');
    }
    if (!mask) return fail(err, EW_EINVAL, "no CPU feature is named");
    *out = mask;
    return EW_OK;
}
