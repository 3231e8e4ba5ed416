/* SPDX-License-Identifier: MIT
 *
 * A Mac. */
#include "plan/machine.h"

#ifdef __APPLE__
# include <mach/mach.h>
# include <string.h>
# include <sys/sysctl.h>

static uint64_t number_of(const char *name) {
    uint64_t v = 0;
    size_t n = sizeof v;

    /* 4-byte values fill the low half: all Macs are little-endian. */
    return sysctlbyname(name, &v, &n, NULL, 0) == 0 ? v : 0;
}

/* Pages that are free or that the system gives away without writing: files' and purgeable ones. */
static uint64_t available(void) {
    vm_statistics64_data_t vm;
    mach_msg_type_number_t n = HOST_VM_INFO64_COUNT;
    vm_size_t page = 0;
    const mach_port_t host = mach_host_self();
    uint64_t pages = 0;

    if (host_page_size(host, &page) == KERN_SUCCESS &&
        host_statistics64(host, HOST_VM_INFO64, (host_info64_t)&vm, &n) == KERN_SUCCESS)
        pages = (uint64_t)vm.free_count + vm.external_page_count + vm.purgeable_count;
    mach_port_deallocate(mach_task_self(), host);
    return pages * page;
}

void machine_read_system(ew_machine *out) {
    struct xsw_usage swap = {0};
    size_t n = sizeof swap;
    uint64_t cores = number_of("hw.perflevel0.physicalcpu"); /* performance cores */

    if (cores == 0) cores = number_of("hw.physicalcpu"); /* Intel */
    out->n_core_usable = (int32_t)cores;
    out->memory_physical = number_of("hw.memsize");
    out->memory_available = available();
    if (out->memory_available > out->memory_physical) out->memory_available = out->memory_physical;
    if (sysctlbyname("vm.swapusage", &swap, &n, NULL, 0) == 0) out->swap_used = swap.xsu_used;
    n = sizeof out->cpu_name - 1;
    if (sysctlbyname("machdep.cpu.brand_string", out->cpu_name, &n, NULL, 0) != 0)
        out->cpu_name[0] = 0;
}
#endif
