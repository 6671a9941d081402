/* SPDX-License-Identifier: MIT */
#include "sql_text.h"

#include <string.h>

static bool is_name_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '$' || (c & 0x80);
}

const char *cuckoo_sql_skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
        at++;
    return at;
}

char *cuckoo_sql_unquoted(const char *text, size_t n)
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

/* Returns the end of the name at `at`, which may be quoted. *same: it is `name`. */
static const char *read_name(const char *at, const char *name, bool *same)
{
    int n = (int)strlen(name);
    bool quoted = *at && strchr("\"'`[", *at);
    at += quoted;
    *same = sqlite3_strnicmp(at, name, n) == 0 && !is_name_char(at[n]);
    while (*at && (quoted ? !strchr("\"'`]", *at) : is_name_char(*at)))
        at++;
    return *at && quoted ? at + 1 : at;
}

bool cuckoo_sql_writes_into(const char *sql, const char *name)
{
    for (; *sql; sql++) {
        bool same;
        if (sqlite3_strnicmp(sql, "into", 4) != 0 || is_name_char(sql[4]))
            continue;
        const char *at = cuckoo_sql_skip_blanks(sql + 4);
        if (*at == '/' || *at == '-')
            return true;
        at = cuckoo_sql_skip_blanks(read_name(at, name, &same));
        if (*at == '.')
            read_name(cuckoo_sql_skip_blanks(at + 1), name, &same);
        if (same)
            return true;
    }
    return false;
}

bool cuckoo_sql_has_word(const char *sql, const char *word)
{
    int n = (int)strlen(word);
    for (const char *at = sql; *at; at++)
        if ((at == sql || !is_name_char(at[-1])) && sqlite3_strnicmp(at, word, n) == 0 &&
            !is_name_char(at[n]))
            return true;
    return false;
}
