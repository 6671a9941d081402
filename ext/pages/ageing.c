/* SPDX-License-Identifier: MIT */
#include "ageing.h"

#include "../sqlite/sql.h"

#include "../../src/filter/ageing.h"
#include "../../src/table/epochs.h"

enum { ALL_NUMBERS = (1 << CUCKOO_NUMBERS) - 1 };

/* ---- the clock ---- */

static uint64_t clock_of(const cuckoo_paged *paged)
{
    return cuckoo_sql_clock(paged->shadow.db, paged->shadow.schema);
}

static uint16_t this_number(const cf_filter *filter)
{
    return (uint16_t)(1 << cf_epoch_number(filter->epoch));
}

static uint64_t *last_add(cuckoo_paged *paged)
{
    return &paged->age.last[cf_epoch_number(paged->filter.epoch)];
}

/* The numbers that were written within so many milliseconds, and what clocks may differ by. */
static uint32_t written_within(const cuckoo_paged *paged, uint64_t window)
{
    uint32_t numbers = 0;
    const uint64_t *last = paged->age.last;
    uint64_t allowed = window + paged->age.keep / 8;
    for (unsigned i = 0; i < CUCKOO_NUMBERS; i++)
        if (last[i] != 0 && (last[i] >= paged->now || paged->now - last[i] <= allowed))
            numbers |= (uint32_t)1 << i;
    return numbers;
}

void cuckoo_ageing_narrow(cuckoo_paged *paged, uint64_t window)
{
    cf_set_live(&paged->filter, written_within(paged, window));
    paged->reader.view.live = paged->filter.view.live;
}

/* By command, the present epoch says what is live. */
static void set_live(cuckoo_paged *paged)
{
    if (paged->age.keep)
        cuckoo_ageing_narrow(paged, paged->age.keep);
    paged->reader.view.live = paged->filter.view.live;
}

void cuckoo_ageing_look(cuckoo_paged *paged)
{
    if (paged->age.keep) {
        uint64_t clock = clock_of(paged), last = *last_add(paged);
        paged->now = clock > last ? clock : last;
    }
    set_live(paged);
}

/* ---- sweeping ---- */

static uint16_t dead_numbers(const cuckoo_paged *paged)
{
    return (uint16_t)(ALL_NUMBERS & ~paged->filter.view.live);
}

/* Goes on with so many buckets. After an error nothing that is in memory stays. */
static int sweep(cuckoo_paged *paged, uint64_t buckets)
{
    cuckoo_age *age = &paged->age;
    if (age->dead == 0) {
        age->dead = dead_numbers(paged) & (uint16_t)~age->clean;
        age->swept = 0;
    }
    if (age->dead == 0)
        return SQLITE_OK;
    if (age->swept > paged->filter.buckets) /* the row lies */
        age->swept = 0;
    age->swept = cf_sweep(&paged->filter, age->dead, age->swept, buckets);
    if (age->swept >= paged->filter.buckets) {
        age->clean |= age->dead;
        age->dead = 0;
    }
    return paged->rc;
}

int cuckoo_ageing_sweep(cuckoo_paged *paged)
{
    paged->age.dead = dead_numbers(paged);
    paged->age.swept = 0;
    paged->dirty = true;
    return paged->age.dead ? sweep(paged, paged->filter.buckets) : SQLITE_OK;
}

/* How many buckets go with an add: all of them twice in the time of an epoch. Half of that lets dead
** entries outlive the numbers that are left; more than some pages would make the add slow. */
static uint64_t buckets_due(const cuckoo_paged *paged, uint64_t passed)
{
    enum { BY_COMMAND = 8, ROUNDS = 2, PAGES = 32 };
    uint64_t bits = paged->filter.view.form.bucket_bits, buckets = paged->filter.buckets;
    uint64_t most = PAGES * 8 * (uint64_t)paged->page_bytes / bits + 1;
    if (paged->age.keep == 0)
        return BY_COMMAND;
    double due = (double)buckets * ROUNDS * CUCKOO_EPOCHS * (double)passed / (double)paged->age.keep;
    return due < (double)most ? 1 + (uint64_t)due : most;
}

/* ---- epochs ---- */

static uint16_t next_number(const cf_filter *filter)
{
    return (uint16_t)(1 << cf_epoch_number(filter->epoch + 1));
}

/* May an epoch begin by the clock? Its number is clean, and what it drives out of the last 15 is dead:
** after an import that may be as young as all else. */
static bool may_begin(const cuckoo_paged *paged)
{
    return paged->age.clean & next_number(&paged->filter) &&
           !cf_is_live(&paged->filter, cf_epoch_number(paged->filter.epoch + 2));
}

static void begin_epoch(cuckoo_paged *paged)
{
    cf_begin_epoch(&paged->filter);
    paged->age.began = *last_add(paged) = paged->now;
    paged->dirty = true;
    set_live(paged);
}

/* All is dead, and the next number is not clean: begins anew. */
static int clear(cuckoo_paged *paged)
{
    const char *why;
    int rc = cuckoo_paged_clear(paged);
    if (rc != SQLITE_OK) /* what is half cleared must not stay */
        return cuckoo_sql_rolls_back(rc) ? rc : SQLITE_IOERR;
    return cuckoo_paged_load(paged, &why);
}

static int write_by_clock(cuckoo_paged *paged)
{
    bool lives = cf_is_live(&paged->filter, cf_epoch_number(paged->filter.epoch));
    bool over = !lives || paged->now - paged->age.began >= paged->age.keep / CUCKOO_EPOCHS;
    bool begins = may_begin(paged);
    int rc = lives || begins ? SQLITE_OK : clear(paged);
    if (rc == SQLITE_OK && over && (begins || !lives))
        begin_epoch(paged);
    return rc;
}

int cuckoo_ageing_write(cuckoo_paged *paged)
{
    uint64_t passed = paged->now - *last_add(paged);
    int rc = paged->age.keep ? write_by_clock(paged) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    *last_add(paged) = paged->now;
    paged->age.clean &= (uint16_t)~this_number(&paged->filter); /* also when optimize has swept it */
    paged->dirty = true;
    return sweep(paged, buckets_due(paged, passed));
}

/* ---- commands ---- */

int cuckoo_ageing_advance(cuckoo_paged *paged, char **message)
{
    if (paged->filter.geometry.epochs == 0 || paged->age.keep)
        return cuckoo_say(message, SQLITE_ERROR,
                          "advance is for tables that were created with epochs=n");
    bool clean = paged->age.clean & next_number(&paged->filter);
    int rc = clean ? SQLITE_OK : cuckoo_ageing_sweep(paged);
    if (rc == SQLITE_OK)
        begin_epoch(paged);
    return rc;
}

int cuckoo_ageing_set_clock(cuckoo_paged *paged, char **message)
{
    cuckoo_age *age = &paged->age;
    if (age->keep == 0)
        return cuckoo_say(message, SQLITE_ERROR, "clock is for tables that were created with keep=");
    uint64_t clock = clock_of(paged), ahead = paged->now - clock;
    if (clock >= paged->now)
        return SQLITE_OK;
    age->began -= ahead < age->began ? ahead : age->began;
    for (unsigned i = 0; i < CUCKOO_NUMBERS; i++)
        age->last[i] -= ahead < age->last[i] ? ahead : age->last[i] - (age->last[i] > 0);
    paged->dirty = true;
    cuckoo_ageing_look(paged);
    return SQLITE_OK;
}

/* Nothing is known of what carries the next number, so that it is swept first. */
void cuckoo_ageing_adopt(cuckoo_paged *paged, const cf_filter *image)
{
    cuckoo_age *age = &paged->age;
    *age = (cuckoo_age){.keep = age->keep, .began = paged->now};
    for (unsigned i = 0; i < image->geometry.epochs; i++)
        age->last[cf_epoch_number(image->epoch - i)] = paged->now;
}

void cuckoo_ageing_tell(const cuckoo_paged *paged, sqlite3_str *json)
{
    const cuckoo_age *age = &paged->age;
    uint64_t clock = age->keep ? clock_of(paged) : 0;
    double ahead = clock < paged->now ? (double)(paged->now - clock) / 1000 : 0;
    if (age->keep)
        sqlite3_str_appendf(json, ",\"keep\":%.15g,\"clock_ahead\":%.15g", (double)age->keep / 1000,
                            ahead);
}
