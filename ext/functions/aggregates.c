/* SPDX-License-Identifier: MIT */
/*
** aggregates.c - many rows into one result: cf_build and cf_build_exact make a filter for exactly the
** keys of a query; cf_keys makes a list of them; cf_add_all and cf_delete_all change a filter.
*/
#include "../keys/key.h"
#include "../sqlite/block.h"
#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/watch.h"
#include "filters.h"
#include "key_list.h"

#include "../../src/base/bits.h"

#include <assert.h>
#include <string.h>

/* ---- a growing array ---- */

/* An empty one is all zeros. */
typedef struct key_array {
    uint64_t *at; /* sqlite3_malloc64 */
    size_t used, room;
    size_t looked; /* the room when repeated ones were looked for last */
} key_array;

/* The most that SQLite allocates at once. */
enum { KEYS_MOST = 0x7ffffe00 / 8, KEYS_FEWEST = 256 };

static bool grow(sqlite3_context *context, key_array *array)
{
    if (array->room == KEYS_MOST)
        return cuckoo_fail(context, CF_TOO_BIG,
                           "more than %d keys, with values half as many; use several filters",
                           KEYS_MOST);
    size_t room = array->room ? 2 * array->room : KEYS_FEWEST;
    room = room < KEYS_MOST ? room : KEYS_MOST;
    uint64_t *larger = sqlite3_realloc64(array->at, room * sizeof *larger);
    if (larger == NULL)
        return cuckoo_fail_no_memory(context);
    array->at = larger;
    array->room = room;
    return true;
}

static bool push(sqlite3_context *context, key_array *array, uint64_t word)
{
    if (array->used == array->room && !grow(context, array))
        return false;
    array->at[array->used++] = word;
    return true;
}

/* Appends a key to a list of keys, and its value, if they have values. */
static bool push_key(sqlite3_context *context, key_array *array, cuckoo_key_list *list, uint64_t hash,
                     uint64_t value)
{
    uint64_t little[2];
    cf_store64((uint8_t *)&little[0], hash);
    cf_store64((uint8_t *)&little[1], value);
    list->n++;
    return push(context, array, little[0]) && (!list->valued || push(context, array, little[1]));
}

/* ---- keys, under options ---- */

typedef struct collected {
    bool started;            /* a row was read */
    sqlite3_value *given[2]; /* fpr and options of the first row; NULL: none was given */
    cuckoo_options options;  /* what they say */
    cf_geometry rule;        /* hash, seed and key rule of these options, key_types of the keys so far */
    key_array keys;          /* hashes, or pairs (cf_valued); of cf_keys, the bytes of the list */
    key_array others;        /* of cf_build_exact: keys that are no members */
    cuckoo_key_list list;    /* of cf_keys */
} collected;

static bool same_value(sqlite3_value *one, sqlite3_value *other)
{
    int type = one ? sqlite3_value_type(one) : SQLITE_NULL;
    if (type != (other ? sqlite3_value_type(other) : SQLITE_NULL))
        return false;
    if (type != SQLITE_TEXT)
        return type == SQLITE_NULL || sqlite3_value_double(one) == sqlite3_value_double(other);
    const void *a = sqlite3_value_text(one), *b = sqlite3_value_text(other);
    int n = sqlite3_value_bytes(one);
    return a && b && n == sqlite3_value_bytes(other) && memcmp(a, b, (size_t)n) == 0;
}

static bool read_first(sqlite3_context *context, int count, sqlite3_value **values, collected *c)
{
    const cf_options *filter = &c->options.filter;
    if (!cuckoo_options_read(context, count, values, &c->options))
        return false;
    for (int i = 0; i < count; i++) {
        c->given[i] = values[i] ? sqlite3_value_dup(values[i]) : NULL;
        if (values[i] && c->given[i] == NULL)
            return cuckoo_fail_no_memory(context);
    }
    c->rule = (cf_geometry){.seed = filter->seed,
                            .keyed = cf_is_keyed(filter),
                            .affinity = (uint8_t)filter->affinity,
                            .collation = (uint8_t)filter->collation};
    c->started = true;
    return true;
}

/* Reads [fpr [, options]] of one row, as cuckoo_options_read does. They must be those of the first row,
** to the byte. `count`, 0 to 2, is the same for all rows. */
static bool read_options_of(sqlite3_context *context, int count, sqlite3_value **values, collected *c)
{
    if (!c->started)
        return read_first(context, count, values, c);
    for (int i = 0; i < count; i++)
        if (!same_value(values[i], c->given[i]))
            return cuckoo_fail(context, CF_BAD_ARGUMENT,
                               "fpr and options must be the same for all rows; use GROUP BY for several "
                               "filters");
    return true;
}

static void free_collected(collected *c)
{
    sqlite3_value_free(c->given[0]);
    sqlite3_value_free(c->given[1]);
    sqlite3_free(c->keys.at);
    sqlite3_free(c->others.at);
}

/* Before more memory is asked for, drops repeated keys, unless copies count. To sort all of them each
** time would cost as much as the build: this is done when there is room for 16 times as many as last
** time, and when there cannot be more room. */
static bool drop_repeated(sqlite3_context *context, const collected *c, key_array *array)
{
    enum { UNSORTED_ROOM = 1 << 16, TIMES = 16 };
    if (c->options.filter.counter_bits ||
        (array->room < KEYS_MOST &&
         (array->room < UNSORTED_ROOM || array->room / TIMES < array->looked)))
        return true;
    cuckoo_watch watch;
    cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), NULL);
    cf_status status = c->options.filter.value_bits
                           ? cf_sort_pairs((cf_valued *)array->at, array->used / 2, &watch.hook)
                           : cf_sort(array->at, array->used, &watch.hook);
    cuckoo_watch_end(&watch);
    if (status != CF_OK)
        return cuckoo_fail_with(context, cuckoo_error_code(status), NULL);
    array->used = c->options.filter.value_bits
                      ? 2 * cf_drop_repeated_pairs((cf_valued *)array->at, array->used / 2)
                      : cf_drop_repeated(array->at, array->used);
    if (array->room == KEYS_MOST || array->used < array->room / 4 * 3)
        return true;
    array->looked = array->room;
    return grow(context, array);
}

static bool add_hash(sqlite3_context *context, const collected *c, key_array *array, uint64_t hash)
{
    return (array->used < array->room || array->room == 0 || drop_repeated(context, c, array)) &&
           push(context, array, hash);
}

/* ---- cf_build(key [, fpr [, options [, value]]]) ---- */

static bool build_row(sqlite3_context *context, int argc, sqlite3_value **argv, void *state)
{
    enum { VALUE = 3 };
    uint64_t hash, value;
    collected *c = state;
    if (!read_options_of(context, argc > VALUE ? VALUE - 1 : argc - 1, argv + 1, c))
        return false;
    unsigned bits = c->options.filter.value_bits;
    sqlite3_value *given = argc > VALUE ? argv[VALUE] : NULL;
    if ((bits != 0) != (given != NULL)) /* whatever the key */
        return cuckoo_value_read(context, bits, given, &value);
    cuckoo_key kind = cuckoo_key_added(context, argv[0], &c->rule, &hash);
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NULL;
    if (bits && !cuckoo_value_read(context, bits, given, &value))
        return false;
    return add_hash(context, c, &c->keys, hash) && (!bits || push(context, &c->keys, value));
}

static void build_last(sqlite3_context *context, void *state, bool failed)
{
    cf_filter filter;
    collected *c = state;
    if (!c->started)
        cuckoo_options_default(&c->options);
    c->options.filter.key_types |= c->rule.key_types;
    if (!failed && cuckoo_build_filter(context, c->keys.at, c->keys.used, &c->options, &filter)) {
        if (!c->started)
            filter.geometry.capacity = 0; /* cuckoo_is_of_no_rows */
        cuckoo_result_filter(context, &filter);
    }
    free_collected(c);
}

/* ---- cf_build_exact(key, member [, fpr [, options]]) ---- */

/* Is the key a member? A vague key (cuckoo_key.h) is always found, so it cannot be known as none; of an
** inexact one nothing is known for certain. */
static bool read_member(sqlite3_context *context, sqlite3_value **argv, const collected *c, bool *member)
{
    int type = sqlite3_value_type(argv[1]);
    double given = sqlite3_value_double(argv[1]);
    *member = given != 0;
    if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || (*member && given != 1))
        return cuckoo_fail(
            context, CF_BAD_ARGUMENT, "member, the second argument, must be 1 or 0, got %s%s",
            cuckoo_show(argv[1]).text, type == SQLITE_NULL ? "; use ifnull(member, 0)" : "");
    bool inexact = c->rule.affinity != CF_AFFINITY_NONE && c->rule.key_types & CF_TYPE_INEXACT;
    return (!inexact && (*member || !cuckoo_key_always(&c->rule, argv[0]))) ||
           cuckoo_fail(context, CF_BAD_ARGUMENT,
                       "key is %s, which may equal other keys under this affinity; leave affinity= out",
                       cuckoo_show(argv[0]).text);
}

static bool exact_row(sqlite3_context *context, int argc, sqlite3_value **argv, void *state)
{
    const unsigned known = 1u << CUCKOO_OPTION_SEED | 1u << CUCKOO_OPTION_HASH |
                           1u << CUCKOO_OPTION_AFFINITY | 1u << CUCKOO_OPTION_COLLATION;
    uint64_t hash;
    bool member;
    collected *c = state;
    if (!read_options_of(context, argc - 2, argv + 2, c))
        return false;
    if (c->options.given & ~known)
        return cuckoo_fail(context, CF_BAD_ARGUMENT,
                           "only the options seed, hash, affinity and collation apply to an exact "
                           "filter; leave the others out");
    cuckoo_key kind = cuckoo_key_added(context, argv[0], &c->rule, &hash);
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NULL;
    return read_member(context, argv, c, &member) &&
           add_hash(context, c, member ? &c->keys : &c->others, hash);
}

static void exact_last(sqlite3_context *context, void *state, bool failed)
{
    const char *why;
    cuckoo_watch watch;
    collected *c = state;
    bool given = c->given[0] && sqlite3_value_type(c->given[0]) != SQLITE_NULL;
    cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), NULL);
    cf_exact_build build = {.options = c->options.filter,
                            .fpr = given ? c->options.fpr : 0,
                            .hashes = {c->others.at, c->keys.at},
                            .count = {c->others.used, c->keys.used},
                            .memory = cuckoo_result_memory(context),
                            .watch = &watch.hook};
    build.options.growth = false;
    build.options.key_types |= c->rule.key_types;
    cf_status status = failed ? CF_OK : cf_exact_make(&build, &why);
    cuckoo_watch_end(&watch);
    if (status != CF_OK)
        cuckoo_fail_code(context, cuckoo_error_code(status), why);
    else if (!failed)
        sqlite3_result_blob64(context, build.bytes, build.length, sqlite3_free);
    free_collected(c);
}

/* ---- cf_keys(key [, value [, options]]) ---- */

/* All keys have values, or none has. NULL is no value. */
static bool read_keys_value(sqlite3_context *context, sqlite3_value *given, cuckoo_key_list *list,
                            uint64_t *value)
{
    bool valued = given && sqlite3_value_type(given) != SQLITE_NULL;
    if (valued && !cuckoo_key_value(given, CF_VALUE_MAX, value))
        return cuckoo_fail(context, CF_BAD_ARGUMENT,
                           "value must be an integer from 0 to 4294967295, got %s; options come "
                           "third: cf_keys(key, NULL, options)",
                           cuckoo_show(given).text);
    if (list->n == 0)
        list->valued = valued;
    return valued == list->valued ||
           cuckoo_fail(context, CF_BAD_ARGUMENT,
                       "some keys have a value and others have NULL; give each one a value, or none");
}

static bool push_header(sqlite3_context *context, key_array *array)
{
    while (array->used < CUCKOO_LIST_HEADER / 8)
        if (!push(context, array, 0))
            return false;
    return true;
}

static bool keys_row(sqlite3_context *context, int argc, sqlite3_value **argv, void *state)
{
    collected *c = state;
    uint64_t hash, value = 0, most = cuckoo_length_limit(sqlite3_context_db_handle(context)) / 8;
    sqlite3_value *options[] = {NULL, argc > 2 ? argv[2] : NULL};
    if (!read_options_of(context, argc > 2 ? 2 : 0, options, c))
        return false;
    cuckoo_key kind = cuckoo_key_added(context, argv[0], &c->rule, &hash);
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NULL;
    if (!read_keys_value(context, argc > 1 ? argv[1] : NULL, &c->list, &value))
        return false;
    c->list.numeric = c->list.numeric || cuckoo_key_is_numeric(argv[0]);
    uint64_t needed = CUCKOO_LIST_HEADER / 8 + (c->list.n + 1) * (c->list.valued ? 2 : 1);
    if (needed > most || needed > KEYS_MOST)
        return cuckoo_fail(context, CF_TOO_BIG,
                           "the list of %lld keys is longer than this connection allows "
                           "(SQLITE_LIMIT_LENGTH); collect the keys in several lists",
                           (sqlite3_int64)c->list.n + 1);
    return push_header(context, &c->keys) && push_key(context, &c->keys, &c->list, hash, value);
}

static void keys_last(sqlite3_context *context, void *state, bool failed)
{
    collected *c = state;
    if (!failed && push_header(context, &c->keys)) {
        c->list.rule = c->rule;
        cuckoo_list_encode(&c->list, (uint8_t *)c->keys.at);
        sqlite3_result_blob64(context, c->keys.at, 8 * c->keys.used, sqlite3_free);
        c->keys.at = NULL;
    }
    free_collected(c);
}

/* ---- cf_add_all(filter, key), cf_delete_all(filter, key) ---- */

typedef struct changed {
    cf_filter filter;                /* a copy of that of the first row; all zeros: there is none yet */
    uint8_t header[CF_HEADER_BYTES]; /* of that */
    uint64_t length;
    bool adds;
    cuckoo_key_list list; /* keys that are not yet added or deleted, in `keys` */
    key_array keys;
} changed;

static bool apply_keys(sqlite3_context *context, changed *c)
{
    c->list.keys = (const uint8_t *)c->keys.at;
    bool applied = c->list.n == 0 || cuckoo_list_apply(context, &c->filter, &c->list, c->adds);
    c->list.n = c->keys.used = 0;
    return applied;
}

/* The filter of the first row is taken. That of a later one must have its length and header: to compare
** all of it would cost as much as a copy. */
static bool read_filter(sqlite3_context *context, sqlite3_value **argv, changed *c)
{
    const cf_filter *filter = cuckoo_filter_argument(context, 2, argv);
    if (filter == NULL)
        return false;
    if (c->filter.writable)
        return (filter->length == c->length && memcmp(filter->bytes, c->header, CF_HEADER_BYTES) == 0) ||
               cuckoo_fail(context, CF_BAD_ARGUMENT,
                           "filter is not the same for all rows; select one filter, or group by it");
    memcpy(c->header, filter->bytes, CF_HEADER_BYTES);
    c->length = filter->length;
    c->adds = strcmp(cuckoo_function_name(context), "cf_add_all") == 0;
    c->list.valued = filter->geometry.value_bits != 0;
    return cuckoo_filter_copy(context, filter, &c->filter);
}

static bool change_row(sqlite3_context *context, int argc, sqlite3_value **argv, void *state)
{
    enum { AT_ONCE = 1 << 20 /* keys */ };
    changed *c = state;
    uint64_t hash, value;
    if (!read_filter(context, argv, c))
        return false;
    cuckoo_key kind = cuckoo_filter_key(context, argv[1], &c->filter, c->adds, &hash);
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NULL;
    if (!cuckoo_value_read(context, c->filter.geometry.value_bits, argc > 2 ? argv[2] : NULL, &value) ||
        !cuckoo_may_change(context, &c->filter, c->adds) ||
        (c->list.n == AT_ONCE && !apply_keys(context, c)))
        return false;
    return push_key(context, &c->keys, &c->list, hash, value);
}

static void change_last(sqlite3_context *context, void *state, bool failed)
{
    changed *c = state;
    if (!failed && c->filter.writable == NULL)
        cuckoo_fail(
            context, CF_BAD_ARGUMENT,
            "zero rows, so there is no filter to return; use cf_add_keys or cf_delete_keys(filter, "
            "(SELECT cf_keys(key) FROM ...)), or FROM filters LEFT JOIN keys ON ..., which gives "
            "one row with a NULL key and leaves the filter unchanged");
    else if (!failed && apply_keys(context, c))
        cuckoo_result_filter(context, &c->filter);
    cuckoo_filter_free(&c->filter);
    sqlite3_free(c->keys.at);
}

const cuckoo_function *const cuckoo_aggregates = (const cuckoo_function[]){
    {"cf_build", 1, 4, .row = build_row, .last = build_last, .state = sizeof(collected)},
    {"cf_build_exact", 2, 4, .row = exact_row, .last = exact_last, .state = sizeof(collected)},
    {"cf_keys", 1, 3, .row = keys_row, .last = keys_last, .state = sizeof(collected)},
    {"cf_add_all", 2, 3, .row = change_row, .last = change_last, .state = sizeof(changed)},
    {"cf_delete_all", 2, 3, .row = change_row, .last = change_last, .state = sizeof(changed)},
    {.name = NULL},
};
