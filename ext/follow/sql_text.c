/* SPDX-License-Identifier: MIT */
#include "sql_text.h"

#include <string.h>

bool cuckoo_sql_is_name_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '$' || (c & 0x80);
}

const char *cuckoo_sql_skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r' || *at == '\f')
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

/* ---- tokens ---- */

/* SQLite treats a byte order mark between tokens as a space. */
static const char *skip_blanks_and_comments(const char *at)
{
    for (const char *from = NULL; from != at;) {
        from = at;
        at = cuckoo_sql_skip_blanks(at);
        if (strncmp(at, "\xEF\xBB\xBF", 3) == 0)
            at += 3;
        const char *end = NULL, *closing = strncmp(at, "--", 2) == 0 ? "\n" : "*/";
        if (*closing == '\n' || strncmp(at, "/*", 2) == 0) {
            end = strstr(at + 2, closing);
            at = end ? end + strlen(closing) : at + strlen(at);
        }
    }
    return at;
}

static const char *end_of_quoted(const char *at)
{
    char closing = *at == '[' ? ']' : *at;
    bool doubles = *at++ != '[';
    while (*at && (*at != closing || (doubles && at[1] == closing)))
        at += *at == closing ? 2 : 1;
    return at + (*at != 0);
}

cuckoo_token cuckoo_sql_token(const char **sql)
{
    const char *at = skip_blanks_and_comments(*sql), *end = at;
    cuckoo_token_kind kind = CUCKOO_TOKEN_WORD;
    while (cuckoo_sql_is_name_char(*end))
        end++;
    if (end == at && *at) {
        kind = strchr("'\"`[", *at) ? CUCKOO_TOKEN_QUOTED : CUCKOO_TOKEN_OTHER;
        end = kind == CUCKOO_TOKEN_QUOTED ? end_of_quoted(at) : at + 1;
    }
    *sql = end;
    return (cuckoo_token){*at ? kind : CUCKOO_TOKEN_END, at, (size_t)(end - at)};
}

bool cuckoo_token_is(cuckoo_token token, const char *word)
{
    return token.kind != CUCKOO_TOKEN_QUOTED && token.n == strlen(word) &&
           sqlite3_strnicmp(token.at, word, (int)token.n) == 0;
}

bool cuckoo_token_names(cuckoo_token token, const char *name)
{
    if (token.kind != CUCKOO_TOKEN_QUOTED)
        return cuckoo_token_is(token, name);
    char closing = *token.at == '[' ? ']' : *token.at;
    const char *at = token.at + 1, *end = token.at + token.n;
    end -= end > at && end[-1] == closing;
    for (; at < end && *name && sqlite3_strnicmp(at, name, 1) == 0; name++)
        at += *at == closing ? 2 : 1;
    return at >= end && *name == 0;
}

/* ---- searching a text ---- */

bool cuckoo_sql_names(const char *sql, const char *word, const char *name)
{
    cuckoo_token token = cuckoo_sql_token(&sql);
    bool behind = false; /* after the word: this token may be the name */
    for (; token.kind != CUCKOO_TOKEN_END; token = cuckoo_sql_token(&sql)) {
        const char *next = sql;
        bool is_schema = behind && cuckoo_token_is(cuckoo_sql_token(&next), ".");
        if (behind && cuckoo_token_names(token, name))
            return true;
        behind = is_schema || cuckoo_token_is(token, word) || (behind && cuckoo_token_is(token, "."));
    }
    return false;
}

bool cuckoo_sql_computes(const char *sql, const char *name)
{
    int depth = 0; /* parentheses open in the expression of a generated column */
    bool as = false;
    for (cuckoo_token token = cuckoo_sql_token(&sql); token.kind != CUCKOO_TOKEN_END;
         token = cuckoo_sql_token(&sql)) {
        if (depth > 0 && *token.at != '\'' && cuckoo_token_names(token, name))
            return true;
        depth += (as || depth > 0) && cuckoo_token_is(token, "(");
        depth -= depth > 0 && cuckoo_token_is(token, ")");
        as = cuckoo_token_is(token, "as");
    }
    return false;
}
