/* SPDX-License-Identifier: MIT */
/*
** arguments.c - the arguments of CREATE VIRTUAL TABLE ... USING cuckoo_filter(...).
*/
#include "../follow/sql_text.h"
#include "../functions/filters.h"
#include "../keys/column_rule.h"
#include "../pages/ageing.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "module.h"

#include <assert.h>
#include <string.h>

/* ---- reading them ---- */

/* Sets the message about a value, which may contain another "name=". Returns false. */
static bool complain(char **message, const char *what, const char *given)
{
    const char *equals = strchr(given, '='), *end = equals ? equals : given, *word;
    while (end > given && end[-1] == ' ')
        end--;
    for (word = end; word > given && cuckoo_sql_is_name_char(word[-1]);)
        word--;
    bool lacks = word > given && cuckoo_sql_skip_blanks(word - 1) == word;
    cuckoo_say(message, SQLITE_OK,
               lacks ? "%s, got '" CUCKOO_PART "'; is a comma missing before %.*s="
                     : "%s, got '" CUCKOO_PART "'",
               what, given, (int)(end - word), word);
    return false;
}

/* Reads 'table(column)', in which both names may be quoted. */
static bool take_content(const char *text, cuckoo_table_plan *plan, char **message)
{
    size_t n = strlen(text);
    const char *behind = text;
    while (n > 0 && strchr(" \t\r\n", text[n - 1]))
        n--;
    bool quoted = cuckoo_sql_token(&behind).kind == CUCKOO_TOKEN_QUOTED;
    const char *open = strchr(quoted ? behind : text, '(');
    if (open == NULL || open == text || text[n - 1] != ')' || open + 2 >= text + n)
        return complain(message, "content must be 'table(column)', such as 'users(email)'", text);
    plan->content = cuckoo_sql_unquoted(text, (size_t)(open - text));
    plan->column = cuckoo_sql_unquoted(open + 1, (size_t)(text + n - open - 2));
    return plan->content && plan->column;
}

enum { FPR, CONTENT, ROWS, ROWIDS, ADDS, KEEP };

static const char *const valid[] = {[FPR] = "fpr=number",
                                    [CONTENT] = "content='table(column)'",
                                    [ROWS] = "rows=on|off",
                                    [ROWIDS] = "rowids=on|off",
                                    [ADDS] = "adds=once",
                                    [KEEP] = "keep='24 hours'",
                                    NULL};

static bool take_switch(const char *text, bool *on)
{
    *on = sqlite3_stricmp(text, "on") == 0;
    return *on || sqlite3_stricmp(text, "off") == 0;
}

/* Reads the value of valid[which], without its quotes. False: it is invalid, or out of memory. */
static bool take_own(int which, const char *text, cuckoo_table_plan *plan, char **message)
{
    cf_number number;
    double *fpr = &plan->options.fpr;
    switch (which) {
    case FPR:
        *fpr = cf_number_read(text, strlen(text), &number) ? cf_number_real(&number) : 0;
        return (*fpr > 0 && *fpr < 1) || complain(message, CUCKOO_VALID_FPR, text);
    case CONTENT:
        return take_content(text, plan, message);
    case ROWS:
        return take_switch(text, &plan->rows) || complain(message, "rows must be on or off", text);
    case ROWIDS:
        return take_switch(text, &plan->rowids) || complain(message, "rowids must be on or off", text);
    case ADDS:
        plan->once = sqlite3_stricmp(text, "once") == 0;
        return plan->once || complain(message, "adds must be once, or left out", text);
    default:
        return cuckoo_duration_read(text, strlen(text), &plan->keep) ||
               complain(message, "keep " CUCKOO_BAD_DURATION, text);
    }
}

/* The same, unless it was given before. */
static int take_once(int which, const char *text, cuckoo_table_plan *plan, char **message)
{
    bool again = plan->given >> which & 1;
    plan->given |= 1u << which;
    if (again)
        return cuckoo_say(message, SQLITE_ERROR, "%.*s is given twice", (int)strcspn(valid[which], "="),
                          valid[which]);
    return take_own(which, text, plan, message) ? SQLITE_OK : *message ? SQLITE_ERROR : SQLITE_NOMEM;
}

/* Reads "name = value", in which both may be quoted. */
static int take_argument(const char *argument, cuckoo_table_plan *plan, char **message)
{
    const char *equals = strchr(argument, '=');
    if (equals == NULL)
        return cuckoo_options_parse(argument, strlen(argument), &plan->options, message);
    char *name = cuckoo_sql_unquoted(argument, (size_t)(equals - argument));
    char *value = name ? cuckoo_sql_unquoted(equals + 1, strlen(equals + 1)) : NULL;
    char *text = value ? sqlite3_mprintf("%s=%s", name, value) : NULL;
    int which = 0, n = name ? (int)strlen(name) + 1 : 0; /* bytes of "name=" */
    while (text && valid[which] && sqlite3_strnicmp(text, valid[which], n) != 0)
        which++;
    int rc = text == NULL   ? SQLITE_NOMEM
             : valid[which] ? take_once(which, value, plan, message)
                            : cuckoo_options_parse(text, strlen(text), &plan->options, message);
    sqlite3_free(name);
    sqlite3_free(value);
    sqlite3_free(text);
    return rc;
}

/* Handles an invalid argument: if the table exists already, a later version wrote it. From "; " on the
** message has remedies for CREATE; no argument contains that. */
static int refuse(bool stored, int rc, cuckoo_table_plan *plan, char **message)
{
    const char *what = *message, *end = what ? strstr(what, "; ") : NULL;
    if (!stored || what == NULL)
        return rc;
    if (plan->later == NULL)
        plan->later =
            sqlite3_mprintf(CUCKOO_LATER("%.*s"), end ? (int)(end - what) : (int)strlen(what), what);
    sqlite3_free(*message);
    *message = NULL;
    return plan->later ? SQLITE_OK : SQLITE_NOMEM;
}

int cuckoo_table_plan_read(int argc, const char *const *argv, bool stored, cuckoo_table_plan *plan,
                           char **message)
{
    enum { FIRST = 3 };
    *plan = (cuckoo_table_plan){.given = 0};
    *message = NULL;
    cuckoo_options_default(&plan->options);
    plan->options.beside = valid;
    int rc = SQLITE_OK;
    for (int i = FIRST; rc == SQLITE_OK && i < argc; i++)
        rc = refuse(stored, take_argument(argv[i], plan, message), plan, message);
    if (rc == SQLITE_OK)
        rc = refuse(stored, cuckoo_options_check(&plan->options, message), plan, message);
    if (!(plan->given & 1u << FPR) && plan->options.filter.fingerprint_bits)
        plan->options.fpr = 0; /* fingerprint_bits decides */
    plan->once |= plan->keep || plan->options.filter.epochs;
    if (rc != SQLITE_OK)
        cuckoo_table_plan_free(plan);
    return rc;
}

/* ---- planning a new table ---- */

/* Takes the key rule of the column. An option that gives another rule is an error. */
static int follow_column(sqlite3 *db, const char *schema, cuckoo_table_plan *plan, char **message)
{
    cf_options found = plan->options.filter, *given = &plan->options.filter;
    int rc = cuckoo_column_table(db, schema, plan->content, message);
    rc = rc ? rc : cuckoo_column_rule(db, schema, plan->content, plan->column, &found, message);
    if (rc != SQLITE_OK)
        return rc;
    bool differs =
        (cuckoo_has(&plan->options, CUCKOO_OPTION_AFFINITY) && given->affinity != found.affinity) ||
        (cuckoo_has(&plan->options, CUCKOO_OPTION_COLLATION) && given->collation != found.collation);
    *given = found;
    given->key_types = CF_TYPE_ANY; /* it compares as the column does */
    if (!differs)
        return SQLITE_OK;
    return cuckoo_say(
        message, SQLITE_ERROR, "column %s has affinity=%s and collation=%s: leave these options out",
        plan->column, cuckoo_affinity_words[found.affinity], cuckoo_collation_words[found.collation]);
}

/* Sets what the arguments leave open: repeating keys are counted, and the rows give the capacity. With
** rowids=on the first rebuild plans it. */
static int take_from_table(sqlite3 *db, const char *schema, cuckoo_table_plan *plan, char **message)
{
    enum { COUNTER_BITS = 8, LEAST_CAPACITY = 10000 };
    cuckoo_options *options = &plan->options;
    bool unique = true;
    const char *collation = cuckoo_collation_words[options->filter.collation];
    int rc = plan->rowids || cuckoo_has(options, CUCKOO_OPTION_COUNTER_BITS)
                 ? SQLITE_OK
                 : cuckoo_column_is_unique(db, schema, plan->content, plan->column, collation, &unique);
    if (!unique)
        options->filter.counter_bits = COUNTER_BITS;
    if (plan->rowids)
        options->filter.value_bits = 16;
    if (rc != SQLITE_OK || cuckoo_has(options, CUCKOO_OPTION_CAPACITY))
        return rc;
    options->capacity = LEAST_CAPACITY;
    return plan->rowids
               ? rc
               : cuckoo_column_capacity(db, schema, plan->content, plan->column, &options->filter,
                                        options->filter.counter_bits != 0, &options->capacity, message);
}

/* With keep= a key is kept for the window, an eighth of it more, and the rest of its epoch. */
static cf_status plan_filter(const cuckoo_table_plan *plan, cf_geometry *shape, const char **why)
{
    cf_options filter = plan->options.filter;
    uint64_t capacity = plan->options.capacity, keys = capacity ? capacity : 1;
    if (plan->keep) { /* 14.7 epochs, of 12; cf_plan adds a 15th part */
        filter.epochs = CF_EPOCHS_MAX;
        keys += keys * 19 / 128;
    }
    cf_status status = cf_plan(keys, plan->options.fpr, &filter, shape, why);
    if (status == CF_OK && plan->keep)
        shape->capacity = capacity;
    return status;
}

int cuckoo_table_plan_shape(sqlite3 *db, const char *const *argv, cuckoo_table_plan *plan,
                            cf_geometry *shape, char **message)
{
    assert(plan->later == NULL && *message == NULL);
    const char *why = NULL;
    const cuckoo_options *options = &plan->options;
    if (options->filter.value_bits)
        return cuckoo_say(message, SQLITE_ERROR,
                          "value_bits=%d: a filter table stores no values; store them in a blob, which "
                          "cf_new(capacity, fpr, 'value_bits=%d') makes, and query it with cf_get",
                          options->filter.value_bits, options->filter.value_bits);
    if ((plan->rows || plan->rowids) && plan->content == NULL)
        return cuckoo_say(message, SQLITE_ERROR, "%s; add content='table(column)'",
                          plan->rows ? "rows=on shows the rows of a table"
                                     : "rowids=on stores the rowids of a table");
    if (plan->content && sqlite3_stricmp(plan->content, argv[2]) == 0) /* it has no columns yet */
        return cuckoo_say(
            message, SQLITE_ERROR,
            "content is the filter itself: give the table that it should stay in sync with");
    int rc = plan->content ? follow_column(db, argv[1], plan, message) : SQLITE_OK;
    rc = rc == SQLITE_OK && plan->content ? take_from_table(db, argv[1], plan, message) : rc;
    if (rc != SQLITE_OK)
        return rc;
    if (plan->once && plan->content)
        return cuckoo_say(message, SQLITE_ERROR,
                          "%s, content= stays in sync with a table: give one of them",
                          plan->keep               ? "keep= expires keys by time"
                          : options->filter.epochs ? "epochs= expires keys"
                                                   : "adds=once is for keys that you insert");
    if (plan->keep && (options->filter.epochs || options->filter.counter_bits || options->filter.stash))
        why = "keep= uses the clock: leave epochs, counter_bits and stash=on out";
    else if (!cuckoo_has(options, CUCKOO_OPTION_CAPACITY) && plan->content == NULL)
        why = "capacity is missing; give the number of keys that it should hold, such as "
              "capacity=1000000, or the column that has them: content='table(column)'";
    cf_status status = why ? CF_BAD_ARGUMENT : plan_filter(plan, shape, &why);
    return status == CF_OK ? cuckoo_memory_for(shape, message)
                           : cuckoo_say(message, cuckoo_error_code(status), "%s", why);
}

void cuckoo_table_plan_free(cuckoo_table_plan *plan)
{
    sqlite3_free(plan->content);
    sqlite3_free(plan->column);
    sqlite3_free(plan->later);
    plan->content = plan->column = plan->later = NULL;
}
