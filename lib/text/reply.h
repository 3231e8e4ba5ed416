/* SPDX-License-Identifier: MIT
 *
 * What a model writes, taken apart while it comes: what is said, what is thought before, and calls
 * of tools, by the marks of the model's own format. Every byte comes out once, as soon as it can't
 * be the beginning of a mark; a call comes out when it is complete, and what was to be one but
 * isn't comes out as text. Files: reply_form.c (which format a template has), reply.c (the stream),
 * reply_call.c, reply_gemma.c, reply_python.c (the bodies of calls). */
#ifndef EW_TEXT_REPLY_H
#define EW_TEXT_REPLY_H

#include "base/str.h"

#include <jansson.h>

/* How calls are written inside their marks. */
typedef enum {
    CALL_JSON,     /* {"name": ..., "arguments": {...}}: one, several, or an array */
    CALL_XML,      /* <function=NAME><parameter=KEY>VALUE</parameter></function> */
    CALL_KEYS,     /* NAME <arg_key>KEY</arg_key><arg_value>VALUE</arg_value> (GLM) */
    CALL_INVOKE,   /* <invoke name="NAME"><parameter name="KEY" string="true">VALUE (DeepSeek) */
    CALL_SECTIONS, /* DeepSeek's and Kimi's tokens around NAME and JSON */
    CALL_MISTRAL,  /* an array, or NAME[ARGS]{...} */
    CALL_TAGGED,   /* NAME>{...}, of <function=NAME>{...}</function> */
    CALL_GEMMA,    /* call:NAME{key:<|"|>text<|"|>,n:1} */
    CALL_PYTHON    /* [NAME(key="text", n=1)] (LFM2) */
} call_kind;

/* The reply as a whole. */
typedef enum {
    REPLY_PLAIN,     /* text, with marks around thoughts and calls */
    REPLY_HARMONY,   /* <|channel|>NAME<|message|>...<|end|> */
    REPLY_RECIPIENTS /* "all\n..." and "NAME\n{...}", with ">>>" between (Functionary) */
} reply_kind;

enum {
    REPLY_MARKS = 16 /* DETOK_MARKS: a detokenizer takes all */
};

/* Strings are static. */
typedef struct {
    reply_kind kind;
    const char *think_open, *think_close; /* never NULL */
    bool thinks_anywhere;                 /* otherwise only at the beginning */
    call_kind calls;
    const char *call_open, *call_close; /* open NULL: only a reply that is JSON as a whole;
                                           close NULL: up to the end */
    bool may_be_bare;                   /* a call may also be the whole reply, without marks */
    const char *skip[2];                /* marks that mean nothing here; NULL: none */
} reply_form;

/* The format that a template (empty: none) shows. */
void reply_form_of(reply_form *f, str chat_template);

/* The marks of a form, n of at most REPLY_MARKS: those of them that are control tokens have to be
 * part of the text that is pushed. */
size_t reply_marks(const reply_form *f, const char *out[REPLY_MARKS]);

/* How a reply to this prompt begins: true in the middle of a thought, which the prompt opened. */
bool reply_begins_in_thought(const reply_form *f, str prompt);

typedef struct ew_reply reply;

/* tools: a JSON array as requests have it, of which the types of arguments are read; NULL: none are
 * offered, and what looks like a call is text. */
ew_status reply_new(reply **out, const reply_form *f, const char *tools, bool in_thought,
                    ew_part_fn fn, void *ctx, ew_error *err);
void reply_free(reply *r);
ew_status reply_push(reply *r, const char *text, size_t n, ew_error *err);
ew_status reply_end(reply *r, ew_error *err); /* what is left */

/* ---- between the files ---------------------------------------------------------------------- */

/* The calls in a complete body as {"name": ..., "arguments": {...}}, in an array (a new reference);
 * NULL when it holds none or something else. */
json_t *reply_calls(call_kind kind, str body, const json_t *tools);
/* One call whose name is known, with arguments in JSON. */
json_t *reply_named_call(str name, str arguments);
/* One with arguments (a reference that is taken; NULL: gives NULL). */
json_t *reply_call_of(str name, json_t *arguments);
json_t *reply_gemma_call(str body);
bool reply_python_calls(json_t *calls, str body);
/* [from, to) between two strings in s, the first at or after *at; *at moves behind. */
bool reply_between(str s, size_t *at, const char *open, const char *close, str *out);
bool reply_set(json_t *o, str key, json_t *v);           /* takes v; false: no memory, or v NULL */
str reply_trim(str s);                                   /* white space off */
size_t reply_find(str s, const char *what, size_t from); /* s.n + 1: nowhere */

#endif
