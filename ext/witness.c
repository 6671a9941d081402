/* SPDX-License-Identifier: MIT */
#include "witness.h"

#include <string.h>

enum { ROW_BITS = 12, ROWS = 1 << ROW_BITS };

static bool equal(bool a_is, uint64_t a, bool b_is, uint64_t b)
{
    return a_is == b_is && (!a_is || a == b);
}

/* Joins a step to the way that is remembered. An insertion always fits, because REPLACE deletes
** rows without firing a trigger. */
static cuckoo_fit join(cuckoo_step *all, cuckoo_step step)
{
    if (equal(all->to_is, all->to, step.from_is, step.from)) {
        all->to_is = step.to_is;
        all->to = step.to;
        return CUCKOO_FITS;
    }
    if (equal(all->from_is, all->from, step.to_is, step.to)) {
        all->from_is = step.from_is;
        all->from = step.from;
        return CUCKOO_FITS_BEFORE;
    }
    *all = step;
    return step.from_is ? CUCKOO_MISFITS : CUCKOO_FITS;
}

/* Clearing begins a round: each transaction clears, and the table is larger than what most of them
** change. */
static int begin_round(cuckoo_witness *witness)
{
    if (witness->seen == NULL)
        witness->seen = sqlite3_malloc64(ROWS * sizeof *witness->seen);
    if (witness->seen == NULL)
        return SQLITE_NOMEM;
    if (witness->round == 0)
        memset(witness->seen, 0, ROWS * sizeof *witness->seen);
    witness->round += witness->round == 0;
    witness->any = true;
    return SQLITE_OK;
}

int cuckoo_witness_tell(cuckoo_witness *witness, int64_t row, cuckoo_step *step, cuckoo_fit *fit)
{
    *fit = CUCKOO_FITS;
    if (!witness->any && begin_round(witness) != SQLITE_OK)
        return SQLITE_NOMEM;
    cuckoo_witnessed *at = &witness->seen[((uint64_t)row * 0x9e3779b97f4a7c15u) >> (64 - ROW_BITS)];
    if (at->round == witness->round && at->row == row)
        *fit = join(&at->step, *step);
    else
        *at = (cuckoo_witnessed){witness->round, row, *step};
    *step = at->step;
    return SQLITE_OK;
}

void cuckoo_witness_clear(cuckoo_witness *witness)
{
    witness->round += witness->any; /* 0 again: the next row empties the table */
    witness->any = false;
}

void cuckoo_witness_free(cuckoo_witness *witness)
{
    sqlite3_free(witness->seen);
    *witness = (cuckoo_witness){.seen = NULL};
}
