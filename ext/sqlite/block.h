/* SPDX-License-Identifier: MIT */
/*
** block.h - blocks of memory for filters of any size. They come from the C library, because
** sqlite3_malloc gives 2 GB at most.
*/
#ifndef CUCKOO_BLOCK_H
#define CUCKOO_BLOCK_H

#include "api.h"

/* Bytes that src may read behind a blob. Every block has them behind its size. */
enum { CUCKOO_BEYOND = 8 };

/* Like realloc: bytes == NULL allocates, size == 0 frees. Returning NULL means failure; the old block
** stays valid. Nobody reads `context`. */
uint8_t *cuckoo_block_resize(void *context, uint8_t *bytes, uint64_t size);

/* For a filter that lies in a block, and may grow there. */
extern const cf_memory cuckoo_block_memory;

/* A block of zeros. They cost no time until they are used. NULL: no memory. */
uint8_t *cuckoo_block_zeros(uint64_t size);

#endif
