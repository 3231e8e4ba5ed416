/* SPDX-License-Identifier: MIT
 *
 * The subcommands. argv[0] is the command's name; the result is the exit status. A new one: its
 * file, its line here and its line in main.c's table. */
#ifndef EW_CLI_COMMANDS_H
#define EW_CLI_COMMANDS_H

enum {
    EXIT_OK = 0,
    EXIT_RUNTIME = 1,  /* one sentence on standard error says why */
    EXIT_USAGE = 2,    /* the command line is wrong */
    EXIT_SIGNAL = 128, /* more the signal's number, as shells count it */
    EXIT_SIGINT = 130, /* Ctrl-C */
    EXIT_SIGPIPE = 141 /* the reader of standard output has gone */
};

typedef struct {
    const char *name;
    const char *summary; /* one line, no full stop */
    int (*run)(int argc, char **argv);
} command;

int cmd_run(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_tokenize(int argc, char **argv);
int cmd_logits(int argc, char **argv);
int cmd_perplexity(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_render(int argc, char **argv);

#endif
