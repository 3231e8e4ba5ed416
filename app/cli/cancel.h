/* SPDX-License-Identifier: MIT
 *
 * Ctrl-C while the model works: ends the evaluation and not the program. A second one before the
 * first has taken effect ends the program. */
#ifndef EW_CLI_CANCEL_H
#define EW_CLI_CANCEL_H

#include "edgewise.h"

void cancel_begin(ew_session *s); /* from here Ctrl-C goes to this session */
void cancel_end(void);            /* and from here it does what it did before */

#endif
