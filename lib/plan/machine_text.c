/* SPDX-License-Identifier: MIT
 *
 * The texts in which Linux describes a machine. */
#include "plan/machine.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Cuts a decimal number off the front; false when there is none or it does not fit. */
static bool take_number(str *s, uint64_t *out) {
    uint64_t v = 0;
    size_t i = 0;

    for (; i < s->n && is_digit(s->p[i]); i++) {
        const uint64_t digit = (uint64_t)(s->p[i] - '0');

        if (v > (UINT64_MAX - digit) / 10) return false;
        v = v * 10 + digit;
    }
    if (i == 0) return false;
    *s = (str){s->p + i, s->n - i};
    *out = v;
    return true;
}

static bool take_char(str *s, char c) {
    if (s->n == 0 || s->p[0] != c) return false;
    *s = (str){s->p + 1, s->n - 1};
    return true;
}

static str trim(str s) {
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t')) s = (str){s.p + 1, s.n - 1};
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t')) s.n--;
    return s;
}

static bool take_line(str *text, str *line) {
    size_t n = 0;

    if (text->n == 0) return false;
    while (n < text->n && text->p[n] != '\n') n++;
    *line = (str){text->p, n};
    *text = n < text->n ? (str){text->p + n + 1, text->n - n - 1} : (str){text->p + n, 0};
    return true;
}

bool cpu_mask_parse(cpu_mask *out, str list) {
    uint64_t first, last;

    *out = (cpu_mask){0};
    do {
        if (!take_number(&list, &first)) return false;
        last = first;
        if (take_char(&list, '-') && !take_number(&list, &last)) return false;
        if (last < first || last >= MACHINE_MAX_CPU) return false;
        for (uint64_t cpu = first; cpu <= last; cpu++) cpu_mask_add(out, (size_t)cpu);
    } while (take_char(&list, ','));
    return list.n == 0 || list.p[0] == '\n';
}

uint64_t machine_value(str text, const char *key) {
    const str k = str_of(key);
    str line;

    while (take_line(&text, &line)) {
        uint64_t v;

        if (!str_starts(line, k)) continue;
        line = (str){line.p + k.n, line.n - k.n};
        /* The key must end here: "Active" is not "Active(file)". */
        if (!take_char(&line, ':') && !(line.n && line.p[0] == ' ')) continue;
        line = trim(line);
        if (!take_number(&line, &v)) return 0;
        if (!str_is(line, " kB")) return v;
        return v > UINT64_MAX / 1024 ? 0 : v * 1024;
    }
    return 0;
}

size_t machine_numbers(str text, uint64_t *out, size_t n) {
    size_t i = 0;

    while (i < n) {
        while (take_char(&text, ' ')) {
        }
        if (!take_number(&text, &out[i])) break;
        if (text.n && text.p[0] != ' ' && text.p[0] != '\n') break;
        i++;
    }
    return i;
}

/* The value of "KEY   : value". */
static bool find_field(str text, const char *key, str *value) {
    const str k = str_of(key);
    str line;

    while (take_line(&text, &line)) {
        if (!str_starts(line, k)) continue;
        line = trim((str){line.p + k.n, line.n - k.n});
        if (!take_char(&line, ':')) continue;
        *value = trim(line);
        return value->n != 0;
    }
    return false;
}

void machine_cpu_name(str cpuinfo, char *out, size_t out_n) {
    /* x86, then what some Arm, RISC-V and MIPS kernels offer in its place. */
    static const char *const keys[] = {"model name", "Model", "Hardware", "uarch", "cpu model"};
    size_t n = 0;
    str value = {"", 0};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (find_field(cpuinfo, keys[i], &value)) break;
    for (size_t i = 0; i < value.n && n + 1 < out_n; i++) {
        const bool is_repeated_space = value.p[i] == ' ' && n && out[n - 1] == ' ';

        if (!is_repeated_space) out[n++] = value.p[i];
    }
    out[n] = 0;
}

/* Is `name` one of the comma-separated names? */
static bool list_has(str names, str name) {
    for (size_t i = 0; i <= names.n; i++) {
        if (i < names.n && names.p[i] != ',') continue;
        if (str_eq((str){names.p, i}, name)) return true;
        if (i == names.n) break;
        names = (str){names.p + i + 1, names.n - i - 1};
        i = (size_t)-1;
    }
    return false;
}

bool machine_cgroup_path(str cgroups, const char *controller, str *path) {
    str line;

    while (take_line(&cgroups, &line)) {
        uint64_t id;
        size_t n = 0;

        if (!take_number(&line, &id) || !take_char(&line, ':')) continue;
        while (n < line.n && line.p[n] != ':') n++;
        if (n == line.n || !list_has((str){line.p, n}, str_of(controller))) continue;
        *path = (str){line.p + n + 1, line.n - n - 1};
        return true;
    }
    return false;
}
