#!/bin/sh
# SPDX-License-Identifier: MIT
# The tour: two jobs and five lines, measured; then the scripts of sql/, as a user would run them, with a line for each. What the
# scripts print is in build/demo.log.
set -eu
: "${SQLITE3:=sqlite3}"
log=build/demo.log
: > $log
printf '=== Two jobs beside what is done without a filter         (tests/jobs.sh)\n'
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
SELECT 'fpr         asked 0.01, measured ' || round(avg(cf_contains((SELECT cf_open(b) FROM f), key)), 4)
FROM asked WHERE key NOT IN known;
SELECT 'deletes     200000 keys deleted, ' || json_extract(cf_info(cf_delete_keys(b, (SELECT cf_keys(key) FROM known))), '$.items')
  || ' left' FROM f;
END
printf 'read next   README.md; ext/REFERENCE.md for all functions; sql/ has scripts to copy from\n'

printf '\n=== Scripts                                               (their output: %s)\n' $log
show() {
    line=$(($(wc -l < $log) + 1))
    printf '=== %s (sql/%s.sql)\n' "$2" "$1" >> $log
    if ! "$SQLITE3" < "sql/$1.sql" >> $log 2>&1; then
        echo "sql/$1.sql failed; $log ends with:" >&2
        tail -20 $log >&2
        exit 1
    fi
    printf '%-62s sql/%s.sql, line %d\n' "$2" "$1" "$line"
}
show prefilter_join 'A join of a million rows, in three forms'
show tour           'The functions, on two word lists'
show keep_in_sync   'Keeping a filter in step with a table'
show operate        'Monitoring, bulk loads, migrations, expiry'
show exact          'Exact answers for all keys that are known, and updates'
show known_files    'Which files does no package own, and which package is it'
show which_file     'Which of many databases has this key?'
show reconcile      'Which rows does the other side certainly lack?'
show key_to_shard   'From a key to the shard that has it'
show shards         'The filters of many shards, merged and shipped'
show streams        'Have I seen it lately? And forgetting'
show plan_and_grow  'Capacity, growth and bounded insertion'
show look_inside    'What a filter looks like inside'
