/* SPDX-License-Identifier: MIT */
#include "block.h"

#include "../../src/base/bits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const cf_memory cuckoo_block_memory = {cuckoo_block_resize, INT64_MAX, NULL};

uint8_t *cuckoo_block_resize(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context;
    if (size > 0)
        return size > SIZE_MAX - CUCKOO_BEYOND ? NULL : realloc(bytes, (size_t)size + CUCKOO_BEYOND);
    free(bytes);
    return NULL;
}

uint8_t *cuckoo_block_zeros(uint64_t size)
{
    return size > SIZE_MAX - CUCKOO_BEYOND ? NULL : calloc(1, (size_t)size + CUCKOO_BEYOND);
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
