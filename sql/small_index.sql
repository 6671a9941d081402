-- SPDX-License-Identifier: MIT
-- An index for joins in 30 bits a key.   sqlite3 < sql/small_index.sql
-- A filter that stores the rowid with each key names the rows where a key may be. The join compares the key
-- again, so its answer is exact. An index on the same column takes 120 to 330 bits a key.
.bail on
.load build/cuckoo
.headers on
.mode column
PRAGMA temp_store = MEMORY;
.echo on
-- 100,000 users, without an index on email; 200,000 events, half of them of these users.
CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT, name TEXT);
INSERT INTO users WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
  SELECT i, printf('user-%06d@example.com', i * 7919 % 200000), 'name ' || i FROM n;
CREATE TABLE events(email TEXT, amount INTEGER);
INSERT INTO events WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
  SELECT printf('user-%06d@example.com', i * 104729 % 200000), i % 100 FROM n;

-- 1. value_bits=17 is for rowids below 2^17. With fpr 0.001 one event in 1,000 reads a row that has another key.
SELECT max(id) < 1 << 17 AS fits FROM users;
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'users', cf_build(email, 0.001, 'value_bits=17', id) FROM users;
SELECT round(length(f) * 8.0 / 100000, 1) AS bits_per_key, length(f) AS bytes FROM filters;

-- 2. The join. CROSS JOIN keeps the order of the tables, and the last condition makes it exact. cf_open
--    prevents a copy of the filter for each row.
.timer on
SELECT count(*) AS rows, sum(amount) AS amount, sum(length(u.name)) AS letters
FROM events AS e CROSS JOIN cf_values((SELECT cf_open(f) FROM filters WHERE filters.name = 'users'), e.email) AS v
     CROSS JOIN users AS u ON u.id = v.value AND u.email = e.email;

-- 3. The same with an index. It takes longer where half of the events match, and takes more bytes.
CREATE TEMP TABLE pages AS SELECT page_count AS before FROM pragma_page_count('main');
CREATE UNIQUE INDEX users_email ON users(email);
.timer off
SELECT (page_count - before) * page_size * 8 / 1000000 * 10 AS bits_per_key_of_the_index
FROM pages, pragma_page_count('main'), pragma_page_size('main');
.timer on
SELECT count(*) AS rows, sum(amount) AS amount, sum(length(u.name)) AS letters
FROM events AS e JOIN users AS u ON u.email = e.email;
.timer off

-- 4. NOT EXISTS: a user without an event has no row that is compared as equal.
SELECT count(*) AS strangers FROM events AS e WHERE NOT EXISTS (
  SELECT 1 FROM cf_values((SELECT cf_open(f) FROM filters WHERE filters.name = 'users'), e.email) AS v
                CROSS JOIN users AS u ON u.id = v.value AND u.email = e.email);
SELECT count(*) AS strangers FROM events AS e WHERE e.email NOT IN (SELECT email FROM users);

-- 5. The filter does not follow the table. One key more, one less; or build it again. Each of these copies
--    the filter, so change many keys at once: cf_add_keys(f, (SELECT cf_keys(email, id) FROM new)).
INSERT INTO users VALUES (100001, 'ada@a.example', 'Ada');
UPDATE filters SET f = cf_add(f, 'ada@a.example', 100001) WHERE name = 'users';
SELECT u.name FROM filters, cf_values(f, 'ada@a.example') AS v CROSS JOIN users AS u ON u.id = v.value AND u.email = 'ada@a.example'
WHERE filters.name = 'users';
UPDATE filters SET f = cf_delete(f, 'ada@a.example', 100001) WHERE name = 'users';
DELETE FROM users WHERE id = 100001;

-- 6. A key has at most 8 rows, or 16 with bucket_size=8: the build of one more is an error. Rowids are below
--    2^32. UNIQUE is not enforced. VACUUM may renumber rows without an INTEGER PRIMARY KEY: build it again.

-- 7. The same as a table that stays in sync, for rowids of any size and any number of rows a key: rowids=on.
--    SQLite chooses the order of the join.
DROP INDEX users_email;
CREATE VIRTUAL TABLE users_by_email USING cuckoo_filter(content='users(email)', rowids=on);
.timer on
SELECT count(*) AS rows, sum(amount) AS amount, sum(length(u.name)) AS letters
FROM events AS e JOIN users_by_email AS i ON i.key = e.email JOIN users AS u ON u.rowid = i.row AND u.email = i.key;
.timer off
INSERT INTO users VALUES (100001, 'ada@a.example', 'Ada');
UPDATE users SET email = 'bob@a.example' WHERE id = 7;
SELECT u.id, u.name FROM users_by_email AS i JOIN users AS u ON u.rowid = i.row AND u.email = i.key
WHERE i.key IN ('ada@a.example', 'bob@a.example') ORDER BY u.id;
SELECT json_extract(cf_table_info('users_by_email'), '$.items') AS rows;
