/* SPDX-License-Identifier: MIT
 *
 * What the CPU has. AVX state must also be saved by the operating system, which XGETBV tells. */
#include "edgewise.h"
#include "kernels/kern.h"

#if defined(__x86_64__)
# include <cpuid.h>

enum {
    C1_FMA = 1 << 12,
    C1_OSXSAVE = 1 << 27,
    C1_AVX = 1 << 28,
    C1_F16C = 1 << 29,
    B7_AVX2 = 1 << 5,
    B7_AVX512 = 1 << 16 | 1 << 17 | 1 << 30, /* F, DQ, BW */
    C7_VNNI = 1 << 11,
    XCR0_YMM = 6,   /* XMM and YMM state */
    XCR0_ZMM = 0xe6 /* the same, masks and ZMM */
};

# define B7_AVX512VL (1u << 31)

static bool os_saves(uint32_t state) {
    uint32_t lo, hi;

    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (lo & state) == state;
}

static bool has_avx2(void) {
    const uint32_t need = C1_FMA | C1_OSXSAVE | C1_AVX | C1_F16C;
    uint32_t a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & need) != need) return false;
    if (!os_saves(XCR0_YMM)) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & B7_AVX2);
}

/* Only asked where has_avx2() is true. */
static bool has_avx512_vnni(void) {
    const uint32_t need = B7_AVX512 | B7_AVX512VL;
    uint32_t a, b, c, d;

    if (!os_saves(XCR0_ZMM) || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return (b & need) == need && (c & C7_VNNI);
}

uint32_t cpu_features(void) {
    if (!has_avx2()) return EW_CPU_GENERIC;
    return EW_CPU_GENERIC | EW_CPU_AVX2 | (has_avx512_vnni() ? EW_CPU_AVX512 : 0u);
}

#else

uint32_t cpu_features(void) {
    return EW_CPU_GENERIC;
}

#endif
