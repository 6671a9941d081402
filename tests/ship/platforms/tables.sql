-- SPDX-License-Identifier: MIT
-- A database file with filter tables and filters in blobs. Every platform must write the same, and go on
-- (change.sql) with what another one has written.
.load build/cuckoo
.mode list
PRAGMA page_size = 4096;
CREATE TABLE people(id INTEGER PRIMARY KEY, mail TEXT UNIQUE COLLATE NOCASE, score REAL, city TEXT, tag BLOB, age INTEGER);
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters VALUES ('plain', cf_new(500, 0.01, 'layout=plain seed=3')), ('semisorted', cf_new(500, 0.01, 'layout=semisort bucket_size=4 seed=3')),
  ('counted', cf_new(20, 0.001, 'counter_bits=5')), ('listed', cf_new(9000, NULL, 'growth=off stash=on max_kicks=0 bucket_size=2 fingerprint_bits=14')), ('valued', cf_new(20, 0.01, 'value_bits=12'));

-- Those that follow a column, and those that are changed themselves.
CREATE VIRTUAL TABLE mails USING cuckoo_filter(capacity=2000, fpr=0.001, seed=1, content='people(mail)');
CREATE VIRTUAL TABLE scores USING cuckoo_filter(capacity=50, counter_bits=8, seed=-2, content='people(score)');
CREATE VIRTUAL TABLE cities USING cuckoo_filter(capacity=100, counter_bits=12, layout=semisort, seed=3, content='people(city)');
CREATE VIRTUAL TABLE tags USING cuckoo_filter(capacity=10, bucket_size=8, seed=0, content='people(tag)');
CREATE VIRTUAL TABLE ages USING cuckoo_filter(capacity=100, counter_bits=16, growth=off, stash=on, seed=9, content='people(age)');
CREATE VIRTUAL TABLE stashed USING cuckoo_filter(capacity=9000, growth=off, stash=on, max_kicks=0, bucket_size=2, fingerprint_bits=12, seed=77);
CREATE VIRTUAL TABLE fixed USING cuckoo_filter(capacity=9000, growth=off, bucket_size=2, fingerprint_bits=12, seed=-1);
CREATE VIRTUAL TABLE numbers USING cuckoo_filter(capacity=40, affinity=text, collation=rtrim, seed=5);
CREATE TABLE turns(n INTEGER PRIMARY KEY);
CREATE TABLE own(id INTEGER PRIMARY KEY, key);
CREATE INDEX by_key ON people(cf_key(city, age));
