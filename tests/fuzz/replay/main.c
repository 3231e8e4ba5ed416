/* SPDX-License-Identifier: MIT
 *
 * Runs a fuzz target over its corpus with any compiler: each file as it is, cut short, and with
 * bytes changed. The changes are the same in every run (fixed seed), so that a failure stays.
 * An input is copied to memory of exactly its size: reading past it is seen by the sanitizers. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MAX_BYTES = 16 << 20,
    N_CUT = 32,      /* lengths tried for each file */
    N_CHANGE = 64,   /* changed copies of each file */
    MAX_SECONDS = 10 /* no more changes after that; every file still runs as it is */
};

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void) { /* xorshift64 */
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void run(const uint8_t *data, size_t n) {
    uint8_t *copy = malloc(n ? n : 1);

    if (!copy) exit(2);
    memcpy(copy, data, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

/* The values that find mistakes: borders of the integer types, and any. */
static uint8_t random_byte(void) {
    static const uint8_t border[] = {0, 1, 0x7F, 0x80, 0xFE, 0xFF};
    const uint64_t r = random_next();

    return r & 1 ? border[(r >> 8) % sizeof border] : (uint8_t)(r >> 8);
}

static void run_changed(uint8_t *data, size_t n) {
    uint8_t *changed = malloc(n ? n : 1);

    if (!changed) exit(2);
    for (size_t i = 0; i < N_CUT && n; i++) run(data, (size_t)(random_next() % n));
    for (size_t i = 0; i < N_CHANGE && n; i++) {
        /* Half of the changes hit the first bytes, where headers and counts are. */
        const size_t within = i % 2 && n > 256 ? 256 : n;
        const size_t n_byte = (size_t)(random_next() % 8 + 1),
                     at = (size_t)(random_next() % within);

        memcpy(changed, data, n);
        for (size_t b = at; b < n && b < at + n_byte; b++) changed[b] = random_byte();
        run(changed, n);
    }
    free(changed);
}

static void run_file(const char *path, const struct timespec *start) {
    uint8_t *data = malloc(MAX_BYTES);
    FILE *f = fopen(path, "rb");
    struct timespec now;
    size_t n;

    if (!data || !f) {
        perror(path);
        exit(2);
    }
    n = fread(data, 1, MAX_BYTES, f);
    fclose(f);
    /* Said before it runs: the last line of a crash names its input. */
    printf("# %s\n", path);
    fflush(stdout);
    run(data, n);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - start->tv_sec < MAX_SECONDS) run_changed(data, n);
    free(data);
}

/* tests/fuzz/corpus/NAME for a program .../NAME, or the folder given. */
int main(int argc, char **argv) {
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    struct dirent **entries = NULL;
    struct timespec start;
    char path[4096];
    int n, n_file = 0;

    clock_gettime(CLOCK_MONOTONIC, &start);
    if (argc > 1)
        snprintf(path, sizeof path, "%s", argv[1]);
    else
        snprintf(path, sizeof path, "tests/fuzz/corpus/%s", name);
    n = scandir(path, &entries, NULL, alphasort);
    if (n < 0) {
        perror(path);
        return 2;
    }
    printf("1..1\n");
    run((const uint8_t *)"", 0);
    for (int i = 0; i < n; i++) {
        char file[8192];

        if (entries[i]->d_name[0] != '.') {
            snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
            run_file(file, &start);
            n_file++;
        }
        free(entries[i]);
    }
    free(entries);
    printf(n_file ? "ok 1 - %s: %d inputs\n" : "not ok 1 - %s: %d inputs\n", name, n_file);
    return n_file ? 0 : 1;
}
