/* SPDX-License-Identifier: MIT */
#include "cli/sink.h"

#include "cli/term.h"

#include <errno.h>

static void write_text(sink *s, const char *text, size_t n) {
    if (!s->stream || s->to->write_errno) return;
    errno = 0;
    if (fwrite(text, 1, n, s->stream) != n || fflush(s->stream) != 0)
        s->to->write_errno = errno ? errno : EIO;
}

/* Standard error is for people: nothing depends on its being written. The words are Ollama's. */
static void end_thought(sink *s) {
    if (!s->is_thinking) return;
    s->is_thinking = false;
    fprintf(stderr, "\n...done thinking.%s\n\n", term_on(stderr, TERM_PLAIN));
}

static void write_thought(sink *s, const char *text, size_t n) {
    if (!s->stream || s->hides_thoughts) return;
    if (!s->is_thinking) fprintf(stderr, "%sThinking...\n", term_on(stderr, TERM_DIM));
    s->is_thinking = true;
    fwrite(text, 1, n, stderr);
    fflush(stderr);
}

void sink_part(void *ctx, ew_part part, const char *text, size_t n) {
    sink *s = ctx;

    if (part == EW_PART_REASONING) {
        strbuf_add(&s->to->reasoning, text, n);
        write_thought(s, text, n);
        return;
    }
    end_thought(s);
    strbuf_add(&s->to->text, text, n);
    write_text(s, text, n);
}

bool sink_text(void *ctx, const char *text, size_t n) {
    sink *s = ctx;

    if (!s->reply)
        sink_part(s, EW_PART_TEXT, text, n);
    else if (ew_reply_push(s->reply, text, n, &s->err))
        return false;
    return s->to->write_errno == 0;
}

ew_status sink_end(sink *s, ew_error *err) {
    ew_status rc = s->err.status;

    if (!rc && s->reply) rc = ew_reply_end(s->reply, &s->err);
    end_thought(s);
    if (rc) *err = s->err;
    return rc;
}
