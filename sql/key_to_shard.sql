-- SPDX-License-Identifier: MIT
-- From a key to the shard that has it: filters with values.   sqlite3 < sql/key_to_shard.sql
-- The data are the American word list of Debian (package wamerican).
.bail on
.load build/cuckoo
.headers on
.mode column
CREATE TABLE american(word TEXT);
.import /usr/share/dict/american-english american
.echo on

-- Each word is stored in one of 16 shards. The shard cannot be computed from the word: it was the one
-- that had free space.
CREATE TABLE directory AS
SELECT word, (unicode(word) * 31 + length(word) * 7 + rowid / 1000) % 16 AS shard
FROM american;

-- 1. This filter stores a value of 4 bits with every key.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'shards', cf_build(word, 0.001, 'value_bits=4', shard) FROM directory;
SELECT (SELECT sum(length(word) + 1) FROM directory) AS bytes_of_directory, length(f) AS bytes_of_filter
FROM filters;

-- 2. cf_get returns the shard, or NULL for a word that is definitely in no shard.
SELECT word, cf_get(f, word) AS answer,
       (SELECT shard FROM directory AS d WHERE d.word = w.word) AS in_fact
FROM filters, (SELECT column1 AS word FROM (VALUES ('cuckoo'), ('filter'), ('nest'), ('qwxyz'))) AS w;

-- 3. The share of right answers. Every word is found. A few words share their fingerprint with another
--    word and get the shard of that word.
SELECT count(*) AS words, count(answer) AS answered, round(avg(answer = shard), 4) AS right
FROM (SELECT shard, cf_get((SELECT cf_open(f) FROM filters), word) AS answer FROM directory);

-- 4. A word moves to another shard. Delete it with its old value and add it with the new one. Take the
--    old value from the table, where it is certain: cf_get may return the value of another word, and the
--    delete would then remove that word.
UPDATE filters SET f = cf_add(
  cf_delete(f, 'cuckoo', (SELECT shard FROM directory WHERE word = 'cuckoo')), 'cuckoo', 7);
SELECT cf_get(f, 'cuckoo') AS cuckoo FROM filters;

-- 5. A key may have several values, as many as two buckets have slots. cf_values lists all of them, and
--    cf_explain shows their slots. which_file.sql has more about this.
UPDATE filters SET f = cf_add(f, 'cuckoo', 9);
SELECT value AS shard FROM filters, cf_values(f, 'cuckoo') ORDER BY value;
SELECT side, bucket, slot, payload AS shard FROM filters, cf_explain(f, 'cuckoo')
WHERE match ORDER BY payload;

-- 6. A filter with values grows like any other. Here the number of words is doubled.
UPDATE filters SET f = cf_add_keys(f, (SELECT cf_keys(upper(word) || '!', 3) FROM directory));
SELECT cf_get(f, 'CUCKOO!') AS loud, cf_get(f, 'nest') AS nest,
       json_extract(cf_info(f), '$.level') AS level,
       json_extract(cf_info(f), '$.capacity') AS planned, json_extract(cf_info(f), '$.items') AS items
FROM filters;
