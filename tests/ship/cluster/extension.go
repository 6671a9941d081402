// SPDX-License-Identifier: MIT

package main

/*
#cgo LDFLAGS: -L${SRCDIR}/../../../build -lcuckoo_sqlite -lsqlite3 -lm
#include <sqlite3.h>
#include <stdlib.h>

int sqlite3_cuckoo_init(sqlite3 *db, char **message, const void *api);

static int register_cuckoo(void)
{
    return sqlite3_auto_extension((void (*)(void))sqlite3_cuckoo_init);
}

// The first value of a query on a database file, as text of sqlite3_malloc; or what is wrong.
static char *answer(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    char *text = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        text = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    if (text == NULL)
        text = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return text;
}
*/
import "C"

import (
	"fmt"
	"unsafe"
)

func registerExtension() {
	if rc := C.register_cuckoo(); rc != 0 {
		must(fmt.Errorf("code %d", rc), "sqlite3_auto_extension")
	}
}

// answer asks a database file, without any node.
func answer(path, sql string) string {
	cpath, csql := C.CString(path), C.CString(sql)
	defer C.free(unsafe.Pointer(cpath))
	defer C.free(unsafe.Pointer(csql))
	text := C.answer(cpath, csql)
	defer C.sqlite3_free(unsafe.Pointer(text))
	return C.GoString(text)
}
