#include "register.h"

typedef struct carried {
    const char *name;
    cf_reader reader;
} carried;

static const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;

static int register_one(sqlite3 *db, const cuckoo_function *f)
{
    carried *data = sqlite3_malloc64(sizeof *data);
    if (data == NULL)
        return SQLITE_NOMEM;
    *data = (carried){.name = f->name};
    /* also frees data when it fails */
    return sqlite3_create_function_v2(db, f->name, f->arguments, flags, data, f->function, f->step,
                                      f->last, sqlite3_free);
}

static int take_back(sqlite3 *db, const cuckoo_function *f)
{
    return sqlite3_create_function_v2(db, f->name, f->arguments, flags, NULL, NULL, NULL, NULL, NULL);
}

int cuckoo_register(sqlite3 *db, const cuckoo_function *functions, size_t n, bool on)
{
    int first = SQLITE_OK;
    for (size_t i = 0; i < n && (first == SQLITE_OK || !on); i++) {
        int rc = on ? register_one(db, &functions[i]) : take_back(db, &functions[i]);
        first = first == SQLITE_OK ? rc : first;
    }
    return first;
}

const char *cuckoo_function_name(sqlite3_context *context)
{
    return ((carried *)sqlite3_user_data(context))->name;
}

cf_reader *cuckoo_function_reader(sqlite3_context *context)
{
    return &((carried *)sqlite3_user_data(context))->reader;
}
