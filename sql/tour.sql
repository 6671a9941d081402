-- SPDX-License-Identifier: MIT
-- A tour of the functions.   sqlite3 < sql/tour.sql
-- The data are the American and British word lists of Debian (packages wamerican and wbritish).
.bail on
.load build/cuckoo
.headers on
.mode column
CREATE TABLE american(word TEXT);
CREATE TABLE british(word TEXT);
.import /usr/share/dict/american-english american
.import /usr/share/dict/british-english british
.echo on

-- 1. The aggregate cf_build makes a filter from all the words, sized for exactly these. Its
--    false-positive rate is at most 1 in 100. The same words give the same bytes in any order.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'american', cf_build(word) FROM american;

-- 2. The filter stores fewer than 10 bits per word.
SELECT (SELECT sum(length(word)) FROM american) AS bytes_of_words,
       length(f) AS bytes_of_filter,
       json_extract(cf_info(f), '$.bits_per_key') AS bits_per_word
FROM filters;

-- 3. Look words up. 0 means "definitely not in the set", 1 means "probably in the set".
SELECT word, cf_contains(f, word) AS answer
FROM filters, (SELECT column1 AS word FROM (VALUES ('color'), ('colour'), ('cuckoo'), ('qwxyz')));

-- 4. Every American word is found. About 1 % of the words that are only British are false positives.
--    cf_open makes a handle once, and each row then costs less than 100 nanoseconds on every version of
--    SQLite.
SELECT count(*) AS american_words,
       sum(cf_contains((SELECT cf_open(f) FROM filters), word)) AS found
FROM american;
SELECT count(*) AS british_only,
       sum(cf_contains((SELECT cf_open(f) FROM filters), word)) AS false_positives
FROM british WHERE word NOT IN (SELECT word FROM american);

-- 5. A cuckoo filter can delete a key, which a Bloom filter cannot do. The other keys stay.
UPDATE filters SET f = cf_delete(f, 'color');
SELECT cf_contains(f, 'color') AS color, cf_contains(f, 'honor') AS honor FROM filters;
UPDATE filters SET f = cf_add(f, 'color');

-- 6. One statement can delete many keys: here all words with an apostrophe.
UPDATE filters SET f = cf_delete_keys(f, (SELECT cf_keys(word) FROM american WHERE word LIKE '%''%'));
SELECT json_extract(cf_info(f), '$.items') AS words_left, cf_check(f) AS sound FROM filters;

-- 7. Filters with the same capacity, false-positive rate and options can be merged. Here there is one
--    filter for each first letter.
WITH parts AS (
  SELECT cf_build(word, 0.01, 'capacity=110000') AS part FROM american GROUP BY substr(word, 1, 1))
SELECT count(*) AS parts, json_extract(cf_info(cf_merge(part)), '$.items') AS items FROM parts;

-- 8. cf_plan computes the size of a filter without building it.
SELECT fpr, json_extract(plan, '$.bytes') AS bytes, json_extract(plan, '$.bits_per_key') AS bits_per_key,
       json_extract(plan, '$.fpr_at_capacity') AS expected
FROM (SELECT column1 AS fpr, cf_plan(1000000, column1) AS plan
      FROM (VALUES (0.03), (0.01), (0.001), (0.000001)));

-- 9. A filter grows. This one was planned for the American words, and now the British words are added.
--    It grows by one bucket at a time and does not need the words for that.
UPDATE filters SET f = cf_add_keys(f, (SELECT cf_keys(word) FROM british));
SELECT json_extract(cf_info(f), '$.capacity') AS planned, json_extract(cf_info(f), '$.items') AS items,
       json_extract(cf_info(f), '$.load_factor') AS load, json_extract(cf_info(f), '$.fpr_now') AS fpr_now,
       cf_check(f) AS sound
FROM filters;
SELECT count(*) AS british_words, sum(cf_contains((SELECT cf_open(f) FROM filters), word)) AS found
FROM british;
