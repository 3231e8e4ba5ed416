/* SPDX-License-Identifier: MIT
 *
 * The options that every command with a model has, and opening engine and model with them. */
#ifndef EW_CLI_SETUP_H
#define EW_CLI_SETUP_H

#include "cli/options.h"

typedef struct {
    int64_t threads;         /* 0: the machine's */
    int64_t ctx_size, chunk; /* tokens; 0: the default */
    uint64_t memory_limit;   /* MEMORY_AUTO: what the machine has to give */
    uint32_t cpu_mask;       /* 0: all */
    ew_kv_type type_k, type_v;
    bool no_mmap, no_pack, lock, is_float;
} engine_args;

#define MEMORY_AUTO UINT64_MAX

enum {
    THREADS_MAX = 512
};

void engine_args_defaults(engine_args *a);
option_group engine_args_group(engine_args *a);

/* Bytes that may be used when nothing else is asked for: physical memory less a reserve for
 * everybody else (an eighth of it, at least 4 GiB, at most half), and never more than is available
 * now. 0 where the system doesn't tell. */
uint64_t memory_limit_auto(const ew_machine *m);

/* Engine and model, with a progress bar. name is a file or a model found in the usual places (see
 * pick.h). On failure both are NULL, the sentence is said, and the exit status is returned. */
int setup_open(const engine_args *a, const char *name, bool vocab_only, ew_engine **engine,
               ew_model **model);
void setup_close(ew_engine *engine, ew_model *model); /* NULLs are fine */

/* Models get worse, often much, beyond the window they were trained with: says so. */
void setup_warn_of_window(const ew_model *m, size_t n_tokens);

void setup_model_options(const engine_args *a, ew_model_options *out);
void setup_session_options(const engine_args *a, ew_session_options *out);

#endif
