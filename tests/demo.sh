#!/bin/sh
# SPDX-License-Identifier: MIT
# The tour: the scripts of sql/, one after the other, as a user would run them. At the end what it comes to, measured.
set -eu
show() {
    printf '\n=== %s\n' "$2"
    "$SQLITE3" < "sql/$1.sql"
}
show prefilter_join 'A join of a million rows, in three forms              (sql/prefilter_join.sql)'
show tour           'The functions, on two word lists                      (sql/tour.sql)'
show keep_in_sync   'Keeping a filter in step with a table                 (sql/keep_in_sync.sql)'
show operate        'Monitoring, bulk loads, migrations, expiry            (sql/operate.sql)'
show exact          'Exact answers for all keys that are known, and updates (sql/exact.sql)'
show known_files    'Which files does no package own, and which package is it (sql/known_files.sql)'
show which_file     'Which of many databases has this key?                 (sql/which_file.sql)'
show reconcile      'Which rows does the other side certainly lack?        (sql/reconcile.sql)'
show key_to_shard   'From a key to the shard that has it                   (sql/key_to_shard.sql)'
show shards         'The filters of many shards, merged and shipped        (sql/shards.sql)'
show streams        'Have I seen it lately? And forgetting                 (sql/streams.sql)'
show plan_and_grow  'Capacity, growth and bounded insertion                (sql/plan_and_grow.sql)'
show look_inside    'What a filter looks like inside                       (sql/look_inside.sql)'

printf '\n=== Two jobs beside what is done without a filter         (tests/jobs.sh)\n'
sh tests/jobs.sh known which
printf '\n=== In five lines\n'
"$SQLITE3" << 'END'
.load build/cuckoo
.mode list
CREATE TABLE known(key TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO known WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
  SELECT printf('key-%08d', i * 7919 % 20000000) FROM n;
CREATE TABLE asked(key TEXT);
INSERT INTO asked WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000)
  SELECT printf('key-%08d', i * 104729 % 20000000) FROM n;
CREATE TABLE f(b BLOB);
INSERT INTO f SELECT cf_build(key) FROM known;
CREATE TABLE clock(what, at);
INSERT INTO clock VALUES ('alone', julianday('now'));
CREATE TABLE one AS SELECT count(*) AS n FROM asked AS a CROSS JOIN known AS k ON k.key = a.key;
INSERT INTO clock VALUES ('behind', julianday('now'));
CREATE TABLE two AS SELECT count(*) AS n FROM asked AS a CROSS JOIN known AS k ON k.key = a.key
  WHERE cf_contains((SELECT cf_open(b) FROM f), a.key);
INSERT INTO clock VALUES ('end', julianday('now'));
SELECT 'bytes       ' || length(b) || ' for 200000 keys, which take ' || (SELECT sum(length(key)) FROM known) || ' themselves'
FROM f;
SELECT 'joins       ' || round((b.at - a.at) / (c.at - b.at), 1) || ' times as fast, the same ' || two.n || ' rows'
FROM clock AS a, clock AS b, clock AS c, one JOIN two USING (n)
WHERE a.what = 'alone' AND b.what = 'behind' AND c.what = 'end';
SELECT 'error rate  asked 0.01, measured ' || round(avg(cf_contains((SELECT cf_open(b) FROM f), key)), 4)
FROM asked WHERE key NOT IN known;
SELECT 'deletes     200000 keys deleted, ' || json_extract(cf_info(cf_delete_keys(b, (SELECT cf_keys(key) FROM known))), '$.items')
  || ' left' FROM f;
END
printf 'read next   README.md; ext/REFERENCE.md for all functions; sql/ has every statement above, to copy\n'
