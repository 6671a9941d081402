/* SPDX-License-Identifier: MIT */
/*
** fault.c - memory, the disk and the power fail, and statements are interrupted: in the real database
** only.
*/
#include "sim.h"

#include "../faults/fault_memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool fault_always; /* no run is without faults */

static int interrupts;

/* The image of a filter is memory of the C library: the linker leads its requests here. */
void *__real_realloc(void *old, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__real_calloc(size_t n, size_t each);
void *__wrap_calloc(size_t n, size_t each);

void *__wrap_realloc(void *old, size_t bytes)
{
    return fault_memory_strikes(true) ? NULL : __real_realloc(old, bytes);
}

void *__wrap_calloc(size_t n, size_t each)
{
    return fault_memory_strikes(true) ? NULL : __real_calloc(n, each);
}

bool fault_install(void)
{
    return sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK &&
           sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, 2000) == SQLITE_OK && /* most are files */
           fault_memory_install() == SQLITE_OK && disk_install();
}

/* ---- what fails within a step ---- */

static bool is_alone(const world *w, const step *s)
{
    return sqlite3_get_autocommit(w->pairs[s->pair].twin);
}

/* The rows of the tables tell whether a statement was completed; the keys of a filter without content do not. */
static bool changes_keys_only(const world *w, const step *s)
{
    for (int i = 0; i < w->shape.filters; i++)
        if (!follows(filter_of(w, i)) && strstr(s->real, filter_of(w, i)->name) && s->real[0] != 'C')
            return true;
    return false;
}

/* At the end of a transaction these may fail when it is complete. */
static bool fails_late(disk_op what)
{
    return what == DISK_SYNC || what == DISK_TRUNCATE || what == DISK_DELETE || what == DISK_SHM;
}

static void draw_disk(world *w, const step *s, fault *f)
{
    static const disk_op ops[] = {DISK_READ,     DISK_WRITE, DISK_WRITE,  DISK_SYNC,
                                  DISK_TRUNCATE, DISK_OPEN,  DISK_DELETE, DISK_SHM};
    f->sort = FAIL_DISK;
    f->what = PICK(w, ops);
    if (fails_late(f->what) && is_alone(w, s) && changes_keys_only(w, s))
        f->what = DISK_WRITE;
    f->onwards = f->what == DISK_WRITE && chance(w, 40); /* a disk that is full */
    f->n = draw(w, chance(w, 70) ? 3 : 20);
}

/* Afterwards it must be possible to say whether it was done: by the rows, or because a transaction
** is open, and what failed in it was not done. */
static bool may_fail(const world *w, const step *s)
{
    static const char *const others[] = {"BEGIN",  "BEGIN",  "REL",    "BEGIN",
                                         "PRAGMA", "ATTACH", "DETACH", "REINDEX"};
    if (s->act == QUERY)
        return w->shape.faults != POWER_FAULTS && w->shape.faults != PAGE_LIMITS;
    if ((s->act != BOTH && s->act != REFUSE) || strstr(s->real, "far.")) /* only main is compared */
        return false;
    if (w->shape.faults == PAGE_LIMITS && is_end(s->real))
        return false; /* keys without a place may need pages then */
    if (begins(s->real, "SAVE") && w->shape.faults == INTERRUPTS)
        return false; /* it is done, and interrupted */
    for (int i = 0; i < 8; i++)
        if (begins(s->real, others[i]))
            return false;
    /* the power has gone, or an interrupt has come late */
    bool unknown = (w->shape.faults == POWER_FAULTS && is_alone(w, s)) ||
                   (w->shape.faults == INTERRUPTS && !known("interrupted_insert"));
    return !unknown || !changes_keys_only(w, s);
}

void fault_draw(world *w, step *s)
{
    fault *f = &s->fault;
    if (w->shape.faults == NO_FAULTS || !may_fail(w, s))
        return;
    bool limits = is_end(s->real) && w->shape.faults == PAGE_LIMITS;
    bool writes_much = is_end(s->real) || begins(s->real, "DROP") || begins(s->real, "ALTER") ||
                       strstr(s->real, "VALUES ('");
    if (!chance(w, limits ? 80 : writes_much ? 45 : 20))
        return;
    if (w->shape.faults == DISK_FAULTS)
        draw_disk(w, s, f);
    else if (w->shape.faults == MEMORY_FAULTS)
        *f = (fault){.sort = FAIL_MEMORY,
                     .n = draw(w, chance(w, 50) ? 60 : 2000),
                     .onwards = chance(w, 20),
                     .what = chance(w, 20)};
    else if (w->shape.faults == PAGE_LIMITS)
        *f = (fault){.sort = FAIL_PAGES, .n = draw(w, chance(w, 70) ? 2 : 9)};
    else if (w->shape.faults == INTERRUPTS)
        *f = (fault){.sort = FAIL_INTERRUPT, .n = 1 + draw(w, chance(w, 50) ? 30 : 1500)};
    else if (chance(w, 30))
        *f = (fault){.sort = FAIL_POWER,
                     .n = draw(w, chance(w, 70) ? 5 : 20),
                     .left = draw(w, POWER_LEFT_KINDS),
                     .what = chance(w, 40) ? draw(w, 11) : 0}; /* it goes again then */
}

static int interrupt(void *context)
{
    (void)context;
    return ++interrupts == 1;
}

static void limit_pages(sqlite3 *db, sqlite3_int64 most)
{
    char *sql = say("PRAGMA max_page_count = %lld", (long long)most);
    run_sql(db, sql);
    free(sql);
}

/* ALTER TABLE then says "no such table". SQLite (3.34 to 3.54) reads freed memory when memory fails
** while it writes that, with the extension or without. */
static bool alters_beside_an_orphan(sqlite3 *db, const char *sql)
{
    return begins(sql, "ALTER") &&
           run_sql(db,
                   "SELECT count(*) FROM temp.sqlite_schema WHERE type = 'trigger' AND tbl_name NOT IN "
                   "(SELECT name FROM main.sqlite_schema UNION SELECT name FROM temp.sqlite_schema)")
                   .one > 0;
}

void fault_arm(world *w, const step *s)
{
    const fault *f = &s->fault;
    bool never = f->sort == FAIL_MEMORY && alters_beside_an_orphan(w->pairs[s->pair].real, s->real);
    int code = f->what == DISK_READ                  ? SQLITE_IOERR_READ
               : f->what == DISK_OPEN                ? SQLITE_CANTOPEN
               : f->what == DISK_WRITE && f->onwards ? SQLITE_FULL
                                                     : SQLITE_IOERR;
    interrupts = 0;
    if (f->sort == FAIL_MEMORY)
        fault_memory_arm(never     ? LONG_MAX
                         : f->what ? f->n / 8
                                   : f->n,
                         f->what      ? FAULT_BLOCK
                         : f->onwards ? FAULT_ONWARDS
                                      : FAULT_ONCE);
    else if (f->sort == FAIL_DISK)
        disk_arm((disk_op)f->what, f->n, code, f->onwards);
    else if (f->sort == FAIL_INTERRUPT)
        sqlite3_progress_handler(w->pairs[s->pair].real, (int)f->n, interrupt, NULL);
    else if (f->sort == FAIL_POWER)
        disk_power_goes_at(f->n);
    else if (f->sort == FAIL_PAGES)
        limit_pages(w->pairs[s->pair].real,
                    run_sql(w->pairs[s->pair].real, "PRAGMA page_count").one + f->n);
}

bool fault_disarm(world *w, const step *s)
{
    bool struck = false;
    if (s->fault.sort == FAIL_MEMORY)
        struck = fault_memory_disarm() > 0;
    else if (s->fault.sort == FAIL_DISK)
        struck = disk_disarm() > 0;
    else if (s->fault.sort == FAIL_INTERRUPT)
        struck = interrupts > 0;
    else if (s->fault.sort == FAIL_POWER)
        struck = disk_power_is_off();
    if (s->fault.sort == FAIL_INTERRUPT && w->pairs[s->pair].real)
        sqlite3_progress_handler(w->pairs[s->pair].real, 0, NULL, NULL);
    else if (s->fault.sort == FAIL_PAGES) {
        struck = (sqlite3_errcode(w->pairs[s->pair].real) & 0xff) == SQLITE_FULL;
        limit_pages(w->pairs[s->pair].real, 1 << 30);
    }
    disk_power_goes_at(LONG_MAX);
    w->counts->faults += struck;
    w->counts->faults_of[s->fault.sort] += struck;
    return struck;
}
