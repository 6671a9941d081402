-- SPDX-License-Identifier: MIT
-- Streams: 'have I seen it?', and expiry.   sqlite3 < sql/streams.sql
-- Events are delivered more than once. A consumer handles each of them once, and keeps no list of all
-- events that it has seen.
.bail on
.load build/cuckoo
.headers on
.mode column
.echo on

-- 1. INSERT OR IGNORE adds a key if it is new, and changes() tells whether it was. 1: definitely new; 0:
--    probably seen. Read it right after the INSERT. The false-positive rate of the filter applies: one
--    new key in a thousand (fpr) counts as seen. adds=once declares that no key is ever deleted, because
--    only then is it safe to skip an add. NULL is not a key, and never new.
CREATE VIRTUAL TABLE handled USING cuckoo_filter(capacity=100000, fpr=0.001, adds=once, seed=7);
INSERT OR IGNORE INTO handled(key) VALUES ('order-1001');
SELECT changes() AS new;
INSERT OR IGNORE INTO handled(key) VALUES ('order-1001');
SELECT changes() AS new;

-- 2. Many keys in one statement: changes() is the number of new keys of a batch, and counts repeated
--    ones once.
WITH RECURSIVE event(id) AS (SELECT 1000 UNION ALL SELECT id + 1 FROM event WHERE id < 3999)
INSERT OR IGNORE INTO handled(key) SELECT 'order-' || (id % 2500) FROM event;
SELECT changes() AS new;

-- 3. Which of them are new? Query first, and then insert, in one transaction. (With adds=once, no key is
--    deleted whose entry a skipped key shares.) INSERT OR IGNORE ... RETURNING is an error, because
--    SQLite would also return the skipped keys.
BEGIN;
CREATE TEMP TABLE batch AS
  SELECT column1 AS id FROM (VALUES ('order-7'), ('order-9001'), ('order-9002'), ('order-1001'));
SELECT id FROM batch WHERE NOT cf_table_contains('handled', id);
INSERT OR IGNORE INTO handled(key) SELECT id FROM batch;
SELECT changes() AS new;
COMMIT;

-- 4. DELETE and UPDATE of single keys are errors, because a skipped key may share the entry of another
--    key.
INSERT INTO handled(handled) VALUES ('clear');

-- 5. A window instead of forever. A key is found for 24 hours after it was last added. It has expired
--    after the window, an eighth of it (for clocks of processes that differ by up to that much) and a
--    twelfth. The capacity is that of one window.
CREATE VIRTUAL TABLE lately USING cuckoo_filter(capacity=50000, fpr=0.001, keep='24 hours', seed=7);
INSERT OR IGNORE INTO lately(key) VALUES ('ip-192.0.2.1'), ('ip-192.0.2.2'), ('ip-192.0.2.1');
SELECT changes() AS new;
SELECT cf_table_contains('lately', 'ip-192.0.2.1') AS today,
       cf_table_contains('lately', 'ip-192.0.2.1', '1 hour') AS within_an_hour,
       cf_table_contains('lately', 'ip-192.0.2.9') AS never;

-- 6. OR IGNORE does not change the time of a key that is found: 'reported at most once in a window'. A
--    plain INSERT renews it: for 'seen recently?', query and then insert.
INSERT INTO lately(key) VALUES ('ip-192.0.2.1');
SELECT json_extract(cf_table_info('lately'), '$.keep') AS seconds,
       json_extract(cf_table_info('lately'), '$.items') AS entries,
       json_extract(cf_table_info('lately'), '$.clock_ahead') AS clock_ahead;

-- 7. Its size, compared with a filter that covers one window and never expires keys. A ring of filters,
--    one for each eighth of the window, is not larger, but each lookup queries all nine of them.
SELECT json_extract(cf_table_info('lately'), '$.bytes') AS bytes,
       json_extract(cf_plan(50000, 0.001), '$.bytes') AS one_window,
       9 * json_extract(cf_plan(6250, 0.001 / 9), '$.bytes') AS ring;

-- 8. Epochs by command, for time that is in the events: keys added in the last three epochs are found.
CREATE VIRTUAL TABLE rounds USING cuckoo_filter(capacity=1000, fpr=0.001, epochs=3, seed=7);
INSERT INTO rounds(key) VALUES ('a'), ('b');
INSERT INTO rounds(rounds) VALUES ('advance');
INSERT INTO rounds(key) VALUES ('b'), ('c');
INSERT INTO rounds(rounds) VALUES ('advance');
INSERT INTO rounds(rounds) VALUES ('advance');
SELECT column1 AS key, cf_table_contains('rounds', column1) AS found FROM (VALUES ('a'), ('b'), ('c'));

-- 9. The same in a blob. Merges use the epoch: the union has the later one, and each key keeps its own.
CREATE TABLE node(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO node VALUES ('one', cf_new(1000, 0.001, 'epochs=3')), ('two', cf_new(1000, 0.001, 'epochs=3'));
UPDATE node SET f = cf_add(f, 'only ' || name);
UPDATE node SET f = cf_advance(cf_advance(f)) WHERE name = 'two';
UPDATE node SET f = cf_add(f, 'later') WHERE name = 'two';
WITH both(f) AS (SELECT cf_merge(f) FROM node)
SELECT json_extract(cf_info(f), '$.epoch') AS epoch, cf_contains(f, 'only one') AS one,
       cf_contains(f, 'only two') AS two, cf_contains(cf_advance(f), 'only two') AS two_later,
       cf_contains(cf_advance(f), 'later') AS later
FROM both;
