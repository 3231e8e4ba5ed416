/* SPDX-License-Identifier: MIT
 *
 * Signals. Ctrl-C ends what a session evaluates and no more. SIGTERM and SIGHUP end a run, which
 * then still saves what it has. */
#ifndef EW_CLI_CANCEL_H
#define EW_CLI_CANCEL_H

#include "edgewise.h"

/* Between the two, Ctrl-C cancels s; a second one ends the program at once. One session at a time.
 */
void cancel_begin(ew_session *s);
void cancel_end(void);

/* Between the two, SIGTERM, SIGHUP and, outside of a chat, SIGINT cancel what is being evaluated
 * and are remembered; a read in progress ends with EINTR; a reader of standard output that has gone
 * is an error of the write (EPIPE) and no signal. */
void leave_begin(bool is_chat);
void leave_end(void);
/* The signal that asked to leave since leave_begin(); 0: none. */
int leave_signal(void);

#endif
