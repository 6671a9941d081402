/* SPDX-License-Identifier: MIT */
/*
** register.h - registering functions, and what each function carries along.
**
** The user data of a function are its name, for its messages, and a reader, which remembers the
** filter that was opened last: the filter is the same in nearly every row of a query. There is one
** of each for every connection. SQLite runs one function of a connection at a time.
*/
#ifndef CUCKOO_REGISTER_H
#define CUCKOO_REGISTER_H

#include "api.h"

/* A function; a row of an aggregate, false: it has failed; and the end of an aggregate, which frees what
** is in its state. The state is zeros at first; NULL: there were no rows. */
typedef void (*cuckoo_call)(sqlite3_context *context, int argc, sqlite3_value **argv);
typedef bool (*cuckoo_row)(sqlite3_context *context, int argc, sqlite3_value **argv, void *state);
typedef void (*cuckoo_last)(sqlite3_context *context, void *state, bool failed);

/* With each number of arguments from `least` to `most`; -1 is any number. Lists end with {.name =
** NULL}. */
typedef struct cuckoo_function {
    const char *name; /* static text */
    int least, most;
    cuckoo_call function; /* of a scalar function */
    cuckoo_row row;       /* of an aggregate */
    cuckoo_last last;
    int state; /* bytes */
} cuckoo_function;

/* Registers a list of pure functions (deterministic and innocuous), or takes functions back. Returns an
** SQLite code. When registering fails, some functions may be registered. */
int cuckoo_register(sqlite3 *db, const cuckoo_function *functions, bool on);

/* Registers one function that is not pure. `flags` are those of SQLite beside the encoding.
** `shared` is what cuckoo_function_shared gives; release(shared) is called once, when the function
** is taken back, or when it could not be registered. cuckoo_register takes it back. */
int cuckoo_register_impure(sqlite3 *db, const cuckoo_function *function, int flags, void *shared,
                           void (*release)(void *shared));

/* Of the running function: its name, what it shares with others, and its reader. What the reader
** has opened stays open until it opens another filter. */
const char *cuckoo_function_name(sqlite3_context *context);
void *cuckoo_function_shared(sqlite3_context *context);
cf_reader *cuckoo_function_reader(sqlite3_context *context);

/* True for one in 256 calls: time for what takes long and pays when there are many more. */
bool cuckoo_function_turn(sqlite3_context *context);

/* Register pure functions or tables, or take them back. Each returns an SQLite code. */
int cuckoo_register_scalars(sqlite3 *db, bool on);    /* functions.c */
int cuckoo_register_infos(sqlite3 *db, bool on);      /* info.c */
int cuckoo_register_aggregates(sqlite3 *db, bool on); /* aggregates.c */
int cuckoo_register_lists(sqlite3 *db, bool on);      /* key_list.c */
int cuckoo_register_tables(sqlite3 *db, bool on);     /* table_vtab.c */

#endif
