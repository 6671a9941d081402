-- SPDX-License-Identifier: MIT
-- Exact answers.   sqlite3 < sql/exact.sql
-- A filter has false positives. When all the keys that will be looked up are known, they can be avoided:
-- cf_build_exact reads both the members and the other keys, and stores what is needed to tell them
-- apart. Here the keys are the users of a system, and the members are the blocked users.
.bail on
.load build/cuckoo
.headers on
.mode column
PRAGMA cache_size = -400000;
.echo on
CREATE TABLE users(name TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO users
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
  SELECT printf('user-%08d@example.com', i * 7919 % 20000000) FROM n;
CREATE TABLE blocked(name TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO blocked SELECT name FROM users WHERE cast(substr(name, 6, 8) AS INTEGER) % 10 = 0;
CREATE TABLE events(id INTEGER PRIMARY KEY, name TEXT, amount INTEGER);
INSERT INTO events
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250000)
  SELECT i, printf('user-%08d@example.com', ((i - 1) % 50000 + 1) * 7919 % 20000000), i % 1000 FROM n;

-- The arguments are the key, and whether it is a member.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters
  SELECT 'blocked', cf_build_exact(u.name, b.name IS NOT NULL) FROM users AS u LEFT JOIN blocked AS b USING (name);
SELECT json_extract(cf_info(f), '$.keys') AS keys, json_extract(cf_info(f), '$.members') AS members,
       length(f) AS bytes, round(json_extract(cf_info(f), '$.bits_per_key'), 2) AS bits_per_key
FROM filters;

-- The answer for each known user is exact, so no join is needed to verify it.
SELECT count(*) AS users, sum(cf_contains((SELECT cf_open(f) FROM filters), name)) AS found,
       sum(cf_contains((SELECT cf_open(f) FROM filters), name) <> (name IN blocked)) AS wrong FROM users;
.timer on

-- The events of blocked users, by the index of the table and by the filter alone.
SELECT count(*), sum(amount) FROM events WHERE name IN (SELECT name FROM blocked);
SELECT count(*), sum(amount) FROM events WHERE cf_contains((SELECT cf_open(f) FROM filters), name);
.timer off

-- The filter is a blob. Send it to a machine without the table of users, and bind it there as a
-- parameter.
SELECT cf_contains(f, 'user-00007919@example.com') AS free, cf_contains(f, 'user-00079190@example.com') AS blocked
FROM filters;

-- Someone who is not among the users may get either answer. By default the filter is as small as
-- possible, and some unknown keys are false positives. The third argument sets a false-positive rate for
-- unknown keys, which takes more bytes.
INSERT INTO filters
  SELECT 'strict', cf_build_exact(u.name, b.name IS NOT NULL, 0.001)
  FROM users AS u LEFT JOIN blocked AS b USING (name);
SELECT name, length(f) AS bytes, json_extract(cf_info(f), '$.fpr_unknown') < 0.001 AS below_one_in_1000 FROM filters;
SELECT sum(cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'blocked'), 'stranger-' || id)) AS blocked,
       sum(cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'strict'), 'stranger-' || id)) AS strict
FROM events WHERE id <= 100000;

-- Keys cannot be added or deleted, because every answer depends on all keys. When users are added or
-- blocked, rebuild the filter, or also query a table of the changes, as here, or send the changes (see
-- the end).
CREATE TABLE blocked_since(name TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO blocked_since VALUES ('user-00007919@example.com');
SELECT count(*) FROM events
WHERE cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'blocked'), name) OR name IN blocked_since;

-- When most keys are members, store the others: the filter is smaller, and unknown keys count as
-- members.
SELECT length(cf_build_exact(u.name, b.name IS NULL)) AS bytes_of_free,
       length(cf_build_exact(u.name, NOT b.name IS NULL)) AS bytes_of_blocked
FROM users AS u LEFT JOIN blocked AS b USING (name);

-- Updates. All clients have the filter of the first day. Each day some users are blocked, some are
-- unblocked, and some are new. Send a delta: an exact filter of the keys for which the previous answer
-- is wrong. A client takes the previous answer, and inverts it if the delta says 1.
CREATE TABLE deltas(day INTEGER PRIMARY KEY, f BLOB);
CREATE VIEW answers AS
  SELECT name, (cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'blocked'), u.name)
                + (SELECT ifnull(sum(cf_contains(f, u.name)), 0) FROM deltas)) % 2 AS answer
  FROM users AS u;

-- A day: 10 blocked users are unblocked, 10 others are blocked, and 200 new users are added, of whom 20
-- are blocked.
CREATE TABLE days(day INTEGER PRIMARY KEY);
CREATE TRIGGER a_day AFTER INSERT ON days BEGIN
  DELETE FROM blocked WHERE name IN (SELECT name FROM blocked LIMIT 10 OFFSET new.day * 400);
  INSERT OR IGNORE INTO blocked SELECT name FROM users WHERE name LIKE '%1@%' LIMIT 10 OFFSET new.day * 50;
  INSERT INTO users SELECT 'new-' || new.day || '-' || id FROM events WHERE id <= 200;
  INSERT INTO blocked SELECT 'new-' || new.day || '-' || id FROM events WHERE id <= 20;
  INSERT INTO deltas SELECT new.day, cf_build_exact(name, answer <> (name IN blocked)) FROM answers;
END;
INSERT INTO days SELECT id FROM events WHERE id <= 10;
SELECT count(*) AS users, sum(answer) AS blocked, sum(answer <> (name IN blocked)) AS wrong FROM answers;
SELECT (SELECT length(f) FROM filters WHERE name = 'blocked') AS base, count(*) AS deltas, max(length(f)) AS largest,
       sum(length(f)) AS bytes FROM deltas;

-- Send a new base to make lookups read fewer filters, or when the deltas together have become as large
-- as the base. Until then every answer is exact: the order of the deltas does not matter, but each one
-- is needed once.
SELECT length(cf_build_exact(name, name IN blocked)) AS new_base FROM users;
