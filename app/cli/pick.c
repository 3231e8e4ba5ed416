/* SPDX-License-Identifier: MIT */
#include "cli/pick.h"

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/term.h"
#include "store/find.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* A small chat model under a free licence, to begin with: 0.5 GB, runs anywhere. */
static const char help_text[] =
    "No model was found on this machine. edgewise runs GGUF files; to get a small one (491 MB,\n"
    "Apache 2.0) into the folder where it looks first:\n"
    "\n"
    "  mkdir -p models\n"
    "  curl -L -o models/qwen2.5-0.5b-instruct-q4_k_m.gguf \\\n"
    "    https://huggingface.co/Qwen/Qwen2.5-0.5B-Instruct-GGUF/resolve/main/"
    "qwen2.5-0.5b-instruct-q4_k_m.gguf\n"
    "\n"
    "Then:\n"
    "\n"
    "  edgewise run                                   uses what is in models/\n"
    "  edgewise run models/FILE.gguf                  any file, anywhere\n"
    "  make run MODEL=models/FILE.gguf                the same from the source folder\n"
    "\n"
    "Models of Ollama, LM Studio, llama.cpp and the Hugging Face cache are found where those\n"
    "programs keep them.\n";

static void print_models(const found_list *l) {
    char size[24];

    for (size_t i = 0; i < l->n; i++)
        fprintf(stderr, "  %2zu  %-44s %12s  %s\n", i + 1, l->v[i].name,
                size_text(size, l->v[i].bytes), l->v[i].source);
}

/* Asks until the answer is a number of the list; an empty line takes the first. NULL at the end of
 * input. */
static const found_model *ask_model(const found_list *l) {
    char line[64];
    int64_t n;

    print_models(l);
    for (;;) {
        fprintf(stderr, "Which model? [1] ");
        fflush(stderr);
        if (!fgets(line, sizeof line, stdin)) return NULL;
        line[strcspn(line, "\n")] = 0;
        if (!line[0]) return &l->v[0];
        if (parse_int(line, &n) && n >= 1 && (uint64_t)n <= l->n) return &l->v[n - 1];
        fprintf(stderr, "A number from 1 to %zu, please.\n", l->n);
    }
}

static const found_model *choose_model(const found_list *l, bool may_lack, int *status) {
    char size[24];

    *status = EXIT_OK;
    if (l->n == 0) {
        fputs(help_text, may_lack ? stdout : stderr);
        if (l->denied[0]) say_note("%s exists, but may not be read by you", l->denied);
        if (!may_lack) *status = say_failure("no model to run");
        return NULL;
    }
    if (l->n > 1 && term_is_tty(stdin) && term_is_tty(stderr)) {
        const found_model *m = ask_model(l);

        if (!m) *status = say_failure("no model chosen");
        return m;
    }
    if (l->n > 1) {
        say_note("%zu models found; taking the most recent (name another to choose):", l->n);
        print_models(l);
    }
    say_note("using %s (%s, %s)", l->v[0].name, size_text(size, l->v[0].bytes), l->v[0].source);
    return &l->v[0];
}

static const found_model *named_model(const found_list *l, const char *name, int *status) {
    const found_model *m = find_by_name(l, name);
    nearest f;

    *status = EXIT_OK;
    if (m) return m;
    nearest_start(&f, name);
    for (size_t i = 0; i < l->n; i++) nearest_offer(&f, l->v[i].name, strlen(l->v[i].name));
    if (strchr(name, '/'))
        *status = say_failure("%s: No such file or directory", name);
    else if (f.name)
        *status = say_failure("%s: no such file, and no model of that name here; did you mean %s?",
                              name, f.name);
    else
        *status = say_failure(
            "%s: no such file, and no model of that name among the %zu found here", name, l->n);
    return NULL;
}

char *pick_model(const char *name, bool may_lack, int *status) {
    const found_model *m;
    find_places places;
    found_list list;
    struct stat st;
    ew_error err = {0};
    char *path = NULL;

    *status = EXIT_OK;
    /* Whatever stat says of a path but "there is none" is better said by opening it. */
    if (name && (stat(name, &st) == 0 || (errno != ENOENT && errno != ENOTDIR)))
        return mem_copy_str(name, strlen(name));
    find_places_init(&places);
    if (find_models(&list, &places, &err)) {
        *status = say_error(&err);
    } else {
        m = name ? named_model(&list, name, status) : choose_model(&list, may_lack, status);
        if (m) path = mem_copy_str(m->path, strlen(m->path));
    }
    found_list_fini(&list);
    find_places_fini(&places);
    return path;
}
