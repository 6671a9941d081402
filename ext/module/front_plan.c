/* SPDX-License-Identifier: MIT */
/*
** front_plan.c - chooses the statement on the content that returns the requested rows (front.h).
*/
#include "front.h"

#include "../follow/sql_text.h"

#include <string.h>

/* ---- values ---- */

/* The values for which a condition goes to the content. */
enum { USUAL /* for all */, NUMBERS, NO_NUMBERS };

bool cuckoo_front_unusual(uint32_t plan, int i, sqlite3_value *value)
{
    int usual = plan >> (CUCKOO_KINDS + 2 * i) & 3, type = sqlite3_value_type(value);
    bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    return type != SQLITE_NULL && (usual == NUMBERS ? !number : usual == NO_NUMBERS && number);
}

const char *cuckoo_front_sql(const char *text)
{
    const char *end = "*/ ";
    while (*text == '/')
        text = strstr(text, end) + strlen(end);
    return text;
}

/* A condition is in brackets and ends with its parameter. "+" removes the affinity of a key, so that it
** is compared like a parameter. ?9 and ?10: CUCKOO_USUAL and CUCKOO_OTHERS. */
static void append_parameter(const cuckoo_front *front, sqlite3_str *sql, char digit, uint32_t how,
                             bool others)
{
    sqlite3_str_appendf(sql, how & CUCKOO_FED ? "+f.k%c" : "?%c", digit);
    if (digit == '1' && how & CUCKOO_SPELLED)
        sqlite3_str_appendf(sql,
                            others ? " OR 1) AND (?10 AND c.\"%w\" NOT IN (?1, ?9)"
                                   : " OR c.\"%w\" = ?9) AND (NOT ?10",
                            cuckoo_front_shown(front, front->followed)->name);
    else if (how >> (digit - '1') & 1)
        sqlite3_str_appendall(sql, " OR 1");
}

static void append_rewritten(const cuckoo_front *front, sqlite3_str *sql, const char *text, uint32_t how,
                             bool others)
{
    bool quoted = false, feeds = how & CUCKOO_FED;
    const char *from = " FROM ", *where = " WHERE ", *feed = "cuckoo_feed(?1) AS f LEFT JOIN ";
    for (const char *at = text; *at; at++) {
        if (!quoted && strncmp(at, from, strlen(from)) == 0) {
            at += strlen(from);
            for (int i = 0; i < 3; i++) /* "schema"."content" */
                cuckoo_sql_token(&at);
            sqlite3_str_appendf(sql, "%s%s\"%w\".\"%w\"", from, feeds ? feed : "", front->schema,
                                front->content);
        }
        if (!quoted && feeds && strncmp(at, where, strlen(where)) == 0) {
            at += strlen(where);
            sqlite3_str_appendall(sql, " ON ");
        }
        quoted ^= *at == '"';
        if (quoted || *at != '?')
            sqlite3_str_append(sql, at, 1);
        else
            append_parameter(front, sql, *++at, how, others); /* CUCKOO_CONDITIONS has one digit */
    }
}

/* "+" keeps SQLite from reading rows in the order of an index. */
char *cuckoo_front_rewrite(const cuckoo_front *front, const char *text, uint32_t how)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    append_rewritten(front, sql, text, how, false);
    if (how & CUCKOO_SPELLED) {
        sqlite3_str_appendall(sql, " UNION ALL ");
        append_rewritten(front, sql, text, how, true);
    }
    if (how & CUCKOO_ROWED)
        sqlite3_str_appendf(sql, " AND c.\"%w\" = ?9", cuckoo_front_shown(front, CUCKOO_ROWID)->name);
    if (how & CUCKOO_SORTS)
        sqlite3_str_appendf(sql, " ORDER BY +c.\"%w\"", cuckoo_front_shown(front, 0)->name);
    return sqlite3_str_finish(sql);
}

/* ---- constraints ---- */

/* The choices of xBestIndex so far. */
typedef struct front_choice {
    const cuckoo_front *front;
    sqlite3_index_info *info;
    sqlite3_str *where;
    int conditions;
    uint32_t plan;          /* idxNum */
    double looks_at, finds; /* rows of the content that are examined; rows that match */
} front_choice;

/* The operator of a constraint; NULL: it is not passed to the content. */
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

/* The column of a constraint; NULL: there is none, or the content and its columns are gone. */
static const char *rowid_of(const cuckoo_front *front)
{
    return front->shown ? front->shown[0].name : NULL;
}

static const cuckoo_shown *shown_of(const front_choice *choice, int i)
{
    return cuckoo_front_shown(choice->front, choice->info->aConstraint[i].iColumn);
}

/* True if SQLite can pass the list of an IN as a whole. */
static bool is_list(const front_choice *choice, int i)
{
    return !shown_of(choice, i)->numeric && cuckoo_compat_vtab_in(choice->info, i, -1);
}

/* True if constraint i finds the same as the content does. In columns without numeric affinity numbers
** in texts must also be in the range that is searched for them. */
static bool compares(const front_choice *choice, int i)
{
    int own = shown_of(choice, i)->collation;
    return choice->info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_ISNULL ||
           (own >= 0 && own == cuckoo_collation_named(sqlite3_vtab_collation(choice->info, i)));
}

enum { FOLLOWED = 3 /* and more: looked up in the filter */ };

/* The rank of constraint i as the first condition, which alone may be a list, a key of the filter or a
** number in several spellings. -1: it is left to SQLite. */
static int rank(const front_choice *choice, int i)
{
    const cuckoo_front *front = choice->front;
    const struct sqlite3_index_constraint *c = &choice->info->aConstraint[i];
    const char *op = operator_of(c->op);
    bool identified = front->keyed || rowid_of(front); /* rows can be identified */
    if (!c->usable || op == NULL || c->iColumn >= front->columns || !identified ||
        shown_of(choice, i)->name == NULL || !compares(choice, i))
        return -1;
    bool numeric = shown_of(choice, i)->numeric;
    return is_range(op)                    ? numeric - 1
           : c->iColumn == front->followed ? FOLLOWED + !is_list(choice, i)
           : numeric                       ? 0
                                           : 1 + (shown_of(choice, i)->finds > 0);
}

/* ---- choosing ---- */

static void narrow(front_choice *choice, int finds, bool range)
{
    if (finds > 0 && choice->looks_at > finds)
        choice->looks_at = range ? choice->looks_at / 4 : finds;
    choice->finds = !range && finds == 1 ? 1 : choice->finds / (range ? 4 : 10);
}

/* Makes constraint i the next condition. */
static void take(front_choice *choice, int i)
{
    int n = choice->conditions++;
    const char *op = operator_of(choice->info->aConstraint[i].op);
    const cuckoo_shown *shown = shown_of(choice, i);
    uint32_t usual = is_range(op) ? NUMBERS : shown->numeric ? USUAL : NO_NUMBERS;
    sqlite3_str_appendf(choice->where, "%s(c.\"%w\" %s ?%d)", n ? " AND " : " WHERE ", shown->name, op,
                        n + 1);
    choice->plan |= usual << (CUCKOO_KINDS + 2 * n);
    choice->info->aConstraintUsage[i].argvIndex = n + 1;
    choice->info->aConstraintUsage[i].omit = *op == '=' && shown->numeric && !shown->real;
    narrow(choice, shown->finds, is_range(op));
}

/* The first condition may be a special one. Lists in other places are left to SQLite. */
static void take_all(front_choice *choice)
{
    int first = -1, most = 0, n = choice->info->nConstraint;
    for (int i = 0; i < n; i++)
        if (rank(choice, i) > most) {
            most = rank(choice, i);
            first = i;
        }
    if (first >= 0) {
        bool null = choice->info->aConstraint[first].op != SQLITE_INDEX_CONSTRAINT_EQ;
        take(choice, first);
        choice->plan |= (most >= FOLLOWED ? CUCKOO_ASKS : 0) | (null ? CUCKOO_NULL : 0) |
                        (shown_of(choice, first)->finds == 1 ? CUCKOO_UNIQUE : 0);
        if (is_list(choice, first) && cuckoo_compat_vtab_in(choice->info, first, 1))
            choice->plan |= CUCKOO_LIST;
        else if (most >= FOLLOWED && !shown_of(choice, first)->numeric)
            choice->plan |= CUCKOO_SPELLS;
    }
    for (int i = 0; i < n && choice->conditions < CUCKOO_CONDITIONS; i++)
        if (i != first && rank(choice, i) >= 0 && !is_list(choice, i))
            take(choice, i);
}

/* ---- the statement ---- */

/* True if column i is read. The key of a table WITHOUT ROWID always is: it identifies the row. */
static bool reads(const front_choice *choice, int i)
{
    enum { LAST_BIT = 63 /* for all columns from there on */ };
    return (choice->front->keyed && cuckoo_front_shown(choice->front, i)->key) ||
           choice->info->colUsed >> (i < LAST_BIT ? i : LAST_BIT) & 1;
}

/* The rowid or a column that is not NULL comes first, then the columns in order, if they are read. So
** each has a fixed place. */
static void append_columns(const front_choice *choice, sqlite3_str *sql)
{
    const cuckoo_front *front = choice->front;
    const char *row = rowid_of(front);
    int n = front->columns;
    for (int i = 0; front->keyed && i < n && row == NULL; i++)
        row = cuckoo_front_shown(front, i)->key ? cuckoo_front_shown(front, i)->name : NULL;
    while (n > 0 && !reads(choice, n - 1))
        n--;
    sqlite3_str_appendf(sql, row ? "SELECT c.\"%w\"" : "SELECT row_number() OVER ()", row);
    for (int i = 0; i < n; i++)
        sqlite3_str_appendf(sql, reads(choice, i) ? ", c.\"%w\"" : ", NULL",
                            cuckoo_front_shown(front, i)->name);
}

/* SQL comments describe what xFilter does with the first argument. */
static char *statement(front_choice *choice)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    char *where = sqlite3_str_finish(choice->where);
    if (choice->plan & CUCKOO_LIST)
        sqlite3_str_appendall(sql, "/* for each of a list */ ");
    if (choice->plan & CUCKOO_ASKS)
        sqlite3_str_appendall(sql, "/* if the filter has it */ ");
    if (choice->plan & CUCKOO_SPELLS)
        sqlite3_str_appendall(sql, "/* numbers in texts by their usual spelling, then by others */ ");
    append_columns(choice, sql);
    sqlite3_str_appendf(sql, " FROM \"%w\".\"%w\" AS c%s", choice->front->schema, choice->front->content,
                        where ? where : "");
    sqlite3_free(where);
    return sqlite3_str_finish(sql);
}

int cuckoo_front_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    cuckoo_table *table = cuckoo_table_of(base);
    table->registry->planned = table;
    int rc = CUCKOO_LOOKS_LATE ? SQLITE_OK : cuckoo_front_look(table);
    if (rc != SQLITE_OK)
        return rc;
    double rows = table->paged.loaded ? (double)table->paged.filter.items + 1 : 1e6;
    front_choice choice = {table->front, info, sqlite3_str_new(NULL), .looks_at = rows, .finds = rows};
    take_all(&choice);
    rc = sqlite3_str_errcode(choice.where);
    info->idxStr = statement(&choice);
    info->needToFreeIdxStr = 1;
    info->idxNum = (int)choice.plan;
    /* Reading all rows first is expensive if the filter could be queried: without ANALYZE SQLite
    ** overestimates the size of other tables. */
    double each = choice.plan & CUCKOO_ASKS ? 1 : choice.looks_at < rows ? 3 : 20;
    info->estimatedCost = 2 + choice.looks_at * each;
    info->estimatedRows = choice.finds < 1 ? 1 : (sqlite3_int64)choice.finds;
    return rc == SQLITE_OK && info->idxStr == NULL ? SQLITE_NOMEM : rc;
}
