/* SPDX-License-Identifier: MIT */
#include "ageing.h"

#include "../sqlite/sql.h"

#include "../../src/base/bits.h"

enum { EPOCHS = 12 /* of keep= */, NUMBERS = 15 /* of epochs in the pages */ };

static uint64_t clock_of(const cuckoo_paged *paged)
{
    return cuckoo_sql_clock(paged->shadow.db, paged->shadow.schema);
}

/* The length of an epoch in milliseconds. */
static uint64_t epoch_length(const cuckoo_age *age)
{
    return (age->keep + EPOCHS - 1) / EPOCHS;
}

/* The difference between clocks that is allowed. */
static uint64_t tolerance(const cuckoo_age *age)
{
    return age->keep / 8;
}

static uint64_t epoch_of(const cuckoo_age *age, uint64_t time)
{
    return age->keep ? (time + age->offset) / epoch_length(age) & cf_low_bits(48) : time - 1;
}

static uint64_t end_of(const cuckoo_age *age, uint64_t epoch)
{
    return (epoch + 1) * epoch_length(age) - age->offset;
}

/* Without keep=, the current epoch decides. */
void cuckoo_ageing_set_window(cuckoo_paged *paged, uint64_t window)
{
    const cuckoo_age *age = &paged->age;
    uint64_t allowed = window + tolerance(age), epoch = paged->filter.epoch;
    uint32_t numbers = 0;
    for (unsigned i = 0; i < NUMBERS && i <= epoch && age->keep; i++)
        if (end_of(age, epoch - i) + allowed > paged->now)
            numbers |= (uint32_t)1 << (epoch - i) % 16;
    if (age->keep)
        paged->filter.live = numbers;
    paged->window = window;
    paged->reader.live = paged->filter.live;
}

void cuckoo_ageing_read_clock(cuckoo_paged *paged, int64_t logged)
{
    const cuckoo_age *age = &paged->age;
    uint64_t clock = age->keep ? clock_of(paged) : paged->filter.epoch + 1,
             last = age->keep && (uint64_t)logged > age->latest ? (uint64_t)logged : age->latest;
    paged->now = clock > last ? clock : last;
    cuckoo_ageing_set_window(paged, age->keep);
}

bool cuckoo_ageing_is_live(const cuckoo_paged *paged, int64_t time)
{
    if (paged->age.keep == 0)
        return time > 0 && cf_epoch_is_live(&paged->filter, (uint64_t)time - 1);
    return time > 0 && (uint64_t)time + paged->window + tolerance(&paged->age) >= paged->now;
}

void cuckoo_ageing_begin_adds(cuckoo_paged *paged, int64_t latest, bool now)
{
    cuckoo_age *age = &paged->age;
    if (age->keep == 0)
        return;
    if ((uint64_t)latest > age->latest)
        age->latest = (uint64_t)latest;
    paged->now = age->latest;
    cuckoo_ageing_set_window(paged, age->keep);
    uint64_t epoch = epoch_of(age, age->latest);
    if (epoch > paged->filter.epoch)
        cf_age_to(&paged->filter, epoch);
    if (now)
        cuckoo_ageing_read_clock(paged, latest);
    else
        cuckoo_ageing_set_window(paged, age->keep);
}

cf_status cuckoo_ageing_add(cuckoo_paged *paged, uint64_t hash, int64_t time)
{
    uint64_t last = paged->filter.epoch, epoch = epoch_of(&paged->age, (uint64_t)time);
    uint64_t first = last < NUMBERS ? 0 : last - NUMBERS + 1;
    if (!cuckoo_ageing_is_live(paged, time))
        return CF_OK;
    epoch = epoch > last ? last : epoch < first ? first : epoch;
    return cf_add_epoch(&paged->filter, hash, epoch);
}

void cuckoo_ageing_sweep(cuckoo_paged *paged)
{
    cf_sweep(&paged->filter);
    paged->dirty = true;
}

int cuckoo_ageing_advance(cuckoo_paged *paged, char **message)
{
    if (paged->filter.geometry.epochs == 0 || paged->age.keep)
        return cuckoo_say(message, SQLITE_ERROR,
                          "advance is for tables that were created with epochs=n");
    cf_advance(&paged->filter);
    paged->dirty = true;
    cuckoo_ageing_read_clock(paged, 0);
    return SQLITE_OK;
}

int cuckoo_ageing_set_clock(cuckoo_paged *paged, char **message)
{
    cuckoo_age *age = &paged->age;
    if (age->keep == 0)
        return cuckoo_say(message, SQLITE_ERROR, "clock is for tables that were created with keep=");
    uint64_t clock = clock_of(paged);
    if (clock >= age->latest)
        return SQLITE_OK;
    age->offset += age->latest - clock;
    age->latest = clock;
    paged->dirty = true;
    cuckoo_ageing_read_clock(paged, 0);
    return SQLITE_OK;
}

void cuckoo_ageing_renew(cuckoo_paged *paged)
{
    cuckoo_age *age = &paged->age;
    if (age->keep == 0)
        return;
    cf_renew(&paged->filter);
    age->offset = paged->filter.epoch * epoch_length(age) - paged->now;
    age->latest = paged->now;
    cuckoo_ageing_read_clock(paged, 0);
}

void cuckoo_ageing_append_info(const cuckoo_paged *paged, int64_t latest, sqlite3_str *json)
{
    const cuckoo_age *age = &paged->age;
    uint64_t last = (uint64_t)latest > age->latest ? (uint64_t)latest : age->latest;
    double ahead = (double)last - (double)clock_of(paged);
    if (age->keep)
        sqlite3_str_appendf(json, ",\"keep\":%.15g,\"clock_ahead\":%.15g", (double)age->keep / 1000,
                            ahead > 0 ? ahead / 1000 : 0.0);
}
