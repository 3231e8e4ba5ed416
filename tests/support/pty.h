/* SPDX-License-Identifier: MIT
 *
 * A program on a terminal: starts it on a pseudo-terminal, types, and waits for what it shows. */
#ifndef TESTS_SUPPORT_PTY_H
#define TESTS_SUPPORT_PTY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct {
    int fd; /* the terminal's other end */
    pid_t pid;
    size_t n, seen; /* bytes shown so far; those before `seen` have been waited for */
    char shown[1 << 18];
} pty;

/* argv ends with NULL. The terminal has 100 columns, TERM is "dumb". */
bool pty_start(pty *p, const char *const *argv);
void pty_type(pty *p, const char *keys); /* "\003" is Ctrl-C, "\r" Enter */
/* Waits until text is shown after what was waited for before. The limit of this and of all that
 * wait here is for programs that hang: two minutes in which nothing is shown. */
bool pty_wait(pty *p, const char *text);
/* Waits until the terminal is as a line editor has it, where Ctrl-C is a key and no signal, or is
 * as a shell wants it. */
bool pty_wait_editing(pty *p, bool is_editing);
/* Waits until n bytes more are shown, whatever they are. */
bool pty_wait_bytes(pty *p, size_t n);
/* Waits for the end of the program: its exit status, or -1 when it does not end or was killed. */
int pty_end(pty *p);

#endif
