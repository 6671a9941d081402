-- SPDX-License-Identifier: MIT
-- Running filter tables: monitoring, bulk loads, migrations, duplicates, expiry.   sqlite3 < sql/operate.sql
.bail on
.load build/cuckoo
.headers on
.mode column
.echo on
CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT COLLATE NOCASE UNIQUE, seen_at INTEGER);
INSERT INTO users(email, seen_at) VALUES ('ada@example.com', 100), ('bob@example.com', 200);

-- 1. A filter that needs no numbers. The capacity comes from the rows of today: a quarter more, at least
--    10,000. A column that is not UNIQUE gets counters of 8 bits, so that a key goes with its last row: such
--    a filter takes 22.1 bits a key at 1 % rather than 11.7, and a lookup longer. Give capacity= when
--    you know the final size, and counter_bits= for other counters (0: none).
CREATE VIRTUAL TABLE known USING cuckoo_filter(content='users(email)');
CREATE TABLE visits(user TEXT);
CREATE VIRTUAL TABLE visitors USING cuckoo_filter(content='visits(user)');
SELECT column1 AS name, json_extract(cf_table_info(column1), '$.capacity') AS capacity,
       json_extract(cf_table_info(column1), '$.counter_bits') AS counter_bits,
       json_extract(cf_table_info(column1), '$.bytes') AS bytes
FROM (VALUES ('known'), ('visitors'));

-- 2. Monitoring. cf_table_info reads a few rows, whatever the filter and its log hold: ask every second. It
--    answers for a filter that is not trusted, too. What it says:
--      trusted, why      0: lookups ask the table by an index of the column, or are errors where there is
--                        none, and why has the remedy. (A lookup also asks for some rows, once for each
--                        schema; cf_table_info(name, 'all') does that, too)
--      table, column     what it follows, by their names of today
--      undrained         rows of the log that are not in the pages yet. Lookups read all of them, once for
--                        each connection. From 1,024 on (with a large filter up to 65,536) the next
--                        COMMIT of a program that has the extension drains them: if they get many more,
--                        only programs without it write. More than a million wait for "drain"
--      waiting           keys without a place. They are found, but each costs a row. Many of them: too many
--                        copies of a key (counter_bits), or a capacity that is far too small
--      level, split      one above 0: it has outgrown its capacity, and takes more bits (1 %: 1.9 times at
--                        twice the capacity, 2.2 times at 200 times)
--      items, capacity   keys held (with repetitions) and planned
--      load              near 0.97 is full, not bad
--    cf_table_info(name, 'all') counts what takes a walk over all pages: fpr_now, sticky, void.
--    A damaged page shows only when it is read: run SELECT cf_table_check(name) once a day.
CREATE TEMP VIEW filters AS
SELECT name, cf_table_info(name) AS info FROM main.sqlite_master
WHERE type = 'table' AND sql LIKE 'create virtual table%using%cuckoo_filter%';
CREATE TEMP VIEW alerts AS
SELECT name, CASE
    WHEN NOT json_extract(info, '$.trusted') THEN 'not trusted: ' || json_extract(info, '$.why')
    WHEN json_extract(info, '$.undrained') > 100000 THEN 'nobody drains the log: INSERT INTO name(name) VALUES (''drain'')'
    WHEN json_extract(info, '$.level') + json_extract(info, '$.split') > 0 THEN 'outgrown: SELECT cf_table_rebuild(name)'
    WHEN json_extract(info, '$.items') > 0.9 * json_extract(info, '$.capacity')
         AND json_extract(info, '$.counter_bits') = 0 THEN 'nearly at its capacity'
    WHEN json_extract(info, '$.waiting') > 1000 THEN 'keys without a place'
  END AS alert
FROM filters WHERE alert IS NOT NULL;
SELECT * FROM alerts;
CREATE TRIGGER stamp AFTER INSERT ON users BEGIN UPDATE users SET seen_at = 1 WHERE id = new.id; END;
SELECT * FROM alerts;
SELECT cf_table_contains('known', 'ada@example.com') AS "asks the table";
SELECT json_extract(cf_table_rebuild('known'), '$.keys') AS keys;
SELECT count(*) AS alerts FROM alerts;
DROP TRIGGER stamp;
--    In the log of your service: SELECT cf_table_info('known') is one line of JSON. To look at it with your
--    eyes: SELECT cf_picture('known').

-- 3. Bulk loads. Create the filter after the load: a key that comes through triggers costs seven to ten times
--    as much as one that CREATE reads (integers). CREATE and rebuild hold the write lock meanwhile, 0.1 to 0.3
--    seconds for each million rows; readers go on in WAL mode. (Without a capacity, the different keys of a
--    column that is not UNIQUE are counted: that takes 0.1 to 2.5 seconds more. Give a capacity.) If the filter
--    is there already, drop it, and create it anew in the transaction of the load. Or load in parts of some
--    10,000 rows: each COMMIT drains the log.
BEGIN;
DROP TABLE known;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
INSERT INTO users(email, seen_at) SELECT 'User' || i || '@example.com', i FROM n;
CREATE VIRTUAL TABLE known USING cuckoo_filter(content='users(email)');
COMMIT;
SELECT json_extract(cf_table_info('known'), '$.capacity') AS capacity, cf_table_contains('known', 'user7@EXAMPLE.com') AS found;

-- 4. Another size. cf_table_rebuild plans the filter anew for a capacity, with the options and the seed of
--    CREATE, and reads the table. Without a capacity it stays as it is, unless the table has more keys: then
--    it is planned for them and a quarter more. It says how many keys it has read, in what time.
SELECT json_extract(cf_table_rebuild('known', 1000000), '$.bytes') / 100000 AS times_100_kb;
SELECT json_extract(cf_table_rebuild('known', 50000), '$.bytes') / 10000 AS times_10_kb,
       json_extract(cf_table_info('known'), '$.capacity') AS capacity;

-- 5. Migrations. RENAME of the table or the column, ADD COLUMN and new indexes: the filter goes on. A tool
--    that makes a table anew (CREATE, INSERT .. SELECT, DROP, RENAME) loses the triggers: the filter is not
--    trusted until SELECT cf_table_rebuild('known'), which belongs at the end of the migration.
ALTER TABLE visits RENAME COLUMN user TO visitor;
SELECT json_extract(cf_table_info('visitors'), '$.column') AS "column";
CREATE TABLE new_users(id INTEGER PRIMARY KEY, email TEXT COLLATE NOCASE UNIQUE, seen_at INTEGER, city TEXT);
INSERT INTO new_users SELECT *, NULL FROM users;
DROP TABLE users;
ALTER TABLE new_users RENAME TO users;
SELECT name, substr(alert, 1, 24) AS alert FROM alerts;
SELECT json_extract(cf_table_rebuild('known'), '$.keys') AS keys;
--    What such tools must leave alone: the table of the filter, its shadow tables, the log, the triggers.
--    Tools that compare a schema with models propose to drop them. This finds them, for any filter:
SELECT type, CASE WHEN name LIKE 'cuckoo_%' THEN 'cuckoo_..' ELSE name END AS name FROM main.sqlite_master AS m
WHERE (name LIKE 'cuckoo_%' AND sql LIKE '%cuckoo_log_%') OR EXISTS (
  SELECT 1 FROM main.sqlite_master AS f WHERE f.sql LIKE 'create virtual table%using%cuckoo_filter%'
  AND m.name IN (f.name, f.name || '_page', f.name || '_log'))
ORDER BY m.rowid;
--    Alembic, in env.py: context.configure(..., include_name=include_name) with
--      def include_name(name, type_, parent_names):
--          return type_ != "table" or not re.fullmatch(r"cuckoo_log_.*|(known|visitors)(_page|_log)?", name)
--    In batch_alter_table say recreate="never" where ALTER does it, and give reflected columns their
--    COLLATE. Django: models of other tables are not touched; for a filter Meta: managed = False. Prisma and
--    others: list these names as external tables.

-- 6. Duplicates: of new rows only those are looked for that are perhaps there. changes() is exact when the
--    join decides, as here; with the filter alone one new row in a hundred would be skipped.
CREATE TABLE incoming(email TEXT);
INSERT INTO incoming VALUES ('ADA@example.com'), ('zoe@example.com'), ('user9@example.com'), ('yan@example.com');
INSERT INTO users(email) SELECT email FROM incoming
WHERE NOT cf_table_contains('known', email) OR NOT EXISTS (SELECT 1 FROM users WHERE users.email = incoming.email);
SELECT changes() AS new;
--    A filter of its own keys, for messages that may come twice. A key that is not added is perhaps there:
--    one message in a thousand would be taken for an old one. So ask the exact table then, if there is one.
--    To skip an add where the filter says 1 is right here because no key of this filter is ever deleted: a
--    key that was skipped may rely on the entry of another one, and is missed once that one is deleted.
--    Where keys are deleted, add each of them. (adds=once, in streams.sql, refuses such deletes.)
CREATE VIRTUAL TABLE done USING cuckoo_filter(capacity=100000, fpr=0.001, seed=1);
INSERT INTO done(key) SELECT 'message 1' WHERE NOT cf_table_contains('done', 'message 1');
SELECT changes() AS new;
INSERT INTO done(key) SELECT 'message 1' WHERE NOT cf_table_contains('done', 'message 1');
SELECT changes() AS new;

-- 7. Expiry. Where rows expire, the filter follows them: delete the rows. Many deletes leave a filter that
--    is larger than it need be: give rebuild the new capacity.
DELETE FROM users WHERE seen_at < 39000;
SELECT json_extract(cf_table_rebuild('known', 10000), '$.keys') AS keys;
--    Where there is no table, two filters take turns. Each period clears the older one, and adds to it.
--    Keys are found for one period at least, and two at most.
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
