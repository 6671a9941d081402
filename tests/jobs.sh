#!/bin/sh
# SPDX-License-Identifier: MIT
# Three jobs beside what is done without a filter, in one run: bytes, milliseconds, wrong answers counted.
#   jobs.sh [JOB...]        updates, known, which; all of them unless given
#   jobs.sh hashes          ten million hashes and a million questions, in some minutes (HASHES=n: another number)
#   jobs.sh packages        these, and one that SQL keeps and Node asks, by the packages of build/dist alone (make dist), which are
#                           installed in empty folders
# CUCKOO_SO names the extension (build/cuckoo.so), SQLITE3 the shell.
# The files of this machine are those that Debian's packages own. The rest is made up.
set -eu
extension=${CUCKOO_SO:-build/cuckoo.so}
extension=${extension%.so}
: "${SQLITE3:=sqlite3}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
start=".load $extension
.mode list
PRAGMA temp_store = MEMORY;
PRAGMA page_size = 4096;
CREATE TABLE clock(at);"
# Milliseconds between the last two ticks; a line of the table; rows of numbers.
tick="INSERT INTO clock VALUES (julianday('now'));"
passed="(SELECT (max(at) - min(at)) * 86400e3 FROM (SELECT at FROM clock ORDER BY rowid DESC LIMIT 2))"
line() { printf '  %-52s %12s %14s %8s\n' "$@"; }
say() { echo "SELECT printf('  %-52s %12s %14s %8s', '$1', $2, $3, $4);"; }
ms() { echo "printf('%.${2:-3}f ms', $passed / $1)"; }
numbers() { echo "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < $1 - 1)"; }

updates() {
    line 'A million keys, 50,000 members, for who must not err' bytes 'a question' wrong
    "$SQLITE3" << END
$start
-- told: what receivers answer. That is right for each key of the day before, and any for a new one.
CREATE TABLE keys(key INTEGER PRIMARY KEY, member, told);
INSERT INTO keys $(numbers 1000000) SELECT i * 2654435761 % 4294967296, i % 20 = 0, i % 20 = 0 FROM n;
CREATE TABLE members(key INTEGER PRIMARY KEY);
INSERT INTO members SELECT key FROM keys WHERE member;
CREATE TABLE base(f);
CREATE TABLE deltas(day, f);
$tick
CREATE TABLE one AS SELECT sum(key IN members) FROM keys;
$tick
$(say 'today: the list of the members, 8 bytes each' "(SELECT count(*) * 8 FROM members)" "$(ms 1000000 5)" "'0'")
INSERT INTO base SELECT cf_build_exact(key, member) FROM keys;
$tick
CREATE TABLE two AS SELECT sum(cf_contains((SELECT cf_open(f) FROM base), key) <> member) AS wrong FROM keys;
$tick
$(say 'an exact filter' "(SELECT length(f) FROM base)" "$(ms 1000000 5)" "(SELECT wrong FROM two)")
CREATE VIEW answers AS SELECT key, member, (cf_contains((SELECT cf_open(f) FROM base), key) +
  (SELECT ifnull(sum(cf_contains(f, key)), 0) FROM deltas)) % 2 AS answer FROM keys;
CREATE TABLE days(day INTEGER PRIMARY KEY);
CREATE TRIGGER a_day AFTER INSERT ON days BEGIN
  UPDATE keys SET member = NOT member WHERE key IN (SELECT key FROM keys WHERE member LIMIT 75 OFFSET new.day * 500)
    OR key IN (SELECT key FROM keys WHERE NOT member LIMIT 75 OFFSET new.day * 5000);
  INSERT INTO keys SELECT -key - 1 - new.day * 5000000000, key % 20 = 0, NULL FROM keys WHERE key >= 0 LIMIT 2000;
  UPDATE keys SET told = (SELECT answer FROM answers AS a WHERE a.key = keys.key) WHERE told IS NULL;
  INSERT INTO deltas SELECT new.day, cf_build_exact(key, told <> member) FROM keys;
  UPDATE keys SET told = member WHERE told <> member;
END;
INSERT INTO days $(numbers 10) SELECT i + 1 FROM n;
$(say 'a day later: 150 changed, 2,000 new' "(SELECT length(f) FROM deltas WHERE day = 1)" "''" "''")
$tick
CREATE TABLE three AS SELECT sum(answer <> member) AS wrong FROM answers;
$tick
$(say 'ten days later: ten deltas' "(SELECT sum(length(f)) FROM deltas)" "$(ms '(SELECT count(*) FROM keys)' 5)" "(SELECT wrong FROM three)")
$(say 'ten days later: a new filter each day' "(SELECT 10 * length(cf_build_exact(key, member)) FROM keys)" "''" "''")
END
}

known() {
    line 'The files of this machine that packages own' bytes 'a question' wrong
    from=$(date +%s%N)
    for path in /usr/bin/awk /usr/bin/sqlite3 /usr/bin/make; do dpkg -S "$path" > "$folder/owner" 2>&1 || :; done
    line 'today: dpkg -S' '' "$(awk "BEGIN { printf \"%.1f ms\", ($(date +%s%N) - $from) / 3e6 }")" 0
    sed -n '/^CREATE TABLE line/,/^FROM (SELECT text/p' sql/known_files.sql > "$folder/known.sql"
    "$SQLITE3" << END
$start
.read $folder/known.sql
CREATE TABLE size(bytes);
INSERT INTO size SELECT page_count * 4096 FROM pragma_page_count;
CREATE TABLE indexed(md5 TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT OR IGNORE INTO indexed SELECT md5 FROM known;
CREATE TABLE asked AS SELECT md5 FROM known UNION ALL SELECT DISTINCT substr(md5, 2) || substr(md5, 1, 1) FROM known;
$tick
CREATE TABLE one AS SELECT sum(md5 IN indexed) FROM asked;
$tick
$(say 'today: a table of the sums, with an index' "(SELECT page_count * 4096 - bytes FROM pragma_page_count, size)" "$(ms '(SELECT count(*) FROM asked)' 5)" "'0'")
CREATE TABLE filters(name, f);
INSERT INTO filters SELECT 'known', cf_build(md5, 0.0001) FROM known;
$tick
CREATE TABLE two AS SELECT sum(cf_contains((SELECT cf_open(f) FROM filters), md5)) FROM asked;
$tick
$(say 'a filter of the sums, one error in 10,000' "(SELECT length(f) FROM filters)" "$(ms '(SELECT count(*) FROM asked)' 5)" \
      "(SELECT sum(cf_contains((SELECT cf_open(f) FROM filters), md5) <> (md5 IN indexed)) || ' of ' || count(*) FROM asked)")
CREATE TABLE package AS SELECT row_number() OVER (ORDER BY package) AS id, package AS name FROM known GROUP BY package;
CREATE UNIQUE INDEX package_name ON package(name);
INSERT INTO filters SELECT 'owner', cf_build(path, 0.0001, 'value_bits=14', id)
FROM known JOIN package ON name = package;
$tick
CREATE TABLE told AS SELECT path, value AS id
FROM known, cf_values((SELECT cf_open(f) FROM filters WHERE name = 'owner'), path);
$tick
$(say 'a filter from path to package' "(SELECT length(f) FROM filters WHERE name = 'owner')" "$(ms '(SELECT count(*) FROM known)' 5)" \
      "(SELECT count(*) || ' of ' || (SELECT count(*) FROM known) FROM
         (SELECT path, name FROM told JOIN package USING (id) EXCEPT SELECT path, package FROM known))")
$(say '  files whose package is missing' "''" "''" \
      "(SELECT count(*) FROM (SELECT path, package FROM known EXCEPT SELECT path, name FROM told JOIN package USING (id)))")
END
}

# Users 0 to 499 of file 0, and so on; every tenth is in another file, too.
which() {
    line '2,000 databases of 500 users: who has this one?' bytes 'a question' wrong
    "$SQLITE3" :memory: "$(numbers 2000) SELECT printf('ATTACH ''$folder/%d.db'' AS f; PRAGMA f.synchronous = OFF;
        CREATE TABLE f.users(email TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO f.users $(numbers 500)
        SELECT printf(''user-%%06d@example.com'', (%d * 500 + i) %% 900000) FROM n; DETACH f;', i, i) FROM n" > "$folder/make.sql"
    "$SQLITE3" < "$folder/make.sql"
    "$SQLITE3" :memory: "SELECT 'CREATE TEMP TABLE directory(email, file);';
        $(numbers 2000) SELECT printf('ATTACH ''$folder/%d.db'' AS f; INSERT INTO directory SELECT email, %d FROM f.users; DETACH f;',
                                      i, i) FROM n" > "$folder/read.sql"
    "$SQLITE3" :memory: "$(numbers 2000) SELECT printf('ATTACH ''$folder/%d.db'' AS f; INSERT INTO found SELECT email, %d FROM f.users
        WHERE email = ''user-012345@example.com''; DETACH f;', i, i) FROM n" > "$folder/each.sql"
    "$SQLITE3" << END
$start
.read $folder/read.sql
CREATE TABLE found(email, file);
$tick
.read $folder/each.sql
$tick
$(say 'today: each file is asked' "0" "$(ms 1)" "'0'")
CREATE TABLE size(bytes);
INSERT INTO size SELECT page_count * 4096 FROM pragma_page_count;
CREATE TABLE indexed(email, file, PRIMARY KEY (email, file)) WITHOUT ROWID;
INSERT INTO indexed SELECT email, file FROM directory;
$(say 'today: a table of all users and files' "(SELECT page_count * 4096 - bytes FROM pragma_page_count, size)" "''" "'0'")
CREATE TABLE filters AS SELECT cf_build(email, 0.01, 'value_bits=11', file) AS f FROM directory;
CREATE TABLE sample AS SELECT DISTINCT email FROM directory WHERE rowid % 5000 = 17;
INSERT INTO sample VALUES ('user-012345@example.com');
.output $folder/ask.sql
SELECT printf('ATTACH ''$folder/%d.db'' AS f; INSERT INTO found SELECT email, %d FROM f.users WHERE email = %Q; DETACH f;',
              value, value, email) FROM sample, cf_values((SELECT cf_open(f) FROM filters), email);
.output stdout
DELETE FROM found;
$tick
CREATE TABLE told AS SELECT email, value AS file FROM sample, cf_values((SELECT cf_open(f) FROM filters), email);
.read $folder/ask.sql
$tick
$(say 'a filter, and the files that it names' "(SELECT length(f) FROM filters)" "$(ms '(SELECT count(*) FROM sample)')" \
      "(SELECT count(*) FROM (SELECT email, file FROM directory WHERE email IN sample EXCEPT SELECT email, file FROM found))")
CREATE TABLE all_told AS
SELECT email, value AS file FROM (SELECT DISTINCT email FROM directory), cf_values((SELECT cf_open(f) FROM filters), email);
$(say '  of a million entries: missing' "''" "''" "(SELECT count(*) FROM (SELECT email, file FROM directory EXCEPT SELECT * FROM all_told))")
$(say '  files named that need not be asked' "''" "''" "(SELECT count(*) FROM (SELECT * FROM all_told EXCEPT SELECT email, file FROM directory))")
END
}

# Seconds that a command takes, into the file `took`; its standard output goes to the file `answer`.
timed() {
    from=$(date +%s%N)
    "$@" > "$folder/answer" 2> "$folder/said" || :
    awk "BEGIN { printf \"%.1f s\", ($(date +%s%N) - $from) / 1e9 }" > "$folder/took"
}
# A line of the table: what is asked, its bytes, the time of the last command, unknown hashes that it found.
told() { line "$1" "$2" "$(cat "$folder/took")" "$3"; }

# A list of MD5 sums, as they are published; half of those that are asked are in it.
hashes() {
    : "${PYTHON:=/usr/bin/python3}" "${HASHES:=10000000}"
    mkdir "$folder/sqlite_cuckoo"
    cp ext/packages/python/sqlite_cuckoo/*.py "$folder/sqlite_cuckoo"
    cp "$extension".* "$folder/sqlite_cuckoo"
    "$PYTHON" - "$HASHES" "$folder" << 'END'
import hashlib, random, sys
n, folder = int(sys.argv[1]), sys.argv[2]
digest = lambda i: hashlib.md5(b"%d" % i).hexdigest()
with open(folder + "/list", "w") as file:
    file.writelines(digest(i) + "\n" for i in range(n))
asked = [digest(i * 7 % n if i % 2 else n + i) for i in range(min(n, 1000000))]
random.Random(1).shuffle(asked)
with open(folder + "/asked", "w") as file:
    file.writelines(key + "\n" for key in asked)
END
    unknown() { wc -l < "$folder/answer"; }
    line "$HASHES MD5 sums, $(wc -l < "$folder/asked") asked" bytes time unknown
    timed sh -c "PYTHONPATH=$folder $PYTHON -m sqlite_cuckoo build --fpr 0.0001 $folder/known.cf < $folder/list"
    told 'build a filter, 1 in 10,000' "$(wc -c < "$folder/known.cf")" ''
    timed sh -c "PYTHONPATH=$folder $PYTHON -m sqlite_cuckoo check $folder/known.cf < $folder/asked"
    told '  check' '' "$(unknown)"
    timed env LC_ALL=C sort -o "$folder/sorted" "$folder/list"
    told 'sort the list' "$(wc -c < "$folder/sorted")" ''
    timed sh -c "LC_ALL=C sort $folder/asked | LC_ALL=C comm -23 - $folder/sorted"
    told '  sort and comm' '' "$(unknown)"
    timed "$SQLITE3" "$folder/table.db" 'CREATE TABLE known(md5 TEXT PRIMARY KEY) WITHOUT ROWID;' ".import $folder/sorted known"
    told 'a table with an index, from the sorted list' "$(wc -c < "$folder/table.db")" ''
    timed "$SQLITE3" "$folder/table.db" 'CREATE TEMP TABLE asked(md5 TEXT);' ".import $folder/asked asked" \
        'SELECT md5 FROM asked WHERE md5 NOT IN known;'
    told '  a query' '' "$(unknown)"
    timed sh -c "ulimit -v 8000000; grep -v -F -x -f $folder/list $folder/asked"
    told 'grep -F -x -f, in 8 GB' '' "$(unknown)$(sed 's/.*: /, /; q' "$folder/said")"
}

packages() {
    root=$PWD
    : "${PYTHON:=/usr/bin/python3}" "${NODE:=node}"
    "$PYTHON" -m venv "$folder/venv"
    "$folder/venv/bin/pip" -q install --disable-pip-version-check --no-cache-dir --no-index --find-links build/dist --only-binary :all: \
        sqlite-cuckoo
    mkdir "$folder/npm"
    cp tests/ship/packages/jobs.mjs "$folder/npm"
    cp tests/ship/packages/jobs.py "$folder"
    cd "$folder/npm"
    echo '{"private": true}' > package.json
    npm install --silent --offline --no-audit --no-fund --cache "$folder/cache" "$root"/build/dist/sqlite-cuckoo-*.tgz
    env -i PATH="$folder/venv/bin:$PATH" NODE="$NODE" python "$folder/jobs.py" "$folder/npm"
    cd "$root"
}

[ $# -gt 0 ] || set -- updates known which
for job; do
    "$job"
    printf '\n'
done
