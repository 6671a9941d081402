/* SPDX-License-Identifier: MIT */
/*
** front_spellings.c - the spellings of a number that is looked up in a text column (front.h).
*/
#include "../keys/key.h"
#include "../sqlite/sql.h"
#include "front.h"

#include <math.h>
#include <string.h>

static bool is_whole(sqlite3_value *number)
{
    return sqlite3_value_type(number) == SQLITE_INTEGER ||
           cf_key_real(sqlite3_value_double(number)).type == CF_KEY_INTEGER;
}

bool cuckoo_front_is_spelled(sqlite3_value *number)
{
    bool coarse = fabs(sqlite3_value_double(number)) >= 1e15;
    return sqlite3_value_type(number) == SQLITE_INTEGER || !coarse || !is_whole(number);
}

uint64_t cuckoo_front_number(sqlite3_value *number)
{
    static const cf_geometry plain;
    uint64_t hash = 0;
    cuckoo_key_hash(number, &plain, &hash);
    return hash | 1;
}

int cuckoo_front_bind_usual(sqlite3_stmt *rows, sqlite3_value *number)
{
    char *text = is_whole(number) ? sqlite3_mprintf("%lld", sqlite3_value_int64(number))
                                  : sqlite3_mprintf("%s", sqlite3_value_text(number));
    bool is = text && *text; /* "%s" makes an empty text of NULL */
    int rc = sqlite3_bind_text(rows, CUCKOO_USUAL, text, -1, sqlite3_free);
    rc = rc ? rc : sqlite3_bind_int(rows, CUCKOO_OTHERS, 0);
    return is ? rc : SQLITE_NOMEM;
}

/* ---- the others ---- */

/* All numbers in texts are between char(9) and ':', in every encoding and collation that fronts support.
** CAST reads any text as a number, which is equal to the text only if that is a number. If a text has a
** NUL, CAST reads an integer before it, and a comparison reads a real. */
static int read_others(cuckoo_table *table, cuckoo_counts *numbers)
{
    sqlite3_stmt *others;
    cuckoo_front *front = table->front;
    const char *k = cuckoo_front_shown(front, front->followed)->name;
    int rc = cuckoo_sql_prepare(
        table->registry->db, &others,
        "SELECT DISTINCT n FROM (SELECT c.\"%w\" AS k, CAST(CASE WHEN instr(c.\"%w\", char(0)) "
        "THEN CAST(c.\"%w\" AS REAL) ELSE c.\"%w\" END AS NUMERIC) AS n FROM \"%w\".\"%w\" AS c WHERE "
        "c.\"%w\" >= char(9) AND c.\"%w\" < ':') WHERE n = k AND "
        "k <> CASE WHEN CAST(n AS INTEGER) = n THEN CAST(CAST(n AS INTEGER) AS TEXT) "
        "ELSE CAST(n AS TEXT) END",
        k, k, k, k, front->schema, front->content, k, k);
    cuckoo_counts_free(numbers);
    while (rc == SQLITE_OK && sqlite3_step(others) == SQLITE_ROW)
        rc = cuckoo_counts_put(numbers, false, cuckoo_front_number(sqlite3_column_value(others, 0)), 0,
                               1);
    return cuckoo_sql_end(others, rc);
}

int cuckoo_front_has_others(cuckoo_table *table, uint64_t number, bool *has)
{
    cuckoo_spellings now = {.read = true}, *others = &table->front->others;
    now.at.changes = sqlite3_total_changes(table->registry->db);
    now.at.undone = table->registry->events;
    int rc = cuckoo_shadow_version(&table->paged.shadow, &now.at.version);
    if (rc == SQLITE_OK && !(others->read && memcmp(&others->at, &now.at, sizeof now.at) == 0)) {
        rc = read_others(table, &others->numbers);
        others->at = now.at;
        others->read = rc == SQLITE_OK;
    }
    *has = rc == SQLITE_OK && cuckoo_counts_get(&others->numbers, number, 0) > 0;
    return rc;
}
