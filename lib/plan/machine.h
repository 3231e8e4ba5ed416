/* SPDX-License-Identifier: MIT
 *
 * What the machine offers. The systems tell it in text files (Linux) or calls (macOS); what can be
 * a pure function of text is one, and the Linux reader takes the folder in which /proc and /sys
 * lie, so that tests show it machines that are not here. */
#ifndef EW_PLAN_MACHINE_H
#define EW_PLAN_MACHINE_H

#include "base/str.h"

enum {
    MACHINE_MAX_CPU = 8192 /* Linux's own limit (NR_CPUS) */
};

/* A set of logical CPUs by the system's numbers. */
typedef struct {
    uint64_t bits[MACHINE_MAX_CPU / 64];
} cpu_mask;

static inline bool cpu_mask_has(const cpu_mask *m, size_t cpu) {
    return m->bits[cpu / 64] >> cpu % 64 & 1;
}
static inline void cpu_mask_add(cpu_mask *m, size_t cpu) {
    m->bits[cpu / 64] |= (uint64_t)1 << cpu % 64;
}

/* A list as in /sys: "0-3,8\n". False when it is none, or names a CPU past MACHINE_MAX_CPU. */
bool cpu_mask_parse(cpu_mask *out, str list);

/* The value of a line "KEY: 123 kB" (in bytes) or "KEY 123" (as it is); 0 when absent. */
uint64_t machine_value(str text, const char *key);

/* How many of the first n words of the text are numbers, and these: stops at the first that is not.
 */
size_t machine_numbers(str text, uint64_t *out, size_t n);

/* The processor's name in /proc/cpuinfo, cut to the buffer; "" when it has none. */
void machine_cpu_name(str cpuinfo, char *out, size_t out_n);

/* The path in a line of /proc/self/cgroup: version 2 has "0::/path", version 1 a line for each
 * controller, "4:cpu,cpuacct:/path". controller: "" for version 2. False when there is none. */
bool machine_cgroup_path(str cgroups, const char *controller, str *path);

/* Fills out from the system whose root folder is `root` ("" for this one). affinity: the CPUs that
 * this process may use; NULL: all. */
void machine_read_linux(ew_machine *out, const char *root, const cpu_mask *affinity);

/* Fills out from the running system; what can't be told stays 0. One a system. */
void machine_read_system(ew_machine *out);

#endif
