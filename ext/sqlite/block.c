/* SPDX-License-Identifier: MIT */
#include "block.h"

#include <stdlib.h>

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
