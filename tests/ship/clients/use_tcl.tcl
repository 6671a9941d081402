# SPDX-License-Identifier: MIT
# Tcl. $key is bound as text unless Tcl keeps it as a number: write expr, entier or CAST. @f binds a blob.
package require sqlite3
sqlite3 db :memory:
db enable_load_extension 1
db eval {SELECT load_extension('build/cuckoo')}

proc ask {f key} {
    return [db onecolumn {SELECT cf_contains(@f, $key)}]
}

db eval {CREATE TABLE users(id INTEGER, email TEXT)}
db eval {INSERT INTO users VALUES (1, 'ada'), (2, 'bob'), (9007199254740993, 'cyd')}
set f [db onecolumn {SELECT cf_build(id, 0.000001) FROM users}]
set ids [list [ask $f [expr {0 + 1}]] [ask $f [expr {1 + 2}]] [ask $f "one"] \
    [ask $f [expr {2**53 + 1}]] [ask $f [expr {2**53}]]]
set f [db onecolumn {SELECT cf_build(email, 0.000001) FROM users}]
set texts [list [ask $f bob] [ask $f zoe]]
db eval {CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')}
db eval {INSERT INTO users VALUES (4, 'dan')}
set known [list [db onecolumn {SELECT cf_table_contains('known', 'dan')}] \
    [db onecolumn {SELECT cf_table_contains('known', 'eve')}]]
puts "ids $ids, texts $texts, table $known"
