/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include "base/error.h"
#include "base/mem.h"
#include "cli/commands.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HELP_COLUMN = 30, /* where the explanations start */
    NAME_MAX_LEN = 40 /* longest option or command name that is compared for nearness */
};

/* ---- values ------------------------------------------------------------------------------- */

bool parse_int(const char *text, int64_t *out) {
    char *end;
    long long v;

    errno = 0;
    v = strtoll(text, &end, 10);
    if (end == text || *end || errno || text[0] == ' ') return false;
    *out = v;
    return true;
}

bool parse_real(const char *text, double *out) {
    char *end;
    const double v = strtod(text, &end);

    if (end == text || *end || text[0] == ' ' || !isfinite(v)) return false;
    *out = v;
    return true;
}

bool parse_bytes(const char *text, uint64_t *out) {
    static const char units[] = "KMGT";
    const char *unit;
    char *end;
    double v = strtod(text, &end);

    if (end == text || !isfinite(v) || v < 0 || text[0] == ' ') return false;
    unit = *end ? strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
    if (unit && *unit) {
        for (const char *u = units; u <= unit; u++) v *= 1024;
        end++;
        if (*end == 'i') end++;
    }
    if (*end == 'B' || *end == 'b') end++;
    if (*end || v >= 9.2e18) return false;
    *out = (uint64_t)v;
    return true;
}

static ew_status out_of_range(const option *o, double v, ew_error *err) {
    if (v < o->min) return fail(err, EW_EINVAL, "expected at least %.15g", o->min);
    return fail(err, EW_EINVAL, "expected at most %.15g", o->max);
}

static ew_status parse_int_in(const option *o, const char *value, int64_t *out, ew_error *err) {
    int64_t v;

    if (!parse_int(value, &v)) return fail(err, EW_EINVAL, "expected a whole number");
    if ((double)v < o->min || (double)v > o->max) return out_of_range(o, (double)v, err);
    *out = v;
    return EW_OK;
}

static ew_status parse_real_in(const option *o, const char *value, double *out, ew_error *err) {
    double v;

    if (!parse_real(value, &v)) return fail(err, EW_EINVAL, "expected a number");
    if (v < o->min || v > o->max) return out_of_range(o, v, err);
    *out = v;
    return EW_OK;
}

static ew_status parse_ints(const option *o, const char *value, int_list *out, ew_error *err) {
    int_list l = {0};

    for (const char *at = value;; at++) {
        const size_t n = strcspn(at, ",");
        char item[24] = {0};
        ew_status rc;

        if (n >= sizeof item || l.n == INT_LIST_MAX)
            return fail(err, EW_EINVAL, "expected up to %d whole numbers with commas between them",
                        INT_LIST_MAX);
        memcpy(item, at, n);
        rc = parse_int_in(o, item, &l.v[l.n++], err);
        if (rc) return rc;
        at += n;
        if (!*at) break;
    }
    *out = l;
    return EW_OK;
}

static ew_status add_text(text_list *l, const char *value, ew_error *err) {
    const char **v = mem_resize((void *)l->v, l->n + 1, sizeof *v);

    if (!v) return fail(err, EW_ENOMEM, "out of memory");
    l->v = v;
    l->v[l->n++] = value;
    return EW_OK;
}

void text_list_fini(text_list *l) {
    mem_free((void *)l->v);
    *l = (text_list){0};
}

static ew_status store(const option *o, void *base, const char *value, ew_error *err) {
    void *at = (char *)base + o->off;

    if (o->parse) {
        const ew_status rc = o->parse(at, value, err);

        if (rc || o->kind == OPT_CALL) return rc;
    }
    switch (o->kind) {
    case OPT_FLAG:
        *(bool *)at = true;
        return EW_OK;
    case OPT_INT:
        return parse_int_in(o, value, at, err);
    case OPT_REAL:
        return parse_real_in(o, value, at, err);
    case OPT_TEXT:
        *(const char **)at = value;
        return EW_OK;
    case OPT_BYTES:
        if (parse_bytes(value, at)) return EW_OK;
        return fail(err, EW_EINVAL, "expected a size such as 512M or 8G");
    case OPT_LIST:
        return add_text(at, value, err);
    case OPT_INTS:
        return parse_ints(o, value, at, err);
    case OPT_CALL:
        break;
    }
    return EW_EINVAL;
}

/* ---- names -------------------------------------------------------------------------------- */

/* The k-th of the names in "-c --ctx-size"; its length in *n, NULL after the last. */
static const char *nth_name(const char *names, size_t k, size_t *n) {
    for (;; k--) {
        names += strspn(names, " ");
        *n = strcspn(names, " ");
        if (*n == 0) return NULL;
        if (k == 0) return names;
        names += *n;
    }
}

static bool has_name(const option *o, const char *name, size_t name_n) {
    size_t n;
    const char *p;

    for (size_t k = 0; (p = nth_name(o->names, k, &n)); k++)
        if (n == name_n && memcmp(p, name, n) == 0) return true;
    return false;
}

static const option *find_option(const usage *u, const char *name, size_t n, void **base) {
    for (size_t g = 0; g < u->n_group; g++) {
        for (size_t i = 0; i < u->groups[g].n; i++) {
            if (!has_name(&u->groups[g].options[i], name, n)) continue;
            *base = u->groups[g].base;
            return &u->groups[g].options[i];
        }
    }
    return NULL;
}

/* Edits (insert, delete, replace, swap neighbours) from a to b; nb at most NAME_MAX_LEN. */
static size_t edit_distance(const char *a, size_t na, const char *b, size_t nb) {
    size_t row[3][NAME_MAX_LEN + 1];

    for (size_t j = 0; j <= nb; j++) row[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = row[i % 3], *prev = row[(i + 2) % 3], *prev2 = row[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = prev[j - 1] + (a[i - 1] != b[j - 1]);

            if (prev[j] + 1 < best) best = prev[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                prev2[j - 2] + 1 < best)
                best = prev2[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[na % 3][nb];
}

void nearest_start(nearest *f, const char *word) {
    /* What is farther than a third of the word away is another word. */
    *f = (nearest){.word = word, .best = strlen(word) / 3 + 1};
}

void nearest_offer(nearest *f, const char *name, size_t n) {
    const size_t word_n = strlen(f->word);
    size_t d;

    if (word_n > NAME_MAX_LEN || n > NAME_MAX_LEN) return;
    d = edit_distance(f->word, word_n, name, n);
    /* A beginning is near whatever is missing: "--repeat" for "--repeat-penalty". */
    if (d > 1 && word_n > 3 && word_n <= n && memcmp(f->word, name, word_n) == 0) d = 1;
    if (d >= f->best) return;
    f->best = d;
    f->name = name;
    f->name_n = n;
}

static int unknown_option(const usage *u, const char *arg, size_t arg_n) {
    char word[NAME_MAX_LEN + 1] = {0};
    nearest f;

    memcpy(word, arg, arg_n < NAME_MAX_LEN ? arg_n : NAME_MAX_LEN);
    nearest_start(&f, word);
    for (size_t g = 0; g < u->n_group; g++) {
        for (size_t i = 0; i < u->groups[g].n; i++) {
            const char *p;
            size_t n;

            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): n options are there */
            for (size_t k = 0; (p = nth_name(u->groups[g].options[i].names, k, &n)); k++)
                nearest_offer(&f, p, n);
        }
    }
    nearest_offer(&f, "--help", 6);
    if (f.name && arg_n > 2)
        return usage_error(u, "unknown option %s; did you mean %.*s?", word, (int)f.name_n, f.name);
    return usage_error(u, "unknown option %s", word);
}

int usage_error(const usage *u, const char *fmt, ...) {
    va_list ap;

    fprintf(stderr, "edgewise %s: ", u->command);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nTry 'edgewise %s --help'.\n", u->command);
    return EXIT_USAGE;
}

/* ---- help --------------------------------------------------------------------------------- */

static void print_option(const option *o) {
    size_t n, width = 2;
    const char *p, *line = o->help;

    fputs("  ", stdout);
    for (size_t k = 0; (p = nth_name(o->names, k, &n)); k++)
        width += (size_t)printf("%s%.*s", k ? ", " : "", (int)n, p);
    if (o->arg) width += (size_t)printf(" %s", o->arg);
    while (line) {
        const char *end = strchr(line, '\n');
        const size_t len = end ? (size_t)(end - line) : strlen(line);

        if (width + 2 > HELP_COLUMN) {
            putchar('\n');
            width = 0;
        }
        printf("%*s%.*s\n", (int)(HELP_COLUMN - width), "", (int)len, line);
        width = 0;
        line = end ? end + 1 : NULL;
    }
}

static void print_examples(const char *text) {
    fputs("\nExamples:\n", stdout);
    while (*text) {
        const size_t n = strcspn(text, "\n");

        printf("  %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void print_help(const usage *u) {
    printf("usage: edgewise %s [OPTION...] %s\n\n%s\n", u->command, u->synopsis, u->about);
    for (size_t g = 0; g < u->n_group; g++) {
        printf("\n%s:\n", u->groups[g].title);
        for (size_t i = 0; i < u->groups[g].n; i++) print_option(&u->groups[g].options[i]);
    }
    if (u->examples) print_examples(u->examples);
}

/* ---- the parser --------------------------------------------------------------------------- */

static bool is_help(const char *arg) {
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

/* Takes the option at argv[*i] and its value. False with *status when it's wrong. */
static bool take_option(const usage *u, int argc, char **argv, int *i, int *status) {
    const char *arg = argv[*i], *value = NULL;
    const size_t n = arg[1] == '-' ? strcspn(arg, "=") : strlen(arg);
    ew_error err = {0};
    void *base = NULL;
    const option *o = find_option(u, arg, n, &base);

    if (!o) {
        *status = unknown_option(u, arg, n);
        return false;
    }
    if (arg[n]) value = arg + n + 1;
    if (o->kind == OPT_FLAG && value) {
        *status = usage_error(u, "option %.*s takes no value", (int)n, arg);
        return false;
    }
    if (o->kind != OPT_FLAG && !value) {
        if (*i + 1 >= argc) {
            *status = usage_error(u, "option %s needs a value (%s)", arg, o->arg);
            return false;
        }
        value = argv[++*i];
    }
    if (store(o, base, value, &err)) {
        *status = usage_error(u, "option %.*s: '%.100s': %s", (int)n, arg, value, err.text);
        return false;
    }
    return true;
}

static bool check_args(const usage *u, int n, char **argv, int *status) {
    if (n < u->min_args) {
        *status =
            usage_error(u, "too few arguments; usage: edgewise %s %s", u->command, u->synopsis);
        return false;
    }
    if (u->max_args >= 0 && n > u->max_args) {
        *status = usage_error(u, "unexpected argument '%.100s'", argv[u->max_args]);
        return false;
    }
    return true;
}

bool options_parse(const usage *u, int *argc, char **argv, int *status) {
    int n = 0;
    bool is_over = false;

    for (int i = 1; i < *argc; i++) {
        char *arg = argv[i];

        if (is_over || arg[0] != '-' || !arg[1]) {
            argv[n++] = arg;
        } else if (strcmp(arg, "--") == 0) {
            is_over = true;
        } else if (is_help(arg)) {
            print_help(u);
            *status = EXIT_OK;
            return false;
        } else if (!take_option(u, *argc, argv, &i, status)) {
            return false;
        }
    }
    *argc = n;
    argv[n] = NULL; /* n < argc: the command's name is gone */
    return check_args(u, n, argv, status);
}

/* The option with this long name without dashes, '_' being '-'. */
static const option *find_plain(const option_group *g, const char *name) {
    char dashed[NAME_MAX_LEN + 1] = "--";
    const size_t n = strlen(name);

    if (n + 2 > NAME_MAX_LEN) return NULL;
    for (size_t i = 0; i <= n; i++) dashed[i + 2] = name[i] == '_' ? '-' : name[i];
    for (size_t i = 0; i < g->n; i++)
        if (has_name(&g->options[i], dashed, n + 2)) return &g->options[i];
    return NULL;
}

bool options_have(const option_group *g, const char *name) {
    return find_plain(g, name) != NULL;
}

bool options_set(const option_group *g, const char *name, const char *value, ew_error *err) {
    const option *o = find_plain(g, name);
    ew_error why = {0};

    if (!o) return !fail(err, EW_EINVAL, "unknown parameter '%.60s'", name);
    if (o->kind == OPT_FLAG && (strcmp(value, "false") == 0 || strcmp(value, "0") == 0)) {
        *(bool *)((char *)g->base + o->off) = false;
        return true;
    }
    if (store(o, g->base, value, &why) == EW_OK) return true;
    return !fail(err, EW_EINVAL, "%s: '%.100s': %s", name, value, why.text);
}

static void show_name(const option *o, const char *before) {
    const char *space = strrchr(o->names, ' ');
    int width = 0;

    fputs(before, stdout);
    for (const char *p = (space ? space + 1 : o->names) + 2; *p; p++, width++)
        putchar(*p == '-' ? '_' : *p);
    printf("%*s ", width < 24 ? 24 - width : 0, "");
}

static void show_option(const option *o, const void *at, const char *before,
                        void (*show_text)(const char *text)) {
    const text_list *l = at;

    switch (o->kind) {
    case OPT_FLAG:
        show_name(o, before);
        puts(*(const bool *)at ? "true" : "false");
        return;
    case OPT_INT:
        show_name(o, before);
        printf("%lld\n", (long long)*(const int64_t *)at);
        return;
    case OPT_REAL:
        show_name(o, before);
        printf("%.6g\n", *(const double *)at);
        return;
    case OPT_LIST:
        for (size_t i = 0; i < l->n; i++) {
            show_name(o, before);
            show_text(l->v[i]);
        }
        return;
    case OPT_TEXT:
    case OPT_BYTES:
    case OPT_INTS:
    case OPT_CALL:
        return;
    }
}

void options_show(const option_group *g, const char *before, void (*show_text)(const char *text)) {
    for (size_t i = 0; i < g->n; i++)
        show_option(&g->options[i], (const char *)g->base + g->options[i].off, before, show_text);
}
