/* SPDX-License-Identifier: MIT
 *
 * `edgewise run`: completes a prompt, or chats when there is none and a terminal is. */
#include "base/file.h"
#include "base/mem.h"
#include "cli/cancel.h"
#include "cli/chat.h"
#include "cli/commands.h"
#include "cli/pick.h"
#include "cli/report.h"
#include "cli/saved.h"
#include "cli/talk.h"
#include "cli/term.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const char *system, *prompt, *file, *session, *template_file, *variables;
    bool is_raw, is_json, is_verbose, may_lack, think, no_think, hides_thoughts;
} run_args;

#define AT(member) offsetof(run_args, member)

static const option run_table[] = {
    {"-p --prompt", "TEXT", "the prompt; standard input isn't read then", OPT_TEXT, AT(prompt), 0,
     0, NULL},
    {"-f --file", "FILE", "the prompt's text is in FILE (one line end at its end is dropped)",
     OPT_TEXT, AT(file), 0, 0, NULL},
    {"-sys --system", "TEXT", "the system message", OPT_TEXT, AT(system), 0, 0, NULL},
    {"--raw", NULL, "give the prompt to the model as it is, without its chat template", OPT_FLAG,
     AT(is_raw), 0, 0, NULL},
    {"--chat-template-file", "FILE", "put messages by the template in FILE, not the model's own",
     OPT_TEXT, AT(template_file), 0, 0, NULL},
    {"--chat-template-kwargs", "JSON",
     "more variables for the template, as {\"reasoning_effort\": \"high\"}", OPT_TEXT,
     AT(variables), 0, 0, NULL},
    {"--think", NULL, "have the model reason before it answers", OPT_FLAG, AT(think), 0, 0, NULL},
    {"--no-think --nothink", NULL, "have it answer at once", OPT_FLAG, AT(no_think), 0, 0, NULL},
    {"--hidethinking", NULL, "don't show the reasoning (otherwise on standard error)", OPT_FLAG,
     AT(hides_thoughts), 0, 0, NULL},
    {"--session", "FILE",
     "go on with the conversation in FILE, if it is there, and save it\n"
     "there at the end (its KV cache in FILE.kv)",
     OPT_TEXT, AT(session), 0, 0, NULL},
    {"--json", NULL, "print one JSON object with text, reason, counts and times", OPT_FLAG,
     AT(is_json), 0, 0, NULL},
    {"--verbose", NULL, "print figures after each answer on standard error", OPT_FLAG,
     AT(is_verbose), 0, 0, NULL},
    {"--or-help", NULL, "when no model is found: say how to get one, exit status 0", OPT_FLAG,
     AT(may_lack), 0, 0, NULL},
};

static const char about[] =
    "With a prompt (the arguments, standard input when that is no terminal, or both), streams the\n"
    "answer to standard output and writes nothing else there. Without one, starts a chat.\n"
    "\n"
    "FILE is a GGUF file (any part of a split one) or the name of a model found in ./models, in\n"
    "Ollama's, LM Studio's or llama.cpp's folders or in the Hugging Face cache. Without FILE, the\n"
    "only model found, the one you choose, or the most recent.";

static const char examples[] =
    "edgewise run                                       chat with a model found here\n"
    "edgewise run models/qwen.gguf \"Why is the sky blue?\"\n"
    "edgewise run qwen2.5:7b --temp 0 < question.txt    a model of Ollama's\n"
    "git diff | edgewise run models/qwen.gguf \"Write a commit message.\"\n"
    "edgewise run models/base.gguf --raw -n 50 -p \"Once upon a time\"";

/* ---- the prompt --------------------------------------------------------------------------- */

/* The line end that editors and echo add is no part of a prompt. */
static void drop_line_end(strbuf *b) {
    if (b->n && b->p[b->n - 1] == '\n') b->n--;
    if (b->n && b->p[b->n - 1] == '\r') b->n--;
}

static ew_status read_stdin(strbuf *out, bool is_needed, ew_error *err) {
    char buf[1 << 16];

    for (;;) {
        const ssize_t n = read(STDIN_FILENO, buf, sizeof buf);

        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EBADF && !is_needed) return EW_OK; /* started without one */
        if (n < 0) return fail_errno(err, "standard input");
        if (n == 0) break;
        strbuf_add(out, buf, (size_t)n);
        if (out->failed)
            return fail(err, EW_EINVAL,
                        "standard input: more than %d MiB, the most a prompt may be",
                        TEXT_MAX >> 20);
    }
    drop_line_end(out);
    return EW_OK;
}

static ew_status read_file(strbuf *out, const char *path, ew_error *err) {
    char *text;
    size_t n;
    ew_status rc;

    rc = file_read(&text, &n, path, TEXT_MAX, err);
    if (rc) return rc;
    strbuf_add(out, text, n);
    mem_free(text);
    drop_line_end(out);
    return EW_OK;
}

/* Standard input first, then the arguments, with spaces between, as Ollama does. */
static ew_status collect_prompt(const run_args *a, int argc, char **argv, strbuf *out,
                                ew_error *err) {
    ew_status rc = EW_OK;

    if (a->file)
        rc = read_file(out, a->file, err);
    else if (!a->prompt && !term_is_tty(stdin))
        rc = read_stdin(out, argc < 2, err);
    if (rc) return rc;
    if (a->prompt) {
        if (out->n) strbuf_puts(out, " ");
        strbuf_puts(out, a->prompt);
    }
    for (int i = 1; i < argc; i++) {
        if (out->n) strbuf_puts(out, " ");
        strbuf_puts(out, argv[i]);
    }
    return out->failed ? fail(err, EW_ENOMEM, "the prompt is too long") : EW_OK;
}

/* ---- one answer --------------------------------------------------------------------------- */

static ew_status check_prompt(const talk *t, const strbuf *prompt, ew_error *err) {
    const char *nul = prompt->p ? memchr(prompt->p, 0, prompt->n) : NULL;

    if (!nul || !t->is_chat) return EW_OK;
    return fail(err, EW_EINVAL,
                "the prompt has a NUL byte at byte %zu, which %s can't carry; --raw can",
                (size_t)(nul - prompt->p), ew_chat_name(t->chat));
}

static void write_rest(const talk *t, const run_args *a, answer *got) {
    if (got->write_errno) return;
    if (a->is_json)
        report_json(stdout, t, got);
    else if (term_is_tty(stdout) && got->text.p && got->text.n &&
             got->text.p[got->text.n - 1] != '\n')
        putchar('\n');
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) got->write_errno = errno ? errno : EIO;
}

static int finish(const talk *t, const run_args *a, answer *got) {
    write_rest(t, a, got);
    if (leave_signal()) return EXIT_SIGNAL + leave_signal();
    if (got->write_errno) return say_write_error(got->write_errno);
    report_stop(t, got);
    report_swap(got);
    if (a->is_verbose) report_figures(stderr, t, got);
    return got->r.reason == EW_STOP_CANCEL ? EXIT_SIGINT : EXIT_OK;
}

/* What has been said is saved also where it could not be written out, or was interrupted. */
static int save_session(const talk *t, const run_args *a, int status) {
    ew_error err = {0};

    if (!a->session || !saved_write(t, a->session, &err)) return status;
    return say_error(&err);
}

static int complete(talk *t, const run_args *a, const strbuf *prompt) {
    ew_error err = {0};
    answer got = {0};
    ew_status rc;
    int status;

    rc = check_prompt(t, prompt, &err);
    if (!rc) rc = talk_add(t, true, prompt->p ? prompt->p : "", prompt->n, &err);
    if (!rc) rc = talk_answer(t, a->is_json ? NULL : stdout, &got, &err);
    if (!rc) rc = talk_add_answer(t, &got, &err);
    status = rc ? say_error(&err) : save_session(t, a, finish(t, a, &got));
    answer_fini(&got);
    return status;
}

/* ---- the command -------------------------------------------------------------------------- */

static void say_form(const talk *t, const run_args *a) {
    if (a->is_raw) return;
    if (!t->is_chat)
        say_note("no chat form is known for this model: the prompt is completed as it stands");
    else if (a->is_verbose)
        say_note("the prompt is put by %s", ew_chat_name(t->chat));
    if (!t->is_chat && a->system) say_warning("without a chat form the system message is not used");
    if (a->think && !(t->is_chat && ew_chat_thinks(t->chat)))
        say_warning("the model's template has no place for reasoning: --think changes nothing");
}

static int load_session(talk *t, const run_args *a) {
    ew_error err = {0};

    if (!a->session || access(a->session, F_OK) != 0) return EXIT_OK;
    return saved_read(t, a->session, &err) ? say_error(&err) : EXIT_OK;
}

static int converse(talk *t, const run_args *a, const strbuf *prompt, bool is_chat) {
    ew_error err = {0};
    int status = load_session(t, a);

    if (status) return status;
    if (a->system && talk_set_system(t, a->system, &err)) return say_error(&err);
    leave_begin(is_chat);
    if (is_chat) {
        status = save_session(t, a, chat_loop(t));
    } else {
        say_form(t, a);
        status = complete(t, a, prompt);
    }
    leave_end();
    return status;
}

static int run_model(talk *t, const run_args *a, int argc, char **argv) {
    const bool has_words = a->prompt || a->file || argc > 1;
    const bool is_chat = !has_words && term_is_tty(stdin);
    ew_error err = {0};
    char *path = NULL;
    strbuf prompt;
    int status;

    strbuf_init(&prompt, TEXT_MAX);
    path = pick_model(argc > 0 ? argv[0] : NULL, a->may_lack, &status);
    if (!path) goto out;
    if (collect_prompt(a, argc, argv, &prompt, &err)) {
        status = say_error(&err);
        goto out;
    }
    /* Now, so that a file that can't be written is refused before any work; not earlier, so that
     * in a pipe of two runs the second waits for the first. */
    if (a->session && file_lock_take(&t->lock, a->session, &err)) {
        status = say_error(&err);
        goto out;
    }
    t->variables = a->variables;
    status = talk_open(t, path, a->is_raw, a->template_file);
    if (status) goto out;
    if (sampling_check(&t->sampling, ew_n_vocab(t->model), &err)) {
        say_error(&err);
        status = EXIT_USAGE;
        goto out;
    }
    t->is_verbose = a->is_verbose;
    t->think = a->think ? EW_THINK_ON : a->no_think ? EW_THINK_OFF : EW_THINK_AUTO;
    t->hides_thoughts = a->hides_thoughts;
    if (!is_chat && !prompt.n && !has_words)
        say_note("%s is loaded; there is no prompt and no terminal to chat on", path);
    else
        status = converse(t, a, &prompt, is_chat);
out:
    mem_free(path);
    strbuf_fini(&prompt);
    return status;
}

int cmd_run(int argc, char **argv) {
    run_args a = {0};
    option_group groups[4];
    const usage u = {"run", "[FILE [PROMPT...]]", about, examples, groups, 4, 0, -1};
    int status;
    talk t;

    talk_init(&t);
    groups[0] = (option_group){"Prompt", run_table, sizeof run_table / sizeof run_table[0], &a};
    groups[1] = sampling_args_group(&t.sampling);
    groups[2] = constrain_args_group(&t.constrain);
    groups[3] = engine_args_group(&t.engine_args);
    if (!options_parse(&u, &argc, argv, &status)) goto out;
    if (a.prompt && a.file)
        status = usage_error(&u, "--prompt and --file contradict each other");
    else if (a.think && a.no_think)
        status = usage_error(&u, "--think and --no-think contradict each other");
    else if (a.is_raw && a.template_file)
        status = usage_error(&u, "--raw leaves no place for --chat-template-file");
    else if (a.is_raw && a.system)
        status = usage_error(&u, "--raw leaves no place for --system");
    else if (a.session && !*a.session)
        status = usage_error(&u, "--session needs the name of a file");
    else if (a.is_json && argc < 1 && !a.prompt && !a.file && term_is_tty(stdin))
        status = usage_error(&u, "--json needs a prompt");
    else
        status = run_model(&t, &a, argc, argv);
out:
    talk_fini(&t);
    return status;
}
