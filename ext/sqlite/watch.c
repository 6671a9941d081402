/* SPDX-License-Identifier: MIT */
#include "watch.h"

/* A watch steps one statement again and again, so that its steps add up until a progress handler is due.
** SQLite checks for interrupts when it is prepared as well. If that fails (an authorizer forbids it, or
** there is no memory), the work continues to its end unchecked. */
static bool stop(void *context)
{
    cuckoo_watch *watch = context;
    int rc = SQLITE_OK;
    if (watch->db && watch->probe == NULL)
        rc = sqlite3_prepare_v2(watch->db, "SELECT 1", -1, &watch->probe, NULL);
    if (watch->probe) {
        rc = sqlite3_step(watch->probe);
        sqlite3_reset(watch->probe);
    } else {
        watch->db = NULL;
    }
    return rc == SQLITE_INTERRUPT;
}

void cuckoo_watch_filter(cuckoo_watch *watch, sqlite3 *db, cf_filter *filter)
{
    *watch = (cuckoo_watch){.hook = {stop, watch}, .db = db, .filter = filter};
    if (filter)
        filter->watch = &watch->hook;
}

cf_status cuckoo_watched_add(sqlite3 *db, cf_filter *filter, uint64_t hash, uint64_t value)
{
    cuckoo_watch watch;
    cuckoo_watch_filter(&watch, db, filter);
    cf_status status = cf_add_value(filter, hash, value);
    cuckoo_watch_end(&watch);
    return status;
}

void cuckoo_watch_end(cuckoo_watch *watch)
{
    if (watch->filter)
        watch->filter->watch = NULL;
    sqlite3_finalize(watch->probe);
    watch->probe = NULL;
}

cf_status cuckoo_watched_check(sqlite3 *db, cf_filter *filter, const char **why)
{
    cuckoo_watch watch;
    cuckoo_watch_filter(&watch, db, filter);
    cf_status status = cf_check(filter, why);
    cuckoo_watch_end(&watch);
    return status;
}
