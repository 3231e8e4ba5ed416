/* SPDX-License-Identifier: MIT
 *
 * ew_template of edgewise.h: Jinja with JSON text in and text out. */
#include "edgewise.h"

#include "text/jinja.h"

ew_status ew_template_new(ew_template **out, const char *text, size_t n, const char *name,
                          ew_error *err) {
    return jinja_parse(out, (str){text, n}, name, err);
}

void ew_template_free(ew_template *t) {
    jinja_free(t);
}

ew_status ew_template_render(const ew_template *t, const char *context, size_t context_n,
                             int64_t clock_s, char **out, size_t *out_n, ew_error *err) {
    const time_t clock = (time_t)clock_s;
    jinja_text text = {0};
    jinja_context c = {0};
    json_error_t where;
    json_t *values;
    ew_status rc;

    *out = NULL;
    *out_n = 0;
    values = json_loadb(context, context_n, JSON_ALLOW_NUL, &where);
    if (!values)
        return fail(err, EW_EFORMAT, "the context, line %d, column %d: %s", where.line,
                    where.column, where.text);
    c.values = values;
    if (!gmtime_r(&clock, &c.now)) c.now = (struct tm){0};
    rc = jinja_render(t, &c, &text, err);
    json_decref(values);
    *out = text.text;
    *out_n = text.n;
    return rc;
}
