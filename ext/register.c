#include "register.h"

typedef struct carried {
    const char *name;
    cf_reader reader;
} carried;

int cuckoo_register(sqlite3 *db, const char *name, int arguments, cuckoo_call function, cuckoo_call step,
                    cuckoo_last last)
{
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    carried *data = sqlite3_malloc64(sizeof *data);
    if (data == NULL)
        return SQLITE_NOMEM;
    *data = (carried){.name = name};
    /* also frees data when it fails */
    return sqlite3_create_function_v2(db, name, arguments, flags, data, function, step, last,
                                      sqlite3_free);
}

const char *cuckoo_function_name(sqlite3_context *context)
{
    return ((carried *)sqlite3_user_data(context))->name;
}

cf_reader *cuckoo_function_reader(sqlite3_context *context)
{
    return &((carried *)sqlite3_user_data(context))->reader;
}
