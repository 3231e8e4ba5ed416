/* SPDX-License-Identifier: MIT
 *
 * Models and sessions for tests: random-weight models that bench/mkmodel makes on the spot (the
 * same bytes for the same arguments), and short ways to open what must open. Failing fails the
 * test. */
#ifndef EW_TESTS_MADE_H
#define EW_TESTS_MADE_H

#include "edgewise.h"

/* The path of a model made with these arguments of bench/mkmodel. Made once a program, in a folder
 * that made_cleanup() removes (also at exit). */
const char *made_model(const char *args);

/* A path in that folder, kept. */
const char *made_path(const char *name);
void made_cleanup(void);

ew_engine *made_engine(int32_t n_threads);
ew_model *made_open(ew_engine *e, const char *path, bool is_float);

/* Zeros are defaults, as in ew_session_options. */
ew_session *made_session(ew_model *m, uint32_t ctx_tokens, uint32_t chunk_tokens,
                         uint32_t page_tokens, ew_kv_type kv);

/* n pseudo-random ids below n_vocab, the same for the same seed. */
void made_ids(int32_t *out, size_t n, int32_t n_vocab, uint64_t seed);

/* Fails the test with the error's sentence unless rc is EW_OK. */
void must(ew_status rc, const ew_error *err);

#endif
