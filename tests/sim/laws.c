/* SPDX-License-Identifier: MIT */
/*
** laws.c - questions whose answer does not depend on what was before: functions, options, and wrong uses of both.
*/
#include "sim.h"

#include <stdlib.h>
#include <string.h>

/* A value that must be the answer, or, after '!', words of the error. The keys have numbers below 60. */
static const char *const laws[][2] = {
    {"SELECT cf_contains(cf_add(cf_new({n} + 1), {1}), {1})", "1"},
    {"SELECT cf_contains((SELECT cf_open(cf_add(cf_new({n} + 1), {1}))), {1})", "1"},
    {"SELECT sum(cf_contains(f, k)) FROM keys, (SELECT cf_add_keys(cf_new(99, 0.01, 'seed=9'), (SELECT "
     "cf_keys(k, NULL, 'seed=9') FROM keys WHERE i < 60)) AS f) WHERE i < 60",
     "60"},
    {"SELECT sum(cf_contains(f, k)) FROM keys, (SELECT cf_build(k, 0.05, 'seed={n}') AS f FROM keys "
     "WHERE i < 60) WHERE i < 60",
     "60"},
    {"SELECT cf_get(cf_add_keys(cf_new(99, NULL, 'value_bits=4 fingerprint_bits=32'), (SELECT "
     "cf_keys(k, 3) FROM keys WHERE i < 40)), {key})",
     "3"},
    {"SELECT cf_count(cf_add(cf_add(cf_new({n} + 1, 0.01, 'counter_bits=3'), {1}), {1}), {1})", "2"},
    {"SELECT cf_check(cf_build_exact(i, i % 3 = 0)) FROM keys WHERE i < 60", "ok"},
    {"SELECT sum(cf_contains(e, i) <> (i % 3 = 0)) FROM (SELECT cf_build_exact(i, i % 3 = 0) AS e FROM "
     "keys WHERE i < 60), keys WHERE i < 60",
     "0"},
    {"SELECT cf_contains((SELECT cf_open(cf_build_exact(i, i % 2))), 7) FROM keys WHERE i < 60", "1"},
    {"SELECT sum(copies) FROM cf_buckets(cf_add(cf_new({n} + 1), {key}))", "1"},
    {"SELECT max(match) FROM cf_explain(cf_add(cf_new(9), {1}), {1})", "1"},
    {"SELECT sum(value) FROM cf_values(cf_add(cf_new(9, 0.01, 'value_bits=4'), {1}, 3), {1})", "3"},
    {"SELECT count(*) FROM (SELECT cf_build(i, 0.0001, 'value_bits=9', i) AS f FROM keys WHERE i < 60), "
     "keys, "
     "cf_values(f, i) WHERE i < 60 AND value = i",
     "60"},
    {"SELECT cf_picture(cf_add(cf_new(9), {key})) LIKE '1 keys, planned for 9,%buckets of 4 slots of % "
     "bits, % in use%|--%'",
     "1"},
    {"SELECT cf_picture(cf_new(9)) LIKE '0 keys%0.0 % in use%|   %'", "1"},
    {"SELECT json_extract(cf_plan(1000, 0.001), '$.fingerprint_bits')", "13"},
    {"SELECT json_extract(cf_info(cf_new({n} + 1, 0.01, 'seed=7 bucket_size=2')), '$.seed')", "7"},
    {"SELECT cf_key({1}) = cf_key({1}) AND cf_key('ab', 'c') <> cf_key('ab', 'd') AND cf_key('a', 'bc') "
     "<> cf_key('ab', 'c')",
     "1"},
    {"SELECT cf_contains(cf_new(1), NULL)", "NULL"},
    {"SELECT cf_check(x'00')", "not a cuckoo filter"},
    {"SELECT cf_check(5)", "!must be a blob"},
    {"SELECT cf_contains('a', 1)", "!got the text 'a'"},
    {"SELECT cf_contains(NULL, 1)", "!filter is NULL"},
    {"SELECT cf_picture(7)", "!must be a blob"},
    {"SELECT cf_picture('nothing')", "!no such cuckoo_filter table: nothing"},
    {"SELECT cf_table_contains('nothing', {key})", "!no such cuckoo_filter table: nothing"},
    {"SELECT cf_table_rebuild('nothing')", "!no such cuckoo_filter table: nothing"},
    {"SELECT cf_table_rebuild(5)", "!must be the name of a cuckoo_filter table"},
    {"SELECT * FROM cf_buckets('nothing')", "!no such cuckoo_filter table: nothing"},
    {"SELECT cf_merge(cf_new(9), cf_new(900))", "!differ in buckets"},
    {"SELECT cf_merge(cf_new(9), cf_new(9, 0.01, 'seed=4'))", "!differ in seed"},
    {"SELECT cf_merge(cf_new(9), x'00')", "!not a cuckoo filter"},
    {"SELECT cf_add_keys(cf_new(60), (SELECT cf_keys(k, NULL, 'seed=9') FROM keys))",
     "!with another hash, seed"},
    {"SELECT cf_add_keys(cf_new(9), (SELECT cf_keys(k, 3) FROM keys))", "!stores no values"},
    {"SELECT cf_add_keys(cf_new(9, 0.01, 'value_bits=4'), (SELECT cf_keys(k) FROM keys))",
     "!stores a value with"},
    {"SELECT cf_add_keys(cf_new(9, 0.01, 'value_bits=4'), (SELECT cf_keys(k, 16) FROM keys))",
     "!from 0 to 15"},
    {"SELECT cf_add_keys(cf_new(9), x'00')", "!must be a list"},
    {"SELECT cf_keys(k, iif(i % 2, 3, NULL)) FROM keys", "!some keys have a value"},
    {"SELECT cf_delete(cf_new(9, 0.01, 'epochs=3'), 1)", "!cannot delete a single key"},
    {"SELECT cf_add_keys(cf_new(4, 0.01, 'growth=off'), cf_keys(i)) FROM keys", "!full"},
    {"SELECT cf_new(10, 2)", "!fpr must be"},
    {"SELECT cf_new(-1)", "!capacity must be"},
    {"SELECT cf_new(10, 0.01, 'colour=red')", "!unknown option colour; valid options: capacity"},
    {"SELECT cf_new(10, 0.01, 'capcity=9')", "!did you mean capacity"},
    {"SELECT cf_get(cf_add(cf_new(9, 0.01, 'value_bits=4'), {1}, 15), {1})", "15"},
    {"SELECT cf_add(cf_new(9, 0.01, 'value_bits=4'), 1, 16)", "!from 0 to 15"},
    {"SELECT cf_add(cf_new(9, 0.01, 'value_bits=4'), 1)", "!give it as the last argument"},
    {"SELECT cf_add(cf_new(9), 1, 1)", "!leave the value out"},
    {"SELECT cf_get(cf_new(9), 1)", "!stores no values"},
    {"SELECT cf_new(10, 0.01, 'seed=red')", "!bad value in seed=red"},
    {"SELECT cf_new(10, 0.01, 'counter_bits=1 value_bits=4')", "!exclude each other"},
    {"SELECT cf_new(9, 0.01, 'capa=9')", "!unknown option capa;"},
    {"SELECT cf_new('1000')", "!got the text '1000': give a number"},
    {"SELECT cf_new(9, 0.01, 'fingerprint_bits=33')", "!valid: fingerprint_bits=4..32"},
    {"SELECT cf_new(9, 0.01, 'fingerprint_bits=3')", "!valid: fingerprint_bits=4..32"},
    {"SELECT json_extract(i, '$.fingerprint_bits') || json_extract(i, '$.epochs') FROM (SELECT "
     "cf_info(cf_new(9, 0.01, 'fingerprint_bits=32 epochs=15')) AS i)",
     "3215"},
    {"SELECT group_concat(key) FROM json_each(cf_info(cf_new({n} + 1)))",
     "items,occupied,capacity,buckets,bucket_size,fingerprint_bits,slot_bits,layout,level,split,load_"
     "factor,"
     "items_per_slot,bytes,bits_per_key,fpr_now,fpr_at_capacity,turnovers,hash,seed,counter_bits,value_"
     "bits,"
     "affinity,collation,key_types,growth,stash,stashed,saturated,exhausted,pair_bits,max_copies,base_"
     "buckets,"
     "format"},
    {"SELECT group_concat(key) FROM json_each((SELECT cf_info(cf_build_exact(i, i % 2)) FROM keys))",
     "kind,keys,members,levels,listed,bytes,bits_per_key,fpr_unknown,hash,seed,affinity,collation,key_"
     "types,"
     "format"},
    {"SELECT cf_build(k, 0.1, iif(i = 7, 'seed=1', 'seed=2')) FROM keys", "!the same for all rows"},
    {"SELECT cf_build(k, iif(i = 7, 0.1, 0.2)) FROM keys", "!the same for all rows"},
    {"SELECT cf_build_exact(i + 0.5, 0, 0.01, 'affinity=text') FROM keys", "!may equal other keys"},
    {"SELECT cf_check(cf_build_exact(i + 0.5, i < 9)) FROM keys", "ok"},
    {"SELECT cf_check(CAST(substr(e, 1, 99) || x'ff' || substr(e, 101) AS BLOB)) FROM (SELECT "
     "cf_build_exact(i, i % 2) AS e FROM keys WHERE i < 60)",
     "the levels do not match their checksum"},
    {"SELECT cf_picture(cf_add_keys(cf_new(9, 0.01, 'seed=9'), cf_keys(i, NULL, 'seed=9'))) LIKE '%\n      bucket +---%\n         "
     "  0 "
     "|%\n         %|%' FROM keys",
     "1"},
    {"SELECT cf_contains(f, ' 1e2 ') || cf_contains(f, '0100') || cf_contains(f, '1e2x') "
     "FROM (SELECT cf_add(cf_new(9, 1e-6, 'affinity=numeric'), 100) AS f)",
     "110"},
    {"SELECT cf_contains(cf_build(i), '7') FROM keys", "!only numbers were added"},
    {"SELECT cf_contains(cf_build('m' || i), 7) FROM keys", "!only texts were added"},
    {"SELECT cf_contains(f, 7) || cf_contains(f, '7.0') || cf_contains(f, 1.5) || cf_contains(f, 'Ab ') "
     "FROM "
     "(SELECT cf_add(cf_add(cf_new(9, 1e-6, 'affinity=text collation=nocase'), '7'), 'aB ') AS f)",
     "1111"},
};

/* Options of a table; what is asked of it when it has 60 keys, and the answer. Without a question: the error of CREATE, or it
** finds all its keys. */
static const char *const options[][3] = {
    {"capacity={n}", "", ""},
    {"capacity=99, growth=off, stash_size=9, stash=on", "", ""},
    {"\"capacity\"='9', fingerprint_bits=27", "", ""},
    {"capacity=99, growth=off, bucket_size=2, stash=on, max_kicks={n}", "", ""},
    {"capacity=60, counter_bits=1, hash=keyed", "", ""},
    {"capacity=9, adds=once, bucket_size=8", "", ""},
    {"capacity=9, keep='{n}9 days'", "", ""},
    {"capacity=9, epochs=3, hash=xxh3", "", ""},
    {"capacity=9, keep='x'", "!keep must be a number", NULL},
    {"capacity=9, stash=on", "!stash=on excludes growth: add growth=off", NULL},
    {"capacity=9, keep='1 day', epochs=3", "!keep= uses the clock", NULL},
    {"capacity=9, keep='1 day', counter_bits=2", "!keep= uses the clock", NULL},
    {"capacity=-1", "!bad value in capacity=-1", NULL},
    {"capacity", "!must be a list of name=value", NULL},
    {"fpr=0.01", "!capacity is missing", NULL},
    {"capacity=9, colour=red", "!unknown option colour; valid options: fpr", NULL},
    {"capacty=9", "!did you mean capacity", NULL},
    {"capacity=9, 'fpr'=2", "!fpr", NULL},
    {"capacity=9, hash=spooky", "!bad value in hash=spooky", NULL},
    {"capacity=9, adds=twice", "!adds must be once", NULL},
    {"capacity=9, rows=on", "!add content=", NULL},
    {"content='nothing(k)'", "!no table nothing in temp", NULL},
    {"content='nothing'", "!content must be 'table(column)', such as 'users(email)', got 'nothing'", NULL},
    {"content='temp.nothing(k)'", "!give the name alone", NULL},
    {"content='main.keys(k)'", "!of a table there", NULL},
    {"capacity=9, counter_bits=17", "!bad value in counter_bits=17", NULL},
    {"capacity=9, bucket_size=3", "!bad value in bucket_size=3", NULL},
    {"capacity=60, seed=7", "7", "json_extract(cf_table_info('tried'), '$.seed')"},
    {"capacity=60, fpr=0.001", "13", "json_extract(cf_table_info('tried'), '$.fingerprint_bits')"},
    {"capacity=60, growth=off, bucket_size=2", "off2",
     "json_extract(i, '$.growth') || json_extract(i, '$.bucket_size') FROM (SELECT "
     "cf_table_info('tried') AS i)"},
    {"capacity=60, counter_bits=5", "5",
     "json_extract(cf_table_info('tried', 'all'), '$.counter_bits')"},
    {"capacity={n}", "60", "json_extract(cf_table_info('temp.tried', 'all'), '$.items')"},
    {"capacity=60, keep='24 hours'", "86400", "json_extract(cf_table_info('tried'), '$.keep')"},
    {"capacity=60, keep='24 hours'", "1", "cf_table_contains('tried', k, '1 hour') FROM keys LIMIT 1"},
    {"capacity=60, keep='24 hours'", "!at most 24 hours",
     "cf_table_contains('tried', k, '2 days') FROM keys"},
    {"capacity=60, keep='24 hours'", "!from 1 second to",
     "cf_table_contains('tried', k, 'foo') FROM keys"},
    {"capacity=60, keep='24 hours'", "!DELETE and UPDATE are not possible",
     "1; DELETE FROM tried WHERE key = (SELECT k FROM keys WHERE i = 1)"},
    {"capacity=60, keep='24 hours'", "0", "json_extract(cf_table_info('tried'), '$.clock_ahead')"},
    {"capacity=60, epochs=3", "3", "json_extract(cf_table_info('tried'), '$.epochs')"},
    {"capacity=60, epochs=3", "60",
     "1; INSERT INTO tried(tried) VALUES ('advance'); SELECT sum(cf_table_contains('tried', k)) FROM "
     "keys WHERE i < 60"},
    {"capacity=60, epochs=1, fingerprint_bits=32", "0",
     "1; INSERT INTO tried(tried) VALUES ('advance'); SELECT sum(cf_table_contains('tried', k)) FROM "
     "keys WHERE i < 60"},
    {"capacity=60", "!created with epochs=n", "1; INSERT INTO tried(tried) VALUES ('advance')"},
    {"capacity=60", "!created with keep=", "1; INSERT INTO tried(tried) VALUES ('clock')"},
    {"capacity=60", "!unknown command 'nothing'; the commands are advance",
     "1; INSERT INTO tried(tried) VALUES ('nothing')"},
    {"capacity=60", "!not in sync with a table", "cf_table_rebuild('tried')"},
    {"capacity=60", "!must be 'all'", "cf_table_info('tried', 'some')"},
    {"capacity=60", "!seem to be swapped", "cf_table_contains('k1', 'tried')"},
    {"capacity=60", "!cannot list its keys", "* FROM tried"},
    {"capacity={n}", "60",
     "1; INSERT INTO tried(tried, key) SELECT 'import', cf_export('tried'); SELECT count(*) FROM tried"},
    {"capacity={n}", "!not a cuckoo filter",
     "1; INSERT INTO tried(tried, key) VALUES ('import', x'00')"},
    {"capacity={n}", "0", "1; INSERT INTO tried(tried) VALUES ('clear'); SELECT count(*) FROM tried"},
    {"capacity={n}", "59",
     "1; DELETE FROM tried WHERE key = (SELECT k FROM keys WHERE i = 1); SELECT count(*) FROM tried"},
    {"capacity=60", "!UPDATE is refused",
     "1; UPDATE tried SET key = {key} WHERE key = (SELECT k FROM keys WHERE i = 1)"},
    {"capacity=60", "60", "sum(copies) FROM cf_buckets('tried')"},
    {"capacity=60", "!use cf_table_contains('tried', key)", "cf_contains('tried', 1)"},
    {"capacity=60", "!use cf_export('tried')", "cf_count('tried', 1)"},
    {"capacity=60", "539",
     "sum(key IN ('trusted', 'exhausted', 'pair_bits', 'fpr_now', 'unplaced')) || count(*) FROM "
     "json_each(cf_table_info('tried', 'all'))"},
    {"capacity=60", "1", "cf_picture('tried') LIKE '60 keys, planned for 60,%'"},
};

/* An ordinary table in TEMP, which is of this connection alone. */
static char *with_options(world *w, const char *const *given)
{
    static const char *const asked[] = {
        "sum(cf_table_contains('tried', k)) = 60 FROM keys WHERE i < 60",
        "count(*) = 60 FROM keys WHERE i < 60 AND EXISTS (SELECT 1 FROM tried WHERE key = k)",
        "cf_table_check('temp.tried') = 'ok' AND cf_check(cf_export('tried')) = 'ok'",
    };
    char *list = fill(w, given[0]), *then = fill(w, !given[2]     ? ""
                                                    : given[2][0] ? given[2]
                                                                  : PICK(w, asked));
    char *sql = say(
        "DROP TABLE IF EXISTS temp.tried; CREATE VIRTUAL TABLE temp.tried USING cuckoo_filter(%s)%s%s",
        list,
        given[2] ? "; INSERT OR IGNORE INTO temp.tried(key) SELECT k FROM keys WHERE i < 60; SELECT "
                 : "",
        then);
    free(list);
    free(then);
    return sql;
}

void draw_law(world *w)
{
    for (int i = 0; i < 3; i++)
        w->drawn_keys[i] = draw(w, UNIVERSE);
    const pair *p = &w->pairs[w->pair];
    bool free_now =
        sqlite3_get_autocommit(p->twin) && p->left_real == NULL; /* else a ROLLBACK ends reads */
    if (!free_now || chance(w, 65)) {
        const char *const *law = PICK(w, laws);
        emit(w, QUERY, fill(w, law[0]), say("%s", law[1]));
    } else {
        const char *const *given = PICK(w, options);
        emit(w, QUERY, with_options(w, given), say("%s", given[1][0] ? given[1] : "1"));
    }
}

/* Is it what the law says? */
bool law_holds(const char *law, const outcome *r)
{
    if (law[0] == '!')
        return r->code != SQLITE_OK && strstr(r->message, law + 1) != NULL;
    return law[0] == 0 || (r->code == SQLITE_OK && strcmp(r->message, law) == 0);
}
