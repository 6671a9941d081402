// SPDX-License-Identifier: MIT

// Go with mattn's driver. Every connection of the pool loads the extension when it is made.
package main

import (
	"database/sql"
	"fmt"

	"github.com/mattn/go-sqlite3"
)

var db *sql.DB

func contains(blob []byte, key any) (answer int) {
	db.QueryRow("SELECT cf_contains(?, ?)", blob, key).Scan(&answer)
	return
}

func known(key string) (answer int) {
	db.QueryRow("SELECT cf_table_contains('known', ?)", key).Scan(&answer)
	return
}

func main() {
	sql.Register("sqlite3_cuckoo", &sqlite3.SQLiteDriver{Extensions: []string{"build/cuckoo"}})
	db, _ = sql.Open("sqlite3_cuckoo", ":memory:")
	db.SetMaxOpenConns(1) // each connection has its own :memory:
	db.Exec("CREATE TABLE users(id INTEGER, email TEXT)")
	db.Exec("INSERT INTO users VALUES (?, ?), (?, ?), (?, ?)", 1, "ada", 2, "bob", 1<<53+1, "cyd")
	var ids, texts []byte
	db.QueryRow("SELECT cf_build(id, 0.000001), cf_build(email, 0.000001) FROM users").Scan(&ids, &texts)
	db.Exec("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')")
	db.Exec("INSERT INTO users VALUES (?, ?)", 4, "dan")
	fmt.Printf("ids %d %d %d %d %d, texts %d %d, table %d %d\n",
		contains(ids, 1), contains(ids, 3), contains(ids, "one"), contains(ids, 1<<53+1), contains(ids, 1<<53),
		contains(texts, "bob"), contains(texts, "zoe"), known("dan"), known("eve"))
}
