/* SPDX-License-Identifier: MIT */
#include "../include/cuckoo_key.h"
#include "../shape/format.h"
#include "epochs.h"

/* ---- forms ---- */

/* True if these bits, which start at bit `from` of a bucket, always fit into the 8 bytes in which they
** start. Buckets start at multiples of `step` bits, a divisor of 8. */
static bool fits_word(unsigned from, unsigned bits, unsigned step)
{
    unsigned most = 8 - step + (from & (step - 1)); /* bits before them in their first byte */
    return most + bits <= 64;
}

/* Sets up the lanes as two halves, which cf_halves_at loads and cf_lanes_write stores. False if they do
** not fit. The second word usually ends with the lanes, so that no further cache line is needed. */
static bool set_halves(cf_form *form, unsigned first, unsigned step)
{
    unsigned half = (form->tag_bits - first) / 2, second = first + half, end = form->tag_bits + 8 - step;
    form->second = end > 64 ? (end + 7) / 8 - 8 : 0;
    form->second_bit = second - 8 * form->second;
    return fits_word(first, half, step) && fits_word(second, half, step) &&
           first % 8 + half + 8 - step <= 64 && 8 * form->second <= second;
}

static void set_form(cf_form *form, const cf_geometry *shape, bool grown)
{
    unsigned b = shape->bucket_size, nibble = shape->semisorted ? CF_NIBBLE_BITS : 0;
    memset(form, 0, sizeof *form);
    form->semi = shape->semisorted;
    form->grown = grown;
    form->slot_bits = cf_slot_bits(shape, grown);
    form->slot_mask = cf_low_bits(form->slot_bits);
    form->payload_bits = cf_payload_bits(shape, grown);
    unsigned bits = cf_bucket_bits(shape, grown);
    form->bucket_bits = bits;
    form->payloads_at = bits - b * form->payload_bits;
    form->tag_bits = form->payloads_at - (shape->stash_size != 0);
    unsigned w = form->lane = form->slot_bits - nibble, first = shape->semisorted ? CF_CODE_BITS : 0;
    unsigned step = 1u << cf_lowest_bit(bits | 8);
    form->lane_of = ((1u << 16) + w - 1) / w;
    form->two = b > CF_SEMISORT_SLOTS || !fits_word(0, form->tag_bits, step);
    /* with lanes of one bit cf_zeros would miss some */
    form->any =
        w < 2 || (b < CF_SEMISORT_SLOTS && 3 * w > 63) || (form->two && !set_halves(form, first, step));
    form->two &= !form->any;
    form->lane_mask = form->slot_mask >> nibble;
    form->stored = UINT64_MAX >> (64 - (form->two ? 2 * w : form->tag_bits) % 64) % 64;
    unsigned lanes = form->any ? 0 : form->two ? b / 2 : b;
    form->ones = lanes != 0;
    for (unsigned n = 1; n < lanes; n *= 2)
        form->ones |= form->ones << n * w;
    form->highs = form->ones << (w - 1);
    form->known = form->ones << (shape->pair_bits - nibble);
#ifndef CUCKOO_SMALL
    unsigned number = form->grown * 4u + form->semi * 2u + form->two;
    bool whole = !form->two && !grown && bits % 8 == 0 && form->payload_bits == 0;
    bool one = shape->pair_bits == shape->fingerprint_bits;
    form->kind = form->any ? 0 : whole ? (one ? CF_KIND_OF_WHOLE : 3u) + form->semi : 5 + number;
#endif
}

/* ---- the view ---- */

void cf_set_stage(cf_filter *filter, unsigned level, uint64_t split, bool grown)
{
    const cf_geometry *g = &filter->geometry;
    cf_view *view = &filter->view;
    filter->level = level;
    filter->split = split;
    filter->buckets = cf_buckets_at(g, level, split);
    view->new_length = cf_new_length(g, level, grown);
    view->level_mask = cf_low_bits(level);
    set_form(&view->form, g, grown);
    uint64_t all = cf_low_bits(view->form.payload_bits);
    view->payload_max = grown && g->counter_bits == 0 && g->epochs == 0 ? all >> 1 : all;
    view->saturated = g->counter_bits ? all : all ^ view->payload_max;
    cf_set_ways(filter);
}

void cf_set_epoch(cf_filter *filter, uint64_t epoch)
{
    filter->epoch = epoch;
    filter->live = 0;
    for (unsigned age = 0; age < filter->geometry.epochs; age++)
        filter->live |= (uint32_t)1 << (epoch - age) % CF_EPOCH_NUMBERS;
}

cf_status cf_rebase(cf_filter *filter, const uint8_t *bytes, uint8_t *writable)
{
    if (bytes == NULL || (writable != NULL && writable != bytes))
        return CF_BAD_ARGUMENT;
    filter->bytes = bytes;
    filter->writable = writable;
    cf_set_ways(filter);
    return CF_OK;
}

/* Sets all of the view from the fields of the header. */
static void set_view(cf_filter *filter)
{
    filter->view.fingerprint_mask = cf_low_bits(filter->geometry.fingerprint_bits);
    filter->view.pair_mask = cf_low_bits(filter->geometry.pair_bits);
    filter->view.sealed = true;
    cf_set_epoch(filter, filter->epoch);
    cf_set_stage(filter, filter->level, filter->split, cf_is_grown(filter->level, filter->split));
}

/* ---- creating and opening ---- */

cf_status cf_create_in_zeros(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes)
{
    cf_status status = bytes ? cf_geometry_check(shape, NULL) : CF_NO_MEMORY;
    if (status != CF_OK)
        return status;
    *filter = (cf_filter){
        .geometry = *shape, .length = cf_geometry_bytes(shape), .bytes = bytes, .writable = bytes};
    cf_header_encode(filter, bytes);
    set_view(filter);
    return CF_OK;
}

cf_status cf_create(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes)
{
    cf_status status = bytes ? cf_geometry_check(shape, NULL) : CF_NO_MEMORY;
    if (status != CF_OK)
        return status;
    memset(bytes, 0, cf_in_memory(cf_geometry_bytes(shape)));
    return cf_create_in_zeros(filter, shape, bytes);
}

static cf_status open_view(cf_filter *filter, const uint8_t *bytes, size_t length, uint8_t *writable,
                           const char **why)
{
    cf_filter opened = {.bytes = bytes, .writable = writable};
    cf_status status = cf_header_decode(&opened, bytes, bytes ? length : 0, why);
    if (status == CF_OK) {
        *filter = opened;
        set_view(filter);
    }
    return status;
}

cf_status cf_open(cf_filter *filter, const uint8_t *bytes, size_t length, const char **why)
{
    return open_view(filter, bytes, length, NULL, why);
}

/* The stash of a filter may happen to end like a label. */
size_t cf_without_label(const uint8_t *bytes, size_t length)
{
    static const uint8_t end[3] = {0xcf, 0x6c, 0x62};
    cf_filter filter;
    const char *why;
    if (bytes == NULL || length <= CF_HEADER_BYTES + 4 ||
        memcmp(bytes + length - sizeof end, end, sizeof end) != 0)
        return length;
    size_t label = bytes[length - 4] + (size_t)4;
    bool is_filter = label >= length - CF_HEADER_BYTES || label == 4 ||
                     cf_open(&filter, bytes, length, &why) == CF_OK;
    return is_filter ? length : length - label;
}

static CF_NEVER_INLINE cf_status open_another(cf_reader *reader, const uint8_t *bytes, size_t length,
                                              const char **why)
{
    cf_status status = cf_open(&reader->filter, bytes, length, why);
    if (status == CF_OK)
        memcpy(reader->header, bytes, CF_HEADER_BYTES);
    return status;
}

/* Apart from the address of the bytes, all of a view depends on the header and the length. A reader that
** has not opened anything has length 0. */
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

cf_status cf_seal(cf_filter *filter)
{
    if (filter->writable == NULL)
        return CF_READ_ONLY;
    if (filter->geometry.epochs) /* splits may have doubled entries */
        filter->items = filter->occupied;
    cf_change(filter, 0, CF_HEADER_BYTES);
    cf_header_encode(filter, filter->writable);
    filter->view.sealed = true;
    cf_set_ways(filter);
    return CF_OK;
}

cf_status cf_attach_pages(cf_filter *filter, const cf_pages *pages)
{
    if (pages && (pages->need == NULL || (filter->writable && pages->change == NULL)))
        return CF_BAD_ARGUMENT;
    filter->pages = pages;
    cf_set_ways(filter);
    return CF_OK;
}

cf_status cf_clear(cf_filter *filter)
{
    cf_filter was = *filter;
    if (was.writable == NULL)
        return CF_READ_ONLY;
    cf_change(filter, 0, filter->length);
    was.geometry.key_types = (uint8_t)cf_types_cleared(&was.geometry);
    cf_create(filter, &was.geometry, filter->writable);
    filter->memory = was.memory;
    filter->watch = was.watch;
    return cf_attach_pages(filter, was.pages);
}
