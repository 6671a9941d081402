/* SPDX-License-Identifier: MIT */
#include "register.h"

#include <assert.h>

typedef struct carried {
    const char *name;
    cf_reader reader;
    unsigned turns;
    void *shared;
    void (*release)(void *shared); /* NULL: nothing is shared */
} carried;

static void free_carried(void *pointer)
{
    carried *data = pointer;
    if (data->release)
        data->release(data->shared);
    sqlite3_free(data);
}

static int register_one(sqlite3 *db, const cuckoo_function *f, int arguments, int flags,
                        const carried *model)
{
    carried *data = sqlite3_malloc64(sizeof *data);
    if (data == NULL) {
        if (model->release)
            model->release(model->shared);
        return SQLITE_NOMEM;
    }
    *data = *model;
    /* frees data also when it fails */
    return sqlite3_create_function_v2(db, f->name, arguments, SQLITE_UTF8 | flags, data, f->function,
                                      f->step, f->last, free_carried);
}

int cuckoo_register_impure(sqlite3 *db, const cuckoo_function *function, int flags, void *shared,
                           void (*release)(void *shared))
{
    assert(function->function != NULL && function->least == function->most);
    carried model = {.name = function->name, .shared = shared, .release = release};
    return register_one(db, function, function->least, flags, &model);
}

int cuckoo_register(sqlite3 *db, const cuckoo_function *functions, bool on)
{
    int first = SQLITE_OK;
    for (const cuckoo_function *f = functions; f->name; f++)
        for (int n = f->least; n <= f->most && (first == SQLITE_OK || !on); n++) {
            carried model = {.name = f->name};
            int rc = on ? register_one(db, f, n, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, &model)
                        : sqlite3_create_function_v2(db, f->name, n, SQLITE_UTF8, NULL, NULL, NULL, NULL,
                                                     NULL);
            first = first == SQLITE_OK ? rc : first;
        }
    return first;
}

static carried *carried_by(sqlite3_context *context)
{
    return sqlite3_user_data(context);
}

const char *cuckoo_function_name(sqlite3_context *context)
{
    return carried_by(context)->name;
}

void *cuckoo_function_shared(sqlite3_context *context)
{
    return carried_by(context)->shared;
}

cf_reader *cuckoo_function_reader(sqlite3_context *context)
{
    return &carried_by(context)->reader;
}

bool cuckoo_function_turn(sqlite3_context *context)
{
    return ++carried_by(context)->turns % 256 == 0;
}

void *cuckoo_aggregate_state(sqlite3_context *context, int bytes)
{
    void *state = sqlite3_aggregate_context(context, bytes);
    if (state == NULL && bytes > 0)
        sqlite3_result_error_nomem(context);
    return state;
}
