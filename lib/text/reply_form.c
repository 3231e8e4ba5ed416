/* SPDX-License-Identifier: MIT
 *
 * Which format a model answers in, by the marks its template shows. */
#include "text/reply.h"

#include "text/jinja_chars.h"

/* The first line whose signs are all in the template counts. */
static const struct {
    const char *sign, *also; /* also NULL: none */
    call_kind kind;
    const char *open, *close;
    bool may_be_bare;
} calls[] = {
    {"DSML", "function_calls", CALL_INVOKE, "<｜DSML｜function_calls>", "</｜DSML｜function_calls>",
     false},
    {"DSML", "tool_calls", CALL_INVOKE, "<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", false},
    {"<｜tool▁calls▁begin｜>", NULL, CALL_SECTIONS, "<｜tool▁calls▁begin｜>",
     "<｜tool▁calls▁end｜>", false},
    {"<|tool_calls_section_begin|>", NULL, CALL_SECTIONS, "<|tool_calls_section_begin|>",
     "<|tool_calls_section_end|>", false},
    {"<|tool_call>", "<tool_call|>", CALL_GEMMA, "<|tool_call>", "<tool_call|>", false},
    {"[TOOL_CALLS]", NULL, CALL_MISTRAL, "[TOOL_CALLS]", NULL, false},
    {"<seed:tool_call>", NULL, CALL_XML, "<seed:tool_call>", "</seed:tool_call>", false},
    {"<arg_key>", NULL, CALL_KEYS, "<tool_call>", "</tool_call>", false},
    {"<tool_call>", "<function=", CALL_XML, "<tool_call>", "</tool_call>", false},
    {"<|START_ACTION|>", NULL, CALL_JSON, "<|START_ACTION|>", "<|END_ACTION|>", false},
    {"<|tool_call_start|>", NULL, CALL_PYTHON, "<|tool_call_start|>", "<|tool_call_end|>", false},
    {"<tool_calls>", NULL, CALL_JSON, "<tool_calls>", "</tool_calls>", false},
    {"<tool_call>", NULL, CALL_JSON, "<tool_call>", "</tool_call>", false},
    {"<|tools_prefix|>", NULL, CALL_JSON, "<|tools_prefix|>", "<|tools_suffix|>", false},
    {"<|tool_call|>", NULL, CALL_JSON, "<|tool_call|>", "<|/tool_call|>", false},
    {"<|function_call|>", NULL, CALL_JSON, "<|function_call|>", NULL, false},
    {"<function=", NULL, CALL_TAGGED, "<function=", "</function>", false},
    {"<|python_tag|>", NULL, CALL_JSON, "<|python_tag|>", NULL, true},
};

static const struct {
    const char *open, *close;
    bool anywhere;
} thoughts[] = {
    {"<|channel>thought\n", "<channel|>", true},
    {"<seed:think>", "</seed:think>", false},
    {"[THINK]", "[/THINK]", false},
    {"<|inner_prefix|>", "<|inner_suffix|>", false},
    {"<|START_THINKING|>", "<|END_THINKING|>", false},
    {"Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]", false},
    {"<think>", "</think>", false},
};

enum {
    N_CALLS = sizeof calls / sizeof *calls,
    N_THOUGHTS = sizeof thoughts / sizeof *thoughts
};

str reply_trim(str s) {
    return jchar_trim(s, true, true);
}

size_t reply_find(str s, const char *what, size_t from) {
    return jchar_find(s, str_of(what), from);
}

static bool has(str s, const char *what) {
    return reply_find(s, what, 0) <= s.n;
}

static void find_calls(reply_form *f, str t) {
    f->calls = CALL_JSON;
    f->may_be_bare = true;
    for (size_t i = 0; i < N_CALLS; i++) {
        if (!has(t, calls[i].sign) || (calls[i].also && !has(t, calls[i].also))) continue;
        f->calls = calls[i].kind;
        f->call_open = calls[i].open;
        f->call_close = calls[i].close;
        f->may_be_bare = calls[i].may_be_bare;
        return;
    }
}

/* Also a template that shows no thoughts may belong to a model that has them, as <think>. */
static void find_thoughts(reply_form *f, str t) {
    size_t i = 0;

    while (i + 1 < N_THOUGHTS && !has(t, thoughts[i].close)) i++;
    f->think_open = thoughts[i].open;
    f->think_close = thoughts[i].close;
    f->thinks_anywhere = thoughts[i].anywhere;
}

/* Marks around what is said, which say nothing that isn't known without them. */
static void find_skips(reply_form *f, str t) {
    static const char *const pairs[][2] = {{"<response>", "</response>"},
                                           {"<|START_RESPONSE|>", "<|END_RESPONSE|>"}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!has(t, pairs[i][0])) continue;
        f->skip[0] = pairs[i][0];
        f->skip[1] = pairs[i][1];
    }
}

void reply_form_of(reply_form *f, str chat_template) {
    *f = (reply_form){0};
    find_thoughts(f, chat_template);
    if (has(chat_template, "<|channel|>") && has(chat_template, "<|message|>")) {
        f->kind = REPLY_HARMONY;
        return;
    }
    if (has(chat_template, ">>>") && has(chat_template, "recipient")) {
        f->kind = REPLY_RECIPIENTS;
        return;
    }
    find_calls(f, chat_template);
    find_skips(f, chat_template);
}

/* Tokens inside the bodies of calls. */
static const char *const inner[] = {"<｜tool▁call▁begin｜>",
                                    "<｜tool▁call▁end｜>",
                                    "<｜tool▁sep｜>",
                                    "<|tool_call_begin|>",
                                    "<|tool_call_end|>",
                                    "<|tool_call_argument_begin|>",
                                    "[ARGS]",
                                    "[CALL_ID]",
                                    "<|\"|>"};

size_t reply_marks(const reply_form *f, const char *out[REPLY_MARKS]) {
    static const char *const harmony[] = {"<|start|>", "<|channel|>", "<|message|>",  "<|end|>",
                                          "<|call|>",  "<|return|>",  "<|constrain|>"};
    const char *const own[] = {f->think_open, f->think_close, f->call_open,
                               f->call_close, f->skip[0],     f->skip[1]};
    size_t n = 0;

    if (f->kind == REPLY_HARMONY) {
        for (; n < sizeof harmony / sizeof *harmony; n++) out[n] = harmony[n];
        return n;
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i]) out[n++] = own[i];
    for (size_t i = 0; i < sizeof inner / sizeof *inner && n < REPLY_MARKS; i++)
        out[n++] = inner[i];
    return n;
}

bool reply_begins_in_thought(const reply_form *f, str prompt) {
    const str end = jchar_trim(prompt, false, true);
    const str open = jchar_trim(str_of(f->think_open), false, true);

    if (f->kind != REPLY_PLAIN || end.n < open.n) return false;
    return memcmp(end.p + end.n - open.n, open.p, open.n) == 0;
}
