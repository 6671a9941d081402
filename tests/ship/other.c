/* SPDX-License-Identifier: MIT */
/*
** other.c - another extension, which stands in one file with cuckoo.c, before or behind it. Its names are those that
** such files like to use, and some of this project without their prefixes. It has a copy of xxHash, too.
*/
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MOST    7
#define NOWHERE 8
enum { COST = 1, FEW = 2 };

typedef struct queue {
    int n;
} queue;

static int insert(int a)
{
    queue push = {a};
    return push.n + MOST + NOWHERE + COST + FEW;
}

static void load(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    size_t n = (size_t)sqlite3_value_bytes(argv[argc - 1]);
    sqlite3_result_int(context, (int)(XXH3_64bits(sqlite3_value_blob(argv[0]), n) & 0xff) + insert(100));
}

#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
int sqlite3_other_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    (void)message;
    return sqlite3_create_function(db, "other", 1, SQLITE_UTF8, NULL, load, NULL, NULL);
}
