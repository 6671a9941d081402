-- SPDX-License-Identifier: MIT
-- What each function answers.
.bail on
.load build/cuckoo
.mode list
.headers on
CREATE TABLE f(name TEXT PRIMARY KEY, b BLOB);
INSERT INTO f VALUES ('empty', cf_new(100)), ('three', cf_add(cf_add(cf_add(cf_new(100, 1e-6), 1), 'a'), x'00'));
SELECT cf_version() GLOB '[0-9]*.[0-9]*.[0-9]*' AS version;
SELECT name, length(b), cf_check(b) FROM f;

-- contains, count, delete
SELECT cf_contains(b, 1), cf_contains(b, 1.0), cf_contains(b, '1'), cf_contains(b, 'a'), cf_contains(b, x'61'),
       cf_contains(b, x'00'), cf_contains(b, NULL) FROM f WHERE name = 'three';
SELECT cf_count(b, 1), cf_count(b, 2), cf_count(cf_add(b, 1), 1), cf_count(cf_delete(b, 1), 1), cf_count(b, NULL)
FROM f WHERE name = 'three';
SELECT cf_delete(b, 'never there') = b AS unchanged, cf_add(b, NULL) = b AS null_added, cf_delete(b, NULL) = b AS null_deleted,
       cf_clear(b) = cf_new(100, 1e-6) AS cleared, cf_delete(cf_add(b, 7), 7) = b AS undone FROM f WHERE name = 'three';

-- copies: exact below max_copies (3 in buckets of 4), saturated at max_copies
WITH RECURSIVE n(i, g) AS (SELECT 0, cf_new(10, 1e-6, 'bucket_size=4') UNION ALL SELECT i + 1, cf_add(g, 'k') FROM n WHERE i < 5)
SELECT i AS adds, cf_count(g, 'k') AS copies, cf_count(cf_delete(g, 'k'), 'k') AS after_delete,
       json_extract(cf_info(g), '$.items') AS items, json_extract(cf_info(g), '$.occupied') AS occupied,
       json_extract(cf_info(g), '$.saturated') AS saturated FROM n;

-- aggregates
SELECT cf_contains(cf_build(value), 3) AS built, json_extract(cf_info(cf_build(value)), '$.items') AS items
FROM json_each('[1, 2, 3, 3, null]');
SELECT json_extract(cf_info(cf_build(value)), '$.items') AS items_of_nothing FROM json_each('[]');
SELECT cf_build(a.value) = cf_build(b.value) AS same_bytes FROM json_each('[1,2,3]') a, json_each('[3,3,1,2]') b;
SELECT cf_count(cf_add_keys(b, cf_keys(value)), 5) AS added FROM f, json_each('[5, 5, 6, null]') WHERE name = 'empty';
SELECT cf_count(cf_delete_keys(b, cf_keys(value)), 1) AS deleted FROM f, json_each('[1, null]') WHERE name = 'three';
SELECT cf_add_keys(b, cf_keys(value)) = b AS unchanged FROM f LEFT JOIN json_each('[]') ON 1 WHERE name = 'three';
SELECT cf_contains(cf_merge(b), 'a') AS merged FROM (SELECT cf_build(value, 0.01, 'capacity=50') AS b
  FROM json_each('["a", "b", "c"]') GROUP BY value);
SELECT cf_count(cf_merge(b, b), 1) AS twice FROM f WHERE name = 'three';

-- keys of several parts
SELECT hex(cf_key(1, 'a')) AS k, cf_key(1, 'a') = cf_key(1.0, 'a') AS equal, cf_key('ab', 'c') = cf_key('a', 'bc') AS joined,
       cf_key(1, NULL) AS with_null, cf_key(NULL) AS of_null;

-- a plan is the information of what it plans
SELECT cf_plan(1000) = cf_info(cf_new(1000)) AS same, cf_plan(1000, 0.001, 'bucket_size=8, growth=off seed=-5') AS plan;
SELECT cf_new(1000, NULL, 'fingerprint_bits=12') = cf_new(1000.0, 0.01, 'fingerprint_bits=12') AS same;

-- inside
SELECT count(*), count(fingerprint), min(bucket), min(slot), max(slot), max(length), sum(stashed), count(payload)
FROM f, cf_buckets(b) WHERE name = 'three';
SELECT side, count(*), sum(match), count(DISTINCT wanted), min(source) FROM f, cf_explain(b, 'a') WHERE name = 'three' GROUP BY side;
SELECT count(*) AS of_null FROM f, cf_explain(b, NULL) WHERE name = 'three';

-- a handle in place of the blob
SELECT cf_contains((SELECT cf_open(b) FROM f WHERE name = 'three'), value) AS answer FROM json_each('[1, 2, "a"]');

-- growing: planned for 10, holding 1,000
CREATE TABLE g AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000)
  SELECT cf_add_keys(cf_new(10), cf_keys(i)) AS b FROM n;
SELECT json_extract(cf_info(b), '$.capacity', '$.items', '$.base_buckets', '$.buckets', '$.level', '$.split', '$.fingerprint_bits',
       '$.slot_bits', '$.exhausted') AS grown, json_extract(cf_info(b), '$.items_per_slot', '$.fpr_now') AS figures, cf_check(b) FROM g;
SELECT length, count(*) AS entries, count(alternate) AS movable FROM g, cf_buckets(b) WHERE length IS NOT NULL GROUP BY length;
SELECT side, sum(match), max(length), count(payload) FROM g, cf_explain(b, 700) GROUP BY side;
SELECT cf_clear(b) = cf_new(10) AS cleared FROM g;

-- counters: seven rows of 1, three of 2
SELECT cf_count(b, 1), cf_count(b, 2), json_extract(cf_info(b), '$.items', '$.occupied', '$.counter_bits') AS counted
FROM (SELECT cf_build(value, 0.01, 'counter_bits=4') AS b FROM json_each('[1,1,2,1,2,1,1,2,1,1,3]'));

-- values
CREATE TABLE v AS SELECT cf_add_keys(cf_new(10, 0.001, 'value_bits=4'), cf_keys(column1, column2)) AS b
  FROM (VALUES ('ada', 3), ('bob', 7), ('cyd', 15), ('cyd', 0));
SELECT cf_get(b, 'ada') AS ada, cf_get(b, 'bob') AS bob, cf_get(b, 'dan') AS dan, cf_get(b, NULL) AS of_null,
       cf_get(cf_add(b, 'dan', 2), 'dan') AS dan_now, cf_get(cf_delete(b, 'bob', 7), 'bob') AS bob_gone FROM v;
SELECT payload FROM v, cf_explain(b, 'cyd') WHERE match ORDER BY payload;

-- layouts: the same answers, four bits per bucket less
WITH two(layout, b) AS (SELECT column1, (SELECT cf_build(value, 0.01, 'bucket_size=4 layout=' || column1) FROM json_each('[1,2,3,4,5,6,7]'))
  FROM (VALUES ('plain'), ('semisort'), ('auto')))
SELECT layout, json_extract(cf_info(b), '$.layout', '$.buckets', '$.bytes') AS made, cf_contains(b, 7) AS seven, cf_contains(b, 8) AS eight FROM two;

-- bounded insertion: keys that find no slot at once are listed; a delete makes room
CREATE TABLE s AS WITH RECURSIVE n(i, g) AS
  (SELECT 0, cf_new(30, NULL, 'bucket_size=4 fingerprint_bits=12 growth=off stash=on max_kicks=0 stash_size=4')
   UNION ALL SELECT i + 1, cf_add(g, i) FROM n WHERE i < 38)
  SELECT g AS b FROM n WHERE i = 38;
SELECT json_extract(cf_info(b), '$.stash', '$.max_kicks', '$.stash_size', '$.stashed', '$.occupied', '$.items') AS info,
       (SELECT group_concat(DISTINCT bucket) FROM cf_buckets(b) WHERE stashed) AS stashed, cf_check(b) FROM s;
SELECT value, side, bucket, slot, match, source FROM s, json_each('[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37]'),
  cf_explain(b, value) WHERE match AND source = 'stash';
SELECT json_extract(cf_info(cf_delete(b, 0)), '$.stashed', '$.occupied', '$.items') AS after_a_delete FROM s;
SELECT json_extract(cf_info(cf_clear(b)), '$.stashed') AS cleared FROM s;
