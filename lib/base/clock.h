/* SPDX-License-Identifier: MIT */
#ifndef EW_BASE_CLOCK_H
#define EW_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_us(void); /* monotonic, microseconds */

#endif
