/* SPDX-License-Identifier: MIT
 *
 * Shared by the files that implement gguf.h. */
#ifndef EW_FORMAT_GGUF_IMPL_H
#define EW_FORMAT_GGUF_IMPL_H

#include "format/gguf.h"

/* What a file whose first bytes are not "GGUF" seems to be: EW_EFORMAT with a sentence that helps.
 */
ew_status gguf_refuse_magic(const uint8_t *bytes, uint64_t n, const char *name, ew_error *err);

/* Bytes of a scalar of type t; 0 for strings, arrays and unknown types. */
size_t gguf_scalar_bytes(uint32_t t);

/* Sorts the index of tensor names anew; EW_EFORMAT names one that stands twice. */
ew_status gguf_index_tensors(gguf *g, const char *name, ew_error *err);

/* A string from a file made fit for a message: control characters and invalid UTF-8 become '?',
 * long ones are cut. Returns buf. */
enum {
    SHOWN_MAX = 96
};
const char *gguf_shown(char buf[SHOWN_MAX], str s);

#endif
