// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math/rand"
	"time"
)

// writer changes a table that a filter follows, and one that it keeps in step itself. It knows what was acknowledged.
type writer struct {
	db      *sql.DB
	rng     *rand.Rand
	present map[int64]bool // true: acknowledged; false: the write failed, and nobody knows
	gone    []int64        // deletes that were acknowledged
	next    int64

	added, deleted, errors, passed, failed int
}

// expect counts a check.
func (w *writer) expect(right bool, format string, values ...interface{}) {
	if right {
		w.passed++
		return
	}
	w.failed++
	say("FAIL "+format, values...)
}

func patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 2*time.Second)
}

func (w *writer) exec(statement string, values ...interface{}) error {
	ctx, cancel := patient()
	defer cancel()
	_, err := w.db.ExecContext(ctx, statement, values...)
	return err
}

func (w *writer) number(query string, values ...interface{}) (int64, error) {
	ctx, cancel := patient()
	defer cancel()
	var n int64
	err := w.db.QueryRowContext(ctx, query, values...).Scan(&n)
	return n, err
}

func (w *writer) must(query string, values ...interface{}) int64 {
	var n int64
	retry(func() error {
		var err error
		n, err = w.number(query, values...)
		return err
	}, query)
	return n
}

// The filter is small, so that it grows. Its seed is random: drawn once, by the leader.
func (w *writer) createTables() {
	for _, statement := range []string{
		"CREATE TABLE person(id INTEGER PRIMARY KEY, mail TEXT UNIQUE)",
		"CREATE TABLE entered(id INTEGER PRIMARY KEY)",
		"CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=1000, fpr=0.001, content='person(mail)')",
		"CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=1000, fpr=0.001, affinity=integer)",
	} {
		retry(func() error { return w.exec(statement) }, statement)
	}
}

// ---- changes ----

var adding = []string{"INSERT INTO person VALUES (?1, 'person.' || ?1 || '@example.org')",
	"INSERT INTO entered VALUES (?1)", "INSERT INTO seen(key) VALUES (?1)"}

var deleting = []string{"DELETE FROM person WHERE id = ?1",
	"DELETE FROM seen WHERE key = (SELECT id FROM entered WHERE id = ?1)", "DELETE FROM entered WHERE id = ?1"}

// change adds a key or deletes one in a single statement; or it adds and deletes some in a transaction, which enters
// them in the filter without content, too.
func (w *writer) change() {
	first := w.next
	var deletes []int64
	var err error
	switch w.rng.Intn(6) {
	case 0:
		w.next++
		err = w.exec(adding[0], first)
	case 1:
		deletes = w.some(1)
		for _, id := range deletes {
			err = w.exec(deleting[0], id)
		}
	default:
		w.next += int64(1 + w.rng.Intn(20))
		deletes = w.some(w.rng.Intn(8))
		err = w.changeMany(first, w.next, deletes)
	}
	w.note(err, first, deletes)
}

// changeMany is a transaction. (The driver's own Commit and Rollback wait for ever for a node that is stopped: they
// have no context.)
func (w *writer) changeMany(first, end int64, deletes []int64) error {
	ctx, cancel := patient()
	defer cancel()
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	run := func(statement string, values ...interface{}) {
		if err == nil {
			_, err = conn.ExecContext(ctx, statement, values...)
		}
	}
	run("BEGIN")
	for id := first; id < end; id++ {
		for _, statement := range adding {
			run(statement, id)
		}
	}
	for _, id := range deletes {
		for _, statement := range deleting {
			run(statement, id)
		}
	}
	run("COMMIT")
	if err != nil { // the connection is given up, and the transaction with it
		conn.Raw(func(interface{}) error { return driver.ErrBadConn })
	}
	return err
}

// some gives n keys that are there for certain.
func (w *writer) some(n int) []int64 {
	keys := []int64{}
	for id, sure := range w.present {
		if sure && len(keys) < n {
			keys = append(keys, id)
		}
	}
	return keys
}

// note writes down what was acknowledged, and what is not known.
func (w *writer) note(err error, first int64, deletes []int64) {
	for id := first; id < w.next; id++ {
		w.present[id] = err == nil
	}
	for _, id := range deletes {
		w.present[id] = false
		if err == nil {
			delete(w.present, id)
			w.gone = append(w.gone, id)
		}
	}
	if err != nil {
		w.errors++
		time.Sleep(20 * time.Millisecond)
		return
	}
	w.added += int(w.next - first)
	w.deleted += len(deletes)
}

// writeUntil goes on until something has happened and a hundred keys were written after it.
func (w *writer) writeUntil(done chan string) string {
	what := ""
	for goal := 0; what == "" || w.added < goal; {
		w.change()
		select {
		case what = <-done:
			goal = w.added + 100
		default:
		}
	}
	return what
}

// ---- what the leader has of it ----

// Each is 0: keys of rows that a filter misses.
var misses = []string{"SELECT count(*) FROM person WHERE NOT EXISTS (SELECT 1 FROM known WHERE key = mail)",
	"SELECT count(*) FROM entered WHERE NOT cf_table_contains('seen', id)"}

// askLeader asks the leader of now what it has of all that was acknowledged. A write that failed is there, in full, or
// not at all. A deleted key that is found is an error of the filter, which it may make.
func (w *writer) askLeader() {
	rows := w.rowsOfTable()
	lost, stayed, found := 0, 0, 0
	for id, sure := range w.present {
		if sure && !rows[id] {
			lost++
		} else if !sure && !rows[id] {
			delete(w.present, id)
		} else {
			w.present[id] = true
		}
	}
	for i, id := range w.gone {
		if rows[id] {
			stayed++
		}
		if len(w.gone)-i <= 100 {
			found += int(w.must("SELECT cf_table_contains('known', ?)", fmt.Sprintf("person.%d@example.org", id)))
		}
	}
	w.expect(lost+stayed == 0, "the table: %d acknowledged rows are lost, %d deleted ones are back", lost, stayed)
	for _, query := range misses {
		missed := w.must(query)
		w.expect(missed == 0, "the filter misses %d keys", missed)
	}
	must(w.exec("INSERT INTO known(known) VALUES ('check')"), "check")
	w.expect(w.must("SELECT cf_check(cf_export('known')) = 'ok' AND cf_check(cf_export('seen')) = 'ok'") == 1, "cf_check")
	w.expect(found <= 5, "of the last 100 deleted keys %d are found", found)
}

func (w *writer) rowsOfTable() map[int64]bool {
	rows := map[int64]bool{}
	retry(func() error {
		ctx, cancel := patient()
		defer cancel()
		found, err := w.db.QueryContext(ctx, "SELECT id FROM person")
		if err != nil {
			return err
		}
		defer found.Close()
		for found.Next() {
			var id int64
			if err := found.Scan(&id); err != nil {
				return err
			}
			rows[id] = true
		}
		return found.Err()
	}, "reading the table")
	return rows
}

// ---- while it is written to ----

// reader asks with a connection of its own, which outlives some leaders. Errors are no answers: it asks again.
type reader struct {
	asking        *writer
	asked, missed int
	stop, stopped chan bool
}

func startReader(db *sql.DB) *reader {
	r := &reader{asking: &writer{db: db}, stop: make(chan bool), stopped: make(chan bool)}
	go r.read()
	return r
}

func (r *reader) read() {
	for {
		for _, query := range misses {
			if missed, err := r.asking.number(query); err == nil {
				r.asked++
				r.missed += int(missed)
			}
		}
		select {
		case <-r.stop:
			r.stopped <- true
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (r *reader) end(w *writer) {
	r.stop <- true
	<-r.stopped
	w.expect(r.missed == 0 && r.asked > 10, "a reader missed %d keys, asking %d times", r.missed, r.asked)
}
