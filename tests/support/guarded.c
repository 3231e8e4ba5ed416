/* SPDX-License-Identifier: MIT */
#include "tests/support/guarded.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    BEFORE = 256, /* bytes checked in front */
    FILL = 0xa5,
    POOL = 16,             /* maps kept for the next: mapping costs more than most checks */
    POOL_BODY = 256 * 1024 /* of a kept map, without the guard page; larger ones are not kept */
};

static void *pool[POOL];
static int n_pool;

/* body bytes and a page that traps. */
static uint8_t *map_new(size_t body, size_t page) {
    uint8_t *p;

    if (body == POOL_BODY && n_pool) return pool[--n_pool];
    p = mmap(NULL, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    mprotect(p + body, page, PROT_NONE);
    return p;
}

guarded guarded_new(size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t need = (size + BEFORE + page - 1) / page * page;
    const size_t body = need < POOL_BODY ? POOL_BODY : need;
    uint8_t *p = map_new(body, page);
    guarded g = {0};

    if (!p) return g;
    memset(p + body - size - BEFORE, FILL, size + BEFORE);
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
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (g->map_size == POOL_BODY + page && n_pool < POOL) {
        pool[n_pool++] = g->map;
    } else if (g->map) {
        munmap(g->map, g->map_size);
    }
    *g = (guarded){0};
}
