/* SPDX-License-Identifier: MIT
 *
 * The command line's options, as tables. A command describes its options in groups, each filling
 * one struct; the parser, the range checks, the messages and --help are made of the tables.
 *
 * Options may stand anywhere; "--" ends them. Values follow as the next argument or after "=". */
#ifndef EW_CLI_OPTIONS_H
#define EW_CLI_OPTIONS_H

#include "edgewise.h"

#include <stdio.h>

typedef enum {
    OPT_FLAG,  /* bool: set to true */
    OPT_INT,   /* int64_t, within min..max */
    OPT_REAL,  /* double, within min..max */
    OPT_TEXT,  /* const char *, borrowed from argv */
    OPT_BYTES, /* uint64_t: "512M", "8G", "1.5GiB", a bare number of bytes; K M G T are powers of
                  1024 */
    OPT_LIST,  /* text_list: may be given several times */
    OPT_INTS,  /* int_list: "0,512,4096", each within min..max */
    OPT_CALL   /* parse() does it */
} option_kind;

typedef struct {
    const char *names; /* "-c --ctx-size" */
    const char *arg;   /* what --help calls the value: "N"; NULL for a flag */
    const char *help;  /* may have several lines */
    option_kind kind;
    size_t off;      /* of the member in the group's struct */
    double min, max; /* INT, INTS, REAL */
    /* CALL: stores value in the member, at. Others, where it is not NULL: refuses values that the
     * kind and min..max would let pass. On failure the sentence says what was expected. */
    ew_status (*parse)(void *at, const char *value, ew_error *err);
} option;

typedef struct {
    const char *title; /* "Sampling" */
    const option *options;
    size_t n;
    void *base; /* the struct that is filled; its defaults stand in it beforehand */
} option_group;

typedef struct {
    const char *command;  /* "run" */
    const char *synopsis; /* "[FILE [PROMPT...]]" */
    const char *about;    /* shown by --help under the usage line */
    const char *examples; /* shown at the end, indented by the parser; NULL: none */
    const option_group *groups;
    size_t n_group;
    int min_args, max_args; /* arguments that are not options; max -1: any number */
} usage;

typedef struct {
    const char **v; /* borrowed strings */
    size_t n;
} text_list;

enum {
    INT_LIST_MAX = 64
};

typedef struct {
    int64_t v[INT_LIST_MAX];
    size_t n;
} int_list;

void text_list_fini(text_list *l);

/* True: the structs are filled and argv[0..*argc) are the arguments that are not options. False:
 * the command returns *status, because --help was printed or something is wrong (said). */
bool options_parse(const usage *u, int *argc, char **argv, int *status);

/* "edgewise run: SENTENCE" and a hint at --help on standard error; returns EXIT_USAGE. */
int usage_error(const usage *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The name nearest to a mistyped word: start, offer every name, take what is in `name`. */
typedef struct {
    const char *word;
    size_t best;      /* distance of name; what is as far or farther is not taken */
    const char *name; /* borrowed, name_n bytes; NULL while none is near */
    size_t name_n;
} nearest;

void nearest_start(nearest *f, const char *word);
void nearest_offer(nearest *f, const char *name, size_t n);

/* Numbers as options have them: the whole text must be one. */
bool parse_int(const char *text, int64_t *out);
bool parse_real(const char *text, double *out);
bool parse_bytes(const char *text, uint64_t *out);

bool options_have(const option_group *g, const char *name);
/* One option's value by its long name without dashes ("temp"), for callers that are no command
 * line; '_' counts as '-'. False with a sentence when the name or the value is wrong. */
bool options_set(const option_group *g, const char *name, const char *value, ew_error *err);
/* The other way: every number, switch and text of a list as a line "BEFOREname value" on standard
 * output, with '_' for '-'. show_text writes a text and the line's end. */
void options_show(const option_group *g, const char *before, void (*show_text)(const char *text));

#endif
