/* SPDX-License-Identifier: MIT */
/*
** inspect_plan.c - how a query on the tables that look inside a filter is planned.
*/
#include "inspect.h"

typedef struct constraints {
    int filter, key, equal, least, most; /* which constraint it is; -1: there is none */
    bool unusable;                       /* an argument is there, but not in this join order */
} constraints;

static void choose_argument(const struct sqlite3_index_constraint *c, int i, int *argument,
                            bool *unusable)
{
    if (c->op != SQLITE_INDEX_CONSTRAINT_EQ)
        return;
    if (c->usable)
        *argument = i;
    else
        *unusable = true;
}

static void choose_bound(const struct sqlite3_index_constraint *c, int i, constraints *found)
{
    if (!c->usable)
        return;
    if (c->op == SQLITE_INDEX_CONSTRAINT_EQ)
        found->equal = i;
    if (c->op == SQLITE_INDEX_CONSTRAINT_GT || c->op == SQLITE_INDEX_CONSTRAINT_GE)
        found->least = i;
    if (c->op == SQLITE_INDEX_CONSTRAINT_LT || c->op == SQLITE_INDEX_CONSTRAINT_LE)
        found->most = i;
}

static constraints choose(const inspect_kind *kind, const sqlite3_index_info *info)
{
    constraints found = {-1, -1, -1, -1, -1, false};
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (c->iColumn == kind->filter_column)
            choose_argument(c, i, &found.filter, &found.unusable);
        else if (c->iColumn == kind->key_column && kind->key_column >= 0)
            choose_argument(c, i, &found.key, &found.unusable);
        else if (c->iColumn == kind->bucket_column && kind->bucket_column >= 0)
            choose_bound(c, i, &found);
    }
    return found;
}

/* Passes constraint i to xFilter, if there is one. SQLite checks constraints on the bucket again,
** so that xFilter may take them loosely, but not arguments. */
static void pass(sqlite3_index_info *info, int i, int bit, bool argument, int *count)
{
    if (i < 0)
        return;
    info->aConstraintUsage[i].argvIndex = ++*count;
    info->aConstraintUsage[i].omit = argument;
    info->idxNum |= bit;
}

/* A plan without the arguments is an error when it runs (xFilter). It is not refused here: SQLite
** asks for plans of the parts of an OR, too, and gives up on the query when one is refused. */
static void set_cost(sqlite3_index_info *info, const inspect_kind *kind, bool missing)
{
    int rows = 1000000;
    if (kind->key_column >= 0 || info->idxNum & PLAN_EQUAL)
        rows = 8;
    else if (info->idxNum & (PLAN_LEAST | PLAN_MOST))
        rows = 100000;
    info->estimatedRows = rows;
    info->estimatedCost = missing ? 1e99 : rows + 1000.0;
}

static bool walks_in_order(const sqlite3_index_info *info, const inspect_kind *kind)
{
    if (kind->bucket_column < 0 || info->nOrderBy < 1 || info->nOrderBy > 2)
        return false;
    for (int i = 0; i < info->nOrderBy; i++)
        if (info->aOrderBy[i].iColumn != kind->bucket_column + i || info->aOrderBy[i].desc)
            return false;
    return true;
}

int cuckoo_inspect_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    const inspect_kind *kind = ((inspect_table *)table)->kind;
    constraints found = choose(kind, info);
    bool missing = found.filter < 0 || (kind->key_column >= 0 && found.key < 0);
    int count = 0;
    if (missing && found.unusable)
        return SQLITE_CONSTRAINT;
    info->idxNum = 0;
    pass(info, found.filter, PLAN_FILTER, true, &count);
    pass(info, found.key, PLAN_KEY, true, &count);
    pass(info, found.equal, PLAN_EQUAL, false, &count);
    pass(info, found.least, PLAN_LEAST, false, &count);
    pass(info, found.most, PLAN_MOST, false, &count);
    set_cost(info, kind, missing);
    info->orderByConsumed = walks_in_order(info, kind);
    return SQLITE_OK;
}
