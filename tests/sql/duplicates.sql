-- SPDX-License-Identifier: MIT
-- 10,000 keys, 20 copies of each: no number of repetitions fills a filter, and what is deleted as often as it
-- was added is never reported absent while a copy may be there.
.bail on
.load build/cuckoo
.mode list
.headers on
CREATE TABLE k AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT 'key ' || i AS key FROM n;
CREATE TABLE copies AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT i FROM n;
-- Without counters each copy below cap takes a slot. A filter that may grow takes them all.
CREATE TABLE f AS SELECT cf_new(10000) AS f;
UPDATE f SET f = (SELECT cf_add_all(f.f, key) FROM copies CROSS JOIN k);
SELECT json_extract(cf_info(f), '$.items') AS items, json_extract(cf_info(f), '$.occupied') AS slots,
       length(f) / 10000.0 AS bytes_per_key, json_extract(cf_info(f), '$.sticky') AS sticky, cf_check(f) AS sound FROM f;
SELECT count(*) AS keys, sum(cf_contains((SELECT cf_open(f) FROM f), key)) AS found FROM k;
UPDATE f SET f = (SELECT cf_delete_all(f.f, key) FROM copies CROSS JOIN k);
SELECT sum(cf_contains((SELECT cf_open(f) FROM f), key)) AS found_after_20_deletes,
       (SELECT json_extract(cf_info(f), '$.sticky') FROM f) AS sticky FROM k;
-- Below cap copies are exact: two of each, deleted twice, leave nothing.
UPDATE f SET f = cf_clear(f);
UPDATE f SET f = (SELECT cf_add_all(f.f, key) FROM copies CROSS JOIN k WHERE i <= 2);
UPDATE f SET f = (SELECT cf_delete_all(f.f, key) FROM copies CROSS JOIN k WHERE i <= 2);
SELECT json_extract(cf_info(f), '$.items') AS items_left, json_extract(cf_info(f), '$.sticky') AS sticky, cf_check(f) AS sound FROM f;
-- With counters a key takes one slot, and its copies are exact below 2^counter_bits. The filter needs no growth.
UPDATE f SET f = cf_new(10000, 0.01, 'counter_bits=8 growth=off');
UPDATE f SET f = (SELECT cf_add_all(f.f, key) FROM copies CROSS JOIN k);
SELECT json_extract(cf_info(f), '$.items') AS items, json_extract(cf_info(f), '$.occupied') <= 10000 AS one_slot_each,
       json_extract(cf_info(f), '$.sticky') AS sticky, cf_check(f) AS sound FROM f;
UPDATE f SET f = (SELECT cf_delete_all(f.f, key) FROM copies CROSS JOIN k);
SELECT json_extract(cf_info(f), '$.items') AS items_left, json_extract(cf_info(f), '$.occupied') AS slots_left FROM f;
