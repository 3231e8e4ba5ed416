/* SPDX-License-Identifier: MIT
 *
 * A fuzz target: tests/fuzz/NAME.c defines this function, with its inputs in
 * tests/fuzz/corpus/NAME/. `make test` replays them (replay/main.c), `make fuzz T=NAME S=60` looks
 * for new ones. */
#ifndef EW_TESTS_FUZZ_H
#define EW_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Must survive any bytes; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
