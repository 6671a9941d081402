// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/canonical/go-dqlite/client"
)

// What a node has: the bytes of both filters, their seeds, and the keys of the table.
const state = `SELECT hex(cf_export('known')) || hex(cf_export('seen')) || cf_table_info('known') || cf_table_info('seen') ||
	(SELECT count(*) || total(id) FROM person)`

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
	var paths []string
	var has string
	retry(func() error {
		paths, has = nil, ""
		for _, n := range c.nodes {
			path, err := n.dump()
			if err != nil {
				return err
			}
			now := answer(path, state)
			if len(now) < 1000 || (has != "" && now != has) {
				return fmt.Errorf("the filters of the nodes differ: %d and %d digits", len(has), len(now))
			}
			paths, has = append(paths, path), now
		}
		return nil
	}, "equal bytes on all nodes")
	for _, path := range paths {
		for query, wanted := range map[string]string{misses[0]: "0", misses[1]: "0", "PRAGMA integrity_check": "ok",
			"SELECT count(*) FROM person": fmt.Sprint(len(w.present))} {
			w.expect(answer(path, query) == wanted, "%s: %s: %s, not %s", path, query, answer(path, query), wanted)
		}
	}
}
