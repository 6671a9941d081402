/* SPDX-License-Identifier: MIT */
/*
** front_plan.c - which statement on the content gives the rows that are asked for (front.h).
*/
#include "front.h"

#include <string.h>

/* ---- conditions ---- */

static bool is_range(int op)
{
    return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE ||
           op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

static const char *operator_of(int op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ   ? "="
           : op == SQLITE_INDEX_CONSTRAINT_IS ? "IS"
           : op == SQLITE_INDEX_CONSTRAINT_GT ? ">"
           : op == SQLITE_INDEX_CONSTRAINT_GE ? ">="
           : op == SQLITE_INDEX_CONSTRAINT_LT ? "<"
                                              : "<=";
}

bool cuckoo_condition_unusual(const cuckoo_front *front, cuckoo_condition condition,
                              sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    return cuckoo_front_numeric(front, condition.column) ? is_range(condition.op) && !number : number;
}

bool cuckoo_way_fits(const cuckoo_front *front, const cuckoo_way *plan, sqlite3_value **argv,
                     uint32_t *unusual)
{
    *unusual = 0;
    for (int i = 0; i < plan->conditions; i++) {
        if (i == plan->list)
            continue;
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL &&
            plan->condition[i].op != SQLITE_INDEX_CONSTRAINT_IS)
            return false;
        if (cuckoo_condition_unusual(front, plan->condition[i], argv[i]))
            *unusual |= 1u << i;
    }
    return true;
}

/* Rows that are sorted come from one statement. */
int cuckoo_way_number(const cuckoo_way *plan, sqlite3_value **argv, uint32_t *unusual)
{
    int at = -1;
    for (int i = 0; i < plan->conditions && plan->list < 0 && !(*unusual & CUCKOO_SORTS); i++)
        if (*unusual >> i & 1 && (at < 0 || i == plan->asks) && cuckoo_is_equal(plan->condition[i].op) &&
            cuckoo_number_is_spelled(argv[i]))
            at = i;
    *unusual &= at >= 0 ? ~(UINT32_C(1) << at) : UINT32_MAX;
    return at;
}

static void append_column(const cuckoo_front *front, sqlite3_str *sql, int column)
{
    if (column == CUCKOO_ROWID)
        sqlite3_str_appendf(sql, "c.%s", front->rowid);
    else
        sqlite3_str_appendf(sql, "c.\"%w\"", front->column[column].name);
}

/* Appends condition i, of which the value is parameter i + 1. */
static void append_condition(const cuckoo_front *front, const cuckoo_way *plan, int i, bool unusual,
                             sqlite3_str *sql)
{
    append_column(front, sql, plan->condition[i].column);
    if (unusual)
        sqlite3_str_appendall(sql, " IS NOT NULL");
    else
        sqlite3_str_appendf(sql, " %s ?%d", operator_of(plan->condition[i].op), i + 1);
}

/* ---- the statement ---- */

/* Is the column read? A key WITHOUT ROWID always is, because it says which row it is. */
static bool reads(const cuckoo_front *front, const cuckoo_way *plan, int i)
{
    enum { LAST_BIT = 63 /* of all columns from there on */ };
    return (front->keyed && front->column[i].key) || plan->used >> (i < LAST_BIT ? i : LAST_BIT) & 1;
}

/* The rowid comes first. */
static void append_columns(const cuckoo_front *front, const cuckoo_way *plan, sqlite3_str *sql)
{
    const char *comma = front->keyed ? "" : ", ";
    sqlite3_str_appendf(sql, front->keyed ? "" : front->rowid ? "c.%s" : "0", front->rowid);
    for (int i = 0; i < front->columns; i++)
        if (reads(front, plan, i)) {
            sqlite3_str_appendall(sql, comma);
            append_column(front, sql, i);
            comma = ", ";
        }
}

static void find_places(const cuckoo_front *front, cuckoo_way *plan)
{
    int next = !front->keyed;
    for (int i = 0; i < front->columns; i++)
        plan->place[i] = reads(front, plan, i) ? next++ : -1;
}

char *cuckoo_way_sql(const cuckoo_front *front, const cuckoo_way *plan, uint32_t unusual)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendall(sql, "SELECT ");
    append_columns(front, plan, sql);
    sqlite3_str_appendf(sql, " FROM \"%w\".\"%w\" AS c", front->schema, front->content);
    for (int i = 0; i < plan->conditions; i++) {
        sqlite3_str_appendall(sql, i ? " AND " : " WHERE ");
        append_condition(front, plan, i, unusual >> i & 1, sql);
    }
    if (unusual & CUCKOO_SORTS) { /* "+" keeps SQLite from reading rows in the order of an index */
        sqlite3_str_appendall(sql, " ORDER BY +");
        append_column(front, sql, 0);
    }
    return sqlite3_str_finish(sql);
}

/* Says also what becomes of a number that is asked of a column of texts (spellings.h). */
static char *describe(const cuckoo_front *front, const cuckoo_way *plan)
{
    bool texts = false;
    char *text = NULL, *sql = cuckoo_way_sql(front, plan, 0);
    for (int i = 0; i < plan->conditions && plan->list < 0; i++)
        texts |= cuckoo_is_equal(plan->condition[i].op) &&
                 !cuckoo_front_numeric(front, plan->condition[i].column);
    if (sql)
        text = sqlite3_mprintf("%s%s%s%s", plan->list >= 0 ? "for each of a list: " : "",
                               plan->asks >= 0 ? "if the filter has it: " : "", sql,
                               texts ? "; numbers in texts by their usual spelling, others by one pass"
                                     : "");
    sqlite3_free(sql);
    return text;
}

/* ---- keeping plans ---- */

/* Adds a plan. -1: out of memory. */
static int add_plan(cuckoo_front *front, const cuckoo_way *found, char *text)
{
    uint64_t n = (uint64_t)front->plans, places = (uint64_t)front->columns * sizeof(int);
    if ((n & (n - 1)) == 0) {
        cuckoo_way **more = sqlite3_realloc64(front->plan, (n ? 2 * n : 1) * sizeof *more);
        if (more == NULL)
            return -1;
        front->plan = more;
    }
    cuckoo_way *plan = sqlite3_malloc64(sizeof *plan + places);
    if (plan == NULL)
        return -1;
    *plan = *found;
    plan->text = text;
    plan->place = (int *)(plan + 1);
    find_places(front, plan);
    front->plan[n] = plan;
    return front->plans++;
}

/* The text does not tell which of two arguments is the list. */
static bool is_same(const cuckoo_way *a, const cuckoo_way *b, const char *text)
{
    return strcmp(a->text, text) == 0 && a->list == b->list && a->asks == b->asks && a->once == b->once;
}

/* The number of this plan, which may be there already; -1: out of memory. */
static int number_of(cuckoo_front *front, const cuckoo_way *found)
{
    char *text = describe(front, found);
    int i = 0;
    if (text == NULL)
        return -1;
    while (i < front->plans && !is_same(front->plan[i], found, text))
        i++;
    int number = i < front->plans ? i : add_plan(front, found, text);
    if (number < 0 || front->plan[number]->text != text)
        sqlite3_free(text);
    return number;
}

/* ---- choosing ---- */

/* Does a comparison with this column by this collation find what the content finds? In columns of
** other affinities also numbers in texts must lie where condition looks for them. */
static bool may_compare(const cuckoo_front *front, int column, const char *collation)
{
    if (column == CUCKOO_ROWID)
        return true;
    const char *own = front->column[column].collation;
    bool known = sqlite3_stricmp(own, "BINARY") == 0 || sqlite3_stricmp(own, "NOCASE") == 0 ||
                 sqlite3_stricmp(own, "RTRIM") == 0;
    return sqlite3_stricmp(own, collation) == 0 && (known || front->column[column].numeric);
}

static bool may_take(const cuckoo_front *front, sqlite3_index_info *info, int i)
{
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    bool is_column = c->iColumn < 0 ? front->rowid != NULL : c->iColumn < front->columns;
    if (!c->usable || !is_column || (front->rowid == NULL && !front->keyed))
        return false;
    if (c->op == SQLITE_INDEX_CONSTRAINT_ISNULL)
        return true;
    int column = c->iColumn < 0 ? CUCKOO_ROWID : c->iColumn;
    return (cuckoo_is_equal(c->op) || (is_range(c->op) && cuckoo_front_numeric(front, column))) &&
           may_compare(front, c->iColumn, sqlite3_vtab_collation(info, i));
}

/* What a plan finds: in so many rows of the content, so many that fit. */
typedef struct finding {
    double looks_at, finds;
    bool once; /* at most one row */
} finding;

static bool is_unique(const cuckoo_front *front, int column)
{
    return column == CUCKOO_ROWID || front->column[column].unique;
}

static void narrow(const cuckoo_front *front, cuckoo_condition condition, finding *found)
{
    int column = condition.column;
    bool unique = is_unique(front, column), indexed = unique || front->column[column].indexed;
    double few = unique ? 1 : 10;
    if (cuckoo_is_equal(condition.op) && indexed && found->looks_at > few)
        found->looks_at = few;
    else if (indexed && !cuckoo_is_equal(condition.op) && found->looks_at > few)
        found->looks_at /= 4;
    found->finds = cuckoo_is_equal(condition.op) && unique
                       ? 1
                       : found->finds / (cuckoo_is_equal(condition.op) ? 10 : 4);
    /* A text that is unique may be equal to a number in several ways. */
    found->once |=
        condition.op == SQLITE_INDEX_CONSTRAINT_EQ && unique && cuckoo_front_numeric(front, column);
}

/* Takes constraint i. A whole IN may be taken once, and only by SQLite that can tell. */
static void take(cuckoo_front *front, sqlite3_index_info *info, int i, cuckoo_way *plan, finding *found)
{
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    int column = c->iColumn < 0 ? CUCKOO_ROWID : c->iColumn, n = plan->conditions;
    if (!cuckoo_front_numeric(front, column) && cuckoo_late_vtab_in(info, i, -1)) {
        if (plan->list >= 0)
            return;
        cuckoo_late_vtab_in(info, i, 1);
        plan->list = n;
    }
    /* The value of IS NULL is NULL. */
    int op = c->op == SQLITE_INDEX_CONSTRAINT_ISNULL ? SQLITE_INDEX_CONSTRAINT_IS : c->op;
    plan->condition[plan->conditions++] = (cuckoo_condition){column, op};
    info->aConstraintUsage[i].argvIndex = plan->conditions;
    if (cuckoo_is_equal(op) && column == front->followed && plan->asks < 0 &&
        (plan->list < 0 || plan->list == n))
        plan->asks = n;
    plan->once |= op == SQLITE_INDEX_CONSTRAINT_EQ && plan->list != n && is_unique(front, column);
    narrow(front, plan->condition[n], found);
}

int cuckoo_front_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    cuckoo_table *table = cuckoo_table_of(base);
    cuckoo_front *front = table->front;
    cuckoo_store *store = cuckoo_table_store(table);
    table->registry->planned = store;
    int rc = store ? cuckoo_front_look(table) : SQLITE_NOMEM;
    if (rc != SQLITE_OK)
        return rc;
    if (cuckoo_paged_is_loaded(&store->paged))
        front->rows = (double)store->paged.filter.items + 1;
    finding found = {front->rows, front->rows, false};
    cuckoo_way plan = {.used = info->colUsed, .asks = -1, .list = -1};
    for (int i = 0; i < info->nConstraint && plan.conditions < CUCKOO_CONDITIONS; i++)
        if (may_take(front, info, i))
            take(front, info, i, &plan, &found);
    info->idxNum = number_of(front, &plan);
    if (info->idxNum < 0)
        return SQLITE_NOMEM;
    info->idxStr = front->plan[info->idxNum]->text;
    info->estimatedCost = 2 + found.looks_at * (plan.asks >= 0 ? 1 : 3);
    info->estimatedRows = found.finds < 1 ? 1 : (sqlite3_int64)found.finds;
    if (found.once)
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    return SQLITE_OK;
}
