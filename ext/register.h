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

/* Registers a pure function under a name of static text: deterministic and innocuous. Scalar: `function`,
** and NULL for the rest. Aggregate: `step` and `last`. arguments: their number, -1 = any. An SQLite code. */
int cuckoo_register(sqlite3 *db, const char *name, int arguments, cuckoo_call function, cuckoo_call step,
                    cuckoo_last last);

/* The name of the running function. */
const char *cuckoo_function_name(sqlite3_context *context);

/* The reader of the running function: what it opened stays open until it opens another. */
cf_reader *cuckoo_function_reader(sqlite3_context *context);

#endif
