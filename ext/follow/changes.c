/* SPDX-License-Identifier: MIT */
#include "changes.h"

#include <string.h>

int cuckoo_changes_add(cuckoo_changes *changes, uint64_t hash, int64_t n)
{
    if (changes->n == changes->room) {
        size_t room = 2 * changes->room + 16;
        cuckoo_change *larger = sqlite3_realloc64(changes->change, room * sizeof *larger);
        if (larger == NULL)
            return SQLITE_NOMEM;
        changes->change = larger;
        changes->room = room;
    }
    changes->change[changes->n++] = (cuckoo_change){hash, n};
    return SQLITE_OK;
}

int cuckoo_changes_sum(cuckoo_changes *changes, bool times)
{
    const cuckoo_change *at = changes->change;
    for (size_t *i = &changes->summed; *i < changes->n; ++*i)
        if (cuckoo_counts_put(&changes->counts, times, at[*i].hash, at[*i].n) != SQLITE_OK)
            return SQLITE_NOMEM;
    return SQLITE_OK;
}

int cuckoo_changes_walk(const cuckoo_changes *changes, cuckoo_changer change, void *context)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < changes->n; i++)
        rc = change(context, changes->change[i].hash, changes->change[i].n);
    return rc;
}

void cuckoo_changes_free(cuckoo_changes *changes)
{
    cuckoo_counts_free(&changes->counts);
    sqlite3_free(changes->change);
    *changes = (cuckoo_changes){.change = NULL};
}
