/* SPDX-License-Identifier: MIT
 *
 * Linux tells through /proc and /sys, a Mac through Mach and sysctl (not of heat); the sees_*
 * members say what was told. */
#include "cli/watch.h"

#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __APPLE__
# include <mach/mach.h>
#endif

enum {
    MAX_CORES = 1024, /* cores and zones asked, so that an odd tree ends */
    MAX_ZONES = 64,
    HOT_C = 90,       /* from here processors begin to slow down */
    JUDGE_US = 300000 /* shorter spans can't be told from the 10 ms steps of the counters */
};

/* A file of /proc or /sys (they have no size) as a terminated string; false when there is none. */
static bool slurp(const char *root, const char *path, char *buf, size_t cap) {
    char full[512];
    size_t n = 0;
    int fd;

    snprintf(full, sizeof full, "%s%s", root, path);
    fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    while (n + 1 < cap) {
        const ssize_t got = read(fd, buf + n, cap - 1 - n);

        if (got <= 0) break;
        n += (size_t)got;
    }
    close(fd);
    buf[n] = 0;
    return n > 0;
}

/* The number after `key ` at the start of a line; 0 when there is none. */
static uint64_t field(const char *text, const char *key) {
    const size_t n = strlen(key);

    for (const char *p = text; p; p = strchr(p, '\n')) {
        if (*p == '\n') p++;
        if (strncmp(p, key, n) == 0 && (p[n] == ' ' || p[n] == '\t'))
            return strtoull(p + n, NULL, 10);
    }
    return 0;
}

static bool number(const char *root, const char *path, uint64_t *out) {
    char buf[64], *end;

    if (!slurp(root, path, buf, sizeof buf)) return false;
    *out = strtoull(buf, &end, 10);
    return end != buf;
}

/* cpu user nice system idle iowait irq softirq steal; guest time is in user already. */
static void read_cpu(watch *w, const char *root) {
    const long hz = sysconf(_SC_CLK_TCK);
    const uint64_t tick_us = hz > 0 ? 1000000u / (uint64_t)hz : 10000;
    uint64_t v[8] = {0};
    char buf[4096], *p = buf;

    if (!slurp(root, "/proc/stat", buf, sizeof buf) || strncmp(buf, "cpu ", 4) != 0) return;
    p += 4;
    for (int i = 0; i < 8; i++) v[i] = strtoull(p, &p, 10);
    w->busy_us = (v[0] + v[1] + v[2] + v[5] + v[6]) * tick_us;
    w->steal_us = v[7] * tick_us;
    w->sees_cpu = true;
}

static void read_own(watch *w) {
    struct rusage u;

    if (getrusage(RUSAGE_SELF, &u) != 0) return;
    w->own_us = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u +
                (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    w->major_faults = (uint64_t)u.ru_majflt;
}

static void read_heat(watch *w, const char *root) {
    char path[128];
    uint64_t n;

    for (int cpu = 0; cpu < MAX_CORES; cpu++) {
        static const char *const kinds[] = {"core", "package"};
        bool any = false;

        for (int k = 0; k < 2; k++) {
            snprintf(path, sizeof path,
                     "/sys/devices/system/cpu/cpu%d/thermal_throttle/%s_throttle_count", cpu,
                     kinds[k]);
            if (!number(root, path, &n)) continue;
            w->throttle_events += n;
            any = w->sees_heat = true;
        }
        if (!any) break;
    }
    for (int zone = 0; zone < MAX_ZONES; zone++) {
        snprintf(path, sizeof path, "/sys/class/thermal/thermal_zone%d/temp", zone);
        if (!number(root, path, &n)) break;
        if ((double)n / 1000.0 > w->temp_c) w->temp_c = (double)n / 1000.0;
        w->sees_heat = true;
    }
}

static void read_power(watch *w, const char *root) {
    static const char *const mains[] = {"AC", "ACAD", "ADP0", "ADP1"};
    char path[128];
    uint64_t online;

    for (size_t i = 0; i < sizeof mains / sizeof *mains; i++) {
        snprintf(path, sizeof path, "/sys/class/power_supply/%s/online", mains[i]);
        if (number(root, path, &online)) w->on_battery = online == 0;
    }
}

#ifdef __APPLE__
static void read_mac(watch *w) {
    ew_machine m = {.size = sizeof m};
    host_cpu_load_info_data_t load;
    mach_msg_type_number_t n = HOST_CPU_LOAD_INFO_COUNT;
    const mach_port_t host = mach_host_self();

    if (host_statistics(host, HOST_CPU_LOAD_INFO, (host_info_t)&load, &n) == KERN_SUCCESS) {
        /* 32-bit counts of 10 ms; a difference over their end counts as nothing. */
        w->busy_us = ((uint64_t)load.cpu_ticks[CPU_STATE_USER] + load.cpu_ticks[CPU_STATE_SYSTEM] +
                      load.cpu_ticks[CPU_STATE_NICE]) *
                     10000u;
        w->sees_cpu = true;
    }
    mach_port_deallocate(mach_task_self(), host);
    ew_machine_read(&m);
    w->swap_pages = m.swap_used / 4096; /* what it grows by */
    w->sees_swap = m.memory_physical > 0;
}
#endif

void watch_read(watch *w, const char *root) {
    char buf[32768]; /* vmstat is some 5 KB */

    *w = (watch){.t_us = clock_us()};
    read_own(w);
    read_cpu(w, root);
    if (slurp(root, "/proc/vmstat", buf, sizeof buf)) {
        w->swap_pages = field(buf, "pswpin") + field(buf, "pswpout");
        w->sees_swap = true;
    }
    if (slurp(root, "/sys/fs/cgroup/cpu.stat", buf, sizeof buf))
        w->quota_us = field(buf, "throttled_usec");
    read_heat(w, root);
    read_power(w, root);
#ifdef __APPLE__
    if (!*root) read_mac(w);
#endif
}

/* Counters can go back (a core that went offline): that counts as nothing. */
static uint64_t grown(uint64_t from, uint64_t to) {
    return to > from ? to - from : 0;
}

static void add_phrase(strbuf *why, unsigned *bits, unsigned bit, const char *phrase) {
    if (why) {
        if (*bits) strbuf_puts(why, "; ");
        strbuf_puts(why, phrase);
    }
    *bits |= bit;
}

static unsigned judge_cpu(const watch *a, const watch *b, strbuf *why, unsigned bits) {
    const double wall = (double)grown(a->t_us, b->t_us);
    const double others = (double)grown(a->busy_us, b->busy_us) - (double)(b->own_us - a->own_us);
    const double stolen = (double)grown(a->steal_us, b->steal_us);
    char text[128];

    if (wall < (double)JUDGE_US) return bits;
    if (others > 0.1 * wall) {
        snprintf(text, sizeof text, "other processes used %.0f %% of a core",
                 100.0 * others / wall);
        add_phrase(why, &bits, WATCH_BUSY, text);
    }
    if (stolen > 0.02 * wall) {
        snprintf(text, sizeof text, "the hypervisor took %.0f %% of a core", 100.0 * stolen / wall);
        add_phrase(why, &bits, WATCH_STEAL, text);
    }
    return bits;
}

unsigned watch_judge(const watch *a, const watch *b, strbuf *why) {
    const uint64_t swapped = grown(a->swap_pages, b->swap_pages);
    const uint64_t faults = grown(a->major_faults, b->major_faults);
    const uint64_t quota = grown(a->quota_us, b->quota_us);
    unsigned bits = judge_cpu(a, b, why, 0);
    char text[128];

    if (quota) {
        snprintf(text, sizeof text, "a CPU quota held threads back for %.0f ms",
                 (double)quota / 1e3);
        add_phrase(why, &bits, WATCH_QUOTA, text);
    }
    if (swapped) {
        snprintf(text, sizeof text, "%llu pages were swapped", (unsigned long long)swapped);
        add_phrase(why, &bits, WATCH_SWAP, text);
    }
    if (faults) {
        snprintf(text, sizeof text, "%llu pages were read from disk", (unsigned long long)faults);
        add_phrase(why, &bits, WATCH_DISK, text);
    }
    if (b->throttle_events > a->throttle_events || b->temp_c >= (double)HOT_C) {
        if (b->temp_c > 0)
            snprintf(text, sizeof text, "heat slowed the processor down or is about to (%.0f C)",
                     b->temp_c);
        else
            snprintf(text, sizeof text, "heat slowed the processor down");
        add_phrase(why, &bits, WATCH_HEAT, text);
    }
    if (b->on_battery) add_phrase(why, &bits, WATCH_BATTERY, "the machine runs on battery");
    return bits;
}

uint64_t watch_peak_memory(void) {
    struct rusage u;
    char buf[8192];

    /* VmHWM follows watch_reset_peak(), ru_maxrss does not. */
    if (slurp("", "/proc/self/status", buf, sizeof buf)) return field(buf, "VmHWM:") * 1024;
    if (getrusage(RUSAGE_SELF, &u) != 0) return 0;
#ifdef __APPLE__
    return (uint64_t)u.ru_maxrss;
#else
    return (uint64_t)u.ru_maxrss * 1024;
#endif
}

uint64_t watch_memory(void) {
    char buf[8192];

    return slurp("", "/proc/self/status", buf, sizeof buf) ? field(buf, "VmRSS:") * 1024 : 0;
}

bool watch_reset_peak(void) {
    const int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    bool done;

    if (fd < 0) return false;
    done = write(fd, "5", 1) == 1;
    close(fd);
    return done;
}
