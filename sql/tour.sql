-- A tour of the functions. Run it from the top folder:   sqlite3 < sql/tour.sql
-- Real data: the American and British word lists of Debian (packages wamerican and wbritish).
.bail on
.load build/cuckoo
.mode tabs
CREATE TABLE american(word TEXT);
CREATE TABLE british(word TEXT);
.import /usr/share/dict/american-english american
.import /usr/share/dict/british-english british
.mode box
.echo on

-- 1. One aggregate makes a filter of all the words: sized for exactly these, wrong at most once in 100.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'american', cf_build(word) FROM american;

-- 2. About 10 bits per word, instead of the words.
SELECT (SELECT sum(length(word)) FROM american) AS bytes_of_words,
       length(f) AS bytes_of_filter,
       json_extract(cf_info(f), '$.bits_per_key') AS bits_per_word
FROM filters;

-- 3. Ask it: 0 is certain, 1 means perhaps.
SELECT word, cf_contains(f, word) AS answer
FROM filters, (SELECT column1 AS word FROM (VALUES ('color'), ('colour'), ('cuckoo'), ('qwxyz')));

-- 4. Every American word is found, and of the British words that are not American about 1 % are taken
--    for one. cf_open makes a handle once; each row then costs nanoseconds, on every SQLite version.
SELECT count(*) AS american_words,
       sum(cf_contains((SELECT cf_open(f) FROM filters), word)) AS found
FROM american;
SELECT count(*) AS british_only,
       sum(cf_contains((SELECT cf_open(f) FROM filters), word)) AS wrongly_found
FROM british WHERE word NOT IN (SELECT word FROM american);

-- 5. Unlike a Bloom filter it can delete, and what else was there stays.
UPDATE filters SET f = cf_delete(f, 'color');
SELECT cf_contains(f, 'color') AS color, cf_contains(f, 'honor') AS honor FROM filters;
UPDATE filters SET f = cf_add(f, 'color');

-- 6. Many keys at once, inside one statement: the words with an apostrophe go.
UPDATE filters SET f = (SELECT cf_delete_all(filters.f, word) FROM american WHERE word LIKE '%''%');
SELECT json_extract(cf_info(f), '$.items') AS words_left, cf_check(f) AS sound FROM filters;

-- 7. Filters of equal geometry merge: here one per first letter, merged into one.
WITH parts AS (SELECT cf_build(word, 0.01, 'capacity=110000') AS part FROM american GROUP BY substr(word, 1, 1))
SELECT count(*) AS parts, json_extract(cf_info(cf_merge(part)), '$.items') AS items FROM parts;

-- 8. What would it take? A dry run: keys, error rate -> bytes.
SELECT fpr, json_extract(plan, '$.bytes') AS bytes, json_extract(plan, '$.bits_per_key') AS bits_per_key,
       json_extract(plan, '$.fpr_at_capacity') AS expected
FROM (SELECT column1 AS fpr, cf_plan(1000000, column1) AS plan FROM (VALUES (0.03), (0.01), (0.001), (0.000001)));

-- 9. It never fills up. Planned for the American words, it takes the British ones as well, a bucket at a time; the
--    words themselves are not needed for that.
UPDATE filters SET f = (SELECT cf_add_all(filters.f, word) FROM british);
SELECT json_extract(cf_info(f), '$.capacity') AS planned, json_extract(cf_info(f), '$.items') AS items,
       json_extract(cf_info(f), '$.load') AS load, json_extract(cf_info(f), '$.fpr_now') AS errs_now, cf_check(f) AS sound
FROM filters;
SELECT count(*) AS british_words, sum(cf_contains((SELECT cf_open(f) FROM filters), word)) AS found FROM british;
