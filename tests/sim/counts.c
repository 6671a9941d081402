/* SPDX-License-Identifier: MIT */
/*
** counts.c - what was drawn: sim --counts. A word that never succeeded is a gap in what is asked.
*/
#include "sim.h"

#include <stdio.h>
#include <string.h>

static const char *const words[COUNTED] = {
    "OR ABORT",     "OR FAIL",      "OR IGNORE",    "OR REPLACE",     "OR ROLLBACK",   "ON CONFLICT",
    "RETURNING",    "SAVEPOINT",    "ROLLBACK TO",  "RELEASE",        "COMMIT",        "ROLLBACK",
    "EXCLUSIVE",    "VACUUM",       "ATTACH",       "far.",           "RENAME TO",     "RENAME COLUMN",
    "ADD COLUMN",   "DROP COLUMN",  "DROP TABLE u", "DROP TABLE f",   "DROP TABLE h",  "DROP TABLE d",
    "DROP TABLE o", "DROP TABLE a", "DROP TABLE e", "CREATE VIRTUAL", "CREATE TEMP",   " BEFORE ",
    " AFTER ",      "RAISE",        " p ",          "'drain'",        "'rebuild'",     "'optimize'",
    "'advance'",    "'clock'",      "'clear'",      "'import'",       "cf_table_info", "cf_table_check",
    "cf_export",    "cf_picture",   "cf_explain",   "cf_buckets",     "cf_merge",      "cf_add_keys",
    "cf_delete",    "cf_build",     "cf_keys",      "WITHOUT ROWID",  "CREATE INDEX",  "wal_checkpoint"};

void count_words(sim_counts *counts, const char *sql)
{
    for (int i = 0; i < COUNTED && words[i]; i++)
        counts->words[i] += strstr(sql, words[i]) != NULL;
}

static void print_list(const char *title, const char *const *names, const uint64_t *counts, int n)
{
    printf("# %s:", title);
    for (int i = 0; i < n && names[i]; i++)
        printf("%s %s %llu", i ? "," : "", names[i], (unsigned long long)counts[i]);
    printf("\n");
}

void print_counts(const sim_counts *counts)
{
    static const char *const kinds[STEP_KINDS] = {"rows",     "transactions", "filter rows", "commands",
                                                  "triggers", "schema",       "left open",   "time",
                                                  "copies",   "questions",    "crashes"};
    static const char *const sorts[] = {"none", "memory", "disk", "power", "interrupts", "pages"};
    static const char *const filters[FILTER_KINDS] = {"follow", "front",  "direct", "once",
                                                      "keep",   "epochs", "stored"};
    print_list("steps by kind", kinds, counts->kinds, STEP_KINDS);
    print_list("faults that struck", sorts, counts->faults_of, FAIL_PAGES + 1);
    print_list("filters", filters, counts->filters, FILTER_KINDS);
    print_list("statements that succeeded, with", words, counts->words, COUNTED);
}
