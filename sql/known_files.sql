-- SPDX-License-Identifier: MIT
-- Known files.   sqlite3 < sql/known_files.sql
-- Which files of this machine belong to no package, or have been changed? Debian stores the MD5 sums of
-- the files of all packages. The same statements work for any list of hashes (see the end).
.bail on
.load build/cuckoo
.headers on
.mode column
.echo on
CREATE TABLE line(text TEXT);
.import "|grep -r --include=*.md5sums . /var/lib/dpkg/info" line
CREATE TABLE known AS
SELECT substr(text, length('/var/lib/dpkg/info/') + 1, i - length('/var/lib/dpkg/info/') - 1) AS package,
       substr(text, i + length('.md5sums:'), 32) AS md5, '/' || substr(text, i + length('.md5sums:') + 34) AS path
FROM (SELECT text, instr(text, '.md5sums:') AS i FROM line);
SELECT count(*) AS files, count(DISTINCT package) AS packages, sum(length(md5)) AS bytes_of_sums FROM known;

-- 1. A filter of the sums, with a false-positive rate of 1 in 10,000. Send it to other machines: they do
--    not need the list.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
INSERT INTO filters SELECT 'known', cf_build(md5, 0.0001) FROM known;
SELECT length(f) AS bytes, json_extract(cf_info(f), '$.bits_per_key') AS bits_per_file FROM filters;

-- 2. The files of this machine, and how many of them are definitely not from a package.
CREATE TABLE sum(text TEXT);
.import "|find /usr/bin -type f -exec md5sum {} +" sum
-- (md5sum writes a backslash before the sum when the name of the file contains one; ltrim removes it.)
CREATE TABLE file AS SELECT substr(ltrim(text, '\'), 1, 32) AS md5, substr(ltrim(text, '\'), 35) AS path FROM sum;
.timer on
SELECT count(*) AS files, sum(NOT cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'known'), md5)) AS unknown
FROM file;
.timer off
SELECT replace(path, '/usr/bin/', '') AS unknown FROM file
WHERE NOT cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'known'), md5) ORDER BY 1 LIMIT 5;

-- 3. False answers, counted with the list. There is no false negative. Sums that belong to no file are
--    false positives at the rate that was requested.
SELECT sum(found < (md5 IN (SELECT md5 FROM known))) AS missed, sum(found > (md5 IN (SELECT md5 FROM known))) AS wrong
FROM (SELECT md5, cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'known'), md5) AS found FROM file);
SELECT sum(cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'known'), substr(md5, 2) || substr(md5, 1, 1)))
       <= 0.0003 * count(*) + 3 AS rate_is_met FROM known;

-- 4. Which package owns a file? Here the key is the path, and the value is the number of the package, in
--    14 bits for up to 16,384 packages.
CREATE TABLE package AS SELECT row_number() OVER (ORDER BY package) AS id, package AS name FROM known GROUP BY package;
CREATE INDEX package_name ON package(name);
INSERT INTO filters
SELECT 'owner', cf_build(path, 0.0001, 'value_bits=14', p.id) FROM known AS k JOIN package AS p ON p.name = k.package;
SELECT length(f) AS bytes, json_extract(cf_info(f), '$.bits_per_key') AS bits_per_file FROM filters
WHERE name = 'owner';
.timer on
CREATE TABLE answers AS
SELECT path, value AS id FROM known, cf_values((SELECT cf_open(f) FROM filters WHERE name = 'owner'), path);
.timer off
SELECT (SELECT count(*) FROM (SELECT path, package FROM known EXCEPT
                              SELECT path, name FROM answers JOIN package USING (id))) AS missed,
       (SELECT count(*) FROM (SELECT path, name FROM answers JOIN package USING (id) EXCEPT
                              SELECT path, package FROM known)) <= 0.0003 * count(*) + 3 AS few_extra FROM known;

-- 5. A published set. NSRL is distributed as a SQLite file with a table FILE, and its hashes are in
--    capitals. collation=nocase makes both spellings the same key. (Here the table is a small one with
--    that schema. For the real one: ATTACH 'RDS_modern_minimal.db' AS nsrl. Its 87 million hashes take
--    102 MB at 1 %.)
ATTACH ':memory:' AS nsrl;
CREATE TABLE nsrl.FILE(sha256 VARCHAR, sha1 VARCHAR, md5 VARCHAR, crc32 VARCHAR, file_name VARCHAR, file_size INTEGER,
                       package_id INTEGER);
INSERT INTO nsrl.FILE(md5, file_name) SELECT upper(md5), path FROM known;
INSERT INTO filters SELECT 'nsrl', cf_build(md5, 0.01, 'collation=nocase') FROM nsrl.FILE;
SELECT sum(found < (upper(md5) IN (SELECT md5 FROM nsrl.FILE))) AS missed
FROM (SELECT md5, cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'nsrl'), md5) AS found FROM file);

-- 6. A new edition is a list of added and removed hashes, so the filter need not be rebuilt.
CREATE TABLE removed AS SELECT DISTINCT md5 FROM nsrl.FILE ORDER BY md5 LIMIT 100;
DELETE FROM nsrl.FILE WHERE md5 IN (SELECT md5 FROM removed);
UPDATE filters SET f = cf_delete_keys(f, (SELECT cf_keys(md5, NULL, 'collation=nocase') FROM removed)) WHERE name = 'nsrl';
UPDATE filters SET f = cf_add_keys(f, (SELECT cf_keys(column1, NULL, 'collation=nocase')
                                       FROM (VALUES ('00000000000000000000000000000001')))) WHERE name = 'nsrl';
SELECT sum(NOT cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'nsrl'), md5)) AS missed FROM nsrl.FILE;

-- 7. A blob holds up to about 830 million hashes at 1 %. For more, such as 2,000 million passwords, make
--    one filter for each first digit, and query the filter of that digit.
CREATE TABLE parts(digit TEXT PRIMARY KEY, f BLOB);
INSERT INTO parts SELECT substr(md5, 1, 1), cf_build(md5, 0.01, 'collation=nocase') FROM nsrl.FILE GROUP BY 1;
SELECT count(*) AS parts, sum(json_extract(cf_info(f), '$.items')) - (SELECT count(DISTINCT md5) FROM nsrl.FILE) AS lost
FROM parts;
SELECT sum(NOT cf_contains((SELECT cf_open(f) FROM parts WHERE digit = 'A'), md5)) AS missed
FROM nsrl.FILE WHERE md5 >= 'A' AND md5 < 'B';
