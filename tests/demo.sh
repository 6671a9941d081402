#!/bin/sh
# SPDX-License-Identifier: MIT
# The tour: the scripts of sql/, one after the other, as a user would run them.
set -eu
show() {
    printf '\n=== %s\n' "$2"
    "$SQLITE3" < "sql/$1.sql"
}
show tour           'The functions, on two word lists                      (sql/tour.sql)'
show look_inside    'What a filter looks like inside                       (sql/look_inside.sql)'
show keep_in_sync   'Keeping a filter in step with a table                 (sql/keep_in_sync.sql)'
show key_to_shard   'From a key to the shard that has it                    (sql/key_to_shard.sql)'
show shards         'The filters of many shards, merged and shipped         (sql/shards.sql)'
show streams        'Have I seen it? And forgetting                          (sql/streams.sql)'
show plan_and_grow  'Capacity, growth and bounded insertion                 (sql/plan_and_grow.sql)'
show prefilter_join 'A join of a million rows, without and with a filter   (sql/prefilter_join.sql)'
printf '\nEvery statement above stands in sql/: copy what you need.\n'
