/* SPDX-License-Identifier: MIT */
/* Values of up to 62 bits, and cf_widen. */
#include "../../../src/include/cuckoo_filter.h"
