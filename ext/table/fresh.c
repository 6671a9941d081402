/* SPDX-License-Identifier: MIT */
/*
** fresh.c - is what a table has in memory, a cache of the database, still what the database says?
**
**      event                                        how it is noticed
**      another connection has committed             the data version of the database has changed;
**                                                   then the generation of the pages is compared
**      this connection has changed the shadow       sqlite3_total_changes counts rows that are not
**      tables by SQL                                ours, and the version has changed, or the
**                                                   changes are not committed yet
**      ROLLBACK or ROLLBACK TO in a transaction     xRollback and xRollbackTo (table.h)
**      that the table has joined
**      the same in a transaction that it has not    not at all: while such a transaction has
**      joined                                       uncommitted writes, nothing is kept between
**                                                   two uses
**
** The data version is looked at before every use, inside a read transaction: outside of one SQLite
** does not know it yet. With a shared cache such a transaction does not keep others from committing
** before a table is read. So after a use that has read something the version is looked at again. If it
** has changed, the use fails with SQLITE_LOCKED, for which users of a shared cache have to be prepared
** anyway.
**
** Three events go unnoticed: another table put in the place of a shadow table, SQL that writes to them
** in a transaction that changes the filter, too, and the incremental blob API on them. SQLite's
** defensive mode forbids the first two.
*/
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "table.h"

/* ---- a use ---- */

/* Rows that this connection has changed by SQL do not change the generation: then all is forgotten.
** Other connections make a new one when they write. */
static int compare(cuckoo_table *table)
{
    unsigned version;
    const cuckoo_shadow *shadow = &table->paged.shadow;
    int rc = cuckoo_shadow_version(shadow, &version), changes = sqlite3_total_changes(shadow->db);
    bool same = rc == SQLITE_OK && version == table->version, anew = !table->compared, stale = false;
    if (rc == SQLITE_OK)
        table->version = version;
    if (rc == SQLITE_OK && (!table->joined || !table->looked)) {
        bool more = changes != table->changes; /* comparing this is cheaper than the next line */
        bool alone = (more || table->alone) && cuckoo_shadow_in_transaction(shadow, true);
        stale = table->alone || (more && (alone || !same));
        table->changes = changes;
        table->alone = alone;
    }
    /* SQLite may not tell of rollbacks. And the generation does not tell if the log is that of before:
    ** the backup API may have put a copy in the place of the database, whose log has gone another way
    ** since it was made. */
    if (anew)
        cuckoo_net_forget(&table->net);
    if (stale)
        cuckoo_table_forget(table);
    else if (rc == SQLITE_OK && (anew || !same))
        rc = cuckoo_paged_compare(&table->paged);
    table->net.current &= same && !stale && (!table->joined || table->told);
    table->looked = table->compared = rc == SQLITE_OK;
    table->paged.shadow.stepped = false;
    return rc;
}

int cuckoo_table_load(cuckoo_table *table)
{
    char **damage = &table->paged.shadow.damage;
    sqlite3_free(*damage);
    *damage = NULL;
    if (table->paged.shadow.busy)
        return cuckoo_say(damage, SQLITE_CORRUPT_VTAB,
                          "a trigger or a view on its shadow table uses it");
    if (table->later)
        return cuckoo_say(damage, CUCKOO_NEWER, "%s", table->later);
    int rc = compare(table);
    return rc == SQLITE_OK ? cuckoo_paged_load(&table->paged) : rc;
}

int cuckoo_table_end(cuckoo_table *table)
{
    int rc = cuckoo_paged_error(&table->paged);
    bool fits = rc == SQLITE_OK || rc == SQLITE_CORRUPT_VTAB; /* rows of two times are no damage */
    if (table->paged.shadow.stepped && fits && cuckoo_table_overtaken(table))
        rc = SQLITE_LOCKED;
    table->paged.shadow.stepped = false;
    bool unwritten = table->paged.dirty && !table->paged.shadow.busy; /* by a drain that goes on */
    if (rc != SQLITE_OK || unwritten)
        cuckoo_table_forget(table);
    return rc;
}

int cuckoo_table_end_work(cuckoo_table *table, int rc, char **message)
{
    int end = cuckoo_table_end(table);
    if (end == SQLITE_OK || cuckoo_sql_rolls_back(rc))
        return rc;
    sqlite3_free(*message);
    *message = NULL;
    return end;
}

/* ---- the transaction ---- */

/* In the transaction of one statement nothing is uncommitted. */
void cuckoo_fresh_joined(cuckoo_table *table)
{
    unsigned version;
    const cuckoo_shadow *shadow = &table->paged.shadow;
    int changes = sqlite3_total_changes(shadow->db);
    bool same = cuckoo_shadow_version(shadow, &version) == SQLITE_OK && version == table->version;
    if (same && sqlite3_get_autocommit(shadow->db))
        table->changes = changes;
    bool idle = changes == table->changes && !table->alone;
    table->looked = same && idle;
    table->idle = idle ? changes + 1 : -1; /* joining was one */
}

/* SQLite counts the rows of the statement that commits only after it has called us. Connections that
** share a cache share the version, and another thread may have committed by now: then the next look has
** to see it. */
void cuckoo_fresh_ended(cuckoo_table *table)
{
    unsigned version;
    const cuckoo_shadow *shadow = &table->paged.shadow;
    if (table->looked && cuckoo_shadow_version(shadow, &version) == SQLITE_OK &&
        version == table->version + 1)
        table->version = version;
    table->changes = sqlite3_total_changes(shadow->db);
    table->alone = false;
}
