/*
** table_arguments.c - what CREATE VIRTUAL TABLE ... USING cuckoo_filter(...) says.
*/
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

static bool read_fpr(const char *text, cuckoo_table_plan *plan, char **message)
{
    char rest;
    double fpr;
    if (plan->has_fpr)
        return complain(message, sqlite3_mprintf("cuckoo_filter: fpr is given twice"));
    if (sscanf(text, "%lf %c", &fpr, &rest) != 1 || !(fpr > 0 && fpr < 1))
        return complain(
            message, sqlite3_mprintf("cuckoo_filter: fpr must be a number above 0 and below 1, such as "
                                     "fpr=0.001"));
    plan->options.fpr = fpr;
    plan->has_fpr = true;
    return true;
}

/* A copy of a quoted text without its quotes, in which they are doubled; of any other text, without blanks around it. */
static char *unquoted(const char *text, size_t n)
{
    static const char opening[] = "'\"`[", closing[] = "'\"`]";
    while (n > 0 && strchr(" \t\r\n", text[n - 1]))
        n--;
    while (n > 0 && strchr(" \t\r\n", *text))
        text++, n--;
    char *copy = sqlite3_mprintf("%.*s", (int)n, text);
    const char *quote = n >= 2 ? strchr(opening, *text) : NULL;
    if (copy == NULL || quote == NULL || text[n - 1] != closing[quote - opening])
        return copy;
    size_t kept = 0;
    for (size_t i = 1; i < n - 1; i++) {
        copy[kept++] = text[i];
        if (text[i] == *quote && i + 1 < n - 1 && text[i + 1] == *quote)
            i++;
    }
    copy[kept] = 0;
    return copy;
}

/* The parenthesis that the last one closes; NULL: none. */
static const char *opening_of(const char *text, size_t n)
{
    int depth = 0;
    for (const char *at = text + n; at-- > text;) {
        depth += (*at == ')') - (*at == '(');
        if (depth == 0)
            return *at == '(' ? at : NULL;
    }
    return NULL;
}

/* content='table(column)', in which either may be quoted. */
static bool split_content(const char *text, cuckoo_table_plan *plan, char **message)
{
    size_t n = strlen(text);
    const char *open = opening_of(text, n);
    if (open == NULL || open == text || text[n - 1] != ')' || open + 1 == text + n - 1)
        return complain(message, sqlite3_mprintf("cuckoo_filter: content must be 'table(column)'"));
    plan->content = unquoted(text, (size_t)(open - text));
    plan->column = unquoted(open + 1, (size_t)(text + n - open - 2));
    return plan->content && plan->column;
}

static bool read_content(const char *value, cuckoo_table_plan *plan, char **message)
{
    if (plan->content)
        return complain(message, sqlite3_mprintf("cuckoo_filter: content is given twice"));
    char *text = unquoted(value, strlen(value));
    bool ok = text && split_content(text, plan, message);
    sqlite3_free(text);
    return ok;
}

/* "name = value" without blanks, to be read with the others. */
static void append_option(sqlite3_str *rest, const char *argument)
{
    const char *equals = strchr(argument, '=');
    size_t n = equals ? (size_t)(equals - argument) : 0;
    while (n > 0 && strchr(" \t\r\n", argument[n - 1]))
        n--;
    if (equals)
        sqlite3_str_appendf(rest, "%.*s=%s ", (int)n, argument, skip_blanks(equals + 1));
    else
        sqlite3_str_appendf(rest, "%s ", argument);
}

static bool read_argument(const char *argument, sqlite3_str *rest, cuckoo_table_plan *plan,
                          char **message)
{
    const char *value;
    if ((value = value_of(argument, "fpr")) != NULL)
        return read_fpr(value, plan, message);
    if ((value = value_of(argument, "content")) != NULL)
        return read_content(value, plan, message);
    append_option(rest, argument);
    return true;
}

static bool read_rest(sqlite3_str *rest, cuckoo_table_plan *plan, char **message)
{
    int code = sqlite3_str_errcode(rest);
    char *why = NULL, *text = sqlite3_str_finish(rest); /* NULL: nothing, or no memory */
    bool ok = text ? cuckoo_options_parse(text, strlen(text), &plan->options, &why) : code == SQLITE_OK;
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
    if (ok)
        ok = read_rest(rest, plan, message);
    else
        sqlite3_free(sqlite3_str_finish(rest));
    if (!plan->has_fpr && plan->options.filter.fingerprint_bits)
        plan->options.fpr = 0; /* these alone count */
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
