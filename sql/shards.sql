-- SPDX-License-Identifier: MIT
-- Filters of many shards, merged and sent.   sqlite3 < sql/shards.sql
-- The users of a service are stored in four databases. Each shard builds the filter of its own rows. A
-- coordinator collects the filters, and knows which shards may have a user without querying them. A
-- client gets one merged filter, and knows which users exist nowhere.
.bail on
.load build/cuckoo
.mode box
.echo on

-- Each shard is a database of its own, in practice on its own machine. (A file without a name is removed
-- at the end.)
ATTACH '' AS north;  ATTACH '' AS east;  ATTACH '' AS south;  ATTACH '' AS west;
CREATE TABLE north.user(name TEXT PRIMARY KEY);
CREATE TABLE east.user(name TEXT PRIMARY KEY);
CREATE TABLE south.user(name TEXT PRIMARY KEY);
CREATE TABLE west.user(name TEXT PRIMARY KEY);
WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 4 FROM n WHERE i < 40000)
INSERT INTO north.user SELECT 'user-' || i FROM n;
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 4 FROM n WHERE i < 40000)
INSERT INTO east.user SELECT 'user-' || i FROM n;
WITH n(i) AS (SELECT 2 UNION ALL SELECT i + 4 FROM n WHERE i < 40000)
INSERT INTO south.user SELECT 'user-' || i FROM n;
WITH n(i) AS (SELECT 3 UNION ALL SELECT i + 4 FROM n WHERE i < 40000)
INSERT INTO west.user SELECT 'user-' || i FROM n;

-- 1. Each shard builds its filter, all at the same time. Filters that will be merged must be compatible:
--    the same false-positive rate, options and seed, and the capacity of the union. They are sparse now,
--    which costs bytes but no false positives.
CREATE TABLE shipped(shard TEXT PRIMARY KEY, f BLOB);
INSERT INTO shipped
SELECT 'north', cf_build(name, 0.001, 'capacity=50000 seed=7 affinity=text') FROM north.user;
INSERT INTO shipped
SELECT 'east', cf_build(name, 0.001, 'capacity=50000 seed=7 affinity=text') FROM east.user;
INSERT INTO shipped
SELECT 'south', cf_build(name, 0.001, 'capacity=50000 seed=7 affinity=text') FROM south.user;

-- 2. A shard whose rows change has a filter table in sync with them. cf_export returns it as a blob,
--    which is sent. The seed of a filter table is random unless it is given; with the same seed both
--    have the same hashes. With content= the table compares keys as its column does, so the others need
--    affinity=text.
CREATE VIRTUAL TABLE west.known USING
  cuckoo_filter(capacity=50000, fpr=0.001, seed=7, content='user(name)');
INSERT INTO shipped SELECT 'west', cf_export('west.known');
SELECT shard, length(f) AS bytes, json_extract(cf_info(f), '$.items') AS items FROM shipped;

-- 3. Filters can be merged if they agree in all of these fields.
SELECT count(*) AS filters, json_extract(cf_info(f), '$.seed') AS seed,
       json_extract(cf_info(f), '$.bucket_size') AS bucket_size,
       json_extract(cf_info(f), '$.fingerprint_bits') AS fingerprint_bits,
       json_extract(cf_info(f), '$.affinity') AS affinity,
       json_extract(cf_info(f), '$.collation') AS collation
FROM shipped GROUP BY 2, 3, 4, 5, 6;

-- 4. The coordinator queries only shards whose filter says "probably in the set": for most keys one, or
--    none.
SELECT column1 AS name,
       (SELECT group_concat(shard, ' ') FROM shipped WHERE cf_contains(f, column1)) AS shards
FROM (VALUES ('user-4'), ('user-7'), ('user-39998'), ('nobody-1'), ('nobody-2'));

-- 5. One filter for all shards, which a client holds, answers 'does this user exist anywhere?'
CREATE TABLE merged(f BLOB);
INSERT INTO merged SELECT cf_merge(f) FROM shipped;
SELECT length(f) AS bytes, json_extract(cf_info(f), '$.items') AS items, cf_check(f) AS sound
FROM merged;
SELECT (SELECT count(*) FROM north.user WHERE NOT cf_contains((SELECT cf_open(f) FROM merged), name)) +
       (SELECT count(*) FROM east.user  WHERE NOT cf_contains((SELECT cf_open(f) FROM merged), name)) +
       (SELECT count(*) FROM south.user WHERE NOT cf_contains((SELECT cf_open(f) FROM merged), name)) +
       (SELECT count(*) FROM west.user  WHERE NOT cf_contains((SELECT cf_open(f) FROM merged), name))
       AS missed;
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
SELECT count(*) AS absent, sum(cf_contains((SELECT cf_open(f) FROM merged), 'nobody-' || i)) AS false_positives
FROM n;

-- 6. New users of a shard: send the keys, not the filter. A list of them takes 8 bytes per key, and the
--    client adds it to its filter. The options of the list are those of the filter.
CREATE TABLE news(shard TEXT, keys BLOB);
INSERT INTO news
SELECT 'east', cf_keys(column1, NULL, 'seed=7 affinity=text') FROM (VALUES ('ada'), ('bob'));
UPDATE merged SET f = cf_add_keys(f, (SELECT keys FROM news));
SELECT length(keys) AS bytes, cf_contains(f, 'ada') AS ada, cf_contains(f, 'cyd') AS cyd
FROM merged, news;

-- 7. A deleted user. A merged filter can also delete: once for each shard that had the user.
DELETE FROM west.user WHERE name = 'user-7';
UPDATE merged SET f = cf_delete(f, 'user-7');
UPDATE shipped SET f = cf_export('west.known') WHERE shard = 'west';
SELECT cf_contains(merged.f, 'user-7') AS merged, cf_contains(shipped.f, 'user-7') AS west
FROM merged, shipped WHERE shard = 'west';
