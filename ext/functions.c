/*
** functions.c - the scalar functions. Each one: read the arguments, call src, hand over the result.
**
** All are pure, hence DETERMINISTIC and INNOCUOUS. A function that fails has set its message by the time
** the helper that found out returns; then it just returns.
*/
#include "functions.h"

#include "errors.h"
#include "handle.h"
#include "key.h"
#include "register.h"

/* ---- cf_new ---- */

static bool fits_in_sqlite(sqlite3_context *context, const cf_geometry *shape)
{
    uint64_t bytes = cf_geometry_bytes(shape);
    int most = sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1);
    if (bytes <= (uint64_t)most)
        return true;
    cuckoo_fail(context, CF_TOO_BIG,
                "a filter for %lld keys takes %lld bytes and this connection allows %d "
                "(SQLITE_LIMIT_LENGTH); use a smaller capacity or a larger fpr, or split the keys",
                (sqlite3_int64)shape->capacity, (sqlite3_int64)bytes, most);
    return false;
}

uint8_t *cuckoo_new_filter(sqlite3_context *context, const cf_geometry *shape, cf_filter *filter)
{
    if (!fits_in_sqlite(context, shape))
        return NULL;
    uint8_t *bytes = sqlite3_malloc64(cf_geometry_bytes(shape));
    if (bytes)
        cf_create(filter, shape, bytes);
    else
        sqlite3_result_error_nomem(context);
    return bytes;
}

bool cuckoo_plan(sqlite3_context *context, uint64_t capacity, const cuckoo_options *options,
                 cf_geometry *shape)
{
    const char *why;
    cf_status status = cf_plan(capacity, options->fpr, &options->filter, shape, &why);
    if (status != CF_OK)
        cuckoo_fail(context, status, "%s", why);
    return status == CF_OK;
}

bool cuckoo_plan_arguments(sqlite3_context *context, int argc, sqlite3_value **argv, cf_geometry *shape)
{
    cuckoo_options options;
    uint64_t capacity;
    if (!cuckoo_capacity_read(context, argv[0], &capacity) ||
        !cuckoo_options_read(context, argc - 1, argv + 1, &options))
        return false;
    if (options.capacity != 0 && options.capacity != capacity) {
        cuckoo_fail(context, CF_BAD_ARGUMENT,
                    "capacity is given twice: as the first argument and, differently, in the options");
        return false;
    }
    return cuckoo_plan(context, capacity, &options, shape);
}

static void new_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cf_geometry shape;
    cf_filter filter;
    if (!cuckoo_plan_arguments(context, argc, argv, &shape))
        return;
    uint8_t *bytes = cuckoo_new_filter(context, &shape, &filter);
    if (bytes)
        cuckoo_result_filter(context, &filter, bytes);
}

/* ---- cf_contains, cf_count ---- */

/* The two arguments (filter, key) of most functions. */
typedef struct question {
    const cf_filter *filter;
    uint64_t hash;
} question;

typedef enum read_result { READ_OK, READ_NULL_KEY, READ_FAILED } read_result;

static read_result read_question(sqlite3_context *context, sqlite3_value **argv, question *q)
{
    q->filter = cuckoo_filter_argument(context, argv[0]);
    if (q->filter == NULL)
        return READ_FAILED;
    switch (cuckoo_key_hash(argv[1], q->filter->geometry.seed, &q->hash)) {
    case CUCKOO_KEY_OK:
        return READ_OK;
    case CUCKOO_KEY_NULL:
        return READ_NULL_KEY;
    default:
        sqlite3_result_error_nomem(context);
        return READ_FAILED;
    }
}

static void contains_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    question q;
    (void)argc;
    if (read_question(context, argv, &q) == READ_OK)
        sqlite3_result_int(context, cf_contains(q.filter, q.hash));
}

static void count_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    question q;
    (void)argc;
    if (read_question(context, argv, &q) == READ_OK)
        sqlite3_result_int(context, (int)cf_count(q.filter, q.hash));
}

/* ---- cf_add, cf_delete, cf_clear ---- */

/* The result is the filter as it was: the same value, or the bytes behind a handle. */
static void result_unchanged(sqlite3_context *context, sqlite3_value *value, const cf_filter *filter)
{
    if (sqlite3_value_type(value) == SQLITE_BLOB)
        sqlite3_result_value(context, value);
    else
        sqlite3_result_blob64(context, filter->bytes, filter->length, SQLITE_TRANSIENT);
}

static void add_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    question q;
    cf_filter copy;
    (void)argc;
    read_result read = read_question(context, argv, &q);
    if (read == READ_NULL_KEY)
        result_unchanged(context, argv[0], q.filter);
    if (read != READ_OK)
        return;
    uint8_t *bytes = cuckoo_filter_copy(context, q.filter, &copy);
    if (bytes == NULL)
        return;
    if (cf_add(&copy, q.hash) == CF_OK) {
        cuckoo_result_filter(context, &copy, bytes);
    } else {
        cuckoo_fail_full(context, &copy);
        sqlite3_free(bytes);
    }
}

static void delete_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    question q;
    cf_filter copy;
    (void)argc;
    read_result read = read_question(context, argv, &q);
    if (read == READ_NULL_KEY || (read == READ_OK && !cf_contains(q.filter, q.hash))) {
        result_unchanged(context, argv[0], q.filter);
        return;
    }
    uint8_t *bytes = read == READ_OK ? cuckoo_filter_copy(context, q.filter, &copy) : NULL;
    if (bytes) {
        cf_delete(&copy, q.hash);
        cuckoo_result_filter(context, &copy, bytes);
    }
}

static void clear_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cf_filter fresh;
    (void)argc;
    const cf_filter *filter = cuckoo_filter_argument(context, argv[0]);
    if (filter == NULL)
        return;
    uint8_t *bytes = cuckoo_new_filter(context, &filter->geometry, &fresh);
    if (bytes)
        cuckoo_result_filter(context, &fresh, bytes);
}

/* ---- cf_merge(filter, filter, ...) ---- */

bool cuckoo_merge_into(sqlite3_context *context, cf_filter *sum, const cf_filter *filter)
{
    const char *why;
    cf_status status = cf_merge(sum, filter, &why);
    if (status == CF_MISMATCH)
        cuckoo_fail(context, status,
                    "the filters differ in %s; build them with equal capacity, fpr and options", why);
    else if (status == CF_FULL)
        cuckoo_fail_full(context, sum);
    return status == CF_OK;
}

static bool merge_rest(sqlite3_context *context, int argc, sqlite3_value **argv, cf_filter *sum)
{
    for (int i = 1; i < argc; i++) {
        const cf_filter *filter = cuckoo_filter_argument(context, argv[i]);
        if (filter == NULL || !cuckoo_merge_into(context, sum, filter))
            return false;
    }
    return true;
}

static void merge_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cf_filter sum;
    if (argc == 0) {
        cuckoo_fail(context, CF_BAD_ARGUMENT, "needs at least one filter");
        return;
    }
    const cf_filter *first = cuckoo_filter_argument(context, argv[0]);
    uint8_t *bytes = first ? cuckoo_filter_copy(context, first, &sum) : NULL;
    if (bytes == NULL)
        return;
    if (merge_rest(context, argc, argv, &sum))
        cuckoo_result_filter(context, &sum, bytes);
    else
        sqlite3_free(bytes);
}

/* ---- cf_version ---- */

static void version_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_text(context, CUCKOO_VERSION, -1, SQLITE_STATIC);
}

/* ---- registration ---- */

int cuckoo_register_functions(sqlite3 *db, bool on)
{
    static const cuckoo_function functions[] = {
        {"cf_new", 1, new_function, NULL, NULL},
        {"cf_new", 2, new_function, NULL, NULL},
        {"cf_new", 3, new_function, NULL, NULL},
        {"cf_add", 2, add_function, NULL, NULL},
        {"cf_delete", 2, delete_function, NULL, NULL},
        {"cf_contains", 2, contains_function, NULL, NULL},
        {"cf_count", 2, count_function, NULL, NULL},
        {"cf_merge", -1, merge_function, NULL, NULL},
        {"cf_clear", 1, clear_function, NULL, NULL},
        {"cf_open", 1, cuckoo_open_function, NULL, NULL},
        {"cf_key", -1, cuckoo_key_function, NULL, NULL},
        {"cf_version", 0, version_function, NULL, NULL},
    };
    return cuckoo_register(db, functions, sizeof functions / sizeof functions[0], on);
}
