/* SPDX-License-Identifier: MIT */
/*
** runner.c - runs an SQL script on a platform: what a shell does, as far as the scripts need it.
**
**      runner [database] < script
**
** Rows are written as the shell's list mode does, behind .headers on with a line of their names first; an
** error as "Error: message", and the script goes on. Of the shell's own commands it knows .load, .import
** (one column, of a file or a "|pipe") and .limit length as well; .mode is passed over. Compiled with
** SQLITE_CORE the extension is linked in, and .load brings nothing new.
**
** digest(blob or text) is a function of its own, the 64-bit FNV-1a hash: of other making than what it
** is to check.
*/
#define _POSIX_C_SOURCE 200809L /* popen */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#define popen  _popen
#define pclose _pclose
#endif

#ifdef SQLITE_CORE
struct sqlite3_api_routines;
int sqlite3_cuckoo_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);
#endif

typedef struct script {
    char *text;
    size_t length, room;
} script;

static int headers;

static void say_error(const char *message)
{
    printf("Error: %s\n", message);
}

static void digest(sqlite3_context *context, int count, sqlite3_value **values)
{
    const unsigned char *bytes = sqlite3_value_blob(values[0]);
    int n = sqlite3_value_bytes(values[0]);
    unsigned long long hash = 0xcbf29ce484222325u;
    char hex[20];
    (void)count;
    for (int i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    for (int i = 0; i < 16; i++)
        hex[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
    sqlite3_result_text(context, hex, 16, SQLITE_TRANSIENT);
}

static void print_names(sqlite3_stmt *statement)
{
    for (int i = 0; i < sqlite3_column_count(statement); i++)
        printf("%s%s", i ? "|" : "", sqlite3_column_name(statement, i));
    printf("\n");
}

static void print_row(sqlite3_stmt *statement)
{
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        const unsigned char *text = sqlite3_column_text(statement, i);
        printf("%s%s", i ? "|" : "", text ? (const char *)text : "");
    }
    printf("\n");
}

/* Runs statements up to the first that fails. */
static void run_statements(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, &sql);
    while (rc == SQLITE_OK && statement != NULL) {
        for (int n = 0; (rc = sqlite3_step(statement)) == SQLITE_ROW; n++) {
            if (n == 0 && headers)
                print_names(statement);
            print_row(statement);
        }
        rc = sqlite3_finalize(statement);
        if (rc == SQLITE_OK)
            rc = sqlite3_prepare_v2(db, sql, -1, &statement, &sql);
    }
    if (rc != SQLITE_OK)
        say_error(sqlite3_errmsg(db));
}

static void load(sqlite3 *db, const char *path)
{
#ifdef SQLITE_CORE
    (void)db, (void)path;
#else
    char *message = NULL;
    if (sqlite3_load_extension(db, path, NULL, &message) != SQLITE_OK)
        say_error(message ? message : "the extension does not load");
    sqlite3_free(message);
#endif
}

static void import(sqlite3 *db, const char *path, const char *table)
{
    char line[1000], *sql = sqlite3_mprintf("INSERT INTO \"%w\" VALUES (?1)", table);
    sqlite3_stmt *insert = NULL;
    FILE *file = *path == '|' ? popen(path + 1, "r") : fopen(path, "rb");
    if (file == NULL || sqlite3_prepare_v2(db, sql, -1, &insert, NULL) != SQLITE_OK)
        say_error(file ? sqlite3_errmsg(db) : "no file to import");
    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    while (insert != NULL && fgets(line, sizeof line, file)) {
        sqlite3_bind_text(insert, 1, line, (int)strcspn(line, "\n"), SQLITE_TRANSIENT);
        sqlite3_step(insert);
        sqlite3_reset(insert);
    }
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_finalize(insert);
    sqlite3_free(sql);
    if (file != NULL && *path == '|')
        pclose(file);
    else if (file != NULL)
        fclose(file);
}

static void run_command(sqlite3 *db, char *line)
{
    char first[1000] = "", second[1000] = "";
    if (sscanf(line, ".load %999s", first) == 1)
        load(db, first);
    else if (sscanf(line, ".import \"%999[^\"]\" %999s", first, second) == 2 ||
             sscanf(line, ".import %999s %999s", first, second) == 2)
        import(db, first, second);
    else if (sscanf(line, ".limit length %999s", first) == 1)
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, atoi(first));
    else if (strncmp(line, ".headers on", 11) == 0)
        headers = 1;
    else if (strncmp(line, ".mode", 5) != 0)
        say_error("unknown command");
}

static void append(script *pending, const char *line)
{
    size_t n = strlen(line);
    if (pending->length + n + 1 > pending->room) {
        pending->room = 2 * (pending->length + n + 1);
        pending->text = realloc(pending->text, pending->room);
        if (pending->text == NULL)
            abort();
    }
    memcpy(pending->text + pending->length, line, n + 1);
    pending->length += n;
}

static int says_nothing(const char *line)
{
    line += strspn(line, " \t\r\n");
    return *line == 0 || strncmp(line, "--", 2) == 0;
}

static void run_script(sqlite3 *db, FILE *file)
{
    char line[10000];
    script pending = {NULL, 0, 0};
    while (fgets(line, sizeof line, file)) {
        if (pending.length == 0 && line[0] == '.')
            run_command(db, line);
        else if (pending.length > 0 || !says_nothing(line))
            append(&pending, line);
        if (pending.length == 0 || !sqlite3_complete(pending.text))
            continue;
        run_statements(db, pending.text);
        pending.length = 0;
    }
    free(pending.text);
}

static int set_up(sqlite3 *db)
{
#ifdef SQLITE_CORE
    if (sqlite3_cuckoo_init(db, NULL, NULL) != SQLITE_OK)
        return SQLITE_ERROR;
#else
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
#endif
    return sqlite3_create_function(db, "digest", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, digest,
                                   NULL, NULL);
}

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
#ifdef _WIN32
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#endif
    int rc = sqlite3_open(argc > 1 ? argv[argc - 1] : ":memory:", &db);
    if (rc == SQLITE_OK)
        rc = set_up(db);
    if (rc == SQLITE_OK)
        run_script(db, stdin);
    else
        say_error(sqlite3_errmsg(db));
    return sqlite3_close(db) == SQLITE_OK && rc == SQLITE_OK ? 0 : 1;
}
