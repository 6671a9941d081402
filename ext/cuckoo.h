/* SPDX-License-Identifier: MIT */
/*
** cuckoo.h - the extension, for programs that link it instead of loading it.
**
** Compile it with -DSQLITE_CORE: then it calls SQLite directly. From then on
**
**      sqlite3_auto_extension((void (*)(void))sqlite3_cuckoo_init);
**
** gives its functions and tables to every connection that the process opens. Call it once, before
** the first connection is opened. For a single connection call
**
**      sqlite3_cuckoo_init(db, NULL, NULL);
**
** instead. Both may be done on one connection; the second call does nothing. An extension that was
** compiled without SQLITE_CORE crashes if it is called in this way: it must be loaded, with
** sqlite3_load_extension or .load.
*/
#ifndef CUCKOO_H
#define CUCKOO_H

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3;
struct sqlite3_api_routines;

#ifndef CUCKOO_ENTRY
#define CUCKOO_ENTRY /* a keyword before exported functions, for compilers that need one */
#endif

/*
** The entry point. `api` may be NULL with SQLITE_CORE. SQLITE_OK; or an error code, and *message is the
** reason, in memory of sqlite3_malloc, or NULL. `message` may be NULL. After an error nothing is
** registered, except while a statement runs: then SQLite cannot unregister functions.
*/
CUCKOO_ENTRY int sqlite3_cuckoo_init(struct sqlite3 *db, char **message,
                                     const struct sqlite3_api_routines *api);

#ifdef __cplusplus
}
#endif

#endif
