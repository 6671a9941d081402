/* SPDX-License-Identifier: MIT */
/*
** step.c - runs a step on the real database and on its twin, and compares how they end.
**
** After a fault the real one has done the step or has not, and the twin follows: a statement that is
** half done is equal to neither.
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
        const void *bytes = type == SQLITE_BLOB ? sqlite3_column_blob(statement, i)
                                                : (const void *)sqlite3_column_text(statement, i);
        hash = hash_bytes(hash_bytes(hash, &type, 1), bytes, sqlite3_column_bytes(statement, i));
    }
    return mix(hash, 0);
}

static void take_first(outcome *r, sqlite3_stmt *statement)
{
    const unsigned char *text = sqlite3_column_text(statement, 0);
    r->one = sqlite3_column_int64(statement, 0);
    snprintf(r->message, sizeof r->message, "%s", text ? (const char *)text : "NULL");
}

outcome run_sql(sqlite3 *db, const char *sql)
{
    outcome r = {0};
    sqlite3_stmt *statement = NULL;
    r.code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    while (r.code == SQLITE_OK && (r.code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (r.n++ == 0 && sqlite3_column_count(statement) > 0)
            take_first(&r, statement);
        r.rows += hash_row(statement);
        r.code = SQLITE_OK;
    }
    if (statement && sqlite3_finalize(statement) == SQLITE_OK)
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

bool is_locked(int code)
{
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_end(const char *text)
{
    return begins(text, "COMMIT") || begins(text, "RELEASE");
}

/* ---- comparing ---- */

static bool counts_changes(const char *text)
{
    return begins(text, "INSERT") || begins(text, "UPDATE") || begins(text, "DELETE") || begins(text, "REPLACE");
}

/* The twin waits for a lock where the real one does not. Both take the transaction back; if there is
** none, they differ for good. */
static void resync(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    w->counts->resynced++;
    if (sqlite3_get_autocommit(p->real) || sqlite3_get_autocommit(p->twin))
        w->over = true;
    else if (run_sql(p->real, "ROLLBACK").code != SQLITE_OK || run_sql(p->twin, "ROLLBACK").code != SQLITE_OK)
        w->over = true;
}

static void compare(world *w, const step *s, const outcome *real, const outcome *twin)
{
    const pair *p = &w->pairs[s->pair];
    if (real->code == SQLITE_OK && is_locked(twin->code)) {
        resync(w, s);
        return;
    }
    if (real->code != twin->code && !(is_locked(real->code) && is_locked(twin->code)))
        fail(w, "code: %d %s; without the filter %d %s", real->code, real->message, twin->code, twin->message);
    if (sqlite3_get_autocommit(p->real) != sqlite3_get_autocommit(p->twin))
        fail(w, "transaction: %s a transaction, without the filter it is %s",
             sqlite3_get_autocommit(p->real) ? "not in" : "in", sqlite3_get_autocommit(p->twin) ? "not" : "so");
    bool answers = s->act == BOTH && !begins(s->real, "PRAGMA"); /* a checkpoint tells of pages */
    if (answers && real->code == SQLITE_OK && (real->n != twin->n || real->rows != twin->rows))
        fail(w, "rows: %d rows, without the filter %d, or others", real->n, twin->n);
    if (s->act == BOTH && real->code == SQLITE_OK && counts_changes(s->real) && real->changes != twin->changes)
        fail(w, "changes: changes() is %d, without the filter %d", real->changes, twin->changes);
}

/* May a filter say so of its own? */
static bool may_refuse(world *w, const step *s, const outcome *r)
{
    int code = r->code & 0xff;
    const pair *p = &w->pairs[s->pair];
    if (sqlite3_get_autocommit(p->real) != sqlite3_get_autocommit(p->twin))
        fail(w, "transaction: gone with: %d %s", r->code, r->message);
    return code == SQLITE_ERROR || is_locked(code) || (code == SQLITE_FULL && strstr(r->message, "filter is full"));
}

/* What later steps need to know. */
static void remember(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    if (begins(s->real, "ATTACH"))
        p->far = true;
    if (begins(s->real, "DETACH"))
        p->far = false;
    if (begins(s->real, "DROP TABLE u") || begins(s->real, "DROP TABLE new_u"))
        w->dropped = true;
    if (strstr(s->real, " BEFORE ") || begins(s->real, "VACUUM") || begins(s->real, "DROP TRIGGER"))
        w->stale = true;
}

/* ---- after a fault ---- */

typedef struct before {
    bool ends; /* the step ends a transaction, if it succeeds */
    uint64_t inside, committed;
} before;

static uint64_t committed_content(world *w, int *code)
{
    sqlite3 *db;
    uint64_t content = 0;
    *code = world_visit(&db, w->twin_path, false, w);
    if (*code == SQLITE_OK)
        content = content_of(w, db, code);
    sqlite3_close(db);
    return content;
}

/* False: this step cannot be faulted, since others keep us from looking. */
static bool look_before(world *w, const step *s, before *b)
{
    int code = SQLITE_OK, committed = SQLITE_OK;
    b->ends = is_end(s->real) || sqlite3_get_autocommit(w->pairs[s->pair].twin);
    b->inside = content_of(w, w->pairs[s->pair].real, &code);
    b->committed = s->fault.sort == FAIL_POWER ? committed_content(w, &committed) : 0;
    return code == SQLITE_OK && committed == SQLITE_OK;
}

static void settle(world *w, const step *s, const outcome *real, const before *b)
{
    pair *p = &w->pairs[s->pair];
    int code, twin_code;
    uint64_t is = content_of(w, p->real, &code);
    if (sqlite3_get_autocommit(p->real) && !sqlite3_get_autocommit(p->twin))
        run_sql(p->twin, is_end(s->real) && is == b->inside ? s->twin : "ROLLBACK");
    if (is != content_of(w, p->twin, &twin_code))
        run_sql(p->twin, s->twin);
    if (is != content_of(w, p->twin, &twin_code) || code != twin_code)
        fail(w, "half: after %d %s the rows are neither as before nor as after it", real->code, real->message);
    if (sqlite3_get_autocommit(p->real) != sqlite3_get_autocommit(p->twin))
        fail(w, "transaction: after %d %s: %d", real->code, real->message, sqlite3_get_autocommit(p->real));
    if ((real->code & 0xff) == SQLITE_CORRUPT || (real->code & 0xff) == SQLITE_NOTADB)
        fail(w, "corrupt: a fault, but: %d %s", real->code, real->message);
}

static void close_real(world *w)
{
    for (int i = 0; i < w->shape.pairs; i++) {
        pair *p = &w->pairs[i];
        sqlite3_finalize(p->left_real);
        p->left_real = NULL;
        if (sqlite3_close(p->real) != SQLITE_OK)
            fail(w, "close: a connection stays open");
        p->real = NULL;
    }
}

/* What the file says, to a new connection. */
static uint64_t recovered_content(world *w, int *code)
{
    sqlite3 *db;
    uint64_t content = 0;
    fault_power_on(w);
    *code = world_visit(&db, w->real_path, true, w);
    if (*code == SQLITE_OK)
        content = content_of(w, db, code);
    outcome sound = run_sql(db, "PRAGMA integrity_check");
    if (*code == SQLITE_OK && strcmp(sound.message, "ok") != 0)
        fail(w, "integrity: %s", sound.message);
    if (*code != SQLITE_OK)
        fail(w, "recovery: %s", sqlite3_errmsg(db));
    sqlite3_close(db);
    fault_power_back(0);
    return content;
}

/* What the twin has not committed goes with the process, also what a statement has done that is half
** stepped: to finalize it would commit that. */
static void abandon_twins(world *w)
{
    for (int i = 0; i < w->shape.pairs; i++)
        if (w->pairs[i].left_twin) {
            run_sql(w->pairs[i].twin, "BEGIN");
            run_sql(w->pairs[i].twin, "ROLLBACK");
        }
}

static void restart(world *w, bool dies)
{
    if (dies)
        abandon_twins(w);
    world_disconnect(w);
    fault_power_back(0);
    fault_power_on(w);
    if (world_connect(w))
        ask_everywhere(w);
}

static void crash(world *w, const step *s, int code, const before *b)
{
    int real_code, twin_code = SQLITE_OK;
    w->counts->crashes++;
    close_real(w);
    fault_power_back(s->fault.left);
    uint64_t is = recovered_content(w, &real_code);
    bool done = b->ends && (code == SQLITE_OK || is != b->committed);
    if (done && run_sql(w->pairs[s->pair].twin, s->twin).code == SQLITE_OK &&
        is != committed_content(w, &twin_code))
        fail(w, "lost: when the power had gone, %s", code == SQLITE_OK ? "what was committed is not there"
                                                                        : "a transaction is half there");
    if (!done && is != b->committed)
        fail(w, "lost: when the power had gone, what was committed before is not there, or more");
    restart(w, true);
}

static void kill_process(world *w)
{
    w->counts->crashes++;
    fault_power_kill();
    close_real(w);
    fault_power_back(3); /* POWER_LEFT_ALL */
    int code;
    recovered_content(w, &code);
    restart(w, true);
}

/* ---- statements ---- */

static void run_both(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    before b;
    bool may = s->fault.sort != NO_FAULT && p->left_real == NULL;
    bool faulted = may && look_before(w, s, &b), struck = false;
    if (faulted)
        fault_arm(w, s);
    outcome real = run_sql(p->real, s->real);
    if (faulted)
        struck = fault_disarm(w, s);
    if (faulted && fault_power_is_off()) {
        crash(w, s, real.code, &b);
        return;
    }
    if (struck && real.code != SQLITE_OK) {
        settle(w, s, &real, &b);
        return;
    }
    bool may_say = s->act == REFUSE || (!known("connect_anew") && strstr(real.message, "connect_anew")) ||
                   (!known("idle_drain") && real.code == SQLITE_BUSY_SNAPSHOT);
    if (may_say && real.code != SQLITE_OK && may_refuse(w, s, &real)) {
        w->counts->refused++;
        if (!sqlite3_get_autocommit(p->twin))
            run_sql(p->twin, "UPDATE beat SET n = n + 1"); /* it may have taken locks before it failed */
        return;
    }
    outcome twin = run_sql(p->twin, s->twin);
    compare(w, s, &real, &twin);
    if (real.code == SQLITE_OK)
        remember(w, s);
}

static void add_if_new(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    outcome real = run_sql(p->real, s->real);
    if (real.code != SQLITE_OK) {
        if (!is_locked(real.code))
            fail(w, "code: %d %s", real.code, real.message);
        return;
    }
    ask_key(w, s, real.changes == 1);
    if (real.changes == 1) {
        outcome twin = run_sql(p->twin, s->twin);
        compare(w, s, &real, &twin);
    }
}

/* ---- statements that stay half stepped ---- */

static void end_left(pair *p)
{
    sqlite3_finalize(p->left_real);
    sqlite3_finalize(p->left_twin);
    p->left_real = p->left_twin = NULL;
}

static void go_on(world *w, const step *s, int steps)
{
    pair *p = &w->pairs[s->pair];
    int real = SQLITE_ROW, twin = SQLITE_ROW;
    bool asks = strstr(sqlite3_sql(p->left_real), " JOIN ") != NULL; /* a filter, which may refuse */
    for (; steps > 0 && real == SQLITE_ROW && twin == SQLITE_ROW; steps--) {
        real = sqlite3_step(p->left_real);
        twin = sqlite3_step(p->left_twin);
    }
    if (real == SQLITE_ROW && twin == SQLITE_ROW)
        return;
    if (!asks && (real == SQLITE_ROW || real == SQLITE_DONE) != (twin == SQLITE_ROW || twin == SQLITE_DONE))
        fail(w, "code: of a statement left half stepped: %d %s; without the filter %d", real,
             sqlite3_errmsg(p->real), twin);
    end_left(p);
}

static void leave(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    if (p->left_real)
        end_left(p);
    int real = sqlite3_prepare_v2(p->real, s->real, -1, &p->left_real, NULL);
    int twin = sqlite3_prepare_v2(p->twin, s->twin, -1, &p->left_twin, NULL);
    if (real == SQLITE_OK && twin == SQLITE_OK)
        go_on(w, s, 1 + (int)(s->number % 3));
    else
        end_left(p);
}

/* ---- copies ---- */

static int copy_database(sqlite3 *into, sqlite3 *from)
{
    sqlite3_backup *backup = sqlite3_backup_init(into, "main", from, "main");
    if (backup == NULL)
        return sqlite3_errcode(into);
    sqlite3_backup_step(backup, -1);
    return sqlite3_backup_finish(backup);
}

static int copy_of(world *w, sqlite3 *db, const char *path, bool back)
{
    sqlite3 *copy;
    int rc = world_visit(&copy, path, false, w);
    if (rc == SQLITE_OK)
        rc = back ? copy_database(db, copy) : copy_database(copy, db);
    sqlite3_close(copy);
    return rc;
}

static void copy_both(world *w, const step *s, bool back)
{
    pair *p = &w->pairs[s->pair];
    for (int i = 0; i < w->shape.pairs; i++)
        if (w->pairs[i].far)
            return;
    int real = copy_of(w, p->real, w->real_copy, back), twin = copy_of(w, p->twin, w->twin_copy, back);
    if (real != twin && !(is_locked(real) && is_locked(twin)))
        fail(w, "code: backup %s: %d, without the filter %d", back ? "into place" : "of it", real, twin);
    w->has_copy = w->has_copy || real == SQLITE_OK;
}

static void visit(world *w)
{
    pair *p = &w->pairs[PAIRS];
    *p = (pair){.asks = true};
    if (!w->has_copy)
        return;
    if (world_visit(&p->real, w->real_copy, true, w) != SQLITE_OK ||
        world_visit(&p->twin, w->twin_copy, false, w) != SQLITE_OK)
        fail(w, "connect: to a copy: %s", sqlite3_errmsg(p->real));
    else
        ask_pair(w, PAIRS, true);
    sqlite3_close(p->real);
    sqlite3_close(p->twin);
    *p = (pair){.asks = false};
}

/* ---- all of them ---- */

static void tick(world *w, int by)
{
    w->clock += by;
    w->clock = w->clock < w->peak - BACK ? w->peak - BACK : w->clock;
    w->peak = w->clock > w->peak ? w->clock : w->peak;
}

void step_run(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    w->pair = s->pair;
    w->counts->steps++;
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
        tick(w, s->value);
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
