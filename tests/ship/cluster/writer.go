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

	added, deleted, errors, missed, passed, failed int
}

func newWriter(db *sql.DB, rng *rand.Rand) *writer {
	return &writer{db: db, rng: rng, present: map[int64]bool{}, next: 1}
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

// The filter is small, so that it grows. Its seed is random: drawn once, by the leader.
func (w *writer) createTables() {
	for _, statement := range []string{
		"CREATE TABLE plain(id INTEGER PRIMARY KEY, mail TEXT UNIQUE)",
		"CREATE TABLE person(id INTEGER PRIMARY KEY, mail TEXT UNIQUE)",
		"CREATE TABLE entered(id INTEGER PRIMARY KEY)",
		"CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=1000, fpr=0.001, content='person(mail)')",
		"CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=1000, fpr=0.001, affinity=integer)",
	} {
		retry(func() error { return w.exec(statement) }, statement)
	}
}

// ---- writes per second ----

// measure writes to a table without a filter and to one with a content filter, in turn, for what else runs on the
// machine changes.
func (w *writer) measure() {
	const turns = 5
	single, many := map[string]float64{}, map[string]float64{}
	for turn := 0; turn < turns; turn++ {
		for _, table := range []string{"plain", "person"} {
			single[table] += w.rate(table, 80, 1) / turns
			many[table] += w.rate(table, 8, 100) / turns
			must(w.exec("DELETE FROM "+table), "emptying the table")
		}
	}
	for _, table := range []string{"plain", "person"} {
		with := map[string]string{"plain": "without a filter", "person": "with a content filter"}[table]
		say("%-22s %5.0f rows/s in single statements, %6.0f rows/s in transactions of 100", with, single[table], many[table])
	}
}

// rate inserts `times` transactions of `rows` rows.
func (w *writer) rate(table string, times, rows int) float64 {
	start := time.Now()
	for i := 0; i < times; i++ {
		must(w.transaction(func(run runner) error {
			for j := 0; j < rows; j++ {
				id := rows*1000000 + i*rows + j
				if err := run("INSERT INTO "+table+" VALUES (?, ?)", id, mailOf(int64(id))); err != nil {
					return err
				}
			}
			return nil
		}, rows > 1), "writing to "+table)
	}
	return float64(times*rows) / time.Since(start).Seconds()
}

// ---- changes ----

func mailOf(id int64) string {
	return fmt.Sprintf("person.%d@example.org", id)
}

type runner func(statement string, values ...interface{}) error

// transaction runs `change` between BEGIN and COMMIT, or without. (The driver's own Commit and Rollback wait for ever for
// a node that is stopped: they have no context.)
func (w *writer) transaction(change func(runner) error, begin bool) error {
	if !begin {
		return change(w.exec)
	}
	ctx, cancel := patient()
	defer cancel()
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	run := func(statement string, values ...interface{}) error {
		_, err := conn.ExecContext(ctx, statement, values...)
		return err
	}
	if err = run("BEGIN"); err == nil {
		err = change(run)
	}
	if err == nil {
		err = run("COMMIT")
	}
	if err != nil { // the connection is given up, and the transaction with it
		conn.Raw(func(interface{}) error { return driver.ErrBadConn })
	}
	return err
}

// change adds a key or deletes one in a single statement; or it adds and deletes some in a transaction, which enters
// them in the filter without content, too.
func (w *writer) change() {
	first := w.next
	var deletes []int64
	var err error
	switch w.rng.Intn(6) {
	case 0:
		w.next++
		err = w.exec("INSERT INTO person VALUES (?, ?)", first, mailOf(first))
	case 1:
		deletes = w.some(1)
		for _, id := range deletes {
			err = w.exec("DELETE FROM person WHERE id = ?", id)
		}
	default:
		w.next += int64(1 + w.rng.Intn(20))
		deletes = w.some(w.rng.Intn(8))
		err = w.transaction(func(run runner) error { return changeMany(run, first, w.next, deletes) }, true)
	}
	w.note(err, first, deletes)
}

var adding = []string{"INSERT INTO person VALUES (?1, 'person.' || ?1 || '@example.org')",
	"INSERT INTO entered VALUES (?1)", "INSERT INTO seen(key) VALUES (?1)"}

var deleting = []string{"DELETE FROM person WHERE id = ?1",
	"DELETE FROM seen WHERE key = (SELECT id FROM entered WHERE id = ?1)", "DELETE FROM entered WHERE id = ?1"}

func changeMany(run runner, first, end int64, deletes []int64) error {
	for id := first; id < end; id++ {
		for _, statement := range adding {
			if err := run(statement, id); err != nil {
				return err
			}
		}
	}
	for _, id := range deletes {
		for _, statement := range deleting {
			if err := run(statement, id); err != nil {
				return err
			}
		}
	}
	return nil
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

func (w *writer) summary() {
	fmt.Printf("%d keys written, %d deleted, %d writes failed and were looked up; %d keys missed; %.0f seconds\n",
		w.added, w.deleted, w.errors, w.missed, time.Since(began).Seconds())
	fmt.Printf("%d passed, %d failed\n", w.passed, w.failed)
}
