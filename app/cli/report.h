/* SPDX-License-Identifier: MIT
 *
 * What is said after an answer: why it stopped, and figures that say what they include. */
#ifndef EW_CLI_REPORT_H
#define EW_CLI_REPORT_H

#include "cli/talk.h"

/* One line on standard error when the answer ended for another reason than the model's own. */
void report_stop(const talk *t, const answer *a);
/* A warning when swap grew while the answer was made. */
void report_swap(const answer *a);
/* Rates, times, counts, context and memory accounts with their sum. */
void report_figures(FILE *f, const talk *t, const answer *a);
/* One JSON object with text, reason, counts, seconds, rates and memory, and a line's end. */
void report_json(FILE *f, const talk *t, const answer *a);
/* "weights 4.37 GiB + kv 12.00 MiB + ... = 4.43 GiB" */
void report_memory(FILE *f, ew_engine *e);

#endif
