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
** is in its state. The state is zeros at first. */
typedef void (*cuckoo_call)(sqlite3_context *context, int argc, sqlite3_value **argv);
typedef bool (*cuckoo_row)(sqlite3_context *context, int argc, sqlite3_value **argv, void *state);
typedef void (*cuckoo_last)(sqlite3_context *context, void *state, bool failed);

/* With each number of arguments from `least` to `most`; -1 is any number. A list ends without a name. */
typedef struct cuckoo_function {
    const char *name; /* static text */
    int least, most;
    cuckoo_call function; /* of a scalar function */
    cuckoo_row row;       /* of an aggregate */
    cuckoo_last last;
    int state;     /* bytes */
    bool direct;   /* no trigger and no view may call it */
    bool harmless; /* they may, even if the schema is not trusted. What is pure is, too. */
} cuckoo_function;

/* What functions share with others that are not pure. It is released with its last reference. */
typedef struct cuckoo_shared {
    unsigned references;
    void (*release)(void *shared); /* one reference less */
} cuckoo_shared;

/* Registers a list of functions, or takes them back. Without `shared` they are pure (deterministic and
** innocuous); else each of them has a reference. Returns an SQLite code. When registering fails, some
** functions may be registered. */
int cuckoo_register(sqlite3 *db, const cuckoo_function *functions, cuckoo_shared *shared, bool on);

/* Of the running function: its name, what it shares with others, and its reader. What the reader
** has opened stays open until it opens another filter. */
const char *cuckoo_function_name(sqlite3_context *context);
void *cuckoo_function_shared(sqlite3_context *context);
cf_reader *cuckoo_function_reader(sqlite3_context *context);

/* True for one in 256 calls: time for what takes long and pays when there are many more. */
bool cuckoo_function_turn(sqlite3_context *context);

extern const cuckoo_function *const cuckoo_scalars, *const cuckoo_infos;
extern const cuckoo_function *const cuckoo_aggregates, *const cuckoo_lists;

/* Registers the tables and what belongs to them, or takes them back. (vtab.c) */
int cuckoo_register_tables(sqlite3 *db, bool on);

#endif
