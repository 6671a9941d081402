/* SPDX-License-Identifier: MIT */
#include "shadow.h"

#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include "../../src/base/bits.h"

#include <assert.h>
#include <string.h>

/* The most bytes of a row that are not data: on a database page, and under SQLITE_LIMIT_LENGTH. */
enum { PAGE_OVERHEAD = 64, ROW_OVERHEAD = 5 };

/* ---- corruption ---- */

int cuckoo_shadow_bad_row(cuckoo_shadow *shadow, int64_t no)
{
    return cuckoo_say(&shadow->damage, SQLITE_CORRUPT_VTAB, "row %lld of %s_page has been changed",
                      (sqlite3_int64)no, shadow->table);
}

const char *cuckoo_shadow_why(const cuckoo_shadow *shadow)
{
    return shadow->damage ? shadow->damage : "its shadow tables cannot be read";
}

static int say_too_long(cuckoo_shadow *shadow)
{
    return cuckoo_say(&shadow->damage, SQLITE_TOOBIG,
                      "rows of %s_page or of its log are longer than SQLITE_LIMIT_LENGTH, which is %d: "
                      "raise it to the page size of the database, and for longer keys further",
                      shadow->table, sqlite3_limit(shadow->db, SQLITE_LIMIT_LENGTH, -1));
}

int cuckoo_shadow_fits(cuckoo_shadow *shadow, uint32_t page_bytes)
{
    uint32_t most = (uint32_t)sqlite3_limit(shadow->db, SQLITE_LIMIT_LENGTH, -1);
    return page_bytes + ROW_OVERHEAD <= most ? SQLITE_OK : say_too_long(shadow);
}

/* SQLITE_ERROR has two causes: the tables, and limits of the connection (sqlite3_limit), for which
** SQLite's message has "too" or "must be". */
static int explain(cuckoo_shadow *shadow, int rc)
{
    if (rc == SQLITE_TOOBIG)
        return say_too_long(shadow);
    if (rc != SQLITE_ERROR)
        return rc;
    const char *words = sqlite3_errmsg(shadow->db);
    if (strstr(words, "too ") || strstr(words, " must be "))
        return cuckoo_say(&shadow->damage, SQLITE_ERROR, "its shadow tables cannot be read: %s", words);
    return cuckoo_say(&shadow->damage, SQLITE_CORRUPT_VTAB,
                      "its shadow table is missing, or not as it was created (if the filter was renamed "
                      "while this statement ran, run it again)");
}

/* ---- statements ---- */

void cuckoo_shadow_let_go(cuckoo_shadow *shadow, cuckoo_query query)
{
    sqlite3_finalize(shadow->statement[query]);
    shadow->statement[query] = NULL;
}

/* The arguments of each format are the schema, and the name of the virtual table or of the log. */
static const char *const texts[CUCKOO_QUERIES] = {
    [CUCKOO_READ_PAGE] = "SELECT data FROM \"%w\".\"%w_page\" WHERE no = ?1",
    /* An error if numbers are not unique; REPLACE would write a second row. */
    [CUCKOO_WRITE_PAGE] = "INSERT INTO \"%w\".\"%w_page\"(no, data) VALUES (?1, ?2) "
                          "ON CONFLICT(no) DO UPDATE SET data = ?2",
    [CUCKOO_NEXT_PAGE] = "SELECT no FROM \"%w\".\"%w_page\" WHERE no >= ?1 ORDER BY no LIMIT 1",
    [CUCKOO_EMPTY_PAGES] = "DELETE FROM \"%w\".\"%w_page\" WHERE no <> -1",
    [CUCKOO_ODD_PAGE] = "SELECT no FROM \"%w\".\"%w_page\" WHERE no > 0 AND (no >= ?1 OR "
                        "typeof(data) <> 'blob' OR length(data) <> ?2) OR no < -1 LIMIT 1",
    [CUCKOO_WATCH_SCHEMA] = "SELECT (SELECT 1 FROM \"%w\".sqlite_master WHERE 0)",
    /* Inserts no row. */
    [CUCKOO_DRAIN] = "INSERT INTO \"%w\".\"%w_page\"(no, data) SELECT 0, NULL WHERE cf_drain(?1)",
    [CUCKOO_READ_OWN] =
        "SELECT hash, n, rowid, tag FROM \"%w\".\"%w_log\" WHERE rowid >= ?1 ORDER BY rowid",
    [CUCKOO_WRITE_OWN] = "INSERT INTO \"%w\".\"%w_log\"(hash, n) VALUES (?1, ?2)",
    [CUCKOO_EMPTY_OWN] = "DELETE FROM \"%w\".\"%w_log\"",
    [CUCKOO_READ_STAMP] = "SELECT 1 FROM \"%w\".\"%w_log\" WHERE rowid = 0 AND hash IS NULL",
    [CUCKOO_WRITE_STAMP] = "INSERT OR REPLACE INTO \"%w\".\"%w_log\"(rowid) VALUES (0)",
    [CUCKOO_READ_LOG] =
        "SELECT old, new, rowid, tag FROM \"%w\".\"%w\" WHERE rowid >= ?1 ORDER BY rowid",
    [CUCKOO_READ_PAIRS] = "SELECT old, new, rowid, tag, old_row, new_row FROM \"%w\".\"%w\" WHERE "
                          "rowid >= ?1 ORDER BY rowid",
    [CUCKOO_READ_KEYS] = "SELECT old, new FROM \"%w\".\"%w\"",
    [CUCKOO_LAST_LOGGED] = "SELECT rowid, tag FROM \"%w\".\"%w\" ORDER BY rowid DESC LIMIT 1",
    [CUCKOO_EMPTY_LOG] = "DELETE FROM \"%w\".\"%w\"",
};

static int prepare_query(cuckoo_shadow *shadow, cuckoo_query query, sqlite3_stmt **statement)
{
    char log[sizeof CUCKOO_LOG + 16];
    sqlite3_snprintf(sizeof log, log, CUCKOO_LOG, shadow->log);
    char *sql =
        sqlite3_mprintf(texts[query], shadow->schema, query >= CUCKOO_READ_LOG ? log : shadow->table);
    if (sql == NULL)
        return SQLITE_NOMEM;
    int rc = sqlite3_prepare_v3(shadow->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    sqlite3_free(sql);
    return explain(shadow, rc);
}

int cuckoo_shadow_query(cuckoo_shadow *shadow, cuckoo_query query, const int64_t *values,
                        sqlite3_stmt **statement)
{
    assert((unsigned)query < CUCKOO_QUERIES);
    sqlite3_stmt **kept = &shadow->statement[query];
    int rc = *kept ? SQLITE_OK : prepare_query(shadow, query, kept);
    for (int i = 0; rc == SQLITE_OK && values && i < sqlite3_bind_parameter_count(*kept); i++)
        sqlite3_bind_int64(*kept, i + 1, values[i]);
    *statement = *kept;
    return rc;
}

int cuckoo_shadow_step(cuckoo_shadow *shadow, sqlite3_stmt *statement)
{
    bool was = shadow->busy; /* a drain runs statements within its own */
    shadow->busy = true;
    shadow->stepped = true;
    int rc = sqlite3_step(statement);
    shadow->busy = was;
    return rc;
}

int cuckoo_shadow_end(cuckoo_shadow *shadow, sqlite3_stmt *statement, int rc)
{
    int rc2 = cuckoo_sql_code(shadow->db, sqlite3_reset(statement));
    return cuckoo_first_error(rc, explain(shadow, rc2));
}

int cuckoo_shadow_write_one(cuckoo_shadow *shadow, sqlite3_stmt *statement)
{
    int before = sqlite3_total_changes(shadow->db);
    while (cuckoo_shadow_step(shadow, statement) == SQLITE_ROW)
        ; /* PRAGMA count_changes returns a row */
    bool written = sqlite3_total_changes(shadow->db) != before && sqlite3_changes(shadow->db) == 1;
    int rc = cuckoo_shadow_end(shadow, statement, SQLITE_OK);
    if (rc == SQLITE_INTERRUPT && written)
        return SQLITE_OK; /* the statement had ended; the next one is interrupted */
    if (rc == SQLITE_OK && !written)
        return cuckoo_say(&shadow->damage, SQLITE_CORRUPT_VTAB,
                          "a trigger on its shadow table keeps rows from being written");
    return rc;
}

int cuckoo_shadow_run(cuckoo_shadow *shadow, cuckoo_query query)
{
    int64_t unused;
    return cuckoo_shadow_integer(shadow, query, NULL, &unused);
}

int cuckoo_shadow_integer(cuckoo_shadow *shadow, cuckoo_query query, const int64_t *values,
                          int64_t *found)
{
    sqlite3_stmt *statement;
    int rc = cuckoo_shadow_query(shadow, query, values, &statement);
    if (rc == SQLITE_OK && cuckoo_shadow_step(shadow, statement) == SQLITE_ROW)
        *found = sqlite3_column_int64(statement, 0);
    return cuckoo_shadow_end(shadow, statement, rc);
}

int cuckoo_shadow_prepared(const cuckoo_shadow *shadow)
{
    sqlite3_stmt *watch = shadow->statement[CUCKOO_WATCH_SCHEMA];
    return watch ? sqlite3_stmt_status(watch, SQLITE_STMTSTATUS_REPREPARE, 0) : 0;
}

int cuckoo_shadow_hold(cuckoo_shadow *shadow, int *prepared)
{
    sqlite3_stmt *watch;
    int rc = cuckoo_shadow_query(shadow, CUCKOO_WATCH_SCHEMA, NULL, &watch);
    if (rc == SQLITE_OK && !sqlite3_stmt_busy(watch) && sqlite3_step(watch) != SQLITE_ROW)
        rc = cuckoo_shadow_end(shadow, watch, rc);
    if (rc == SQLITE_OK) {
        *prepared = cuckoo_shadow_prepared(shadow);
        shadow->holds++;
    }
    return rc;
}

void cuckoo_shadow_release(cuckoo_shadow *shadow)
{
    assert(shadow->holds > 0);
    if (--shadow->holds == 0)
        sqlite3_reset(shadow->statement[CUCKOO_WATCH_SCHEMA]);
}

bool cuckoo_shadow_is_within(cuckoo_shadow *shadow)
{
    sqlite3_stmt *watch = shadow->statement[CUCKOO_WATCH_SCHEMA];
    if (shadow->holds != 1 || !sqlite3_stmt_busy(watch))
        return false;
    sqlite3_reset(watch);
    return cuckoo_shadow_in_transaction(shadow, false) && sqlite3_step(watch) == SQLITE_ROW;
}

int cuckoo_shadow_schema(cuckoo_shadow *shadow, int *prepared)
{
    int rc = cuckoo_shadow_hold(shadow, prepared);
    if (rc == SQLITE_OK)
        cuckoo_shadow_release(shadow);
    return rc;
}

/* Without sqlite3_expired the statement has to run. */
bool cuckoo_shadow_is_same_schema(cuckoo_shadow *shadow, int prepared)
{
    int now = cuckoo_shadow_prepared(shadow);
    if (!CUCKOO_KNOWS_EXPIRED && cuckoo_shadow_schema(shadow, &now) != SQLITE_OK)
        return false;
    return now == prepared && !cuckoo_compat_expired(shadow->statement[CUCKOO_WATCH_SCHEMA]);
}

/* CUCKOO_WATCH_SCHEMA reads none of the tables, and must not lose its count. */
void cuckoo_shadow_finalize(cuckoo_shadow *shadow)
{
    for (cuckoo_query query = 0; query < CUCKOO_QUERIES; query++)
        if (query != CUCKOO_WATCH_SCHEMA)
            cuckoo_shadow_let_go(shadow, query);
}

/* ---- the log ---- */

void cuckoo_shadow_set_log(cuckoo_shadow *shadow, int64_t log)
{
    for (cuckoo_query query = CUCKOO_READ_LOG; shadow->log != log && query < CUCKOO_QUERIES; query++)
        cuckoo_shadow_let_go(shadow, query);
    shadow->log = log;
}

void cuckoo_shadow_new_log(cuckoo_shadow *shadow)
{
    int64_t log;
    sqlite3_randomness(sizeof log, &log);
    cuckoo_shadow_set_log(shadow, log ? log : 1);
}

/* ---- rows of seen_page ---- */

int cuckoo_shadow_read(cuckoo_shadow *shadow, int64_t no, uint8_t *into, uint64_t bytes,
                       uint64_t *length)
{
    sqlite3_stmt *read;
    *length = 0;
    int rc = cuckoo_shadow_query(shadow, CUCKOO_READ_PAGE, &no, &read);
    if (rc == SQLITE_OK && cuckoo_shadow_step(shadow, read) == SQLITE_ROW) {
        bool is_blob = sqlite3_column_type(read, 0) == SQLITE_BLOB;
        const void *data = is_blob ? sqlite3_column_blob(read, 0) : NULL;
        *length = data ? (uint64_t)sqlite3_column_bytes(read, 0) : 0;
        if (data)
            memcpy(into, data, cf_in_memory(bytes < *length ? bytes : *length));
        else
            rc = cuckoo_shadow_bad_row(shadow, no);
    }
    return cuckoo_shadow_end(shadow, read, rc);
}

int cuckoo_shadow_write(cuckoo_shadow *shadow, int64_t no, const uint8_t *bytes, uint64_t length)
{
    assert(bytes != NULL && length > 0);
    sqlite3_stmt *write;
    int rc = cuckoo_shadow_query(shadow, CUCKOO_WRITE_PAGE, NULL, &write);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_int64 rowid = sqlite3_last_insert_rowid(shadow->db);
    sqlite3_bind_int64(write, 1, no);
    rc = sqlite3_bind_blob64(write, 2, bytes, length, SQLITE_STATIC);
    if (rc != SQLITE_OK)
        return explain(shadow, rc); /* too long for the connection: NULL would be written */
    rc = cuckoo_shadow_write_one(shadow, write);
    sqlite3_clear_bindings(write);
    sqlite3_set_last_insert_rowid(shadow->db, rowid);
    return rc;
}

bool cuckoo_shadow_in_transaction(const cuckoo_shadow *shadow, bool writing)
{
    return sqlite3_txn_state(shadow->db, shadow->schema) >=
           (writing ? SQLITE_TXN_WRITE : SQLITE_TXN_READ);
}

int cuckoo_shadow_version(const cuckoo_shadow *shadow, unsigned *version)
{
    *version = 0;
    return sqlite3_file_control(shadow->db, shadow->schema, SQLITE_FCNTL_DATA_VERSION, version);
}

/* ---- the tables themselves ---- */

int cuckoo_shadow_init(cuckoo_shadow *shadow, sqlite3 *db, const char *schema, const char *table)
{
    *shadow = (cuckoo_shadow){.db = db};
    shadow->schema = sqlite3_mprintf("%s", schema);
    shadow->table = sqlite3_mprintf("%s", table);
    return shadow->schema && shadow->table ? SQLITE_OK : SQLITE_NOMEM;
}

void cuckoo_shadow_free(cuckoo_shadow *shadow)
{
    cuckoo_shadow_finalize(shadow);
    cuckoo_shadow_let_go(shadow, CUCKOO_WATCH_SCHEMA);
    sqlite3_free(shadow->schema);
    sqlite3_free(shadow->table);
    sqlite3_free(shadow->damage);
}

/* Runs two statements. `name` is the third argument of their formats. */
static int execute(cuckoo_shadow *shadow, const char *page, const char *log, const char *name)
{
    shadow->busy = true;
    int rc = cuckoo_sql_run(shadow->db, page, shadow->schema, shadow->table, name);
    rc = rc ? rc : cuckoo_sql_run(shadow->db, log, shadow->schema, shadow->table, name);
    shadow->busy = false;
    return rc;
}

int cuckoo_shadow_create(cuckoo_shadow *shadow, uint32_t *page_bytes)
{
    sqlite3_int64 size = 0;
    int rc = cuckoo_sql_integer(shadow->db, &size, "PRAGMA \"%w\".page_size", shadow->schema);
    *page_bytes = (uint32_t)size - PAGE_OVERHEAD;
    rc = rc ? rc : cuckoo_shadow_fits(shadow, *page_bytes);
    return rc ? rc
              : execute(shadow, "CREATE TABLE \"%w\".\"%w_page\"(no INTEGER PRIMARY KEY, data BLOB)",
                        "CREATE TABLE \"%w\".\"%w_log\"(hash, n, tag DEFAULT (random()))", NULL);
}

/* Preparing the statements again shows it. */
int cuckoo_shadow_check(cuckoo_shadow *shadow)
{
    sqlite3_stmt *unused;
    cuckoo_shadow_finalize(shadow);
    int rc = cuckoo_shadow_query(shadow, CUCKOO_WRITE_PAGE, NULL, &unused);
    return rc == SQLITE_OK ? cuckoo_shadow_query(shadow, CUCKOO_WRITE_OWN, NULL, &unused) : rc;
}

/* A view may have replaced a table. */
int cuckoo_shadow_drop(cuckoo_shadow *shadow)
{
    static const char *const suffixes[] = {"page", "log"};
    const char *s = shadow->schema, *f = shadow->table;
    int rc = SQLITE_OK;
    cuckoo_shadow_finalize(shadow);
    shadow->busy = true;
    for (int i = 0; rc == SQLITE_OK && i < 2; i++) {
        rc = cuckoo_sql_run(shadow->db, "DROP TABLE IF EXISTS \"%w\".\"%w_%s\"", s, f, suffixes[i]);
        if (rc == SQLITE_ERROR)
            rc = cuckoo_sql_run(shadow->db, "DROP VIEW \"%w\".\"%w_%s\"", s, f, suffixes[i]);
    }
    shadow->busy = false;
    return rc;
}

int cuckoo_shadow_rename(cuckoo_shadow *shadow, const char *table)
{
    cuckoo_shadow_finalize(shadow);
    return execute(shadow, "ALTER TABLE \"%w\".\"%w_page\" RENAME TO \"%w_page\"",
                   "ALTER TABLE \"%w\".\"%w_log\" RENAME TO \"%w_log\"", table);
}
