/* SPDX-License-Identifier: MIT
 *
 * The commands of a chat, as Ollama's users know them: /set, /show, /save, /load, /clear, /bye. */
#ifndef EW_CLI_SLASH_H
#define EW_CLI_SLASH_H

#include "cli/lines.h"
#include "cli/talk.h"

typedef enum {
    SLASH_DONE,  /* was a command, has been carried out or refused */
    SLASH_LEAVE, /* /bye */
    SLASH_SYSTEM /* "/set system TEXT": TEXT is in *rest and may go on over several lines */
} slash_result;

/* line begins with '/'. */
slash_result slash_run(talk *t, lines *l, char *line, const char **rest);

#endif
