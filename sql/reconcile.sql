-- SPDX-License-Identifier: MIT
-- Which of my rows do you definitely lack?   sqlite3 < sql/reconcile.sql
-- Two machines have nearly the same rows. You send a filter of your keys: 9.4 bits for each, and no key
-- itself. If my key is definitely not in that set, I send its row. About 1 % of the missing rows are
-- false positives, and stay hidden. A filter with another seed has other false positives, and reveals
-- them.
.bail on
.load build/cuckoo
.headers on
.mode column
ATTACH ':memory:' AS mine;
ATTACH ':memory:' AS yours;
.echo on

-- I have 100,000 documents. You lack each twentieth of them, and have 2,000 that I lack.
CREATE TABLE mine.doc(id TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID;
CREATE TABLE yours.doc(id TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID;
INSERT INTO mine.doc
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
  SELECT printf('doc-%08x', i * 7919), 'body ' || i FROM n;
INSERT INTO yours.doc SELECT id, body FROM mine.doc WHERE substr(body, 6) % 20 <> 0;
INSERT INTO yours.doc
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
  SELECT printf('new-%08x', i), 'body of yours' FROM n;

-- Round one. You send a filter. I send the rows that are not in it.
CREATE TABLE mine.message(round INTEGER PRIMARY KEY, f BLOB);
INSERT INTO mine.message SELECT 1, cf_build(id, 0.01, 'seed=1') FROM yours.doc;
SELECT length(f) AS bytes_of_filter, (SELECT sum(length(id)) FROM yours.doc) AS bytes_of_keys
FROM mine.message;
INSERT INTO yours.doc
  SELECT id, body FROM mine.doc
  WHERE NOT cf_contains((SELECT cf_open(f) FROM mine.message WHERE round = 1), id);
SELECT changes() AS sent;

-- The rows that are still hidden. (Only this script can query both sides.)
SELECT count(*) AS hidden FROM mine.doc AS m
WHERE NOT EXISTS (SELECT 1 FROM yours.doc AS y WHERE y.id = m.id);

-- Round two, with another seed.
INSERT INTO mine.message SELECT 2, cf_build(id, 0.01, 'seed=2') FROM yours.doc;
INSERT INTO yours.doc
  SELECT id, body FROM mine.doc
  WHERE NOT cf_contains((SELECT cf_open(f) FROM mine.message WHERE round = 2), id);
SELECT changes() AS sent;
SELECT count(*) AS hidden FROM mine.doc AS m
WHERE NOT EXISTS (SELECT 1 FROM yours.doc AS y WHERE y.id = m.id);

-- For the rows that only you have, exchange the roles: now I send a filter.
INSERT INTO mine.doc
  SELECT id, body FROM yours.doc
  WHERE NOT cf_contains((SELECT cf_open(cf_build(id, 0.0001)) FROM mine.doc), id);
SELECT changes() AS received, (SELECT count(*) FROM mine.doc) AS mine,
  (SELECT count(*) FROM yours.doc) AS yours;

-- A key made of id and version also finds rows that differ in their version.
SELECT cf_contains(cf_build(cf_key('doc-1', 7)), cf_key('doc-1', 8)) AS has_version_8;

-- The cost for a million keys, and how many of a million missing rows stay hidden. One round at a low
-- false-positive rate costs less than two at a high one. Use two when you only decide after the first.
SELECT column1 AS rounds, column2 AS fpr,
  column1 * json_extract(cf_plan(1000000, column2), '$.bytes') AS bytes,
  CAST(round(1e6 * CASE column1 WHEN 1 THEN column2 ELSE column2 * column2 END) AS INTEGER) AS hidden
FROM (VALUES (1, 0.01), (2, 0.01), (1, 0.0001), (1, 0.000001));

-- The size of a filter depends on the number of keys, not on the number of missing keys. A rateless
-- sketch needs 1.35 to 1.7 cells for each row that differs (Yang, Gilad, Alizadeh, "Practical Rateless
-- Set Reconciliation", SIGCOMM 2024). With cells of 24 bytes it is smaller than a filter of a million
-- keys while fewer than about 30,000 rows differ. The sketch needs a program on both sides, the filter
-- only SQL.
