/* SPDX-License-Identifier: MIT */
/*
** fuzz.c - the model as fuzz targets (../fuzz/fuzz.h): what a life draws, it draws from the input.
**
**      ops      a life of a filter (life.h); when the bytes end, it ends
**      blob     hostile bytes in the place of a filter: the input itself, and what it draws (blobs.h)
**      exact    the same of exact filters, and a universe to build one of (exact.h)
*/
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "blobs.h"
#include "life.h"

int fuzz_blob(const uint8_t *data, size_t size);
int fuzz_ops(const uint8_t *data, size_t size);
int fuzz_exact(const uint8_t *data, size_t size);
size_t fuzz_sound_filter(uint8_t *bytes, size_t most, uint64_t seed);

static void stop(const char *text)
{
    world_failed(text);
    abort();
}

static void begin(const uint8_t *data, size_t size)
{
    static const uint8_t none;
    draws = (source){.at = size ? data : &none, .end = size ? data + size : &none};
    model_on_failure = stop;
}

int fuzz_ops(const uint8_t *data, size_t size)
{
    begin(data, size);
    setup with = any_setup();
    live(&with, UINT64_MAX);
    return 0;
}

int fuzz_blob(const uint8_t *data, size_t size)
{
    begin(data, size);
    source then = draw_aside(size);
    try_noise(data, size);
    try_hash(data, size);
    draw_on(then);
    while (!draws.over)
        try_filter();
    return 0;
}

int fuzz_exact(const uint8_t *data, size_t size)
{
    enum { MOST_LOG = 9 };
    begin(data, size);
    source then = draw_aside(size);
    try_exact(data, size);
    if (size >= 64) {
        uint8_t *bytes = copy_of_bytes(data, size);
        memcpy(bytes, "\xcf\x65\x78\1\1\0\0\0", 8);
        bytes[32] %= CF_EXACT_LEVELS + 1, bytes[33] %= CF_EXACT_LIST + 1;
        memset(bytes + 34, 0, 14);
        memset(bytes + 56, 0, 4);
        reseal_exact(bytes, size);
        try_exact(bytes, size);
        free(bytes);
    }
    draw_on(then);
    while (!draws.over)
        live_exactly(MOST_LOG);
    return 0;
}

/* A sound filter of no more than `most` bytes, for replay.c to change; its length, or 0. */
size_t fuzz_sound_filter(uint8_t *bytes, size_t most, uint64_t seed)
{
    draws = (source){.state = seed};
    model_on_failure = stop;
    cf_filter filter = make_filter();
    size_t length = filter.length <= most ? (size_t)filter.length : 0;
    memcpy(bytes, filter.bytes, length);
    free(model_bytes(&filter));
    return length;
}

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return LIBFUZZER(data, size);
}
#endif
