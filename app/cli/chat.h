/* SPDX-License-Identifier: MIT */
#ifndef EW_CLI_CHAT_H
#define EW_CLI_CHAT_H

#include "cli/talk.h"

/* A chat on the terminal until the user leaves; returns the exit status. */
int chat_loop(talk *t);

#endif
