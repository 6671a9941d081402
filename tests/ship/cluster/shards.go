// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A large filter does not fit in a transaction: a leader that writes an entry of 40 MB to its log is silent for so long that
// the others choose another one. So the table is made empty on the cluster, and its rows are sent some megabytes at a time;
// the first row, which says what the others are, comes last.
const rowsAtOnce = 1000

type shards struct {
	db     *sql.DB
	folder string
	n      int
	there  []int // shards that have a file; all, unless somebody tries some
	asked  int   // present keys of each; ten times as many absent ones follow them in a file
	mb     float64
}

// patiently repeats a statement until a leader has done it.
func (s *shards) patiently(statement string) {
	retry(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := s.db.ExecContext(ctx, statement)
		return err
	}, statement[:strings.IndexAny(statement+"(", "(")])
}

// send copies the filter table of a file, row by row: it may be repeated.
func (s *shards) send(shard int) {
	path, table := filepath.Join(s.folder, fmt.Sprintf("%d.db", shard)), fmt.Sprintf("shard%d", shard)
	create := answer(path, "SELECT sql FROM sqlite_master WHERE name = '"+table+"'")
	s.patiently("DROP TABLE IF EXISTS " + table)
	s.patiently(create)
	last, err := strconv.Atoi(answer(path, "SELECT max(no) FROM "+table+"_page"))
	must(err, path)
	insert := "SELECT 'INSERT OR REPLACE INTO " + table + "_page(no, data) VALUES ' || " +
		"group_concat('(' || no || ',x''' || hex(data) || ''')') FROM " + table + "_page WHERE no "
	for no := 1; no <= last; no += rowsAtOnce {
		statement := answer(path, insert+fmt.Sprintf("BETWEEN %d AND %d", no, no+rowsAtOnce-1))
		if statement != "" {
			s.patiently(statement)
			s.mb += float64(len(statement)) / 2e6
		}
	}
	s.patiently(answer(path, insert+"= 0"))
}

func (s *shards) keys(shard int) []int64 {
	data, err := os.ReadFile(filepath.Join(s.folder, fmt.Sprintf("%d.keys", shard)))
	must(err, "the keys of a shard")
	keys := make([]int64, len(data)/8)
	for i := range keys {
		keys[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return keys
}

// toShard is where a key belongs.
func (s *shards) toShard(key int64) int {
	n := int64(s.n)
	return int((key%n + n) % n)
}

// found asks the leader for some keys at once, each in its shard.
func (s *shards) found(keys []int64) int {
	lists := make([][]int64, s.n)
	for _, key := range keys {
		lists[s.toShard(key)] = append(lists[s.toShard(key)], key)
	}
	sum := 0
	for shard, list := range lists {
		if len(list) == 0 {
			continue
		}
		text, _ := json.Marshal(list)
		var n int
		retry(func() error {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			query := fmt.Sprintf("SELECT sum(cf_table_contains('shard%d', value)) FROM json_each(?)", shard)
			return s.db.QueryRowContext(ctx, query, string(text)).Scan(&n)
		}, "asking")
		sum += n
	}
	return sum
}

// ask asks for all keys of all files, a few thousand at a time: what is missed, the share that is wrong, microseconds a key.
func (s *shards) ask() (missed int, wrong, us float64) {
	const some = 5000
	start, all := time.Now(), 0
	for _, shard := range s.there {
		keys := s.keys(shard)
		all += len(keys)
		for i, end := 0, 0; i < len(keys); i = end {
			limit := len(keys)
			if i < s.asked {
				limit = s.asked
			}
			if end = i + some; end > limit {
				end = limit
			}
			if n := s.found(keys[i:end]); i < s.asked {
				missed += end - i - n
			} else {
				wrong += float64(n)
			}
		}
	}
	return missed, 100 * wrong / float64(all-len(s.there)*s.asked), time.Since(start).Seconds() * 1e6 / float64(all)
}

// single is the median of questions of one key, each a statement.
func (s *shards) single() float64 {
	const questions = 1000
	start := time.Now()
	for _, key := range s.keys(s.there[0])[:questions] {
		s.found([]int64{key})
	}
	return time.Since(start).Seconds() * 1e6 / questions
}

// megabytes that the nodes have had at most, the largest one.
func (c *cluster) megabytes() float64 {
	most := 0.0
	for _, n := range c.nodes {
		if n.process == nil {
			continue
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.process.Process.Pid))
		if _, after, has := strings.Cut(string(status), "VmHWM:"); has {
			var kilobytes float64
			fmt.Sscan(after, &kilobytes)
			if kilobytes/1024 > most {
				most = kilobytes / 1024
			}
		}
	}
	return most
}

// runShards puts the filter tables of 0.db, 1.db, ... into a cluster, whose leader is killed meanwhile, and once more before
// they are asked again. cluster.out gets what was found, as JSON. (The command "check" is not for here: a leader that is busy
// for some ten seconds is no leader any more. The answers are those of the files, wrong ones included: billion.py compares.)
func runShards(dir, folder string, n, asked int) {
	latency *= 10 // an entry of 4 MB takes its time
	c := startCluster(dir, 3)
	defer c.stop()
	s := &shards{db: c.open(), folder: folder, n: n, asked: asked}
	back := make(chan bool)
	for shard := 0; shard < n; shard++ {
		if _, err := os.Stat(filepath.Join(folder, fmt.Sprintf("%d.db", shard))); err == nil {
			s.there = append(s.there, shard)
		}
	}
	for i, shard := range s.there {
		if i == len(s.there)/2 {
			go func() {
				time.Sleep(300 * time.Millisecond)
				killed, what := c.killLeader()
				say("%s", what)
				time.Sleep(3 * time.Second)
				killed.bringBack()
				back <- true
			}()
		}
		s.send(shard)
		say("%d shards of %d, %.0f MB; a node has %.0f MB", i+1, n, s.mb, c.megabytes())
	}
	<-back
	missed, wrong, us := s.ask()
	say("asked: %d missed, %.3f %% wrong, %.2f us a key; single questions %.0f us", missed, wrong, us, s.single())
	start := time.Now()
	_, what := c.killLeader()
	again, _, _ := s.ask()
	say("%s; asked again for %.0f s: %d missed", what, time.Since(start).Seconds(), again)
	out, _ := json.Marshal(map[string]interface{}{"MB": s.mb, "memory": c.megabytes(), "us": us, "us_single": s.single(),
		"shards": len(s.there), "asked": len(s.there) * asked, "missed": missed + again, "wrong": wrong})
	must(os.WriteFile(filepath.Join(folder, "cluster.out"), out, 0o644), "cluster.out")
}
