/* SPDX-License-Identifier: MIT
 *
 * The interactive chat: reads a message, which may have several lines, and has it answered or, when
 * it begins with '/', carried out. */
#include "cli/chat.h"

#include "base/mem.h"
#include "cli/cancel.h"
#include "cli/commands.h"
#include "cli/lines.h"
#include "cli/report.h"
#include "cli/slash.h"
#include "cli/term.h"

#include <string.h>

static const char quotes[] = "\"\"\"";

/* Says what has been loaded and how prompts will be put. */
static void greet(const talk *t) {
    ew_model_info m = {.size = sizeof m};
    char size[24];

    ew_model_info_get(t->model, &m);
    fprintf(stderr, "%s%s: %s%s%s, context %u tokens%s\n", term_on(stderr, TERM_BOLD),
            m.name[0] ? m.name : m.architecture, m.file_type, m.file_type[0] ? " " : "",
            size_text(size, m.n_bytes), ew_session_ctx(t->session), term_on(stderr, TERM_PLAIN));
    if (t->is_chat)
        fprintf(stderr, "Messages are put by %s. /? for help.\n", ew_chat_name(t->chat));
    else
        fputs("No chat form is used: what you type is added to the text so far, and the model goes "
              "on from there.\n/clear begins a new text. /? for help.\n",
              stderr);
}

/* Whether text closes the quotes; if so, cuts it there. */
static bool cut_at_quotes(char *text) {
    char *end = strstr(text, quotes);

    if (end) *end = 0;
    return end != NULL;
}

/* What began with """: adds lines until the closing ones. first: what followed the opening ones. */
static line_event read_block(lines *l, char *first, strbuf *out) {
    bool is_closed = cut_at_quotes(first);

    strbuf_clear(out);
    strbuf_puts(out, first);
    while (!is_closed) {
        char *line;
        const line_event ev = lines_read(l, "... ", &line);

        if (ev != LINE_TEXT) return ev;
        is_closed = cut_at_quotes(line);
        /* A line end right after the opening or before the closing quotes is not text. */
        if (out->n && !(is_closed && !*line)) strbuf_puts(out, "\n");
        strbuf_puts(out, line);
        mem_free(line);
    }
    return LINE_TEXT;
}

static bool is_blank(const char *s) {
    return s[strspn(s, " \t\r\n")] == 0;
}

/* One message more, answered. A message that gets no answer at all is taken back, so that it can be
 * put another way. EXIT_OK unless standard output is gone. */
static int answer_message(talk *t, const char *text, size_t n) {
    const talk_mark before = talk_now(t);
    int status = EXIT_OK;
    ew_error err = {0};
    answer a = {0};
    ew_status rc;

    rc = talk_add(t, true, text, n, &err);
    if (!rc) rc = talk_answer(t, stdout, &a, &err);
    if (!rc && a.text.n && a.text.p[a.text.n - 1] != '\n') putchar('\n');
    if (!rc && a.text.n) rc = talk_add_answer(t, &a, &err);
    if (rc || !a.text.n) talk_back(t, before);
    fflush(stdout);
    if (rc) say_error(&err);
    if (rc == EW_EFULL)
        say_note("/clear starts a new conversation; /set parameter num_ctx N makes "
                 "room for N tokens");
    if (!rc && a.r.reason == EW_STOP_CONTEXT)
        say_note("stopped: the context of %u tokens is full; /clear starts a new conversation",
                 ew_session_ctx(t->session));
    else if (!rc)
        report_stop(t, &a);
    if (!rc) report_swap(&a);
    if (!rc && t->is_verbose) report_figures(stderr, t, &a);
    if (a.write_errno && !leave_signal()) status = say_write_error(a.write_errno);
    answer_fini(&a);
    return status;
}

static void set_system(talk *t, const char *text) {
    ew_error err = {0};

    if (!t->is_chat)
        puts("Without a chat form there is no place for a system message.");
    else if (talk_set_system(t, text, &err))
        say_error(&err);
    else
        puts(t->system ? "Set system message." : "No system message any more.");
}

/* A line that has been typed, and what follows it when it opens quotes. A status other than EXIT_OK
 * ends the chat. */
static line_event take_line(talk *t, lines *l, char *line, strbuf *block, int *status) {
    const char *system = NULL;
    line_event ev = LINE_TEXT;
    char *body = line;

    if (line[0] == '/') {
        const slash_result r = slash_run(t, l, line, &system);

        if (r == SLASH_LEAVE) return LINE_END;
        if (r == SLASH_DONE) return LINE_TEXT;
        body += system - line;
    }
    if (strncmp(body, quotes, 3) == 0) {
        ev = read_block(l, body + 3, block);
        if (ev != LINE_TEXT || block->failed) return ev;
        body = block->p;
    }
    if (system)
        set_system(t, body);
    else if (!is_blank(body))
        *status = answer_message(t, body, strlen(body));
    return ev;
}

int chat_loop(talk *t) {
    ew_error err = {0};
    line_event ev = LINE_TEXT;
    int status = EXIT_OK;
    strbuf block;
    lines *l;

    if (lines_open(&l, &err)) return say_error(&err);
    strbuf_init(&block, TEXT_MAX);
    greet(t);
    while (ev != LINE_END && !status && !leave_signal()) {
        char *line;

        ev = lines_read(l, ">>> ", &line);
        if (ev == LINE_HINT) fputs("Use Ctrl-D or /bye to leave.\n", stderr);
        if (ev != LINE_TEXT) continue;
        ev = take_line(t, l, line, &block, &status);
        mem_free(line);
    }
    strbuf_fini(&block);
    lines_close(l);
    return leave_signal() ? EXIT_SIGNAL + leave_signal() : status;
}
