-- SPDX-License-Identifier: MIT
-- Looking inside a filter.   sqlite3 < sql/look_inside.sql
-- The data are the American word list of Debian (package wamerican).
.bail on
.load build/cuckoo
.headers on
.mode column
CREATE TABLE american(word TEXT);
.import /usr/share/dict/american-english american
.echo on
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'american', cf_build(word) FROM american;

-- The number of used slots per bucket. Each # stands for 2 % of the buckets.
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

-- Why the filter finds 'cuckoo': these are the slots that may contain its fingerprint.
SELECT side, bucket, slot, fingerprint, wanted, match
FROM filters, cf_explain(f, 'cuckoo');

-- A fingerprint may be stored in either of two buckets. "alternate" is the other one.
SELECT bucket, slot, fingerprint, alternate FROM filters, cf_buckets(f) WHERE bucket = 1000;

-- All figures of a filter.
SELECT key, value FROM filters, json_each(cf_info(f));
SELECT cf_check(f) FROM filters;

-- A filter grows without its keys. This one was planned for 1,000 words and holds a hundred times as
-- many.
INSERT INTO filters SELECT 'grown', cf_add_keys(cf_new(1000), cf_keys(word)) FROM american;
SELECT name, json_extract(cf_info(f), '$.capacity') AS planned,
       json_extract(cf_info(f), '$.items') AS items,
       json_extract(cf_info(f), '$.level') AS level,
       json_extract(cf_info(f), '$.slot_bits') AS slot_bits,
       json_extract(cf_info(f), '$.load_factor') AS load, json_extract(cf_info(f), '$.fpr_now') AS fpr_now
FROM filters;

-- Each doubling uses up one bit of the older entries. The oldest words have the shortest fingerprints
-- left.
SELECT length, count(*) AS entries FROM filters, cf_buckets(f)
WHERE name = 'grown' AND length IS NOT NULL GROUP BY length;

-- cf_check reports structural corruption. All other functions check the header only. None of them
-- detects a changed fingerprint, so store a checksum with each blob that you send elsewhere.
SELECT cf_check(substr(f, 1, 1000)) AS cut_off, cf_check(x'0102') AS something_else FROM filters
WHERE name = 'american';

-- A picture of the buckets in order, region by region. Growth has split the first buckets of each level.
.mode list
SELECT cf_picture(f) FROM filters WHERE name = 'grown';
.mode column

-- Why is a word a false positive? Because a stored word has the same fingerprint in the same slot. This
-- finds the first of absent1, absent2, .. that is a false positive, and the stored word that causes it.
-- A filter does not store its words, but the table that it is in sync with does, so one join is enough.
CREATE VIRTUAL TABLE known USING cuckoo_filter(content='american(word)', seed=1);
CREATE TABLE absent(word TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
INSERT INTO absent SELECT 'absent' || i FROM n WHERE cf_table_contains('known', 'absent' || i) LIMIT 1;
SELECT absent.word AS false_positive, american.word AS stored_word,
       found.fingerprint = slots.fingerprint AS same_fingerprint
FROM absent, cf_explain((SELECT cf_open(cf_export('known'))), absent.word) AS slots,
     american, cf_explain((SELECT cf_open(cf_export('known'))), american.word) AS found
WHERE slots.match AND found.match AND found.bucket = slots.bucket AND found.slot = slots.slot;
-- A filter that is rebuilt with another seed has other false positives.

-- Did cf_delete find the key? If not, it returns the filter unchanged, to the byte.
SELECT word, cf_delete(f, word) <> f AS deleted FROM filters, (SELECT 'cuckoo' AS word UNION ALL SELECT 'kukuk')
WHERE name = 'american';
UPDATE filters SET f = cf_delete(f, 'kukuk') WHERE name = 'american' AND cf_delete(f, 'kukuk') <> f;
SELECT changes() AS deleted;
