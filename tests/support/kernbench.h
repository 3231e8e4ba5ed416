/* SPDX-License-Identifier: MIT */
#ifndef EW_TESTS_SUPPORT_KERNBENCH_H
#define EW_TESTS_SUPPORT_KERNBENCH_H

/* Prints time and rate of every kernel, plain C and this machine's best in turn; filter: only names
 * that contain it, NULL for all. Returns a process's exit status. */
#include <stdint.h>

int kern_bench(const char *filter, uint32_t features);

#endif
