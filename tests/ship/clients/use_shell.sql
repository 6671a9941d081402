-- SPDX-License-Identifier: MIT
-- The sqlite3 shell. Its parameters are values of SQL: numbers stay numbers.
.load build/cuckoo
CREATE TABLE users(id INTEGER, email TEXT);
INSERT INTO users VALUES (1, 'ada'), (2, 'bob'), (9007199254740993, 'cyd');
.parameter init
INSERT INTO temp.sqlite_parameters VALUES (':f', (SELECT cf_build(id, 0.000001) FROM users));
INSERT INTO temp.sqlite_parameters VALUES (':g', (SELECT cf_build(email, 0.000001) FROM users));
.parameter set :one 1
.parameter set :large 9007199254740993
CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)');
.parameter set :new "'dan'"
INSERT INTO users VALUES (4, :new);
SELECT printf('ids %d %d %d %d %d, texts %d %d, table %d %d',
              cf_contains(:f, :one), cf_contains(:f, 3), cf_contains(:f, 'one'),
              cf_contains(:f, :large), cf_contains(:f, :large - 1),
              cf_contains(:g, 'bob'), cf_contains(:g, 'zoe'),
              cf_table_contains('known', :new), cf_table_contains('known', 'eve'));
