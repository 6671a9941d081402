/*
** waiting.h - what a persistent filter has still to do: one list, in a shadow table.
**
**      seen_wait     hash    value   adds   deletes
**                    4711    0       1      0         a key without a place: as good as stored
**                    4712    0       0      2         two deletes that wait for the end of the transaction
**
** A key that finds no place in a filter that may grow waits here, and is tried again later: no key is ever refused.
** Lookups ask the list, too. Deletes of a filter that follows a table wait for the end of the transaction, because
** triggers do not fire in the order of the changes: a delete that comes before its add would take away the fingerprint of
** another key. Lookups ignore them. They are kept in memory first, and become rows when a savepoint opens
** (cuckoo_waiting_flush), so that SQLite rolls them back with everything else.
**
** How many adds and deletes the rows stand for is kept with the header of the filter (pages.h).
*/
#ifndef CUCKOO_WAITING_H
#define CUCKOO_WAITING_H

#include "pages.h"

/* Deletes in memory, counted by key: a hash table with linear probing. */
typedef struct cuckoo_delete {
    uint64_t hash, value;
    uint64_t copies; /* 0: an empty place */
} cuckoo_delete;

typedef struct cuckoo_deletes {
    cuckoo_delete *place;
    size_t places; /* 0, or a power of two */
    size_t used;   /* of them, those that are not empty */
    size_t last;   /* where pop goes on, downwards */
    uint64_t n;    /* copies in all */
} cuckoo_deletes;

/* One delete more in memory. SQLITE_OK or SQLITE_NOMEM, and nothing has changed. */
int cuckoo_deletes_push(cuckoo_deletes *deletes, uint64_t hash, uint64_t value);

/* One delete of this key less. False: there was none. */
bool cuckoo_deletes_cancel(cuckoo_deletes *deletes, uint64_t hash, uint64_t value);

/* Takes any key out. False: there is none. */
bool cuckoo_deletes_pop(cuckoo_deletes *deletes, cuckoo_delete *some);

void cuckoo_deletes_clear(cuckoo_deletes *deletes);
void cuckoo_deletes_free(cuckoo_deletes *deletes);

/* Are there so many that they should become rows? */
bool cuckoo_deletes_many(const cuckoo_deletes *deletes);

/* A key waits for a place. */
int cuckoo_waiting_add(cuckoo_paged *paged, uint64_t hash, uint64_t value);

/* Takes one copy that waits for a place out again; *was: there was one. */
int cuckoo_waiting_remove(cuckoo_paged *paged, uint64_t hash, uint64_t value, bool *was);

/* Takes one delete out of the rows again; *was: there was one. */
int cuckoo_waiting_cancel(cuckoo_paged *paged, uint64_t hash, uint64_t value, bool *was);

/* The values of a key that waits, each once: calls `found` for each. */
int cuckoo_waiting_values(cuckoo_paged *paged, uint64_t hash,
                          int (*found)(void *context, uint64_t value), void *context);

/* Does a key wait for a place? */
int cuckoo_waiting_has(cuckoo_paged *paged, uint64_t hash, bool *has);

/* Makes rows of the deletes in memory. On an error some are rows already, and are in memory no more. */
int cuckoo_waiting_flush(cuckoo_paged *paged, cuckoo_deletes *deletes);

/* Deletes so many copies of a key from the image. One that is not there leaves a doubt (pages.h). */
void cuckoo_waiting_delete(cuckoo_paged *paged, uint64_t hash, uint64_t value, uint64_t copies);

/* Applies the deletes of the rows to the image and takes them out of the list. Adds and deletes of one key cancel out.
** On an error the image, or the list, may have changed. */
int cuckoo_waiting_apply_deletes(cuckoo_paged *paged);

/* Adds a key to a filter without letting it grow: one search, of bounded cost. As cf_add_value. */
cf_status cuckoo_waiting_place(cf_filter *filter, uint64_t hash, uint64_t value);

/* Puts a key into the filter, if it can. */
typedef cf_status cuckoo_placer(void *context, uint64_t hash, uint64_t value);

/* Tries to find a place for up to `most` of the keys that wait. On an error the image, or the list, may have changed. */
int cuckoo_waiting_try(cuckoo_paged *paged, uint64_t most, cuckoo_placer *place, void *context);

/* Adds all keys that wait to another filter, which may grow. *status says if there was room. */
int cuckoo_waiting_add_to(cuckoo_paged *paged, cf_filter *filter, cf_status *status);

#endif
