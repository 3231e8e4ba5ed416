/* SPDX-License-Identifier: MIT
 *
 * Session files: a damaged one leaves the session as it was, a whole one can be gone on with. Each
 * input runs as it is and with its checksum put right, or nothing behind the checksum would be
 * reached. */
#include "tests/fuzz/fuzz.h"

#include "edgewise.h"
#include "run/session_file.h"
#include "tests/fuzz/replay/tmp.h"

#include <stdlib.h>
#include <string.h>

static const int32_t before[] = {3, 4, 5};

static ew_session *session(void) {
    static ew_engine *engine;
    static ew_model *model;
    static ew_session *out;
    ew_engine_options eo;
    ew_session_options so;

    if (out) return out;
    ew_engine_defaults(&eo);
    eo.n_threads = 1;
    ew_session_defaults(&so);
    so.ctx_tokens = 32;
    so.page_tokens = 4;
    if (ew_engine_new(&engine, &eo, NULL) ||
        ew_model_open(&model, engine, "tests/fuzz/corpus/model/tiny.gguf", NULL, NULL) ||
        ew_session_new(&out, model, &so, NULL))
        abort();
    return out;
}

static void load(const uint8_t *data, size_t size) {
    ew_session *s = session();
    const char *path = fuzz_file(data, size);
    ew_error err = {0};

    if (ew_session_sync(s, before, 3, NULL, NULL)) abort();
    if (ew_session_load(s, path, &err)) {
        if (!err.text[0] || ew_session_n(s) != 3 ||
            memcmp(ew_session_tokens(s), before, sizeof before) != 0)
            abort();
    }
    /* Any of both ways it is a session; a full one says so. */
    if (ew_session_eval(s, before, 1, &err) && err.status != EW_EFULL) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const size_t n = size / 8 * 8;
    uint8_t *fixed;
    uint64_t sum;

    load(data, size);
    if (n < 16) return 0;
    fixed = malloc(n);
    if (!fixed) return 0;
    memcpy(fixed, data, n);
    sum = session_checksum(0, fixed, n - 8);
    for (int i = 0; i < 8; i++) fixed[n - 8 + (size_t)i] = (uint8_t)(sum >> 8 * i);
    load(fixed, n);
    free(fixed);
    return 0;
}
