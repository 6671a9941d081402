/* SPDX-License-Identifier: MIT */
#ifndef CUCKOO_TEST_MEMORY_FILE_H
#define CUCKOO_TEST_MEMORY_FILE_H

#include "test.h"

#include <string.h>

#include "../../src/include/cuckoo_filter.h"

/* A file in memory. It fails at a chosen call. */
typedef struct test_file {
    cf_temporary file;
    uint8_t *bytes;
    size_t length;
    long calls, fails_at;
    bool refuses;
} test_file;

static bool move_in_memory(void *context, uint64_t at, void *bytes, size_t n, bool writes)
{
    test_file *file = context;
    if (n == 0)
        return !file->refuses;
    if (file->calls++ == file->fails_at)
        return false;
    assert_true(writes || at + n <= file->length); /* what was never written is not read */
    if (writes && at + n > file->length) {
        file->bytes = realloc(file->bytes, at + n);
        file->length = at + n;
    }
    memcpy(writes ? file->bytes + at : bytes, writes ? bytes : file->bytes + at, n);
    return true;
}

static inline void begin_file(test_file *file)
{
    file->file = (cf_temporary){move_in_memory, file};
}

#endif
