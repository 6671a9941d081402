/* SPDX-License-Identifier: MIT */
/*
** register.h - registering functions, and the data of a registered function.
**
** Each connection has data of its own, and SQLite runs one function of a connection at a time.
*/
#ifndef CUCKOO_REGISTER_H
#define CUCKOO_REGISTER_H

#include "api.h"

/* A scalar function; a row of an aggregate, which returns false after an error; and the end of an
** aggregate, which frees the contents of its state. The state is zeros before the first row. */
typedef void (*cuckoo_call)(sqlite3_context *context, int argc, sqlite3_value **argv);
typedef bool (*cuckoo_row)(sqlite3_context *context, int argc, sqlite3_value **argv, void *state);
typedef void (*cuckoo_last)(sqlite3_context *context, void *state, bool failed);

/* A function with `least` to `most` arguments; -1 is any number. A list ends with the name NULL. */
typedef struct cuckoo_function {
    const char *name; /* static text */
    int least, most;
    cuckoo_call function; /* of a scalar function */
    cuckoo_row row;       /* of an aggregate */
    cuckoo_last last;
    int state;     /* bytes of the state */
    bool direct;   /* triggers and views may not call it */
    bool harmless; /* they may, even if the schema is not trusted; the same holds for pure functions */
} cuckoo_function;

/* The state that functions which are not pure share. The last reference frees it. */
typedef struct cuckoo_shared {
    unsigned references;
    void (*release)(void *shared); /* releases a reference */
} cuckoo_shared;

/* Registers or removes (`on` is false) a list of functions. Without `shared` they are pure:
** deterministic and innocuous. Otherwise each gets a reference. On error some may be registered. */
int cuckoo_register(sqlite3 *db, const cuckoo_function *functions, cuckoo_shared *shared, bool on);

/* The user data of a function. */
typedef struct cuckoo_running {
    cuckoo_function function;
    cf_reader reader; /* the last filter that was opened: most rows of a query open it again */
    unsigned opened;  /* filters opened without auxiliary data (handles.h) */
    cuckoo_shared *shared;
} cuckoo_running;

static inline cuckoo_running *cuckoo_running_function(sqlite3_context *context)
{
    return (cuckoo_running *)sqlite3_user_data(context);
}

static inline void *cuckoo_function_shared(sqlite3_context *context)
{
    return cuckoo_running_function(context)->shared;
}

extern const cuckoo_function *const cuckoo_scalars, *const cuckoo_infos;
extern const cuckoo_function *const cuckoo_aggregates, *const cuckoo_lists;

/* Registers or removes the modules and the functions that use filter tables. (vtab.c) */
int cuckoo_register_tables(sqlite3 *db, bool on);

#endif
