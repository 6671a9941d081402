/* SPDX-License-Identifier: MIT */
#include "block.h"

#include "../src/bits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* In front of each block: its owner, NULL for none. */
typedef union block_head {
    void *owner;
    uint64_t align[2];
} block_head;

static block_head *head_of(uint8_t *bytes)
{
    return (block_head *)(void *)bytes - 1;
}

static bool is_too_large(uint64_t size)
{
    return size > SIZE_MAX - sizeof(block_head) - CUCKOO_BEYOND;
}

uint8_t *cuckoo_block_resize(uint8_t *bytes, uint64_t size, void *owner)
{
    block_head *block = bytes ? head_of(bytes) : NULL;
    if (size == 0) {
        free(block);
        return NULL;
    }
    block_head *larger =
        is_too_large(size) ? NULL : realloc(block, sizeof *block + (size_t)size + CUCKOO_BEYOND);
    if (larger == NULL)
        return NULL;
    larger->owner = owner;
    return (uint8_t *)(larger + 1);
}

bool cuckoo_block_enlarge(void **array, uint64_t had, uint64_t count, size_t each)
{
    assert(count >= had && each > 0);
    void *larger = count > SIZE_MAX / each ? NULL : calloc((size_t)count, each);
    if (larger == NULL)
        return false;
    if (had > 0)
        memcpy(larger, *array, cf_in_memory(had) * each);
    free(*array);
    *array = larger;
    return true;
}

uint8_t *cuckoo_block_plain(uint8_t *bytes, uint64_t size)
{
    return cuckoo_block_resize(bytes, size, NULL);
}

uint8_t *cuckoo_block_zeros(uint64_t size)
{
    block_head *block =
        is_too_large(size) ? NULL : calloc(1, sizeof *block + (size_t)size + CUCKOO_BEYOND);
    return block ? (uint8_t *)(block + 1) : NULL;
}

void *cuckoo_block_owner(const uint8_t *bytes)
{
    return ((const block_head *)(const void *)bytes - 1)->owner;
}

void cuckoo_block_own(uint8_t *bytes, void *owner)
{
    head_of(bytes)->owner = owner;
}
