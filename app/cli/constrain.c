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
    {"-j --json-schema", "SCHEMA", "the answer is JSON that this JSON Schema accepts", OPT_TEXT,
     AT(schema), 0, 0, NULL},
    {"-jf --json-schema-file", "FILE", "the schema is in FILE", OPT_TEXT, AT(schema_file), 0, 0,
     NULL},
    {"--format", "json", "the answer is a JSON object", OPT_TEXT, AT(format), 0, 0, NULL},
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
    static const char object[] = "{\"type\": \"object\"}";
    const int n = !!a->grammar + !!a->grammar_file + !!a->schema + !!a->schema_file + !!a->format;

    *out = NULL;
    if (n > 1) return fail(err, EW_EINVAL, "only one of the options for grammars may be given");
    if (a->grammar) return ew_grammar_new_gbnf(out, m, a->grammar, strlen(a->grammar), err);
    if (a->grammar_file) return make_from_file(ew_grammar_new_gbnf, out, m, a->grammar_file, err);
    if (a->schema) return ew_grammar_new_json_schema(out, m, a->schema, strlen(a->schema), err);
    if (a->schema_file)
        return make_from_file(ew_grammar_new_json_schema, out, m, a->schema_file, err);
    if (a->format && strcmp(a->format, "json") != 0)
        return fail(err, EW_EINVAL, "--format can only be json, not '%s'", a->format);
    if (a->format) return ew_grammar_new_json_schema(out, m, object, sizeof object - 1, err);
    return EW_OK;
}
