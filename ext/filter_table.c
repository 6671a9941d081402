#include "filter_table.h"

#include <stdio.h>
#include <string.h>

/* ---- arguments of CREATE VIRTUAL TABLE ---- */

static const char *skip_blanks(const char *text)
{
    while (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r')
        text++;
    return text;
}

/* The value of "name = value", when the argument begins with that name; else NULL. */
static const char *value_of(const char *argument, const char *name)
{
    argument = skip_blanks(argument);
    size_t n = strlen(name);
    if (strncmp(argument, name, n) != 0)
        return NULL;
    argument = skip_blanks(argument + n);
    return *argument == '=' ? skip_blanks(argument + 1) : NULL;
}

static bool complain(char **message, char *text)
{
    *message = text;
    return false;
}

static bool read_fpr(const char *text, cuckoo_options *options, char **message)
{
    char rest;
    double fpr;
    if (sscanf(text, "%lf %c", &fpr, &rest) != 1 || !(fpr > 0 && fpr < 1))
        return complain(
            message, sqlite3_mprintf("cuckoo_filter: fpr must be a number above 0 and below 1, such as "
                                     "fpr=0.001"));
    options->fpr = fpr;
    return true;
}

/* content='table(column)': what is in quotes, or without them. */
static bool read_content(const char *text, cuckoo_table_plan *plan, char **message)
{
    size_t n = strlen(text);
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\n'))
        n--;
    if (n >= 2 && (*text == '\'' || *text == '"') && text[n - 1] == *text)
        text++, n -= 2;
    const char *open = memchr(text, '(', n);
    if (open == NULL || open == text || text[n - 1] != ')' || open + 1 == text + n - 1)
        return complain(message, sqlite3_mprintf("cuckoo_filter: content must be 'table(column)'"));
    plan->content = sqlite3_mprintf("%.*s", (int)(open - text), text);
    plan->column = sqlite3_mprintf("%.*s", (int)(text + n - open - 2), open + 1);
    return plan->content && plan->column;
}

static bool read_argument(const char *argument, sqlite3_str *rest, cuckoo_table_plan *plan,
                          char **message)
{
    const char *value;
    if ((value = value_of(argument, "fpr")) != NULL)
        return read_fpr(value, &plan->options, message);
    if ((value = value_of(argument, "content")) != NULL)
        return read_content(value, plan, message);
    sqlite3_str_appendf(rest, "%s ", argument);
    return true;
}

static bool read_rest(sqlite3_str *rest, cuckoo_table_plan *plan, char **message)
{
    char *why = NULL, *text = sqlite3_str_finish(rest);
    bool ok = text == NULL || cuckoo_options_parse(text, strlen(text), &plan->options, &why);
    if (!ok && why)
        *message = sqlite3_mprintf("cuckoo_filter: %s; and fpr=number, content='table(column)'", why);
    sqlite3_free(why);
    sqlite3_free(text);
    return ok;
}

bool cuckoo_table_plan_read(int argc, const char *const *argv, cuckoo_table_plan *plan, char **message)
{
    enum { FIRST = 3 };
    sqlite3_str *rest = sqlite3_str_new(NULL);
    *plan = (cuckoo_table_plan){.content = NULL};
    *message = NULL;
    cuckoo_options_default(&plan->options);
    bool ok = true;
    for (int i = FIRST; ok && i < argc; i++)
        ok = read_argument(argv[i], rest, plan, message);
    ok = read_rest(rest, plan, ok ? message : &(char *){NULL}) && ok;
    if (!ok)
        cuckoo_table_plan_free(plan);
    return ok;
}

void cuckoo_table_plan_free(cuckoo_table_plan *plan)
{
    sqlite3_free(plan->content);
    sqlite3_free(plan->column);
    plan->content = plan->column = NULL;
}

/* ---- the registry ---- */

cuckoo_registry *cuckoo_registry_new(sqlite3 *db)
{
    cuckoo_registry *registry = sqlite3_malloc64(sizeof *registry);
    if (registry)
        *registry = (cuckoo_registry){.db = db, .references = 1};
    return registry;
}

void cuckoo_registry_release(void *pointer)
{
    cuckoo_registry *registry = pointer;
    if (registry && --registry->references == 0)
        sqlite3_free(registry);
}

static cuckoo_table *connected(const cuckoo_registry *registry, const char *schema, const char *name)
{
    for (cuckoo_table *table = registry->first; table; table = table->next)
        if (sqlite3_stricmp(table->paged.shadow.table, name) == 0 &&
            sqlite3_stricmp(table->paged.shadow.schema, schema) == 0)
            return table;
    return NULL;
}

bool cuckoo_table_is_connected(const cuckoo_registry *registry, const cuckoo_table *table)
{
    const cuckoo_table *at = registry->first;
    while (at && at != table)
        at = at->next;
    return table != NULL && at == table;
}

/* Is there a table of this name in the schema? */
static int exists(const cuckoo_registry *registry, const char *schema, const char *name, bool *there)
{
    sqlite3_stmt *statement = NULL;
    char *sql =
        sqlite3_mprintf("SELECT 1 FROM \"%w\".sqlite_master WHERE name = %Q COLLATE NOCASE AND type IN "
                        "('table', 'view')",
                        schema, name);
    int rc = sql ? sqlite3_prepare_v2(registry->db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (rc == SQLITE_OK) {
        *there = sqlite3_step(statement) == SQLITE_ROW;
        rc = sqlite3_finalize(statement);
    }
    return rc;
}

/* Compiling a statement on a virtual table connects it. */
static cuckoo_table *connect_table(const cuckoo_registry *registry, const char *schema, const char *name,
                                   int *rc)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\".\"%w\" LIMIT 0", schema, name);
    *rc = sql ? sqlite3_prepare_v2(registry->db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    sqlite3_finalize(statement);
    return *rc == SQLITE_OK ? connected(registry, schema, name) : NULL;
}

static cuckoo_table *find_in(const cuckoo_registry *registry, const char *schema, const char *name,
                             int *rc)
{
    bool there = false;
    *rc = exists(registry, schema, name, &there);
    if (*rc != SQLITE_OK || !there)
        return NULL;
    cuckoo_table *table = connected(registry, schema, name);
    return table ? table : connect_table(registry, schema, name, rc);
}

/* As SQLite looks for an unqualified name: temp, main, then the attached ones in order. */
static cuckoo_table *find_anywhere(const cuckoo_registry *registry, const char *name, int *rc)
{
    cuckoo_table *table = find_in(registry, "temp", name, rc);
    sqlite3_stmt *statement = NULL;
    if (table || *rc != SQLITE_OK)
        return table;
    *rc = sqlite3_prepare_v2(registry->db,
                             "SELECT name FROM pragma_database_list WHERE name <> 'temp' ORDER BY seq",
                             -1, &statement, NULL);
    while (*rc == SQLITE_OK && table == NULL && sqlite3_step(statement) == SQLITE_ROW)
        table = find_in(registry, (const char *)sqlite3_column_text(statement, 0), name, rc);
    int rc2 = sqlite3_finalize(statement);
    *rc = *rc == SQLITE_OK ? rc2 : *rc;
    return table;
}

cuckoo_table *cuckoo_table_find(cuckoo_registry *registry, const char *name, int *rc)
{
    const char *dot = strchr(name, '.');
    cuckoo_table *table = find_anywhere(registry, name, rc);
    if (table || *rc != SQLITE_OK || dot == NULL)
        return table;
    char *schema = sqlite3_mprintf("%.*s", (int)(dot - name), name);
    if (schema == NULL)
        *rc = SQLITE_NOMEM;
    else
        table = find_in(registry, schema, dot + 1, rc);
    if (*rc == SQLITE_ERROR)
        *rc = SQLITE_OK; /* there is no such schema */
    sqlite3_free(schema);
    return table;
}
