/* SPDX-License-Identifier: MIT */
#include "state.h"

#include <assert.h>

/* What was in memory is lost or may be wrong: it counts as never compared. */
static cuckoo_action forget(cuckoo_state *state)
{
    state->life = CUCKOO_NEW;
    return CUCKOO_FORGET;
}

static cuckoo_action use(cuckoo_state *state)
{
    if (state->life == CUCKOO_BROKEN)
        return CUCKOO_REFUSE;
    bool anew = state->life == CUCKOO_NEW || state->part == CUCKOO_CREATED;
    state->life = CUCKOO_OPEN;
    return anew ? CUCKOO_ANEW : CUCKOO_LOOK;
}

static cuckoo_action write_unless_broken(const cuckoo_state *state)
{
    return state->life == CUCKOO_BROKEN ? CUCKOO_NOTHING : CUCKOO_WRITE;
}

static cuckoo_action lose(cuckoo_state *state)
{
    bool had = state->life == CUCKOO_OPEN || state->life == CUCKOO_BROKEN;
    state->life = had && state->part != CUCKOO_APART ? CUCKOO_BROKEN : CUCKOO_NEW;
    return CUCKOO_FORGET;
}

static cuckoo_action of_the_living(cuckoo_state *state, cuckoo_event event)
{
    switch (event) {
    case CUCKOO_USE:
        return use(state);
    case CUCKOO_CHANGED:
        return state->part == CUCKOO_JOINED ? CUCKOO_NOTHING : write_unless_broken(state);
    case CUCKOO_SAVEPOINT:
        return write_unless_broken(state);
    case CUCKOO_SYNC:
        return state->life == CUCKOO_BROKEN ? CUCKOO_REFUSE : CUCKOO_WRITE;
    case CUCKOO_ROLLED_BACK_TO:
    case CUCKOO_ROLLED_BACK:
        return forget(state);
    case CUCKOO_LOST:
        return lose(state);
    case CUCKOO_DOUBT:
        state->life = state->life == CUCKOO_OPEN ? CUCKOO_NEW : state->life;
        return CUCKOO_NOTHING;
    case CUCKOO_GONE:
        state->life = CUCKOO_DEAD;
        return CUCKOO_NOTHING;
    case CUCKOO_JOIN:
    case CUCKOO_COMMITTED:
        break;
    }
    return CUCKOO_NOTHING;
}

/* The part in the transaction changes for the dead, too: their tables are still told. */
static void take_part(cuckoo_state *state, cuckoo_event event)
{
    bool ends = event == CUCKOO_COMMITTED || event == CUCKOO_ROLLED_BACK;
    if (event == CUCKOO_JOIN) {
        state->tables++;
        state->part = state->part == CUCKOO_APART ? CUCKOO_JOINED : state->part;
    }
    if (event == CUCKOO_SAVEPOINT && state->part == CUCKOO_CREATED && state->life != CUCKOO_BROKEN)
        state->part = CUCKOO_JOINED;
    if (ends && state->tables > 0 && --state->tables == 0)
        state->part = CUCKOO_APART;
}

cuckoo_action cuckoo_state_event(cuckoo_state *state, cuckoo_event event)
{
    cuckoo_action action = event == CUCKOO_USE ? CUCKOO_REFUSE : CUCKOO_NOTHING;
    if (state->life != CUCKOO_DEAD)
        action = of_the_living(state, event);
    take_part(state, event);
    assert(state->part == CUCKOO_APART || state->tables > 0);
    return action;
}
