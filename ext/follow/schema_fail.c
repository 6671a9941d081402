/* SPDX-License-Identifier: MIT */
/*
** schema_fail.c - may what a trigger changes violate a constraint?
**
** The texts of the tables and triggers tell, by their tokens. What they do not tell clearly counts as
** yes.
*/
#include "schema.h"

#include "sql_text.h"

/* ---- what is set ---- */

static bool is_one_of(cuckoo_token token, const char *a, const char *b, const char *c)
{
    return cuckoo_token_is(token, a) || cuckoo_token_is(token, b) || cuckoo_token_is(token, c);
}

/* Is this name the column of a list "(name, .." or of an assignment "SET name = .., name = .."? */
static bool sets_column(const char *sql, const char *column)
{
    cuckoo_token before = {CUCKOO_TOKEN_END, sql, 0}, token;
    bool sets = false;
    for (; !sets && (token = cuckoo_sql_token(&sql)).kind != CUCKOO_TOKEN_END; before = token) {
        const char *next = sql;
        sets = cuckoo_token_names(token, column) && is_one_of(before, "set", ",", "(") &&
               is_one_of(cuckoo_sql_token(&next), "=", ",", ")");
    }
    return sets;
}

/* Does this SQL insert into the table without saying into which columns? */
static bool sets_all(const char *sql, const char *table)
{
    cuckoo_token token;
    bool all = false;
    while (!all && (token = cuckoo_sql_token(&sql)).kind != CUCKOO_TOKEN_END) {
        const char *next = sql;
        all = cuckoo_token_names(token, table) &&
              is_one_of(cuckoo_sql_token(&next), "values", "select", "default");
    }
    return all;
}

/* A column of the table: is it set by the trigger or by what that sets off? */
static bool is_set(const cuckoo_schema *all, const cuckoo_object *trigger, const char *table,
                   const char *column)
{
    bool is = false;
    for (int i = 0; !is && i < all->n; i++) {
        const cuckoo_object *by = &all->object[i];
        if (by->body && (by == trigger || by->reached) && cuckoo_sql_names(by->body, NULL, table))
            is = sets_column(by->body, column) || sets_all(by->body, table);
    }
    return is;
}

static bool is_inserted(const cuckoo_schema *all, const cuckoo_object *trigger, const char *table)
{
    bool is = false;
    for (int i = 0; !is && i < all->n; i++) {
        const cuckoo_object *by = &all->object[i];
        is = by->body && (by == trigger || by->reached) && cuckoo_sql_names(by->body, "into", table);
    }
    return is;
}

/* ---- constraints ---- */

/* What the definition of a column, or a constraint of the table, says. */
typedef struct definition {
    cuckoo_token first;
    bool key, not_null, check;
} definition;

/* Reads up to the comma or parenthesis behind it. False: there is no more. */
static bool next_definition(const char **sql, definition *read)
{
    int depth = 0;
    cuckoo_token token = cuckoo_sql_token(sql);
    *read = (definition){.first = token};
    while (token.kind != CUCKOO_TOKEN_END && (depth > 0 || !is_one_of(token, ",", ")", ";"))) {
        depth += cuckoo_token_is(token, "(") - cuckoo_token_is(token, ")");
        read->key |= is_one_of(token, "unique", "primary", "without");
        read->not_null |= cuckoo_token_is(token, "not");
        read->check |= cuckoo_token_is(token, "check");
        token = cuckoo_sql_token(sql);
    }
    return read->first.kind != CUCKOO_TOKEN_END && !cuckoo_token_is(read->first, ")");
}

static bool is_of_table(const definition *read)
{
    return is_one_of(read->first, "constraint", "unique", "primary") ||
           cuckoo_token_is(read->first, "check") || cuckoo_token_is(read->first, "foreign");
}

static bool may_fail_in(const cuckoo_schema *all, const cuckoo_object *trigger,
                        const cuckoo_object *table, const definition *read)
{
    char *column = cuckoo_sql_unquoted(read->first.at, read->first.n);
    bool may = column == NULL || read->check || (is_of_table(read) && (read->key || read->not_null)) ||
               ((read->key || read->not_null) && is_set(all, trigger, table->table, column)) ||
               (read->not_null && is_inserted(all, trigger, table->table));
    sqlite3_free(column);
    return may;
}

static bool may_fail_on(const cuckoo_schema *all, const cuckoo_object *trigger,
                        const cuckoo_object *table)
{
    definition read;
    const char *sql = table->sql;
    cuckoo_token token = cuckoo_sql_token(&sql);
    while (token.kind != CUCKOO_TOKEN_END && !cuckoo_token_is(token, "(") &&
           !cuckoo_token_is(token, "virtual"))
        token = cuckoo_sql_token(&sql);
    if (!cuckoo_token_is(token, "("))
        return true; /* a virtual table, which may fail by rules of its own */
    while (next_definition(&sql, &read))
        if (may_fail_in(all, trigger, table, &read))
            return true;
    return false;
}

bool cuckoo_schema_may_fail(cuckoo_schema *all, const cuckoo_object *trigger)
{
    bool may = false;
    cuckoo_schema_reach(all, trigger->body);
    for (int i = 0; !may && i < all->n; i++)
        if (all->object[i].body == NULL && all->object[i].reached)
            may = all->object[i].indexed || may_fail_on(all, trigger, &all->object[i]);
    return may;
}
