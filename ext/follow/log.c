/* SPDX-License-Identifier: MIT */
#include "log.h"

#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include "../../src/base/bits.h"

#include <string.h>

/* The text before and after the name that the filter has when the log is created. It is a format
** (ext/COMPATIBILITY.md): logs of earlier versions must stay valid. */
#define HEAD                                                                                            \
    "CREATE TABLE \"" CUCKOO_LOG                                                                        \
    "\"(\"old\", \"new\", %s\"tag\" DEFAULT (randomblob('" CUCKOO_TAG_BYTES CUCKOO_LOG " "
#define ROWS(shadow) ((shadow)->rowids ? "\"old_row\", \"new_row\", " : "")
#define TAIL         "')))"

/* ---- the table ---- */

int cuckoo_log_create(const cuckoo_shadow *shadow)
{
    char *text = sqlite3_mprintf(HEAD "%q" TAIL, shadow->log, ROWS(shadow), shadow->log, shadow->table);
    int rc = text ? cuckoo_sql_run(shadow->db, "CREATE TABLE \"%w\".%s", shadow->schema,
                                   text + strlen("CREATE TABLE "))
                  : SQLITE_NOMEM;
    sqlite3_free(text);
    return rc;
}

int cuckoo_log_drop(const cuckoo_shadow *shadow)
{
    return cuckoo_sql_run(shadow->db, "DROP TABLE IF EXISTS \"%w\".\"" CUCKOO_LOG "\"", shadow->schema,
                          shadow->log);
}

/* True if `sql` is the text of this log, with any name of the filter. */
static bool is_as_created(const char *sql, const cuckoo_shadow *shadow)
{
    char head[sizeof HEAD + 64];
    sqlite3_snprintf(sizeof head, head, HEAD, shadow->log, ROWS(shadow), shadow->log);
    const char *end = strncmp(sql, head, strlen(head)) == 0 ? sql + strlen(head) : "";
    while (*end && (*end != '\'' || end[1] == '\''))
        end += *end == '\'' ? 2 : 1;
    return strcmp(end, TAIL) == 0;
}

int cuckoo_log_look(const cuckoo_shadow *shadow, cuckoo_log_fault *fault, char **watcher)
{
    char *sql;
    int rc = cuckoo_sql_text(shadow->db, &sql,
                             "SELECT sql FROM \"%w\".sqlite_master WHERE type = 'table' AND name = "
                             "'" CUCKOO_LOG "'",
                             shadow->schema, shadow->log);
    *fault = sql == NULL                  ? CUCKOO_LOG_MISSING
             : is_as_created(sql, shadow) ? CUCKOO_LOG_SOUND
                                          : CUCKOO_LOG_CHANGED;
    sqlite3_free(sql);
    *watcher = NULL;
    for (int temp = 0; rc == SQLITE_OK && *fault == CUCKOO_LOG_SOUND && temp < 2; temp++) {
        rc = cuckoo_sql_text(shadow->db, watcher,
                             "SELECT %Q || name FROM \"%w\".sqlite_master WHERE type = 'trigger' AND "
                             "tbl_name = '" CUCKOO_LOG "' COLLATE NOCASE",
                             temp ? "TEMP trigger " : "trigger ", temp ? "temp" : shadow->schema,
                             shadow->log);
        *fault = *watcher ? CUCKOO_LOG_WATCHED : CUCKOO_LOG_SOUND;
    }
    return rc;
}

/* ---- the net ---- */

/* SQLite never reaches such rowids: a program wrote one, and later rows may have lower ones. */
#define LARGEST_MARK (INT64_C(1) << 62)

void cuckoo_net_forget(cuckoo_net *net)
{
    cuckoo_changes_free(&net->changes);
    *net = (cuckoo_net){.more = 0};
}

static void count(cuckoo_net *net, const cuckoo_paged *paged, int64_t n)
{
    if (!paged->filter.geometry.epochs)
        net->more = (int64_t)((uint64_t)net->more + (uint64_t)n); /* rows may have any number */
    else if (n > net->more)
        net->more = n;
}

enum { OLD, NEW, ROWID, TAG, OLD_ROW, NEW_ROW, HASH = OLD, N = NEW };
enum { TYPES_AT = 50, MOST_TYPES = CF_TYPES_MIXED };

/* A tag is an integer, or eight bytes. */
static int64_t tag_of(sqlite3_stmt *row, int column)
{
    bool is_blob = sqlite3_column_type(row, column) == SQLITE_BLOB;
    const uint8_t *bytes = is_blob ? sqlite3_column_blob(row, column) : NULL;
    return bytes && sqlite3_column_bytes(row, column) == 8 ? (int64_t)cf_load64(bytes)
                                                           : sqlite3_column_int64(row, column);
}

int cuckoo_log_is_stamped(cuckoo_shadow *shadow, bool *stamped)
{
    int64_t found = 0;
    int rc = cuckoo_shadow_integer(shadow, CUCKOO_READ_STAMP, NULL, &found);
    *stamped = found;
    return rc;
}

int cuckoo_log_empty_own(cuckoo_shadow *shadow)
{
    bool stamped = false;
    int rc = shadow->rowids ? cuckoo_log_is_stamped(shadow, &stamped) : SQLITE_OK;
    rc = rc ? rc : cuckoo_shadow_run(shadow, CUCKOO_EMPTY_OWN);
    return rc == SQLITE_OK && stamped ? cuckoo_shadow_run(shadow, CUCKOO_WRITE_STAMP) : rc;
}

/* A corrupt row may have any numbers, so impossible ones are rejected. With rowids=on n is a rowid, and
** a row without hash is or was the stamp. */
static int take_own(cuckoo_net *net, cuckoo_paged *paged, sqlite3_stmt *row)
{
    bool ages = paged->filter.geometry.epochs != 0, rowids = paged->shadow.rowids;
    int64_t n = sqlite3_column_int64(row, N), most = INT64_C(1) << 48,
            types = n > 0 && !rowids ? n >> TYPES_AT : 0;
    n -= types << TYPES_AT;
    if (rowids && sqlite3_column_type(row, HASH) == SQLITE_NULL)
        return SQLITE_OK;
    if (sqlite3_column_type(row, HASH) != SQLITE_INTEGER ||
        sqlite3_column_type(row, N) != SQLITE_INTEGER ||
        (!rowids && (n > most || n < (ages ? 1 : -most) || types > MOST_TYPES)))
        return cuckoo_say(&paged->shadow.damage, SQLITE_CORRUPT_VTAB, "a row of %s_log has been changed",
                          paged->shadow.table);
    net->changes.types |= (unsigned)types;
    count(net, paged, rowids ? 1 : n);
    return cuckoo_changes_add(&net->changes, (uint64_t)sqlite3_column_int64(row, HASH), rowids ? n : 0,
                              rowids ? 1 : n);
}

int cuckoo_log_write(cuckoo_shadow *shadow, uint64_t hash, int64_t n, unsigned types)
{
    sqlite3_stmt *write;
    n += n > 0 ? (int64_t)types << TYPES_AT : 0;
    int rc = cuckoo_shadow_query(shadow, CUCKOO_WRITE_OWN, (int64_t[]){(int64_t)hash, n}, &write);
    return rc ? rc : cuckoo_shadow_write_one(shadow, write);
}

/* Changes by triggers are right as a sum, so they are not listed. */
static int take_key(cuckoo_net *net, cuckoo_paged *paged, sqlite3_stmt *row, int column, int n)
{
    uint64_t hash;
    sqlite3_value *key = sqlite3_column_value(row, column);
    if (sqlite3_value_type(key) == SQLITE_NULL) /* the row was inserted, or deleted */
        return SQLITE_OK;
    if (cuckoo_key_hash(key, &paged->filter.geometry, &hash) != CUCKOO_KEY_OK)
        return SQLITE_NOMEM;
    net->changes.types |= n > 0 ? cuckoo_key_type(key, &paged->filter.geometry) : 0;
    count(net, paged, n);
    return paged->shadow.rowids
               ? cuckoo_changes_add(&net->changes, hash, sqlite3_column_int64(row, OLD_ROW + column), n)
               : cuckoo_counts_put(&net->changes.counts, false, hash, 0, n);
}

static int take_keys(cuckoo_net *net, cuckoo_paged *paged, sqlite3_stmt *row)
{
    int rc = take_key(net, paged, row, OLD, -1);
    return rc ? rc : take_key(net, paged, row, NEW, 1);
}

/* Reads the whole log of triggers. The statement on its last row keeps the read transaction open. */
static int read_all(cuckoo_net *net, cuckoo_paged *paged)
{
    sqlite3_stmt *end, *rows;
    int64_t least = INT64_MIN;
    cuckoo_shadow *shadow = &paged->shadow;
    int rc = cuckoo_shadow_query(shadow, CUCKOO_LAST_LOGGED, NULL, &end);
    if (rc == SQLITE_OK && cuckoo_shadow_step(shadow, end) == SQLITE_ROW) {
        net->followed = (cuckoo_log_read){0, sqlite3_column_int64(end, 0), tag_of(end, 1)};
        rc = shadow->rowids ? cuckoo_shadow_query(shadow, CUCKOO_READ_PAIRS, &least, &rows)
                            : cuckoo_shadow_query(shadow, CUCKOO_READ_KEYS, NULL, &rows);
        for (; rc == SQLITE_OK && cuckoo_shadow_step(shadow, rows) == SQLITE_ROW; net->followed.rows++)
            rc = take_keys(net, paged, rows);
        rc = cuckoo_shadow_end(shadow, rows, rc);
    }
    return cuckoo_shadow_end(shadow, end, rc);
}

/* Reads a log from its mark on. *same: false if the row there is not the one that was read. */
static int read_on(cuckoo_net *net, cuckoo_paged *paged, bool own, bool *same)
{
    sqlite3_stmt *rows;
    cuckoo_log_read *at = own ? &net->own : &net->followed;
    int64_t from = at->rows ? at->mark : INT64_MIN;
    cuckoo_query log = paged->shadow.rowids ? CUCKOO_READ_PAIRS : CUCKOO_READ_LOG;
    int rc = cuckoo_shadow_query(&paged->shadow, own ? CUCKOO_READ_OWN : log, &from, &rows);
    *same = at->rows == 0;
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, rows) == SQLITE_ROW) {
        int64_t rowid = sqlite3_column_int64(rows, ROWID), tag = tag_of(rows, TAG);
        if (*same) {
            *at = (cuckoo_log_read){at->rows + 1, rowid, tag};
            rc = (own ? take_own : take_keys)(net, paged, rows);
        } else if (rowid == at->mark && tag == at->tag) {
            *same = true;
        } else {
            break;
        }
    }
    return cuckoo_shadow_end(&paged->shadow, rows, rc);
}

/* Only drains write to the log of hashed keys of a synced filter. */
static int read_both(cuckoo_net *net, cuckoo_paged *paged, bool follows, bool *same)
{
    *same = true;
    int rc = !follows || paged->left > 0 ? read_on(net, paged, true, same) : SQLITE_OK;
    if (rc == SQLITE_OK && *same && follows)
        rc = net->followed.rows ? read_on(net, paged, false, same) : read_all(net, paged);
    return rc;
}

int cuckoo_net_read(cuckoo_net *net, cuckoo_paged *paged, bool follows)
{
    bool same;
    if (net->current)
        return SQLITE_OK;
    if (net->generation != paged->generation || net->own.mark > LARGEST_MARK ||
        net->followed.mark > LARGEST_MARK)
        cuckoo_net_forget(net);
    int rc = read_both(net, paged, follows, &same);
    if (rc == SQLITE_OK && !same) {
        cuckoo_net_forget(net);
        rc = read_both(net, paged, follows, &same);
    }
    if (rc != SQLITE_OK)
        cuckoo_net_forget(net);
    net->generation = paged->generation;
    net->current = rc == SQLITE_OK;
    return rc;
}
