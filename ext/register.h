/*
** register.h - registering functions, and what each carries along.
**
** A function's user data is its name, for its messages, and a reader that remembers the last filter it
** opened: the filter is the same in nearly every row of a query. Both live as long as the function, one
** for each connection; SQLite runs one function of a connection at a time.
*/
#ifndef CUCKOO_REGISTER_H
#define CUCKOO_REGISTER_H

#include "api.h"

typedef void (*cuckoo_call)(sqlite3_context *context, int argc, sqlite3_value **argv);
typedef void (*cuckoo_last)(sqlite3_context *context);

/* A pure function: deterministic and innocuous. Scalar: `function` is set; aggregate: `step` and `last`. */
typedef struct cuckoo_function {
    const char *name; /* static text */
    int arguments;    /* their number, -1 = any */
    cuckoo_call function, step;
    cuckoo_last last;
} cuckoo_function;

/* Registers n functions, or takes them back. An SQLite code; when registering fails, some may be there. */
int cuckoo_register(sqlite3 *db, const cuckoo_function *functions, size_t n, bool on);

/* The name of the running function. */
const char *cuckoo_function_name(sqlite3_context *context);

/* The reader of the running function: what it opened stays open until it opens another. */
cf_reader *cuckoo_function_reader(sqlite3_context *context);

#endif
