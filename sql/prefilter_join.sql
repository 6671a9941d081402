-- SPDX-License-Identifier: MIT
-- Prefiltering a join.   sqlite3 < sql/prefilter_join.sql
-- A million events are joined with a large table of blocked users by a text key. Nearly all events
-- belong to users who are not blocked. The filter says so in less than 100 nanoseconds. Without the
-- filter, each event costs a search in the B-tree of the table, with text comparisons. (SQLite's own
-- automatic Bloom filter does not help with text keys.)
.bail on
.load build/cuckoo
.headers on
.mode column
PRAGMA cache_size = -400000;
.echo on
CREATE TABLE blocked(user TEXT PRIMARY KEY, reason TEXT) WITHOUT ROWID;
INSERT INTO blocked
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
  SELECT printf('user-%08d@example.com', i * 7919 % 20000000), 'reason ' || i % 5 FROM n;
CREATE TABLE events(id INTEGER PRIMARY KEY, user TEXT, amount INTEGER);
INSERT INTO events
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
  SELECT i, printf('user-%08d@example.com', i * 104729 % 20000000), i % 1000 FROM n;
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'blocked', cf_build(user) FROM blocked;
SELECT length(f) AS bytes_of_filter FROM filters;
.timer on

-- Without the filter.
SELECT count(*), sum(amount) FROM events AS e CROSS JOIN blocked AS b ON b.user = e.user;

-- With the filter. The rows are the same, because the join still decides. The subquery makes the handle
-- once.
SELECT count(*), sum(amount) FROM events AS e CROSS JOIN blocked AS b ON b.user = e.user
WHERE cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'blocked'), e.user);

-- How many events did the filter let through? All blocked ones, and about 1 % of the others.
SELECT sum(cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'blocked'), user)) AS let_through
FROM events;
.timer off
