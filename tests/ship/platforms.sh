#!/bin/sh
# SPDX-License-Identifier: MIT
# The extension on other platforms, by their compilers and emulators. The last line is "N passed, N failed".
#   platforms.sh [PLATFORM...]       all, unless some are named. The native ones are compared with, so "native" always runs
#   platforms.sh names               the platforms
#   platforms.sh has PLATFORM        are its tools here?
#   platforms.sh packages PLATFORM   the Debian packages that bring them
# SQLITE_SOURCE names a folder with sqlite3.c, sqlite3.h and sqlite3ext.h. Without it that of an npm package is taken
# (versions_fetch.sh). Without any, only the first two groups run.
#
# Groups, each a column of the answer; a number says how many have passed:
#   compiled     our own files, without a warning
#   units        the unit tests, format vectors among them; platforms/cmocka.h stands for cmocka
#   SQL linked   the SQL group (sql/run.sh), with the extension linked into a program
#   SQL loaded   the same, with the extension as a library that is loaded
#   bytes        filters of every kind (platforms/family.sql) are those of the native build, byte for byte; linked and loaded
#   handed on    a database with filter tables that was written natively is read and changed there, then natively again;
#                and the other way round
# Variants of the native compiler have no units and no library of their own. Emulated processors leave out the unit
# tests that take longest. A platform without its tools is skipped; that is a failure of one named, or when all others are skipped.
set -u
. tests/ending.sh
dir=build/platforms
names='native O0 O3 clang plain-c unsigned-char signed-char i386 arm64 armhf s390x musl windows wasm'
columns='compiled units linked loaded bytes handed-on'
all_units=$(find tests/unit -name "test_*.c" -exec basename -s .c {} +)
slow_units='test_plan|test_bulk_add|test_merge|test_merge_hostile'
SQLITE_OPTIONS='-DSQLITE_ENABLE_JSON1'
WARNINGS='-Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Wstrict-prototypes -Wpedantic'

# ---- the platforms ----

# variant OPTIONS: other options, or another compiler, for this machine.
variant() {
    options=$1 sqlite_of=native units='' so=''
}

# linux TRIPLE QEMU PACKAGES: a Linux of another processor.
linux() {
    cc=$1-gcc packages="$3 qemu-user-static"
    run=$(command -v "qemu-$2-static" || command -v "qemu-$2" || echo "qemu-$2")
    run="$run -L /usr/$1"
}

# As in the Makefile: make dist takes what is made here.
hardened='-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -Wl,-z,relro,-z,now -s'

# describe PLATFORM: its compiler and options, what runs its programs (nothing: this machine), and the packages.
describe() {
    here=$dir/$1 cc=${CC:-cc} options=-O2 run='' packages=gcc so=so exe='' shared="-fPIC -shared $hardened" of_program=''
    libraries='-lm -ldl -lpthread' of_sqlite=$SQLITE_OPTIONS sqlite_of=$1 units=$all_units
    case $1 in
    native)        ;;
    O0)            variant -O0; shared='-fPIC -shared' ;;
    O3)            variant -O3 ;;
    clang)         variant -O2; cc=clang packages=clang ;;
    plain-c)       variant '-O2 -DCF_PLAIN_C' ;;
    *signed-char)  variant "-O2 -f$1" ;;
    i386)          linux i686-linux-gnu i386 'gcc-i686-linux-gnu libc6-dev-i386-cross' ;;
    arm64)         linux aarch64-linux-gnu aarch64 'gcc-aarch64-linux-gnu libc6-dev-arm64-cross' ;;
    armhf)         linux arm-linux-gnueabihf arm 'gcc-arm-linux-gnueabihf libc6-dev-armhf-cross' ;;
    s390x)         linux s390x-linux-gnu s390x 'gcc-s390x-linux-gnu libc6-dev-s390x-cross' ;;
    musl)          cc=musl-gcc packages='musl-tools musl' ;;
    windows)
        cc=x86_64-w64-mingw32-gcc run=wine packages='gcc-mingw-w64-x86-64 wine wine64'
        so=dll exe=.exe shared='-shared -static-libgcc' libraries=-static-libgcc
        export WINEPREFIX="$PWD/$here/wine" WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
        ;;
    wasm)
        cc=emcc run=$(command -v node || command -v nodejs || echo node) packages='emscripten nodejs'
        so='' exe=.js libraries=-lm of_sqlite="$SQLITE_OPTIONS -DSQLITE_THREADSAFE=0"
        of_program='-sNODERAWFS=1 -sSINGLE_FILE=1 -sALLOW_MEMORY_GROWTH=1 -sEXIT_RUNTIME=1'
        export NODE_PATH=/usr/share/nodejs # where Debian has what emcc needs, if node is not Debian's
        ;;
    *) echo "platforms.sh: $1 is none of: $names" >&2; exit 2 ;;
    esac
}

has() {
    describe "$1"
    command -v "$cc" > /dev/null && { [ -z "$run" ] || command -v "${run%% *}" > /dev/null; }
}

# A machine that can run i386 itself need not emulate it. Its programs then name their loader and libraries.
run_directly() {
    there=/usr/i686-linux-gnu/lib
    of_program="-Wl,-dynamic-linker=$there/ld-linux.so.2,-rpath=$there"
    echo 'int main(void) { return 0; }' > "$here/try.c"
    # shellcheck disable=SC2086 # options are words
    { $cc $of_program -o "$here/try" "$here/try.c" && "$here/try"; } 2> /dev/null && run='' || of_program=
}

# ---- building ----

# compile ARGUMENTS...: counts what was compiled without a warning, and what was not.
compile() {
    # shellcheck disable=SC2086 # options are words
    if $cc $options "$@" > "$here/said" 2>&1 && ! grep -q 'warning:' "$here/said"; then
        compiled=$((compiled + 1))
    else
        not_compiled=$((not_compiled + 1))
        { echo "$cc $options $*"; cat "$here/said"; } >> "$here/compiler.log"
    fi
}

# The object of SQLite, made once for each version.
sqlite_object() {
    object=$dir/$sqlite_of/sqlite3-$version.o
    # shellcheck disable=SC2086
    [ "$object" -nt "$source/sqlite3.c" ] || $cc -O1 -w $of_sqlite -c -o "$object" "$source/sqlite3.c"
}

# A program that runs the unit test named.
write_units() {
    # shellcheck disable=SC2086 # the tests are words
    {
        printf '#include <stdio.h>\n#include <string.h>\n\n'
        printf 'int main_of_%s(void);\n' $units
        printf '\nint main(int argc, char **argv)\n{\n    const char *name = argc > 1 ? argv[1] : "";\n'
        for test in $units; do
            printf '    if (strcmp(name, "%s") == 0)\n        return main_of_%s();\n' "$test" "$test"
        done
        printf '    printf("not ok - there is no test %%s\\n", name);\n    return 1;\n}\n'
    } > "$here/units.c"
}

# All unit tests in one program, since linking takes time: the name of the file is that of its main.
# shellcheck disable=SC2086
build_units() {
    mkdir -p "$here/objects" "$here/units"
    write_units
    for file in $(find src -name "*.c"); do
        compile -std=c11 $WARNINGS -isystem $dir/include -c -o "$here/objects/$(basename "$file" .c).o" "$file"
    done
    for test in $units; do
        compile -std=c11 -Wall -Wextra -I tests/ship/platforms -isystem $dir/include -Dmain="main_of_$test" \
            -c -o "$here/units/$test.o" "$(find tests/unit -name "$test.c")"
    done
    compile $of_program -o "$here/unittests$exe" "$here/units.c" "$here"/objects/*.o "$here"/units/*.o -lm
}

# The library by the compiler's own dialect of C, as a user would make it.
# shellcheck disable=SC2086
build_extension() {
    ours="-Wall -Wextra -Wpedantic -I $source"
    compile -std=c11 -DSQLITE_CORE $ours -c -o "$here/cuckoo.o" build/dist/cuckoo.c
    compile -std=c11 -DSQLITE_CORE $ours $of_program -o "$here/linked$exe" tests/ship/platforms/runner.c "$here/cuckoo.o" \
        "$object" $libraries
    [ "$so" ] || return
    compile $shared $ours -o "$here/cuckoo.$so" build/dist/cuckoo.c -lm
    [ "$so" != so ] || compile $shared $ours -Wno-pedantic -DNDEBUG -DCUCKOO_PYTHON -fvisibility=hidden -I build/dist -I ext/packages/filter \
        -o "$here/_filter.abi3.so" ext/packages/python/module.c -lm
    compile -std=c11 $ours $of_program -o "$here/loaded$exe" tests/ship/platforms/runner.c "$object" $libraries
}

# ---- groups ----

# cell COLUMN PASSED FAILED
cell() {
    echo "$2 $3" > "$here/$1.cell"
}

check_units() {
    for test in $units; do
        # shellcheck disable=SC2086
        $run "$here/unittests$exe" "$test" < /dev/null || echo "not ok - the end of $test: $?"
    done > "$here/units.log" 2>&1
    cell units "$(grep -c '^ok ' "$here/units.log")" "$(grep -c '^not ok ' "$here/units.log")"
}

# check_sql HOW: through a file that is called as a shell is.
check_sql() {
    printf '#!/bin/sh\ncat > "%s/input"\nexec %s "%s" < "%s/input"\n' "$here" "$run" "$here/$1$exe" "$here" > "$here/shell"
    chmod +x "$here/shell"
    CUCKOO_SO=$here/cuckoo.so SQLITE3=$here/shell SQL_TEST_FOLDER=$here/sql sh tests/sql/run.sh > "$here/sql-$1.log" 2>&1
    # shellcheck disable=SC2046
    cell "$1" $(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$here/sql-$1.log")
}

# sql HOW SCRIPT ANSWERS [DATABASE]: HOW is linked or loaded; or native: by the native program.
sql() {
    sed "s,^\.load .*,.load $here/cuckoo," "tests/ship/platforms/$2.sql" > "$here/input"
    # shellcheck disable=SC2086
    case $1 in
    native) "$dir/native/linked" "$4" ;;
    *)      $run "$here/$1$exe" "${4:-:memory:}" ;;
    esac < "$here/input" > "$here/$3" 2>> "$here/runner.log"
}

# same ANSWERS EXPECTED: counts equal lines, and others.
same() {
    diff "$dir/native/$2" "$here/$1" > "$here/$1.diff"
    others=$(grep -c '^[<>]' "$here/$1.diff")
    good=$((good + $(wc -l < "$dir/native/$2") - $(grep -c '^<' "$here/$1.diff"))) bad=$((bad + others))
}

wait_for_native() {
    until [ -f "$dir/native/finished" ]; do sleep 0.2; done
}

check_bytes() {
    good=0 bad=0
    for how in linked ${so:+loaded}; do
        sql "$how" family "family-$how"
        [ "$here" = "$dir/native" ] || wait_for_native
        same "family-$how" family-linked
    done
    cell bytes $good $bad
}

# What the others are compared with: a database after each of its changes, and what was said then.
hand_on_natively() {
    rm -f "$here"/*.db
    sql linked tables tables "$here/changed.db"
    for turn in 1 2 3; do
        cp "$here/changed.db" "$here/before-$turn.db"
        sql linked change "change-$turn" "$here/changed.db"
    done
}

# turn HOW N DATABASE: what change.sql says is what it says natively the Nth time.
turn() {
    sql "$1" change "turn-$2" "$3"
    same "turn-$2" "change-$2"
}

check_handed_on() {
    good=0 bad=0
    rm -f "$here"/our.db "$here"/their.db
    cp "$dir/native/before-2.db" "$here/their.db"
    turn linked 2 "$here/their.db"
    turn native 3 "$here/their.db"
    sql linked tables made "$here/our.db"
    turn linked 1 "$here/our.db"
    turn native 2 "$here/our.db"
    turn linked 3 "$here/our.db"
    cell handed-on $good $bad
}

# ---- one platform ----

test_units() {
    case $run in *qemu*) units=$(printf '%s\n' $units | grep -vxE "$slow_units") ;; esac
    build_units
    check_units
}

test_extension() {
    sqlite_object 2> "$here/sqlite.log"
    build_extension
    check_sql linked
    [ -z "$so" ] || check_sql loaded
    [ "$here" != "$dir/native" ] || hand_on_natively
    check_bytes
    [ "$here" = "$dir/native" ] || wait_for_native
    check_handed_on
}

# test_platform NAME: writes its cells, and then the file "finished".
test_platform() {
    describe "$1"
    mkdir -p "$here"
    trap 'touch "$here/finished"' EXIT
    compiled=0 not_compiled=0
    [ "$1" != i386 ] || run_directly
    [ -z "$units" ] || test_units
    [ -z "$source" ] || test_extension
    cell compiled $compiled $not_compiled
}

# ---- all of them ----

# The header that the amalgamation was made with, for compilers that do not look where it is.
copy_xxhash() {
    xxhash=$(echo '#include <xxhash.h>' | eval "${CC:-cc} ${CPPFLAGS:-} @build/options -E -x c -" |
        sed -n 's/^# *[0-9]* *"\(.*xxhash[.]h\)".*/\1/p' | head -1)
    mkdir -p $dir/include
    cp "$xxhash" $dir/include/
}

# Sets source and version; source is empty when there is none.
find_source() {
    source=${SQLITE_SOURCE:-$(sh tests/ship/versions_fetch.sh newest)}
    version=$(sed -n 's/^#define SQLITE_VERSION  *"\(.*\)".*/\1/p' "$source/sqlite3.h" 2> /dev/null)
    [ "$version" ] && [ -f "$source/sqlite3ext.h" ] || source=
    export source version
}

# clear PLATFORM: only what takes long to make stays from one run to the next.
clear() {
    mkdir -p "$dir/$1"
    find "$dir/$1" -maxdepth 1 -type f ! -name 'sqlite3-*.o' -exec rm -f {} +
    (cd "$dir/$1" && rm -rf objects units sql)
}

row() {
    printf '%-14s' "$1"
    shift
    printf '%-13s' "$@"
    echo
}

# cells PLATFORM: one word for each column.
cells() {
    for column in $columns; do
        if [ -f "$dir/$1/$column.cell" ]; then
            awk '{ print $1 ($2 || NF < 2 ? "," $2 + (NF < 2) "_FAILED" : "") }' "$dir/$1/$column.cell"
        else
            echo -
        fi
    done
}

# why PLATFORM: what failed, in short.
why() {
    (
        cd "$dir/$1" || exit
        grep -hE '(warning|error):' compiler.log | head -5
        grep -h '^not ok' units.log | head -5
        grep -h '^FAIL' sql-*.log | head -5
        grep -H '^[<>]' ./*.diff | head -5
    ) 2> /dev/null | sed 's/^/    /'
}

# report PLATFORM: waits for it, and prints its row.
report() {
    until [ -f "$dir/$1/finished" ] || ! kill -0 "$pool" 2> /dev/null; do sleep 0.2; done
    # shellcheck disable=SC2046 # the cells are words
    row "$1" $(cells "$1")
    why "$1"
}

test_all() {
    chosen='' others='' lacking=0
    for platform; do
        describe "$platform" # it ends here for a name that there is not
    done
    for platform in native $(printf '%s\n' "$@" | grep -vx native); do
        if has "$platform"; then
            clear "$platform"
            chosen="$chosen $platform" others=$others${sqlite_of#native}
        else
            echo "skipped: $platform: apt-get install $packages"
            lacking=1
        fi
    done
    copy_xxhash
    find_source
    # shellcheck disable=SC2086 # the platforms are words
    row "SQLite $version" $columns
    printf '%s\n' $chosen | xargs -P "$(getconf _NPROCESSORS_ONLN)" -I{} sh "$0" test {} &
    pool=$!
    for platform in $chosen; do
        report "$platform"
    done
    wait "$pool"
    [ "$source" ] || echo 'skipped: all but units: no source of SQLite; SQLITE_SOURCE=folder names one'
}

case ${1:-} in
names)    echo "$names" ;;
has)      has "$2" ;;
packages) describe "$2" && echo "$packages" ;;
test)     test_platform "$2" ;;
*)
    # shellcheck disable=SC2086,SC2048
    test_all ${*:-$names}
    echo "details: $dir/*/*.log, *.diff"
    [ -n "$*" ] || [ -z "$others" ] || lacking=0
    [ "$lacking" -eq 0 ] || echo 'failed: not tested for want of tools; on Debian, make deps-platforms installs them'
    # shellcheck disable=SC2046
    ending $(cat $(for platform in $chosen; do printf "$dir/$platform/%s.cell " $columns; done) 2> /dev/null |
        awk -v failed="$lacking" '{ passed += $1; failed += NF < 2 ? 1 : $2 } END { print passed + 0, failed + 0 }')
    ;;
esac
