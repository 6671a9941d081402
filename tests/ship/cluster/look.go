// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/canonical/go-dqlite/client"
)

// Each is 0: keys of rows that a filter misses.
const (
	missedByKnown = "SELECT count(*) FROM person WHERE NOT EXISTS (SELECT 1 FROM known WHERE key = mail)"
	missedBySeen  = "SELECT count(*) FROM entered WHERE NOT cf_table_contains('seen', id)"
)

// askLeader asks the leader of now what it has of all that was acknowledged.
func (w *writer) askLeader() {
	w.settle()
	rows := w.rowsOfTable()
	lost, stayed := 0, 0
	for id := range w.present {
		if !rows[id] {
			lost++
		}
	}
	for _, id := range w.gone {
		if rows[id] {
			stayed++
		}
	}
	w.expect(lost+stayed == 0, "the table: %d acknowledged rows are lost, %d deleted ones are back", lost, stayed)
	missed := w.must(missedByKnown) + w.must(missedBySeen)
	w.missed += int(missed)
	w.expect(missed == 0, "the filter misses %d keys", missed)
	w.expectKeysOneByOne()
	must(w.exec("INSERT INTO known(known) VALUES ('check')"), "check")
	w.expect(w.must("SELECT cf_check(cf_export('known')) = 'ok' AND cf_check(cf_export('seen')) = 'ok'") == 1, "cf_check")
	found := w.stale()
	w.expect(found <= 5, "of the last 100 deleted keys %d are found", found)
	say("         the leader has %d keys; %d are lost, the filters miss %d; of the last 100 deleted keys %d are found",
		len(w.present), lost, missed, found)
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

// settle finds out what became of writes that failed: each is there, in full, or not at all.
func (w *writer) settle() {
	rows := w.rowsOfTable()
	for id, sure := range w.present {
		if !sure && rows[id] {
			w.present[id] = true
		} else if !sure {
			delete(w.present, id)
		}
	}
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

// expectKeysOneByOne asks with bound keys, as an application does.
func (w *writer) expectKeysOneByOne() {
	for _, id := range w.some(100) {
		mail := w.must("SELECT cf_table_contains('known', ?)", mailOf(id))
		w.missed += 1 - int(mail)
		w.expect(mail == 1, "%s is missed", mailOf(id))
	}
}

// stale counts which of the last 100 deleted keys are found. They are in no row, so these are errors
// of the filter, which it may make.
func (w *writer) stale() int {
	found := 0
	for _, id := range w.gone[max(0, len(w.gone)-100):] {
		found += int(w.must("SELECT cf_table_contains('known', ?)", mailOf(id)))
	}
	return found
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// ---- while it is written to ----

// reader asks with a connection of its own, which outlives some leaders. Errors are no answers: it asks again.
type reader struct {
	db               *sql.DB
	asked, missed    int
	stop, hasStopped chan bool
}

func startReader(db *sql.DB) *reader {
	r := &reader{db: db, stop: make(chan bool), hasStopped: make(chan bool)}
	go r.read()
	return r
}

func (r *reader) read() {
	asking := &writer{db: r.db}
	for {
		for _, query := range []string{missedByKnown, missedBySeen} {
			if missed, err := asking.number(query); err == nil {
				r.asked++
				r.missed += int(missed)
			}
		}
		select {
		case <-r.stop:
			r.hasStopped <- true
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (r *reader) end(w *writer) {
	r.stop <- true
	<-r.hasStopped
	w.missed += r.missed
	w.expect(r.missed == 0 && r.asked > 10, "a reader missed %d keys, asking %d times", r.missed, r.asked)
	say("a reader asked %d times for the keys of all rows, and missed %d", r.asked, r.missed)
}

// ---- the bytes of all nodes ----

// All rows of the shadow tables, and the keys of the table.
const bytesOfFilters = `SELECT
	(SELECT group_concat(no || ':' || hex(data)) FROM (SELECT * FROM known_page ORDER BY no)) ||
	(SELECT group_concat(no || ':' || hex(data)) FROM (SELECT * FROM seen_page ORDER BY no)) ||
	(SELECT count(*) || total(hash) || total(value) || total(adds) FROM known_wait) ||
	(SELECT count(*) || total(hash) || total(value) || total(adds) FROM seen_wait) ||
	(SELECT count(*) || total(id) FROM person)`

const seeds = "SELECT json_extract(cf_table_info('known'), '$.seed') || json_extract(cf_table_info('seen'), '$.seed')"

// dump asks one node, leader or not, for its copy of the database, and writes it to a folder.
func (n *node) dump() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	asked, err := client.New(ctx, n.address)
	if err != nil {
		return "", err
	}
	defer asked.Close()
	files, err := asked.Dump(ctx, database)
	if err != nil {
		return "", err
	}
	dir := n.dir + ".copy"
	os.RemoveAll(dir)
	os.MkdirAll(dir, 0o755)
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(dir, file.Name), file.Data, 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, database), nil
}

// compare waits until all nodes have the same bytes of the filters, and asks each copy.
func (c *cluster) compare(w *writer) {
	start := time.Now()
	var paths []string
	var bytes string
	retry(func() error {
		paths, bytes = nil, ""
		for _, n := range c.nodes {
			path, err := n.dump()
			if err != nil {
				return err
			}
			now := answer(path, bytesOfFilters)
			if len(now) < 1000 || (bytes != "" && now != bytes) {
				return fmt.Errorf("the filters of the nodes differ: %d and %d digits", len(bytes), len(now))
			}
			paths, bytes = append(paths, path), now
		}
		return nil
	}, "equal bytes on all nodes")
	for _, path := range paths {
		for _, query := range []string{missedByKnown, missedBySeen} {
			w.expect(answer(path, query) == "0", "%s: keys are missed: %s", path, answer(path, query))
		}
		w.expect(answer(path, "PRAGMA integrity_check") == "ok", "%s: integrity_check", path)
		w.expect(answer(path, seeds) == answer(paths[0], seeds) && len(answer(path, seeds)) > 10, "%s: seeds", path)
		rows := answer(path, "SELECT count(*) FROM person")
		w.expect(rows == fmt.Sprint(len(w.present)), "%s: %s rows, not %d", path, rows, len(w.present))
	}
	say("         caught up after %.1f s: %d bytes of filters, equal on all nodes", time.Since(start).Seconds(),
		len(bytes)/2)
}
