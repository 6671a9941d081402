-- SPDX-License-Identifier: MIT
-- Looking inside a filter.   sqlite3 < sql/look_inside.sql
.bail on
.load build/cuckoo
.headers on
.mode column
CREATE TABLE american(word TEXT);
.import /usr/share/dict/american-english american
.echo on
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'american', cf_build(word) FROM american;

-- How full are the buckets? Each # stands for 2 % of them.
SELECT used AS slots_used, count(*) AS buckets,
       substr('##################################################',
              1, CAST(round(50.0 * count(*) / sum(count(*)) OVER ()) AS INTEGER)) AS share
FROM (SELECT bucket, count(fingerprint) AS used FROM filters, cf_buckets(f) GROUP BY bucket)
GROUP BY used;

-- The slots of the first 64 buckets: # is used, . is empty.
SELECT row * 8 AS from_bucket, group_concat(slots, ' ') AS slots
FROM (SELECT bucket / 8 AS row, group_concat(substr('.#', (fingerprint IS NOT NULL) + 1, 1), '') AS slots
      FROM filters, cf_buckets(f) WHERE bucket < 64 GROUP BY bucket)
GROUP BY row;

-- Why does the filter find 'cuckoo'? These are the slots where it may lie.
SELECT side, bucket, slot, fingerprint, wanted, match
FROM filters, cf_explain(f, 'cuckoo');

-- Every fingerprint may lie in two buckets. "alternate" is the other one.
SELECT bucket, slot, fingerprint, alternate FROM filters, cf_buckets(f) WHERE bucket = 1000;

-- All the figures of a filter.
SELECT key, value FROM filters, json_each(cf_info(f));
SELECT cf_check(f) FROM filters;

-- A filter grows without its keys. This one was planned for 1,000 words and holds a hundred times as
-- many.
INSERT INTO filters SELECT 'grown', cf_add_keys(cf_new(1000), cf_keys(word)) FROM american;
SELECT name, json_extract(cf_info(f), '$.capacity') AS planned,
       json_extract(cf_info(f), '$.items') AS items,
       json_extract(cf_info(f), '$.level') AS level,
       json_extract(cf_info(f), '$.slot_bits') AS slot_bits,
       json_extract(cf_info(f), '$.load') AS load, json_extract(cf_info(f), '$.fpr_now') AS fpr_now
FROM filters;

-- Each doubling uses up one bit of the older entries. The oldest words have the shortest fingerprints
-- left.
SELECT length, count(*) AS entries FROM filters, cf_buckets(f)
WHERE name = 'grown' AND length IS NOT NULL GROUP BY length;

-- cf_check says what is wrong with a damaged filter. All other functions refuse it with an error.
SELECT cf_check(substr(f, 1, 1000)) AS cut_off, cf_check(x'0102') AS something_else FROM filters
WHERE name = 'american';
