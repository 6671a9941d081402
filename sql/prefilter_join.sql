-- SPDX-License-Identifier: MIT
-- Prefiltering a join, in three forms.   sqlite3 < sql/prefilter_join.sql
-- A million events, 200,000 blocked users. Nearly all events belong to users who are not blocked, and a
-- filter tells so in less than 100 nanoseconds. Without it each event needs a search in a B-tree, with
-- comparisons of texts. The join still decides, so all forms return the same rows if the columns have
-- the same type and collation. For other columns see the end.
.bail on
.load build/cuckoo
.headers on
.mode column
PRAGMA cache_size = -400000;
.echo on
CREATE TABLE blocked(user TEXT PRIMARY KEY, reason TEXT) WITHOUT ROWID;
INSERT INTO blocked
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
  SELECT printf('user-%08d@example.com', i * 7919 % 20000000), 'reason ' || (i % 5) FROM n;
CREATE TABLE events(id INTEGER PRIMARY KEY, user TEXT, amount INTEGER);
INSERT INTO events
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
  SELECT i, printf('user-%08d@example.com', i * 104729 % 20000000), i % 1000 FROM n;
.timer on

-- Without a filter.
SELECT count(*), sum(amount) FROM events AS e JOIN blocked AS b ON b.user = e.user;

-- 1. A filter within the query. It exists only during the query, so there is nothing to keep in sync. A
--    condition on the keys also belongs in the subquery.
SELECT count(*), sum(amount) FROM events AS e JOIN blocked AS b ON b.user = e.user
WHERE cf_contains((SELECT cf_open(cf_build(user)) FROM blocked), e.user);

SELECT count(*), sum(amount) FROM events AS e JOIN blocked AS b ON b.user = e.user
WHERE b.reason = 'reason 0' AND cf_contains(
  (SELECT cf_open(cf_build(user)) FROM blocked WHERE reason = 'reason 0'), e.user);

-- The rows that match nothing: put both conditions inside NOT.
SELECT count(*) FROM events AS e WHERE NOT EXISTS (SELECT 1 FROM blocked AS b WHERE b.user = e.user);
SELECT count(*) FROM events AS e
WHERE NOT (cf_contains((SELECT cf_open(cf_build(user)) FROM blocked), e.user)
           AND EXISTS (SELECT 1 FROM blocked AS b WHERE b.user = e.user));

-- 2. A table with a filter in front of it. It has the rows of blocked, and stays in sync with them.
--    Queries name it in place of blocked, and need no other change.
.timer off
CREATE VIRTUAL TABLE blocked_fast USING cuckoo_filter(content='blocked(user)', rows=on);
.timer on
SELECT count(*), sum(amount) FROM events AS e JOIN blocked_fast AS b ON b.user = e.user;
SELECT count(*) FROM events AS e
WHERE NOT EXISTS (SELECT 1 FROM blocked_fast AS b WHERE b.user = e.user);
SELECT count(*) FROM events AS e LEFT JOIN blocked_fast AS b ON b.user = e.user WHERE b.user IS NULL;
-- A LEFT JOIN keeps all million events. (Form 1 cannot do this: see the end.)
SELECT count(*), count(b.user) FROM events AS e LEFT JOIN blocked_fast AS b ON b.user = e.user;

-- 3. A stored filter, for programs that keep or send it. The subquery makes a handle once.
.timer off
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'blocked', cf_build(user) FROM blocked;
SELECT length(f) AS bytes_of_filter FROM filters;
.timer on
SELECT count(*), sum(amount) FROM events AS e JOIN blocked AS b ON b.user = e.user
WHERE cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'blocked'), e.user);

-- The number of events that pass the filter: all blocked ones, and about 1 % of the others.
SELECT sum(cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'blocked'), user)) AS let_through
FROM events;
.timer off

-- Notes:
-- * Form 1 is faster while less than two thirds of the rows match, and form 2 while less than a quarter
--   do (less than two fifths if the table is larger than the page cache). (SQLite 3.40, integers and
--   texts.)
-- * Keys compare as in the filter. If the columns differ, use cf_build(user, 0.01, 'affinity=numeric')
--   for a number and a text (otherwise it is an error), and 'collation=nocase' for COLLATE NOCASE. A
--   table with rows=on takes this from its column.
-- * A LEFT JOIN needs form 2. A filter in WHERE drops the rows that match nothing, because it returns 0
--   for them. In ON it drops none, but saves no time, because SQLite searches the index first and calls
--   the filter only for the rows that it has found. The same holds for RIGHT and FULL JOIN.
-- * SQLite evaluates conditions in the order of WHERE. Write cf_contains before IN (SELECT ...).
-- * Write cf_open around a filter from a subquery. Otherwise SQLite before 3.43 copies the blob for each
--   row. These are slow:
--     cf_contains((SELECT f FROM filters), key), cf_contains(filters.f, t.key)     before 3.43
--     cf_contains(cf_open(filters.f), t.key)               always: a handle for each row
--     cf_add(f, key), cf_delete(f, key) for many keys      always: use cf_add_keys for a list of keys
--   A handle works only as the argument itself, not from a CTE, a view or a subquery in FROM.
-- * SQLite 3.38 and later builds Bloom filters itself, after ANALYZE, for an inner table that has its
--   own condition. In 3.40 all texts have the same hash there.
