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

static int add(int a, int b)
{
    queue push = {a};
    return push.n + b;
}

static int insert(int a)
{
    return add(a, MOST + NOWHERE + COST + FEW);
}

static void load(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    sqlite3_result_int64(context, (sqlite3_int64)(XXH3_64bits(sqlite3_value_blob(argv[0]),
                                                              (size_t)sqlite3_value_bytes(argv[0])) &
                                                  0xff) +
                                      insert(100));
}

#ifdef _WIN32
__declspec(dllexport)
#elif defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int sqlite3_other_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    (void)message;
    return sqlite3_create_function(db, "other", 1, SQLITE_UTF8, NULL, load, NULL, NULL);
}
