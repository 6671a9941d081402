/*
** block.h - memory of the C library for filters of any size (sqlite3_malloc gives 2 GB at most).
*/
#ifndef CUCKOO_BLOCK_H
#define CUCKOO_BLOCK_H

#include "api.h"

enum { CUCKOO_BEYOND = 8 /* bytes that src may read behind a blob, and that every block has */ };

/* Like realloc: bytes == NULL allocates, size == 0 frees. A new block belongs to `owner`. Returning NULL means failure; the
** old block stays valid. */
uint8_t *cuckoo_block_resize(uint8_t *bytes, uint64_t size, void *owner);

/* The same for blocks that belong to nothing (cf_memory). */
uint8_t *cuckoo_block_plain(uint8_t *bytes, uint64_t size);

/* A block of zeros that belongs to nothing: they cost no time before they are used. */
uint8_t *cuckoo_block_zeros(uint64_t size);

void *cuckoo_block_owner(const uint8_t *bytes);
void cuckoo_block_own(uint8_t *bytes, void *owner);

/* An array with room for `count` elements, of which the first `had` are kept, and the others are zeros. The first one
** costs nothing before it is used: a header may claim any number of pages. False: there is no memory. */
bool cuckoo_block_enlarge(void **array, uint64_t had, uint64_t count, size_t each);

#endif
