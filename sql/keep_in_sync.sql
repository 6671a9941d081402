-- SPDX-License-Identifier: MIT
-- Keeping a filter in sync with a table.   sqlite3 < sql/keep_in_sync.sql
-- Recipes 1 to 4 are for filter tables, which are the best choice. Recipes 5 to 9 are for filters in
-- blobs. The end of this file describes who needs the extension, what a synced table costs, and what a
-- filter table cannot detect.
.bail on
.load build/cuckoo
.headers on
.mode column
.echo on
CREATE TABLE customers(id INTEGER PRIMARY KEY, email TEXT UNIQUE COLLATE NOCASE);
INSERT INTO customers(email) VALUES ('ada@example.com'), ('bob@example.com'), ('cyd@example.com');

-- 1. A filter that stays in sync with a column. CREATE fills it. Three triggers then write every change
--    to an ordinary table, the log of the filter, in the same transaction. Lookups also read the log, so
--    every stored row is found. That holds for all statements (OR IGNORE, OR FAIL, OR REPLACE, upserts,
--    foreign key cascades and your own triggers) and for programs that do not have the extension. Keys
--    are equal when the column compares them as equal. The column may be a generated one or the rowid,
--    but not a column of a view or a virtual table.
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
--    A deleted key disappears immediately. A lookup combines the filter with the pending changes in the
--    log. To drain the log means to merge the pending changes into the pages of the filter. A COMMIT of
--    a program that has the extension does it when the log has 1,024 rows or more. The command "drain"
--    does it immediately, and cf_table_info reports the number of pending rows.
INSERT INTO customers(email) VALUES ('eve@example.com');
SELECT json_extract(cf_table_info('known'), '$.pending') AS pending;
INSERT INTO known(known) VALUES ('drain');
SELECT json_extract(cf_table_info('known'), '$.pending') AS pending;
--    A synced table cannot be changed directly: INSERT, UPDATE, DELETE and the commands "clear" and
--    "import" are errors. It accepts every key, even with growth=off: a key that does not fit is stored
--    in a table, and is found there. "email IN known" is correct but slow, because it lists the keys of
--    the table. Use cf_table_contains.

-- 2. A column that is not UNIQUE. The filter has counters of 8 bits, unless counter_bits is given, so a
--    key is deleted with its last row.
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer TEXT);
INSERT INTO orders(customer) VALUES ('ada'), ('ada'), ('ada'), ('ada'), ('ada'), ('bob');
CREATE VIRTUAL TABLE buyers USING cuckoo_filter(
  capacity=1000, fpr=0.001, content='orders(customer)');
DELETE FROM orders WHERE id IN (SELECT id FROM orders WHERE customer = 'ada' LIMIT 4);
SELECT cf_table_contains('buyers', 'ada') AS ada;
DELETE FROM orders WHERE customer = 'ada';
SELECT cf_table_contains('buyers', 'ada') AS ada, cf_table_contains('buyers', 'bob') AS bob;

-- 3. Migrations. Tables, columns and filters may be renamed, and the filter stays in sync. Only renaming
--    or dropping the filter itself needs the extension.
ALTER TABLE customers RENAME TO clients;
ALTER TABLE clients RENAME COLUMN email TO mail;
ALTER TABLE known RENAME TO known_mail;
INSERT INTO clients(mail) VALUES ('hal@example.com');
SELECT cf_table_contains('known_mail', 'hal@example.com') AS hal;
--    Many tools create a new table and drop the old one: SQLite's own recipe for ALTER TABLE, Django,
--    sqlite-utils, pandas with if_exists='replace'. The triggers are then lost. Lookups use an index of
--    the column, or fail if there is none. cf_table_rebuild fixes this: it creates log and triggers and
--    reads the table again. One of your triggers that is newer than the filter fires before those of the
--    filter. If it writes, or has RAISE(IGNORE) or RAISE(FAIL), the triggers of the filter may not fire
--    for a row. Lookups then use the table in the same way, and cf_table_rebuild fixes this too. A TEMP
--    trigger of this kind must be dropped.
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
--    "check" returns nothing when every row is found, and is an error otherwise. cf_table_check returns
--    "ok" or a description of the problem, even in a read-only database. In SQLite 3.44 and later,
--    PRAGMA integrity_check also checks for corruption, but says nothing about a filter that is not
--    trusted. "optimize" moves stashed and unplaced keys to slots, and frees pages when many keys were
--    deleted. count(*) takes time in proportion to the filter.
INSERT INTO known_mail(known_mail) VALUES ('check');
SELECT cf_table_check('known_mail') AS sound;
INSERT INTO known_mail(known_mail) VALUES ('optimize');
SELECT count(*) = (SELECT count(*) FROM clients) AS in_sync FROM known_mail;
--    DROP TABLE removes the filter, its triggers and its log.
DROP TABLE known_mail;
DROP TABLE buyers;
SELECT count(*) AS left_over FROM sqlite_master WHERE type = 'trigger' OR name LIKE 'cuckoo_log_%';
DROP TABLE orders;
DROP TABLE clients;

-- 4. A filter table of your own keys. Each row is a key that is probably in the set. It stores no
--    values; blobs do (sql/key_to_shard.sql).
CREATE VIRTUAL TABLE shard USING cuckoo_filter(capacity=1000, fpr=0.001);
INSERT INTO shard(key) VALUES ('a'), ('b'), ('d');
DELETE FROM shard WHERE key = 'd';
SELECT key FROM shard WHERE key IN ('a', 'b', 'c');
--    cf_export returns the same filter as a blob. "import" replaces the filter with that of a blob.
SELECT cf_count(cf_export('shard'), 'b') AS b, count(*) AS entries FROM shard;
INSERT INTO shard(shard, key) SELECT 'import', cf_clear(cf_export('shard'));
SELECT count(*) AS entries FROM shard;
DROP TABLE shard;

-- From here on the filter is a blob. It is small and easy to send elsewhere. You keep it in sync.
CREATE TABLE customers(id INTEGER PRIMARY KEY, email TEXT UNIQUE);
INSERT INTO customers(email) VALUES ('ada@example.com'), ('bob@example.com'), ('cyd@example.com');
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'customers', cf_build(email, 0.001, 'capacity=1000') FROM customers;

-- 5. Row by row, with your own triggers. This is right for a UNIQUE column, because each key is then
--    added once and deleted once. Every call copies the filter, so it should not be larger than about
--    100 KB. INSERT OR REPLACE needs PRAGMA recursive_triggers = ON, as above. If the table may be empty
--    when the filter is made, build it FROM (SELECT 1) LEFT JOIN customers: SQLite does not evaluate the
--    options of cf_build on zero rows.
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

-- 6. In batches: one UPDATE for many keys. cf_keys collects them, and cf_add_keys or cf_delete_keys
--    applies the whole list. NULL keys are skipped, and an empty table gives an empty list. The filter
--    is copied once, however many keys there are.
CREATE TABLE arrivals(email TEXT);
INSERT INTO arrivals VALUES ('eve@example.com'), ('fay@example.com'), (NULL);
UPDATE filters SET f = cf_add_keys(f, (SELECT cf_keys(email) FROM arrivals)) WHERE name = 'customers';
DELETE FROM arrivals;
UPDATE filters SET f = cf_add_keys(f, (SELECT cf_keys(email) FROM arrivals)) WHERE name = 'customers';
SELECT json_extract(cf_info(f), '$.items') AS items, cf_check(f) AS sound FROM filters;
--    A filter with a seed, a hash, an affinity or a collation needs a list made with the same options:
--    cf_keys(email, NULL, 'collation=nocase'). Any other list is an error, whose message says what to
--    write.

-- 7. Rebuild the filter when many rows have changed. A full filter is no reason to, because it grows.
UPDATE filters SET f = (SELECT cf_build(email, 0.001, 'capacity=1000') FROM customers)
WHERE name = 'customers';
SELECT json_extract(cf_info(f), '$.items') AS items FROM filters;

-- 8. A column that is not UNIQUE: the same triggers, and counter_bits. With counters, a key is deleted
--    with its last row. Without counters, a key of `max_copies` rows or more (see cf_info) stays forever.
--    cf_build counts the rows of each key when there are counters. Otherwise it stores each key once.
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

-- 9. By day: a filter for each day, and their union. Filters with the same capacity, false-positive rate
--    and options can be merged.
CREATE TABLE visits(day TEXT, visitor TEXT);
INSERT INTO visits VALUES ('mon', 'ada'), ('mon', 'bob'), ('tue', 'ada'), ('tue', 'cyd'), ('wed', 'dan');
CREATE TABLE daily AS SELECT day, cf_build(visitor, 0.01, 'capacity=1000') AS f FROM visits GROUP BY day;
SELECT visitor, cf_contains(week.f, visitor) AS this_week
FROM (SELECT cf_merge(f) AS f FROM daily) AS week,
     (SELECT column1 AS visitor FROM (VALUES ('ada'), ('cyd'), ('dan'), ('zoe')));

-- How a filter table works. The table <name>_page holds a header and the filter, with one page of
-- buckets per row. Changes are logged first: in <name>_log or, for a synced table, in the log table
-- named cuckoo_log_ and 16 digits. A lookup combines the pages with the logs. Some COMMITs drain the
-- logs into the pages. Keys that do not fit stay in <name>_log. Every connection caches in memory what
-- it has read.
--
-- Who needs the extension? Every program that queries, renames, drops or rebuilds the filter. No program
-- needs it to write, to alter any other table, or for VACUUM, backup or .dump. Programs without it never
-- drain. Their changes stay pending until a COMMIT of a program that has it, when the log has 1,024 rows
-- or more; more than a million rows are only drained by the command "drain". A filter in an attached
-- database is drained only when a lookup is in the same transaction, or by "drain". Reading a .dump does
-- not need the extension; the shells of 3.43 and 3.44 need ".dbconfig defensive off" for that. The
-- output of Python's iterdump cannot be read. The shell's .clone fails, because it opens a second
-- connection, which has not loaded the extension.
--
-- To remove a filter without the extension, drop its three triggers (cuckoo_*) and the log table that
-- they write to. The filter itself stays until a program with the extension drops it. If only the log is
-- dropped, writes to the table fail with "no such table"; then cf_table_rebuild creates another log.
--
-- What a synced table costs. A new key is written twice, and a changed key three times, with a random
-- number of 9 bytes: 200,000 integers are 32 bytes of WAL a row instead of 11, UUIDs 100 instead of 45.
-- After a large transaction the log leaves free pages in the file: the length of the key and 17 bytes
-- for each row. SQLite reuses these pages.
--
-- An authorizer has to allow INSERT into the log, and SELECT, even in programs without the extension;
-- with SQLite 3.54 and later also the function randomblob.
--
-- Sessions: attach tables by name. A session of all tables records <name>_page, and such a changeset
-- corrupts the filter of the other database. The log has no PRIMARY KEY, so sessions ignore it. A
-- changeset of the synced table updates the other filter through its triggers.
--
-- What a filter table does not detect. After one of these, run "rebuild" or reconnect:
--   - writes to the synced table by a connection whose triggers are off
--     (SQLITE_DBCONFIG_ENABLE_TRIGGER), or by incremental blob I/O. In a connection whose triggers are
--     off the filter is not trusted.
--   - rows of the log that other programs insert or delete.
--   - a TEMP trigger of another connection that fires after a change, and keeps the triggers of the
--     filter from firing. In that connection itself the filter is not trusted.
--   - a newer trigger that did so, and was dropped before the next lookup.
--   - SQL that a function runs within a trigger or an UPDATE, if it changes keys while that statement
--     runs.
--   - an authorizer that answers SQLITE_IGNORE for the column, the log or a shadow table.
--   - VACUUM, when the filter is on the rowid of a table without INTEGER PRIMARY KEY, because VACUUM
--     changes these rowids.
--   - writes to <name>_page or <name>_log by others. Defensive mode forbids them, except incremental
--     blob I/O.
--   - uncommitted changes of others, when you read them with PRAGMA read_uncommitted.
--
-- What is not found immediately. While a statement runs, its rows may be ahead of their triggers. Then
-- RETURNING cf_table_contains(...), and triggers newer than the filter, may get 0 for the row just
-- written.
--
-- A BEFORE trigger that changes keys while a statement runs. The old values that SQLite then
-- passes to AFTER triggers are no longer stored. CREATE therefore fails if there is such a trigger. If
-- one is created later, the filter is not trusted, and lookups use the table. Make it an AFTER trigger.
--
-- A COMMIT under PRAGMA query_only does not drain the log. Before SQLite 3.39.3, an UPDATE of several
-- blobs that fails inside a transaction keeps the rows changed before the failure. This is a bug of
-- SQLite.
