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
    XCR0_YMM = 6 /* XMM and YMM state */
};

static bool os_saves_ymm(void) {
    uint32_t lo, hi;

    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (lo & XCR0_YMM) == XCR0_YMM;
}

static bool has_avx2(void) {
    const uint32_t need = C1_FMA | C1_OSXSAVE | C1_AVX | C1_F16C;
    uint32_t a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & need) != need) return false;
    if (!os_saves_ymm()) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & B7_AVX2);
}

uint32_t cpu_features(void) {
    return EW_CPU_GENERIC | (has_avx2() ? EW_CPU_AVX2 : 0u);
}

#else

uint32_t cpu_features(void) {
    return EW_CPU_GENERIC;
}

#endif
