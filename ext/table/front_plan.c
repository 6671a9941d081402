/* SPDX-License-Identifier: MIT */
/*
** front_plan.c - which statement on the content gives the rows that are asked for (front.h).
*/
#include "front.h"

#include <stdlib.h>
#include <string.h>

/* What xBestIndex has chosen so far. */
typedef struct front_choice {
    const cuckoo_front *front;
    sqlite3_index_info *info;
    sqlite3_str *where;
    int conditions;
    uint32_t plan;          /* idxNum */
    double looks_at, finds; /* in so many rows of the content, so many that fit */
} front_choice;

/* ---- values ---- */

enum {
    USUAL,
    NUMBERS,
    NO_NUMBERS /* values for which a condition goes to the content: all, or these */
};

bool cuckoo_front_unusual(uint32_t plan, int i, sqlite3_value *value)
{
    int usual = plan >> (CUCKOO_KINDS + 2 * i) & 3, type = sqlite3_value_type(value);
    bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    return type != SQLITE_NULL && (usual == NUMBERS ? !number : usual == NO_NUMBERS && number);
}

/* A condition stands in brackets and ends with its parameter. "+" keeps SQLite from reading rows in the
** order of an index. */
char *cuckoo_front_widen(const cuckoo_front *front, const char *text, uint32_t dropped)
{
    bool quoted = false;
    sqlite3_str *sql = sqlite3_str_new(NULL);
    for (const char *at = text; *at; at++) {
        quoted ^= *at == '"';
        sqlite3_str_append(sql, at, 1);
        if (quoted || *at != '?')
            continue;
        char digit = *++at; /* CUCKOO_CONDITIONS has one */
        sqlite3_str_appendf(sql, "%c%s", digit, dropped >> (digit - '1') & 1 ? " OR 1" : "");
    }
    if (dropped & CUCKOO_SORTS)
        sqlite3_str_appendf(sql, " ORDER BY +c.\"%w\"", front->column[0].name);
    return sqlite3_str_finish(sql);
}

/* ---- constraints ---- */

/* NULL: this goes to no content. */
static const char *operator_of(int op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ                                           ? "="
           : op == SQLITE_INDEX_CONSTRAINT_IS || op == SQLITE_INDEX_CONSTRAINT_ISNULL ? "IS"
           : op == SQLITE_INDEX_CONSTRAINT_GT                                         ? ">"
           : op == SQLITE_INDEX_CONSTRAINT_GE                                         ? ">="
           : op == SQLITE_INDEX_CONSTRAINT_LT                                         ? "<"
           : op == SQLITE_INDEX_CONSTRAINT_LE                                         ? "<="
                                                                                      : NULL;
}

static bool is_range(const char *op)
{
    return *op == '<' || *op == '>';
}

static bool is_numeric(const cuckoo_front *front, int column)
{
    return column < 0 || front->column[column].numeric;
}

static int found_by_index(const cuckoo_front *front, int column)
{
    return column < 0 ? 1 : front->column[column].finds;
}

/* SQLite may give it as a whole. */
static bool is_list(const front_choice *choice, int i)
{
    return !is_numeric(choice->front, choice->info->aConstraint[i].iColumn) &&
           cuckoo_late_vtab_in(choice->info, i, -1);
}

/* Does a comparison with this column by this collation find what the content finds? In columns of
** other affinities also numbers in texts must lie where the pass over them looks. */
static bool compares(const cuckoo_front *front, int column, const char *collation)
{
    const char *own = column < 0 ? collation : front->column[column].collation;
    return own && sqlite3_stricmp(own, collation) == 0;
}

enum { FOLLOWED = 3 /* and more: the filter is asked */ };

/* How much does constraint i want to be the first condition? It alone may be a list, a key of the filter
** or a number in several spellings. -1: it is left to SQLite. */
static int rank(const front_choice *choice, int i)
{
    const cuckoo_front *front = choice->front;
    const struct sqlite3_index_constraint *c = &choice->info->aConstraint[i];
    const char *op = operator_of(c->op);
    int column = c->iColumn;
    bool known =
        column < 0 ? front->rowid != NULL : column < front->columns && (front->rowid || front->keyed);
    if (!c->usable || !known || op == NULL || (is_range(op) && !is_numeric(front, column)))
        return -1;
    if (c->op != SQLITE_INDEX_CONSTRAINT_ISNULL &&
        !compares(front, column, sqlite3_vtab_collation(choice->info, i)))
        return -1;
    return is_range(op)                                              ? 0
           : (column < 0 ? CUCKOO_ROWID : column) == front->followed ? FOLLOWED + !is_list(choice, i)
           : is_numeric(front, column)                               ? 0
                                       : 1 + (found_by_index(front, column) > 0);
}

/* ---- choosing ---- */

static void narrow(front_choice *choice, int column, bool range)
{
    int finds = found_by_index(choice->front, column);
    if (finds > 0 && choice->looks_at > finds)
        choice->looks_at = range ? choice->looks_at / 4 : finds;
    choice->finds = !range && finds == 1 ? 1 : choice->finds / (range ? 4 : 10);
}

static void append_column(front_choice *choice, int column)
{
    if (column < 0)
        sqlite3_str_appendf(choice->where, "c.%s", choice->front->rowid);
    else
        sqlite3_str_appendf(choice->where, "c.\"%w\"", choice->front->column[column].name);
}

/* Makes constraint i the next condition. */
static void take(front_choice *choice, int i)
{
    int column = choice->info->aConstraint[i].iColumn, n = choice->conditions++;
    const char *op = operator_of(choice->info->aConstraint[i].op);
    uint32_t usual = is_range(op) ? NUMBERS : is_numeric(choice->front, column) ? USUAL : NO_NUMBERS;
    sqlite3_str_appendall(choice->where, n ? " AND (" : " WHERE (");
    append_column(choice, column);
    sqlite3_str_appendf(choice->where, " %s ?%d)", op, n + 1);
    choice->plan |= usual << (CUCKOO_KINDS + 2 * n);
    choice->info->aConstraintUsage[i].argvIndex = n + 1;
    narrow(choice, column, is_range(op));
}

/* Takes the first condition, which may be a special one. */
static void take_first(front_choice *choice, int i, bool asks)
{
    int column = choice->info->aConstraint[i].iColumn;
    take(choice, i);
    choice->plan |= asks ? CUCKOO_ASKS : 0;
    choice->plan |= choice->info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ ? CUCKOO_NULL : 0;
    if (is_list(choice, i) && cuckoo_late_vtab_in(choice->info, i, 1))
        choice->plan |= CUCKOO_LIST;
    else if (!is_numeric(choice->front, column) && column < INT32_MAX >> CUCKOO_SPELLED)
        choice->plan |= (uint32_t)(column + 1) << CUCKOO_SPELLED;
}

/* Lists that are not the first condition are left to SQLite. */
static void take_all(front_choice *choice)
{
    int first = -1, most = 0;
    for (int i = 0; i < choice->info->nConstraint; i++)
        if (rank(choice, i) > most) {
            most = rank(choice, i);
            first = i;
        }
    if (first >= 0)
        take_first(choice, first, most >= FOLLOWED);
    for (int i = 0; i < choice->info->nConstraint && choice->conditions < CUCKOO_CONDITIONS; i++)
        if (i != first && rank(choice, i) >= 0 && !is_list(choice, i))
            take(choice, i);
}

/* ---- the statement ---- */

/* Is column i read? A key WITHOUT ROWID always is, because it says which row it is. */
static bool reads(const front_choice *choice, int i)
{
    enum { LAST_BIT = 63 /* of all columns from there on */ };
    return (choice->front->keyed && choice->front->column[i].key) ||
           choice->info->colUsed >> (i < LAST_BIT ? i : LAST_BIT) & 1;
}

/* The rowid comes first, then column by column, as far as they are read: so each has its place. */
static void append_columns(const front_choice *choice, sqlite3_str *sql)
{
    const cuckoo_front *front = choice->front;
    int n = front->columns;
    while (n > 0 && !reads(choice, n - 1))
        n--;
    sqlite3_str_appendf(sql,
                        front->rowid   ? "c.%s"
                        : front->keyed ? "NULL"
                                       : "row_number() OVER ()",
                        front->rowid);
    for (int i = 0; i < n; i++)
        sqlite3_str_appendf(sql, reads(choice, i) ? ", c.\"%w\"" : ", NULL", front->column[i].name);
}

/* Comments say what xFilter does with the first argument. */
static char *statement(front_choice *choice)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    char *where = sqlite3_str_finish(choice->where);
    if (choice->plan & CUCKOO_LIST)
        sqlite3_str_appendall(sql, "/* for each of a list */ ");
    if (choice->plan & CUCKOO_ASKS)
        sqlite3_str_appendall(sql, "/* if the filter has it */ ");
    if (choice->plan >> CUCKOO_SPELLED)
        sqlite3_str_appendall(sql,
                              "/* numbers in texts by their usual spelling, others by one pass */ ");
    sqlite3_str_appendall(sql, "SELECT ");
    append_columns(choice, sql);
    sqlite3_str_appendf(sql, " FROM \"%w\".\"%w\" AS c%s", choice->front->schema, choice->front->content,
                        where ? where : "");
    sqlite3_free(where);
    return sqlite3_str_finish(sql);
}

int cuckoo_front_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    cuckoo_table *table = cuckoo_table_of(base);
    cuckoo_store *store = table;
    table->registry->planned = store;
    int rc = store ? cuckoo_front_look(table) : SQLITE_NOMEM;
    if (rc != SQLITE_OK)
        return rc;
    double rows = cuckoo_paged_is_loaded(&store->paged) ? (double)store->paged.filter.items + 1 : 1e6;
    front_choice choice = {table->front, info, sqlite3_str_new(NULL), .looks_at = rows, .finds = rows};
    take_all(&choice);
    rc = sqlite3_str_errcode(choice.where);
    info->idxStr = statement(&choice);
    info->needToFreeIdxStr = 1;
    info->idxNum = (int)choice.plan;
    info->estimatedCost = 2 + choice.looks_at * (choice.plan & CUCKOO_ASKS ? 1 : 3);
    info->estimatedRows = choice.finds < 1 ? 1 : (sqlite3_int64)choice.finds;
    return rc == SQLITE_OK && info->idxStr == NULL ? SQLITE_NOMEM : rc;
}
