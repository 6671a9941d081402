#include "shadow.h"

#include "late.h"

#include <string.h>

enum { PAGE_OVERHEAD = 64 /* of a row on a database page, with some reserved bytes */ };

/* ---- statements ---- */

/* The only errors of this kind: the shadow table is not there, or not as it was created. */
static int corrupt_if_missing(int rc)
{
    return rc == SQLITE_ERROR ? SQLITE_CORRUPT_VTAB : rc;
}

static int prepare(cuckoo_shadow *shadow, sqlite3_stmt **statement, const char *format)
{
    if (*statement)
        return SQLITE_OK;
    char *sql = sqlite3_mprintf(format, shadow->schema, shadow->table);
    if (sql == NULL)
        return SQLITE_NOMEM;
    int rc = sqlite3_prepare_v3(shadow->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    sqlite3_free(sql);
    return corrupt_if_missing(rc);
}

static void finalize_all(cuckoo_shadow *shadow)
{
    sqlite3_finalize(shadow->read);
    sqlite3_finalize(shadow->write);
    sqlite3_finalize(shadow->version);
    shadow->read = shadow->write = shadow->version = NULL;
}

static int execute(cuckoo_shadow *shadow, const char *format, const char *name)
{
    char *sql = sqlite3_mprintf(format, shadow->schema, shadow->table, name);
    if (sql == NULL)
        return SQLITE_NOMEM;
    int rc = sqlite3_exec(shadow->db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return rc;
}

int cuckoo_shadow_read(cuckoo_shadow *shadow, uint64_t no, uint8_t *into, uint64_t bytes,
                       uint64_t *length)
{
    *length = 0;
    int rc = prepare(shadow, &shadow->read, "SELECT data FROM \"%w\".\"%w_page\" WHERE no = ?1");
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_int64(shadow->read, 1, (sqlite3_int64)no);
    shadow->busy = true;
    if (sqlite3_step(shadow->read) == SQLITE_ROW) {
        const void *data = sqlite3_column_blob(shadow->read, 0);
        uint64_t have = (uint64_t)sqlite3_column_bytes(shadow->read, 0);
        *length = have < bytes ? have : bytes;
        if (data)
            memcpy(into, data, *length);
        else
            *length = 0;
    }
    rc = corrupt_if_missing(sqlite3_reset(shadow->read));
    shadow->busy = false;
    return rc;
}

int cuckoo_shadow_write(cuckoo_shadow *shadow, uint64_t no, const uint8_t *bytes, uint64_t length)
{
    int rc =
        prepare(shadow, &shadow->write, "REPLACE INTO \"%w\".\"%w_page\"(no, data) VALUES (?1, ?2)");
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_int64 rowid = sqlite3_last_insert_rowid(shadow->db);
    sqlite3_bind_int64(shadow->write, 1, (sqlite3_int64)no);
    rc = sqlite3_bind_blob64(shadow->write, 2, bytes, length, SQLITE_STATIC);
    if (rc != SQLITE_OK)
        return rc; /* longer than the connection allows: NULL would be written */
    shadow->busy = true;
    sqlite3_step(shadow->write);
    rc = corrupt_if_missing(sqlite3_reset(shadow->write));
    shadow->busy = false;
    sqlite3_bind_null(shadow->write, 2);
    sqlite3_set_last_insert_rowid(shadow->db, rowid);
    return rc;
}

/* SQLite before 3.34 does not tell: then it is taken for open in a transaction of the user. */
cuckoo_transaction cuckoo_shadow_transaction(const cuckoo_shadow *shadow)
{
    int state = cuckoo_late_txn_state(shadow->db, shadow->schema);
    if (state != CUCKOO_TXN_UNKNOWN)
        return state == CUCKOO_TXN_NONE   ? CUCKOO_NONE
               : state == CUCKOO_TXN_READ ? CUCKOO_READING
                                          : CUCKOO_WRITING;
    return sqlite3_get_autocommit(shadow->db) ? CUCKOO_NONE : CUCKOO_WRITING;
}

int cuckoo_shadow_version(cuckoo_shadow *shadow, int64_t *version)
{
    int rc = prepare(shadow, &shadow->version, "PRAGMA \"%w\".data_version");
    if (rc != SQLITE_OK)
        return rc;
    if (sqlite3_step(shadow->version) == SQLITE_ROW)
        *version = sqlite3_column_int64(shadow->version, 0);
    return sqlite3_reset(shadow->version);
}

/* ---- the table itself ---- */

int cuckoo_shadow_init(cuckoo_shadow *shadow, sqlite3 *db, const char *schema, const char *table)
{
    *shadow = (cuckoo_shadow){.db = db};
    shadow->schema = sqlite3_mprintf("%s", schema);
    shadow->table = sqlite3_mprintf("%s", table);
    return shadow->schema && shadow->table ? SQLITE_OK : SQLITE_NOMEM;
}

void cuckoo_shadow_free(cuckoo_shadow *shadow)
{
    finalize_all(shadow);
    sqlite3_free(shadow->schema);
    sqlite3_free(shadow->table);
}

/* Bytes of a row that fits on one page of the database. */
static int find_page_bytes(cuckoo_shadow *shadow, uint32_t *page_bytes)
{
    sqlite3_stmt *statement = NULL;
    int rc = prepare(shadow, &statement, "PRAGMA \"%w\".page_size");
    if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        *page_bytes = (uint32_t)sqlite3_column_int(statement, 0) - PAGE_OVERHEAD;
    sqlite3_finalize(statement);
    return rc;
}

int cuckoo_shadow_create(cuckoo_shadow *shadow, uint32_t *page_bytes)
{
    int rc = execute(shadow, "CREATE TABLE \"%w\".\"%w_page\"(no INTEGER PRIMARY KEY, data BLOB)", NULL);
    return rc == SQLITE_OK ? find_page_bytes(shadow, page_bytes) : rc;
}

int cuckoo_shadow_empty(cuckoo_shadow *shadow)
{
    shadow->busy = true;
    int rc = execute(shadow, "DELETE FROM \"%w\".\"%w_page\"", NULL);
    shadow->busy = false;
    return rc;
}

int cuckoo_shadow_drop(cuckoo_shadow *shadow)
{
    finalize_all(shadow);
    return execute(shadow, "DROP TABLE IF EXISTS \"%w\".\"%w_page\"", NULL);
}

int cuckoo_shadow_rename(cuckoo_shadow *shadow, const char *table)
{
    char *copy = sqlite3_mprintf("%s", table), *page = sqlite3_mprintf("%s_page", table);
    int rc = copy && page ? SQLITE_OK : SQLITE_NOMEM;
    finalize_all(shadow);
    if (rc == SQLITE_OK)
        rc = execute(shadow, "ALTER TABLE \"%w\".\"%w_page\" RENAME TO \"%w\"", page);
    if (rc == SQLITE_OK) {
        sqlite3_free(shadow->table);
        shadow->table = copy;
        copy = NULL;
    }
    sqlite3_free(copy);
    sqlite3_free(page);
    return rc;
}
