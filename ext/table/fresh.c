/* SPDX-License-Identifier: MIT */
#include "fresh.h"

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
    int rc = cuckoo_shadow_version(shadow, &version);
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
    return cuckoo_shadow_version(shadow, &version) != SQLITE_OK || version != fresh->file_version;
}

bool cuckoo_fresh_joined(cuckoo_fresh *fresh, const cuckoo_shadow *shadow)
{
    unsigned version;
    int changes = sqlite3_total_changes(shadow->db);
    bool same = cuckoo_shadow_version(shadow, &version) == SQLITE_OK && version == fresh->file_version;
    if (same && sqlite3_get_autocommit(shadow->db))
        fresh->changes = fresh->settled_changes = changes;
    return same && changes == fresh->changes && !fresh->keeps_nothing;
}

void cuckoo_fresh_committed(cuckoo_fresh *fresh, const cuckoo_shadow *shadow, bool looked)
{
    unsigned version;
    /* Connections that share a cache share this version, and another thread may have committed by now.
    ** Then the next look has to see it. */
    if (looked && cuckoo_shadow_version(shadow, &version) == SQLITE_OK &&
        version == fresh->file_version + 1)
        fresh->file_version = version;
    fresh->changes = sqlite3_total_changes(shadow->db);
    fresh->keeps_nothing = false;
}
