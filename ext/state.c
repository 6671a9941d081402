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
