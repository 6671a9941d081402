#include "store.h"

#include "column.h"
#include "key.h"

#include <string.h>

int cuckoo_store_new(sqlite3 *db, const char *schema, const char *table, cuckoo_store **made)
{
    cuckoo_store *store = sqlite3_malloc64(sizeof *store);
    *made = store;
    if (store == NULL)
        return SQLITE_NOMEM;
    memset(store, 0, sizeof *store);
    store->references = 1;
    return cuckoo_paged_init(&store->paged, db, schema, table);
}

void cuckoo_store_free(cuckoo_store *store)
{
    cuckoo_paged_free(&store->paged);
    cuckoo_deletes_free(&store->deletes);
    cuckoo_follow_free(&store->follow);
    cuckoo_witness_free(&store->witness);
    sqlite3_free(store);
}

/* ---- what is in memory ---- */

static bool pending(const cuckoo_store *store)
{
    return cuckoo_paged_pending(&store->paged) || store->deletes.n > 0;
}

static void forget(cuckoo_store *store)
{
    cuckoo_paged_forget(&store->paged);
    cuckoo_deletes_clear(&store->deletes);
    cuckoo_witness_clear(&store->witness);
    store->full = false;
}

/* What was in memory is lost: the transaction must not be committed without it. (The error may have ended it
** already.) */
static void lose(cuckoo_store *store)
{
    store->broken |= store->joined && pending(store);
    forget(store);
}

bool cuckoo_store_rolls_back(int rc)
{
    int code = rc & 0xff;
    return code == SQLITE_NOMEM || code == SQLITE_IOERR || code == SQLITE_INTERRUPT || code == SQLITE_FULL;
}

/* What is half changed must not stay, though the transaction may go on after other errors. */
static int beyond_repair(int rc)
{
    return cuckoo_store_rolls_back(rc) ? rc : SQLITE_IOERR;
}

void cuckoo_store_doubt(cuckoo_store *store)
{
    store->fresh.known = store->follow.looked = false;
}

/* ---- using it ---- */

/* What an error has left that ended the transaction in the middle of a change. */
static void forget_changes(cuckoo_store *store)
{
    if (pending(store))
        forget(store);
}

static int look(cuckoo_store *store)
{
    bool stale;
    int rc = cuckoo_fresh_look(&store->fresh, &store->paged.shadow, store->joined && store->looked, &stale);
    if (rc == SQLITE_OK && (stale || store->created))
        forget(store);
    store->looked = rc == SQLITE_OK;
    return rc;
}

/* Are the keys of some rows of its table there? Not while a statement changes rows: their triggers are still to come. */
static int sample(cuckoo_store *store)
{
    enum { SAMPLE = 100 /* first and last rows */ };
    const cuckoo_shadow *shadow = &store->paged.shadow;
    cuckoo_follow *follow = &store->follow;
    sqlite3_stmt *keys = NULL;
    if (cuckoo_follow_writing(shadow))
        return SQLITE_OK;
    int rc = cuckoo_follow_keys(follow, shadow, SAMPLE, &keys);
    while (rc == SQLITE_OK && follow->fault == NULL && sqlite3_step(keys) == SQLITE_ROW) {
        uint64_t hash;
        bool has = true;
        cuckoo_key kind =
            cuckoo_key_hash(sqlite3_column_value(keys, 0), &store->paged.filter.geometry, &hash);
        if (kind == CUCKOO_KEY_NOMEM)
            rc = SQLITE_NOMEM;
        else if (kind == CUCKOO_KEY_OK)
            rc = cuckoo_store_has(store, hash, &has);
        if (rc == SQLITE_OK && !has)
            rc = cuckoo_follow_fail(
                follow, sqlite3_mprintf("rows of %s are missing in it: the table was made anew, or changed "
                                        "without its triggers; INSERT INTO %s(%s) VALUES('rebuild') reads it "
                                        "again",
                                        follow->table, shadow->table, shadow->table));
    }
    int rc2 = sqlite3_finalize(keys);
    rc = rc == SQLITE_OK ? rc2 : rc;
    follow->sampled = rc == SQLITE_OK;
    return rc;
}

/* Does the column still compare as the keys were hashed? */
static int check_rule(cuckoo_store *store)
{
    cf_options rule;
    char *why = NULL;
    const cuckoo_shadow *shadow = &store->paged.shadow;
    const cf_geometry *geometry = &store->paged.filter.geometry;
    cuckoo_follow *follow = &store->follow;
    int rc = cuckoo_column_rule(shadow->db, shadow->schema, follow->table, follow->column, &rule, &why);
    bool same = rc == SQLITE_OK && rule.affinity == geometry->affinity && rule.collation == geometry->collation;
    follow->ruled = same;
    if (!same && rc != SQLITE_NOMEM)
        rc = cuckoo_follow_fail(
            follow, sqlite3_mprintf("%s(%s) compares other than when the filter was made%s%s; INSERT INTO %s(%s) "
                                    "VALUES('rebuild') reads it again",
                                    follow->table, follow->column, why ? ": " : "", why ? why : "",
                                    shadow->table, shadow->table));
    sqlite3_free(why);
    return rc;
}

static int doubt(cuckoo_store *store)
{
    const cuckoo_shadow *shadow = &store->paged.shadow;
    store->follow.looked = false;
    return cuckoo_follow_fail(
        &store->follow,
        sqlite3_mprintf("a row of %s has gone whose key it did not hold: rows have changed without its triggers, "
                        "or a BEFORE trigger changes its own row; INSERT INTO %s(%s) VALUES('rebuild') reads the "
                        "table again",
                        store->follow.table, shadow->table, shadow->table));
}

static int follow(cuckoo_store *store, cuckoo_use use, const char **why)
{
    int rc = cuckoo_follow_look(&store->follow, &store->paged.shadow);
    if (rc == SQLITE_OK && !store->follow.fault && !store->follow.ruled)
        rc = check_rule(store);
    if (rc == SQLITE_OK && store->paged.doubt && !store->follow.fault)
        rc = doubt(store);
    if (rc == SQLITE_OK && use == CUCKOO_ASK && !store->follow.fault && !store->follow.sampled)
        rc = sample(store);
    if (rc == SQLITE_OK && store->follow.fault) {
        *why = store->follow.fault;
        return SQLITE_ERROR;
    }
    return rc == SQLITE_ERROR ? SQLITE_CORRUPT_VTAB : rc;
}

int cuckoo_store_begin(cuckoo_store *store, cuckoo_use use, const char **why)
{
    *why = "a trigger or a view on its shadow table uses it";
    if (store->paged.shadow.busy)
        return SQLITE_CORRUPT_VTAB;
    *why = "an earlier error has lost changes of this transaction: roll it back";
    if (store->broken)
        return SQLITE_IOERR;
    if (!store->joined)
        forget_changes(store);
    int rc = pending(store) ? SQLITE_OK : look(store);
    if (rc == SQLITE_OK)
        rc = cuckoo_paged_load(&store->paged, why);
    if (rc == SQLITE_OK && store->follow.given_table && use != CUCKOO_REPAIR)
        rc = follow(store, use, why);
    if (rc != SQLITE_OK)
        cuckoo_store_end(store);
    return rc;
}

int cuckoo_store_end(cuckoo_store *store)
{
    int rc = cuckoo_paged_error(&store->paged);
    if (rc != SQLITE_OK)
        lose(store);
    return rc;
}

int cuckoo_store_has(cuckoo_store *store, uint64_t hash, bool *has)
{
    *has = cf_contains(cuckoo_paged_reader(&store->paged), hash);
    return *has ? SQLITE_OK : cuckoo_waiting_has(&store->paged, hash, has);
}

uint64_t cuckoo_store_items(const cuckoo_store *store)
{
    uint64_t more = store->paged.filter.items + store->paged.adds,
             less = store->paged.deletes + store->deletes.n;
    return more > less ? more - less : 0;
}

/* ---- changing it ---- */

static bool is_crowded(const cuckoo_store *store, const cf_pair *pair, uint64_t buckets)
{
    for (unsigned i = 0; i < CUCKOO_CROWDED; i++) {
        const cuckoo_crowded *at = &store->crowded[i];
        if (at->buckets == buckets && at->here == pair->place[0].bucket &&
            at->there == pair->place[pair->sides - 1].bucket)
            return true;
    }
    return false;
}

static void note_crowded(cuckoo_store *store, const cf_pair *pair, uint64_t buckets)
{
    store->crowded[store->next_crowded] =
        (cuckoo_crowded){pair->place[0].bucket, pair->place[pair->sides - 1].bucket, buckets};
    store->next_crowded = (store->next_crowded + 1) % CUCKOO_CROWDED;
}

/* Where a key has found no place, not even by growing, the next one is not worth that effort. */
static cf_status place(void *context, uint64_t hash, uint64_t value)
{
    cuckoo_store *store = context;
    cf_filter *filter = &store->paged.filter;
    cf_pair pair = cf_candidates(filter, hash);
    uint64_t buckets = filter->buckets;
    if (is_crowded(store, &pair, buckets))
        return cuckoo_waiting_place(filter, hash, value);
    cf_status status = cf_add_value(filter, hash, value);
    if (status != CF_OK && status != CF_NO_MEMORY)
        note_crowded(store, &pair, buckets);
    return status;
}

static cf_status place_without_growing(void *context, uint64_t hash, uint64_t value)
{
    cuckoo_store *store = context;
    return cuckoo_waiting_place(&store->paged.filter, hash, value);
}

/* A delete of the same key that waits, and this add, cancel out: the copy that is there serves the new row. (Else a key
** that is deleted and inserted again and again in one transaction would soon have too many copies to count.) When it is
** not there the delete has come before its own add. */
static int cancel(cuckoo_store *store, uint64_t hash, uint64_t value, bool *done)
{
    bool has;
    *done = false;
    if (store->deletes.n == 0 && store->paged.deletes == 0)
        return SQLITE_OK;
    int rc = cuckoo_store_has(store, hash, &has);
    if (rc != SQLITE_OK || !has)
        return rc;
    *done = cuckoo_deletes_cancel(&store->deletes, hash, value);
    return *done ? rc : cuckoo_waiting_cancel(&store->paged, hash, value, done);
}

/* While more deletes wait than adds, they will make room: then it is not worth growing for a key, nor, after a search
** that has failed, another one. */
static cf_status place_until_room_comes(cuckoo_store *store, uint64_t hash, uint64_t value)
{
    if (store->full)
        return CF_FULL;
    cf_status status = place_without_growing(store, hash, value);
    store->full = status == CF_FULL;
    return status;
}

int cuckoo_store_add(cuckoo_store *store, uint64_t hash, uint64_t value, unsigned owed, cf_status *status)
{
    cuckoo_paged *paged = &store->paged;
    bool room_comes = paged->adds < paged->deletes + store->deletes.n + owed, done;
    int rc = cancel(store, hash, value, &done);
    *status = CF_OK;
    if (rc != SQLITE_OK || done)
        return rc;
    *status = room_comes          ? place_until_room_comes(store, hash, value)
              : paged->adds == 0 ? cf_add_value(&paged->filter, hash, value)
                                 : place(store, hash, value);
    paged->header_dirty = true;
    if (*status == CF_NO_MEMORY)
        return SQLITE_NOMEM;
    if (*status == CF_OK || paged->rc != SQLITE_OK || (!paged->filter.geometry.growth && !room_comes))
        return SQLITE_OK;
    *status = CF_OK;
    return cuckoo_waiting_add(paged, hash, value);
}

int cuckoo_store_delete(cuckoo_store *store, uint64_t hash, uint64_t value)
{
    bool was = false;
    int rc = cuckoo_waiting_remove(&store->paged, hash, value, &was);
    if (rc == SQLITE_OK && !was) {
        cf_delete_value(&store->paged.filter, hash, value);
        store->room = store->paged.header_dirty = true;
    }
    return rc;
}

int cuckoo_store_delete_later(cuckoo_store *store, uint64_t hash, uint64_t value)
{
    int rc = cuckoo_deletes_push(&store->deletes, hash, value);
    if (rc == SQLITE_OK && cuckoo_deletes_many(&store->deletes))
        rc = cuckoo_waiting_flush(&store->paged, &store->deletes);
    return rc;
}

/* What is half replaced must not stay. */
static int replaced(const cuckoo_store *store, int rc)
{
    return rc != SQLITE_OK && store->paged.has_written ? beyond_repair(rc) : rc;
}

int cuckoo_store_replace(cuckoo_store *store, uint8_t *bytes, uint64_t length)
{
    cuckoo_deletes_clear(&store->deletes);
    return replaced(store, cuckoo_paged_replace(&store->paged, bytes, length));
}

int cuckoo_store_clear(cuckoo_store *store)
{
    cuckoo_deletes_clear(&store->deletes);
    return replaced(store, cuckoo_paged_clear(&store->paged));
}

/* ---- writing it ---- */

int cuckoo_store_flush(cuckoo_store *store)
{
    if (!pending(store))
        return SQLITE_OK;
    int rc = cuckoo_waiting_flush(&store->paged, &store->deletes);
    return rc == SQLITE_OK ? cuckoo_paged_write(&store->paged) : rc;
}

int cuckoo_store_changed(cuckoo_store *store, int rc)
{
    int rc2 = cuckoo_store_end(store);
    if (store->broken)
        return beyond_repair(rc2);
    rc = rc == SQLITE_OK ? rc2 : rc;
    if (rc != SQLITE_OK && !store->joined)
        forget(store); /* what came after the error that ended the transaction */
    if (rc != SQLITE_OK)
        return rc;
    if (!store->joined && store->follow.given_table)
        store->paged.doubt = store->paged.header_dirty = true; /* the row that changed may be gone again */
    return store->created || !store->joined ? cuckoo_store_flush(store) : rc;
}

/* From now on the store is told of all that is rolled back. */
int cuckoo_store_savepoint(cuckoo_store *store, int number)
{
    cuckoo_store_release(store, number);
    int rc = store->dead || store->broken ? SQLITE_OK : cuckoo_store_flush(store);
    if (rc != SQLITE_OK)
        return rc;
    store->created = false;
    store->marks = number + 1;
    return rc;
}

void cuckoo_store_release(cuckoo_store *store, int number)
{
    if (store->marks > number)
        store->marks = number < 0 ? 0 : number;
}

void cuckoo_store_rolled_back_to(cuckoo_store *store, int number)
{
    if (number >= store->marks)
        return;
    store->marks = number + 1;
    store->broken = false;
    forget(store);
}

/* Deletes in memory: to the image. Each is taken out of the list as it is applied. */
static int apply_deletes(cuckoo_store *store)
{
    cuckoo_delete some;
    while (store->paged.rc == SQLITE_OK && cuckoo_deletes_pop(&store->deletes, &some))
        cuckoo_waiting_delete(&store->paged, some.hash, some.value, some.copies);
    int rc = cuckoo_paged_error(&store->paged);
    if (rc != SQLITE_OK)
        lose(store);
    return rc;
}

/* The same for those in rows, after which some of the keys that wait may find a place. When that fails before it has
** written anything, the rows still say it all. */
static int apply_rows(cuckoo_store *store)
{
    enum { FEW = 16 };
    int rc = cuckoo_store_flush(store);
    if (rc != SQLITE_OK)
        return rc;
    store->paged.has_written = false;
    uint64_t most = FEW + store->paged.deletes; /* each makes room for one */
    rc = cuckoo_waiting_apply_deletes(&store->paged);
    if (rc == SQLITE_OK)
        rc = cuckoo_waiting_try(&store->paged, most, place, store);
    if (rc == SQLITE_OK)
        return rc;
    forget(store);
    cuckoo_paged_error(&store->paged); /* else the next use would report it */
    /* SQLITE_BUSY, too: COMMIT must not be tried again. */
    return store->paged.has_written ? beyond_repair(rc) : rc;
}

static int sync_loaded(cuckoo_store *store)
{
    cuckoo_paged *paged = &store->paged;
    bool rows = paged->deletes > 0 || (paged->adds > 0 && (store->room || store->deletes.n > 0));
    int rc = rows ? apply_rows(store) : store->deletes.n > 0 ? apply_deletes(store) : SQLITE_OK;
    if (rc == SQLITE_OK && pending(store)) {
        rc = cuckoo_paged_write(paged);
        if (rc == SQLITE_OK && store->follow.looked && !store->follow.fault && !store->follow.saved)
            rc = cuckoo_follow_save(&store->follow, &paged->shadow);
    }
    return rc;
}

/* COMMIT can be tried again after SQLITE_BUSY; any other error rolls the transaction back. A write that is interrupted has
** done so already. */
int cuckoo_store_sync(cuckoo_store *store)
{
    const char *why;
    if (store->dead)
        return SQLITE_OK;
    if (store->broken)
        return SQLITE_IOERR;
    store->paged.has_written = false;
    int rc = cuckoo_shadow_run(&store->paged.shadow, CUCKOO_WATCH_SCHEMA); /* interrupts are heard of before */
    if (rc == SQLITE_OK)
        rc = cuckoo_paged_load(&store->paged, &why);
    if (rc == SQLITE_CORRUPT_VTAB && !pending(store))
        return SQLITE_OK; /* created, and rolled back without our being told; or damaged, and not changed */
    if (rc == SQLITE_OK)
        rc = sync_loaded(store);
    if (rc == SQLITE_OK)
        return rc;
    if ((rc & 0xff) == SQLITE_BUSY)
        return rc;
    if (store->paged.has_written || store->broken)
        return beyond_repair(rc);
    return (rc & 0xff) == SQLITE_INTERRUPT ? SQLITE_BUSY : rc;
}

int cuckoo_store_place_all(cuckoo_store *store)
{
    return cuckoo_waiting_try(&store->paged, UINT64_MAX, place_without_growing, store);
}

void cuckoo_store_committed(cuckoo_store *store)
{
    if (store->joined)
        cuckoo_fresh_committed(&store->fresh, &store->paged.shadow);
    store->joined = store->looked = store->created = store->room = store->full = false;
    store->marks = 0;
    cuckoo_witness_clear(&store->witness);
}

void cuckoo_store_rolled_back(cuckoo_store *store)
{
    store->broken = false;
    forget(store);
    cuckoo_store_committed(store);
}
