#!/bin/sh
# SPDX-License-Identifier: MIT
# The one file, build/dist/cuckoo.c: the same each time, taken by every compiler at hand without a warning, alone or
# with other code in one file, and as right as the ordinary build. (What it makes, installed.sh and packages.sh look
# at, too.) The last line is "N passed, N failed".
set -u
: "${CC:=cc}" "${SQLITE3:=sqlite3}"
work=$PWD/build/one_file
rm -rf "$work"
mkdir -p "$work/include"
. tests/ship/cases.sh
dist=$PWD/build/dist
one=$dist/cuckoo.c
warnings='-Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Wstrict-prototypes -Wpedantic -Werror'
[ -f "$one" ] || { echo 'First: make amalgamation'; exit 1; }

# Headers that are not for one compiler only: cross compilers and musl look elsewhere.
for header in sqlite3.h sqlite3ext.h xxhash.h; do
    cp "$(echo "#include <$header>" | $CC -E -x c - 2> /dev/null |
        sed -n "s|^# *[0-9]* *\"\(.*/$header\)\".*|\1|p" | head -1)" "$work/include/"
done

# ---- the same each time ----

# same_bytes AWK...: made by this awk.
same_bytes() {
    rm -rf "$work/made" && mkdir -p "$work/bin" && printf '#!/bin/sh\nexec %s "$@"\n' "$*" > "$work/bin/awk" &&
        chmod +x "$work/bin/awk" && PATH=$work/bin:$PATH sh ext/amalgamate.sh "$work/made" &&
        cmp "$one" "$work/made/cuckoo.c" && cmp "$dist/cuckoo_filter.h" "$work/made/cuckoo_filter.h"
}

for awk in "$(command -v awk)" mawk gawk original-awk 'busybox awk'; do
    # shellcheck disable=SC2086 # a program and its argument
    has "${awk%% *}" && ok "the same bytes by $awk" same_bytes $awk
done

# ---- compilers ----

# taken COMPILER OPTIONS...
taken() {
    # shellcheck disable=SC2086 # options are words
    "$@" -std=c11 $warnings -isystem "$work/include" "$one"
}

reads() {
    taken "$@" -fsyntax-only
}

# The front end of a compiler finds nearly all that it warns of; make test-platforms has all of them optimize as well.
# Each reads the extension, and one of the remaining parts: the next compiler another one, and another
# commit begins elsewhere.
others='clang i686-linux-gnu-gcc aarch64-linux-gnu-gcc s390x-linux-gnu-gcc x86_64-w64-mingw32-gcc'
slice=${CUCKOO_SLICE:-0}
for compiler in gcc $others arm-linux-gnueabihf-gcc musl-gcc emcc; do
    has "$compiler" || { skipped "$compiler" "$(package_of "$compiler")"; continue; }
    ok "$compiler" reads "$compiler"
    for part in '-DSQLITE_CORE' '-DCUCKOO_DEBUG' '-DCUCKOO_SMALL' '-DCUCKOO_LIBRARY_ONLY' \
        '-DCUCKOO_LIBRARY_ONLY -DCUCKOO_READ_ONLY' '-DCUCKOO_LIBRARY_ONLY -DCUCKOO_READ_ONLY -DCUCKOO_SMALL'; do
        slice=$((slice + 1))
        # shellcheck disable=SC2086 # options are words
        [ $((slice % 6)) -ne 0 ] || ok "$compiler $part" reads "$compiler" $part
    done
    slice=$((slice + 1))
done

# msvc MACHINE OPTION: the branches for MSVC, read by clang with stand-ins for Microsoft's headers.
msvc() {
    clang --target="$1-pc-windows-msvc" -fms-compatibility-version=19.38 -nostdlibinc -isystem tests/ship/msvc \
        -isystem "$work/include" -DXXH_VECTOR=0 -std=c11 -Wall -Wextra -Werror -fsyntax-only "$2" "$one"
}

if has clang; then
    machine=$(echo 'x86_64 i686 aarch64' | cut -d ' ' -f $((slice % 3 + 1)))
    ok "MSVC's rules, $machine, extension" msvc "$machine" -DEXTENSION
    ok "MSVC's rules, $machine, library" msvc "$machine" -DCUCKOO_LIBRARY_ONLY
else
    skipped 'the branches for MSVC' clang
fi

for compiler in g++ clang++; do
    has $compiler || { skipped "$compiler" "$(package_of "$compiler")"; continue; }
    for standard in c++98 c++11 c++17 c++20; do
        ok "cuckoo_filter.h for $compiler $standard" $compiler -std=$standard -Wall -Wextra -Wpedantic -Wold-style-cast \
            -Werror -x c++ -fsyntax-only "$dist/cuckoo_filter.h"
    done
done

# ---- without SQLite ----

# object OPTIONS...
object() {
    $CC -O0 -fPIC -isystem "$work/include" "$@" -c "$one"
}

both() {
    object -DCUCKOO_SMALL -DCUCKOO_API= -o "$work/both.o" &&
        nm -g --defined-only "$work/both.o" | awk 'NF == 3 { print $3 }' > "$work/names" && [ -s "$work/names" ] && ! grep -v '^cf_\|^sqlite3_cuckoo_init$' "$work/names"
}

# The commands at its top, and the program that the archive of the library shows; a reader asks for what that has
# stored.
at_top() {
    mkdir -p "$work/top" && cp "$one" "$dist/cuckoo_filter.h" "$work/top" &&
        OPTIMIZE="-O0 -DCUCKOO_SMALL" CPATH=$work/include sh tests/ship/packages/at_top.sh "$CC" "$work/top" "$PWD/tests/ship/reader.c" &&
        cd "$work/top" &&
        awk '/^```c$/ && !n++ { on = 1; next } /^```/ { on = 0 } on' ../../../ext/packages/archives/library.md > library.c &&
        $CC -O0 -std=c11 -Wall -Wextra -Wpedantic -Werror -DCUCKOO_SMALL -DCUCKOO_LIBRARY_ONLY library.c cuckoo.c -o library -lm &&
        ./library | grep -x '1 1' && ./reader known.cuckoo | grep -x '5000 of 5000, hardly any others'
}

# only_reads OPTIONS...: nothing of what changes filters is in it, and it calls nothing that allocates.
only_reads() {
    object -Os -DCUCKOO_LIBRARY_ONLY -DCUCKOO_READ_ONLY "$@" -o "$work/read_only.o" &&
        nm -u "$work/read_only.o" | awk '{ print $2 }' > "$work/called" &&
        ! grep -vxE '_*(mem(cmp|cpy|move|set)|bcmp|expm1|log1p|ldexp|strtod|stack_chk_fail|GLOBAL_OFFSET_TABLE_)' "$work/called" &&
        nm "$work/read_only.o" > "$work/names" &&
        ! grep -E ' cf_((add|delete)(_value|_many)?|insert|grow|merge|build|create|plan|place_by_moving)$' "$work/names"
}

ok 'with CUCKOO_API= it shows cf_... and its entry point' both
ok 'the commands at its top, and programs with what they make' at_top
ok 'one that only reads has no more' only_reads
ok 'nor has a small one' only_reads -DCUCKOO_SMALL

# ---- in one file with others ----

together() {
    cat "$@" > "$work/together.c" && $CC -O0 -DCUCKOO_SMALL -Wall -Wextra -Werror -shared -fPIC -isystem "$work/include" \
        -o "$work/together.so" "$work/together.c" -lm
}

loads_both() {
    together "$@" && "$SQLITE3" :memory: ".load $work/together sqlite3_other_init" \
        ".load $work/together sqlite3_cuckoo_init" "SELECT other(x'00') > 100, cf_contains(cf_build(1), 1)" | grep -x '1|1'
}

includes() {
    printf '#include "%s"\n' "$@" > "$work/includes.c" &&
        $CC -Wall -Wextra -Werror -isystem "$work/include" -I"$dist" -fsyntax-only "$work/includes.c"
}

# One of the two orders is loaded, too.
reads_both() {
    cat "$@" > "$work/together.c" && $CC -Wall -Wextra -Werror -isystem "$work/include" -fsyntax-only "$work/together.c"
}

loaded=loads_both other=reads_both
[ $((slice % 2)) -eq 0 ] || { loaded=reads_both other=loads_both; }
ok 'behind another extension' $loaded tests/ship/other.c "$one"
ok 'before another extension' $other "$one" tests/ship/other.c
ok 'cuckoo_filter.h, then cuckoo.c' includes cuckoo_filter.h cuckoo.c
ok 'cuckoo.c, then cuckoo_filter.h twice' includes cuckoo.c cuckoo_filter.h cuckoo_filter.h

# ---- as right as the ordinary build ----

sql() {
    mkdir -p "$work/tree/build"
    for name in sql tests README.md; do
        ln -s "$PWD/$name" "$work/tree/$name"
    done
    $CC -shared -o "$work/tree/build/cuckoo.so" "$work/both.o" -lm &&
        (cd "$work/tree" && sh tests/sql/run.sh sql/tour.sql tests/sql/functions.sql tests/sql/errors.sql)
}

# Filters of every kind, by their digests.
family() {
    sed "s,^\.load .*,.load $1,; s/digest(/sha3(/g" tests/ship/platforms/family.sql | "$SQLITE3" 2>&1
}

same_filters() {
    family "$PWD/build/cuckoo" > "$work/ordinary" && family "$work/tree/build/cuckoo" > "$work/here" &&
        [ "$(wc -l < "$work/ordinary")" -gt 1000 ] && cmp "$work/ordinary" "$work/here"
}

ok 'SQL scripts' sql
ok 'the same bytes of filters' same_filters
finish
