// SPDX-License-Identifier: MIT

// A cluster of three dqlite nodes with filter tables, whose leaders are killed while it is written to.
//
// dqlite replicates the pages of SQLite by Raft. So a filter table, whose pages are rows of ordinary tables, is the
// same on all nodes, to the byte, and a new leader goes on where the last one stopped. How an application of dqlite
// gets the extension:
//
//  1. make static compiles the extension for programs that link SQLite, into build/libcuckoo_sqlite.a;
//  2. link that: extension.go has the lines of cgo;
//  3. call sqlite3_auto_extension(sqlite3_cuckoo_init) before the first node starts, in every process that runs a
//     node: then each connection that dqlite opens has the functions. All nodes need the same version.
//
// usage: cluster [-seed N] [-rounds N] [-dir FOLDER]    the test; the last line is "N passed, N failed"
//
//	cluster node ID ADDRESS FOLDER                  one node, until it is killed
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"time"
)

var began = time.Now()

func say(format string, values ...interface{}) {
	fmt.Printf("%6.1f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, values...))
}

// must ends the program: what the test needs does not work.
func must(err error, what string) {
	if err != nil {
		fmt.Printf("%s: %v\n0 passed, 1 failed\n", what, err)
		stopAll()
		os.Exit(1)
	}
}

func main() {
	registerExtension()
	if len(os.Args) == 5 && os.Args[1] == "node" {
		id, err := strconv.ParseUint(os.Args[2], 10, 64)
		must(err, "the number of the node")
		runNode(id, os.Args[3], os.Args[4])
	}
	seed := flag.Int64("seed", time.Now().UnixNano()%1000000, "of the random numbers")
	rounds := flag.Int("rounds", 12, "how often a leader, or another node, is killed or stopped")
	dir := flag.String("dir", "build/cluster/nodes", "folder of the nodes")
	flag.Parse()
	say("seed %d; -seed repeats what is written, not the moment of a kill", *seed)
	rng := rand.New(rand.NewSource(*seed))
	c := startCluster(*dir, 3)
	w := &writer{db: c.open(), rng: rng, present: map[int64]bool{}, next: 1}
	w.createTables()
	r := startReader(c.open())
	for i := 0; i < *rounds; i++ {
		round(c, w, rng, i)
	}
	r.end(w)
	stopAll()
	fmt.Printf("%d keys written, %d deleted, %d writes failed and were looked up\n%d passed, %d failed\n",
		w.added, w.deleted, w.errors, w.passed, w.failed)
	if w.failed > 0 {
		os.Exit(1)
	}
}

// round writes while something happens to a node, asks the leader of then, and brings the node back.
func round(c *cluster, w *writer, rng *rand.Rand, number int) {
	events := []func() (*node, string){
		c.killLeader, c.pauseLeader, c.killLeader, c.pauseFollowers, c.killLeader, c.killFollower}
	done := make(chan string)
	var hit *node
	go func() {
		time.Sleep(time.Duration(100+rng.Intn(500)) * time.Millisecond)
		var what string
		hit, what = events[number%len(events)]()
		done <- what
	}()
	what := w.writeUntil(done)
	say("round %d: %s; so far %d keys acknowledged, %d deleted, %d writes failed", number+1, what, w.added, w.deleted,
		w.errors)
	w.askLeader()
	hit.bringBack()
	c.compare(w)
}
