// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	dqlite "github.com/canonical/go-dqlite"
	"github.com/canonical/go-dqlite/client"
	"github.com/canonical/go-dqlite/driver"
)

const (
	latency  = 20 * time.Millisecond // dqlite holds an election after 15 times as long
	patience = 30 * time.Second
	database = "cluster.db"
)

// runNode is what the process of one node does.
func runNode(id uint64, address, dir string) {
	must(os.MkdirAll(dir, 0o755), dir)
	node, err := dqlite.New(id, address, dir, dqlite.WithBindAddress(address), dqlite.WithNetworkLatency(latency))
	must(err, "a node")
	must(node.Start(), "starting a node")
	select {}
}

// node is a process, seen from outside.
type node struct {
	id      uint64
	address string
	dir     string
	process *exec.Cmd
	paused  bool
}

type cluster struct {
	nodes []*node
	store client.NodeStore
}

var running []*node // all nodes that were started, to be killed at the end

func stopAll() {
	for _, n := range running {
		n.kill()
	}
}

func (n *node) start() {
	n.process = exec.Command(os.Args[0], "node", strconv.FormatUint(n.id, 10), n.address, n.dir)
	n.process.Stderr = os.Stderr
	n.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(n.process.Start(), "starting a process")
}

// kill is SIGKILL: the node has no time for anything.
func (n *node) kill() {
	if n.process != nil {
		n.process.Process.Kill()
		n.process.Wait()
		n.process = nil
	}
}

func (n *node) pause() {
	n.process.Process.Signal(syscall.SIGSTOP)
	n.paused = true
}

func (n *node) bringBack() {
	if n.paused {
		n.process.Process.Signal(syscall.SIGCONT)
		n.paused = false
	} else if n.process == nil {
		n.start()
	}
}

// freeAddress is a port of the loopback that nobody uses.
func freeAddress() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err, "a port of the loopback")
	defer listener.Close()
	return listener.Addr().String()
}

func startCluster(dir string, n int) *cluster {
	c, infos := &cluster{store: client.NewInmemNodeStore()}, []client.NodeInfo{}
	must(os.RemoveAll(dir), dir)
	for id := 1; id <= n; id++ {
		folder, err := filepath.Abs(filepath.Join(dir, strconv.Itoa(id)))
		must(err, dir)
		one := &node{id: uint64(id), address: freeAddress(), dir: folder}
		one.start()
		c.nodes, running = append(c.nodes, one), append(running, one)
		infos = append(infos, client.NodeInfo{ID: one.id, Address: one.address, Role: client.Voter})
	}
	must(c.store.Set(context.Background(), infos[:1]), "the first node")
	for _, info := range infos[1:] {
		retry(func() error {
			return c.askClient(func(ctx context.Context, leader *client.Client) error { return leader.Add(ctx, info) })
		}, "joining")
	}
	must(c.store.Set(context.Background(), infos), "all nodes")
	say("%d nodes, each a process: %s", n, c.nodes[0].address)
	return c
}

// askClient finds the leader and uses a connection to it.
func (c *cluster) askClient(use func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	leader, err := client.FindLeader(ctx, c.store)
	if err != nil {
		return err
	}
	defer leader.Close()
	return use(ctx, leader)
}

// retry until it works, or patience is at an end.
func retry(try func() error, what string) {
	err := try()
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); err = try() {
		time.Sleep(50 * time.Millisecond)
	}
	must(err, what)
}

func (c *cluster) leader() *node {
	var found *node
	retry(func() error {
		return c.askClient(func(ctx context.Context, leader *client.Client) error {
			info, err := leader.Leader(ctx)
			for _, n := range c.nodes {
				if err == nil && info != nil && n.id == info.ID {
					found = n
				}
			}
			if found == nil && err == nil {
				err = fmt.Errorf("nobody leads")
			}
			return err
		})
	}, "finding the leader")
	return found
}

func (c *cluster) killLeader() (*node, string) {
	n := c.leader()
	n.kill()
	return n, fmt.Sprintf("leader %d killed", n.id)
}

// pauseLeader stops it for longer than an election takes. What it had not replicated yet is not to come back.
func (c *cluster) pauseLeader() (*node, string) {
	n := c.leader()
	n.pause()
	return n, fmt.Sprintf("leader %d stopped", n.id)
}

func (c *cluster) follower(which int) *node {
	return c.nodes[(int(c.leader().id)+which)%len(c.nodes)]
}

func (c *cluster) killFollower() (*node, string) {
	n := c.follower(0)
	n.kill()
	return n, fmt.Sprintf("follower %d killed", n.id)
}

// pauseFollowers leaves the leader without a majority: it has to take back what it was about to commit, and may lead
// again later, with the same connections.
func (c *cluster) pauseFollowers() (*node, string) {
	one, other := c.follower(0), c.follower(1)
	one.pause()
	other.pause()
	time.Sleep(time.Second)
	one.bringBack()
	return other, fmt.Sprintf("followers %d and %d stopped", one.id, other.id)
}

// open gives a database of which each connection goes to the leader.
func (c *cluster) open() *sql.DB {
	d, err := driver.New(c.store, driver.WithAttemptTimeout(500*time.Millisecond),
		driver.WithConnectionBackoffFactor(20*time.Millisecond), driver.WithConnectionBackoffCap(200*time.Millisecond))
	must(err, "the driver")
	connector, err := d.OpenConnector(database)
	must(err, "the database")
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db
}
