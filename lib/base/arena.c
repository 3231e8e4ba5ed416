/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include "base/mem.h"

struct arena_chunk {
    arena_chunk *next;
    _Alignas(max_align_t) uint8_t data[];
};

enum {
    ALIGN = _Alignof(max_align_t),
    CHUNK_MIN = 4 << 10,
    CHUNK_MAX = 1 << 20 /* chunks double up to this size */
};

void arena_init(arena *a, size_t max_bytes) {
    *a = (arena){.max = max_bytes};
}

void arena_fini(arena *a) {
    for (arena_chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        mem_free(c);
    }
    *a = (arena){0};
}

/* A chunk with n bytes of data; NULL: over the maximum, or no memory. */
static arena_chunk *add_chunk(arena *a, size_t n) {
    arena_chunk *c;

    a->is_over = n > a->max - a->used;
    if (a->is_over) return NULL;
    c = mem_array(1, sizeof *c + n);
    if (!c) return NULL;
    a->used += n;
    c->next = a->chunks;
    a->chunks = c;
    return c;
}

static size_t chunk_size(const arena *a) {
    const size_t want = a->used < CHUNK_MIN ? CHUNK_MIN : a->used > CHUNK_MAX ? CHUNK_MAX : a->used;
    const size_t left = a->max - a->used;

    return want < left ? want : left / ALIGN * ALIGN;
}

void *arena_get(arena *a, size_t count, size_t size) {
    arena_chunk *c;
    size_t n;
    void *p;

    if (size && count > (SIZE_MAX / 2) / size) {
        a->is_over = true;
        return NULL;
    }
    n = (count * size + ALIGN - 1) / ALIGN * ALIGN;
    if (n == 0) n = ALIGN;
    if (n > (size_t)(a->end - a->at)) {
        const size_t usual = chunk_size(a);

        c = add_chunk(a, n > usual / 4 ? n : usual);
        if (!c) return NULL;
        /* A large object has its chunk to itself, and the newest goes on being used. */
        if (n > usual / 4) return c->data;
        a->at = c->data;
        a->end = c->data + usual;
    }
    p = a->at;
    a->at += n;
    return p;
}
