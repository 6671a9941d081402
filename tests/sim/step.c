/* SPDX-License-Identifier: MIT */
/*
** step.c - runs a step on the real database and on its twin, and compares how they end.
*/
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a statement ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, int n)
{
    const unsigned char *at = bytes;
    for (int i = 0; i < n; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t hash_row(sqlite3_stmt *statement)
{
    uint64_t hash = 14695981039346656037U;
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        char type = (char)sqlite3_column_type(statement, i);
        if (type == SQLITE_INTEGER) {
            hash = mix(hash, (uint64_t)sqlite3_column_int64(statement, i));
            continue;
        }
        const void *bytes = type == SQLITE_BLOB ? sqlite3_column_blob(statement, i)
                                                : (const void *)sqlite3_column_text(statement, i);
        int n = bytes ? sqlite3_column_bytes(statement, i) : 0; /* no memory to convert a text */
        hash = hash_bytes(hash_bytes(hash, &type, 1), bytes, n);
    }
    return mix(hash, 0);
}

static void take_first(outcome *r, sqlite3_stmt *statement)
{
    const unsigned char *text = sqlite3_column_text(statement, 0);
    r->one = sqlite3_column_int64(statement, 0);
    snprintf(r->message, sizeof r->message, "%s", text ? (const char *)text : "NULL");
}

static outcome run_prepared(sqlite3 *db, sqlite3_stmt *statement, int code, bool kept)
{
    outcome r = {.code = code};
    while (r.code == SQLITE_OK && (r.code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (r.n++ == 0 && sqlite3_column_count(statement) > 0)
            take_first(&r, statement);
        r.keys |= UINT64_C(1) << (sqlite3_column_int(statement, 0) & 63);
        r.rows += hash_row(statement);
        r.code = SQLITE_OK;
    }
    if (statement && (kept ? sqlite3_reset(statement) : sqlite3_finalize(statement)) == SQLITE_OK)
        r.code = SQLITE_OK;
    if (r.code == SQLITE_DONE)
        r.code = SQLITE_OK;
    if (r.code != SQLITE_OK) {
        r.code = sqlite3_extended_errcode(db);
        snprintf(r.message, sizeof r.message, "%s", sqlite3_errmsg(db));
    }
    r.changes = sqlite3_changes(db);
    return r;
}

/* Some statements, up to the first that fails; what the last one said. */
outcome run_sql(sqlite3 *db, const char *sql)
{
    outcome r;
    do {
        sqlite3_stmt *statement = NULL;
        int rc = sqlite3_prepare_v2(db, sql, -1, &statement, &sql);
        r = run_prepared(db, statement, rc, false);
    } while (r.code == SQLITE_OK && *sql);
    return r;
}

/* ---- statements that are kept, as applications keep them ---- */

enum { KEPT = 512, CONNECTIONS = 32 };

static struct {
    sqlite3 *db;
    sqlite3_stmt *statement;
} kept[KEPT];

static const sqlite3 *connected[CONNECTIONS];

/* Addresses differ from run to run, and what is kept must not. */
static uint64_t number_of(const sqlite3 *db)
{
    int i = 0, free = 0;
    while (i < CONNECTIONS && connected[i] != db)
        i++;
    if (i < CONNECTIONS)
        return (uint64_t)i;
    while (connected[free] && free < CONNECTIONS - 1)
        free++;
    connected[free] = db;
    return (uint64_t)free;
}

/* Prepares it, or takes what was prepared before. */
int keep_sql(sqlite3 *db, const char *sql, sqlite3_stmt **statement)
{
    uint64_t hash = hash_bytes(number_of(db), sql, (int)strlen(sql));
    unsigned at = (unsigned)(mix(hash, 0) % KEPT);
    if (kept[at].db != db || strcmp(sqlite3_sql(kept[at].statement), sql) != 0) {
        sqlite3_finalize(kept[at].statement);
        kept[at].db = NULL;
        int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &kept[at].statement, NULL);
        if (rc != SQLITE_OK)
            return *statement = NULL, rc;
        kept[at].db = db;
    }
    *statement = kept[at].statement;
    return SQLITE_OK;
}

void forget_kept(const sqlite3 *db)
{
    for (int i = 0; i < KEPT; i++)
        if (kept[i].db == db) {
            sqlite3_finalize(kept[i].statement);
            kept[i].statement = NULL;
            kept[i].db = NULL;
        }
    for (int i = 0; i < CONNECTIONS; i++)
        if (connected[i] == db)
            connected[i] = NULL;
}

outcome ask_sql(sqlite3 *db, const char *sql)
{
    return ask_with(db, sql, 0);
}

outcome ask_with(sqlite3 *db, const char *sql, sqlite3_int64 number)
{
    sqlite3_stmt *statement;
    int rc = keep_sql(db, sql, &statement);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 0)
        sqlite3_bind_int64(statement, 1, number);
    return run_prepared(db, statement, rc, true);
}

bool is_locked(int code)
{
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

bool is_early(void)
{
    return sqlite3_libversion_number() < 3040000;
}

bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

bool is_end(const char *text)
{
    return begins(text, "COMMIT") || begins(text, "RELEASE");
}

/* ---- comparing ---- */

static bool counts_changes(const char *text)
{
    return strstr(text, "SET f = ") ? false
                                    : begins(text, "INSERT") || begins(text, "UPDATE") ||
                                          begins(text, "DELETE") || begins(text, "REPLACE");
}

/* The twin waits for a lock where the real one does not. Both take the transaction back; if there is
** none, they differ for good. */
static void resync(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    w->counts->resynced++;
    if (sqlite3_get_autocommit(p->real) || sqlite3_get_autocommit(p->twin))
        w->over = true;
    else if (run_sql(p->real, "ROLLBACK").code != SQLITE_OK ||
             run_sql(p->twin, "ROLLBACK").code != SQLITE_OK)
        w->over = true;
}

/* The twin takes locks as the real one may have done; it may have to wait for others, or hold more. */
void take_locks(pair *p)
{
    p->uneven = true;
    if (!sqlite3_get_autocommit(p->twin))
        run_sql(p->twin,
                "DELETE FROM beat WHERE 0"); /* it writes nothing, which would be news to others */
}

bool anybody_is_uneven(world *w)
{
    bool uneven = false;
    for (int i = 0; i < w->shape.pairs; i++) {
        pair *p = &w->pairs[i];
        p->uneven &=
            p->left_real != NULL || !sqlite3_get_autocommit(p->real) || !sqlite3_get_autocommit(p->twin);
        uneven |= p->uneven;
    }
    return uneven;
}

/* Not all that was changed before is taken back; and triggers of a filter are one level more. */
bool is_too_deep(const char *message)
{
    return strstr(message, "too many levels") || strstr(message, "nested too deep"); /* as of 3.54 */
}

/* Where a savepoint cannot be opened, for an error that takes all back with a change of the schema, an early SQLite
** runs the statement once more, outside of any transaction. */
static bool may_lose(const step *s)
{
    return is_early() && s->fault.sort != NO_FAULT;
}

/* Ends that tell nothing of a filter. */
static bool tells_nothing(world *w, const step *s, const outcome *real, const outcome *twin)
{
    const pair *p = &w->pairs[s->pair];
    int code;
    bool apart = sqlite3_get_autocommit(p->real) != sqlite3_get_autocommit(p->twin);
    /* One of both waits for what a filter has refused to another connection. And ATTACH reads the schema
    ** anew where a statement that was refused has made it stale. */
    if (is_locked(real->code) && ((strstr(s->real, "far.") && !known("attached_lookup")) ||
                                  anybody_is_uneven(w) || begins(s->real, "ATTACH")))
        return true;
    if (is_locked(twin->code))
        return apart;
    if (may_lose(s) && apart)
        return true;
    /* Who has to read the schema anew may hear first that it is locked, or that a trigger of others is
    ** wrong. */
    if ((is_locked(real->code) && twin->code != SQLITE_OK) || strstr(real->message, " columns but "))
        return true;
    /* SQLite may count a violation that is none: its count outlives some transactions. And a cascade in
    ** which a trigger fails by OR FAIL is taken back only where a trigger could abort, as ours. */
    if (twin->code == SQLITE_CONSTRAINT_FOREIGNKEY &&
        ((real->code == SQLITE_OK &&
          run_sql(p->real, "SELECT count(*) FROM pragma_foreign_key_check").one == 0) ||
         (w->watched && content_of(w, p->real, &code) != content_of(w, p->twin, &code))))
        return true;
    return is_too_deep(twin->message) || is_too_deep(real->message);
}

static void compare_ends(world *w, const step *s, const outcome *real, const outcome *twin)
{
    const pair *p = &w->pairs[s->pair];
    bool keeps = counts_changes(s->real) && real->changes > 0; /* rows, by OR FAIL */
    if ((real->code == SQLITE_OK || keeps) && is_locked(twin->code)) {
        resync(w, s);
        return;
    }
    w->over |= tells_nothing(w, s, real, twin);
    if (w->over)
        return;
    /* The twin may have taken locks for what a filter has refused. */
    if (real->code != twin->code && !is_locked(twin->code))
        fail(w, "code: %d %s; without the filter %d %s", real->code, real->message, twin->code,
             twin->message);
    if (sqlite3_get_autocommit(p->real) != sqlite3_get_autocommit(p->twin))
        fail(w, "transaction: %s a transaction, without the filter it is %s",
             sqlite3_get_autocommit(p->real) ? "not in" : "in",
             sqlite3_get_autocommit(p->twin) ? "not" : "so");
    /* A checkpoint tells of pages. And from five TEMP triggers on, SQLite 3.46 runs them and RETURNING in an
    ** order that hangs on an address: one that says RAISE(IGNORE) hides the row, or not. */
    bool answers = s->act == BOTH && !begins(s->real, "PRAGMA") &&
                   !(w->stale && w->watched && strstr(s->real, "RETURNING"));
    if (answers && real->code == SQLITE_OK && (real->n != twin->n || real->rows != twin->rows))
        fail(w, "rows: %d rows, without the filter %d, or others", real->n, twin->n);
    if (s->act == BOTH && real->code == SQLITE_OK && counts_changes(s->real) &&
        real->changes != twin->changes)
        fail(w, "changes: changes() is %d, without the filter %d", real->changes, twin->changes);
}

static void compare(world *w, const step *s, const outcome *real, const outcome *twin)
{
    compare_ends(w, s, real, twin);
    w->parted = w->undefined && w->failure[0];
    if (w->parted)
        w->failure[0] = 0;
}

/* May a filter say so of its own? */
static bool may_refuse(world *w, const step *s, const outcome *r)
{
    int code = r->code & 0xff;
    if (strstr(r->message, "cannot stay in sync") && !w->undefined)
        fail(w, "refused: no BEFORE trigger was made: %s", r->message);
    const pair *p = &w->pairs[s->pair];
    bool apart = sqlite3_get_autocommit(p->real) != sqlite3_get_autocommit(p->twin);
    w->over |= apart && may_lose(s);
    if (apart && !w->over)
        fail(w, "transaction: gone with: %d %s", r->code, r->message);
    return code == SQLITE_ERROR || is_locked(code) ||
           (code == SQLITE_FULL && strstr(r->message, "filter is full"));
}

/* What later steps need to know of triggers that may be there: after a fault, too. */
static void remember_triggers(world *w, const step *s)
{
    if (begins(s->real, "DROP TABLE u") || begins(s->real, "DROP TABLE new_u"))
        w->dropped = true;
    w->undefined |= strstr(s->real, " BEFORE UPDATE ") || strstr(s->real, " BEFORE DELETE ");
    if (begins(s->real, "CREATE TEMP TRIGGER") || begins(s->real, "DROP TRIGGER"))
        w->stale = true; /* they go, and what they made of a filter stays */
    w->watched |= strstr(s->real, " TRIGGER t") != NULL;
    w->doubted |= w->dropped || w->undefined || (w->watched && strstr(s->real, " AFTER "));
}

static bool makes_other_schema(const step *s)
{
    return strcmp(s->real, s->twin) != 0 && (begins(s->real, "CREATE ") || begins(s->real, "DROP ") ||
                                             begins(s->real, "ALTER ") || strstr(s->real, "rebuild"));
}

static void remember(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    if (begins(s->real, "ATTACH"))
        p->far = true;
    if (begins(s->real, "DETACH"))
        p->far = false;
    remember_triggers(w, s);
}

/* ---- statements ---- */

static void print_outcome(const world *w, const char *whose, const outcome *r)
{
    if (w->verbose && (r->code != SQLITE_OK || r->changes))
        printf("       %s%d %s, changes() %d\n", whose, r->code, r->message, r->changes);
}

static void run_both(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    before_fault b;
    /* A name that main has since then may be that of the other file's table. */
    if (p->far)
        ask_same_time(p);
    /* What SQLite does with a statement whose own changes are taken back is its business. */
    if (begins(s->real, "ROLLBACK TO") && p->left_real && !sqlite3_stmt_readonly(p->left_real))
        end_left(p);
    /* An interrupt may come when the savepoint is rolled back already; or VACUUM has its file, and keeps it
    ** attached. And one of two files may be committed. */
    bool done = (s->fault.sort == FAIL_INTERRUPT &&
                 (begins(s->real, "ROLLBACK TO") || begins(s->real, "VACUUM"))) ||
                (p->far && is_end(s->real));
    bool may =
        s->fault.sort != NO_FAULT && !done && p->left_real == NULL && (p->counted || !is_end(s->real));
    p->counted = false;
    bool faulted = may && look_before(w, s, &b), struck = false;
    if (faulted)
        fault_arm(w, s);
    outcome real = run_sql(p->real, s->real);
    print_outcome(w, "", &real);
    p->made = (p->made && p->left_real) || (!sqlite3_get_autocommit(p->real) &&
                                            (p->made || makes_other_schema(s))); /* also if refused */
    w->risky = real.code != SQLITE_OK || faulted || !counts_changes(s->real);
    w->kept |= (real.code & 0xff) == SQLITE_CONSTRAINT && real.changes > 0 && w->stale && w->watched;
    if (faulted)
        struck = fault_disarm(w, s);
    if (struck)
        remember_triggers(w, s);
    if (faulted && disk_power_is_off()) {
        crash(w, s, real.code, &b);
        return;
    }
    /* ALTER reads sqlite_stat1: a read that fails takes all back, and SQLite does not say so. */
    bool in_silence = s->fault.sort == FAIL_DISK && begins(s->real, "ALTER");
    if (struck && (real.code != SQLITE_OK || in_silence)) {
        settle(w, s, &real, &b);
        return;
    }
    bool commanded = real.code == SQLITE_BUSY_SNAPSHOT; /* a commit that the twin does not have */
    bool may_say = s->act == REFUSE || commanded;
    if (may_say && real.code != SQLITE_OK && may_refuse(w, s, &real)) {
        w->counts->refused++;
        w->over |= commanded;
        take_locks(p); /* it may have, before it failed */
        return;
    }
    p->uneven |=
        struck && s->fault.sort == FAIL_MEMORY; /* without memory SQLite may write early, and lock */
    outcome twin = run_sql(p->twin, s->twin);
    print_outcome(w, "without the filter: ", &twin);
    compare(w, s, &real, &twin);
    if (real.code == SQLITE_OK) {
        p->counted = begins(s->real, "UPDATE tick");
        w->unsynced &= !p->counted || !sqlite3_get_autocommit(p->real); /* it surely writes to main */
        remember(w, s);
        count_words(w->counts, s->real);
    }
}

/* A question while something fails has the right answer, or none; then it has it. */
static void ask_faulted(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    bool faulted = s->fault.sort != NO_FAULT && s->fault.sort != FAIL_POWER && p->left_real == NULL,
         struck = false;
    if (faulted)
        fault_arm(w, s);
    outcome first = run_sql(p->real, s->real);
    if (faulted)
        struck = fault_disarm(w, s);
    if (struck && sqlite3_get_autocommit(p->real) && !sqlite3_get_autocommit(p->twin))
        run_sql(p->twin, "ROLLBACK"); /* as SQLite does without memory, and when the disk fails */
    outcome then = run_sql(p->real, s->real);
    ask_same_time(p);
    if (then.code == SQLITE_OK)
        count_words(w->counts, s->real);
    bool right = first.code == then.code && first.n == then.n && first.rows == then.rows;
    bool told = struck && strstr(s->real, "cf_table_") && strstr(first.message, "cannot be read");
    /* While the file is locked a connection that has read nothing yet finds no table. */
    if (!is_locked(then.code) && !law_holds(s->twin, &then) &&
        run_sql(p->real, "SELECT count(*) FROM keys").code == SQLITE_OK)
        fail(w, "law: %d %s, not: %s", then.code, then.message, s->twin);
    if (!right && !told && !(struck && first.code != SQLITE_OK) && !is_locked(first.code) &&
        !is_locked(then.code))
        fail(w, "answer: %d %s, %d rows; then %d %s, %d rows", first.code, first.message, first.n,
             then.code, then.message, then.n);
}

/* Can the twin's table not be read just now, either? */
static bool names_nothing(world *w, const step *s)
{
    char name[20] = "";
    sscanf(s->real, "INSERT OR IGNORE INTO %19[a-z0-9_]", name);
    char *sql = say("SELECT count(*) FROM %s", name);
    bool nothing = run_sql(w->pairs[s->pair].twin, sql).code != SQLITE_OK;
    free(sql);
    return nothing;
}

static void add_if_new(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    if (p->far)
        ask_same_time(p);
    outcome real = run_sql(p->real, s->real);
    if (real.code != SQLITE_OK) {
        if (!is_locked(real.code) && !names_nothing(w, s))
            fail(w, "code: %d %s", real.code, real.message);
        return;
    }
    ask_key(w, s, real.changes == 1);
    if (real.changes == 1) {
        outcome twin = run_sql(p->twin, s->twin);
        compare(w, s, &real, &twin);
    } else
        take_locks(p); /* a key that was there may have been written anew */
}

/* ---- all of them ---- */

void step_run(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    w->pair = s->pair;
    w->counts->steps++;
    w->risky = s->act >= RESTORE;
    world_set_prng(mix(w->seed, s->number));
    world_set_clock(w);
    switch (s->act) {
    case BOTH:
    case REFUSE:
        run_both(w, s);
        break;
    case ADD_IF_NEW:
        add_if_new(w, s);
        break;
    case QUERY:
        ask_faulted(w, s);
        break;
    case LEAVE:
        leave(w, s);
        break;
    case GO_ON:
        if (p->left_real)
            go_on(w, s, 2);
        break;
    case END:
        end_left(p);
        break;
    case TICK:
        w->clock += s->value;
        break;
    case SAVE:
    case RESTORE:
        copy_both(w, s, s->act == RESTORE);
        break;
    case VISIT:
        visit(w);
        break;
    case REOPEN:
        restart(w, false);
        break;
    case KILL:
        kill_process(w);
        break;
    }
}
