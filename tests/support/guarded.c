/* SPDX-License-Identifier: MIT */
#include "tests/support/guarded.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    BEFORE = 256, /* bytes checked in front */
    FILL = 0xa5
};

guarded guarded_new(size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t body = (size + BEFORE + page - 1) / page * page;
    guarded g = {0};
    uint8_t *p =
        mmap(NULL, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) return g;
    memset(p + body - size - BEFORE, FILL, size + BEFORE);
    mprotect(p + body, page, PROT_NONE);
    g.data = p + body - size;
    g.size = size;
    g.map = p;
    g.map_size = body + page;
    return g;
}

bool guarded_intact(const guarded *g) {
    const uint8_t *p = (const uint8_t *)g->data - BEFORE;

    for (size_t i = 0; i < BEFORE; i++) {
        if (p[i] != FILL) return false;
    }
    return true;
}

void guarded_free(guarded *g) {
    if (g->map) munmap(g->map, g->map_size);
    *g = (guarded){0};
}
