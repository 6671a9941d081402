-- SPDX-License-Identifier: MIT
-- Keeping a filter in step with a table.   sqlite3 < sql/keep_in_sync.sql
-- Recipes 1 to 4 are for filter tables, and these are the best choice. Recipes 5 to 9 are for filters in
-- blobs. The end of this file says who needs the extension, what following costs, and what a filter table
-- cannot notice.
.bail on
.load build/cuckoo
.headers on
.mode column
.echo on
CREATE TABLE customers(id INTEGER PRIMARY KEY, email TEXT UNIQUE COLLATE NOCASE);
INSERT INTO customers(email) VALUES ('ada@example.com'), ('bob@example.com'), ('cyd@example.com');

-- 1. A filter that follows a column. It is filled when it is created. Three triggers then write every
--    change to an ordinary table, the log of the filter, in the same transaction. Lookups read the log,
--    too, so every stored row is found. That holds for all statements: OR IGNORE, OR FAIL, OR REPLACE,
--    upserts, foreign key cascades and triggers of your own; and for programs that do not have the
--    extension. Keys are equal when the column compares them as equal. The column may be a generated one
--    or the rowid, but not one of a view or a virtual table.
CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=1000, fpr=0.001, content='customers(email)');
INSERT OR IGNORE INTO customers(email) VALUES ('bob@example.com'), ('gus@example.com');
UPDATE customers SET email = 'ada@example.org' WHERE email = 'ada@example.com';
BEGIN;
DELETE FROM customers;
ROLLBACK;
SELECT key, cf_table_contains('known', key) AS answer
FROM (SELECT column1 AS key FROM (VALUES ('ada@example.com'), ('ADA@example.org'), ('gus@example.com')));
--    REPLACE fires delete triggers only with this pragma, in each connection that replaces rows. Without
--    it the filter keeps the key of the replaced row. It still finds all rows, and the command "rebuild"
--    removes such keys.
PRAGMA recursive_triggers = ON;
INSERT OR REPLACE INTO customers(id, email)
SELECT id, 'augustus@example.com' FROM customers WHERE email = 'gus@example.com';
SELECT cf_table_contains('known', 'gus@example.com') AS gus,
       cf_table_contains('known', 'augustus@example.com') AS augustus;
--    A key that has gone is denied at once. Lookups add up the log, which is taken into the pages of the
--    filter, or drained, at a COMMIT of a program that has the extension, when it has 1,024 rows or more.
--    The command "drain" does it now, and cf_table_info says how many rows wait.
INSERT INTO customers(email) VALUES ('eve@example.com');
SELECT json_extract(cf_table_info('known'), '$.undrained') AS undrained;
INSERT INTO known(known) VALUES ('drain');
SELECT json_extract(cf_table_info('known'), '$.undrained') AS undrained;
--    Such a filter cannot be changed directly: INSERT, UPDATE, DELETE and the commands "clear" and
--    "import" are errors. It takes every key, also with growth=off: a key that finds no place waits in a
--    table, and is found there. "email IN known" is correct but slow, because it lists the keys of the
--    table. Use cf_table_contains.

-- 2. A column that is not UNIQUE. The filter takes counters of 8 bits, unless counter_bits is given: a key is
--    gone when its last row is.
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer TEXT);
INSERT INTO orders(customer) VALUES ('ada'), ('ada'), ('ada'), ('ada'), ('ada'), ('bob');
CREATE VIRTUAL TABLE buyers USING cuckoo_filter(
  capacity=1000, fpr=0.001, content='orders(customer)');
DELETE FROM orders WHERE id IN (SELECT id FROM orders WHERE customer = 'ada' LIMIT 4);
SELECT cf_table_contains('buyers', 'ada') AS ada;
DELETE FROM orders WHERE customer = 'ada';
SELECT cf_table_contains('buyers', 'ada') AS ada, cf_table_contains('buyers', 'bob') AS bob;

-- 3. Migrations. Tables, columns and filters may be renamed. The filter keeps following. Only to rename
--    or drop the filter itself takes the extension.
ALTER TABLE customers RENAME TO clients;
ALTER TABLE clients RENAME COLUMN email TO mail;
ALTER TABLE known RENAME TO known_mail;
INSERT INTO clients(mail) VALUES ('hal@example.com');
SELECT cf_table_contains('known_mail', 'hal@example.com') AS hal;
--    Many tools make the table anew and drop the old one: SQLite's own recipe for ALTER TABLE, Django,
--    sqlite-utils, pandas with if_exists='replace'. The triggers are then lost. Lookups ask the table
--    by an index of the column, or are errors where there is none. cf_table_rebuild mends it: it makes log
--    and triggers and reads the table again. A trigger of yours that is newer than the filter fires before
--    those of the filter. When it writes, or says RAISE(IGNORE) or RAISE(FAIL), a row may stay without them:
--    the same happens, and cf_table_rebuild mends that, too. A TEMP trigger of this kind must be dropped.
BEGIN;
CREATE TABLE new_clients(id INTEGER PRIMARY KEY, mail TEXT UNIQUE COLLATE NOCASE, since TEXT);
INSERT INTO new_clients(id, mail) SELECT id, mail FROM clients;
DROP TABLE clients;
ALTER TABLE new_clients RENAME TO clients;
SELECT json_extract(cf_table_rebuild('known_mail'), '$.keys') AS keys;
COMMIT;
INSERT INTO clients(mail) VALUES ('ida@example.com');
SELECT cf_table_contains('known_mail', 'ida@example.com') AS ida,
       cf_table_contains('known_mail', 'hal@example.com') AS hal;
--    "check" is silent when every row is found, and an error otherwise. cf_table_check says "ok" or what
--    is wrong, also in a read-only database. From SQLite 3.44 on, PRAGMA integrity_check looks for damage,
--    too; it says nothing of a filter that is not trusted.
--    "optimize" moves spilled and waiting keys to slots, and gives pages back when many keys have gone.
--    count(*) takes time in proportion to the filter.
INSERT INTO known_mail(known_mail) VALUES ('check');
SELECT cf_table_check('known_mail') AS sound;
INSERT INTO known_mail(known_mail) VALUES ('optimize');
SELECT count(*) = (SELECT count(*) FROM clients) AS in_step FROM known_mail;
--    DROP TABLE removes the filter, its triggers and its log.
DROP TABLE known_mail;
DROP TABLE buyers;
SELECT count(*) AS left_over FROM sqlite_master WHERE type = 'trigger' OR name LIKE 'cuckoo_log_%';
DROP TABLE orders;
DROP TABLE clients;

-- 4. A filter table of your own keys. Each row is a key that is perhaps there. It keeps no values: those
--    are for blobs (sql/key_to_shard.sql).
CREATE VIRTUAL TABLE shard USING cuckoo_filter(capacity=1000, fpr=0.001);
INSERT INTO shard(key) VALUES ('a'), ('b'), ('d');
DELETE FROM shard WHERE key = 'd';
SELECT key FROM shard WHERE key IN ('a', 'b', 'c');
--    cf_export gives the same filter as a blob. "import" replaces the filter by that of a blob.
SELECT cf_count(cf_export('shard'), 'b') AS b, count(*) AS entries FROM shard;
INSERT INTO shard(shard, key) SELECT 'import', cf_clear(cf_export('shard'));
SELECT count(*) AS entries FROM shard;
DROP TABLE shard;

-- From here on the filter is a blob. It is small and easy to send elsewhere. You keep it in step.
CREATE TABLE customers(id INTEGER PRIMARY KEY, email TEXT UNIQUE);
INSERT INTO customers(email) VALUES ('ada@example.com'), ('bob@example.com'), ('cyd@example.com');
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'customers', cf_build(email, 0.001, 'capacity=1000') FROM customers;

-- 5. Row by row, with your own triggers. This is right for a UNIQUE column, because each key is then
--    added once and deleted once. Every call copies the filter: it should not be larger than about 100
--    KB. INSERT OR REPLACE needs PRAGMA recursive_triggers = ON, as above. Where the table may be empty when
--    the filter is made, build it FROM (SELECT 1) LEFT JOIN customers: over no rows cf_build does not see
--    its options.
CREATE TRIGGER customers_filter_insert AFTER INSERT ON customers BEGIN
  UPDATE filters SET f = cf_add(f, new.email) WHERE name = 'customers';
END;
CREATE TRIGGER customers_filter_delete AFTER DELETE ON customers BEGIN
  UPDATE filters SET f = cf_delete(f, old.email) WHERE name = 'customers';
END;
CREATE TRIGGER customers_filter_update AFTER UPDATE OF email ON customers
WHEN old.email IS NOT new.email COLLATE BINARY BEGIN
  UPDATE filters SET f = cf_add(cf_delete(f, old.email), new.email) WHERE name = 'customers';
END;
INSERT INTO customers(email) VALUES ('dan@example.com');
UPDATE customers SET email = 'bobby@example.com' WHERE email = 'bob@example.com';
DELETE FROM customers WHERE email = 'cyd@example.com';
SELECT key, cf_contains(f, key) AS answer
FROM filters, (SELECT column1 AS key FROM (VALUES ('ada@example.com'), ('bob@example.com'),
               ('bobby@example.com'), ('cyd@example.com'), ('dan@example.com')));
BEGIN;
DELETE FROM customers;
ROLLBACK;
SELECT cf_contains(f, 'ada@example.com') AS ada_after_rollback FROM filters;
DROP TRIGGER customers_filter_insert;
DROP TRIGGER customers_filter_delete;
DROP TRIGGER customers_filter_update;

-- 6. In batches: one UPDATE for many keys. cf_keys collects them, and cf_add_keys or cf_delete_keys takes
--    them all at once. NULL keys are left out, and no arrivals are no keys. The filter is copied once,
--    however many keys there are.
CREATE TABLE arrivals(email TEXT);
INSERT INTO arrivals VALUES ('eve@example.com'), ('fay@example.com'), (NULL);
UPDATE filters SET f = cf_add_keys(f, (SELECT cf_keys(email) FROM arrivals)) WHERE name = 'customers';
DELETE FROM arrivals;
UPDATE filters SET f = cf_add_keys(f, (SELECT cf_keys(email) FROM arrivals)) WHERE name = 'customers';
SELECT json_extract(cf_info(f), '$.items') AS items, cf_check(f) AS sound FROM filters;
--    A filter with a seed, a hash, an affinity or a collation needs a list made with the same options:
--    cf_keys(email, NULL, 'collation=nocase'). Any other list is an error that says what to write.
--    cf_add_all(filter, key) does the same as an aggregate. It is for a filter that your program binds
--    or that cf_open gives. From a column or a subquery SQLite may copy the filter for every key: 12 MB
--    take 0.5 to 4 milliseconds each time.

-- 7. Anew, when the table has changed much. A filter that is full is no reason, since it grows.
UPDATE filters SET f = (SELECT cf_build(email, 0.001, 'capacity=1000') FROM customers)
WHERE name = 'customers';
SELECT json_extract(cf_info(f), '$.items') AS items FROM filters;

-- 8. A column that is not UNIQUE: the same triggers, and counter_bits. With counters, a key is gone when
--    its last row is. Without counters, a key of `cap` rows or more (see cf_info) stays for ever.
--    cf_build counts the rows of each key when there are counters. Otherwise it keeps each key once.
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer TEXT);
INSERT INTO orders(customer) VALUES ('ada'), ('ada'), ('ada'), ('ada'), ('ada'), ('bob');
INSERT INTO filters
SELECT 'orders', cf_build(customer, 0.001, 'counter_bits=8 capacity=1000') FROM orders;
CREATE TRIGGER orders_filter_insert AFTER INSERT ON orders BEGIN
  UPDATE filters SET f = cf_add(f, new.customer) WHERE name = 'orders';
END;
CREATE TRIGGER orders_filter_delete AFTER DELETE ON orders BEGIN
  UPDATE filters SET f = cf_delete(f, old.customer) WHERE name = 'orders';
END;
CREATE TRIGGER orders_filter_update AFTER UPDATE OF customer ON orders
WHEN old.customer IS NOT new.customer COLLATE BINARY BEGIN
  UPDATE filters SET f = cf_add(cf_delete(f, old.customer), new.customer) WHERE name = 'orders';
END;
INSERT INTO orders(customer) VALUES ('ada'), ('cyd');
SELECT cf_count(f, 'ada') AS ada, cf_count(f, 'bob') AS bob, cf_count(f, 'cyd') AS cyd
FROM filters WHERE name = 'orders';
DELETE FROM orders WHERE customer = 'ada';
SELECT cf_contains(f, 'ada') AS ada, cf_contains(f, 'bob') AS bob FROM filters WHERE name = 'orders';

-- 9. By day: a filter for each day, and their sum. Filters of equal capacity, error rate and options can
--    be merged.
CREATE TABLE visits(day TEXT, visitor TEXT);
INSERT INTO visits VALUES ('mon', 'ada'), ('mon', 'bob'), ('tue', 'ada'), ('tue', 'cyd'), ('wed', 'dan');
CREATE TABLE daily AS SELECT day, cf_build(visitor, 0.01, 'capacity=1000') AS f FROM visits GROUP BY day;
SELECT visitor, cf_contains(week.f, visitor) AS this_week
FROM (SELECT cf_merge(f) AS f FROM daily) AS week,
     (SELECT column1 AS visitor FROM (VALUES ('ada'), ('cyd'), ('dan'), ('zoe')));

-- How a filter table works. The table <name>_page holds the filter, one page of buckets in a row, and a
-- header. Changes of keys go to a log first: <name>_log, or that of a filter that follows a column,
-- cuckoo_log_ and 16 digits. A lookup adds up pages and logs. Now and then a COMMIT drains the logs into the
-- pages. Keys that find no place there stay in <name>_log. Every connection keeps in memory what it has read.
--
-- Who needs the extension? Whoever asks the filter, or renames, drops or rebuilds it. Nobody needs it to
-- write, to alter any other table, for VACUUM, backup or .dump. Programs without it never drain. What they
-- leave waits for a COMMIT of a program that has it, when the log has 1,024 rows or more; more than a
-- million wait for "drain". A filter in an attached database is drained only when a lookup is in the same
-- transaction, or by "drain". A .dump is read without the extension; the shells of 3.43 and
-- 3.44 need ".dbconfig defensive off" for that. Python's iterdump gives no dump that can be read. The shell's
-- .clone fails: it opens a connection of its own, which has not loaded the extension.
--
-- To give up a filter where nobody has the extension: DROP TRIGGER the three on the table whose names begin
-- with cuckoo_, and DROP TABLE the log that they name. The filter itself stays until a program with the
-- extension drops it. If only the log is dropped, writes to the table fail: "no such table"; then
-- cf_table_rebuild makes another one.
--
-- What following costs. A key that comes is written twice, and one that changes three times, with a random
-- number of 9 bytes: 200,000 integers are 32 bytes of WAL a row instead of 11, UUIDs 100 instead of 45. After
-- a large transaction the log leaves free pages in the file, the length of the key and 17 bytes for each row.
-- SQLite fills them again.
--
-- The connection watches its own writes by a TEMP trigger on the log. When another connection drops the
-- filter, this trigger stays behind. ALTER TABLE ... RENAME and DROP COLUMN then fail, and the name
-- of the trigger in the message says what to do: connect_anew_if_its_table_is_gone.
--
-- An authorizer has to allow INSERT into the log, and SELECT, also in programs without the extension; from SQLite 3.54
-- on also the function random. One that is set after the extension was loaded has to allow the function cf_touch, too.
-- Otherwise writes fail.
--
-- Sessions: attach tables by name. A session of all tables records <name>_page, and such a changeset
-- damages the filter of the other database. The log has no PRIMARY KEY, so sessions leave it alone. A
-- changeset of the followed table reaches the other filter by its triggers.
--
-- What a filter table does not notice. After one of these, run "rebuild" or connect anew:
--   - writes to the followed table by a connection whose triggers are off
--     (SQLITE_DBCONFIG_ENABLE_TRIGGER), or by incremental blob I/O. In a connection whose triggers are
--     off the filter is not trusted.
--   - rows that somebody writes to the log or deletes from it.
--   - a TEMP trigger of another connection that fires after a change, and keeps the triggers of the filter
--     from firing. In that connection itself the filter is not trusted.
--   - a newer trigger that did so, and was dropped before anybody asked the filter.
--   - SQL that a function runs within a trigger or an UPDATE, when it changes keys in the midst of a change.
--   - an authorizer that answers SQLITE_IGNORE for the column, the log or a shadow table.
--   - VACUUM, when the filter follows the rowid of a table without INTEGER PRIMARY KEY: it gives the rows
--     new numbers.
--   - sqlite3_deserialize over a database in use. Connect anew before it: the TEMP trigger on the log stays, and
--     then SQLite may crash.
--   - writes to <name>_page or <name>_log by others. Defensive mode forbids them, but for incremental blob I/O.
--   - uncommitted changes of others, when you read them by PRAGMA read_uncommitted.
--   - your own uncommitted changes to a filter without content= are missing in a .dump or serialize of
--     the same connection. Commit first.
--
-- What is not found at once. While a statement runs, its rows may be ahead of their triggers. Then
-- RETURNING cf_table_contains(...), and triggers newer than the filter, may get 0 for the row just
-- written.
--
-- A BEFORE trigger that changes keys in the midst of a change. SQLite then tells AFTER triggers old values
-- that are no longer stored. So CREATE is refused where such a trigger is, and where one comes later the
-- filter is not trusted, and asks its table. Make it an AFTER trigger.
--
-- A COMMIT under PRAGMA query_only leaves the log as it is. It cannot write a filter without content=: it
-- fails, and the transaction stays. Switch it off, and say COMMIT again. Before SQLite 3.39.3, an UPDATE of
-- several blobs that fails inside a transaction keeps the rows before the failure. This is a fault of SQLite.
