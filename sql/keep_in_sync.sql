-- Keeping a filter in step with a table.   sqlite3 < sql/keep_in_sync.sql
.bail on
.load build/cuckoo
.mode box
.echo on
CREATE TABLE customers(id INTEGER PRIMARY KEY, email TEXT UNIQUE);
INSERT INTO customers(email) VALUES ('ada@example.com'), ('bob@example.com'), ('cyd@example.com');
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'customers', cf_build(email, 0.001, 'capacity=1000') FROM customers;

-- 1. Row by row, with triggers: in the same transaction as the change itself. Right for a UNIQUE column,
--    where each key is added once and deleted once. One call copies the filter: good up to some 100 KB.
--    INSERT OR REPLACE fires delete triggers only with this pragma:
PRAGMA recursive_triggers = ON;
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

-- 2. In batches: one UPDATE for many keys. The LEFT JOIN gives one row with a NULL key when there are
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

-- 3. Anew, when the table has changed much. (More keys than the capacity are no reason: a filter grows by itself.)
UPDATE filters SET f = (SELECT cf_build(email, 0.001, 'capacity=1000') FROM customers) WHERE name = 'customers';
SELECT json_extract(cf_info(f), '$.items') AS items FROM filters;

-- 4. A column that is not UNIQUE: the same triggers, and counter_bits, so that a key is gone when its last row is.
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

-- 5. By day: a filter for each, and their sum. Equal capacity, fpr and options make them mergeable.
CREATE TABLE visits(day TEXT, visitor TEXT);
INSERT INTO visits VALUES ('mon', 'ada'), ('mon', 'bob'), ('tue', 'ada'), ('tue', 'cyd'), ('wed', 'dan');
CREATE TABLE daily AS SELECT day, cf_build(visitor, 0.01, 'capacity=1000') AS f FROM visits GROUP BY day;
SELECT visitor, cf_contains(week.f, visitor) AS this_week
FROM (SELECT cf_merge(f) AS f FROM daily) AS week,
     (SELECT column1 AS visitor FROM (VALUES ('ada'), ('cyd'), ('dan'), ('zoe')));

-- 6. A filter that lives in the database: it makes the triggers itself, writes the pages that change, and goes with its
--    triggers when it is dropped. It has the content from the start.
CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=1000, fpr=0.001, content='customers(email)');
INSERT INTO customers(email) VALUES ('gus@example.com');
UPDATE customers SET email = 'ada@example.org' WHERE email = 'ada@example.com';
BEGIN;
DELETE FROM customers;
ROLLBACK;
SELECT key, cf_table_contains('known', key) AS answer
FROM (SELECT column1 AS key FROM (VALUES ('ada@example.com'), ('ada@example.org'), ('gus@example.com')));
-- (recursive_triggers is still on: without it REPLACE fires no delete triggers.)
INSERT OR REPLACE INTO customers(id, email) SELECT id, 'augustus@example.com' FROM customers WHERE email = 'gus@example.com';
SELECT cf_table_contains('known', 'gus@example.com') AS gus, cf_table_contains('known', 'augustus@example.com') AS augustus;

-- 7. The same for a column that is not UNIQUE: with counters a key is gone when its last row is.
CREATE VIRTUAL TABLE buyers USING cuckoo_filter(capacity=1000, fpr=0.001, counter_bits=8, content='orders(customer)');
INSERT INTO orders(customer) VALUES ('eve'), ('eve'), ('eve'), ('eve'), ('eve');
DELETE FROM orders WHERE id IN (SELECT id FROM orders WHERE customer = 'eve' LIMIT 4);
SELECT cf_table_contains('buyers', 'eve') AS eve;
DELETE FROM orders WHERE customer = 'eve';
SELECT cf_table_contains('buyers', 'eve') AS eve, cf_table_contains('buyers', 'bob') AS bob;

-- 8. When the triggers were off, or the file came from elsewhere: read the content again, and check. After many deletes:
--    fewer pages.
INSERT INTO known(known) VALUES ('rebuild');
INSERT INTO known(known) VALUES ('optimize');
INSERT INTO known(known) VALUES ('check');
SELECT count(*) = (SELECT count(*) FROM customers) AS in_step FROM known;
DROP TABLE known;
DROP TABLE buyers;
SELECT count(*) AS triggers_left FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'known%';
