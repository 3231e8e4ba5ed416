/* SPDX-License-Identifier: MIT
 *
 * The command: finds the subcommand, runs it, and sees to it that what it wrote has arrived. */
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/term.h"
#include "edgewise.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const command commands[] = {
    {"run", "chat with a model, or complete a prompt", cmd_run},
    {"bench", "measure speed and memory", cmd_bench},
    {"show", "what is in a file, and what it would cost to run", cmd_show},
    {"tokenize", "text to token ids, and back", cmd_tokenize},
    {"logits", "what the model expects after a text", cmd_logits},
    {"perplexity", "how well the model predicts a text", cmd_perplexity},
    {"render", "a chat template with a conversation, as the model sees it", cmd_render},
};

enum {
    N_COMMAND = sizeof commands / sizeof commands[0]
};

static void print_help(void) {
    fputs("usage: edgewise COMMAND [ARGUMENT...]\n\n"
          "Runs GGUF language models on this machine.\n\nCommands:\n",
          stdout);
    for (size_t i = 0; i < N_COMMAND; i++)
        printf("  %-12s %s\n", commands[i].name, commands[i].summary);
    fputs("  help         explain a command: edgewise help run\n"
          "\nOptions:\n"
          "  -h, --help     this text\n"
          "  -v, --version  the version\n"
          "\nExit status: 0 done, 1 failed (standard error says why), 2 wrong use, 130 Ctrl-C.\n",
          stdout);
}

static const command *find_command(const char *name) {
    for (size_t i = 0; i < N_COMMAND; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    const char *what = name[0] == '-' ? "option" : "command";
    const size_t n = strlen(name);
    nearest f;

    nearest_start(&f, name);
    for (size_t i = 0; i < N_COMMAND; i++)
        nearest_offer(&f, commands[i].name, strlen(commands[i].name));
    nearest_offer(&f, "--help", 6);
    nearest_offer(&f, "--version", 9);
    if (n > 5 && strcmp(name + n - 5, ".gguf") == 0)
        fprintf(stderr, "edgewise: unknown command '%s'; to run that file: edgewise run %s\n", name,
                name);
    else if (f.name)
        fprintf(stderr, "edgewise: unknown %s '%s'; did you mean '%s'?\n", what, name, f.name);
    else
        fprintf(stderr, "edgewise: unknown %s '%s'\n", what, name);
    fputs("Try 'edgewise --help'.\n", stderr);
    return EXIT_USAGE;
}

static int help_command(int argc, char **argv) {
    char help[] = "--help";
    const command *c;

    if (argc < 2) {
        print_help();
        return EXIT_OK;
    }
    c = find_command(argv[1]);
    if (!c) return unknown_command(argv[1]);
    return c->run(2, (char *[]){argv[1], help, NULL});
}

static int dispatch(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "--help";
    const command *c = find_command(name);

    if (c) return c->run(argc - 1, argv + 1);
    if (strcmp(name, "help") == 0) return help_command(argc - 1, argv + 1);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help();
        return EXIT_OK;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-v") == 0) {
        printf("edgewise %s\n", ew_version());
        return EXIT_OK;
    }
    return unknown_command(name);
}

/* For the line editor; numbers stay in the C locale. A terminal of today takes UTF-8, also where
 * nobody has set LANG. */
static void use_utf8(void) {
    if (setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0) return;
    if (!setlocale(LC_CTYPE, "C.UTF-8")) setlocale(LC_CTYPE, "en_US.UTF-8");
}

/* Where we were started without standard files, the first that are opened would take their numbers,
 * and be read and written as them. What stands there in their place refuses what they are for. */
static void fill_standard_files(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
    int status;

    fill_standard_files();
    /* A reader that goes away ends us quietly, also where a parent had the signal ignored. */
    signal(SIGPIPE, SIG_DFL);
    use_utf8();
    status = dispatch(argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK)
        status = say_write_error(errno ? errno : EIO);
    return status;
}
