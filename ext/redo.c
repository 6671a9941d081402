/* SPDX-License-Identifier: MIT */
#include "redo.h"

#include <assert.h>
#include <string.h>

enum { FEWEST_NOTES = 64, MOST = 1 << 14 /* notes: doing them again takes some milliseconds */ };

static bool make_room_for_note(cuckoo_redo *redo)
{
    size_t room = redo->room ? 2 * redo->room : FEWEST_NOTES;
    if (redo->n < redo->room)
        return true;
    cuckoo_redo_note *larger =
        room > MOST ? NULL : sqlite3_realloc64(redo->note, room * sizeof *redo->note);
    if (larger == NULL)
        return false;
    redo->note = larger;
    redo->room = room;
    return true;
}

void cuckoo_redo_add(cuckoo_redo *redo, cuckoo_redo_kind kind, uint64_t hash, uint64_t value)
{
    if (redo->partial || redo->stale)
        return; /* these are written as a whole; stale ones are there already */
    if (make_room_for_note(redo))
        redo->note[redo->n++] = (cuckoo_redo_note){hash, (uint32_t)value, (uint8_t)kind};
    else
        redo->partial = true;
}

void cuckoo_redo_set_mark(cuckoo_redo *redo, int number)
{
    assert(number >= 0 && !redo->stale);
    redo->marked = redo->idle = true;
    redo->mark = number;
    redo->kept = redo->n;
}

void cuckoo_redo_written(cuckoo_redo *redo)
{
    redo->n = redo->from = redo->kept;
    redo->partial = redo->stale = redo->idle = false;
}

void cuckoo_redo_release(cuckoo_redo *redo, int number)
{
    if (!redo->marked || number > redo->mark)
        return;
    redo->n -= redo->from;
    if (redo->from > 0)
        memmove(redo->note, redo->note + redo->from, redo->n * sizeof *redo->note);
    redo->kept = redo->from = 0;
    redo->marked = false;
}

void cuckoo_redo_roll_back(cuckoo_redo *redo, int number)
{
    if (redo->marked && number < redo->mark)
        cuckoo_redo_clear(redo);
    bool to_mark = redo->marked && number == redo->mark;
    redo->n = redo->kept;
    redo->from = to_mark ? 0 : redo->kept; /* all was written when a later savepoint opened */
    redo->stale = redo->from < redo->n;
    redo->partial = false;
}

void cuckoo_redo_clear(cuckoo_redo *redo)
{
    redo->n = redo->kept = redo->from = 0;
    redo->marked = redo->partial = redo->stale = false;
}

void cuckoo_redo_free(cuckoo_redo *redo)
{
    sqlite3_free(redo->note);
    memset(redo, 0, sizeof *redo);
}
