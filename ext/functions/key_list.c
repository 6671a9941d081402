/* SPDX-License-Identifier: MIT */
/*
** key_list.c - cf_add_keys and cf_delete_keys, which apply a list of keys to a filter, and the bytes of
** such a list, which cf_keys makes (aggregates.c).
**
**      UPDATE filters SET f = cf_add_keys(f, (SELECT cf_keys(key) FROM new)) WHERE name = 'users';
**
** The list holds hashes, so cf_keys needs the hash, the seed and the key rule of the filter in its
** options. A list made for another filter is an error, and the message says what to write.
**
** A list is the same on every machine. All integers are unsigned and little-endian, unless marked:
**
**   offset  bytes  field
**        0      3  magic: cf 6b 6c
**        3      1  format version: 1
**        4      1  hash identity and types of the keys, as in a filter (format.h)
**        5      1  1: each key has a value; 0: none has
**        6      1  affinity of keys: 0 none, 1 text, 2 numeric, 3 real
**        7      1  collation of keys: 0 binary, 1 nocase, 2 rtrim
**        8      8  seed of the hash (signed)
**       16      8  n, the number of keys
**       24      1  1: some keys are texts that look like numbers
**       25     35  zero
**       60      4  checksum: the low 32 bits of XXH3 (unseeded) of bytes 0 .. 59
**       64         n keys: 8 bytes of hash; then, with values, 8 bytes of value
**
** Keys are in the order of the rows, repeated ones included.
*/
#include "key_list.h"

#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/watch.h"
#include "filters.h"

#include "../../src/base/bits.h"

#include <string.h>

/* ---- the bytes of a list ---- */

/* The bytes of one key. */
static unsigned step_of(const cuckoo_key_list *list)
{
    return list->valued ? 16 : 8;
}

static const uint8_t list_magic[3] = {0xcf, 0x6b, 0x6c};

enum { LIST_VERSION = 1 };
enum { LIST_AT_VERSION = 3, LIST_AT_HASH = 4, AT_VALUED = 5, AT_AFFINITY = 6, AT_COLLATION = 7 };
enum {
    LIST_AT_SEED = 8,
    AT_COUNT = 16,
    AT_NUMERIC = 24,
    AT_LAST = 56 /* a word: 4 bytes of zero, and the checksum */
};

void cuckoo_list_encode(const cuckoo_key_list *list, uint8_t *header)
{
    memset(header, 0, CUCKOO_LIST_HEADER);
    memcpy(header, list_magic, sizeof list_magic);
    header[LIST_AT_VERSION] = LIST_VERSION;
    header[LIST_AT_HASH] =
        (uint8_t)(cf_hash_identity(&list->rule) | list->rule.key_types << CF_TYPES_SHIFT);
    header[AT_VALUED] = list->valued;
    header[AT_AFFINITY] = list->rule.affinity;
    header[AT_COLLATION] = list->rule.collation;
    cf_store64(header + LIST_AT_SEED, (uint64_t)list->rule.seed);
    cf_store64(header + AT_COUNT, list->n);
    header[AT_NUMERIC] = list->numeric;
    cf_store64(header + AT_LAST, (uint64_t)cf_checksum(header) << 32);
}

/* Reads and validates a list: encoding its fields again must give the same header. Returns NULL, or what
** is wrong. `bytes` may be NULL if length is 0. */
static const char *decode_list(const uint8_t *bytes, size_t length, cuckoo_key_list *list)
{
    uint8_t header[CUCKOO_LIST_HEADER];
    if (length < CUCKOO_LIST_HEADER || memcmp(bytes, list_magic, sizeof list_magic) != 0)
        return "it does not start like a list";
    if (bytes[LIST_AT_VERSION] != LIST_VERSION || !cf_knows_hash(bytes[LIST_AT_HASH] & CF_HASH_MASK))
        return "the list was made by a later version of this extension";
    *list =
        (cuckoo_key_list){.rule = {.seed = (int64_t)cf_load64(bytes + LIST_AT_SEED),
                                   .keyed = (bytes[LIST_AT_HASH] & CF_HASH_MASK) == CF_IDENTITY_KEYED,
                                   .key_types = bytes[LIST_AT_HASH] >> CF_TYPES_SHIFT,
                                   .affinity = bytes[AT_AFFINITY],
                                   .collation = bytes[AT_COLLATION]},
                          .valued = bytes[AT_VALUED] != 0,
                          .numeric = bytes[AT_NUMERIC] != 0,
                          .n = cf_load64(bytes + AT_COUNT),
                          .keys = bytes + CUCKOO_LIST_HEADER};
    cuckoo_list_encode(list, header);
    if (memcmp(bytes, header, sizeof header) != 0 || bytes[AT_AFFINITY] > CF_AFFINITY_REAL ||
        bytes[AT_COLLATION] > CF_COLLATION_RTRIM)
        return "the header is corrupt";
    size_t rest = length - CUCKOO_LIST_HEADER, step = step_of(list);
    return rest % step == 0 && rest / step == list->n ? NULL : "its length does not match its header";
}

/* ---- reading a list ---- */

static bool read_list(sqlite3_context *context, sqlite3_value *value, cuckoo_key_list *list)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL)
        return cuckoo_fail(context,
                           "keys is NULL: the subquery returned no row; without GROUP BY, cf_keys "
                           "returns an empty list instead");
    if (type != SQLITE_BLOB)
        return cuckoo_fail(
            context, "keys must be a list made by cf_keys, got %s; for one key use cf_add or cf_delete",
            cuckoo_show(value).text);
    const uint8_t *bytes = sqlite3_value_blob(value);
    int length = sqlite3_value_bytes(value);
    if (bytes == NULL && length > 0)
        return cuckoo_fail_no_memory(context);
    const char *why = decode_list(bytes, (size_t)length, list);
    return why == NULL || cuckoo_fail_code(context, SQLITE_CORRUPT_VTAB,
                                           "keys must be a list made by cf_keys: %s", why);
}

static bool values_fit(const cuckoo_key_list *list, unsigned bits)
{
    uint64_t all = 0;
    for (uint64_t i = 0; list->valued && i < list->n; i++)
        all |= cf_load64(list->keys + 16 * i + 8);
    return all <= cf_low_bits(bits);
}

/* An empty list fits every filter: SQLite evaluates the options of cf_keys for each row. */
static bool list_fits(sqlite3_context *context, const cuckoo_key_list *list, const cf_filter *filter)
{
    const cf_geometry *g = &filter->geometry;
    if (list->n == 0)
        return true;
    if (list->valued != (g->value_bits != 0))
        return cuckoo_fail(context, g->value_bits
                                        ? "filter stores a value with each key; make the list with "
                                          "cf_keys(key, value)"
                                        : "filter stores no values; make the list with cf_keys(key)");
    if (!cf_same_rule(&list->rule, g))
        return cuckoo_fail(
            context,
            "the list was made for filters with another hash, seed, affinity or collation; make "
            "it with cf_keys(key, %s, 'hash=%s seed=%lld affinity=%s collation=%s')",
            g->value_bits ? "value" : "NULL", cuckoo_hash_words[g->keyed], (sqlite3_int64)g->seed,
            cuckoo_affinity_words[g->affinity], cuckoo_collation_words[g->collation]);
    return values_fit(list, g->value_bits) ||
           cuckoo_fail(context, CUCKOO_BAD_VALUE(g->value_bits, "one in the list"));
}

/* Fails before the first delete if the filter has no keys of some type in the list. */
static bool types_fit(sqlite3_context *context, const cuckoo_key_list *list, const cf_filter *filter)
{
    static const char *const what[] = {"keys has numbers", "keys has texts", "keys has blobs"};
    for (unsigned i = 0; i < sizeof what / sizeof *what; i++) {
        unsigned type = list->rule.key_types & 1u << i;
        bool number = list->numeric && type == CF_TYPE_TEXT;
        if (type != 0 && !cf_type_fits(&filter->geometry, type, number))
            return cuckoo_fail_with(
                context, SQLITE_MISMATCH,
                cuckoo_key_unfit(&filter->geometry, type,
                                 number ? "keys has texts that look like numbers" : what[i]));
    }
    return true;
}

/* ---- cf_add_keys(filter, keys), cf_delete_keys(filter, keys) ---- */

static cf_status change_each(cf_filter *filter, const cuckoo_key_list *list, bool adds)
{
    enum { BETWEEN = 128 }; /* keys between looks at the watch, about ten microseconds */
    const cf_watch *watch = filter->watch;
    const uint8_t *key = list->keys;
    cf_status status = CF_OK;
    for (uint64_t i = 0; i < list->n && status == CF_OK; i++, key += step_of(list)) {
        uint64_t hash = cf_load64(key), value = list->valued ? cf_load64(key + 8) : 0;
        if (i % BETWEEN == BETWEEN - 1 && watch && watch->stop(watch->context))
            status = CF_INTERRUPTED;
        else if (adds)
            status = cf_add_value(filter, hash, value);
        else
            cf_delete_value(filter, hash, value);
    }
    return status == CF_OK ? cf_settle(filter) : status;
}

/* Faster than change_each, but needs a copy of the hashes. */
static cf_status add_at_once(cf_filter *filter, const cuckoo_key_list *list)
{
    uint64_t *hashes = sqlite3_malloc64(list->n * sizeof *hashes);
    if (hashes == NULL)
        return CF_NO_MEMORY;
    for (uint64_t i = 0; i < list->n; i++)
        hashes[i] = cf_load64(list->keys + 8 * i);
    cf_status status = cf_add_many(filter, hashes, cf_in_memory(list->n), NULL);
    sqlite3_free(hashes);
    return status;
}

/* Keys are added in one call if the filter need not grow. While it grows, unsorted keys are better. */
static bool apply_list(sqlite3_context *context, cf_filter *filter, const cuckoo_key_list *list,
                       bool adds)
{
    cuckoo_watch watch;
    uint64_t capacity = filter->geometry.capacity;
    bool fits = filter->items <= capacity && list->n <= capacity - filter->items;
    cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), filter);
    cf_status status =
        adds && !list->valued && fits ? add_at_once(filter, list) : change_each(filter, list, adds);
    cuckoo_watch_end(&watch);
    return status == CF_OK || cuckoo_fail_add(context, status, filter);
}

static void change_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    bool adds = strcmp(cuckoo_running_function(context)->function.name, "cf_add_keys") == 0;
    cuckoo_key_list list = {.n = 0};
    cf_filter copy;
    const cf_filter *filter = cuckoo_filter_argument(context, argc, argv, NULL);
    if (filter == NULL || !read_list(context, argv[1], &list) ||
        ((list.n > 0 || !adds) && !cuckoo_may_change(context, filter, adds)) ||
        !list_fits(context, &list, filter) || (!adds && !types_fit(context, &list, filter)))
        return;
    if (list.n == 0)
        cuckoo_result_same(context, filter);
    else if (cuckoo_filter_copy(context, filter, &copy)) {
        cf_note_types(&copy, adds ? list.rule.key_types : 0);
        if (apply_list(context, &copy, &list, adds))
            cuckoo_result_filter(context, &copy);
        cuckoo_filter_free(&copy);
    }
}

const cuckoo_function *const cuckoo_lists = (const cuckoo_function[]){
    {"cf_add_keys", 2, 2, .function = change_function},
    {"cf_delete_keys", 2, 2, .function = change_function},
    {.name = NULL},
};
