/* SPDX-License-Identifier: MIT
 *
 * Whole model files: opening one, and what an opened one computes, must do no harm. */
#include "tests/fuzz/fuzz.h"

#include "edgewise.h"
#include "tests/fuzz/replay/tmp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int32_t ids[] = {0, 1};
    static ew_engine *engine;
    ew_session_options so;
    ew_model *m = NULL;
    ew_session *s = NULL;
    ew_error err = {0};

    if (!engine) {
        ew_engine_options eo;

        ew_engine_defaults(&eo);
        eo.n_threads = 1;
        eo.memory_limit = 64 << 20; /* no file of these sizes needs more */
        if (ew_engine_new(&engine, &eo, NULL)) abort();
    }
    ew_session_defaults(&so);
    so.ctx_tokens = 8;
    so.page_tokens = 4;
    if (ew_model_open(&m, engine, fuzz_file(data, size), NULL, &err)) {
        if (m || !err.text[0]) abort();
        return 0;
    }
    if (ew_session_new(&s, m, &so, &err) == EW_OK) ew_session_eval(s, ids, 2, &err);
    ew_session_free(s);
    ew_model_close(m);
    for (int a = 0; a < EW_MEM_COUNT; a++)
        if (ew_engine_memory(engine, (ew_account)a)) abort();
    return 0;
}
