#!/bin/sh
# SPDX-License-Identifier: MIT
# What make install gives: the files, programs in C and C++ made with them, and that uninstall takes them away. Then what
# make does when variables change, and what it says when something is missing; there a stand-in for the compiler shows
# what it is asked for. The last line is "N passed, N failed".
set -u
: "${CC:=cc}" "${MAKE:=make}" "${SQLITE3:=sqlite3}"
work=$PWD/build/installed
rm -rf "$work"
mkdir -p "$work"
. tests/ship/cases.sh
here=$PWD
suffix=so
strict='-Wall -Wextra -Wpedantic -Werror'

# ---- installed, used, and taken away ----

dest="$work/a tree" prefix=/opt/cuckoo
installing() {
    SKIP_DEPS=1 "$MAKE" -s DESTDIR="$dest" PREFIX=$prefix "$@"
}

files() {
    (cd "$dest" && find . -type f | LC_ALL=C sort)
}

expected_files() {
    cat << END
.$prefix/include/cuckoo_filter.h
.$prefix/lib/libcuckoo_sqlite.a
.$prefix/lib/libcuckoofilter.a
.$prefix/lib/pkgconfig/cuckoo_sqlite.pc
.$prefix/lib/pkgconfig/cuckoofilter.pc
.$prefix/lib/sqlite3/cuckoo.$suffix
.$prefix/share/doc/cuckoofilter/CHANGES.md
.$prefix/share/doc/cuckoofilter/COMPATIBILITY.md
.$prefix/share/doc/cuckoofilter/LICENSE
.$prefix/share/doc/cuckoofilter/REFERENCE.md
END
    for script in sql/*.sql; do
        echo ".$prefix/share/doc/cuckoofilter/$script"
    done
    echo ".$prefix/share/man/man7/cuckoo.7"
}

has_all_files() {
    expected_files > "$work/expected" && files | diff "$work/expected" -
}

# As if it were installed there: a place whose name has no space, for pkg-config.
options() {
    ln -sfn "$dest$prefix" "$work/there"
    has pkg-config || {
        shift 2
        echo "-I$work/there/include -L$work/there/lib $(printf ' -l%s' "$@") -lsqlite3 -lm"
        return
    }
    PKG_CONFIG_PATH="$work/there/lib/pkgconfig" pkg-config --define-variable=prefix="$work/there" "$@"
}

# program COMPILER STANDARD SOURCE MODULE...: made as pkg-config says, and run.
program() {
    compiler=$1 standard=$2 source=$3
    shift 3
    # shellcheck disable=SC2046,SC2086 # options are words
    $compiler -std="$standard" $strict -o "$work/program" $source $(options --cflags --libs "$@") &&
        "$work/program"
}

# The program that the archive of the static libraries shows.
(cd "$work" && awk -f "$here/ext/packages/programs.awk" "$here/ext/packages/archives/static.md")

loads() {
    "$SQLITE3" :memory: ".load '$dest$prefix/lib/sqlite3/cuckoo'" "SELECT cf_version()" | grep -x "$("$MAKE" -s version)"
}

exports() {
    nm -g --defined-only $1 "$dest$prefix/lib/$2" | awk 'NF == 3 { print $3 }' > "$work/names"
    [ -s "$work/names" ] && ! grep -v "$3" "$work/names"
}

both_licences() {
    grep -c -e '^MIT License$' -e 'Yann Collet$' -e 'BSD 2-Clause License' -e 'Redistributions in binary form' \
        -e 'POSSIBILITY OF SUCH DAMAGE' "$dest$prefix/share/doc/cuckoofilter/LICENSE" | grep -x 5
}

# What an overrun runs into: an ELF file says so itself. Nothing is looked for beside it, and it has no names to strip.
hardened() {
    readelf -dlsW "$1" > "$work/elf" && grep -w BIND_NOW "$work/elf" && grep -w GNU_RELRO "$work/elf" &&
        grep -w '__stack_chk_fail@.*' "$work/elf" && grep 'GNU_STACK .* RW ' "$work/elf" &&
        ! grep -E 'R(UN)?PATH|TEXTREL|\.symtab' "$work/elf"
}

# The scripts load what is installed.
tour() {
    sed "s|^\.load $prefix/|.load $work/there/|" "$dest$prefix/share/doc/cuckoofilter/sql/tour.sql" > "$work/tour.sql" &&
        ! cmp -s sql/tour.sql "$work/tour.sql" && cd / && "$SQLITE3" :memory: < "$work/tour.sql" > "$work/said" 2>&1 &&
        [ -s "$work/said" ] && ! grep -E '^(Parse|Runtime|Error)' "$work/said"
}

# The page names the places, and only functions that there are.
manual() {
    page=$dest$prefix/share/man/man7/cuckoo.7
    grep -x ".Ic .load $prefix/lib/sqlite3/cuckoo" "$page" && ! grep '@[A-Z]*@' "$page" &&
        for name in $(grep -o '\<cf_[a-z_]*' "$page" | sort -u); do
            grep "\`$name(" ext/REFERENCE.md || return 1
        done
}

# Debian has a folder of libraries for each machine.
other_libdir() {
    installing LIBDIR=$prefix/lib/x86_64-linux-gnu install &&
        [ -f "$dest$prefix/lib/x86_64-linux-gnu/sqlite3/cuckoo.$suffix" ] &&
        grep -x 'libdir=${prefix}/lib/x86_64-linux-gnu' "$dest$prefix/lib/x86_64-linux-gnu/pkgconfig/cuckoofilter.pc" &&
        installing LIBDIR=$prefix/lib/x86_64-linux-gnu uninstall
}

no_sqlite() {
    ! nm "$dest$prefix/lib/libcuckoofilter.a" | grep -i sqlite
}

only_mine_is_left() {
    files | grep -v "^\.$prefix/lib/sqlite3/mine.so$" > "$work/left"
    [ ! -s "$work/left" ] && [ -f "$dest$prefix/lib/sqlite3/mine.so" ] && [ ! -e "$dest$prefix/share/doc/cuckoofilter" ]
}

ok 'make install' installing install
ok 'these files' has_all_files
ok 'installed again: the same' installing install
has pkg-config || skipped 'the files for pkg-config' pkg-config
ok 'the library, C11' program "$CC" c11 "-x c tests/ship/library.c -x none" cuckoofilter
ok 'the extension linked in, C11' program "$CC" c11 "-x c $work/extension.c -x none" cuckoo_sqlite
if has g++; then
    ok 'the library, C++17' program g++ c++17 "-x c++ tests/ship/library.c -x none" cuckoofilter
    ok 'the extension linked in, C++17' program g++ c++17 "-x c++ $work/extension.c -x none" cuckoo_sqlite
    ok 'both libraries in one program' program g++ c++17 "-x c++ $work/extension.c -x none" cuckoofilter cuckoo_sqlite
else
    skipped 'programs in C++' g++
fi
ok 'the shell loads it from there' loads
ok 'sql/tour.sql, from there' tour
ok 'the manual page' manual
ok 'the library shows cf_... only' exports '' libcuckoofilter.a '^cf_'
ok 'the library knows no SQLite' no_sqlite
ok 'the extension for programs shows its entry point only' exports '' libcuckoo_sqlite.a '^sqlite3_cuckoo_init$'
ok 'the licences, that of xxHash too' both_licences
if ! has readelf; then
    skipped 'what the ELF file says' binutils
elif [ "${CFLAGS:-}" ] && [ -z "${LINKED:-}" ]; then
    echo 'skipped: is it hardened? Not with CFLAGS of your own'
else
    ok 'the extension is hardened and stripped' hardened "$dest$prefix/lib/sqlite3/cuckoo.$suffix"
fi
ok 'the extension shows its entry point only' exports -D sqlite3/cuckoo.$suffix '^sqlite3_cuckoo_init$'
: > "$dest$prefix/lib/sqlite3/mine.so"
ok 'make uninstall' installing uninstall
ok 'it leaves what it has not installed' only_mine_is_left
ok 'LIBDIR as Debian has it' other_libdir
ok 'taken away from there, too' only_mine_is_left

# ---- a stand-in for the compiler ----

# It notes each call, and makes what is asked for without compiling. MACHINE is its platform; headers named in WITHOUT
# are not there.
unset SKIP_DEPS CPPFLAGS LDFLAGS LDLIBS MAKEFLAGS MAKELEVEL MFLAGS
mkdir -p "$work/tree" "$work/bin"
cp -R Makefile LICENSE src ext tests "$work/tree/"
cat > "$work/bin/standin" << 'END'
#!/bin/sh
last=
for word; do
    case $word in
    -dumpmachine) echo "${MACHINE:-x86_64-linux-gnu}"; exit ;;
    --version) echo "stand-in ${STANDIN_VERSION:-1}"; exit ;;
    -print-prog-name=ar) echo ar; exit ;;
    esac
    [ "$last" = -o ] && echo "made of: $*" > "$word"
    for header in ${WITHOUT:-}; do
        [ -f "$word" ] && grep -q "$header" "$word" 2> /dev/null && { echo "fatal error: $header" >&2; exit 1; }
    done
    last=$word
done
echo "$*" >> "$CALLS"
END
chmod +x "$work/bin/standin"
export CALLS="$work/calls"

# standin VARIABLE=VALUE...: make with it.
standin() {
    : > "$CALLS"
    (cd "$work/tree" && PATH=$work/bin:$PATH "$MAKE" -s CC=standin "$@")
}

# compiles N: so many objects were made in the last call of make. links N, the same for libraries.
compiles() {
    [ "$(grep -c -- ' -c -o build/pic' "$CALLS")" -eq "$1" ]
}

links() {
    [ "$(grep -c -- "-o build/cuckoo" "$CALLS")" -eq "$1" ]
}

# after COMPILED LINKED VARIABLE=VALUE...: what make does then, and that it does nothing when asked again.
after() {
    compiled=$1 linked=$2
    shift 2
    standin "$@" && compiles "$compiled" && links "$linked" && standin "$@" && compiles 0 && links 0
}

objects=$(find src ext -name "*.c" ! -path "ext/packages/*" | wc -l)
ok 'all is compiled once' after "$objects" 1
ok 'CFLAGS' after "$objects" 1 CFLAGS=-O1
ok 'CFLAGS with a folder that has a space' after "$objects" 1 CFLAGS='-O1 -I"/a folder"'
ok 'it arrives as one word' grep -q -- '-O1 -I/a folder ' "$CALLS"
ok 'CFLAGS with quotes in it' after "$objects" 1 CFLAGS="-O1 -DTEXT='\"a text\"'"
ok 'CPPFLAGS' after "$objects" 1 CPPFLAGS=-DX
ok 'LDFLAGS: only linked' after 0 1 CPPFLAGS=-DX LDFLAGS=-s
ok 'LDLIBS: only linked' after 0 1 CPPFLAGS=-DX LDLIBS=-lx
ok 'CC' after "$objects" 1 CC='standin -m64'
ok 'PREFIX: nothing is compiled' after 0 0 CC='standin -m64' PREFIX=/elsewhere
export STANDIN_VERSION=2
ok 'another version of the compiler' after "$objects" 1 CC='standin -m64' PREFIX=/elsewhere

# The version stands in one place: elsewhere it is made of that.
one_place() {
    sed 's/"[0-9.]*"/"7.8.9"/' src/include/version.h > "$work/tree/src/include/version.h" &&
        "$MAKE" -s -C "$work/tree" amalgamation build/cuckoofilter.pc version > "$work/said" && tail -1 "$work/said" | grep -x 7.8.9 &&
        grep -x 'Version: 7.8.9' "$work/tree/build/cuckoofilter.pc" && ! grep -rnF "$("$MAKE" -s version)" "$work/tree/build/dist"
}

ok 'the version has one place' one_place

# makes NAME OPTION: the library has the name of its platform, and was linked so.
makes() {
    [ -f "$work/tree/build/$1" ] && grep -q -- "$2" "$work/tree/build/$1"
}

# on MACHINE NAME OPTION
on() {
    MACHINE=$1 standin && makes "$2" "$3"
}

for machine in x86_64-linux-gnu aarch64-linux-musl i686-pc-linux-gnu x86_64-unknown-freebsd14.0; do
    ok "$machine: .so" on $machine cuckoo.so '-fPIC -shared'
done
for machine in arm64-apple-darwin23.1.0 x86_64-apple-darwin22; do
    ok "$machine: .dylib" on $machine cuckoo.dylib -dynamiclib
done
for machine in x86_64-w64-mingw32 i686-w64-mingw32 x86_64-w64-windows-gnu x86_64-pc-msys x86_64-pc-cygwin; do
    ok "$machine: .dll" on $machine cuckoo.dll '-shared -static-libgcc'
done

# ---- what is said when something is missing ----

# No dpkg, no apt, no pkg-config, no git: a PATH with the programs that every system has.
mkdir -p "$work/plain"
for program in sh env mkdir rm cp mv cat cmp grep sed awk printf echo tr head mktemp uname getconf sort ls ar id make; do
    ln -sf "$(command -v $program)" "$work/plain/$program"
done
ln -sf "$work/bin/standin" "$work/plain/standin"

# missing HEADERS WORD...: make stops; each word is in its message, which is short.
missing() {
    export WITHOUT="$1"
    shift
    rm -rf "$work/tree/build" "$CALLS"
    ! (cd "$work/tree" && PATH=$work/plain "$MAKE" -s CC=standin > "$work/said" 2>&1) || return 1
    unset WITHOUT
    cat "$work/said"
    [ "$(wc -l < "$work/said")" -le 14 ] || return 1
    for word; do
        grep -q -- "$word" "$work/said" || { echo "no word of $word"; return 1; }
    done
}

ok 'without xxhash.h' missing xxhash.h xxhash.h 'apt-get install libxxhash-dev$' 'dnf install xxhash-devel$' \
    'apk add xxhash-dev$' 'brew install xxhash$'
ok 'without sqlite3ext.h' missing sqlite3ext.h sqlite3ext.h libsqlite3-dev sqlite-devel sqlite-dev 'brew install sqlite$'
ok 'without both' missing 'xxhash.h sqlite3ext.h' 'apt-get install libsqlite3-dev libxxhash-dev$'
ok 'without the headers of C' missing stdlib.h 'a C compiler and the headers' libc6-dev
ok 'nothing was compiled' refuses test -d "$work/tree/build/pic"

# ---- who installs ----

# Stand-ins that only note what they are asked for.
printf '#!/bin/sh\necho "$*" >> "%s"\n' "$work/apt" > "$work/plain/apt-get"
printf '#!/bin/sh\n[ "$1" = -n ] && shift\nexec "$@"\n' > "$work/plain/sudo"
chmod +x "$work/plain/apt-get" "$work/plain/sudo"
ln -sf "$(command -v true)" "$work/plain/true"

# lacking TARGET VARIABLE=VALUE...: make, where xxhash.h is missing. $work/apt then has what apt-get was asked for.
lacking() {
    rm -rf "$work/tree/build" "$work/apt"
    WITHOUT=xxhash.h
    export WITHOUT
    (cd "$work/tree" && PATH=$work/plain "$MAKE" -s CC=standin "$@" > "$work/said" 2>&1)
    stopped=$?
    unset WITHOUT
    cat "$work/said"
    [ "$stopped" -ne 0 ]
}

only_says() {
    lacking "$1" && grep 'apt-get install .*libxxhash-dev' "$work/said" && refuses test -e "$work/apt"
}

asks_apt() {
    lacking "$1" && grep '^-q install -y .*libxxhash-dev' "$work/apt"
}

# What dist can do without.
goes_on() {
    rm -f "$work/apt"
    (cd "$work/tree" && PATH=$work/plain CC=standin PYTHON=true sh tests/deps.sh dist) > "$work/said" 2>&1 &&
        grep 'wasm-opt' "$work/said" && grep 'make deps-dist installs' "$work/said" && refuses test -e "$work/apt"
}

for target in all debug compile_commands static amalgamation install check t dist rooms mutants valgrind fuzz model sim \
    fuzz-rows test-versions test-clients test-packages test-browser test-platforms coverage \
    bench bench-full bench-check bench-one-file; do
    ok "make $target only says what is missing" only_says $target
done
for target in deps demo test deps-dist; do
    ok "make $target installs it" asks_apt $target
done
ok 'make dist goes on without the tools for WebAssembly' goes_on

finish
