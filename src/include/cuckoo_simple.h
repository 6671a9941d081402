/* SPDX-License-Identifier: MIT */
/*
** cuckoo_simple.h - filters of text keys that grow, in memory of malloc. All functions of
** cuckoo_filter.h work with them; cf_open opens the bytes of cf_finish. Lengths are in bytes.
*/
#ifndef CF_CUCKOO_SIMPLE_H
#define CF_CUCKOO_SIMPLE_H

#include "cuckoo_key.h"

#if defined(CF_HAS_MALLOC) && !defined(CUCKOO_READ_ONLY)

/* Makes an empty filter for `capacity` distinct keys, beyond which it grows, with the false-positive
** rate `fpr`. `options` may be NULL; growth is on, unless they have a stash. Errors: as cf_plan;
** CF_NO_MEMORY. Each sets *why, unless why is NULL. cf_free is allowed even then. */
CF_INLINE cf_status cf_make(cf_filter *filter, uint64_t capacity, double fpr, const cf_options *options,
                            const char **why)
{
    cf_options all;
    cf_geometry shape;
    memset(filter, 0, sizeof *filter);
    memset(&all, 0, sizeof all);
    if (options != NULL)
        all = *options;
    all.growth = !all.stash;
    cf_status status = cf_plan(capacity, fpr, &all, &shape, why);
    if (status == CF_OK) {
        status = cf_create(filter, &shape, cf_realloc(NULL, NULL, cf_geometry_bytes(&shape)));
        if (status != CF_OK && why != NULL)
            *why = cf_status_text(status);
    }
    filter->memory.resize = cf_realloc;
    return status;
}

CF_INLINE void cf_free(cf_filter *filter)
{
    free(filter->writable);
}

/* The bytes of a filter, to be stored or sent; valid until the next change. */
CF_INLINE const uint8_t *cf_finish(cf_filter *filter, size_t *length)
{
    cf_seal(filter);
    *length = filter->length;
    return filter->bytes;
}

/* The hash that SQL computes for a text, and its cf_key_types. CF_TOO_BIG: it has more than 1,000 bytes,
** and the filter CF_COLLATION_NOCASE. */
CF_INLINE cf_status cf_hash_text(const cf_filter *filter, const char *text, size_t length,
                                 uint64_t *hash, unsigned *types)
{
    uint8_t room[1008];
    cf_key key = cf_key_text(text, length);
    *types = CF_TYPE_TEXT | CF_TYPE_INEXACT * cf_key_apply(&filter->geometry, &key);
    if (cf_key_room(&filter->geometry, &key) > sizeof room)
        return CF_TOO_BIG;
    *hash = cf_key_hash(&filter->geometry, &key, room);
    return CF_OK;
}

/* Adds one copy of a key with a value, in a filter with value_bits; cf_hash_text and cf_get_all read the
** values. Errors: as cf_add_value and cf_hash_text. */
CF_INLINE cf_status cf_add_key_value(cf_filter *filter, const char *text, size_t length, uint64_t value)
{
    uint64_t hash;
    unsigned types;
    cf_status status = cf_hash_text(filter, text, length, &hash, &types);
    return status                         ? status
           : cf_note_types(filter, types) ? CF_BAD_ARGUMENT
                                          : cf_add_value(filter, hash, value);
}

/* Adds one copy of a key. CF_BAD_ARGUMENT: the filter has value_bits. Otherwise as cf_add_key_value. */
CF_INLINE cf_status cf_add_key(cf_filter *filter, const char *text, size_t length)
{
    return filter->geometry.value_bits ? CF_BAD_ARGUMENT : cf_add_key_value(filter, text, length, 0);
}

/* True if the key is probably in the set; false: it is definitely not. */
CF_INLINE bool cf_contains_key(const cf_filter *filter, const char *text, size_t length)
{
    uint64_t hash;
    unsigned types;
    cf_status status = cf_hash_text(filter, text, length, &hash, &types);
    return status != CF_OK || (types & CF_TYPE_INEXACT) || cf_contains(filter, hash);
}

/* Deletes one copy of a key that was added with this value. */
CF_INLINE cf_deleted cf_delete_key_value(cf_filter *filter, const char *text, size_t length,
                                         uint64_t value)
{
    uint64_t hash;
    unsigned types;
    cf_status status = cf_hash_text(filter, text, length, &hash, &types);
    return status == CF_OK ? cf_delete_value(filter, hash, value) : status;
}

/* Deletes one copy of a key that was added. CF_BAD_ARGUMENT: the filter has value_bits. */
CF_INLINE cf_deleted cf_delete_key(cf_filter *filter, const char *text, size_t length)
{
    return filter->geometry.value_bits ? CF_BAD_ARGUMENT : cf_delete_key_value(filter, text, length, 0);
}

#endif

#endif
