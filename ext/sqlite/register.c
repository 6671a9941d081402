/* SPDX-License-Identifier: MIT */
#include "register.h"

static void free_running(void *pointer)
{
    cuckoo_running *data = pointer;
    if (data->shared)
        data->shared->release(data->shared);
    sqlite3_free(data);
}

typedef struct aggregate {
    bool failed;
    uint64_t state[]; /* of the function; the same alignment as in SQLite */
} aggregate;

static void aggregate_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const cuckoo_function *f = &cuckoo_running_function(context)->function;
    aggregate *a = sqlite3_aggregate_context(context, (int)sizeof *a + f->state);
    if (a == NULL)
        sqlite3_result_error_nomem(context);
    else if (!a->failed)
        a->failed = !f->row(context, argc, argv, a->state);
}

/* SQLite calls this even after a step has failed, and for zero rows. */
static void aggregate_last(sqlite3_context *context)
{
    const cuckoo_function *f = &cuckoo_running_function(context)->function;
    aggregate *a = sqlite3_aggregate_context(context, (int)sizeof *a + f->state);
    if (a == NULL)
        sqlite3_result_error_nomem(context);
    else
        f->last(context, a->state, a->failed);
}

static int register_one(sqlite3 *db, const cuckoo_function *f, int arguments, cuckoo_shared *shared)
{
    cuckoo_running *data = sqlite3_malloc64(sizeof *data);
    if (data == NULL)
        return SQLITE_NOMEM;
    *data = (cuckoo_running){.function = *f, .shared = shared};
    if (shared)
        shared->references++;
    int flags = !shared       ? SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
                : f->harmless ? SQLITE_INNOCUOUS
                : f->direct   ? SQLITE_DIRECTONLY
                              : 0;
    /* this frees data even if it fails */
    return sqlite3_create_function_v2(db, f->name, arguments, SQLITE_UTF8 | flags, data, f->function,
                                      f->row ? aggregate_step : NULL, f->row ? aggregate_last : NULL,
                                      free_running);
}

int cuckoo_register(sqlite3 *db, const cuckoo_function *functions, cuckoo_shared *shared, bool on)
{
    int first = SQLITE_OK;
    for (const cuckoo_function *f = functions; f->name; f++)
        for (int n = f->least; n <= f->most && (first == SQLITE_OK || !on); n++) {
            int rc = on ? register_one(db, f, n, shared)
                        : sqlite3_create_function_v2(db, f->name, n, SQLITE_UTF8, NULL, NULL, NULL, NULL,
                                                     NULL);
            first = first == SQLITE_OK ? rc : first;
        }
    return first;
}
