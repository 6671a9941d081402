/* SPDX-License-Identifier: MIT */
/*
** block.h - memory for filters of any size. Uses malloc: sqlite3_malloc is limited to 2 GB.
*/
#ifndef CUCKOO_BLOCK_H
#define CUCKOO_BLOCK_H

#include "api.h"

/* The bytes that src may read behind a blob. Every block has them behind its size. */
enum { CUCKOO_BEYOND = 8 };

/* Like realloc: bytes == NULL allocates, size == 0 frees. After NULL the old block is still valid. */
uint8_t *cuckoo_block_resize(void *context, uint8_t *bytes, uint64_t size);

/* The memory of a filter in a block, which may grow there. */
extern const cf_memory cuckoo_block_memory;

/* A block of zeros, which takes no time until it is used; or NULL. */
uint8_t *cuckoo_block_zeros(uint64_t size);

#endif
