/* SPDX-License-Identifier: MIT
 *
 * The options that hold an answer to a grammar, with the names of llama.cpp and Ollama. */
#ifndef EW_CLI_CONSTRAIN_H
#define EW_CLI_CONSTRAIN_H

#include "cli/options.h"

typedef struct {
    const char *grammar, *grammar_file, *schema, *schema_file, *format;
} constrain_args;

option_group constrain_args_group(constrain_args *a);

/* *out: what the options say, NULL when they say nothing (ew_grammar_free). */
ew_status constrain_make(const constrain_args *a, ew_model *m, ew_grammar **out, ew_error *err);

#endif
