-- SPDX-License-Identifier: MIT
-- Capacity, growth and bounded insertion.   sqlite3 < sql/plan_and_grow.sql
.bail on
.load build/cuckoo
.headers on
.mode column
.echo on
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);

-- 1. cf_plan computes the size of a filter without building it. fpr is the false-positive rate: the
--    share of absent keys for which the filter says "probably in the set". So 0.01 avoids 99 % of the
--    useless lookups. From 0.01 on, a rate ten times lower costs 3 to 4 bits per key. The capacity may
--    be any number: it is not rounded to a power of two.
SELECT column1 AS fpr,
       round(json_extract(cf_plan(1000000, column1), '$.bits_per_key'), 1) AS bits_per_key
FROM (VALUES (0.03), (0.01), (0.001), (0.0001));

-- 2. The largest filter that fits into a megabyte: try several capacities.
SELECT column1 AS capacity, json_extract(cf_plan(column1, 0.01), '$.bytes') <= 1048576 AS fits
FROM (VALUES (500000), (800000), (900000), (1000000));

-- 3. The capacity is a promise: only a few filters in a million are full before they hold `capacity`
--    distinct keys. Small filters get more slack for that than large ones. "turnovers" in cf_plan and
--    cf_info says how many times all keys may be replaced by others, while the filter stays at its
--    capacity, before it is full.
INSERT INTO filters VALUES ('full', cf_new(1000, 0.01));
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
UPDATE filters SET f = cf_add_keys(f, (SELECT cf_keys(i) FROM n)) WHERE name = 'full';
SELECT json_extract(cf_info(f), '$.items') AS items, json_extract(cf_info(f), '$.level') AS level,
       json_extract(cf_info(f), '$.fpr_now') <= 0.01 AS as_promised
FROM filters WHERE name = 'full';

-- 4. Growth. A full filter splits one bucket, moves the entries that belong into the new one, and
--    continues. It does not need the keys for that, and no second filter is chained behind the first.
--    Lookups read two buckets at any size, and deletes stay safe. This filter was planned for 1,000 keys
--    and receives 100,000.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO filters SELECT 'grown', cf_add_keys(cf_new(1000, 0.01), cf_keys(i)) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
SELECT sum(cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'grown'), i)) AS found FROM n;
SELECT json_extract(cf_info(f), '$.level') AS doubled, cf_check(f) AS sound,
       round(json_extract(cf_info(f), '$.bits_per_key'), 1) AS bits_per_key
FROM filters WHERE name = 'grown';

-- 5. What growth costs. A grown filter takes more bits per key: at 1 % 1.9 times at twice its capacity,
--    2.2 times at 200 times. Each doubling adds a sixteenth of the false-positive rate of the first full
--    table: 1.6 times that rate at a thousand times its capacity. The first step rewrites all buckets,
--    about 15 ms for a million keys. fpr_now is computed from the stored entries; here it is compared
--    with a count over absent keys.
WITH RECURSIVE n(i) AS (SELECT 1000001 UNION ALL SELECT i + 1 FROM n WHERE i < 1100000)
SELECT sum(cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'grown'), i)) / 100000.0 AS counted,
       round(json_extract((SELECT cf_info(f) FROM filters WHERE name = 'grown'), '$.fpr_now'), 4)
         AS computed
FROM n;
--    A filter that is built at its size takes fewer bits and is faster. So plan for the keys you expect.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
SELECT round(length(cf_build(i, 0.01)) * 8 / 100000.0, 1) AS bits_per_key_when_planned FROM n;
--    A blob never becomes smaller. The oldest entries hold few bits once the filter has grown a lot, and
--    copies of them may stay when their keys are deleted: 6 % of the slots after 500-fold growth at an
--    fpr of 0.01, 0.6 % at 0.001. Each of them counts in fpr_now. Rebuild such a filter, or import it
--    into a filter table and use the command "optimize" (see sql/keep_in_sync.sql).

-- 6. growth=off. Adding a key to a full filter then fails, and the filter stays unchanged. In return the
--    filter is smaller at most rates from 0.03 on. If a filter may grow, adding a key fails in three
--    cases only: the blob would be longer than SQLite allows, the keys were chosen to share buckets,
--    or one key has more values than two buckets have slots. A filter table accepts those keys too.
SELECT option, round(json_extract(cf_plan(1000000, 0.03, option), '$.bits_per_key'), 1) AS bits_per_key
FROM (SELECT column1 AS option FROM (VALUES ('growth=on'), ('growth=off')));

-- 7. Bounded insertion. The fuller a table is, the longer an insertion searches for a slot. With
--    stash=on, which needs growth=off, it reads at most max_kicks buckets (default 10). Then
--    the key goes to the stash, a list in the filter, and a bit in each of its two buckets records that.
--    Only lookups that find both bits set read the stash. The stash is exact, so the false-positive rate
--    does not change.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO filters SELECT 'bounded', cf_build(i, 0.01, 'growth=off stash=on') FROM n;
UPDATE filters SET f = cf_add(f, 6006) WHERE name = 'bounded';
SELECT json_extract(cf_info(f), '$.stashed') AS stashed, cf_contains(f, 6006) AS found FROM filters
WHERE name = 'bounded';
--    Deletes move stashed keys back to slots. So do cf_add_keys, cf_build and cf_merge at their end.
--    When the stash is full, an insertion searches as long as necessary. The stash costs 16 bytes for
--    each of stash_size entries (by default one for 256 slots, 16 to 4,096), and the table one bit more
--    per bucket. Use it when the worst case of a single insertion matters.
UPDATE filters SET f = cf_delete(f, 77) WHERE name = 'bounded';
SELECT json_extract(cf_info(f), '$.stashed') AS stashed, cf_contains(f, 6006) AS found FROM filters
WHERE name = 'bounded';

-- 8. Merging. The union of two filters holds the keys of both, and a key in both counts twice.
--    False-positive rates add up too. A filter that grew far beyond its capacity holds few bits per key,
--    and a dozen such filters may not fit into one: give all of them the capacity of the union. If most
--    keys are in three filters or more, give them counter_bits=4: then a key takes one slot.
--
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000),
  part AS (SELECT cf_build(i, 0.01, 'capacity=4000') AS f FROM n GROUP BY i % 4)
SELECT json_extract(cf_info(cf_merge(f)), '$.items') AS items FROM part;
