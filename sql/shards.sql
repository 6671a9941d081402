-- SPDX-License-Identifier: MIT
-- Filters of many shards, merged and shipped.   sqlite3 < sql/shards.sql
-- The users of a service live in four databases. Each shard builds the filter of its own rows. A
-- coordinator collects the filters and knows, without asking any shard, which of them can have a
-- user. A client gets one merged filter, and knows which users exist nowhere.
.bail on
.load build/cuckoo
.mode box
.echo on

-- Each shard is a database of its own, in reality on a machine of its own. (A file without a name is
-- removed at the end.)
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

-- 1. Each shard builds its filter, all at the same time. To be merged later, filters must be made
--    alike: the same error rate, the same options, the same seed, and the capacity of the sum. That
--    they are sparse now costs bytes, and no errors.
CREATE TABLE shipped(shard TEXT PRIMARY KEY, f BLOB);
INSERT INTO shipped
SELECT 'north', cf_build(name, 0.001, 'capacity=50000 seed=7 affinity=text') FROM north.user;
INSERT INTO shipped
SELECT 'east', cf_build(name, 0.001, 'capacity=50000 seed=7 affinity=text') FROM east.user;
INSERT INTO shipped
SELECT 'south', cf_build(name, 0.001, 'capacity=50000 seed=7 affinity=text') FROM south.user;

-- 2. A shard whose rows change keeps a filter table in step with them. cf_export gives it as a blob,
--    which is what is shipped. The seed of a filter table is random unless it is given; with the same
--    seed both hash alike. With content= the table compares as its column does: hence affinity=text in
--    the others.
CREATE VIRTUAL TABLE west.known USING
  cuckoo_filter(capacity=50000, fpr=0.001, seed=7, content='user(name)');
INSERT INTO shipped SELECT 'west', cf_export('west.known');
SELECT shard, length(f) AS bytes, json_extract(cf_info(f), '$.items') AS items FROM shipped;

-- 3. Which filters can be merged? Those that agree in all of this.
SELECT count(*) AS filters, json_extract(cf_info(f), '$.seed') AS seed,
       json_extract(cf_info(f), '$.bucket_size') AS bucket_size,
       json_extract(cf_info(f), '$.fingerprint_bits') AS fingerprint_bits,
       json_extract(cf_info(f), '$.affinity') AS affinity,
       json_extract(cf_info(f), '$.collation') AS collation
FROM shipped GROUP BY 2, 3, 4, 5, 6;

-- 4. The coordinator asks only shards whose filter says perhaps: for most keys one, or none.
SELECT column1 AS name,
       (SELECT group_concat(shard, ' ') FROM shipped WHERE cf_contains(f, column1)) AS ask
FROM (VALUES ('user-4'), ('user-7'), ('user-39998'), ('nobody-1'), ('nobody-2'));

-- 5. One filter for all shards, which a client holds: 'is there such a user anywhere?'
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
SELECT count(*) AS asked, sum(cf_contains((SELECT cf_open(f) FROM merged), 'nobody-' || i)) AS perhaps
FROM n;

-- 6. New users of a shard: ship the keys, not the filter. A list of them takes 8 bytes a key, and the
--    client adds it to the filter that it has. The options of the list are those of the filter.
CREATE TABLE news(shard TEXT, keys BLOB);
INSERT INTO news
SELECT 'east', cf_keys(column1, NULL, 'seed=7 affinity=text') FROM (VALUES ('ada'), ('bob'));
UPDATE merged SET f = cf_add_keys(f, (SELECT keys FROM news));
SELECT length(keys) AS bytes, cf_contains(f, 'ada') AS ada, cf_contains(f, 'cyd') AS cyd
FROM merged, news;

-- 7. A user has left. A merged filter can delete, too: once for each shard that had the user.
DELETE FROM west.user WHERE name = 'user-7';
UPDATE merged SET f = cf_delete(f, 'user-7');
UPDATE shipped SET f = cf_export('west.known') WHERE shard = 'west';
SELECT cf_contains(merged.f, 'user-7') AS merged, cf_contains(shipped.f, 'user-7') AS west
FROM merged, shipped WHERE shard = 'west';
