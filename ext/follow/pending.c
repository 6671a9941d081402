/* SPDX-License-Identifier: MIT */
#include "pending.h"

#include <string.h>

int cuckoo_pending_add(cuckoo_pending *pending, uint64_t hash, int64_t n)
{
    if (pending->n == pending->room) {
        size_t room = 2 * pending->room + 16;
        cuckoo_change *larger = sqlite3_realloc64(pending->change, room * sizeof *larger);
        if (larger == NULL)
            return SQLITE_NOMEM;
        pending->change = larger;
        pending->room = room;
    }
    pending->change[pending->n++] = (cuckoo_change){hash, n};
    return SQLITE_OK;
}

int cuckoo_pending_sum(cuckoo_pending *pending, const cuckoo_paged *paged)
{
    int rc = SQLITE_OK;
    for (; rc == SQLITE_OK && pending->summed < pending->n; pending->summed += rc == SQLITE_OK) {
        const cuckoo_change *next = &pending->change[pending->summed];
        rc = cuckoo_sums_take(&pending->sums, paged, next->hash, next->n);
    }
    return rc;
}

void cuckoo_pending_shift(cuckoo_pending *pending, size_t n)
{
    pending->n -= n;
    memmove(pending->change, pending->change + n, pending->n * sizeof *pending->change);
    pending->summed = 0;
    cuckoo_sums_free(&pending->sums);
}

void cuckoo_pending_free(cuckoo_pending *pending)
{
    cuckoo_sums_free(&pending->sums);
    sqlite3_free(pending->change);
    *pending = (cuckoo_pending){.change = NULL};
}
