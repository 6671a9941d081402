-- SPDX-License-Identifier: MIT
-- Which of many files has this key?   sqlite3 < sql/which_file.sql
-- With a database for each tenant, or thousands of shards, where is ada@a.example? A filter stores with
-- each key the numbers of the files that have it. Query the filter, and then these files alone.
.bail on
.load build/cuckoo
.headers on
.mode column
PRAGMA temp_store = MEMORY;
.echo on
-- Three files. (In practice: ATTACH 'tenants/one.db' AS one.)
ATTACH ':memory:' AS one;
ATTACH ':memory:' AS two;
CREATE TABLE main.users(email TEXT PRIMARY KEY, name TEXT);
CREATE TABLE one.users(email TEXT PRIMARY KEY, name TEXT);
CREATE TABLE two.users(email TEXT PRIMARY KEY, name TEXT);
INSERT INTO main.users VALUES ('ada@a.example', 'Ada'), ('bob@b.example', 'Bob');
INSERT INTO one.users VALUES ('cyd@c.example', 'Cyd');
INSERT INTO two.users VALUES ('ada@a.example', 'Ada L.'), ('dan@d.example', 'Dan');

-- 1. One call. The value is the number of the file: 11 bits for up to 2,048 files.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters
SELECT 'three', cf_build(email, 0.01, 'value_bits=11', file)
FROM (SELECT email, 0 AS file FROM main.users UNION ALL SELECT email, 1 FROM one.users UNION ALL
      SELECT email, 2 FROM two.users);

-- 2. A row for each file that has the key. A false positive is an extra row, and is so rare that a
--    filter of 1 in 100 is good enough. Then query the file. A key that is in no file has no row.
SELECT value AS file FROM filters, cf_values(f, 'ada@a.example') WHERE filters.name = 'three' ORDER BY file;
SELECT 2 AS file, u.name FROM two.users AS u WHERE email = 'ada@a.example';
SELECT count(*) AS files FROM filters, cf_values(f, 'eve@e.example') WHERE filters.name = 'three';

-- 3. 2,000 files of 100 users. Every ninth user is in two files. The table is used in place of reading
--    all files, one by one.
CREATE TABLE directory(email TEXT, file INTEGER);
INSERT INTO directory WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199999)
  SELECT printf('user-%06d@example.com', i * 7919 % 180000), i / 100 FROM n;
.timer on
INSERT INTO filters SELECT 'files', cf_build(email, 0.01, 'value_bits=11', file) FROM directory;
CREATE TABLE answers AS
SELECT email, value AS file
FROM (SELECT DISTINCT email FROM directory), cf_values((SELECT cf_open(f) FROM filters WHERE name = 'files'), email);
.timer off
SELECT (SELECT sum(length(email) + 2) FROM directory) AS bytes_of_directory, length(f) AS bytes_of_filter,
       json_extract(cf_info(f), '$.bits_per_key') AS bits_per_entry FROM filters WHERE name = 'files';

-- 4. False answers: no file is ever missing, and an extra file is named at the rate that was requested.
SELECT (SELECT count(*) FROM (SELECT email, file FROM directory EXCEPT SELECT email, file FROM answers)) AS missed,
       (SELECT count(*) FROM (SELECT email, file FROM answers EXCEPT SELECT email, file FROM directory)) AS extra,
       (SELECT count(DISTINCT email) FROM directory) AS users;

-- 5. A file changes: delete its old users, with its number, and add its new ones. Delete and add each
--    user once: use DISTINCT if a file repeats users.
CREATE TABLE file_7(email TEXT PRIMARY KEY);
INSERT INTO file_7 SELECT 'new-' || email FROM directory WHERE file = 7;
UPDATE filters SET f = cf_add_keys(cf_delete_keys(f, (SELECT cf_keys(email, file) FROM directory WHERE file = 7)),
                                   (SELECT cf_keys(email, 7) FROM file_7)) WHERE name = 'files';
SELECT sum(7 NOT IN (SELECT value FROM cf_values((SELECT cf_open(f) FROM filters WHERE name = 'files'), email))) AS missed
FROM file_7;

-- 6. Filters that were made in several places can be merged, if they were built for the same capacity.
WITH part AS (SELECT cf_build(email, 0.01, 'value_bits=11 capacity=200000', file) AS f FROM directory GROUP BY file % 4)
INSERT INTO filters SELECT 'merged', cf_merge(f) FROM part;
SELECT count(*) AS missed FROM directory
WHERE file NOT IN (SELECT value FROM cf_values((SELECT cf_open(f) FROM filters WHERE name = 'merged'), email));

-- 7. A key has at most 8 values, or 16 with bucket_size=8: one more is an error. If a key is in more
--    than four files, store a number that is no file and means "query all".
INSERT INTO directory SELECT 'support@example.com', column1 FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9));
INSERT INTO filters
SELECT 'all', cf_build(email, 0.01, 'value_bits=11', CASE WHEN files > 4 THEN 2047 ELSE file END)
FROM (SELECT email, file, count(*) OVER (PARTITION BY email) AS files FROM directory);
SELECT value AS file FROM cf_values((SELECT f FROM filters WHERE name = 'all'), 'support@example.com');
