/* SPDX-License-Identifier: MIT
 *
 * What else happened on the machine while something was measured: counters of the system are read
 * before and after, and the difference is judged. Only what spoils a speed figure is looked at. */
#ifndef EW_CLI_WATCH_H
#define EW_CLI_WATCH_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Counters at one moment; those that the system doesn't tell stay 0. */
typedef struct {
    uint64_t t_us;            /* monotonic clock */
    uint64_t busy_us;         /* CPU time of everybody, all cores together */
    uint64_t own_us;          /* CPU time of this process */
    uint64_t steal_us;        /* time a hypervisor gave to others */
    uint64_t quota_us;        /* time this process was held back by a CPU quota */
    uint64_t swap_pages;      /* pages swapped in and out */
    uint64_t major_faults;    /* pages this process had to fetch from disk */
    uint64_t throttle_events; /* cores and packages slowed down for heat */
    double temp_c;            /* hottest zone; 0: not known */
    bool on_battery;
    bool sees_cpu, sees_swap, sees_heat; /* which of these the system tells */
} watch;

/* What spoiled a run, as bits. */
enum {
    WATCH_BUSY = 1,  /* another process used more than a tenth of a core */
    WATCH_STEAL = 2, /* the hypervisor took more than 2 % of a core */
    WATCH_QUOTA = 4,
    WATCH_SWAP = 8,
    WATCH_DISK = 16, /* the model had to be read from disk */
    WATCH_HEAT = 32,
    WATCH_BATTERY = 64
};

/* root: where /proc and /sys are looked for; "" for this machine, a folder in tests. */
void watch_read(watch *w, const char *root);

/* Judges what happened from a to b. CPU figures are judged only over 0.3 s and more, as the system
 * counts in steps of 10 ms. why (may be NULL) gets one phrase for each bit, joined by "; ". */
unsigned watch_judge(const watch *a, const watch *b, strbuf *why);

/* Peak resident memory of this process in bytes, and its resident memory now (0: not told). */
uint64_t watch_peak_memory(void);
uint64_t watch_memory(void);
/* Starts the peak anew where the system can (Linux). */
bool watch_reset_peak(void);

#endif
