/* SPDX-License-Identifier: MIT */
#include "cli/slash.h"

#include "cli/print.h"
#include "cli/report.h"
#include "cli/saved.h"
#include "cli/term.h"

#include <string.h>

static const char help_text[] = "Commands:\n"
                                "  /set            Set a parameter, the system message, history, "
                                "verbosity\n"
                                "  /show           Show what is known of the model and of this "
                                "chat\n"
                                "  /save FILE      Save the conversation\n"
                                "  /load FILE      Go on with a saved one\n"
                                "  /clear          Forget the conversation\n"
                                "  /bye            Leave (so does Ctrl-D)\n"
                                "  /?, /help       This; /? set, /? show, /? shortcuts\n"
                                "\n"
                                "Use \"\"\" to begin and end a message of several lines.\n";

static const char set_text[] = "  /set parameter NAME VALUE   temperature, top_k, top_p, seed, "
                               "num_predict, num_ctx, stop, ...\n"
                               "                              (/show parameters lists them)\n"
                               "  /set system TEXT            Set the system message; \"\"\" for "
                               "several lines\n"
                               "  /set history|nohistory      Keep the lines you type, or don't\n"
                               "  /set verbose|quiet          Show figures after each answer, or "
                               "don't\n"
                               "  /set think|nothink          Have the model reason first, or "
                               "don't\n";

static const char show_text[] = "  /show info         The model\n"
                                "  /show memory       What it takes, by account\n"
                                "  /show parameters   Their values now\n"
                                "  /show system       The system message\n"
                                "  /show template     The model's chat template\n"
                                "  /show license      The model's licence\n"
                                "  /show modelfile    All of it as a Modelfile\n";

static const char shortcut_text[] = "  Ctrl-A, Ctrl-E   to the beginning, the end of the line\n"
                                    "  Ctrl-K, Ctrl-U   delete to the end, the whole line\n"
                                    "  Ctrl-W           delete the word before\n"
                                    "  Ctrl-R           search in the history; also up and down\n"
                                    "  Ctrl-L           clear the screen\n"
                                    "  Ctrl-C           stop the answer, forget the line\n"
                                    "  Ctrl-D           leave\n";

/* Cuts the first word off *rest. */
static char *next_word(char **rest) {
    char *word = *rest + strspn(*rest, " \t");
    const size_t n = strcspn(word, " \t");

    *rest = word + n;
    if (**rest) *(*rest)++ = 0;
    *rest += strspn(*rest, " \t");
    return word;
}

static bool is_one_of(const char *word, const char *a, const char *b) {
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/* ---- /show -------------------------------------------------------------------------------- */

/* A string of the file's metadata; false when it isn't there. */
static bool print_meta(const talk *t, const char *key) {
    ew_meta m;

    if (!ew_file_find_meta(ew_model_file(t->model), key, &m) || m.kind != EW_META_STRING)
        return false;
    fwrite(m.text, 1, m.text_n, stdout);
    putchar('\n');
    return true;
}

static void show_info(const talk *t) {
    ew_model_info m = {.size = sizeof m};
    char size[24];

    ew_model_info_get(t->model, &m);
    printf("  file           %s\n", t->path);
    if (m.name[0]) printf("  name           %s\n", m.name);
    printf("  architecture   %s\n", m.architecture);
    printf("  parameters     %s\n", count_text(size, m.n_param));
    printf("  weights        %s%s%s\n", m.file_type, m.file_type[0] ? ", " : "",
           size_text(size, m.n_bytes));
    printf("  layers         %u, width %u, heads %u (%u for keys and values)\n", m.n_layer,
           m.n_embd, m.n_head, m.n_head_kv);
    printf("  vocabulary     %u tokens, %s\n", m.n_vocab, ew_tokenizer_name(t->model));
    printf("  context        %u tokens, %zu used; trained for %u\n", ew_session_ctx(t->session),
           ew_session_n(t->session), m.ctx_train);
    printf("  messages       %s\n",
           t->is_chat ? ew_chat_name(t->chat) : "none: the text is continued as it stands");
}

static void show_license(const talk *t) {
    const bool a = print_meta(t, "general.license"), b = print_meta(t, "general.license.name"),
               c = print_meta(t, "general.license.link");

    if (!a && !b && !c) puts("The file names no licence.");
}

/* A Modelfile's value. It knows no escapes: three quotes stand around what has quotes or line ends
 * of its own, and end where a line ends with three. */
static void print_quoted(const char *text) {
    const char *quotes = strpbrk(text, "\"\n") ? "\"\"\"" : "\"";

    printf("%s%s%s\n", quotes, text, quotes);
}

static void show_modelfile(talk *t) {
    const option_group g = sampling_args_group(&t->sampling);

    fputs("FROM ", stdout);
    print_quoted(t->path);
    if (t->system) {
        fputs("SYSTEM ", stdout);
        print_quoted(t->system);
    }
    options_show(&g, "PARAMETER ", print_quoted);
    printf("PARAMETER %-24s %u\n", "num_ctx", ew_session_ctx(t->session));
}

/* On one line, as "/set parameter" takes it. */
static void print_value(const char *text) {
    print_escaped(text, strlen(text), '"');
    putchar('\n');
}

static void show_parameters(talk *t) {
    const option_group g = sampling_args_group(&t->sampling);

    options_show(&g, "  ", print_value);
    printf("  %-24s %u\n", "num_ctx", ew_session_ctx(t->session));
}

static void show(talk *t, const char *what) {
    if (strcmp(what, "info") == 0) {
        show_info(t);
    } else if (strcmp(what, "memory") == 0) {
        report_memory(stdout, t->engine);
    } else if (strcmp(what, "parameters") == 0) {
        show_parameters(t);
    } else if (strcmp(what, "system") == 0) {
        puts(t->system ? t->system : "No system message is set.");
    } else if (strcmp(what, "template") == 0) {
        if (!print_meta(t, "tokenizer.chat_template")) puts("The file has no chat template.");
    } else if (is_one_of(what, "license", "licence")) {
        show_license(t);
    } else if (strcmp(what, "modelfile") == 0) {
        show_modelfile(t);
    } else {
        fputs(show_text, stdout);
    }
}

/* ---- /set --------------------------------------------------------------------------------- */

/* Stop texts: "a" "b", or one without quotes that goes to the end of the line. */
static bool set_stop(talk *t, const char *value, ew_error *err) {
    const option_group g = sampling_args_group(&t->sampling);

    text_list_fini(&t->sampling.stop);
    while (*value) {
        const bool is_quoted = *value == '"' && strchr(value + 1, '"');
        const size_t n = is_quoted ? strcspn(value + 1, "\"") : strlen(value);
        const char *text = talk_keep(t, value + is_quoted, n);

        if (text && !options_set(&g, "stop", text, err)) return false;
        value += n + (is_quoted ? 2 : 0);
        value += strspn(value, " \t");
    }
    return true;
}

static bool same_engine(const engine_args *a, const engine_args *b) {
    return a->threads == b->threads && a->memory_limit == b->memory_limit &&
           a->cpu_mask == b->cpu_mask && a->no_mmap == b->no_mmap && a->no_pack == b->no_pack &&
           a->lock == b->lock && a->is_float == b->is_float;
}

/* The window and what else a session is made with: needs a new one, which evaluates the
 * conversation again. */
static bool set_session(talk *t, const char *name, const char *value, ew_error *err) {
    const option_group g = engine_args_group(&t->engine_args);
    const engine_args before = t->engine_args;

    if (!options_set(&g, name, value, err)) return false;
    if (!same_engine(&before, &t->engine_args)) {
        t->engine_args = before;
        snprintf(err->text, sizeof err->text,
                 "%s is chosen when the model is loaded: leave and give --%s to edgewise run", name,
                 name);
        return false;
    }
    if (talk_new_session(t, err) == EW_OK) return true;
    t->engine_args = before;
    return false;
}

static void set_parameter(talk *t, char *rest) {
    const option_group sampling = sampling_args_group(&t->sampling);
    const option_group engine = engine_args_group(&t->engine_args);
    const char *name = next_word(&rest);
    ew_error err = {0};
    bool is_set;

    if (!*name || !*rest) {
        puts("usage: /set parameter NAME VALUE");
        return;
    }
    if (strcmp(name, "stop") == 0)
        is_set = set_stop(t, rest, &err);
    else if (options_have(&sampling, name))
        is_set = options_set(&sampling, name, rest, &err);
    else if (options_have(&engine, name))
        is_set = set_session(t, name, rest, &err);
    else
        is_set = !snprintf(err.text, sizeof err.text,
                           "unknown parameter '%.40s'; /show parameters lists them", name);
    if (is_set)
        printf("Set parameter '%s' to '%s'\n", name, rest);
    else
        say_error(&err);
}

static slash_result set(talk *t, lines *l, char *rest, const char **text) {
    const char *what = next_word(&rest);

    if (strcmp(what, "parameter") == 0) {
        set_parameter(t, rest);
    } else if (strcmp(what, "system") == 0) {
        *text = rest;
        return SLASH_SYSTEM;
    } else if (is_one_of(what, "history", "nohistory")) {
        lines_keep(l, what[0] == 'h');
        printf("The lines you type are %skept.\n", what[0] == 'h' ? "" : "not ");
    } else if (is_one_of(what, "verbose", "quiet")) {
        t->is_verbose = what[0] == 'v';
        printf("Figures after each answer: %s.\n", t->is_verbose ? "on" : "off");
    } else if (is_one_of(what, "think", "nothink")) {
        t->think = what[0] == 't' ? EW_THINK_ON : EW_THINK_OFF;
        printf("Reasoning before each answer: %s.\n", what[0] == 't' ? "on" : "off");
    } else {
        fputs(set_text, stdout);
    }
    return SLASH_DONE;
}

/* ---- the others --------------------------------------------------------------------------- */

static void help(const char *topic) {
    if (is_one_of(topic, "set", "/set"))
        fputs(set_text, stdout);
    else if (is_one_of(topic, "show", "/show"))
        fputs(show_text, stdout);
    else if (is_one_of(topic, "shortcut", "shortcuts"))
        fputs(shortcut_text, stdout);
    else
        fputs(help_text, stdout);
}

static void save(const talk *t, const char *path) {
    ew_error err = {0};

    if (!*path)
        puts("usage: /save FILE");
    else if (saved_write(t, path, &err))
        say_error(&err);
    else
        printf("Saved to %s (and its KV cache to %s.kv).\n", path, path);
}

static void load(talk *t, const char *path) {
    ew_error err = {0};

    if (!*path)
        puts("usage: /load FILE");
    else if (saved_read(t, path, &err))
        say_error(&err);
    else if (t->is_chat)
        printf("Loaded %s: %zu messages.\n", path, t->n_turn);
    else
        printf("Loaded %s: %zu bytes of text.\n", path, t->raw.n);
}

static void clear(talk *t) {
    talk_back(t, (talk_mark){0});
    ew_session_rewind(t->session, 0);
    puts("The conversation is forgotten.");
}

slash_result slash_run(talk *t, lines *l, char *line, const char **rest_text) {
    char *rest = line;
    const char *name = next_word(&rest);

    if (is_one_of(name, "/bye", "/exit")) return SLASH_LEAVE;
    if (strcmp(name, "/set") == 0) return set(t, l, rest, rest_text);
    if (strcmp(name, "/show") == 0)
        show(t, next_word(&rest));
    else if (is_one_of(name, "/help", "/?"))
        help(next_word(&rest));
    else if (strcmp(name, "/clear") == 0)
        clear(t);
    else if (strcmp(name, "/save") == 0)
        save(t, rest);
    else if (strcmp(name, "/load") == 0)
        load(t, rest);
    else
        printf("Unknown command '%s'. Type /? for help.\n", name);
    return SLASH_DONE;
}
