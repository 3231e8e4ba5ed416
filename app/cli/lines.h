/* SPDX-License-Identifier: MIT
 *
 * Lines typed on a terminal, with editing and a history (libedit). The history file holds one line
 * an entry, for its owner's eyes only, and is written as soon as a line is typed. */
#ifndef EW_CLI_LINES_H
#define EW_CLI_LINES_H

#include "base/error.h"

typedef struct lines lines;

typedef enum {
    LINE_TEXT,
    LINE_INTERRUPT, /* Ctrl-C on a line with text on it: forget it */
    LINE_HINT,      /* Ctrl-C on an empty line */
    LINE_END        /* Ctrl-D, or the terminal is gone */
} line_event;

ew_status lines_open(lines **out, ew_error *err);
void lines_close(lines *l);
/* *text (mem_free) without its line end for LINE_TEXT, NULL otherwise. */
line_event lines_read(lines *l, const char *prompt, char **text);
/* Whether lines are kept, in memory and in the file. */
void lines_keep(lines *l, bool is_on);

#endif
