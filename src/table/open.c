/* SPDX-License-Identifier: MIT */
/*
** open.c - making a filter, opening one, and writing down its counts.
*/
#include "open.h"

#include "../shape/format.h"
#include "bucket.h"

/* ---- the view ---- */

/* How the filter does what is done to one key. */
static void set_ways(cf_filter *filter)
{
    const cf_geometry *g = &filter->geometry;
    cf_view *view = &filter->view;
    view->table = filter->bytes + CF_HEADER_BYTES;
    view->kind = filter->pages ? 0 : view->form.kind;
    view->quick = g->spill_bound == 0 && g->epochs == 0;
    view->whole = view->kind == CF_KIND_OF_WHOLE && view->quick ? view->form.bucket_bits / 8 : 0;
    view->quick_add = view->quick && filter->writable != NULL;
    /* RULE: only what has one value, and may have two copies, is deleted so; equivalent removed: all
    ** deletes take the other way */
    view->quick_delete = view->quick_add && g->cap > 1 && g->value_bits == 0;
}

void cf_set_stage(cf_filter *filter, unsigned level, uint64_t split, bool grown)
{
    const cf_geometry *g = &filter->geometry;
    cf_view *view = &filter->view;
    filter->level = level;
    filter->split = split;
    filter->buckets = cf_buckets_at(g, level, split);
    view->new_length = cf_new_length(g, level, grown);
    view->level_mask = cf_low_bits(level);
    cf_form_set(&view->form, g, grown);
    uint64_t all = cf_low_bits(view->form.payload_bits);
    view->payload_max = grown && g->counter_bits == 0 && g->epochs == 0 ? all >> 1 : all;
    view->sticky = g->counter_bits ? all : all ^ view->payload_max;
    set_ways(filter);
}

void cf_set_epoch(cf_filter *filter, uint64_t epoch)
{
    filter->epoch = epoch;
    filter->live = 0;
    for (unsigned age = 0; age < filter->geometry.epochs; age++)
        filter->live |= (uint32_t)1 << (epoch - age) % CF_EPOCH_NUMBERS;
}

void cf_rebase(cf_filter *filter, const uint8_t *bytes, uint8_t *writable)
{
    assert(writable == NULL || writable == bytes);
    filter->bytes = bytes;
    filter->writable = writable;
    set_ways(filter);
}

static void set_view(cf_filter *filter, const cf_header *header, const uint8_t *bytes, uint64_t length,
                     uint8_t *writable)
{
    const cf_geometry *g = &header->geometry;
    *filter = (cf_filter){.geometry = *g,
                          .items = header->items,
                          .occupied = header->occupied,
                          .length = length,
                          .spilled = header->spilled,
                          .bytes = bytes,
                          .writable = writable};
    filter->view.fingerprint_mask = cf_low_bits(g->fingerprint_bits);
    filter->view.pair_mask = cf_low_bits(g->pair_bits);
    cf_set_epoch(filter, header->epoch);
    cf_set_stage(filter, header->level, header->split, cf_is_grown(header->level, header->split));
}

/* ---- making and opening ---- */

void cf_create_in_zeros(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes)
{
    cf_header header = {.geometry = *shape, .reserved = CF_RESERVED_MIN};
    assert(shape->buckets > 0 && shape->buckets % 2 == 0 && shape->bucket_size > 0); /* checked */
    cf_header_encode(&header, bytes);
    set_view(filter, &header, bytes, cf_geometry_bytes(shape), bytes);
}

void cf_create(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes)
{
    memset(bytes, 0, cf_in_memory(cf_geometry_bytes(shape)));
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

static CF_NEVER_INLINE cf_status open_another(cf_reader *reader, const uint8_t *bytes, size_t length,
                                              const char **why)
{
    cf_status status = cf_open(&reader->filter, bytes, length, why);
    if (status == CF_OK)
        memcpy(reader->header, bytes, CF_HEADER_BYTES);
    return status;
}

/* All that a view says, but for where the bytes are, follows from the header and the length. A reader
** that has not opened anything has length 0. */
cf_status cf_reader_open(cf_reader *reader, const uint8_t *bytes, size_t length, const char **why)
{
    if (length != reader->filter.length || length == 0 ||
        memcmp(bytes, reader->header, CF_HEADER_BYTES) != 0)
        return open_another(reader, bytes, length, why);
    reader->filter.bytes = bytes;
    reader->filter.view.table = bytes + CF_HEADER_BYTES;
    return CF_OK;
}

cf_status cf_open_writable(cf_filter *filter, uint8_t *bytes, size_t length, const char **why)
{
    return open_view(filter, bytes, length, bytes, why);
}

void cf_seal(cf_filter *filter)
{
    if (filter->writable == NULL)
        return;
    if (filter->geometry.epochs) /* growth may have doubled some */
        filter->items = filter->occupied;
    uint64_t plain = cf_bytes_at(&filter->geometry, filter->level, filter->split);
    cf_header header = {.geometry = filter->geometry,
                        .level = filter->level,
                        .split = filter->split,
                        .items = filter->items,
                        .occupied = filter->occupied,
                        .epoch = filter->epoch,
                        .spilled = filter->spilled,
                        .reserved = (uint32_t)(filter->length - plain + CF_RESERVED_MIN)};
    cf_change(filter, 0, CF_HEADER_BYTES);
    cf_header_encode(&header, filter->writable);
}

void cf_attach_pages(cf_filter *filter, const cf_pages *pages)
{
    filter->pages = pages;
    set_ways(filter);
}

void cf_clear(cf_filter *filter)
{
    cf_filter was = *filter;
    if (was.writable == NULL)
        return;
    cf_change(filter, 0, filter->length);
    cf_create(filter, &was.geometry, filter->writable);
    filter->memory = was.memory;
    filter->watch = was.watch;
    cf_attach_pages(filter, was.pages);
}
