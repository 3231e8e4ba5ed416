/* SPDX-License-Identifier: MIT
 *
 * An arena: many small objects that die together. They come from chunks, zeroed; nothing is freed
 * before the whole. The sum of the chunks has a maximum given when the arena is made. */
#ifndef EW_BASE_ARENA_H
#define EW_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arena_chunk arena_chunk;

typedef struct {
    arena_chunk *chunks; /* the newest first */
    uint8_t *at, *end;   /* what is left of the newest */
    size_t used, max;    /* bytes of all chunks, and allowed */
    bool is_over;        /* the last failure was the maximum and not the system's */
} arena;

void arena_init(arena *a, size_t max_bytes);
void arena_fini(arena *a);

/* count * size zeroed bytes, aligned for any type; NULL when out of memory or over the maximum. A
 * request of 0 bytes gives a valid pointer. */
void *arena_get(arena *a, size_t count, size_t size);

#endif
