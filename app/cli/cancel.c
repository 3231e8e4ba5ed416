/* SPDX-License-Identifier: MIT */
#include "cli/cancel.h"

#include "cli/commands.h"

#include <signal.h>
#include <unistd.h>

/* A signal handler gets no argument, so this one thing is global. Set while no handler is
 * installed. */
static ew_session *session_now;
static volatile sig_atomic_t n_interrupt;
static struct sigaction action_before;

static void on_interrupt(int sig) {
    (void)sig;
    if (n_interrupt++) _exit(EXIT_SIGINT);
    ew_session_cancel(session_now); /* sets a flag */
}

void cancel_begin(ew_session *s) {
    struct sigaction a = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};

    ew_session_cancel_clear(s);
    session_now = s;
    n_interrupt = 0;
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, &action_before);
}

void cancel_end(void) {
    sigaction(SIGINT, &action_before, NULL);
    ew_session_cancel_clear(session_now);
    session_now = NULL;
}
