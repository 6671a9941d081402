/* SPDX-License-Identifier: MIT */
/*
** front_spellings.c - the spellings of a number that is asked of a column of texts (front.h).
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

int cuckoo_front_bind_usual(sqlite3_stmt *rows, sqlite3_value *number)
{
    char *text = is_whole(number) ? sqlite3_mprintf("%lld", sqlite3_value_int64(number))
                                  : sqlite3_mprintf("%s", sqlite3_value_text(number));
    bool is = text && *text; /* of no text "%s" makes an empty one */
    return sqlite3_bind_text(rows, 1, text, -1, sqlite3_free) || !is ? SQLITE_NOMEM : SQLITE_OK;
}

/* ---- the others ---- */

/* Equal numbers have one hash. */
static uint64_t hash_of(sqlite3_value *number)
{
    static const cf_geometry plain;
    uint64_t hash = 0;
    cuckoo_key_hash(number, &plain, &hash);
    return hash;
}

#define ONE_MORE (INT64_C(1) << 32)

/* All numbers in texts lie between char(9) and ':', in every encoding and collation that fronts take.
** CAST takes each text for a number, and is equal to it only where it is one. Where a text has a NUL,
** CAST reads an integer before it, and a comparison a real. */
static int read_others(cuckoo_table *table, const char *k)
{
    sqlite3_stmt *texts;
    cuckoo_front *front = table->front;
    cuckoo_spellings *others = &front->others;
    int rc = cuckoo_sql_prepare(
        table->registry->db, &texts,
        "SELECT DISTINCT k, n FROM (SELECT c.\"%w\" AS k, CAST(CASE WHEN instr(c.\"%w\", char(0)) "
        "THEN CAST(c.\"%w\" AS REAL) ELSE c.\"%w\" END AS NUMERIC) AS n FROM \"%w\".\"%w\" AS c WHERE "
        "c.\"%w\" >= char(9) AND c.\"%w\" < ':') WHERE n = k AND "
        "k <> CASE WHEN CAST(n AS INTEGER) = n THEN CAST(CAST(n AS INTEGER) AS TEXT) "
        "ELSE CAST(n AS TEXT) END ORDER BY n",
        k, k, k, k, front->schema, front->content, k, k);
    while (rc == SQLITE_OK && sqlite3_step(texts) == SQLITE_ROW) {
        uint64_t hash = hash_of(sqlite3_column_value(texts, 1));
        int first = cuckoo_sums_of(&others->places, hash) ? 0 : others->texts.n;
        rc = cuckoo_values_add(&others->texts, sqlite3_column_value(texts, 0));
        rc = rc ? rc : cuckoo_sums_take(&others->places, false, hash, first + ONE_MORE);
    }
    return cuckoo_sql_end(texts, rc);
}

int cuckoo_front_others(cuckoo_table *table, int column, sqlite3_value *number, cuckoo_values *list)
{
    cuckoo_spellings now = {.column = column + 1}, *others = &table->front->others;
    now.at.changes = sqlite3_total_changes(table->registry->db);
    now.at.undone = table->registry->events;
    int rc = cuckoo_shadow_version(&table->paged.shadow, &now.at.version);
    bool same = others->column == now.column && memcmp(&others->at, &now.at, sizeof now.at) == 0;
    if (rc == SQLITE_OK && !same) {
        cuckoo_front_forget_others(table->front);
        rc = read_others(table, cuckoo_front_shown(table->front, column)->name);
        others->at = now.at;
        others->column = rc == SQLITE_OK ? now.column : 0;
    }
    int64_t place = rc == SQLITE_OK ? cuckoo_sums_of(&others->places, hash_of(number)) : 0;
    for (; rc == SQLITE_OK && place >= ONE_MORE; place += 1 - ONE_MORE)
        rc = cuckoo_values_add(list, others->texts.all[place % ONE_MORE]);
    return rc;
}
