/* SPDX-License-Identifier: MIT */
/*
** exact.h - the header of exact filters, which exact.c reads and make.c writes.
*/
#ifndef CF_EXACT_H
#define CF_EXACT_H

#include "../include/cuckoo_exact.h"
#include "../include/cuckoo_key.h"

#include "../shape/format.h"

static const uint8_t cf_exact_magic[4] = {CF_EXACT_MAGIC, CF_EXACT_VERSION};

/* Offsets in it (exact.c). */
enum { AT_RULE = 4, AT_KEYS = 16, AT_MEMBERS = 24, AT_LEVELS = 32, AT_END = 56 };

/* The checksum of the bytes behind the header. */
uint64_t cf_exact_sum(const uint8_t *bytes, uint64_t length);

#endif
