/* SPDX-License-Identifier: MIT
 *
 * Where an answer goes while it comes: to a stream and into the answer, what was thought before it
 * apart from what is said. */
#ifndef EW_CLI_SINK_H
#define EW_CLI_SINK_H

#include "cli/talk.h"

typedef struct {
    answer *to;
    FILE *stream; /* NULL: nothing is written, thoughts neither */
    bool hides_thoughts;
    ew_reply *reply; /* NULL: all is text */
    bool is_thinking;
    ew_error err; /* of the reply */
} sink;

/* For ew_generate; ctx is the sink. */
bool sink_text(void *ctx, const char *text, size_t n);
/* For ew_reply_new. */
void sink_part(void *ctx, ew_part part, const char *text, size_t n);
/* What is left. */
ew_status sink_end(sink *s, ew_error *err);

#endif
