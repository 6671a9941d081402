// SPDX-License-Identifier: MIT

package main

/*
#cgo LDFLAGS: -L${SRCDIR}/../../../build -lcuckoo_sqlite -lsqlite3 -lm
#include <sqlite3.h>

int sqlite3_cuckoo_init(sqlite3 *db, char **message, const void *api);

static int register_cuckoo(void)
{
    return sqlite3_auto_extension((void (*)(void))sqlite3_cuckoo_init);
}
*/
import "C"

import (
	"fmt"
	"os/exec"
	"strings"
)

func registerExtension() {
	if rc := C.register_cuckoo(); rc != 0 {
		must(fmt.Errorf("code %d", rc), "sqlite3_auto_extension")
	}
}

// answer asks a database file by the shell, without any node.
func answer(path, sql string) string {
	said, _ := exec.Command("sqlite3", "-batch", path, ".load build/cuckoo", sql).CombinedOutput()
	return strings.TrimSpace(string(said))
}
