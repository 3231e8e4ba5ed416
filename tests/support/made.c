/* SPDX-License-Identifier: MIT */
#include "tests/support/made.h"

#include <dirent.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    MAX_MODEL = 128,
    MAX_PATH = 64,
    MAX_ARG = 64
};

extern char **environ;

static char folder[64];
static struct { char args[512], path[128]; } made[MAX_MODEL];
static size_t n_made;

static void make_folder(void) {
    if (folder[0]) return;
    snprintf(folder, sizeof folder, "/tmp/edgewise-test-XXXXXX");
    if (!mkdtemp(folder)) fail_msg("no temporary folder");
    atexit(made_cleanup);
}

void made_cleanup(void) {
    DIR *d = folder[0] ? opendir(folder) : NULL;

    if (!d) return;
    for (struct dirent *e; (e = readdir(d));) {
        char path[512];

        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    closedir(d);
    rmdir(folder);
    folder[0] = 0;
    n_made = 0;
}

const char *made_path(const char *name) {
    static char kept[MAX_PATH][256];
    static size_t n;
    char path[256];

    make_folder();
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(kept[i], path)) return kept[i];
    assert_in_range(n, 0, MAX_PATH - 1);
    memcpy(kept[n], path, sizeof path);
    return kept[n++];
}

/* Appends the words of text (which is cut up) to argv. */
static int add_words(char **argv, int n, char *text) {
    char *save = NULL;

    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        if (n >= MAX_ARG - 2) fail_msg("too many words");
        argv[n++] = w;
    }
    return n;
}

/* `make test` tells the build folder in B and, for another processor, an emulator in EW_RUNNER. */
static void run_tool(const char *args, char *path) {
    const char *build = getenv("B"), *runner = getenv("EW_RUNNER");
    char tool[512], words[512], emulator[256], *argv[MAX_ARG];
    int n = 0, rc, status;
    pid_t pid;

    snprintf(tool, sizeof tool, "%s/mkmodel", build ? build : "build/release");
    snprintf(words, sizeof words, "%s", args);
    snprintf(emulator, sizeof emulator, "%s", runner ? runner : "");
    n = add_words(argv, n, emulator);
    argv[n++] = tool;
    n = add_words(argv, n, words);
    argv[n++] = path;
    argv[n] = NULL;
    rc = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (rc) fail_msg("%s: %s", tool, strerror(rc));
    if (waitpid(pid, &status, 0) < 0 || status) fail_msg("%s %s: status %d", tool, args, status);
}

const char *made_model(const char *args) {
    for (size_t i = 0; i < n_made; i++)
        if (!strcmp(made[i].args, args)) return made[i].path;
    assert_in_range(n_made, 0, MAX_MODEL - 1);
    make_folder();
    snprintf(made[n_made].args, sizeof made[0].args, "%s", args);
    snprintf(made[n_made].path, sizeof made[0].path, "%s/model-%zu.gguf", folder, n_made);
    run_tool(args, made[n_made].path);
    return made[n_made++].path;
}

void must(ew_status rc, const ew_error *err) {
    if (rc) fail_msg("%s: %s", ew_status_name(rc), err->text);
}

ew_engine *made_engine(int32_t n_threads) {
    ew_engine_options o;
    ew_engine *e;
    ew_error err = {0};

    ew_engine_defaults(&o);
    o.n_threads = n_threads;
    must(ew_engine_new(&e, &o, &err), &err);
    return e;
}

ew_model *made_open(ew_engine *e, const char *path, bool is_float) {
    ew_model_options o;
    ew_model *m;
    ew_error err = {0};

    ew_model_defaults(&o);
    o.float_activations = is_float;
    must(ew_model_open(&m, e, path, &o, &err), &err);
    return m;
}

ew_session *made_session(ew_model *m, uint32_t ctx_tokens, uint32_t chunk_tokens,
                         uint32_t page_tokens, ew_kv_type kv) {
    ew_session_options o;
    ew_session *s;
    ew_error err = {0};

    ew_session_defaults(&o);
    if (ctx_tokens) o.ctx_tokens = ctx_tokens;
    if (chunk_tokens) o.chunk_tokens = chunk_tokens;
    if (page_tokens) o.page_tokens = page_tokens;
    o.type_k = o.type_v = kv;
    must(ew_session_new(&s, m, &o, &err), &err);
    return s;
}

void made_ids(int32_t *out, size_t n, int32_t n_vocab, uint64_t seed) {
    uint64_t x = seed * 0x9E3779B97F4A7C15u + 1;

    for (size_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator */
        out[i] = (int32_t)((x >> 33) % (uint64_t)n_vocab);
    }
}
