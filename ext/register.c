/* SPDX-License-Identifier: MIT */
#include "register.h"

#include <assert.h>

typedef struct carried {
    const char *name;
    cf_reader reader;
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

static int register_one(sqlite3 *db, const cuckoo_function *f, int flags, const carried *model)
{
    carried *data = sqlite3_malloc64(sizeof *data);
    if (data == NULL) {
        if (model->release)
            model->release(model->shared);
        return SQLITE_NOMEM;
    }
    *data = *model;
    /* frees data also when it fails */
    return sqlite3_create_function_v2(db, f->name, f->arguments, SQLITE_UTF8 | flags, data, f->function,
                                      f->step, f->last, free_carried);
}

static int take_back(sqlite3 *db, const cuckoo_function *f)
{
    return sqlite3_create_function_v2(db, f->name, f->arguments, SQLITE_UTF8, NULL, NULL, NULL, NULL,
                                      NULL);
}

int cuckoo_register_impure(sqlite3 *db, const cuckoo_function *function, int flags, void *shared,
                           void (*release)(void *shared))
{
    assert(function->function != NULL);
    carried model = {.name = function->name, .shared = shared, .release = release};
    return register_one(db, function, flags, &model);
}

int cuckoo_register(sqlite3 *db, const cuckoo_function *functions, size_t n, bool on)
{
    int first = SQLITE_OK;
    for (size_t i = 0; i < n && (first == SQLITE_OK || !on); i++) {
        carried model = {.name = functions[i].name};
        int rc = on ? register_one(db, &functions[i], SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, &model)
                    : take_back(db, &functions[i]);
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

void *cuckoo_aggregate_state(sqlite3_context *context, int bytes)
{
    void *state = sqlite3_aggregate_context(context, bytes);
    if (state == NULL && bytes > 0)
        sqlite3_result_error_nomem(context);
    return state;
}
