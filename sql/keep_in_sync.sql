-- Keeping a filter in step with a table.   sqlite3 < sql/keep_in_sync.sql
.bail on
.load build/cuckoo
.mode box
.echo on
CREATE TABLE customers(id INTEGER PRIMARY KEY, email TEXT UNIQUE COLLATE NOCASE);
INSERT INTO customers(email) VALUES ('ada@example.com'), ('bob@example.com'), ('cyd@example.com');

-- 1. A filter that follows a column. It is filled when it is created, and triggers tell it of every change, in the same
--    transaction: whatever the statement, a stored row is found. Keys are equal as the column compares them.
CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=1000, fpr=0.001, content='customers(email)');
INSERT OR IGNORE INTO customers(email) VALUES ('bob@example.com'), ('gus@example.com');
UPDATE customers SET email = 'ada@example.org' WHERE email = 'ada@example.com';
BEGIN;
DELETE FROM customers;
ROLLBACK;
SELECT key, cf_table_contains('known', key) AS answer
FROM (SELECT column1 AS key FROM (VALUES ('ada@example.com'), ('ADA@example.org'), ('gus@example.com')));
-- Without this pragma REPLACE fires no delete triggers: the filter keeps stale copies, but never misses a row.
PRAGMA recursive_triggers = ON;
INSERT OR REPLACE INTO customers(id, email) SELECT id, 'augustus@example.com' FROM customers WHERE email = 'gus@example.com';
SELECT cf_table_contains('known', 'gus@example.com') AS gus, cf_table_contains('known', 'augustus@example.com') AS augustus;

-- 2. A column that is not UNIQUE: with counters a key is gone when its last row is.
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer TEXT);
INSERT INTO orders(customer) VALUES ('ada'), ('ada'), ('ada'), ('ada'), ('ada'), ('bob');
CREATE VIRTUAL TABLE buyers USING cuckoo_filter(capacity=1000, fpr=0.001, counter_bits=8, content='orders(customer)');
DELETE FROM orders WHERE id IN (SELECT id FROM orders WHERE customer = 'ada' LIMIT 4);
SELECT cf_table_contains('buyers', 'ada') AS ada;
DELETE FROM orders WHERE customer = 'ada';
SELECT cf_table_contains('buyers', 'ada') AS ada, cf_table_contains('buyers', 'bob') AS bob;

-- 3. Migrations. Names may change: the filter goes with them.
ALTER TABLE customers RENAME TO clients;
ALTER TABLE clients RENAME COLUMN email TO mail;
ALTER TABLE known RENAME TO known_mail;
INSERT INTO clients(mail) VALUES ('hal@example.com');
SELECT cf_table_contains('known_mail', 'hal@example.com') AS hal;
--    A table made anew, as many tools do it, loses its triggers. Then every use of the filter is an error that says so, and
--    one line mends it:
BEGIN;
CREATE TABLE new_clients(id INTEGER PRIMARY KEY, mail TEXT UNIQUE COLLATE NOCASE, since TEXT);
INSERT INTO new_clients(id, mail) SELECT id, mail FROM clients;
DROP TABLE clients;
ALTER TABLE new_clients RENAME TO clients;
SELECT cf_table_rebuild('known_mail');
COMMIT;
INSERT INTO clients(mail) VALUES ('ida@example.com');
SELECT cf_table_contains('known_mail', 'ida@example.com') AS ida, cf_table_contains('known_mail', 'hal@example.com') AS hal;
--    Is every row there? When many keys have gone: fewer pages. No error is the answer.
INSERT INTO known_mail(known_mail) VALUES ('check');
INSERT INTO known_mail(known_mail) VALUES ('optimize');
SELECT count(*) = (SELECT count(*) FROM clients) AS in_step FROM known_mail;
--    With the filter go its triggers.
DROP TABLE known_mail;
DROP TABLE buyers;
SELECT count(*) AS triggers_left FROM sqlite_master WHERE type = 'trigger';
DROP TABLE orders;
DROP TABLE clients;

-- What follows keeps a filter in a blob: small, easy to send elsewhere, and in step by your own care.
CREATE TABLE customers(id INTEGER PRIMARY KEY, email TEXT UNIQUE);
INSERT INTO customers(email) VALUES ('ada@example.com'), ('bob@example.com'), ('cyd@example.com');
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'customers', cf_build(email, 0.001, 'capacity=1000') FROM customers;

-- 4. Row by row, with triggers: in the same transaction as the change itself. Right for a UNIQUE column,
--    where each key is added once and deleted once. One call copies the filter: good up to some 100 KB.
--    INSERT OR REPLACE fires delete triggers only with PRAGMA recursive_triggers = ON, as above.
CREATE TRIGGER customers_filter_insert AFTER INSERT ON customers BEGIN
  UPDATE filters SET f = cf_add(f, new.email) WHERE name = 'customers';
END;
CREATE TRIGGER customers_filter_delete AFTER DELETE ON customers BEGIN
  UPDATE filters SET f = cf_delete(f, old.email) WHERE name = 'customers';
END;
CREATE TRIGGER customers_filter_update AFTER UPDATE OF email ON customers WHEN old.email IS NOT new.email COLLATE BINARY BEGIN
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

-- 5. In batches: one UPDATE for many keys. The LEFT JOIN gives one row with a NULL key when there are
--    no new rows, and then the filter is left as it is.
CREATE TABLE arrivals(email TEXT);
INSERT INTO arrivals VALUES ('eve@example.com'), ('fay@example.com'), (NULL);
UPDATE filters SET f = (
  SELECT cf_add_all(o.f, a.email) FROM filters AS o LEFT JOIN arrivals AS a ON 1 WHERE o.name = 'customers')
WHERE name = 'customers';
DELETE FROM arrivals;
UPDATE filters SET f = (
  SELECT cf_add_all(o.f, a.email) FROM filters AS o LEFT JOIN arrivals AS a ON 1 WHERE o.name = 'customers')
WHERE name = 'customers';
SELECT json_extract(cf_info(f), '$.items') AS items, cf_check(f) AS sound FROM filters;

-- 6. Anew, when the table has changed much. (More keys than the capacity are no reason: a filter grows by itself.)
UPDATE filters SET f = (SELECT cf_build(email, 0.001, 'capacity=1000') FROM customers) WHERE name = 'customers';
SELECT json_extract(cf_info(f), '$.items') AS items FROM filters;

-- 7. A column that is not UNIQUE: the same triggers, and counter_bits, so that a key is gone when its last row is.
--    Without counters, keys of more than two or three rows stay for ever. cf_build counts the rows, too.
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer TEXT);
INSERT INTO orders(customer) VALUES ('ada'), ('ada'), ('ada'), ('ada'), ('ada'), ('bob');
INSERT INTO filters SELECT 'orders', cf_build(customer, 0.001, 'counter_bits=8 capacity=1000') FROM orders;
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

-- 8. By day: a filter for each, and their sum. Equal capacity, fpr and options make them mergeable.
CREATE TABLE visits(day TEXT, visitor TEXT);
INSERT INTO visits VALUES ('mon', 'ada'), ('mon', 'bob'), ('tue', 'ada'), ('tue', 'cyd'), ('wed', 'dan');
CREATE TABLE daily AS SELECT day, cf_build(visitor, 0.01, 'capacity=1000') AS f FROM visits GROUP BY day;
SELECT visitor, cf_contains(week.f, visitor) AS this_week
FROM (SELECT cf_merge(f) AS f FROM daily) AS week,
     (SELECT column1 AS visitor FROM (VALUES ('ada'), ('cyd'), ('dan'), ('zoe')));
