/* SPDX-License-Identifier: MIT
 *
 * For targets that open a path: the input as a file. */
#ifndef EW_TESTS_FUZZ_TMP_H
#define EW_TESTS_FUZZ_TMP_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char fuzz_path[] = "/tmp/edgewise-fuzz-XXXXXX";

static void fuzz_remove(void) {
    unlink(fuzz_path);
}

/* One file for the whole run, written anew; removed at exit. */
static const char *fuzz_file(const uint8_t *data, size_t size) {
    static int fd = -1;

    if (fd < 0) {
        fd = mkstemp(fuzz_path);
        if (fd < 0) abort();
        atexit(fuzz_remove);
    }
    if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size) abort();
    return fuzz_path;
}

#endif
