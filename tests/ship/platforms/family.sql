-- SPDX-License-Identifier: MIT
-- Filters of every kind, as digests of their bytes. Every platform must print the same.
.load build/cuckoo
.mode list

-- Keys of all types: small and large integers; reals, whole ones and those of 1 to 17 digits among them;
-- texts, some of them numbers; blobs. A value for each.
CREATE TABLE keys(i INTEGER PRIMARY KEY, key, value INTEGER);
INSERT INTO keys WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 400)
SELECT i, CASE i % 8 WHEN 0 THEN i * 7919 - 1000000 WHEN 1 THEN (i - 200) * 46116860184273879
                     WHEN 2 THEN i / 8.0 WHEN 3 THEN i * i * i / 1000.0
                     WHEN 4 THEN 'key ' || i WHEN 5 THEN char(228, 8364, 128512, 48 + i)
                     WHEN 6 THEN '' || i * 37 ELSE CAST('blob' || char(i % 128) || i AS BLOB) END,
       i * 2654435761 & 4294967295 FROM n;
INSERT INTO keys(key, value) VALUES (9223372036854775807, 1), (-9223372036854775807 - 1, 2), (0, 3), (-1, 4), ('', 5),
  (x'', 6), (x'00', 7), (x'00ff00', 8), (9007199254740993, 9), (9007199254740992.0, 10), (1e15, 11), (1e300, 12), (-1e-300, 13),
  (0.1, 14), (-0.0, 15), (0.3, 16), (123456.789, 17), (1e-7, 18), (4.35, 19), (1e22, 20), (' 1.50 ', 21), ('1e3', 22), ('Ada ', 23),
  ('ADA', 24), ('ada', 25), (zeroblob(300), 26), (printf('%300s', 'end'), 27);
SELECT count(*) AS keys, digest(cf_keys(key, value, 'value_bits=32')) AS list FROM keys;

-- Shapes: buckets, layouts, growth, payloads, stashs, widths of fingerprints, seeds.
CREATE TABLE ways(way INTEGER PRIMARY KEY, options TEXT, bits INTEGER, grows);
INSERT INTO ways(options, bits, grows)
WITH shapes(shape, least) AS (VALUES ('bucket_size=2', 12), ('bucket_size=4 layout=plain', 8), ('bucket_size=4 layout=semisort', 8),
       ('bucket_size=8', 8)),
     growths(growth) AS (VALUES ('on'), ('off')),
     payloads(payload, bits) AS (VALUES ('', 0), (' counter_bits=1', 0), (' counter_bits=4', 0), (' counter_bits=16', 0), (' value_bits=1', 1),
       (' value_bits=9', 9), (' value_bits=32', 32)),
     lists(list) AS (VALUES (''), (' stash=on'), (' stash=on max_kicks=1 stash_size=64')),
     widths(width) AS (VALUES (0), (1), (7), (13), (20))
SELECT shape || ' growth=' || growth || payload || list || ' fingerprint_bits=' || (least + width) ||
       ' seed=' || (CASE (least + width + length(payload || list)) % 4 WHEN 0 THEN 5 WHEN 1 THEN -9223372036854775807 ELSE 0 END), bits, growth = 'on'
FROM shapes, growths, payloads, lists, widths WHERE least + width <= 32 AND (growth = 'off' OR list = '');

-- Built at once; added to one planned for 50 keys, which grows, or for 600; half of them deleted; merged with
-- one of other keys; cleared.
CREATE TABLE made(way INTEGER PRIMARY KEY, options, grows, bits, added);
INSERT INTO made SELECT way, options, grows, bits, cf_add_keys(cf_new(CASE WHEN grows THEN 50 ELSE 600 END, NULL, options),
  (SELECT CASE WHEN bits THEN cf_keys(key, value & (1 << bits) - 1, options) ELSE cf_keys(key, NULL, options) END FROM keys)) FROM ways;
SELECT way, options, digest(cf_build(key, NULL, options)) AS built FROM ways, keys WHERE bits = 0 GROUP BY way;
SELECT way, length(added) AS bytes, digest(added) AS added, cf_check(added) AS checked, digest(cf_clear(added)) AS cleared,
       digest(cf_delete_keys(added, (SELECT CASE WHEN bits THEN cf_keys(key, value & (1 << bits) - 1, options)
                                                 ELSE cf_keys(key, NULL, options) END FROM keys WHERE i % 2))) AS half
FROM made;
SELECT way, digest(cf_merge(added, cf_add_keys(cf_clear(added), (SELECT cf_keys(-i, CASE WHEN bits THEN i % 2 END, options) FROM keys WHERE i < 100)))) AS merged
FROM made WHERE grows OR options LIKE '%overflow%';
SELECT digest(group_concat(cf_info(added))) AS information FROM made;
SELECT digest(group_concat(cf_contains(added, i))) AS answers, digest(group_concat(cf_count(added, key))) AS counts,
       digest(group_concat(CASE WHEN bits THEN cf_get(added, key) END)) AS answered FROM made, keys;

-- One after the other, and all at once.
WITH RECURSIVE n(i, f) AS (SELECT 0, cf_new(3, 1e-4, 'seed=11') UNION ALL
  SELECT i + 1, CASE i % 4 WHEN 3 THEN cf_delete(f, i / 2) ELSE cf_add(f, i) END FROM n WHERE i < 200)
SELECT i, digest(f) AS one_by_one FROM n WHERE i % 40 = 0;
SELECT options, digest(cf_add_keys((SELECT cf_open(added) FROM made WHERE way = m.way), cf_keys(key, NULL, options))) AS all_again,
       digest(cf_delete_keys((SELECT cf_open(added) FROM made WHERE way = m.way), cf_keys(key, NULL, options))) AS all_gone
FROM made AS m, keys WHERE bits = 0 AND way % 7 = 0 AND grows GROUP BY m.way;

-- One that grows a thousandfold, with and without counters and semi-sorted buckets.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9000)
SELECT options, digest(cf_add_keys(cf_new(9, NULL, options), (SELECT cf_keys(i % 7000, NULL, options) FROM n))) AS grown
FROM (SELECT column1 AS options FROM (VALUES ('bucket_size=2 fingerprint_bits=12'), ('bucket_size=4 layout=plain fingerprint_bits=10'),
  ('bucket_size=4 layout=semisort fingerprint_bits=9 counter_bits=2'), ('bucket_size=8 fingerprint_bits=13')));

-- What makes keys equal: key rules, and keys of several parts.
CREATE TABLE rules AS SELECT 'affinity=' || a.column1 || ' collation=' || c.column1 AS options
FROM (VALUES ('none'), ('integer'), ('numeric'), ('real'), ('text'), ('blob')) AS a, (VALUES ('binary'), ('nocase'), ('rtrim')) AS c;
SELECT options, digest(cf_keys(key, NULL, options)) AS list, digest(cf_build(key, 1e-6, options)) AS built FROM rules, keys GROUP BY options;
SELECT digest(group_concat(hex(cf_key(key, value, i)))) AS parts FROM keys;
--    Decimals as reals: read by SQLite, taken apart by the extension.
CREATE TABLE decimals AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 4000)
SELECT i * 7919 / CASE i % 6 WHEN 0 THEN 10.0 WHEN 1 THEN 100.0 WHEN 2 THEN 1e5 WHEN 3 THEN 1e9 WHEN 4 THEN 3.0 ELSE 1e14 END AS real FROM n;
SELECT options, digest(cf_keys(real, NULL, options)) AS decimals FROM rules, decimals GROUP BY options;

-- Plans: their integers, and the rates as they are printed.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i * 3 + 1 FROM n LIMIT 18), rates(rate) AS (VALUES (0.3), (0.1), (0.03), (0.01), (0.0078125),
  (0.001), (1e-5), (1e-7)), kinds(kind) AS (VALUES (NULL), ('growth=off'), ('counter_bits=4'), ('layout=plain bucket_size=8'), ('growth=off stash=on value_bits=8'))
SELECT kind, rate, digest(group_concat(cf_plan(i, rate, kind))) AS plans FROM n, rates, kinds GROUP BY kind, rate;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000)
SELECT digest(group_concat(cf_plan(i * 37, i / 2001.0))) AS plans FROM n;
