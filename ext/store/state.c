/* SPDX-License-Identifier: MIT */
#include "state.h"

#include <assert.h>

enum {
    NEW = CUCKOO_NEW,
    OPEN = CUCKOO_OPEN,
    BROKEN = CUCKOO_BROKEN,
    DEAD = CUCKOO_DEAD,
    LIVES,
    NOTHING = CUCKOO_NOTHING,
    ANEW = CUCKOO_ANEW,
    LOOK = CUCKOO_LOOK,
    WRITE = CUCKOO_WRITE,
    FORGET = CUCKOO_FORGET,
    REFUSE = CUCKOO_REFUSE,
    EVENTS = CUCKOO_GONE + 1
};

typedef struct state_cell {
    uint8_t action, life;
} state_cell;

/* What an event does, by the life before it: the action, and the life after it. */
static const state_cell cells[EVENTS][LIVES] = {
    [CUCKOO_USE] = {{ANEW, OPEN}, {LOOK, OPEN}, {REFUSE, BROKEN}, {REFUSE, DEAD}},
    [CUCKOO_CHANGED] = {{WRITE, NEW}, {WRITE, OPEN}, {NOTHING, BROKEN}, {NOTHING, DEAD}},
    [CUCKOO_JOIN] = {{NOTHING, NEW}, {NOTHING, OPEN}, {NOTHING, BROKEN}, {NOTHING, DEAD}},
    [CUCKOO_SAVEPOINT] = {{WRITE, NEW}, {WRITE, OPEN}, {NOTHING, BROKEN}, {NOTHING, DEAD}},
    [CUCKOO_ROLLED_BACK_TO] = {{FORGET, NEW}, {FORGET, NEW}, {FORGET, NEW}, {NOTHING, DEAD}},
    [CUCKOO_SYNC] = {{WRITE, NEW}, {WRITE, OPEN}, {REFUSE, BROKEN}, {NOTHING, DEAD}},
    [CUCKOO_COMMITTED] = {{NOTHING, NEW}, {NOTHING, OPEN}, {NOTHING, BROKEN}, {NOTHING, DEAD}},
    [CUCKOO_ROLLED_BACK] = {{FORGET, NEW}, {FORGET, NEW}, {FORGET, NEW}, {NOTHING, DEAD}},
    [CUCKOO_LOST] = {{FORGET, NEW}, {FORGET, BROKEN}, {FORGET, BROKEN}, {NOTHING, DEAD}},
    [CUCKOO_DOUBT] = {{NOTHING, NEW}, {NOTHING, NEW}, {NOTHING, BROKEN}, {NOTHING, DEAD}},
    [CUCKOO_GONE] = {{NOTHING, DEAD}, {NOTHING, DEAD}, {NOTHING, DEAD}, {NOTHING, DEAD}},
};

/* The part in the transaction changes for the dead, too: their tables are still told. */
cuckoo_action cuckoo_state_event(cuckoo_state *state, cuckoo_event event)
{
    assert((int)state->life < LIVES && (int)event < EVENTS);
    state_cell cell = cells[event][state->life];
    bool ends = event == CUCKOO_COMMITTED || event == CUCKOO_ROLLED_BACK;
    state->rollbacks += event == CUCKOO_ROLLED_BACK_TO || event == CUCKOO_ROLLED_BACK;
    if (event == CUCKOO_USE && state->part == CUCKOO_CREATED && cell.action == LOOK)
        cell.action = ANEW;
    if (event == CUCKOO_CHANGED && state->part == CUCKOO_JOINED)
        cell.action = NOTHING;
    if (event == CUCKOO_LOST && state->part == CUCKOO_APART && cell.life == BROKEN)
        cell.life = NEW; /* nothing of a transaction is lost */
    if (event == CUCKOO_JOIN && state->tables++ == 0)
        state->part = CUCKOO_JOINED;
    if (event == CUCKOO_SAVEPOINT && state->part == CUCKOO_CREATED && state->life != CUCKOO_BROKEN)
        state->part = CUCKOO_JOINED;
    if (ends && state->tables > 0 && --state->tables == 0)
        state->part = CUCKOO_APART;
    state->life = (cuckoo_life)cell.life;
    assert((state->part == CUCKOO_APART) == (state->tables == 0));
    return (cuckoo_action)cell.action;
}

/* ---- is what is in memory still what the database says? ---- */

static int version_of(const cuckoo_shadow *shadow, unsigned *version)
{
    *version = 0;
    return sqlite3_file_control(shadow->db, shadow->schema, SQLITE_FCNTL_DATA_VERSION, version);
}

/* Has this connection written anything that is not ours? SQLite does not report the rollback of a
** transaction that this table has not joined. While such a transaction has uncommitted writes,
** nothing is kept. */
static void look_at_changes(cuckoo_fresh *fresh, cuckoo_shadow *shadow, bool same, cuckoo_stale *stale)
{
    int now = sqlite3_total_changes(shadow->db), more = now - fresh->changes;
    /* Comparing counters is cheaper than asking for the state of the transaction. */
    bool settled = now == fresh->settled_changes;
    bool alone = !settled && cuckoo_shadow_in_transaction(shadow, true);
    if ((more != 0 && (alone || !same)) || fresh->keeps_nothing)
        *stale = CUCKOO_IS_STALE;
    fresh->changes = now;
    if (!alone)
        fresh->settled_changes = now;
    fresh->keeps_nothing = alone;
}

int cuckoo_fresh_look(cuckoo_fresh *fresh, cuckoo_shadow *shadow, bool joined, cuckoo_stale *stale)
{
    unsigned version;
    *stale = CUCKOO_IS_FRESH;
    int rc = version_of(shadow, &version);
    if (rc != SQLITE_OK)
        return rc;
    bool same = version == fresh->file_version;
    fresh->file_version = version;
    if (!same)
        *stale = CUCKOO_MAY_BE_STALE;
    if (!joined)
        look_at_changes(fresh, shadow, same, stale);
    return rc;
}

bool cuckoo_fresh_overtaken(const cuckoo_fresh *fresh, const cuckoo_shadow *shadow)
{
    unsigned version;
    return version_of(shadow, &version) != SQLITE_OK || version != fresh->file_version;
}

bool cuckoo_fresh_joined(cuckoo_fresh *fresh, const cuckoo_shadow *shadow)
{
    unsigned version;
    int changes = sqlite3_total_changes(shadow->db);
    bool same = version_of(shadow, &version) == SQLITE_OK && version == fresh->file_version;
    if (same && sqlite3_get_autocommit(shadow->db))
        fresh->changes = fresh->settled_changes = changes;
    return same && changes == fresh->changes && !fresh->keeps_nothing;
}

void cuckoo_fresh_committed(cuckoo_fresh *fresh, const cuckoo_shadow *shadow, bool looked)
{
    unsigned version;
    /* Connections that share a cache share this version, and another thread may have committed by now.
    ** Then the next look has to see it. */
    if (looked && version_of(shadow, &version) == SQLITE_OK && version == fresh->file_version + 1)
        fresh->file_version = version;
    fresh->changes = sqlite3_total_changes(shadow->db);
    fresh->keeps_nothing = false;
}
