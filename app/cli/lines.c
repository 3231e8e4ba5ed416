/* SPDX-License-Identifier: MIT */
#include "cli/lines.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/term.h"

#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HISTORY_LINES = 1000,        /* kept in memory */
    HISTORY_MAX = 1 << 20,       /* bytes of the file above which it is cut to its second half */
    HISTORY_READ_MAX = 16 << 20, /* a larger file isn't ours */
    PATH_LEN = 4096
};

struct lines {
    EditLine *el;
    History *history;
    const char *prompt;
    FILE *out; /* where the line is shown */
    bool is_kept;
    bool was_interrupt, had_text; /* Ctrl-C was pressed; on a line with something on it */
    struct sigaction interrupt_before, resize_before;
    char path[PATH_LEN]; /* of the history file; "": there is no place for it */
};

/* ---- the history file --------------------------------------------------------------------- */

/* Makes the folders of path that are missing, for the owner alone. */
static bool make_folders(const char *path) {
    char part[PATH_LEN];

    for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        const size_t n = (size_t)(p - path);

        if (n >= sizeof part) return false;
        memcpy(part, path, n);
        part[n] = 0;
        if (mkdir(part, 0700) != 0 && errno != EEXIST) return false;
    }
    return true;
}

static void find_history(lines *l) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = -1;

    if (state && *state == '/')
        n = snprintf(l->path, sizeof l->path, "%s/edgewise/history", state);
    else if (home && *home)
        n = snprintf(l->path, sizeof l->path, "%s/.local/state/edgewise/history", home);
    if (n < 0 || (size_t)n >= sizeof l->path || !make_folders(l->path)) l->path[0] = 0;
}

static void remember(lines *l, const char *line) {
    HistEvent ev;

    history(l->history, &ev, H_ENTER, line);
}

static void append_history(const lines *l, const char *line) {
    strbuf b;
    int fd;

    fd = l->path[0] ? open(l->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return;
    strbuf_init(&b, HISTORY_MAX);
    strbuf_printf(&b, "%s\n", line);
    /* One write, so that two chats don't mix within a line. A full disk costs the history only. */
    if (!b.failed && write(fd, b.p, b.n) != (ssize_t)b.n) say_warning("%s: not written", l->path);
    strbuf_fini(&b);
    close(fd);
}

static void cut_history(const lines *l, const char *text, size_t n) {
    const char *half = strchr(text + n / 2, '\n');
    file_out f;

    if (!half || file_out_open(&f, l->path, NULL)) return;
    fchmod(f.fd, 0600);
    half++;
    if (file_out_write(&f, half, n - (size_t)(half - text), NULL) == EW_OK)
        file_out_commit(&f, NULL);
    file_out_abort(&f);
}

static void load_history(lines *l) {
    char *text = NULL, *next;
    size_t n = 0;

    if (!l->path[0] || file_read(&text, &n, l->path, HISTORY_READ_MAX, NULL)) return;
    if (n > HISTORY_MAX) cut_history(l, text, n);
    for (char *line = text; *line; line = next) {
        const size_t len = strcspn(line, "\n");

        next = line + len + (line[len] == '\n');
        line[len] = 0;
        if (len) remember(l, line);
    }
    mem_free(text);
}

/* ---- the editor --------------------------------------------------------------------------- */

static char *prompt_of(EditLine *el) {
    union {
        const char *c;
        char *v;
    } p = {""}; /* libedit takes no const */
    lines *l;

    el_get(el, EL_CLIENTDATA, (void *)&l);
    p.c = l->prompt;
    return p.v;
}

/* Ctrl-C and Ctrl-Z are keys here and no signals: they are off while a line is edited (libedit can
 * turn them off together only). */
static unsigned char on_interrupt_key(EditLine *el, int ch) {
    const LineInfo *li = el_line(el);
    lines *l;

    (void)ch;
    el_get(el, EL_CLIENTDATA, (void *)&l);
    l->was_interrupt = true;
    l->had_text = li->lastchar > li->buffer;
    fputs("^C\n", l->out);
    return CC_EOF;
}

static unsigned char on_suspend_key(EditLine *el, int ch) {
    (void)ch;
    el_set(el, EL_PREP_TERM, 0); /* the shell gets the terminal as it was */
    kill(0, SIGTSTP); /* as the terminal does: make and scripts that run us stop as well */
    el_set(el, EL_PREP_TERM, 1);
    return CC_REFRESH;
}

/* A handler gets no argument. Set while a line editor is open. */
static EditLine *editor_now;

static void on_resize(int sig) {
    (void)sig;
    el_resize(editor_now);
}

/* Between an answer's end and the next prompt Ctrl-C is nobody's; cancel.h takes it while the model
 * works. (libedit's own handlers would let it end the program.) */
static void set_signals(lines *l) {
    struct sigaction resize = {.sa_handler = on_resize, .sa_flags = SA_RESTART};
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigemptyset(&resize.sa_mask);
    sigemptyset(&ignore.sa_mask);
    editor_now = l->el;
    sigaction(SIGWINCH, &resize, &l->resize_before);
    sigaction(SIGINT, &ignore, &l->interrupt_before);
}

static void bind_keys(EditLine *el) {
    /* The wide form, because the other one leaks its copies of the texts. */
    el_wset(el, EL_ADDFN, L"ew-interrupt", L"Forget the line", on_interrupt_key);
    el_wset(el, EL_ADDFN, L"ew-suspend", L"Stop the program for now", on_suspend_key);
    el_set(el, EL_BIND, "^C", "ew-interrupt", NULL);
    el_set(el, EL_BIND, "^Z", "ew-suspend", NULL);
    el_set(el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(el, EL_SETTY, "-d", "-isig", NULL);
}

ew_status lines_open(lines **out, ew_error *err) {
    lines *l = mem_array(1, sizeof *l);
    HistEvent ev;

    *out = NULL;
    if (!l) return fail(err, EW_ENOMEM, "out of memory");
    l->is_kept = true;
    l->prompt = "";
    l->out = term_is_tty(stdout) ? stdout : stderr;
    l->el = el_init("edgewise", stdin, l->out, stderr);
    l->history = history_init();
    if (!l->el || !l->history) {
        lines_close(l);
        return fail(err, EW_ENOMEM, "the line editor can't be started");
    }
    history(l->history, &ev, H_SETSIZE, HISTORY_LINES);
    history(l->history, &ev, H_SETUNIQUE, 1); /* the same line twice in a row is kept once */
    el_set(l->el, EL_CLIENTDATA, l);
    el_set(l->el, EL_PROMPT, prompt_of);
    el_set(l->el, EL_EDITOR, "emacs");
    el_set(l->el, EL_HIST, history, l->history);
    bind_keys(l->el);
    set_signals(l);
    el_source(l->el, NULL); /* ~/.editrc */
    find_history(l);
    load_history(l);
    *out = l;
    return EW_OK;
}

void lines_close(lines *l) {
    if (!l) return;
    if (editor_now) {
        sigaction(SIGINT, &l->interrupt_before, NULL);
        sigaction(SIGWINCH, &l->resize_before, NULL);
        editor_now = NULL;
    }
    if (l->el) el_end(l->el);
    if (l->history) history_end(l->history);
    mem_free(l);
}

void lines_keep(lines *l, bool is_on) {
    l->is_kept = is_on;
}

line_event lines_read(lines *l, const char *prompt, char **text) {
    const char *line;
    int n = 0;

    *text = NULL;
    l->prompt = prompt;
    l->was_interrupt = false;
    el_set(l->el, EL_PREP_TERM, 1); /* before the prompt, so that no key comes in between */
    line = el_gets(l->el, &n);
    if (l->was_interrupt) return l->had_text ? LINE_INTERRUPT : LINE_HINT;
    if (!line || n <= 0) {
        fputc('\n', l->out); /* after the ^D */
        return LINE_END;
    }
    while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) n--;
    *text = mem_copy_str(line, (size_t)n);
    if (!*text) return LINE_END;
    if (l->is_kept && n > 0) {
        remember(l, *text);
        append_history(l, *text);
    }
    return LINE_TEXT;
}
