/* SPDX-License-Identifier: MIT */
/*
** left.c - statements that stay half stepped while others run, and copies of the database.
*/
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void end_left(pair *p)
{
    sqlite3_finalize(p->left_real);
    sqlite3_finalize(p->left_twin);
    p->left_real = p->left_twin = NULL;
}

void go_on(world *w, const step *s, int steps)
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
    /* ROLLBACK [TO] ends reads after a change of the schema: of a filter, which the twin does not have, or by what a
    ** fault has refused and the twin did not try. */
    asks |= (w->struck || p->made) && real == SQLITE_ABORT;
    if (real != twin && is_locked(twin))
        w->over = true; /* it waits for what a filter has refused */
    w->over |= is_too_deep(sqlite3_errmsg(p->real)) || is_too_deep(sqlite3_errmsg(p->twin));
    asks |= w->over;
    if (!asks &&
        (real == SQLITE_ROW || real == SQLITE_DONE) != (twin == SQLITE_ROW || twin == SQLITE_DONE))
        fail(w, "code: of a statement left half stepped: %d %s; without the filter %d", real,
             sqlite3_errmsg(p->real), twin);
    end_left(p);
}

void leave(world *w, const step *s)
{
    pair *p = &w->pairs[s->pair];
    if (p->left_real)
        end_left(p);
    if (p->far)
        ask_same_time(p);
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

static int copy_of(sqlite3 *db, const char *path, bool back)
{
    sqlite3 *copy;
    int rc = world_visit(&copy, path, false);
    if (rc == SQLITE_OK)
        rc = back ? copy_database(db, copy) : copy_database(copy, db);
    sqlite3_close(copy);
    return rc;
}

void copy_both(world *w, const step *s, bool back)
{
    pair *p = &w->pairs[s->pair];
    for (int i = 0; i < w->shape.pairs; i++)
        if (w->pairs[i].far)
            return;
    int real = copy_of(p->real, REAL_COPY, back), twin = copy_of(p->twin, TWIN_COPY, back);
    if (real != twin && (is_locked(twin) || p->left_real || !sqlite3_get_autocommit(p->real)))
        w->over = true; /* one may hold locks for what the other has refused, or found done */
    else if (real != twin && !(is_locked(real) && is_locked(twin)))
        fail(w, "code: backup %s: %d, without the filter %d", back ? "into place" : "of it", real, twin);
    w->has_copy = w->has_copy || real == SQLITE_OK;
}

void visit(world *w)
{
    pair *p = &w->pairs[PAIRS];
    *p = (pair){.asks = true};
    if (!w->has_copy)
        return;
    if (world_visit(&p->real, REAL_COPY, true) != SQLITE_OK ||
        world_visit(&p->twin, TWIN_COPY, false) != SQLITE_OK)
        fail(w, "connect: to a copy: %s", sqlite3_errmsg(p->real));
    else
        ask_pair(w, PAIRS, true);
    forget_kept(p->real);
    forget_kept(p->twin);
    sqlite3_close(p->real);
    sqlite3_close(p->twin);
    *p = (pair){.asks = false};
}
