/* SPDX-License-Identifier: MIT */
#include "cli/constrain.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <string.h>

enum {
    SOURCE_MAX = 1 << 20 /* bytes of a grammar's file */
};

#define AT(member) offsetof(constrain_args, member)

static const option constrain_table[] = {
    {"--grammar", "GBNF", "the answer follows this grammar (docs/grammars.md)", OPT_TEXT,
     AT(grammar), 0, 0, NULL},
    {"--grammar-file", "FILE", "the grammar is in FILE", OPT_TEXT, AT(grammar_file), 0, 0, NULL},
};

option_group constrain_args_group(constrain_args *a) {
    return (option_group){"Grammar", constrain_table,
                          sizeof constrain_table / sizeof constrain_table[0], a};
}

typedef ew_status make_fn(ew_grammar **out, ew_model *m, const char *text, size_t n, ew_error *err);

static ew_status make_from_file(make_fn *make, ew_grammar **out, ew_model *m, const char *path,
                                ew_error *err) {
    ew_error why = {0};
    char *text;
    size_t n;
    ew_status rc = file_read(&text, &n, path, SOURCE_MAX, err);

    if (rc) return rc;
    rc = make(out, m, text, n, &why);
    mem_free(text);
    return rc ? fail(err, rc, "%s: %s", path, why.text) : EW_OK;
}

ew_status constrain_make(const constrain_args *a, ew_model *m, ew_grammar **out, ew_error *err) {
    const int n = !!a->grammar + !!a->grammar_file;

    *out = NULL;
    if (n > 1) return fail(err, EW_EINVAL, "only one of the options for grammars may be given");
    if (a->grammar) return ew_grammar_new_gbnf(out, m, a->grammar, strlen(a->grammar), err);
    if (a->grammar_file) return make_from_file(ew_grammar_new_gbnf, out, m, a->grammar_file, err);
    return EW_OK;
}
