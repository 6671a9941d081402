-- SPDX-License-Identifier: MIT
-- Goes on with a database of tables.sql that this or another platform has written: looks whether all is
-- there, changes it, and looks again. May run again and again; each time it prints other digests, but the
-- same on every platform.
.load build/cuckoo
.mode list
CREATE TEMP TABLE before AS SELECT 700 * count(*) AS first, (SELECT ifnull(max(id), 0) FROM own) AS n FROM turns;
INSERT INTO turns DEFAULT VALUES;
CREATE TEMP VIEW found AS
SELECT (SELECT count(*) FROM people WHERE NOT cf_table_contains('mails', upper(mail)) OR NOT cf_table_contains('scores', score)
          OR NOT cf_table_contains('cities', city) OR NOT cf_table_contains('tags', tag) OR NOT cf_table_contains('ages', age)) AS rows_missed,
       (SELECT count(*) FROM own WHERE NOT cf_table_contains('fixed', key) OR NOT cf_table_contains('numbers', key || ' ')
          OR NOT EXISTS (SELECT 1 FROM stashed WHERE stashed.key = own.key)) AS keys_missed,
       (SELECT count(*) FROM own, filters WHERE NOT cf_contains(f, key)) AS missed_in_blobs,
       (SELECT group_concat(cf_check(f)) FROM filters) AS checked, (SELECT count(*) FROM own) AS keys;
SELECT * FROM found;

-- New rows, and new keys of all types.
BEGIN;
INSERT INTO people(mail, score, city, tag, age)
WITH RECURSIVE n(i) AS (SELECT first FROM before UNION ALL SELECT i + 1 FROM n LIMIT 700)
SELECT 'user' || i || '@example.org', i / 8.0, 'city ' || i % 40, CAST(char(i % 120 + 1) || i AS BLOB), i % 90 FROM n;
INSERT INTO own(key) WITH RECURSIVE n(i) AS (SELECT first FROM before UNION ALL SELECT i + 1 FROM n LIMIT 700)
SELECT CASE i % 4 WHEN 0 THEN i * 1000003 WHEN 1 THEN i / 5.0 WHEN 2 THEN 'key ' || i ELSE i || '.25' END FROM n;
INSERT INTO stashed(key) SELECT key FROM own, before WHERE id > n;
INSERT INTO fixed(key) SELECT key FROM own, before WHERE id > n;
INSERT INTO numbers(key) SELECT key FROM own, before WHERE id > n;
UPDATE filters SET f = cf_add_keys(f, (SELECT cf_keys(key, CASE name WHEN 'valued' THEN id % 4096 END,
  CASE name WHEN 'valued' THEN 'value_bits=12' WHEN 'plain' THEN 'seed=3' WHEN 'semisorted' THEN 'seed=3' END)
  FROM own, before WHERE id > n));
COMMIT;

-- Rows change and go, by transactions of their own, and some of it is taken back.
UPDATE people SET mail = 'new' || mail, score = score + 1000, city = 'town' WHERE id % 7 = 0 AND mail NOT LIKE 'new%';
DELETE FROM people WHERE id % 11 = 0;
SAVEPOINT one;
DELETE FROM people WHERE id % 2;
UPDATE people SET age = -age;
ROLLBACK TO one;
RELEASE one;
DELETE FROM stashed WHERE key IN (SELECT key FROM own WHERE id % 13 = 0);
DELETE FROM fixed WHERE key IN (SELECT key FROM own WHERE id % 13 = 0);
DELETE FROM numbers WHERE key IN (SELECT key FROM own WHERE id % 13 = 0);
UPDATE filters SET f = cf_delete_keys(f, (SELECT cf_keys(key, CASE name WHEN 'valued' THEN id % 4096 END,
  CASE name WHEN 'valued' THEN 'value_bits=12' WHEN 'plain' THEN 'seed=3' WHEN 'semisorted' THEN 'seed=3' END)
  FROM own WHERE id % 13 = 0));
DELETE FROM own WHERE id % 13 = 0;
INSERT INTO mails(mails) VALUES ('check');
INSERT INTO scores(scores) VALUES ('check');
INSERT INTO cities(cities) VALUES ('check');
INSERT INTO tags(tags) VALUES ('check');
INSERT INTO ages(ages) VALUES ('check');
INSERT INTO stashed(stashed) VALUES ('optimize');
SELECT * FROM found;
SELECT name, digest(cf_export(name)) AS exported, digest(cf_table_info(name)) AS information
FROM (SELECT column1 AS name FROM (VALUES ('mails'), ('scores'), ('cities'), ('tags'), ('ages'), ('stashed'), ('fixed'), ('numbers')));
SELECT name, length(f) AS length, digest(f) AS bytes, digest(cf_info(f)) AS information FROM filters;
SELECT count(*) AS keys_in_index FROM people WHERE cf_key(city, age) = cf_key('town', 7);
PRAGMA integrity_check;
