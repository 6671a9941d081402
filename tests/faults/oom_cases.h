/* SPDX-License-Identifier: MIT */
/*
** oom_cases.h - the statements of oom_table.c, and the database they run on.
**
** `fed` follows users(id), `known` follows people(k), `tight` follows crowd(k), whose numbers are
** aimed at one pair of buckets (aimed.h), so that some wait. `fading` and `waning` forget: their first
** keys are too old, and a sweep is under way; in `waning` aimed numbers wait. `shown` and `paired` show
** the rows of items and pairs. Before all of them there is a table aims(i, k) of 40 aimed numbers, and
** at(n), which sets the clock to n minutes.
*/
#ifndef OOM_CASES_H
#define OOM_CASES_H

#define NUMBERS(from, to)                                                                               \
    "(WITH RECURSIVE n(i) AS (SELECT " #from " UNION ALL SELECT i + 1 FROM n WHERE i < " #to            \
    ") SELECT i FROM n)"

#define BEGINS "1622" /* minutes: the time at which all statements begin */

static const char *const setup[] = {
    "CREATE TABLE keys(k)",
    "INSERT INTO keys SELECT i FROM " NUMBERS(1, 150),
    "INSERT INTO keys VALUES ('text'), (x'01'), ('zwölf')",
    "CREATE TABLE users(id)",
    "INSERT INTO users SELECT i FROM " NUMBERS(1, 40),
    "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=100, fpr=1e-6)",
    "CREATE VIRTUAL TABLE brim USING cuckoo_filter(capacity=40, fpr=1e-6)",
    "CREATE VIRTUAL TABLE fed USING cuckoo_filter(capacity=60, fpr=1e-6, content='users(id)')",
    "CREATE VIRTUAL TABLE valued USING cuckoo_filter(capacity=20, fpr=1e-6, value_bits=4)",
    "INSERT INTO seen(key) SELECT k FROM keys",
    "INSERT INTO brim(key) SELECT i FROM " NUMBERS(1, 42),
    "INSERT INTO valued(key, value) SELECT i, i % 16 FROM " NUMBERS(1, 9),
    "CREATE VIRTUAL TABLE thin USING cuckoo_filter(capacity=10, fpr=1e-6)",
    "INSERT INTO thin(key) SELECT i FROM " NUMBERS(1, 400),
    "DELETE FROM thin WHERE key IN (SELECT i FROM " NUMBERS(40, 400) ")",
    "CREATE TABLE people(id INTEGER PRIMARY KEY, k UNIQUE)",
    "INSERT INTO people SELECT i, 'p' || i FROM " NUMBERS(1, 30),
    "CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=30, fpr=1e-6, content='people(k)')",
    "CREATE TABLE crowd(k PRIMARY KEY)",
    "INSERT INTO crowd SELECT k FROM aims WHERE i < 28",
    "CREATE VIRTUAL TABLE tight USING cuckoo_filter(capacity=8, seed=0, fingerprint_bits=24, growth=on, "
    "content='crowd(k)')",
    "CREATE VIRTUAL TABLE lately USING cuckoo_filter(capacity=40, fpr=1e-6, keep='24 hours')",
    "CREATE VIRTUAL TABLE rounds USING cuckoo_filter(capacity=40, fpr=1e-6, epochs=2)",
    "INSERT INTO rounds(key) SELECT i FROM " NUMBERS(1, 30),
    "INSERT INTO rounds(rounds) VALUES ('advance')",
    "INSERT INTO rounds(key) SELECT i FROM " NUMBERS(20, 50),
    "INSERT INTO users SELECT i FROM " NUMBERS(60, 75), /* they wait in the log */
    "CREATE VIRTUAL TABLE once USING cuckoo_filter(capacity=40, fpr=1e-6, adds=once)",
    "INSERT OR IGNORE INTO once(key) SELECT i % 30 FROM " NUMBERS(1, 45),
    "CREATE VIRTUAL TABLE fading USING cuckoo_filter(capacity=60, fpr=1e-6, keep='24 hours')",
    "CREATE VIRTUAL TABLE waning USING cuckoo_filter(capacity=8, seed=0, fingerprint_bits=24, "
    "growth=on, "
    "keep='24 hours')",
    "INSERT INTO fading(key) SELECT i FROM " NUMBERS(1, 60),
    "INSERT INTO waning(key) SELECT k FROM aims WHERE i < 28",
    "SELECT at(1600)",
    "INSERT INTO fading(key) SELECT i FROM " NUMBERS(61, 66),
    "INSERT INTO waning(key) SELECT k FROM aims WHERE i > 33",
    "SELECT at(1615)",
    "INSERT INTO fading(key) VALUES (67)",
    "SELECT at(" BEGINS ")",
    "INSERT INTO fading(key) VALUES (68)",
    "INSERT OR IGNORE INTO lately(key) SELECT i FROM " NUMBERS(1, 45),
    "CREATE TABLE items(id INTEGER PRIMARY KEY, key UNIQUE, n)",
    "INSERT INTO items SELECT i, iif(i % 3, i * 10, 'i' || i), i % 7 FROM " NUMBERS(1, 40),
    "CREATE VIRTUAL TABLE shown USING cuckoo_filter(capacity=60, fpr=1e-6, content='items(key)', "
    "rows=on)",
    "CREATE TABLE pairs(key TEXT, n, PRIMARY KEY(n, key)) WITHOUT ROWID",
    "INSERT INTO pairs SELECT 'p' || i, i % 5 FROM " NUMBERS(1, 20),
    "CREATE VIRTUAL TABLE paired USING cuckoo_filter(capacity=30, fpr=1e-6, content='pairs(key)', "
    "rows=on)",
    "CREATE TABLE blobs(f)",
    "INSERT INTO blobs SELECT cf_build(i) FROM " NUMBERS(1, 60),
};
enum { SETUP = sizeof setup / sizeof setup[0] };

typedef struct oom_case {
    const char *name, *sql;
    const char
        *before; /* begins the transaction; NULL: run in autocommit mode, and in a usual transaction */
} oom_case;

/* The transaction in which most statements are run: changes wait in logs, and in memory. */
static const char usual[] =
    "BEGIN; INSERT INTO seen(key) VALUES ('marker'); UPDATE people SET k = k || '!' WHERE id < 4; "
    "DELETE FROM crowd WHERE rowid < 4; SAVEPOINT usual; DELETE FROM people WHERE id = 5";

#define CHANGES                                                                                         \
    "UPDATE people SET k = k || '!' WHERE id < 7; DELETE FROM crowd WHERE rowid < 5; "                  \
    "INSERT INTO crowd SELECT k FROM aims WHERE i > 33; INSERT INTO users SELECT i FROM " NUMBERS(100,  \
                                                                                                  120)
#define MORE_CHANGES                                                                                    \
    "UPDATE people SET k = NULL WHERE id > 25; UPDATE crowd SET k = -k WHERE rowid % 3 = 0; "           \
    "DELETE FROM users WHERE id < 20; INSERT OR IGNORE INTO people(k) VALUES ('p7'), ('new'), ('p8')"

static const oom_case cases[] = {
    {"create", "CREATE VIRTUAL TABLE made USING cuckoo_filter(capacity=3000, fpr=1e-3, seed=4)", NULL},
    {"create with content",
     "CREATE VIRTUAL TABLE made USING cuckoo_filter(capacity=9, fpr=1e-6, seed=3, content='users(id)')",
     NULL},
    {"error: create, option", "CREATE VIRTUAL TABLE made USING cuckoo_filter(colour=red)", NULL},
    {"error: create, near option", "CREATE VIRTUAL TABLE made USING cuckoo_filter(capcity=9)", NULL},
    {"error: create, column", "CREATE VIRTUAL TABLE made USING cuckoo_filter(content='users(di)')",
     NULL},
    {"error: create, content", "CREATE VIRTUAL TABLE made USING cuckoo_filter(content='nowhere(x)')",
     NULL},
    {"insert", "INSERT INTO seen(key) VALUES ('new')", NULL},
    {"insert, many", "INSERT INTO seen(key) SELECT i FROM " NUMBERS(1000, 1030), NULL},
    {"insert, growing", "INSERT INTO brim(key) SELECT i FROM " NUMBERS(1000, 1100), NULL},
    {"insert, value", "INSERT INTO valued(key, value) VALUES ('new', 7)", NULL},
    {"error: insert, value", "INSERT INTO valued(key, value) VALUES ('new', 16)", NULL},
    {"create, keep", "CREATE VIRTUAL TABLE made USING cuckoo_filter(capacity=90, keep='2 days', seed=4)",
     NULL},
    {"error: create, keep", "CREATE VIRTUAL TABLE made USING cuckoo_filter(capacity=90, keep='2 moons')",
     NULL},
    {"insert or ignore, keep", "INSERT OR IGNORE INTO lately(key) SELECT i FROM " NUMBERS(30, 60), NULL},
    {"insert, keep, growing", "INSERT INTO lately(key) SELECT i FROM " NUMBERS(1000, 1100), NULL},
    {"insert, epochs", "INSERT INTO rounds(key) SELECT i FROM " NUMBERS(10, 70), NULL},
    {"advance", "INSERT INTO rounds(rounds) VALUES ('advance')", NULL},
    {"clock", "INSERT INTO lately(lately) VALUES ('clock')", NULL},
    {"error: delete, keep", "DELETE FROM lately WHERE key = 7", NULL},
    {"cf_table_contains, within", "SELECT sum(cf_table_contains('lately', k, '1 hour')) FROM keys",
     NULL},
    {"error: cf_table_contains, within", "SELECT cf_table_contains('lately', 1, 'lately')", NULL},
    {"insert or ignore, once", "INSERT OR IGNORE INTO once(key) SELECT i FROM " NUMBERS(20, 90), NULL},
    {"insert, once", "INSERT INTO once(key) VALUES (200), (7)", NULL},
    {"or ignore, a sweep under way",
     "INSERT OR IGNORE INTO fading(key) SELECT i FROM " NUMBERS(55, 75) " RETURNING key", NULL},
    {"growth, a sweep under way", "INSERT INTO fading(key) SELECT i FROM " NUMBERS(1000, 1100), NULL},
    {"a sweep goes on", "INSERT INTO fading(key) SELECT i + at(1625) FROM " NUMBERS(1, 5), NULL},
    {"an epoch begins", "INSERT INTO fading(key) SELECT i + at(1800) FROM " NUMBERS(1, 9), NULL},
    {"all is dead", "INSERT INTO fading(key) SELECT 700 + at(9000)", NULL},
    {"optimize, a sweep under way", "INSERT INTO fading(fading) VALUES ('optimize')", NULL},
    {"check, a sweep under way", "INSERT INTO fading(fading) VALUES ('check')", NULL},
    {"import, a sweep under way",
     "INSERT INTO fading(fading, key) VALUES ('import', cf_export('lately'))", NULL},
    {"clock goes back", "INSERT INTO fading(fading) VALUES (iif(at(100), 'clock', ''))", NULL},
    {"the dead do not wait", "INSERT INTO waning(key) SELECT k FROM aims WHERE i BETWEEN 20 AND 37",
     NULL},
    {"those who wait are asked", "SELECT sum(cf_table_contains('waning', k)) FROM aims", NULL},
    {"those who wait, optimize", "INSERT INTO waning(waning) VALUES ('optimize')", NULL},
    {"rename, keep", "ALTER TABLE fading RENAME TO faded", NULL},
    {"drop, keep", "DROP TABLE waning", NULL},
    {"optimize, epochs", "INSERT INTO rounds(rounds) VALUES ('optimize')", NULL},
    {"import, epochs", "INSERT INTO rounds(rounds, key) VALUES ('import', cf_export('rounds'))", NULL},
    {"delete", "DELETE FROM seen WHERE key = 77", NULL},
    {"delete, list", "DELETE FROM seen WHERE key IN (1, 2, 3, 'text', x'01')", NULL},
    {"update", "UPDATE seen SET key = 'other' WHERE key = 'text'", NULL},
    {"select", "SELECT * FROM seen WHERE key = 'text'", NULL},
    {"select, value", "SELECT key, value FROM valued WHERE key = 3", NULL},
    {"exists", "SELECT count(*) FROM keys WHERE EXISTS (SELECT 1 FROM seen WHERE key = k)", NULL},
    {"join", "SELECT k, s.key FROM keys JOIN seen s ON s.key = k", NULL},
    {"list", "SELECT key FROM seen WHERE key IN (SELECT k FROM keys)", NULL},
    {"count", "SELECT count(*) FROM seen", NULL},
    {"error: scan", "SELECT key FROM seen", NULL},
    {"cf_table_contains",
     "SELECT sum(cf_table_contains('seen', k)), cf_table_contains('main.fed', 3) FROM keys", NULL},
    {"error: cf_table_contains", "SELECT cf_table_contains('keys', 1)", NULL},
    {"cf_table_info", "SELECT cf_table_info('seen'), cf_table_info('main.brim')", NULL},
    {"cf_table_info, all", "SELECT cf_table_info('fed', 'all'), cf_table_info('brim', 'all')", NULL},
    {"cf_table_info, untrusted", "SELECT cf_table_info('fed', 'all')",
     "BEGIN; DROP TRIGGER fed_deleted"},
    {"error: cf_table_info", "SELECT cf_table_info('fed', 'some')", NULL},
    {"cf_picture", "SELECT cf_picture('seen'), cf_picture(cf_new(10))", NULL},
    {"cf_table_check", "SELECT cf_table_check('seen'), cf_table_check('fed')", NULL},
    {"error: cf_table_check", "SELECT cf_table_check('sene')", NULL},
    {"cf_table_buckets", "SELECT count(*), sum(fingerprint) FROM cf_table_buckets('seen')", NULL},
    {"error: cf_table_buckets", "SELECT * FROM cf_table_buckets('nowhere')", NULL},
    {"cf_export", "SELECT cf_export('seen')", NULL},
    {"import", "INSERT INTO seen(seen, key) VALUES ('import', cf_export('brim'))", NULL},
    {"error: import", "INSERT INTO seen(seen, key) VALUES ('import', x'00')", NULL},
    {"clear", "INSERT INTO seen(seen) VALUES ('clear')", NULL},
    {"check", "INSERT INTO seen(seen) VALUES ('check')", NULL},
    {"optimize", "INSERT INTO brim(brim) VALUES ('optimize')", NULL},
    {"optimize, fewer pages", "INSERT INTO thin(thin) VALUES ('optimize')", NULL},
    {"rebuild", "INSERT INTO fed(fed) VALUES ('rebuild')", NULL},
    {"rebuild to a capacity", "SELECT length(cf_table_rebuild('fed', 5000)) > 0", NULL},
    {"rebuild, more rows", "INSERT INTO tight(tight) VALUES ('rebuild')", NULL},
    {"error: rebuild", "INSERT INTO seen(seen) VALUES ('rebuild')", NULL},
    {"error: command", "INSERT INTO seen(seen) VALUES ('dance')", NULL},
    {"error: near command", "INSERT INTO seen(seen) VALUES ('chekc')", NULL},
    {"drain", "INSERT INTO fed(fed) VALUES ('drain')", NULL},
    {"drain, with deletes", "INSERT INTO known(known) VALUES ('drain')",
     "BEGIN; " CHANGES "; SAVEPOINT a; " MORE_CHANGES},
    {"drain, some wait", "INSERT INTO tight(tight) VALUES ('drain')", "BEGIN; " CHANGES},
    {"undrained: cf_table_contains", "SELECT sum(cf_table_contains('fed', id)) FROM users", NULL},
    {"undrained: exists", "SELECT count(*) FROM users WHERE EXISTS (SELECT 1 FROM fed WHERE key = id)",
     NULL},
    {"undrained: count", "SELECT count(*) FROM fed", NULL},
    {"content: insert", "INSERT INTO users SELECT i FROM " NUMBERS(1000, 1050), NULL},
    {"content: delete", "DELETE FROM users WHERE id < 9", NULL},
    {"content: update", "UPDATE users SET id = id + 500 WHERE id < 9", NULL},
    {"rename", "ALTER TABLE seen RENAME TO looked_at", NULL},
    {"rename with content", "ALTER TABLE fed RENAME TO nourished", NULL},
    {"drop", "DROP TABLE seen", NULL},
    {"drop with content", "DROP TABLE fed", NULL},
    {"vacuum", "VACUUM", NULL},
    {"drop content", "DROP TABLE people", NULL},
    {"people: insert or ignore",
     "INSERT OR IGNORE INTO people SELECT i, 'p' || (i % 40) FROM " NUMBERS(1, 60), NULL},
    {"people: replace", "REPLACE INTO people SELECT i, 'p' || (i + 3) FROM " NUMBERS(1, 9), NULL},
    {"people: upsert",
     "INSERT INTO people(k) SELECT 'p' || i FROM " NUMBERS(
         20, 40) " WHERE true ON CONFLICT(k) DO UPDATE SET k = k || 'x'",
     NULL},
    {"people: update", "UPDATE people SET k = k || 'y'", NULL},
    {"people: update or ignore", "UPDATE OR IGNORE people SET k = 'p' || (id / 2 + 10) WHERE id > 20",
     NULL},
    {"error: people: update", "UPDATE people SET k = 'p' || (id / 2 + 10) WHERE id > 20", NULL},
    {"people: update to NULL", "UPDATE people SET k = NULL WHERE id % 3 = 0", NULL},
    {"people: delete", "DELETE FROM people WHERE id % 2", NULL},
    {"people: delete all", "DELETE FROM people", NULL},
    {"crowd: insert", "INSERT INTO crowd SELECT k FROM aims WHERE i >= 28", NULL},
    {"crowd: insert or ignore", "INSERT OR IGNORE INTO crowd SELECT k FROM aims", NULL},
    {"crowd: update", "UPDATE crowd SET k = -k WHERE rowid % 3 = 0", NULL},
    {"crowd: delete", "DELETE FROM crowd WHERE rowid % 2", NULL},
    {"crowd: check", "INSERT INTO tight(tight) VALUES ('check')", NULL},
    {"crowd: optimize", "INSERT INTO tight(tight) VALUES ('optimize')", NULL},
    {"crowd: cf_table_rebuild", "SELECT length(cf_table_rebuild('tight')) > 0", NULL},
    {"crowd: keys",
     "SELECT count(*) FROM aims WHERE k IN (SELECT key FROM tight WHERE key IN (SELECT k FROM crowd))",
     NULL},
    {"crowd: rename", "ALTER TABLE tight RENAME TO loose", NULL},
    {"content: rename", "ALTER TABLE people RENAME TO folk", NULL},
    {"content: rename column", "ALTER TABLE people RENAME COLUMN k TO name", NULL},
    {"rows: create",
     "CREATE VIRTUAL TABLE made USING cuckoo_filter(capacity=90, seed=3, content='people(k)', rows=on)",
     NULL},
    {"error: rows: create", "CREATE VIRTUAL TABLE made USING cuckoo_filter(capacity=90, rows=on)", NULL},
    {"rows: select", "SELECT * FROM shown WHERE key = 'i9'", NULL},
    {"rows: select, none", "SELECT * FROM shown WHERE key = 'nobody'", NULL},
    {"rows: a number in a text", "SELECT id, key FROM shown WHERE key = 70 OR key = '70'", NULL},
    {"rows: all", "SELECT id, key, n FROM shown ORDER BY id DESC", NULL},
    {"rows: bounds", "SELECT id FROM shown WHERE key >= 'i2' AND key < 'i4' AND n > 1", NULL},
    {"rows: pattern", "SELECT id FROM shown WHERE key LIKE 'i3%'", NULL},
    {"rows: list", "SELECT id FROM shown WHERE key IN ('i3', 'i4', 20, 50, '50', NULL, x'01')", NULL},
    {"rows: list of a table", "SELECT id FROM shown WHERE key IN (SELECT k * 10 FROM keys)", NULL},
    {"rows: rowid", "SELECT key FROM shown WHERE rowid = 6 OR id IN (7, 8)", NULL},
    {"rows: join", "SELECT k, s.n FROM keys JOIN shown s ON s.key = keys.k", NULL},
    {"rows: left join", "SELECT p.id, s.n FROM people p LEFT JOIN shown s ON s.key = 'i' || p.id", NULL},
    {"rows: WITHOUT ROWID", "SELECT key, n FROM paired WHERE key IN ('p4', 'p5', 'p99')", NULL},
    {"rows: join WITHOUT ROWID", "SELECT count(*) FROM shown s JOIN paired p ON p.key = 'p' || s.id",
     NULL},
    {"rows: what it shows is written",
     "INSERT INTO items(key, n) SELECT key || '!', n FROM shown WHERE key > '' AND n = 3", NULL},
    /* No DELETE: without memory for the drain the log waits, and a deleted key is still found. */
    {"rows: content", "UPDATE items SET n = n + 1 WHERE key IN (SELECT key FROM shown WHERE id < 9)",
     NULL},
    {"error: rows: insert", "INSERT INTO shown(key) VALUES (1)", NULL},
    {"rows: rebuild", "INSERT INTO shown(shown) VALUES ('rebuild')", NULL},
    {"rows: rename", "ALTER TABLE shown RENAME TO seen_rows", NULL},
    {"rows: drop", "DROP TABLE paired", NULL},
    {"rows: index", "CREATE INDEX made ON items(n)", NULL},
    {"rows: drop content", "DROP TABLE pairs", NULL},
    {"savepoint", "SAVEPOINT b", "BEGIN; " CHANGES},
    {"savepoint, second", "SAVEPOINT b", "BEGIN; " CHANGES "; SAVEPOINT a; " MORE_CHANGES},
    {"rollback to", "ROLLBACK TO a", "BEGIN; " CHANGES "; SAVEPOINT a; " MORE_CHANGES},
    {"rollback to, outer", "ROLLBACK TO a", "SAVEPOINT a; " CHANGES "; SAVEPOINT b; " MORE_CHANGES},
    {"release", "RELEASE a", "BEGIN; SAVEPOINT a; " CHANGES},
    {"release, last", "RELEASE a", "SAVEPOINT a; " CHANGES "; SAVEPOINT b; " MORE_CHANGES},
    {"commit", "COMMIT", "BEGIN; " CHANGES},
    {"commit, rows", "COMMIT", "BEGIN; " CHANGES "; SAVEPOINT a; " MORE_CHANGES},
    {"commit, some undone", "COMMIT",
     "BEGIN; " CHANGES "; SAVEPOINT a; " MORE_CHANGES
     "; ROLLBACK TO a; DELETE FROM people WHERE id > 20"},
    {"commit, old values that lie", "COMMIT",
     "BEGIN; CREATE TRIGGER b BEFORE UPDATE ON people WHEN new.k LIKE '%!' BEGIN "
     "UPDATE people SET k = k || 'b' WHERE id = old.id; END; UPDATE people SET k = k || '!' WHERE id = "
     "1"},
    {"rollback", "ROLLBACK", "BEGIN; " CHANGES "; SAVEPOINT a; " MORE_CHANGES},
};

/* Run from the first to the last, whatever fails. Some statements fail in any case, so that what
** came before them is changed again. */
static const char *const script[] = {
    "BEGIN",
    "UPDATE people SET k = k || '!' WHERE id < 7",
    "INSERT INTO crowd SELECT k FROM aims WHERE i > 33",
    "INSERT INTO people(k) VALUES ('q1'), ('q2'), ('p9') /* fails */",
    "SELECT cf_table_contains('known', 'p1!'), cf_table_contains('known', 'q1')",
    "SAVEPOINT a",
    "DELETE FROM crowd WHERE rowid < 9",
    "INSERT OR IGNORE INTO people(k) VALUES ('p7'), ('new'), ('p8')",
    "SAVEPOINT b",
    "UPDATE crowd SET k = -k WHERE rowid % 3 = 0",
    "ROLLBACK TO a",
    "DELETE FROM people WHERE id % 5 = 0",
    "UPDATE people SET k = CASE id WHEN 8 THEN 'p9' ELSE k || '?' END /* fails */",
    "INSERT INTO people(k) VALUES ('q3')",
    "RELEASE a",
    "REPLACE INTO people SELECT i, 'p' || (i + 3) FROM " NUMBERS(1, 9),
    "COMMIT",
    "DELETE FROM crowd WHERE rowid % 4 = 0",
    "SAVEPOINT c",
    "INSERT INTO people(k) VALUES ('p11') ON CONFLICT(k) DO UPDATE SET k = 'p111'",
    "SELECT length(cf_table_rebuild('tight')) > 0",
    "UPDATE crowd SET k = k + 1 WHERE rowid % 5 = 0",
    "RELEASE c",
};
enum { SCRIPT = sizeof script / sizeof script[0] };

#endif
