#!/bin/sh
# SPDX-License-Identifier: MIT
# The one file, build/dist/cuckoo.c: the same each time, taken by every compiler at hand without a warning, alone or with
# other code in one file, and as right as the ordinary build. The last line is "N passed, N failed".
set -u
: "${CC:=cc}" "${SQLITE3:=sqlite3}"
work=build/one_file
rm -rf $work
mkdir -p $work
. tests/ship/cases.sh
dist=build/dist
one=$dist/cuckoo.c
warnings='-Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Wstrict-prototypes -Wpedantic -Werror'

# Headers that are not for one compiler only: cross compilers and musl look elsewhere.
mkdir -p $work/include
for header in sqlite3.h sqlite3ext.h xxhash.h; do
    path=$(echo "#include <$header>" | $CC -E -x c - 2> /dev/null | sed -n "s|^# *[0-9]* *\"\(.*/$header\)\".*|\1|p" | head -1)
    cp "$path" $work/include/
done

# ---- the same each time ----

generate() {
    rm -rf $work/made
    sh ext/amalgamate.sh $work/made
}

same_bytes() {
    generate && cmp $one $work/made/cuckoo.c && cmp $dist/cuckoo_filter.h $work/made/cuckoo_filter.h
}

# another_awk PROGRAM...
another_awk() {
    mkdir -p $work/bin
    printf '#!/bin/sh\nexec %s "$@"\n' "$*" > $work/bin/awk
    chmod +x $work/bin/awk
    PATH=$PWD/$work/bin:$PATH same_bytes
}

[ -f $one ] || { echo 'First: make amalgamation'; exit 1; }
ok 'the same bytes again' same_bytes
for awk in mawk gawk original-awk 'busybox awk'; do
    # shellcheck disable=SC2086 # a program and its argument
    has "${awk%% *}" && ok "the same bytes by $awk" another_awk $awk
done

# ---- compilers ----

# taken COMPILER OPTIONS...
taken() {
    # shellcheck disable=SC2086 # options are words
    "$@" -std=c11 $warnings -isystem $work/include $one
}

# The front end of a compiler finds nearly all that it warns of. One of the others in turn optimizes as well; make
# test-platforms has all of them do that.
others='i686-linux-gnu-gcc aarch64-linux-gnu-gcc s390x-linux-gnu-gcc x86_64-w64-mingw32-gcc'
in_turn=$(echo "$others" | cut -d ' ' -f $((${CUCKOO_SLICE:-0} % 4 + 1)))
for compiler in gcc clang $others arm-linux-gnueabihf-gcc musl-gcc emcc; do
    case $compiler in
    gcc | clang | "$in_turn") how='-O2 -c' ;;
    *) how='-fsyntax-only' ;;
    esac
    if has $compiler; then
        # shellcheck disable=SC2086 # options are words
        ok "$compiler, extension" taken $compiler $how -fPIC -o $work/$compiler.o
        ok "$compiler, library" taken $compiler -DCUCKOO_LIBRARY_ONLY -fsyntax-only
    else
        skipped "$compiler" "$(package_of $compiler)"
    fi
done

# small COMPILER OPTIONS...: what CUCKOO_SMALL and CUCKOO_READ_ONLY leave is whole, for who wants least code.
small() {
    for lean in '' -DCUCKOO_SMALL; do
        # shellcheck disable=SC2086 # an option, or none
        taken "$@" $lean || return 1
    done
}

at_top() {
    rm -rf $work/top && mkdir -p $work/top && cp $one $dist/cuckoo_filter.h $work/top &&
        CPATH=$PWD/$work/include sh tests/ship/packages/at_top.sh "$1" $work/top "$PWD/tests/ship/reader.c"
}

# What clang warns of its front end finds.
for compiler in gcc clang; do
    has $compiler || continue # said above
    how='-Os -c'
    [ $compiler = gcc ] || how='-fsyntax-only'
    ok "$compiler, the commands at its top, and a program with the last one's" at_top $compiler
    # shellcheck disable=SC2086 # options are words
    {
        ok "$compiler, extension, small" taken $compiler $how -fPIC -DCUCKOO_SMALL -o $work/small.o
        ok "$compiler, library that only reads" small $compiler $how -DCUCKOO_LIBRARY_ONLY -DCUCKOO_READ_ONLY -o $work/small.o
        ok "$compiler, library, -Os" small $compiler $how -DCUCKOO_LIBRARY_ONLY -o $work/small.o
    }
done

ok 'SQLITE_CORE' taken $CC -O2 -DSQLITE_CORE -c -o $work/core.o
ok 'asserts, and no optimization' taken $CC -O0 -DCUCKOO_DEBUG -c -o $work/debug.o

# msvc MACHINE OPTION: the branches for MSVC, read by clang with stand-ins for Microsoft's headers.
msvc() {
    clang --target="$1-pc-windows-msvc" -fms-compatibility-version=19.38 -nostdlibinc -isystem tests/ship/msvc \
        -isystem $work/include -DXXH_VECTOR=0 -std=c11 -Wall -Wextra -Werror \
        -fsyntax-only "$2" $one
}

for machine in x86_64 i686 aarch64; do
    has clang || { skipped 'the branches for MSVC' clang; break; }
    ok "MSVC's rules, $machine, extension" msvc $machine -DEXTENSION
    ok "MSVC's rules, $machine, library" msvc $machine -DCUCKOO_LIBRARY_ONLY
done

for compiler in g++ clang++; do
    has $compiler || { skipped "$compiler" "$(package_of "$compiler")"; continue; }
    for standard in c++98 c++11 c++17 c++20; do
        ok "cuckoo_filter.h for $compiler $standard" $compiler -std=$standard -Wall -Wextra -Wpedantic -Wold-style-cast -Werror \
            -x c++ -fsyntax-only $dist/cuckoo_filter.h
    done
done

# ---- names ----

exports() {
    nm -g --defined-only "$1" | awk 'NF == 3 { print $3 }' > $work/names
    [ -s $work/names ] && ! grep -v "$2" $work/names
}

object() {
    # shellcheck disable=SC2086
    $CC -O0 -fPIC -c "$@"
}

ok 'the extension shows its entry point only' exports $work/core.o '^sqlite3_cuckoo_init$'
ok 'the library is made' object -DCUCKOO_LIBRARY_ONLY -o $work/library.o $one
ok 'the library shows cf_... only' exports $work/library.o '^cf_'
ok 'with CUCKOO_API= there is both' object -DCUCKOO_API= -isystem $work/include -o $work/both.o $one
ok 'both are shown' exports $work/both.o '^cf_\|^sqlite3_cuckoo_init$'

# ---- without SQLite ----

# program OUTPUT SOURCE OPTIONS...: compiled with the library
program() {
    out=$1 source=$2
    shift 2
    $CC -std=c11 -Wall -Wextra -Wpedantic -Werror -DCUCKOO_LIBRARY_ONLY -I$dist -isystem $work/include "$@" -o "$out" "$source" $one -lm
}

example() {
    program $work/example tests/ship/example.c -O1 && $work/example $work/known.cuckoo > $work/answers &&
        printf 'user7: perhaps\nuser7: no\n' | cmp - $work/answers
}

# read_only OPTIONS...: asks the filter of the example.
read_only() {
    program $work/reader tests/ship/reader.c -DCUCKOO_READ_ONLY "$@" &&
        $work/reader $work/known.cuckoo | grep -x '1000 of 1000, hardly any others'
}

# Nothing of what changes filters is in it, and it calls nothing that allocates.
only_reads() {
    object -Os -DCUCKOO_LIBRARY_ONLY -DCUCKOO_READ_ONLY "$@" -o $work/read_only.o $one &&
        nm -u $work/read_only.o | awk '{ print $2 }' > $work/called &&
        ! grep -vxE '_*(mem(cmp|cpy|move|set)|bcmp|expm1|log1p|ldexp|stack_chk_fail|GLOBAL_OFFSET_TABLE_)' $work/called &&
        nm $work/read_only.o > $work/names &&
        ! grep -E ' cf_((add|delete)(_value|_many)?|insert|grow|merge|build|create|plan|place_by_moving|load_table)$' $work/names
}

ok 'the example' example
ok 'it is read by a library that only reads' read_only -O0
ok 'by a small one' read_only -Os -DCUCKOO_SMALL
ok 'one that only reads has no more' only_reads
ok 'nor has a small one' only_reads -DCUCKOO_SMALL

# ---- in one file with others ----

loads_both() {
    cat "$@" > $work/together.c
    $CC -O0 -Wall -Wextra -Werror -shared -fPIC -isystem $work/include -o $work/together.so $work/together.c -lm &&
        "$SQLITE3" :memory: ".load $work/together sqlite3_other_init" ".load $work/together sqlite3_cuckoo_init" \
            "SELECT other(x'00') > 100, cf_contains(cf_build(1), 1)" | grep -x '1|1'
}

includes() {
    printf '#include "%s"\n' "$@" > $work/includes.c
    $CC -Wall -Wextra -Werror -isystem $work/include -I$dist -fsyntax-only $work/includes.c
}

ok 'behind another extension' loads_both tests/ship/other.c $one
ok 'before another extension' loads_both $one tests/ship/other.c
ok 'cuckoo_filter.h, then cuckoo.c' includes cuckoo_filter.h cuckoo.c
ok 'cuckoo.c, then cuckoo_filter.h twice' includes cuckoo.c cuckoo_filter.h cuckoo_filter.h

# ---- as right as the ordinary build ----

# The format vectors look inside: so they are compiled in one file with it, without the headers that it contains.
vectors() {
    for file in probe.h test.h format_vectors.h test_format_vectors.c; do
        sed '/^#include "[^"]*\/src\//d; s/^#include ".*\//#include "/' "$(find tests/unit tests/probe.h -name $file)" > $work/$file
    done
    printf '#define CUCKOO_LIBRARY_ONLY\n#include "../dist/cuckoo.c"\n#include "test_format_vectors.c"\n' > $work/vectors.c
    $CC -O0 -o $work/vectors $work/vectors.c -lcmocka -lm && $work/vectors
}

sql() {
    mkdir -p $work/tree/build
    for name in sql tests README.md; do
        ln -s "$PWD/$name" $work/tree/$name
    done
    $CC -O2 -shared -fPIC -isystem $work/include -o $work/tree/build/cuckoo.so $one -lm &&
        (cd $work/tree && sh tests/sql/run.sh)
}

ok 'format vectors' vectors
ok 'SQL scripts, README examples' sql

echo "$(wc -l < $one) lines, of them xxHash $(wc -l < $work/include/xxhash.h)"
finish
