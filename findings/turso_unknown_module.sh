#!/bin/sh
# SPDX-License-Identifier: MIT
# Turso Database (npm @tursodatabase/database 0.7.2) stops reading the schema of a file at the first virtual table whose
# module it lacks, and says nothing. The tables, indexes and triggers that sqlite_schema lists behind it do not exist for it,
# and it also loses the automatic index of a UNIQUE column of a table before it. So it accepts a second row with the same
# UNIQUE value and adds no index entries: PRAGMA integrity_check of SQLite then reports rows that are missing from indexes.
# SQLite itself reads such a schema, and fails only when the virtual table is used.
# Needs node, npm and python3. Exits with 1 when the behaviour is another one.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-audit --no-fund --loglevel=error --prefix "$folder" @tursodatabase/database@0.7.2 > /dev/null 2>&1
python3 - <<'END'
import sqlite3
db = sqlite3.connect("x.db")
db.executescript("""CREATE TABLE a(x TEXT UNIQUE, n INTEGER); CREATE VIRTUAL TABLE f USING fts5(x); CREATE TABLE b(y);
CREATE INDEX a_n ON a(n); INSERT INTO a VALUES ('one', 1);""")
END
cat > write.mjs <<'END'
import { connect } from '@tursodatabase/database';
const db = await connect('x.db');
for (const sql of ['SELECT * FROM b', "INSERT INTO a VALUES ('one', 2)"]) {
  try {
    await (await db.prepare(sql)).all();
    console.log(`${sql}: done`);
  } catch (error) {
    console.log(`${sql}: ${error.message}`);
  }
}
await db.close();
END
{
    node write.mjs
    python3 -c '
import sqlite3
db = sqlite3.connect("x.db")
print(db.execute("SELECT * FROM a").fetchall())
for line in db.execute("PRAGMA integrity_check"): print(*line)'
} | tee said
cat > expected <<'END'
SELECT * FROM b: prepare failed: Parse error: no such table: b
INSERT INTO a VALUES ('one', 2): done
[('one', 1), ('one', 2)]
row 2 missing from index a_n
row 2 missing from index sqlite_autoindex_a_1
wrong # of entries in index a_n
wrong # of entries in index sqlite_autoindex_a_1
END
diff expected said
