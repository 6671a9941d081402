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

-- cf_check says what is wrong with the form of a damaged filter. All other functions look at its header only.
-- None notices a fingerprint that has changed: keep a checksum of your own beside a blob that travels.
SELECT cf_check(substr(f, 1, 1000)) AS cut_off, cf_check(x'0102') AS something_else FROM filters
WHERE name = 'american';

-- A picture: its buckets in order, region by region. Growth has split the first ones of each level.
.mode list
SELECT cf_picture(f) FROM filters WHERE name = 'grown';
.mode column

-- Why does a filter say "perhaps" for a word that is not there? Some stored word looks alike: it has the
-- same fingerprint, in the same slot. Here the first of absent1, absent2, .. that it says so of, and the word
-- that is in its way. A filter does not know its words, but the table that it follows does: one join.
CREATE VIRTUAL TABLE known USING cuckoo_filter(content='american(word)', seed=1);
CREATE TABLE asked(word TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
INSERT INTO asked SELECT 'absent' || i FROM n WHERE cf_table_contains('known', 'absent' || i) LIMIT 1;
SELECT asked.word AS asked, american.word AS lookalike, found.fingerprint = slots.fingerprint AS same_fingerprint
FROM asked, cf_explain((SELECT cf_open(cf_export('known'))), asked.word) AS slots,
     american, cf_explain((SELECT cf_open(cf_export('known'))), american.word) AS found
WHERE slots.match AND found.match AND found.bucket = slots.bucket AND found.slot = slots.slot;
-- A filter made anew under another seed has other lookalikes.

-- Did cf_delete find a key? A filter without it comes back unchanged, to the byte.
SELECT word, cf_delete(f, word) <> f AS went FROM filters, (SELECT 'cuckoo' AS word UNION ALL SELECT 'kukuk')
WHERE name = 'american';
UPDATE filters SET f = cf_delete(f, 'kukuk') WHERE name = 'american' AND cf_delete(f, 'kukuk') <> f;
SELECT changes() AS went;
