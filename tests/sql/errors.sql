-- SPDX-License-Identifier: MIT
-- Errors as the shell shows them, and what they leave as it was. All messages: tests/python/extension/wrong_uses.txt.
.load build/cuckoo
.mode list
CREATE TABLE f(b BLOB);
INSERT INTO f VALUES (cf_new(10, 0.01, 'growth=off bucket_size=4'));
SELECT cf_new(10, 0.01, 'layout=plian');
SELECT cf_contains(NULL, 1);
SELECT length(cf_new(10, NULL, 'fingerprint_bits=5 growth=off'));
SELECT length(cf_add_keys(b, cf_keys(value))) FROM f, json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30]');
SELECT cf_contains(h, 1) FROM (SELECT cf_open(b) AS h FROM f UNION SELECT NULL);
-- A full filter changes nothing and does not end the transaction.
BEGIN;
UPDATE f SET b = (SELECT cf_add_keys(f.b, cf_keys(value)) FROM json_each('[1,2,3,4,5]'));
UPDATE f SET b = (SELECT cf_add_keys(f.b, cf_keys(value)) FROM json_each('[11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30]'));
SELECT json_extract(cf_info(b), '$.items'), cf_check(b) FROM f;
COMMIT;
SELECT json_extract(cf_info(b), '$.items') FROM f;
-- Nor does one with values.
CREATE TABLE v(b BLOB);
INSERT INTO v VALUES (cf_new(10, 0.01, 'value_bits=4'));
SELECT cf_get(b, 'k') IS NULL FROM v;
SELECT length(cf_add_keys(b, cf_keys('k', value))) FROM v, json_each('[0,1,2,3,4,5,6,7,8,9]');
-- cf_table_check: 'ok', or what is wrong.
CREATE VIRTUAL TABLE near USING cuckoo_filter(capacity=10, seed=1);
SELECT cf_table_check('near');
SELECT cf_table_check('naer');
-- Growing must not make it longer than SQLite allows.
.limit length 2000
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 230)
SELECT cf_add_keys(cf_add_keys(cf_new(9, NULL, 'fingerprint_bits=32 counter_bits=16'), cf_keys(i)), cf_keys(-i)) FROM n;
