/* SPDX-License-Identifier: MIT */
#include "log.h"

#include "../keys/key.h"
#include "../sqlite/sql.h"

#include <string.h>

#define COLUMNS "(\"row\", \"old\", \"new\")"

int cuckoo_row_key_read(sqlite3_value *value, const cf_geometry *geometry, cuckoo_row_key *key)
{
    *key = (cuckoo_row_key){false, 0};
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return SQLITE_OK;
    cuckoo_key kind = cuckoo_key_hash(value, geometry, &key->hash);
    key->is = kind == CUCKOO_KEY_OK;
    return kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
}

/* ---- the table ---- */

int cuckoo_log_create(const cuckoo_shadow *shadow)
{
    char log[CUCKOO_LOG_NAME];
    cuckoo_log_name(shadow->log, log);
    return cuckoo_sql_run(shadow->db, "CREATE TABLE \"%w\".\"%w\"" COLUMNS, shadow->schema, log);
}

int cuckoo_log_drop(const cuckoo_shadow *shadow, int64_t log)
{
    char name[CUCKOO_LOG_NAME];
    cuckoo_log_name(log, name);
    return cuckoo_sql_run(shadow->db, "DROP TABLE IF EXISTS \"%w\".\"%w\"", shadow->schema, name);
}

/* Is there a trigger on the log, except the TEMP one of this extension? */
static int look_for_triggers(const cuckoo_shadow *shadow, const char *log, cuckoo_log_fault *fault)
{
    sqlite3_int64 found = 0;
    int rc = cuckoo_sql_integer(
        shadow->db, &found,
        "SELECT 1 FROM (SELECT name, tbl_name FROM \"%w\".sqlite_master WHERE type = 'trigger' UNION "
        "ALL SELECT name, tbl_name FROM sqlite_temp_master WHERE type = 'trigger') WHERE tbl_name = %Q "
        "COLLATE NOCASE AND name <> '" CUCKOO_TOUCH_NAME "'",
        shadow->schema, log, log);
    if (found)
        *fault = CUCKOO_LOG_WATCHED;
    return rc;
}

int cuckoo_log_look(const cuckoo_shadow *shadow, cuckoo_log_fault *fault)
{
    char log[CUCKOO_LOG_NAME], *sql, want[CUCKOO_LOG_NAME + 64];
    cuckoo_log_name(shadow->log, log);
    sqlite3_snprintf(sizeof want, want, "CREATE TABLE \"%w\"" COLUMNS, log);
    int rc = cuckoo_sql_text(shadow->db, &sql,
                             "SELECT sql FROM \"%w\".sqlite_master WHERE type = 'table' AND name = %Q",
                             shadow->schema, log);
    *fault = sql == NULL              ? CUCKOO_LOG_MISSING
             : strcmp(sql, want) != 0 ? CUCKOO_LOG_CHANGED
                                      : CUCKOO_LOG_SOUND;
    sqlite3_free(sql);
    return rc == SQLITE_OK && *fault == CUCKOO_LOG_SOUND ? look_for_triggers(shadow, log, fault) : rc;
}

int64_t cuckoo_log_in(const char *trigger)
{
    static const char before[] = "INSERT INTO \"cuckoo_log_", digits[] = "0123456789abcdef";
    const char *at = strstr(trigger, before);
    uint64_t log = 0;
    at = at ? at + sizeof before - 1 : "";
    bool named = strspn(at, digits) == 16 && at[16] == '"';
    for (int i = 0; named && i < 16; i++)
        log = log << 4 | (uint64_t)(strchr(digits, at[i]) - digits);
    return (int64_t)log;
}

/* ---- what is not drained ---- */

/* Row numbers that SQLite does not count up: somebody has written one by hand, and later rows may lie
** below it. */
#define LARGEST_MARK (INT64_C(1) << 62)

void cuckoo_undrained_forget(cuckoo_undrained *undrained)
{
    cuckoo_sums_clear(&undrained->keys);
    undrained->rows = undrained->olds = 0;
    undrained->mark = 0;
    undrained->current = false;
}

/* What is read of a row. */
typedef struct log_row {
    int64_t rowid;
    cuckoo_row_key old, new;
} log_row;

static int read_row(sqlite3_stmt *at, const cf_geometry *geometry, log_row *row)
{
    row->rowid = sqlite3_column_int64(at, 0);
    int rc = cuckoo_row_key_read(sqlite3_column_value(at, 1), geometry, &row->old);
    return rc ? rc : cuckoo_row_key_read(sqlite3_column_value(at, 2), geometry, &row->new);
}

static uint64_t digest_of(const log_row *row)
{
    uint64_t kind = (uint64_t)row->old.is + 2 * (uint64_t)row->new.is;
    return (row->old.hash * 31 + row->new.hash) * 31 + kind;
}

static int take_row(cuckoo_undrained *undrained, const log_row *row)
{
    int rc = row->new.is ? cuckoo_sums_add(&undrained->keys, row->new.hash, 1) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    undrained->rows++;
    undrained->olds += row->old.is;
    undrained->mark = row->rowid;
    undrained->digest = digest_of(row);
    return rc;
}

/* Reads from the watermark on. *same: the row there is still the one that was read. */
static int read_on(cuckoo_undrained *undrained, cuckoo_paged *paged, bool *same)
{
    log_row row;
    sqlite3_stmt *rows;
    int64_t from = undrained->rows ? undrained->mark : INT64_MIN;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_READ_LOG, &from, &rows);
    *same = undrained->rows == 0;
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, rows) == SQLITE_ROW) {
        rc = read_row(rows, &paged->filter.geometry, &row);
        if (rc == SQLITE_OK && *same)
            rc = take_row(undrained, &row);
        else if (rc == SQLITE_OK && row.rowid == undrained->mark && digest_of(&row) == undrained->digest)
            *same = true;
        else
            break;
    }
    return cuckoo_shadow_end(&paged->shadow, rows, rc);
}

int cuckoo_undrained_read(cuckoo_undrained *undrained, cuckoo_paged *paged)
{
    bool same;
    if (undrained->current)
        return SQLITE_OK;
    if (undrained->generation != paged->generation || undrained->mark > LARGEST_MARK)
        cuckoo_undrained_forget(undrained);
    undrained->generation = paged->generation;
    int rc = read_on(undrained, paged, &same);
    if (rc == SQLITE_OK && !same) {
        cuckoo_undrained_forget(undrained);
        rc = read_on(undrained, paged, &same);
    }
    if (rc != SQLITE_OK)
        cuckoo_undrained_forget(undrained);
    undrained->current = rc == SQLITE_OK;
    return rc;
}
