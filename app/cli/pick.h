/* SPDX-License-Identifier: MIT
 *
 * Which model file a command works on. */
#ifndef EW_CLI_PICK_H
#define EW_CLI_PICK_H

#include <stdbool.h>

/* The path (mem_free) that name stands for: a file, or the name of a model found in the usual
 * places. name NULL: the only one found there, the one chosen on the terminal, or the most recent.
 * NULL with *status when there is none, which has been said then. may_lack: finding no model at
 * all is answered by how to get one, with status 0. */
char *pick_model(const char *name, bool may_lack, int *status);

#endif
