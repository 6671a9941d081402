/* SPDX-License-Identifier: MIT */
#include "witness.h"

#include <string.h>

enum { FIRST_BITS = 12 };

static bool equal(bool a_is, uint64_t a, bool b_is, uint64_t b)
{
    return a_is == b_is && (!a_is || a == b);
}

/* An insertion always fits: REPLACE deletes rows without firing a trigger. But the deletion may only
** come late, and then it must be that of the key that was there. */
static cuckoo_fit join_gap(cuckoo_step *all, cuckoo_step step)
{
    if (!step.from_is && all->to_is) {
        all->hole = true;
        all->gone = all->to;
        all->to = step.to;
        return CUCKOO_FITS;
    }
    if (all->hole && !step.to_is && step.from == all->gone) {
        all->hole = false;
        return CUCKOO_FITS_IF_THERE;
    }
    *all = step;
    return CUCKOO_MISFITS;
}

/* Joins a step to the way that is remembered. */
static cuckoo_fit join(cuckoo_step *all, cuckoo_step step)
{
    bool after = equal(all->to_is, all->to, step.from_is, step.from),
         before = equal(all->from_is, all->from, step.to_is, step.to),
         back = after && before && !equal(all->to_is, all->to, all->from_is, all->from);
    if (after) {
        all->to_is = step.to_is;
        all->to = step.to;
        return back ? CUCKOO_FITS_EITHER : CUCKOO_FITS_IF_THERE;
    }
    if (before) {
        all->from_is = step.from_is;
        all->from = step.from;
        return CUCKOO_FITS_IF_THERE;
    }
    return join_gap(all, step);
}

/* The place of the row: it is there, or the place is free. One is free always. */
static cuckoo_witnessed *find(const cuckoo_witness *witness, int64_t row)
{
    uint64_t last = ((uint64_t)1 << witness->bits) - 1,
             at = ((uint64_t)row * 0x9e3779b97f4a7c15u) >> (64 - witness->bits);
    while (witness->seen[at].round == witness->round && witness->seen[at].row != row)
        at = (at + 1) & last;
    return &witness->seen[at];
}

static cuckoo_witnessed *make_places(unsigned bits)
{
    uint64_t bytes = sizeof(cuckoo_witnessed) << bits;
    cuckoo_witnessed *places = sqlite3_malloc64(bytes);
    if (places)
        memset(places, 0, bytes);
    return places;
}

/* Makes room for another row: at most half of the places are taken. */
static int make_room(cuckoo_witness *witness)
{
    cuckoo_witness old = *witness;
    uint64_t places = old.seen ? (uint64_t)1 << old.bits : 0;
    if (old.n < places / 2)
        return SQLITE_OK;
    witness->bits = old.seen ? old.bits + 1 : FIRST_BITS;
    witness->round = old.seen ? old.round : 1;
    witness->seen = make_places(witness->bits);
    if (witness->seen == NULL) {
        *witness = old;
        return SQLITE_NOMEM;
    }
    for (uint64_t i = 0; i < places; i++)
        if (old.seen[i].round == old.round)
            *find(witness, old.seen[i].row) = old.seen[i];
    sqlite3_free(old.seen);
    return SQLITE_OK;
}

/* The place of the row, which knows what it was at the mark. */
static cuckoo_witnessed *find_noted(cuckoo_witness *witness, int64_t row)
{
    cuckoo_witnessed *at = find(witness, row);
    if (at->round != witness->round) {
        *at = (cuckoo_witnessed){.round = witness->round, .row = row};
        witness->n++;
    }
    if (witness->marked && at->mark != witness->mark) {
        at->mark = witness->mark;
        at->was_known = at->is_known;
        at->was = at->way;
    }
    return at;
}

int cuckoo_witness_tell(cuckoo_witness *witness, int64_t row, const cuckoo_step *step, cuckoo_step **way,
                        cuckoo_fit *fit)
{
    *fit = CUCKOO_FITS;
    if (make_room(witness) != SQLITE_OK)
        return SQLITE_NOMEM;
    cuckoo_witnessed *at = find_noted(witness, row);
    if (at->is_known)
        *fit = join(&at->way, *step);
    else
        at->way = *step;
    at->is_known = true;
    if (witness->spoiled && step->from_is)
        *fit = CUCKOO_MISFITS;
    *way = &at->way;
    return SQLITE_OK;
}

/* ---- savepoints within the statement ---- */

void cuckoo_witness_set_mark(cuckoo_witness *witness, int savepoint)
{
    if (witness->marked)
        return;
    witness->marked = savepoint + 1;
    witness->mark++;
}

void cuckoo_witness_release(cuckoo_witness *witness, int savepoint)
{
    if (witness->marked > savepoint)
        witness->marked = 0;
}

void cuckoo_witness_roll_back(cuckoo_witness *witness, int savepoint)
{
    uint64_t places = witness->seen && witness->n > 0 ? (uint64_t)1 << witness->bits : 0;
    if (witness->marked != savepoint + 1) {
        witness->spoiled |= witness->n > 0;
        return;
    }
    for (uint64_t i = 0; i < places; i++) {
        cuckoo_witnessed *at = &witness->seen[i];
        if (at->round == witness->round && at->mark == witness->mark) {
            at->is_known = at->was_known;
            at->way = at->was;
        }
    }
}

/* ---- the end ---- */

/* A new round begins, unless the memory is large: then it is given back. */
void cuckoo_witness_clear(cuckoo_witness *witness)
{
    uint32_t round = witness->round + (witness->n > 0);
    bool keep = witness->bits <= FIRST_BITS && round != 0;
    if (!keep)
        sqlite3_free(witness->seen);
    *witness = (cuckoo_witness){.seen = keep ? witness->seen : NULL,
                                .bits = keep ? witness->bits : 0,
                                .round = keep ? round : 0};
}

void cuckoo_witness_free(cuckoo_witness *witness)
{
    sqlite3_free(witness->seen);
    *witness = (cuckoo_witness){.seen = NULL};
}
