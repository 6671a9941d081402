/*
** open.c - making a filter, opening one, and writing down its counts.
*/
#include "growth.h"
#include "lanes.h"

static void set_view(cf_filter *filter, const cf_header *header, const uint8_t *bytes, uint64_t length,
                     uint8_t *writable)
{
    const cf_geometry *g = &header->geometry;
    filter->geometry = *g;
    filter->items = header->items;
    filter->occupied = header->occupied;
    filter->length = length;
    filter->spilled = header->spilled;
    filter->bytes = bytes;
    filter->memory = (cf_memory){NULL, 0};
    filter->watch = NULL;
    filter->pages = NULL;
    filter->table = bytes + CF_HEADER_BYTES;
    filter->writable = writable ? writable + CF_HEADER_BYTES : NULL;
    filter->payload_bits = g->counter_bits + g->value_bits;
    filter->fingerprint_mask = cf_low_bits(g->fingerprint_bits);
    filter->pair_mask = cf_low_bits(g->pair_bits);
    filter->odd_pairs = g->buckets % 2 == 0;
    cf_set_stage(filter, header->level, header->split, cf_is_grown(header->level, header->split));
}

void cf_create_in_zeros(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes)
{
    cf_header header = {.geometry = *shape, .reserved = CF_RESERVED_MIN};
    cf_header_encode(&header, bytes);
    set_view(filter, &header, bytes, cf_geometry_bytes(shape), bytes);
}

void cf_create(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes)
{
    memset(bytes, 0, cf_geometry_bytes(shape));
    cf_create_in_zeros(filter, shape, bytes);
}

static cf_status open_view(cf_filter *filter, const uint8_t *bytes, size_t length, uint8_t *writable,
                           const char **why)
{
    cf_header header;
    cf_status status = cf_header_decode(bytes, length, &header, why);
    if (status == CF_OK)
        set_view(filter, &header, bytes, length, writable);
    return status;
}

cf_status cf_open(cf_filter *filter, const uint8_t *bytes, size_t length, const char **why)
{
    return open_view(filter, bytes, length, NULL, why);
}

/* All that a view says but where the bytes are follows from the header and the length. */
static bool same_header(const cf_reader *reader, const uint8_t *bytes, size_t length)
{
    uint64_t differ = 0;
    if (length != reader->filter.length || length == 0)
        return false; /* a reader that has not opened anything has length 0 */
    for (unsigned i = 0; i < CF_HEADER_BYTES; i += 8)
        differ |= cf_load64(bytes + i) ^ cf_load64(reader->header + i);
    return differ == 0;
}

cf_status cf_reader_open(cf_reader *reader, const uint8_t *bytes, size_t length, const char **why)
{
    if (same_header(reader, bytes, length)) {
        reader->filter.bytes = bytes;
        reader->filter.table = bytes + CF_HEADER_BYTES;
        return CF_OK;
    }
    cf_status status = cf_open(&reader->filter, bytes, length, why);
    if (status == CF_OK)
        memcpy(reader->header, bytes, CF_HEADER_BYTES);
    return status;
}

cf_status cf_open_writable(cf_filter *filter, uint8_t *bytes, size_t length, const char **why)
{
    return open_view(filter, bytes, length, bytes, why);
}

void cf_seal(cf_filter *filter)
{
    uint64_t plain =
        cf_bytes_at(&filter->geometry, filter->level, filter->split, filter->grown) - CF_RESERVED_MIN;
    cf_header header = {.geometry = filter->geometry,
                        .level = filter->level,
                        .split = filter->split,
                        .items = filter->items,
                        .occupied = filter->occupied,
                        .spilled = filter->spilled,
                        .reserved = (uint32_t)(filter->length - plain)};
    cf_change(filter, 0, CF_HEADER_BYTES);
    cf_header_encode(&header, filter->writable - CF_HEADER_BYTES);
}

void cf_clear(cf_filter *filter)
{
    cf_memory memory = filter->memory;
    const cf_watch *watch = filter->watch;
    const cf_pages *pages = filter->pages;
    cf_geometry shape = filter->geometry;
    cf_change(filter, 0, filter->length);
    cf_create(filter, &shape, filter->writable - CF_HEADER_BYTES);
    filter->memory = memory;
    filter->watch = watch;
    cf_attach_pages(filter, pages);
}
