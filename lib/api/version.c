/* SPDX-License-Identifier: MIT */
#include "edgewise.h"

#include "base/mem.h"

const char *ew_version(void) {
    return EW_VERSION;
}

const char *ew_status_name(ew_status s) {
    switch (s) {
    case EW_OK:
        return "EW_OK";
    case EW_EINVAL:
        return "EW_EINVAL";
    case EW_EIO:
        return "EW_EIO";
    case EW_EFORMAT:
        return "EW_EFORMAT";
    case EW_EUNSUPPORTED:
        return "EW_EUNSUPPORTED";
    case EW_ENOMEM:
        return "EW_ENOMEM";
    case EW_EFULL:
        return "EW_EFULL";
    case EW_EMISMATCH:
        return "EW_EMISMATCH";
    case EW_ECANCEL:
        return "EW_ECANCEL";
    }
    return "?";
}

void ew_free(void *p) {
    mem_free(p);
}
