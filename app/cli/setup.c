/* SPDX-License-Identifier: MIT */
#include "cli/setup.h"

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/pick.h"
#include "cli/term.h"

#include <unistd.h>

static ew_status parse_kv_type(void *at, const char *value, ew_error *err) {
    if (ew_kv_type_parse(value, at)) return EW_OK;
    if (err) snprintf(err->text, sizeof err->text, "expected f16, q8_0 or f32");
    return EW_EINVAL;
}

static ew_status parse_cpu_mask(void *at, const char *value, ew_error *err) {
    return ew_cpu_mask_parse(value, at, err);
}

static const option engine_options[] = {
    {"-c --ctx-size --num-ctx", "N",
     "window in tokens: prompt, conversation and answer together\n"
     "(the smaller of 8192 and what the model was trained for)",
     OPT_INT, offsetof(engine_args, ctx_size), 1, 16777216, NULL},
    {"-t --threads --num-thread", "N", "threads (the physical cores this process may use)", OPT_INT,
     offsetof(engine_args, threads), 1, THREADS_MAX, NULL},
    {"-b -ub --batch-size --ubatch-size --chunk", "N",
     "tokens of a prompt evaluated together (512)", OPT_INT, offsetof(engine_args, chunk), 1, 65536,
     NULL},
    {"-ctk --cache-type-k", "TYPE", "storage of the KV cache's keys: f16, q8_0, f32 (f16)",
     OPT_CALL, offsetof(engine_args, type_k), 0, 0, parse_kv_type},
    {"-ctv --cache-type-v", "TYPE", "and of its values (f16)", OPT_CALL,
     offsetof(engine_args, type_v), 0, 0, parse_kv_type},
    {"--memory-limit", "SIZE",
     "most memory for weights, KV cache and scratch together, such as\n"
     "8G; 0: no limit (what is available now, less a reserve)",
     OPT_BYTES, offsetof(engine_args, memory_limit), 0, 0, NULL},
    {"--no-mmap", NULL, "read the file into memory instead of mapping it", OPT_FLAG,
     offsetof(engine_args, no_mmap), 0, 0, NULL},
    {"--no-pack", NULL,
     "run from the mapped file instead of rewriting the weights in\n"
     "the order the kernels read them: loads at once, decodes slower",
     OPT_FLAG, offsetof(engine_args, no_pack), 0, 0, NULL},
    {"--mlock", NULL, "keep the weights from being swapped out", OPT_FLAG,
     offsetof(engine_args, lock), 0, 0, NULL},
    {"--cpu-mask", "LIST", "CPU features that may be used, such as generic,avx2 (all)", OPT_CALL,
     offsetof(engine_args, cpu_mask), 0, 0, parse_cpu_mask},
    {"--float", NULL, "expand weights and multiply in float: slow, for comparison", OPT_FLAG,
     offsetof(engine_args, is_float), 0, 0, NULL},
};

void engine_args_defaults(engine_args *a) {
    *a = (engine_args){.memory_limit = MEMORY_AUTO};
}

option_group engine_args_group(engine_args *a) {
    return (option_group){"Engine", engine_options,
                          sizeof engine_options / sizeof engine_options[0], a};
}

uint64_t memory_limit_auto(const ew_machine *m) {
    const uint64_t gib = (uint64_t)1 << 30;
    uint64_t reserve = m->memory_physical / 8, limit;

    if (m->memory_physical == 0) return m->memory_available;
    if (reserve < 4 * gib) reserve = 4 * gib;
    if (reserve > m->memory_physical / 2) reserve = m->memory_physical / 2;
    limit = m->memory_physical - reserve;
    if (m->memory_available && m->memory_available < limit) limit = m->memory_available;
    return limit;
}

static void warn_of_threads(int64_t n) {
    const long n_cpu = sysconf(_SC_NPROCESSORS_ONLN);

    if (n_cpu > 0 && n > n_cpu)
        say_warning("%lld threads take turns on %ld processors, which is slower than %ld threads",
                    (long long)n, n_cpu, n_cpu);
}

static ew_status open_engine(const engine_args *a, ew_engine **out, ew_error *err) {
    ew_engine_options o;

    ew_engine_defaults(&o);
    o.n_threads = (int32_t)a->threads;
    o.cpu_mask = a->cpu_mask;
    o.memory_limit = a->memory_limit;
    o.log = say_engine_log;
    warn_of_threads(a->threads);
    if (a->memory_limit == MEMORY_AUTO) {
        ew_machine m = {.size = sizeof m};

        ew_machine_read(&m);
        o.memory_limit = memory_limit_auto(&m);
    }
    return ew_engine_new(out, &o, err);
}

static bool show_share(void *ctx, float share) {
    progress_show(ctx, (double)share);
    return true;
}

void setup_model_options(const engine_args *a, ew_model_options *out) {
    ew_model_defaults(out);
    out->no_mmap = a->no_mmap;
    out->no_pack = a->no_pack;
    out->lock = a->lock;
    out->float_activations = a->is_float;
}

static ew_status open_model(const engine_args *a, const char *path, bool vocab_only, ew_engine *e,
                            ew_model **out, ew_error *err) {
    ew_model_options o;
    progress bar;
    ew_status rc;

    setup_model_options(a, &o);
    o.vocab_only = vocab_only;
    o.progress = show_share;
    o.progress_ctx = &bar;
    progress_start(&bar, "loading");
    rc = ew_model_open(out, e, path, &o, err);
    progress_end(&bar);
    return rc;
}

int setup_open(const engine_args *a, const char *name, bool vocab_only, ew_engine **engine,
               ew_model **model) {
    ew_error err = {0};
    ew_status rc;
    int status;
    char *path = pick_model(name, false, &status);

    *engine = NULL;
    *model = NULL;
    if (!path) return status;
    rc = open_engine(a, engine, &err);
    if (!rc) rc = open_model(a, path, vocab_only, *engine, model, &err);
    mem_free(path);
    if (!rc) return EXIT_OK;
    ew_engine_free(*engine);
    *engine = NULL;
    return say_error(&err);
}

void setup_warn_of_window(const ew_model *m, size_t n_tokens) {
    ew_model_info info = {.size = sizeof info};

    ew_model_info_get(m, &info);
    if (info.ctx_train && n_tokens > info.ctx_train)
        say_warning("a context of %zu tokens is more than the %u the model was trained for",
                    n_tokens, info.ctx_train);
}

void setup_close(ew_engine *engine, ew_model *model) {
    ew_model_close(model);
    ew_engine_free(engine);
}

void setup_session_options(const engine_args *a, ew_session_options *out) {
    ew_session_defaults(out);
    if (a->ctx_size) out->ctx_tokens = (uint32_t)a->ctx_size;
    if (a->chunk) out->chunk_tokens = (uint32_t)a->chunk;
    out->type_k = a->type_k;
    out->type_v = a->type_v;
}
