/* SPDX-License-Identifier: MIT */
/*
** crash.c - what a fault has left: a statement that is not done, a file after the power has gone.
**
** After a fault the real database has done the step or has not, and the twin follows: a statement that
** is half done is equal to neither.
*/
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t committed_content(world *w, int *code)
{
    sqlite3 *db;
    uint64_t content = 0;
    *code = world_visit(&db, TWIN, false);
    if (*code == SQLITE_OK)
        content = content_of(w, db, code);
    forget_kept(db);
    sqlite3_close(db);
    return content;
}

/* False: this step cannot be faulted, since others keep us from looking. */
bool look_before(world *w, const step *s, before_fault *b)
{
    int code = SQLITE_OK, committed = SQLITE_OK;
    b->ends = is_end(s->real) || sqlite3_get_autocommit(w->pairs[s->pair].twin);
    b->inside = content_of(w, w->pairs[s->pair].real, &code);
    b->committed = s->fault.sort == FAIL_POWER ? committed_content(w, &committed) : 0;
    return code == SQLITE_OK && committed == SQLITE_OK;
}

static bool anybody_reads(const world *w)
{
    bool reads = false;
    for (int i = 0; i < w->shape.pairs; i++)
        reads |= w->pairs[i].left_real != NULL;
    return reads;
}

void settle(world *w, const step *s, const outcome *real, const before_fault *b)
{
    pair *p = &w->pairs[s->pair];
    int code, twin_code;
    w->struck = true;
    w->unsynced |= s->fault.sort == FAIL_DISK && strcmp(w->shape.journal, "wal") == 0;
    uint64_t is = content_of(w, p->real, &code);
    if (sqlite3_get_autocommit(p->real) && !sqlite3_get_autocommit(p->twin))
        run_sql(p->twin, is_end(s->real) && is == b->inside ? s->twin : "ROLLBACK");
    if (sqlite3_get_autocommit(p->real) && !sqlite3_get_autocommit(p->twin))
        run_sql(p->twin,
                "ROLLBACK"); /* a reader keeps it from ending, and the real one was taken back */
    if (is != content_of(w, p->twin, &twin_code))
        run_sql(p->twin, s->twin);
    take_locks(p); /* what failed may have, before it did */
    if (is != content_of(w, p->twin, &twin_code) || code != twin_code)
        fail(w, "half: after %d %s the rows are neither as before nor as after it", real->code,
             real->message);
    if (sqlite3_get_autocommit(p->real) != sqlite3_get_autocommit(p->twin))
        fail(w, "transaction: after %d %s: %d", real->code, real->message,
             sqlite3_get_autocommit(p->real));
    if (is_end(s->real) && !sqlite3_get_autocommit(p->real) && anybody_reads(w))
        w->over = true; /* it may have waited for that reader, and keeps others from reading now */
    else if (is_end(s->real) && !sqlite3_get_autocommit(p->real) &&
             strcmp(w->shape.journal, "wal") != 0) {
        run_sql(p->real, "ROLLBACK"); /* it keeps others from reading, too */
        run_sql(p->twin, "ROLLBACK");
    }
    /* A schema that cannot be read is a damaged one for ALTER, whose message is SQLite's. */
    bool altered = begins(s->real, "ALTER") && real->code == SQLITE_CORRUPT;
    if (((real->code & 0xff) == SQLITE_CORRUPT || (real->code & 0xff) == SQLITE_NOTADB) && !altered)
        fail(w, "corrupt: a fault, but: %d %s", real->code, real->message);
}

static void close_real(world *w)
{
    for (int i = 0; i < w->shape.pairs; i++) {
        pair *p = &w->pairs[i];
        sqlite3_finalize(p->left_real);
        p->left_real = NULL;
        forget_kept(p->real);
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
    *code = world_visit(&db, REAL, true);
    if (*code == SQLITE_OK)
        content = content_of(w, db, code);
    /* A BEFORE trigger that deletes the row of an UPDATE makes SQLite write what it finds damaged. */
    outcome sound = run_sql(db, "PRAGMA integrity_check");
    if (*code == SQLITE_OK && !w->undefined && strcmp(sound.message, "ok") != 0)
        fail(w, "integrity: %s", sound.message);
    if (*code != SQLITE_OK)
        fail(w, "recovery: %s", sqlite3_errmsg(db));
    forget_kept(db);
    sqlite3_close(db);
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

void restart(world *w, bool dies)
{
    if (dies)
        abandon_twins(w);
    world_disconnect(w);
    disk_power_back(POWER_LEFT_NONE);
    if (w->shape.faults == POWER_FAULTS)
        disk_power_on(w->seed);
    w->unsynced = false;
    w->over |= w->kept; /* REFERENCE: what no rule sees */
    if (world_connect(w) && !w->over)
        ask_everywhere(w);
}

/* Once more, while the next connection recovers what is left. */
static void lose_power_again(world *w, const fault *f)
{
    sqlite3 *db;
    disk_power_on(w->seed);
    disk_power_goes_at(f->what);
    if (world_visit(&db, REAL, true) == SQLITE_OK)
        run_sql(db, "UPDATE tick SET n = n");
    sqlite3_close(db);
    disk_power_back((power_left)f->left);
}

void crash(world *w, const step *s, int code, const before_fault *b)
{
    int real_code, twin_code = SQLITE_OK;
    w->counts->crashes++;
    close_real(w);
    disk_power_back((power_left)s->fault.left);
    if (s->fault.what > 0)
        lose_power_again(w, &s->fault);
    uint64_t is = recovered_content(w, &real_code);
    bool done = b->ends && (code == SQLITE_OK || is != b->committed);
    if (done && run_sql(w->pairs[s->pair].twin, s->twin).code == SQLITE_OK &&
        is != committed_content(w, &twin_code))
        fail(w, "lost: when the power had gone, %s",
             code == SQLITE_OK ? "what was committed is not there" : "a transaction is half there");
    if (!done && is != b->committed)
        fail(w, "lost: when the power had gone, what was committed before is not there, or more");
    restart(w, true);
}

void kill_process(world *w)
{
    w->counts->crashes++;
    disk_power_off();
    close_real(w);
    disk_power_back(POWER_LEFT_ALL);
    int code;
    uint64_t is = recovered_content(w, &code);
    w->over |= w->unsynced && is != committed_content(w, &code);
    restart(w, true);
}
