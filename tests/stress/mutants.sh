#!/bin/sh
# Does the stress test notice when a rule is dropped? One rule at a time is taken out of a copy of the source; the test
# must fail: the stress test, or for rules that no answer depends on a unit test. The last line is "N passed, N failed".
#   mutants.sh            all of them
#   mutants.sh PATTERN    those whose name matches
# SRC: the source to start from (src); CC.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
source=${SRC:-$root/src}
work=$root/build/mutants
only=${1:-.}
passed=0 failed=0

rm -rf "$work"
mkdir -p "$work/tests"
mkdir "$work/tests/stress"
cp "$root"/tests/stress/*.[ch] "$work/tests/stress/"
cp "$root"/tests/*.[ch] "$work/tests/"

# build TEST: stress, or a unit test, against the source in work/src.
build() {
    if [ "$1" = stress ]; then
        ${CC:-cc} -std=c11 -O1 -w -o "$work/test" "$work/tests/stress/stress.c" "$work"/src/*.c -lm
    else
        ${CC:-cc} -std=c11 -O1 -w -o "$work/test" "$work/tests/$1.c" "$work"/src/*.c -lcmocka -lm
    fi
}

# A folder of files, also where the source is a link: what is changed must never be the source itself.
fresh_source() {
    rm -rf "$work/src"
    mkdir "$work/src"
    cp "$source"/*.[ch] "$work/src/"
}

# verdict NAME WORD PASSED: one line of the result.
verdict() {
    printf '%-52s %s\n' "$1" "$2"
    if [ "$3" -eq 1 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# mutant NAME SED_SCRIPT [TEST]: the script changes one place of one file, wherever the rule may stand.
mutant() {
    printf '%s\n' "$1" | grep -q -e "$only" || return 0
    fresh_source
    sed -i -e "$2" "$work"/src/*.[ch]
    changed=$(diff -r "$source" "$work/src" | grep -c '^> ')
    if [ "$changed" -ne 1 ]; then
        verdict "$1" "CHANGES $changed LINES: repair the script" 0
    elif ! build "${3:-stress}" > "$work/log" 2>&1; then
        verdict "$1" "DOES NOT COMPILE" 0
    elif timeout 120 "$work/test" > "$work/log" 2>&1; then
        verdict "$1" "SURVIVED" 0
    else
        verdict "$1" "killed" 1
    fi
}

fresh_source
if build stress && timeout 120 "$work/test" > "$work/log" 2>&1; then
    verdict "no rule dropped" "passes" 1
else
    tail -5 "$work/log"
    verdict "no rule dropped" "FAILS: what follows means nothing" 0
fi

# ---- copies.h ----

mutant "a delete takes the shortest match" \
    's/= &found\.match\[0\];/= \&found.match[found.n - 1];/'
mutant "a delete takes the most bits in the slot" \
    's/found->match\[at - 1\]\.length < match\.length/found->match[at - 1].length - found->match[at - 1].extension < match.length - match.extension/' test_matches
mutant "any entries can be equal" \
    's/if (class->member\[i\]\.extension > class->length)/if (false)/'
mutant "members of a class are not cut" \
    's/^        make_equal(filter, &class);/        (void)0;/'
mutant "a delete ignores that a key is sticky" \
    '/^cf_deleted cf_copies_remove/,/^}/ s/if (cf_matches_sticky(filter, &found))/if (false)/'
mutant "sticky before the counters are full" \
    '/^bool cf_matches_sticky/,/^}/ s/if (cf_at_maximum(filter, &found->match\[i\]))/if (true)/'
mutant "absorbed before the counters are full" \
    's/if (!cf_at_maximum(filter, match) || (bucket/if ((bucket/'
mutant "a counter counts one too many" \
    's/(&filter->geometry) - match->payload;/(\&filter->geometry) - match->payload + 1;/'
mutant "a counter loses what it has no room for" \
    's/return taken == copies;/return true;/'
mutant "a delete ignores that a key is sticky, before growth" \
    's/if (copies == 0 || copies >= filter->geometry\.cap)/if (copies == 0)/'
mutant "a delete takes all the copies of a counter" \
    's/match->payload - 1);/0);/'
mutant "a delete ignores the value" \
    '/^cf_deleted cf_copies_remove/,/^}/ s/pair, value, &found/pair, CF_ANY_VALUE, \&found/'
mutant "an add ignores the value" \
    's/cf_find_matches(filter, pair, item->payload, &found/cf_find_matches(filter, pair, CF_ANY_VALUE, \&found/'
mutant "entries match items that know less" \
    's/if (match\.length <= side->length)/if (true)/'
mutant "a class of one less than cap" \
    's/return class->n == filter->geometry\.cap;/return class->n + 1 >= filter->geometry.cap;/'

# ---- address.h ----

mutant "zero is judged by the width of slots" \
    's/(hash & filter->fingerprint_mask) == 0/(hash \& filter->slot_mask) == 0/'
mutant "zero is judged by the length of new keys" \
    's/(hash & filter->fingerprint_mask) == 0/(hash \& cf_low_bits(filter->geometry.pair_bits + filter->new_length)) == 0/'
mutant "zero is not replaced" \
    's/hash += (hash & filter->fingerprint_mask) == 0;/;/'
mutant "one bucket of a pair is counted twice" \
    's/ && there\.bucket != here\.bucket)/)/'
mutant "a side that knows too little is a place" \
    's/if (one->length >= here\.extension) {/if (true) {/'
mutant "another side that knows too little is a place" \
    's/if (other\.length >= there\.extension && /if (/'

# ---- join.c ----

mutant "a folded class counts as one entry" \
    's/return cf_is_folded(filter, tag) ? filter->geometry\.cap : 1;/return 1;/'
mutant "a folded class moves to a bucket of which it knows less" \
    's/return length == there\.extension || (length > there\.extension \&\& .*/return length >= there.extension;/' test_bucket
mutant "a folded class that moves is one entry" \
    's/cf_is_folded(filter, tag) ? tag : cf_tag_of/false ? tag : cf_tag_of/'
mutant "what is not sticky is folded" \
    's/entries->weight\[i\] == 0 || !is_sticky(filter, entries, i))/entries->weight[i] == 0)/' test_join
mutant "joined classes are cut too far" \
    's/if (common\.length < entries->least || /if (/' test_join
mutant "joined classes are not cut" \
    '/^static bool join/,/^}/ s/cf_match_cut(filter, member, common\.length, class_payload(filter, member));/(void)member;/'
mutant "a merge takes a folded class for one entry" \
    's/i < entry->entries; i++/i < 1; i++/'
mutant "joining in vain is not taken back" \
    's/^        cf_join_back(filter, &joined);/        (void)0;/'

# ---- eviction.c ----

mutant "void entries move to longer extensions" \
    's/return length == there\.extension || (length > there\.extension \&\& .*/return length <= there.extension || !cf_is_folded(filter, tag);/'
mutant "a move loses the payload" \
    's/^    cf_slot_set(filter, place\.bucket, to_slot, moved, cf_payload_get(filter, from\.bucket, from_slot));/    cf_slot_set(filter, place.bucket, to_slot, moved, 0);/'

# ---- growth.c ----

mutant "void entries stay in the lower child only" \
    's/give = tag != 0 && (both || up);/give = tag != 0 \&\& !both \&\& up;/'
mutant "void entries go to the upper child only" \
    's/keep = tag != 0 && (both || !up)/keep = tag != 0 \&\& !both \&\& !up/'
mutant "a split forgets the payload" \
    's/high->payload\[slot\] = give ? payload : 0;/high->payload[slot] = 0;/'
mutant "a split keeps the bit in the slot" \
    's/child = both ? tag : cf_without_next_bit(filter, tag);/child = tag;/'
mutant "a split takes the wrong bit out" \
    '/cf_without_next_bit(const/,/^}/ s/tag >> (s + 1) << s/(tag >> 1 \& ~filter->pair_mask) >> 1/'
mutant "growth taken back: buckets are not what they were" \
    '/^static void join_buckets/,/^}/ s/split), &record);/split), \&nothing);/'
mutant "growth taken back: records are read in the wrong order" \
    '/^static void unlog_record/,/^}/ s/log->used);/list_logged(log));/'
mutant "growth taken back: slots stay wide" \
    's/^        cf_narrow(filter, then->level, then->split, then->grown);/        cf_set_stage(filter, then->level, then->split, then->grown);/'
mutant "growth taken back: levels are not narrowed" \
    's/^            cf_narrow(filter, filter->level - 1,/            cf_set_stage(filter, filter->level - 1,/'
mutant "growth taken back: the rest is not cleared" \
    's/^    clear_rest(filter, filter->length);/    (void)0;/'
mutant "growth taken back: the count of slots is not" \
    's/^    filter->occupied = then->occupied;/    (void)0;/'
mutant "growth is not taken back" \
    's/^    cf_grow_back(filter, &run->log);/    (void)0;/'
mutant "slots are not widened at a new level" \
    's/if (step\.begins_level || !filter->grown)/if (!filter->grown)/'

# ---- merge.c ----

mutant "a merge drops entries that know too little" \
    's/if (status == CF_BAD_ARGUMENT) {/if (status == CF_BAD_ARGUMENT \&\& (status = CF_OK, false)) {/'
mutant "a merge keeps one half of such entries" \
    's/left\[n++\] = with_bit(into, &next, 1);/(void)0;/'
mutant "a merge gives both halves the same bit" \
    's/with_bit(into, &next, 1)/with_bit(into, \&next, 0)/'
mutant "the sum does not grow as far as the other" \
    's/into->buckets < from->buckets)/false)/'
mutant "a merge forgets payloads" \
    's/cf_item item = {entry->side, entry->payload}/cf_item item = {entry->side, 0}/'

# ---- semisort.h ----

mutant "slots of equal nibbles stay as they come" \
    '/^static void order(/,/^}/ s/rank\[i\] < rank\[j\] ?/rank[i] >> 60 <= rank[j] >> 60 ?/'
mutant "ties are not broken by payloads" \
    's/(rank\[j - 1\] == rank\[j\] && payload\[j - 1\] <= payload\[j\])/rank[j - 1] == rank[j]/' test_semisort
mutant "payloads stay when their slots are sorted" \
    's/rank\[j - 1\] = tag, payload\[j - 1\] = with;/rank[j - 1] = tag, (void)with;/'
mutant "an entry found is not looked for again" \
    '/^static unsigned slot_of/,/^}/ s/if (!says(match/if (false \&\& !says(match/' test_matches
mutant "tops are compared whole in grown buckets" \
    '/cf_tops_allow(const/,/^}/ s/return filter->grown ?/return false ?/'
mutant "a lookup takes the nibble of the wrong slot" \
    's/filter->lane_of >> CF_LANE_OF_SHIFT;/0 >> CF_LANE_OF_SHIFT;/'

# ---- spill.h ----

mutant "no overflow bit for the alternate" \
    '/^static look_set looks_of/,/^}/ s/^    add_look(filter, &other, &looks);/    (void)0;/'
mutant "no overflow bit where an entry knows too little" \
    's/if (cf_locate(filter, &other)\.extension > other\.length) {/if (false) {/' test_spill_growth
mutant "the list is not asked by contains" \
    's/ || (filter->spilled != 0 && is_spilled(filter, hash));/;/'
mutant "the list is not asked by deletes and counts" \
    '/^static void find_spilled/,/^}/ s/if (cf_may_be_spilled(filter, pair))/if (false)/'
mutant "spilled entries are not counted for cap" \
    '/^unsigned cf_scan_matches/,/^}/ s/return found + cf_spill_matching(filter, pair);/return found;/' test_spill
mutant "any two bits send a lookup to the list's first entry" \
    '/^unsigned cf_spill_first/,/^}/ s/return low;/return 0;/'
mutant "the list is not sorted" \
    '/^static void sink/,/^}/ s/if (!comes_before(&entry, &before))/if (true)/'
mutant "a bit goes though another entry names it" \
    's/cf_overflow_set(filter, looks->bucket\[j\], named >> j & 1);/cf_overflow_set(filter, looks->bucket[j], false);/'
mutant "a bit stays though no entry names it" \
    's/cf_overflow_set(filter, looks->bucket\[j\], named >> j & 1);/(void)0;/'
mutant "spilled entries do not follow a split" \
    '/^void cf_spill_split/,/^}/ s/while (lies_in(filter, first, low))/while (false)/'
mutant "a void spilled entry stays in the lower child only" \
    '/^static void follow/,/^}/ s/if (both || up)/if (!both \&\& up)/'
mutant "a void spilled entry goes to the upper child only" \
    '/^static void follow/,/^}/ s/if (both || !up)/if (!both \&\& !up)/'
mutant "a spilled entry keeps the bit that its bucket stands for" \
    '/^static void follow/,/^}/ s/tag = both ? .*;/tag = entry->tag;/'
mutant "the list gets no terminators" \
    's/entry\.tag |= (uint64_t)1 << filter->geometry\.fingerprint_bits;/(void)0;/'
mutant "the list stays behind when the blob gets longer" \
    's/^    memmove(longer + length - list, longer + old, list);/    (void)0;/'
mutant "room in a bucket is not taken by spilled entries" \
    '/^void cf_match_remove/,/^}/ s/cf_spill_drain(filter, match->bucket);/(void)0;/'
mutant "room after a split is not taken by spilled entries" \
    's/^    cf_spill_drain(filter, high);/    (void)0;/' test_spill_growth
mutant "a spilled entry settled stays in the list" \
    '/^bool cf_settle_one/,/^}/ s/cf_spill_remove(filter, index);/(void)0;/'
mutant "a spilled member of a class keeps its length" \
    '/^void cf_match_change/,/^}/ s/cf_spill_change(filter, index_of(filter, match), tag, payload);/(void)0;/' test_copies
mutant "a change of a spilled entry forgets the payload" \
    '/^void cf_spill_change/,/^}/ s/{entry\.bucket, tag, payload}/{entry.bucket, tag, 0}/'
mutant "a merge forgets the list" \
    's/return status == CF_OK ? merge_spilled(into, from) : status;/return status;/'
mutant "growth taken back: the list is not" \
    's/^    restore_list(filter, log);/    (void)0;/'
mutant "an insertion looks further than its budget" \
    's/cf_search_budget few = {CF_SEARCH_BUCKETS, filter->geometry\.budget};/cf_search_budget few = {CF_SEARCH_BUCKETS, CF_ANY_NUMBER};/' test_spill
mutant "a search looks at one bucket more" \
    's/if (search->left\.examined-- == 0)/if (search->left.examined-- == UINT32_MAX)/' test_spill

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
