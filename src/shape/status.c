/* SPDX-License-Identifier: MIT */
#include "../include/cuckoo_filter.h"

const char *cf_status_text(cf_status status)
{
    static const char *const text[] = {[CF_OK] = "ok",
                                       [CF_FULL] = "full",
                                       [CF_DAMAGED] = "corrupt",
                                       [CF_NEWER] = "made by a later version",
                                       [CF_BAD_ARGUMENT] = "a parameter is out of its range",
                                       [CF_TOO_BIG] = "too big",
                                       [CF_MISMATCH] = "filters that are not compatible",
                                       [CF_NO_MEMORY] = "out of memory",
                                       [CF_INTERRUPTED] = "interrupted",
                                       [CF_READ_ONLY] = "read-only",
                                       [CF_NEEDS_MEMORY] =
                                           "full: set filter.memory, so that it can grow",
                                       [CF_ABSENT] = "the key is not in the filter",
                                       [CF_SATURATED] = "the key is saturated"};
    return (unsigned)status < sizeof text / sizeof text[0] ? text[status] : "unknown status";
}
