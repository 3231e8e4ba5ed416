/* SPDX-License-Identifier: MIT */
#include "tests/support/pty.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum {
    /* Waiting is counted in ticks that brought nothing, and not by the clock: where this program is
     * stopped or gets no processor for a while, so is the one it waits for. */
    TICK_MS = 100,
    TICKS = 1200
};

static void become(int slave, const char *const *argv) {
    const struct winsize size = {.ws_row = 24, .ws_col = 100};

    setsid();
    ioctl(slave, TIOCSCTTY, 0);
    ioctl(slave, TIOCSWINSZ, &size);
    dup2(slave, 0);
    dup2(slave, 1);
    dup2(slave, 2);
    if (slave > 2) close(slave);
    setenv("TERM", "dumb", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    execvp(argv[0], (char *const *)(const void *)argv);
    _exit(127);
}

bool pty_start(pty *p, const char *const *argv) {
    const char *name;
    int slave;

    *p = (pty){.fd = posix_openpt(O_RDWR | O_NOCTTY)};
    if (p->fd < 0 || grantpt(p->fd) != 0 || unlockpt(p->fd) != 0) return false;
    name = ptsname(p->fd);
    slave = name ? open(name, O_RDWR | O_NOCTTY) : -1;
    if (slave < 0) return false;
    fcntl(p->fd, F_SETFD, FD_CLOEXEC);
    p->pid = fork();
    if (p->pid == 0) become(slave, argv);
    close(slave);
    return p->pid > 0;
}

void pty_type(pty *p, const char *keys) {
    const size_t n = strlen(keys);

    if (write(p->fd, keys, n) != (ssize_t)n) perror("pty_type");
}

/* Takes in what is shown within a tick; false when nothing more comes. */
static bool take(pty *p) {
    struct pollfd f = {.fd = p->fd, .events = POLLIN};
    ssize_t n;

    if (p->n + 1 >= sizeof p->shown || poll(&f, 1, TICK_MS) <= 0) return false;
    n = read(p->fd, p->shown + p->n, sizeof p->shown - 1 - p->n);
    if (n <= 0) return false; /* EIO: the program has gone */
    for (ssize_t i = 0; i < n; i++)
        if (!p->shown[p->n + (size_t)i]) p->shown[p->n + (size_t)i] = ' ';
    p->n += (size_t)n;
    p->shown[p->n] = 0;
    return true;
}

static bool wait_for(pty *p, const char *text) {
    for (int n_left = TICKS; n_left > 0;) {
        const char *at = strstr(p->shown + p->seen, text);

        if (at) {
            p->seen = (size_t)(at - p->shown) + strlen(text);
            return true;
        }
        if (!take(p)) n_left--;
    }
    return false;
}

static bool in_vain(const pty *p, const char *text) {
    fprintf(stderr, "waited in vain for \"%s\"; shown since: \"%s\"\n", text, p->shown + p->seen);
    return false;
}

bool pty_wait(pty *p, const char *text) {
    return wait_for(p, text) || in_vain(p, text);
}

/* The modes are those of the program's end. */
static bool is_edited(const pty *p) {
    struct termios t;

    return tcgetattr(p->fd, &t) == 0 && !(t.c_lflag & ISIG);
}

bool pty_wait_editing(pty *p, bool is_editing) {
    for (int n_left = TICKS; n_left > 0 && is_edited(p) != is_editing;)
        if (!take(p)) n_left--;
    return is_edited(p) == is_editing;
}

bool pty_wait_bytes(pty *p, size_t n) {
    for (int n_left = TICKS; n_left > 0 && p->n - p->seen < n;)
        if (!take(p)) n_left--;
    return p->n - p->seen >= n;
}

int pty_end(pty *p) {
    const struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
    int status = -1;
    pid_t gone = 0;

    for (int n_left = TICKS; n_left > 0; n_left--) {
        while (take(p)) continue;
        gone = waitpid(p->pid, &status, WNOHANG);
        if (gone) break;
        nanosleep(&tick, NULL); /* what is shown may have ended before the program */
    }
    if (gone == 0) {
        kill(p->pid, SIGKILL);
        waitpid(p->pid, &status, 0);
        status = -1;
    }
    close(p->fd);
    return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
