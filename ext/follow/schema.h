/* SPDX-License-Identifier: MIT */
/*
** schema.h - the tables and triggers of the schemas that a statement may reach.
**
** A statement on one table changes others: its triggers do, and foreign keys. What a statement
** reaches is found by names, and by words such as DELETE. So it may be less in truth, and never more.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_SCHEMA_H
#define CUCKOO_SCHEMA_H

#include "../sqlite/api.h"

/* The name of the TEMP trigger on a log, of connections that have the extension (touch.h). SQLite shows
** it in errors of ALTER TABLE when another connection has dropped the filter: so it says what to do. */
#define CUCKOO_TOUCH_SUFFIX "_connect_anew_if_its_table_is_gone"
#define CUCKOO_TOUCH_NAME   "%s" CUCKOO_TOUCH_SUFFIX

typedef enum cuckoo_fires { CUCKOO_INSERT, CUCKOO_UPDATE, CUCKOO_DELETE } cuckoo_fires;

typedef struct cuckoo_object {
    char *name;
    char *table;        /* its own name, or the table on which the trigger is */
    char *sql;          /* as SQLite keeps it */
    const char *body;   /* of a trigger: behind BEGIN; NULL: it is a table */
    unsigned breaks;    /* cuckoo_sql_breaks of its text */
    int64_t order;      /* the newer of two triggers has the larger one */
    bool temporary;     /* in the schema temp */
    bool ours;          /* a trigger of a filter, and nothing else */
    bool after;         /* a trigger that fires after the change of a row */
    bool early;         /* one that can fire between the time a row is read and the time it is written */
    cuckoo_fires event; /* for which a trigger fires */
    bool reached;       /* by the SQL that was asked for last */
    bool indexed;       /* a table: CREATE INDEX has made an index of unique keys */
    bool keyed;         /* a table: it may delete or update rows, which foreign keys may refer to */
    bool followed;      /* what it reaches is marked, too */
} cuckoo_object;

typedef struct cuckoo_schema {
    cuckoo_object *object; /* NULL: none */
    int n;
    bool replaces; /* REPLACE fires delete triggers (PRAGMA recursive_triggers) */
} cuckoo_schema;

/* Reads the tables and triggers of this schema and of temp, without the TEMP triggers on logs; if there
** are other TEMP triggers, which may change any table, those of all schemas. To be freed after errors,
** too. */
int cuckoo_schema_read(sqlite3 *db, const char *schema, cuckoo_schema *all);
void cuckoo_schema_free(cuckoo_schema *all);

/* Marks the tables that this SQL names, their triggers, and what these reach. Returns what of the
** triggers and tables may break off (cuckoo_sql_breaks), the SQL itself included. */
unsigned cuckoo_schema_reach(cuckoo_schema *all, const char *sql);

/* May this SQL, or what it sets off, change rows of the table? Marks as cuckoo_schema_reach. */
bool cuckoo_schema_may_change(cuckoo_schema *all, const char *sql, const char *table);

/* May a row of this table change between the time at which a statement reads it and the time of writing?
** SQLite then tells triggers old values that are no longer true. */
bool cuckoo_schema_may_lie(cuckoo_schema *all, const char *table);

/* May what the trigger changes, or what it sets off, violate a constraint? (schema_fail.c) */
bool cuckoo_schema_may_fail(cuckoo_schema *all, const cuckoo_object *trigger);

/* Is this the text of a trigger of a filter, and nothing else? */
bool cuckoo_schema_is_ours(const char *sql);

#endif
