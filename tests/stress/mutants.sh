#!/bin/sh
# Does the stress test notice when a rule is dropped? One rule at a time is taken out of a copy of the source; the test
# must fail. The last line is "N passed, N failed".
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
cp -r "$root/tests/stress" "$work/tests/"

# build DIRECTORY: the stress test against the source in work/src.
build() {
    ${CC:-cc} -std=c11 -O1 -w -o "$work/stress" "$work/tests/stress/stress.c" "$work"/src/*.c -lm
}

fresh_source() {
    rm -rf "$work/src"
    cp -r "$source" "$work/src"
}

# verdict NAME WORD PASSED: one line of the result.
verdict() {
    printf '%-52s %s\n' "$1" "$2"
    if [ "$3" -eq 1 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# mutant NAME SED_SCRIPT: the script changes one place of one file, wherever the rule may stand.
mutant() {
    printf '%s\n' "$1" | grep -q -e "$only" || return 0
    fresh_source
    sed -i -e "$2" "$work"/src/*.[ch]
    changed=$(diff -r "$source" "$work/src" | grep -c '^> ')
    if [ "$changed" -ne 1 ]; then
        verdict "$1" "CHANGES $changed LINES: repair the script" 0
    elif ! build > "$work/log" 2>&1; then
        verdict "$1" "DOES NOT COMPILE" 0
    elif timeout 120 "$work/stress" > "$work/log" 2>&1; then
        verdict "$1" "SURVIVED" 0
    else
        verdict "$1" "killed" 1
    fi
}

fresh_source
if build && timeout 120 "$work/stress" > "$work/log" 2>&1; then
    verdict "no rule dropped" "passes" 1
else
    tail -5 "$work/log"
    verdict "no rule dropped" "FAILS: what follows means nothing" 0
fi

# ---- copies.h ----

mutant "a delete takes the shortest match" \
    's/= &found\.match\[0\];/= \&found.match[found.n - 1];/'
mutant "a delete takes the most bits in the slot" \
    's/found->match\[at - 1\]\.length < match\.length/found->match[at - 1].length - found->match[at - 1].extension < match.length - match.extension/'
mutant "any entries can be equal" \
    's/if (class->member\[i\]\.extension > class->length)/if (false)/'
mutant "members of a class are not cut" \
    's/^        make_equal(filter, &class);/        (void)0;/'
mutant "a delete ignores that a key is sticky" \
    '/^cf_deleted cf_copies_remove/,/^}/ s/if (cf_matches_sticky(filter, &found))/if (false)/'
mutant "sticky before the counters are full" \
    's/full += at_maximum(filter, &found->match\[i\]);/full++;/'
mutant "absorbed before the counters are full" \
    's/if (!at_maximum(filter, match) || (bucket/if ((bucket/'
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
    's/if (match\.length <= pair->side\[i\]\.length)/if (true)/'
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

# ---- eviction.c ----

mutant "void entries move to longer extensions" \
    's/other\.length >= place\.extension ? place\.bucket : NOWHERE;/place.bucket;/'
mutant "a move loses the payload" \
    's/^                cf_payload_get(filter, from\.bucket, from_slot));/                0);/'

# ---- growth.c ----

mutant "void entries stay in the lower child only" \
    's/give = tag != 0 && (both || up);/give = tag != 0 \&\& !both \&\& up;/'
mutant "void entries go to the upper child only" \
    's/keep = tag != 0 && (both || !up)/keep = tag != 0 \&\& !both \&\& !up/'
mutant "a split forgets the payload" \
    's/cf_slot_set(filter, high, slot, give ? child : 0, give ? payload : 0);/cf_slot_set(filter, high, slot, give ? child : 0, 0);/'
mutant "a split keeps the bit in the slot" \
    's/both ? tag : without_first_bit(filter, tag);/tag;/'
mutant "a split takes the wrong bit out" \
    '/without_first_bit(const/,/^}/ s/tag >> (s + 1) << s/(tag >> 1 \& ~filter->pair_mask) >> 1/'
mutant "growth taken back: the bit is not given back" \
    's/tag = with_first_bit(filter, up, 1);/tag = with_first_bit(filter, up, 0);/'
mutant "growth taken back: the bit is put in the wrong place" \
    '/with_first_bit(const/,/^}/ s/<< 1 | bit) << s/| bit) << s/'
mutant "growth taken back: slots stay wide" \
    's/^        narrow(filter, then->level, then->split, then->grown);/        cf_set_stage(filter, then->level, then->split, then->grown);/'
mutant "growth taken back: levels are not narrowed" \
    's/^            narrow(filter, filter->level - 1,/            cf_set_stage(filter, filter->level - 1,/'
mutant "growth taken back: the rest is not cleared" \
    's/^    clear_rest(filter);/    (void)0;/'
mutant "growth taken back: the count of slots is not" \
    's/^    filter->occupied = then->occupied;/    (void)0;/'
mutant "growth is not taken back" \
    's/^    cf_grow_back(filter, &run->then);/    (void)0;/'
mutant "slots are not widened at a new level" \
    's/if (level_done || !filter->grown)/if (!filter->grown)/'

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
    's/cf_item item = {entry\.side, entry\.payload}/cf_item item = {entry.side, 0}/'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
