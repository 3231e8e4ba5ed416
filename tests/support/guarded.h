/* SPDX-License-Identifier: MIT
 *
 * Memory that ends at a page which must not be touched: a read or a write past the end traps in any
 * build. What stands before it is checked for writes. */
#ifndef EW_TESTS_SUPPORT_GUARDED_H
#define EW_TESTS_SUPPORT_GUARDED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    void *data; /* size bytes, filled with 0xa5; the end is exact, so alignment follows from size */
    size_t size;
    void *map;
    size_t map_size;
} guarded;

guarded guarded_new(size_t size); /* data NULL: out of memory */
bool guarded_intact(const guarded *g);
void guarded_free(guarded *g);

#endif
