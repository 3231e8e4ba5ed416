/* SPDX-License-Identifier: MIT
 *
 * A Linux machine, read from /proc, /sys and the control groups (versions 1 and 2) that may limit
 * this process: a container's limit, not the host's memory, is what a model must fit in. */
#include "plan/machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
# include <sched.h>
#endif

enum {
    TEXT_MAX = 16384, /* the head of a file in /proc or /sys; what is asked stands in it */
    PATH_BYTES = 4096
};

typedef struct {
    char bytes[TEXT_MAX];
    size_t n;
} text_file;

/* Files in /proc and /sys have no size of their own: read until they end. */
static bool read_text(text_file *t, const char *path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;

    t->n = 0;
    if (fd < 0) return false;
    while (t->n < sizeof t->bytes) {
        got = read(fd, t->bytes + t->n, sizeof t->bytes - t->n);
        if (got <= 0) break;
        t->n += (size_t)got;
    }
    close(fd);
    return got >= 0;
}

static str text_of(const text_file *t) {
    return (str){t->bytes, t->n};
}

static bool read_mask(cpu_mask *out, const char *root, const char *path, text_file *t) {
    char full[PATH_BYTES];

    snprintf(full, sizeof full, "%s%s", root, path);
    return read_text(t, full) && cpu_mask_parse(out, text_of(t));
}

/* The lowest-numbered CPU of the core that `cpu` is a thread of stands for the core. */
static size_t core_of(const char *root, size_t cpu, text_file *t) {
    char path[128];
    cpu_mask threads;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list",
             cpu);
    if (!read_mask(&threads, root, path, t)) return cpu;
    for (size_t i = 0; i < cpu; i++)
        if (cpu_mask_has(&threads, i)) return i;
    return cpu;
}

/* Physical cores among the CPUs that are on line and may be used. Two threads of one core share
 * its arithmetic and its path to memory, so the second adds nothing to a model's speed. Where the
 * kernel tells performance cores from efficiency cores, the former count: work split evenly waits
 * for the slowest. */
static int32_t count_cores(const char *root, const cpu_mask *affinity, text_file *t) {
    cpu_mask online, fast, seen = {0};
    const bool has_online = read_mask(&online, root, "/sys/devices/system/cpu/online", t);
    const bool has_fast = read_mask(&fast, root, "/sys/devices/cpu_core/cpus", t);
    int32_t n = 0, n_fast = 0;

    if (!affinity && !has_online) return 0;
    for (size_t cpu = 0; cpu < MACHINE_MAX_CPU; cpu++) {
        size_t core;

        if (affinity && !cpu_mask_has(affinity, cpu)) continue;
        if (has_online && !cpu_mask_has(&online, cpu)) continue;
        core = core_of(root, cpu, t);
        if (cpu_mask_has(&seen, core)) continue;
        cpu_mask_add(&seen, core);
        n++;
        if (has_fast && cpu_mask_has(&fast, cpu)) n_fast++;
    }
    return n_fast ? n_fast : n;
}

/* ---- control groups --------------------------------------------------------------------------
 *
 * A limit holds for a group and all below it, so the least on the way from the process's group to
 * the root counts. In a container the path may be the host's and not exist here: the part that
 * does (at least the root, which then is the container's own group) is looked at. */

typedef struct {
    double cpus;     /* CPU time a second that the quota allows; 0: no quota */
    uint64_t memory; /* bytes still to be had within the limits; UINT64_MAX: no limit */
} group_limits;

typedef struct {
    const char *root, *mount; /* "/sys/fs/cgroup/memory" */
    char path[PATH_BYTES];    /* the group below mount, "" for the topmost */
    text_file text;
} group;

static bool read_group(group *g, const char *file) {
    char full[2 * PATH_BYTES];

    snprintf(full, sizeof full, "%s%s%s/%s", g->root, g->mount, g->path, file);
    return read_text(&g->text, full);
}

/* The number in a group's file; false for "max", -1, or no such file. */
static bool read_number(group *g, const char *file, uint64_t *out) {
    return read_group(g, file) && machine_numbers(text_of(&g->text), out, 1) == 1;
}

static void limit_cpus(group_limits *l, double quota_us, double period_us) {
    if (quota_us <= 0 || period_us <= 0) return;
    if (l->cpus == 0 || quota_us / period_us < l->cpus) l->cpus = quota_us / period_us;
}

/* Pages of files count as used, but the kernel drops them for those who ask. */
static void limit_memory(group_limits *l, uint64_t limit, uint64_t used, uint64_t file_pages) {
    const uint64_t held = used > file_pages ? used - file_pages : 0;
    const uint64_t left = limit > held ? limit - held : 0;

    if (left < l->memory) l->memory = left;
}

static void read_v2(group *g, group_limits *l) {
    uint64_t limit, used, quota[2];

    if (read_group(g, "cpu.max") && machine_numbers(text_of(&g->text), quota, 2) == 2)
        limit_cpus(l, (double)quota[0], (double)quota[1]);
    if (read_number(g, "memory.max", &limit) && read_number(g, "memory.current", &used)) {
        const bool has = read_group(g, "memory.stat");
        const str stat = text_of(&g->text);

        limit_memory(l, limit, used,
                     has ? machine_value(stat, "inactive_file") + machine_value(stat, "active_file")
                         : 0);
    }
}

static void read_v1_cpu(group *g, group_limits *l) {
    uint64_t quota, period;

    if (read_number(g, "cpu.cfs_quota_us", &quota) && read_number(g, "cpu.cfs_period_us", &period))
        limit_cpus(l, (double)quota, (double)period);
}

static void read_v1_memory(group *g, group_limits *l) {
    uint64_t limit, used;

    /* No limit is a huge number, which is harmless. */
    if (read_number(g, "memory.limit_in_bytes", &limit) &&
        read_number(g, "memory.usage_in_bytes", &used)) {
        const bool has = read_group(g, "memory.stat");
        const str stat = text_of(&g->text);

        limit_memory(l, limit, used,
                     has ? machine_value(stat, "total_inactive_file") +
                               machine_value(stat, "total_active_file")
                         : 0);
    }
}

static void walk_up(group *g, str path, void (*read_one)(group *, group_limits *),
                    group_limits *l) {
    if (path.n >= sizeof g->path) return;
    memcpy(g->path, path.p, path.n);
    g->path[path.n] = 0;
    for (;;) {
        char *slash = strrchr(g->path, '/');

        if (str_is(str_of(g->path), "/")) g->path[0] = 0;
        read_one(g, l);
        if (g->path[0] == 0 || !slash) break;
        *slash = 0;
    }
}

static group_limits read_groups(const char *root, text_file *t) {
    group_limits l = {.memory = UINT64_MAX};
    group g = {.root = root};
    char full[PATH_BYTES];
    str path;

    snprintf(full, sizeof full, "%s/proc/self/cgroup", root);
    if (!read_text(t, full)) return l;
    if (machine_cgroup_path(text_of(t), "", &path)) {
        g.mount = "/sys/fs/cgroup";
        walk_up(&g, path, read_v2, &l);
    }
    if (machine_cgroup_path(text_of(t), "cpu", &path)) {
        g.mount = "/sys/fs/cgroup/cpu";
        walk_up(&g, path, read_v1_cpu, &l);
    }
    if (machine_cgroup_path(text_of(t), "memory", &path)) {
        g.mount = "/sys/fs/cgroup/memory";
        walk_up(&g, path, read_v1_memory, &l);
    }
    return l;
}

void machine_read_linux(ew_machine *out, const char *root, const cpu_mask *affinity) {
    text_file t;
    const group_limits limits = read_groups(root, &t);
    char path[PATH_BYTES];
    uint64_t swap, swap_free;

    out->n_core_usable = count_cores(root, affinity, &t);
    /* Rounded down: a thread that the quota stops keeps all others waiting at the next barrier. */
    if (limits.cpus > 0 && limits.cpus < out->n_core_usable)
        out->n_core_usable = limits.cpus < 1 ? 1 : (int32_t)limits.cpus;

    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (read_text(&t, path)) {
        out->memory_physical = machine_value(text_of(&t), "MemTotal");
        out->memory_available = machine_value(text_of(&t), "MemAvailable");
        swap = machine_value(text_of(&t), "SwapTotal");
        swap_free = machine_value(text_of(&t), "SwapFree");
        out->swap_used = swap > swap_free ? swap - swap_free : 0;
    }
    if (limits.memory < out->memory_available) out->memory_available = limits.memory;

    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    if (read_text(&t, path)) machine_cpu_name(text_of(&t), out->cpu_name, sizeof out->cpu_name);
}

#ifdef __linux__
void machine_read_system(ew_machine *out) {
    cpu_set_t set[MACHINE_MAX_CPU / CPU_SETSIZE];
    cpu_mask affinity = {0};
    const bool is_known = sched_getaffinity(0, sizeof set, set) == 0;

    for (size_t cpu = 0; is_known && cpu < MACHINE_MAX_CPU; cpu++)
        if (CPU_ISSET_S(cpu, sizeof set, set)) cpu_mask_add(&affinity, cpu);
    machine_read_linux(out, "", is_known ? &affinity : NULL);
}
#endif
