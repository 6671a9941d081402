/* SPDX-License-Identifier: MIT */
/*
** aggregates.c - cf_build and cf_build_exact make a filter of the keys of a query, cf_keys a list of
** them.
*/
#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/temporary.h"
#include "../sqlite/watch.h"
#include "filters.h"
#include "key_list.h"

#include "../../src/base/bits.h"

#include <assert.h>
#include <string.h>

/* ---- collected keys, and the options of the aggregate ---- */

enum { FILES = 3 };

typedef struct collected {
    bool started;            /* a row was read */
    sqlite3_value *given[2]; /* fpr and options of the first row; NULL: not given */
    cuckoo_options options;  /* read from them */
    cf_geometry rule;        /* hash, seed and key rule of these options, key_types of the keys so far */
    cf_collected keys;
    cf_collected others;          /* cf_build_exact: keys that are not members */
    cuckoo_temporary file[FILES]; /* of keys; of others, and for the work of cf_build_exact */
    cuckoo_key_list list;         /* cf_keys */
    sqlite3_str *bytes;           /* cf_keys: the list; NULL: not begun */
} collected;

/* The most that SQLite allocates at once. */
enum { MOST_IN_MEMORY = 0x7ffffe00 /* bytes */ };

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
    cf_memory memory = cuckoo_result_memory(context);
    memory.most = MOST_IN_MEMORY;
    for (int i = 0; i < FILES; i++)
        cuckoo_temporary_begin(&c->file[i], sqlite3_context_db_handle(context));
    c->keys = c->others = (cf_collected){.memory = memory,
                                         .file = &c->file[0].file,
                                         .valued = filter->value_bits != 0,
                                         .counts = filter->counter_bits != 0};
    c->others.file = &c->file[1].file;
    c->rule = (cf_geometry){.seed = filter->seed,
                            .keyed = cf_is_keyed(filter),
                            .affinity = (uint8_t)filter->affinity,
                            .collation = (uint8_t)filter->collation};
    c->started = true;
    return true;
}

/* Reads [fpr [, options]] of a row (cuckoo_options_read). They must be equal in all rows. `count` is 0
** to 2 and the same for all rows. */
static bool read_options_of(sqlite3_context *context, int count, sqlite3_value **values, collected *c)
{
    if (!c->started)
        return read_first(context, count, values, c);
    for (int i = 0; i < count; i++)
        if (!same_value(values[i], c->given[i]))
            return cuckoo_fail(context,
                               "fpr and options must be the same for all rows; use GROUP BY for several "
                               "filters");
    return true;
}

static void free_collected(collected *c)
{
    sqlite3_value_free(c->given[0]);
    sqlite3_value_free(c->given[1]);
    cf_collected_free(&c->keys);
    cf_collected_free(&c->others);
    for (int i = 0; i < FILES; i++)
        cuckoo_temporary_close(&c->file[i]);
    sqlite3_free(sqlite3_str_finish(c->bytes));
}

static bool add_key(sqlite3_context *context, cf_collected *list, uint64_t hash, uint64_t value)
{
    cuckoo_watch watch;
    cf_status status = CF_OK;
    if (list->used == list->room) { /* it may take long, and then checks for interrupts */
        cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), NULL);
        list->watch = &watch.hook;
        status = cf_collect_more(list);
        cuckoo_watch_end(&watch);
    }
    status = status == CF_OK ? cf_collect(list, hash, value) : status;
    return status == CF_OK || cuckoo_fail_list(context, list, status);
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
    if ((bits != 0) != (given != NULL)) /* an error even for a NULL key */
        return cuckoo_value_read(context, bits, given, &value);
    cuckoo_key kind = cuckoo_key_added(context, argv[0], &c->rule, &hash);
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NULL;
    if (bits && !cuckoo_value_read(context, bits, given, &value))
        return false;
    return add_key(context, &c->keys, hash, bits ? value : 0);
}

static void build_last(sqlite3_context *context, void *state, bool failed)
{
    cf_filter filter;
    collected *c = state;
    if (!c->started)
        cuckoo_options_default(&c->options);
    c->options.filter.key_types |= c->rule.key_types;
    if (!failed && cuckoo_build_filter(context, &c->keys, &c->options, &filter)) {
        if (!c->started)
            filter.geometry.capacity = 0; /* cuckoo_is_from_zero_rows */
        cuckoo_result_filter(context, &filter);
    }
    free_collected(c);
}

/* ---- cf_build_exact(key, member [, fpr [, options]]) ---- */

/* An inexact key (cuckoo_key.h) may equal any of several others, which get other answers. */
static bool is_exact(sqlite3_context *context, sqlite3_value *key, const cf_geometry *rule)
{
    return rule->affinity == CF_AFFINITY_NONE || !(rule->key_types & CF_TYPE_INEXACT) ||
           cuckoo_fail(context,
                       "key is %s, which may equal other keys under this affinity; leave affinity= out",
                       cuckoo_show(key).text);
}

static bool read_member(sqlite3_context *context, sqlite3_value *value, bool *member)
{
    int type = sqlite3_value_type(value);
    double given = sqlite3_value_double(value);
    *member = given != 0;
    return ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) && (!*member || given == 1)) ||
           cuckoo_fail(context, "member, the second argument, must be 1 or 0, got %s%s",
                       cuckoo_show(value).text, type == SQLITE_NULL ? "; use ifnull(member, 0)" : "");
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
        return cuckoo_fail(context,
                           "only the options seed, hash, affinity and collation apply to an exact "
                           "filter; leave the others out");
    cuckoo_key kind = cuckoo_key_added(context, argv[0], &c->rule, &hash);
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NULL;
    return read_member(context, argv[1], &member) && is_exact(context, argv[0], &c->rule) &&
           add_key(context, member ? &c->keys : &c->others, hash, 0);
}

static void exact_last(sqlite3_context *context, void *state, bool failed)
{
    const char *why = NULL;
    cuckoo_watch watch;
    collected *c = state;
    bool given = c->given[0] && sqlite3_value_type(c->given[0]) != SQLITE_NULL;
    cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), NULL);
    cf_exact_build build = {.options = c->options.filter,
                            .fpr = given ? c->options.fpr : 0,
                            .collected = {&c->others, &c->keys},
                            .file = &c->file[2].file,
                            .memory = cuckoo_result_memory(context),
                            .watch = &watch.hook};
    build.options.growth = false;
    build.options.key_types |= c->rule.key_types;
    c->keys.watch = c->others.watch = &watch.hook;
    cf_status status = failed ? CF_OK : cf_exact_make(&build, &why);
    cuckoo_watch_end(&watch);
    for (int i = 1; i < FILES; i++)
        c->file[0].rc = c->file[0].rc ? c->file[0].rc : c->file[i].rc;
    if (status == CF_NO_MEMORY && c->file[0].rc)
        cuckoo_fail_list(context, &c->keys, status);
    else if (status != CF_OK)
        cuckoo_fail_code(context, cuckoo_error_code(status), "%s", why);
    else if (!failed)
        sqlite3_result_blob64(context, build.bytes, build.length, sqlite3_free);
    free_collected(c);
}

/* ---- cf_keys(key [, value [, options]]) ---- */

/* All keys of a list have values, or none has. NULL means no value. */
static bool read_keys_value(sqlite3_context *context, sqlite3_value *given, cuckoo_key_list *list,
                            uint64_t *value)
{
    bool valued = given && sqlite3_value_type(given) != SQLITE_NULL;
    if (valued && !cuckoo_key_value(given, CF_VALUE_MAX, value))
        return cuckoo_fail(context,
                           "value must be an integer from 0 to 4294967295, got %s; options come "
                           "third: cf_keys(key, NULL, options)",
                           cuckoo_show(given).text);
    if (list->n == 0)
        list->valued = valued;
    return valued == list->valued ||
           cuckoo_fail(context,
                       "some keys have a value and others have NULL; give each one a value, or none");
}

/* The bytes of a list begin with room for its header. */
static void begin_list(sqlite3_context *context, collected *c)
{
    if (c->bytes == NULL) {
        c->bytes = sqlite3_str_new(sqlite3_context_db_handle(context));
        sqlite3_str_appendchar(c->bytes, CUCKOO_LIST_HEADER, 0);
    }
}

static bool keys_row(sqlite3_context *context, int argc, sqlite3_value **argv, void *state)
{
    collected *c = state;
    uint8_t words[16];
    uint64_t hash, value = 0;
    sqlite3_value *options[] = {NULL, argc > 2 ? argv[2] : NULL};
    if (!read_options_of(context, argc > 2 ? 2 : 0, options, c))
        return false;
    cuckoo_key kind = cuckoo_key_added(context, argv[0], &c->rule, &hash);
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NULL;
    if (!read_keys_value(context, argc > 1 ? argv[1] : NULL, &c->list, &value))
        return false;
    begin_list(context, c);
    cf_store64(words, hash);
    cf_store64(words + 8, value);
    sqlite3_str_append(c->bytes, (const char *)words, c->list.valued ? 16 : 8);
    c->list.numeric = c->list.numeric || cuckoo_key_is_numeric(argv[0]);
    c->list.n++;
    return true; /* an error of sqlite3_str is reported in the end */
}

static void keys_last(sqlite3_context *context, void *state, bool failed)
{
    collected *c = state;
    begin_list(context, c);
    uint8_t *header = failed ? NULL : (uint8_t *)sqlite3_str_value(c->bytes); /* NULL after an error */
    c->list.rule = c->rule;
    if (header)
        cuckoo_list_encode(&c->list, header);
    if (!failed) {
        cuckoo_result_built(context, c->bytes, NULL);
        c->bytes = NULL;
    }
    free_collected(c);
}

const cuckoo_function *const cuckoo_aggregates = (const cuckoo_function[]){
    {"cf_build", 1, 4, .row = build_row, .last = build_last, .state = sizeof(collected)},
    {"cf_build_exact", 2, 4, .row = exact_row, .last = exact_last, .state = sizeof(collected)},
    {"cf_keys", 1, 3, .row = keys_row, .last = keys_last, .state = sizeof(collected)},
    {.name = NULL},
};
