/* SPDX-License-Identifier: MIT
 *
 * Jinja, as chat templates use it: a template is parsed once and rendered with a context any number
 * of times. The reference is Jinja2 in the set-up of Transformers (immutable sandbox, trim_blocks,
 * lstrip_blocks, loop controls, `generation`, its tojson, raise_exception and strftime_now).
 *
 * A template is a stranger's program: it can reach nothing but its context, and its steps, memory,
 * output and depth are bounded. Errors name the line: "NAME:LINE: ...". */
#ifndef EW_TEXT_JINJA_H
#define EW_TEXT_JINJA_H

#include "base/str.h"

#include <jansson.h>
#include <time.h>

typedef struct ew_template jinja;

/* name stands in errors. EW_EFORMAT for what is no Jinja, EW_EUNSUPPORTED for what is but isn't
 * done here. A jinja is immutable: one serves any number of threads. */
ew_status jinja_parse(jinja **out, str text, const char *name, ew_error *err);
void jinja_free(jinja *t);

typedef struct {
    const json_t *values; /* an object: the template's variables; borrowed */
    struct tm now;        /* what strftime_now tells */
    bool marks_text;      /* see jinja_text.is_text */
    uint64_t max_steps;   /* 0: 20 million */
    size_t max_bytes;     /* memory, output included; 0: 512 MiB */
} jinja_context;

typedef struct {
    char *text; /* n bytes and a NUL; mem_free */
    size_t n;
    /* With marks_text: for each byte whether it comes from the context's strings rather than from
     * the template, so that a special token in it can be told from one that the template writes
     * (roles and the like count as the template's: see jinja_load.c). NULL otherwise; mem_free. */
    uint8_t *is_text;
} jinja_text;

/* EW_EINVAL when the template raises an error, or Jinja does, or a bound is reached;
 * EW_EUNSUPPORTED names the missing piece. *out is empty on failure. */
ew_status jinja_render(const jinja *t, const jinja_context *c, jinja_text *out, ew_error *err);

#endif
