/* SPDX-License-Identifier: MIT */
#include "changes.h"

#include <string.h>

int cuckoo_changes_add(cuckoo_changes *changes, uint64_t hash, int64_t row, int64_t n)
{
    if (changes->n == changes->room) {
        size_t room = 2 * changes->room + 16;
        cuckoo_change *larger = sqlite3_realloc64(changes->change, room * sizeof *larger);
        if (larger == NULL)
            return SQLITE_NOMEM;
        changes->change = larger;
        changes->room = room;
    }
    changes->change[changes->n++] = (cuckoo_change){hash, row, n};
    return SQLITE_OK;
}

int cuckoo_changes_sum(cuckoo_changes *changes, bool times)
{
    const cuckoo_change *at = changes->change;
    for (size_t *i = &changes->summed; *i < changes->n; ++*i)
        if (cuckoo_counts_put(&changes->counts, times, at[*i].hash, at[*i].row, at[*i].n) != SQLITE_OK)
            return SQLITE_NOMEM;
    return SQLITE_OK;
}

int cuckoo_changes_link(cuckoo_changes *changes)
{
    if (changes->linked == changes->n)
        return SQLITE_OK;
    size_t *before = sqlite3_realloc64(changes->before, changes->room * sizeof *before);
    if (before == NULL)
        return SQLITE_NOMEM;
    changes->before = before;
    for (size_t *i = &changes->linked; *i < changes->n; ++*i) {
        uint64_t hash = changes->change[*i].hash;
        before[*i] = (size_t)cuckoo_counts_get(&changes->last, hash, 0);
        if (cuckoo_counts_put(&changes->last, true, hash, 0, (int64_t)*i + 1) != SQLITE_OK)
            return SQLITE_NOMEM;
    }
    return SQLITE_OK;
}

int cuckoo_changes_walk(const cuckoo_changes *changes, cuckoo_changer change, void *context)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < changes->n; i++)
        rc = change(context, changes->change[i].hash, changes->change[i].row, changes->change[i].n);
    return rc;
}

void cuckoo_changes_free(cuckoo_changes *changes)
{
    cuckoo_counts_free(&changes->counts);
    cuckoo_counts_free(&changes->last);
    sqlite3_free(changes->before);
    sqlite3_free(changes->change);
    *changes = (cuckoo_changes){.change = NULL};
}
