/* SPDX-License-Identifier: MIT */
#include "log.h"

#include "sql.h"

#include <string.h>

#define COLUMNS "(\"row\", \"old\", \"new\")"

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

/* The digit; 16: it is none. */
static unsigned hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                  : 16;
}

int64_t cuckoo_log_in(const char *trigger)
{
    static const char before[] = "INSERT INTO \"cuckoo_log_";
    const char *at = strstr(trigger, before);
    uint64_t log = 0;
    int digits = 0;
    if (at == NULL)
        return 0;
    for (at += sizeof before - 1; hex_digit(*at) < 16; at++, digits++)
        log = log << 4 | hex_digit(*at);
    return digits == 16 && *at == '"' ? (int64_t)log : 0;
}
