/* SPDX-License-Identifier: MIT
 *
 * The public ew_file: a parsed GGUF header with its names as C strings. It is defined here, below
 * the model, so that a model can embed one. */
#ifndef EW_FORMAT_GGUF_FILE_H
#define EW_FORMAT_GGUF_FILE_H

#include "format/gguf.h"

struct ew_file {
    gguf g;
    char *names;              /* private: all names, each with its NUL */
    const char **key;         /* g.n_kv, into names */
    const char **tensor_name; /* g.n_tensor, into names */
};

/* In place, for an ew_file that is part of something larger; f is empty {0} after a failure. */
ew_status gguf_file_open(ew_file *f, const char *path, bool is_copy, ew_error *err);
void gguf_file_close(ew_file *f); /* an empty {0} is fine */

#endif
