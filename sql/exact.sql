-- SPDX-License-Identifier: MIT
-- Exact answers.   sqlite3 < sql/exact.sql
-- A filter errs now and then on keys that it does not hold. When all the keys that will be asked for are
-- known, it need not: cf_build_exact reads them all, those that are members and the others, and keeps
-- what is needed to tell them apart. Here these are the users of a system, of whom some are blocked.
.bail on
.load build/cuckoo
.headers on
.mode column
PRAGMA cache_size = -400000;
.echo on
CREATE TABLE users(name TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO users
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
  SELECT printf('user-%08d@example.com', i * 7919 % 20000000) FROM n;
CREATE TABLE blocked(name TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO blocked SELECT name FROM users WHERE cast(substr(name, 6, 8) AS INTEGER) % 10 = 0;
CREATE TABLE events(id INTEGER PRIMARY KEY, name TEXT, amount INTEGER);
INSERT INTO events
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
  SELECT i, printf('user-%08d@example.com', ((i - 1) % 200000 + 1) * 7919 % 20000000), i % 1000 FROM n;

-- The arguments are the key, and whether it is a member.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters
  SELECT 'blocked', cf_build_exact(u.name, b.name IS NOT NULL) FROM users AS u LEFT JOIN blocked AS b USING (name);
SELECT json_extract(cf_info(f), '$.keys') AS keys, json_extract(cf_info(f), '$.members') AS members,
       length(f) AS bytes, round(json_extract(cf_info(f), '$.bits_per_key'), 2) AS bits_per_key
FROM filters;

-- The answer for each known user is exact: no join is needed to make sure.
SELECT count(*) AS users, sum(cf_contains((SELECT cf_open(f) FROM filters), name)) AS found,
       sum(cf_contains((SELECT cf_open(f) FROM filters), name) <> (name IN blocked)) AS wrong FROM users;
.timer on

-- The events of blocked users, by the index of the table, and by the filter alone.
SELECT count(*), sum(amount) FROM events WHERE name IN (SELECT name FROM blocked);
SELECT count(*), sum(amount) FROM events WHERE cf_contains((SELECT cf_open(f) FROM filters), name);
.timer off

-- It is a blob. Send it to where there is no table of users, and bind it there as a parameter.
SELECT cf_contains(f, 'user-00007919@example.com') AS free, cf_contains(f, 'user-00079190@example.com') AS blocked
FROM filters;

-- Who is not among the users may get either answer. Without more being said the filter is as small as
-- can be, and such keys are taken for members now and then. A rate for them can be asked for; it takes
-- more bytes.
INSERT INTO filters
  SELECT 'strict', cf_build_exact(u.name, b.name IS NOT NULL, 0.001)
  FROM users AS u LEFT JOIN blocked AS b USING (name);
SELECT name, length(f) AS bytes, json_extract(cf_info(f), '$.fpr_unknown') < 0.001 AS below_one_in_1000 FROM filters;
SELECT sum(cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'blocked'), 'stranger-' || id)) AS blocked,
       sum(cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'strict'), 'stranger-' || id)) AS strict
FROM events WHERE id <= 100000;

-- Nothing can be added to it, or deleted: every answer depends on all keys. Build it anew when users come,
-- or when one is blocked; or ask the tables about what has changed since; or send what has changed: see the end.
CREATE TABLE blocked_since(name TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO blocked_since VALUES ('user-00007919@example.com');
SELECT count(*) FROM events
WHERE cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'blocked'), name) OR name IN blocked_since;

-- When most keys are members, keep the others: the filter is smaller, and unknown keys count as members.
SELECT length(cf_build_exact(u.name, b.name IS NULL)) AS bytes_of_free,
       length(cf_build_exact(u.name, NOT b.name IS NULL)) AS bytes_of_blocked
FROM users AS u LEFT JOIN blocked AS b USING (name);

-- Updates. All users know the filter of the first day. Each day some are blocked, some are freed, and new
-- ones come. Send what has changed: an exact filter of the keys for which the answer of before is wrong. Who
-- receives it takes the answer of before, and turns it where the delta says 1.
CREATE TABLE deltas(day INTEGER PRIMARY KEY, f BLOB);
CREATE VIEW told AS
  SELECT name, (cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'blocked'), u.name)
                + (SELECT ifnull(sum(cf_contains(f, u.name)), 0) FROM deltas)) % 2 AS answer
  FROM users AS u;

-- A day: 10 blocked users are freed, 10 others are blocked, 200 new ones come, of whom 20 are blocked.
CREATE TABLE days(day INTEGER PRIMARY KEY);
CREATE TRIGGER a_day AFTER INSERT ON days BEGIN
  DELETE FROM blocked WHERE name IN (SELECT name FROM blocked LIMIT 10 OFFSET new.day * 1000);
  INSERT OR IGNORE INTO blocked SELECT name FROM users WHERE name LIKE '%1@%' LIMIT 10 OFFSET new.day * 50;
  INSERT INTO users SELECT 'new-' || new.day || '-' || id FROM events WHERE id <= 200;
  INSERT INTO blocked SELECT 'new-' || new.day || '-' || id FROM events WHERE id <= 20;
  INSERT INTO deltas SELECT new.day, cf_build_exact(name, answer <> (name IN blocked)) FROM told;
END;
INSERT INTO days SELECT id FROM events WHERE id <= 10;
SELECT count(*) AS users, sum(answer) AS blocked, sum(answer <> (name IN blocked)) AS wrong FROM told;
SELECT (SELECT length(f) FROM filters WHERE name = 'blocked') AS base, count(*) AS deltas, max(length(f)) AS largest,
       sum(length(f)) AS bytes FROM deltas;

-- Send a new base when a lookup is to ask fewer filters, or when the deltas together have become as large as it
-- is. Until then every answer is exact: the order of the deltas does not matter, but each one is needed once.
SELECT length(cf_build_exact(name, name IN blocked)) AS new_base FROM users;
