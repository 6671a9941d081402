-- SPDX-License-Identifier: MIT
-- Running filter tables: monitoring, bulk loads, migrations, duplicates, expiry.   sqlite3 < sql/operate.sql
.bail on
.load build/cuckoo
.headers on
.mode column
.echo on
CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT COLLATE NOCASE UNIQUE, seen_at INTEGER);
INSERT INTO users(email, seen_at) VALUES ('ada@example.com', 100), ('bob@example.com', 200);

-- 1. A filter with default options. The capacity is the current row count plus a quarter, and at least
--    10,000. A column that is not UNIQUE gets counters of 8 bits, so that a key is deleted with its last
--    row. Such a filter takes 22.1 bits per key at 1 % rather than 11.7, and lookups take longer. Give
--    capacity= if you know the final size, and counter_bits= for other counters (0: none).
CREATE VIRTUAL TABLE known USING cuckoo_filter(content='users(email)');
CREATE TABLE visits(user TEXT);
CREATE VIRTUAL TABLE visitors USING cuckoo_filter(content='visits(user)');
SELECT column1 AS name, json_extract(cf_table_info(column1), '$.capacity') AS capacity,
       json_extract(cf_table_info(column1), '$.counter_bits') AS counter_bits,
       json_extract(cf_table_info(column1), '$.bytes') AS bytes
FROM (VALUES ('known'), ('visitors'));

-- 2. Monitoring. cf_table_info reads only a few rows, however large the filter and its log are, so you
--    can call it every second. It also works on a filter that is not trusted. Its fields:
--    trusted, why      0: lookups use an index of the column, or fail if there is none, and why has the
--                      remedy. (Once for each schema, a lookup also checks some rows; so does
--                      cf_table_info(name, 'all').)
--    table, column     the synced table and column, by their current names
--    pending         rows of the log that are not in the pages yet (pending changes). Each connection
--                      reads all of them once. From 1,024 on (with a large filter up to 65,536) the next
--                      COMMIT of a program that has the extension drains them. If there are many more,
--                      only programs without it write. More than a million need the command "drain"
--    waiting           keys that did not fit. They are still found, but each takes a row. If there are
--                      many, one key has too many copies (raise counter_bits), or the capacity is far
--                      too small
--    level, split      one of them above 0: the filter has outgrown its capacity, and takes more bits
--                      (at 1 %: 1.9 times at twice the capacity, 2.2 times at 200 times)
--    items, capacity   stored keys (with repetitions) and planned keys
--    load              the load factor. Near 0.97 the filter is full, which is normal
--    cf_table_info(name, 'all') also has the fields that need a scan of all pages: fpr_now, saturated,
--    void. A corrupt page is only detected when it is read: run SELECT cf_table_check(name) once a day.
CREATE TEMP VIEW filters AS
SELECT name, cf_table_info(name) AS info FROM main.sqlite_master
WHERE type = 'table' AND sql LIKE 'create virtual table%using%cuckoo_filter%';
CREATE TEMP VIEW alerts AS
SELECT name, CASE
    WHEN NOT json_extract(info, '$.trusted') THEN 'not trusted: ' || json_extract(info, '$.why')
    WHEN json_extract(info, '$.pending') > 100000 THEN 'the log is not drained: INSERT INTO name(name) VALUES (''drain'')'
    WHEN json_extract(info, '$.level') + json_extract(info, '$.split') > 0 THEN 'outgrown: SELECT cf_table_rebuild(name)'
    WHEN json_extract(info, '$.items') > 0.9 * json_extract(info, '$.capacity')
         AND json_extract(info, '$.counter_bits') = 0 THEN 'nearly at its capacity'
    WHEN json_extract(info, '$.unplaced') > 1000 THEN 'keys that did not fit'
  END AS alert
FROM filters WHERE alert IS NOT NULL;
SELECT * FROM alerts;
CREATE TRIGGER stamp AFTER INSERT ON users BEGIN UPDATE users SET seen_at = 1 WHERE id = new.id; END;
SELECT * FROM alerts;
SELECT cf_table_contains('known', 'ada@example.com') AS "uses the index";
SELECT json_extract(cf_table_rebuild('known'), '$.keys') AS keys;
SELECT count(*) AS alerts FROM alerts;
DROP TRIGGER stamp;
--    To log it in your service: SELECT cf_table_info('known') returns one line of JSON. SELECT
--    cf_picture('known') draws the filter.

-- 3. Bulk loads. Create the filter after the load: a key that is inserted through triggers costs seven
--    to ten times as much as one that CREATE reads (integers). CREATE and rebuild hold the write lock
--    meanwhile, 0.1 to 0.3 seconds for each million rows; in WAL mode readers continue. (Without a
--    capacity, the distinct keys of a column that is not UNIQUE are counted, which takes 0.1 to 2.5
--    seconds more. Give a capacity.) If the filter exists already, drop it, and create it again in the
--    transaction of the load. Or load in parts of about 10,000 rows: each COMMIT drains the log.
BEGIN;
DROP TABLE known;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
INSERT INTO users(email, seen_at) SELECT 'User' || i || '@example.com', i FROM n;
CREATE VIRTUAL TABLE known USING cuckoo_filter(content='users(email)');
COMMIT;
SELECT json_extract(cf_table_info('known'), '$.capacity') AS capacity, cf_table_contains('known', 'user7@EXAMPLE.com') AS found;

-- 4. Resizing. cf_table_rebuild plans the filter for a new capacity, with the options and the seed of
--    CREATE, and reads the table. Without a capacity it keeps the current one, unless the table has more
--    keys: then it plans for them and a quarter more. It returns how many keys it has read, and how long
--    that took.
SELECT json_extract(cf_table_rebuild('known', 1000000), '$.bytes') / 100000 AS times_100_kb;
SELECT json_extract(cf_table_rebuild('known', 50000), '$.bytes') / 10000 AS times_10_kb,
       json_extract(cf_table_info('known'), '$.capacity') AS capacity;

-- 5. Migrations. RENAME of the table or the column, ADD COLUMN and new indexes leave the filter in sync.
--    A tool that recreates a table (CREATE, INSERT .. SELECT, DROP, RENAME) loses the triggers: the
--    filter is not trusted until SELECT cf_table_rebuild('known'), which belongs at the end of the
--    migration.
ALTER TABLE visits RENAME COLUMN user TO visitor;
SELECT json_extract(cf_table_info('visitors'), '$.column') AS "column";
CREATE TABLE new_users(id INTEGER PRIMARY KEY, email TEXT COLLATE NOCASE UNIQUE, seen_at INTEGER, city TEXT);
INSERT INTO new_users SELECT *, NULL FROM users;
DROP TABLE users;
ALTER TABLE new_users RENAME TO users;
SELECT name, substr(alert, 1, 24) AS alert FROM alerts;
SELECT json_extract(cf_table_rebuild('known'), '$.keys') AS keys;
--    Such tools must not touch the table of the filter, its shadow tables, the log and the triggers.
--    Tools that compare a schema with models propose to drop them. This query lists them, for any
--    filter:
SELECT type, CASE WHEN name LIKE 'cuckoo_%' THEN 'cuckoo_..' ELSE name END AS name FROM main.sqlite_master AS m
WHERE (name LIKE 'cuckoo_%' AND sql LIKE '%cuckoo_log_%') OR EXISTS (
  SELECT 1 FROM main.sqlite_master AS f WHERE f.sql LIKE 'create virtual table%using%cuckoo_filter%'
  AND m.name IN (f.name, f.name || '_page', f.name || '_log'))
ORDER BY m.rowid;
--    Alembic, in env.py: context.configure(..., include_name=include_name) with
--      def include_name(name, type_, parent_names):
--          return type_ != "table" or not re.fullmatch(r"cuckoo_log_.*|(known|visitors)(_page|_log)?", name)
--    In batch_alter_table write recreate="never" where ALTER is enough, and give reflected columns their
--    COLLATE. Django: it does not touch models of other tables; for a filter set Meta: managed = False.
--    Prisma and others: list these names as external tables.

-- 6. Duplicates. Of the new rows, only those that are probably in the set are looked up in the table.
--    changes() is exact when the table decides, as here; with the filter alone one new row in a hundred
--    would be skipped.
CREATE TABLE incoming(email TEXT);
INSERT INTO incoming VALUES ('ADA@example.com'), ('zoe@example.com'), ('user9@example.com'), ('yan@example.com');
INSERT INTO users(email) SELECT email FROM incoming
WHERE NOT cf_table_contains('known', email) OR NOT EXISTS (SELECT 1 FROM users WHERE users.email = incoming.email);
SELECT changes() AS new;
--    A filter of your own keys, for messages that may arrive twice. A key is not added if it is probably
--    in the set, so one new message in a thousand would be skipped. In that case query the exact table,
--    if there is one. Skipping an add when the filter returns 1 is correct here because no key of this
--    filter is ever deleted: a skipped key may share the entry of another key, and becomes a false
--    negative when that key is deleted. If you delete keys, add every key. (With adds=once, in
--    streams.sql, such deletes fail.)
CREATE VIRTUAL TABLE done USING cuckoo_filter(capacity=100000, fpr=0.001, seed=1);
INSERT INTO done(key) SELECT 'message 1' WHERE NOT cf_table_contains('done', 'message 1');
SELECT changes() AS new;
INSERT INTO done(key) SELECT 'message 1' WHERE NOT cf_table_contains('done', 'message 1');
SELECT changes() AS new;

-- 7. Expiry. If the rows of a synced table expire, delete the rows. After many deletes the filter is
--    larger than necessary: give rebuild the new capacity.
DELETE FROM users WHERE seen_at < 39000;
SELECT json_extract(cf_table_rebuild('known', 10000), '$.keys') AS keys;
--    Without a table, use two filters in turn. Each period clears the older one, and adds to it. Keys
--    are found for at least one period, and at most two.
CREATE VIRTUAL TABLE even USING cuckoo_filter(capacity=100000, fpr=0.001, seed=1);
CREATE VIRTUAL TABLE odd USING cuckoo_filter(capacity=100000, fpr=0.001, seed=1);
INSERT INTO even(key) VALUES ('monday');
INSERT INTO odd(odd) VALUES ('clear');
INSERT INTO odd(key) VALUES ('tuesday');
SELECT column1 AS key, cf_table_contains('even', column1) OR cf_table_contains('odd', column1) AS seen
FROM (VALUES ('monday'), ('tuesday'), ('sunday'));
INSERT INTO even(even) VALUES ('clear');
INSERT INTO even(key) VALUES ('wednesday');
SELECT column1 AS key, cf_table_contains('even', column1) OR cf_table_contains('odd', column1) AS seen
FROM (VALUES ('monday'), ('tuesday'), ('wednesday'));
