/* SPDX-License-Identifier: MIT */
#include "spellings.h"

#include "../../src/base/bits.h"
#include "../keys/key.h"
#include "../sqlite/sql.h"

#include <math.h>
#include <string.h>

static bool is_whole(sqlite3_value *number)
{
    return sqlite3_value_type(number) == SQLITE_INTEGER || cf_is_integer(sqlite3_value_double(number));
}

bool cuckoo_number_is_spelled(sqlite3_value *number)
{
    bool coarse = fabs(sqlite3_value_double(number)) >= 1e15;
    return sqlite3_value_type(number) == SQLITE_INTEGER || !coarse || !is_whole(number);
}

int cuckoo_number_bind(sqlite3_stmt *rows, int n, sqlite3_value *number)
{
    char *text = is_whole(number) ? sqlite3_mprintf("%lld", sqlite3_value_int64(number))
                                  : sqlite3_mprintf("%s", sqlite3_value_text(number));
    bool is = text && *text; /* of no text "%s" makes an empty one */
    return sqlite3_bind_text(rows, n, text, -1, sqlite3_free) || !is ? SQLITE_NOMEM : SQLITE_OK;
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

void cuckoo_spellings_forget(cuckoo_spellings *spellings)
{
    for (int i = 0; i < spellings->n; i++)
        sqlite3_value_free(spellings->all[i].text);
    sqlite3_free(spellings->all);
    cuckoo_sums_free(&spellings->last);
    *spellings = (cuckoo_spellings){.n = 0};
}

int cuckoo_spellings_of(const cuckoo_spellings *spellings, sqlite3_value *number)
{
    return cuckoo_sums_of(&spellings->last, hash_of(number)) - 1;
}

static int keep(cuckoo_spellings *spellings, sqlite3_value *text, sqlite3_value *number)
{
    int n = spellings->n, before = cuckoo_spellings_of(spellings, number);
    if ((n & (n - 1)) == 0) {
        struct cuckoo_spelling *more =
            sqlite3_realloc64(spellings->all, (n ? 2 * (uint64_t)n : 1) * sizeof *more);
        if (more == NULL)
            return SQLITE_NOMEM;
        spellings->all = more;
    }
    spellings->all[n] = (struct cuckoo_spelling){sqlite3_value_dup(text), before};
    spellings->n += spellings->all[n].text != NULL;
    return spellings->all[n].text ? cuckoo_sums_add(&spellings->last, hash_of(number), n - before)
                                  : SQLITE_NOMEM;
}

/* All numbers in texts lie between char(9) and ':', in every encoding and collation that fronts take.
** CAST takes each text for a number, and is equal to it only where it is one. */
static int read_others(cuckoo_spellings *spellings, const cuckoo_shadow *shadow, const char *content,
                       const char *k)
{
    sqlite3_stmt *texts;
    int rc = cuckoo_sql_prepare(
        shadow->db, &texts,
        "SELECT DISTINCT c.\"%w\", CAST(c.\"%w\" AS NUMERIC) FROM \"%w\".\"%w\" AS c "
        "WHERE c.\"%w\" >= char(9) AND c.\"%w\" < ':' AND CAST(c.\"%w\" AS NUMERIC) = c.\"%w\" AND "
        "c.\"%w\" <> CASE WHEN CAST(CAST(c.\"%w\" AS NUMERIC) AS INTEGER) = CAST(c.\"%w\" AS NUMERIC) "
        "THEN CAST(CAST(CAST(c.\"%w\" AS NUMERIC) AS INTEGER) AS TEXT) "
        "ELSE CAST(CAST(c.\"%w\" AS NUMERIC) AS TEXT) END",
        k, k, shadow->schema, content, k, k, k, k, k, k, k, k, k);
    while (rc == SQLITE_OK && sqlite3_step(texts) == SQLITE_ROW)
        rc = keep(spellings, sqlite3_column_value(texts, 0), sqlite3_column_value(texts, 1));
    return cuckoo_sql_end(texts, rc);
}

/* Rollbacks of changes that no trigger has told are not noticed: so nothing is kept before a commit. */
int cuckoo_spellings_read(cuckoo_spellings *spellings, const cuckoo_store *store, const char *content,
                          const char *name, int column, bool trusted)
{
    const cuckoo_shadow *shadow = &store->paged.shadow;
    cuckoo_moment now = {0, sqlite3_total_changes(shadow->db), store->state.rollbacks};
    int rc = sqlite3_file_control(shadow->db, shadow->schema, SQLITE_FCNTL_DATA_VERSION, &now.version);
    if (rc != SQLITE_OK ||
        (spellings->column == column + 1 && memcmp(&spellings->at, &now, sizeof now) == 0))
        return rc;
    cuckoo_spellings_forget(spellings);
    rc = read_others(spellings, shadow, content, name);
    spellings->at = now;
    if (rc != SQLITE_OK)
        cuckoo_spellings_forget(spellings);
    else if (trusted || !cuckoo_shadow_in_transaction(shadow, true))
        spellings->column = column + 1;
    return rc;
}

/* Many take memory; and what was changed meanwhile may be rolled back. */
void cuckoo_spellings_end(cuckoo_spellings *spellings, sqlite3 *db)
{
    enum { MANY = 10000 };
    if (spellings->column == 0 || spellings->n > MANY || !sqlite3_get_autocommit(db) ||
        cuckoo_sql_running(db, true) > 0)
        cuckoo_spellings_forget(spellings);
}
