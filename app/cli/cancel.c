/* SPDX-License-Identifier: MIT */
#include "cli/cancel.h"

#include "cli/commands.h"

#include <signal.h>
#include <unistd.h>

/* A signal handler gets no argument, so these are global. Set while no handler is installed. */
static ew_session *session_now;
static volatile sig_atomic_t n_interrupt, leave_for;
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
    if (leave_for) ew_session_cancel(s); /* came before there was a session to cancel */
}

void cancel_end(void) {
    ew_session *s = session_now;

    sigaction(SIGINT, &action_before, NULL);
    session_now = NULL;
    ew_session_cancel_clear(s);
}

/* ---- leaving ------------------------------------------------------------------------------ */

enum {
    NUDGE_S = 1
};

static const int leaving[] = {SIGTERM, SIGHUP, SIGINT, SIGPIPE, SIGALRM};

enum {
    N_LEAVING = sizeof leaving / sizeof leaving[0]
};

static struct sigaction leave_before[N_LEAVING];

/* A signal that comes just before a read begins would not end it: the alarm comes again until it
 * does. */
static void on_leave(int sig) {
    if (sig != SIGALRM) leave_for = sig;
    if (session_now) ew_session_cancel(session_now);
    alarm(NUDGE_S);
}

void leave_begin(bool is_chat) {
    leave_for = 0;
    for (int i = 0; i < N_LEAVING; i++) {
        struct sigaction a = {.sa_handler = on_leave}; /* no SA_RESTART: reads end */

        sigemptyset(&a.sa_mask);
        sigaction(leaving[i], NULL, &leave_before[i]);
        /* In a chat Ctrl-C is a key; what the parent had ignored (nohup) stays so. */
        if (leaving[i] == SIGINT && is_chat) continue;
        if (leave_before[i].sa_handler == SIG_IGN) continue;
        if (leaving[i] == SIGPIPE) a.sa_handler = SIG_IGN;
        sigaction(leaving[i], &a, NULL);
    }
}

void leave_end(void) {
    for (int i = 0; i < N_LEAVING; i++) {
        if (leaving[i] == SIGALRM) alarm(0); /* the last: nobody sets it any more */
        sigaction(leaving[i], &leave_before[i], NULL);
    }
}

int leave_signal(void) {
    return leave_for;
}
