#!/bin/sh
# SPDX-License-Identifier: MIT
# Looks for what the project needs by trying it: headers with the compiler, programs by running them.
#   deps.sh build              what a build needs. build/options and build/libraries get the options for it
#   deps.sh demo|dist|deb|test|fuzz|platforms|browser    that, and what these need
# Names what is missing, and the packages that have it. With INSTALL=1, where there is apt-get and the right to use it,
# installs them instead; make deps, make demo and make test ask for that, and deps-NAME for the target NAME. CC, CPPFLAGS, CFLAGS, LDFLAGS, PYTHON, SQLITE3: as in the Makefile.
set -u
: "${CC:=cc}" "${CPPFLAGS:=}" "${CFLAGS:=}" "${LDFLAGS:=}" "${PYTHON:=python3}" "${SQLITE3:=sqlite3}"
copies=build/include
mkdir -p build
work=$(mktemp -d build/deps.XXXXXX) || exit 1
options=$work/options
trap 'rm -rf "$work"' EXIT

# ---- trying ----

# The variables of make are pieces of shell: options may have quotes in them.
compiles() {
    eval "$CC $CPPFLAGS $CFLAGS $*" > "$work/log" 2>&1
}

# links PROGRAM OPTIONS...: does it become a program?
links() {
    printf '%s\n' "$1" > "$work/try.c"
    shift
    compiles "@$options $work/try.c -o $work/try.out $LDFLAGS" "$@"
}

has_compiler() {
    compiler=yes
    echo '#include <stdlib.h>' > "$work/try.c"
    compiles "@$options -c $work/try.c -o $work/try.o" && return
    compiler='' compiler_says=$(head -3 "$work/log")
    return 1
}

# has_header NAME TOO_OLD: is it found with the options so far, and new enough?
has_header() {
    printf '#include <%s>\n#if %s\n#error "too old"\n#endif\n' "$1" "$2" > "$work/try.c"
    compiles "@$options -E $work/try.c"
}

# find_header NAME TOO_OLD MODULE FILE...: where the compiler looks, then where pkg-config says, then in the usual folders
# of other compilers. From those only the named files are taken: the rest is not for this compiler.
find_header() {
    name=$1 too_old=$2 module=$3
    shift 3
    [ "$compiler" ] || { [ -f "/usr/include/$name" ]; return; }
    has_header "$name" "$too_old" && return
    cp "$options" "$work/before"
    pkg-config --cflags "$module" 2> /dev/null >> "$options" && has_header "$name" "$too_old" && return
    cp "$work/before" "$options"
    echo "-isystem $copies" >> "$options"
    for folder in /usr/local/include /opt/homebrew/include /opt/homebrew/opt/sqlite/include \
        /usr/local/opt/sqlite/include /opt/local/include /usr/include; do
        copy "$folder" "$@" && has_header "$name" "$too_old" && return
    done
    cp "$work/before" "$options"
    return 1
}

# copy FOLDER FILE...: all of them, or false.
copy() {
    from=$1
    shift
    mkdir -p $copies
    for file in "$@"; do
        [ -f "$from/$file" ] || return
        cmp -s "$from/$file" "$copies/$file" || cp "$from/$file" $copies/
    done
}

runs() {
    "$@" > /dev/null 2>&1
}

has_words() {
    [ -r /usr/share/dict/american-english ] && [ -r /usr/share/dict/british-english ]
}

# ---- what is needed ----

# need WHAT DEBIAN FEDORA ALPINE HOMEBREW COMMAND...: does the command find it? Else, the packages that have it.
need() {
    what=$1 d=$2 f=$3 a=$4 h=$5
    shift 5
    "$@" && return
    missing="$missing    $what
"
    debian="$debian $d" fedora="$fedora $f" alpine="$alpine $a" brew="$brew $h"
}

# wish: need, for what a part is made or tested with. Without it the rest goes on.
wish() {
    before=$missing
    need "$@"
    wished="$wished${missing#"$before"}" missing=$before
}

need_build() {
    : > "$options"
    need "a C compiler and the headers of C: $CC" 'gcc libc6-dev' gcc 'gcc musl-dev' gcc has_compiler
    need 'sqlite3ext.h, of SQLite 3.34 or later' libsqlite3-dev sqlite-devel sqlite-dev sqlite \
        find_header sqlite3ext.h 'SQLITE_VERSION_NUMBER < 3034000' sqlite3 sqlite3ext.h sqlite3.h
    need 'xxhash.h, of xxHash 0.8 or later' libxxhash-dev xxhash-devel xxhash-dev xxhash \
        find_header xxhash.h 'XXH_VERSION_NUMBER < 800' libxxhash xxhash.h
}

need_demo() {
    need "the shell of SQLite: $SQLITE3" sqlite3 sqlite sqlite sqlite runs "$SQLITE3" -version
    need 'American and British word lists in /usr/share/dict' 'wamerican wbritish' '' '' '' has_words
}

need_dist() {
    need "Python 3: $PYTHON" python3 python3 python3 python runs "$PYTHON" --version
    wish 'clang, for sqlite-cuckoo/filter in the npm package' clang clang clang llvm runs clang --version
    wish 'wasm-ld, for sqlite-cuckoo/filter' lld lld lld lld runs wasm-ld --version
    wish 'wasm-opt, for a smaller sqlite-cuckoo/filter' binaryen binaryen binaryen binaryen runs wasm-opt --version
}

need_deb() {
    need 'what makes packages for Debian' 'build-essential debhelper dh-python libcmocka-dev python3-installer sqlite3' '' '' '' \
        runs dpkg-checkbuilddeps ext/packages/debian/control
}

need_test() {
    need 'the SQLite library, for programs' libsqlite3-dev sqlite-devel sqlite-dev sqlite \
        links 'int sqlite3_initialize(void); int main(void) { return sqlite3_initialize(); }' -lsqlite3
    need cmocka libcmocka-dev libcmocka-devel cmocka-dev cmocka \
        links 'int _cmocka_run_group_tests(void); int main(void) { return _cmocka_run_group_tests(); }' -lcmocka
    need "Python 3 with pytest, pytest-xdist, hypothesis, and a sqlite3 that loads extensions: $PYTHON" \
        'python3 python3-pytest python3-pytest-xdist python3-hypothesis' \
        'python3 python3-pytest python3-pytest-xdist python3-hypothesis' \
        'python3 py3-pytest py3-pytest-xdist py3-hypothesis' python \
        runs "$PYTHON" -c 'import pytest, xdist, hypothesis, sqlite3; sqlite3.Connection.enable_load_extension'
    need valgrind valgrind valgrind valgrind '' runs valgrind --version
    wish 'codespell, for the spelling of pages and messages' codespell codespell py3-codespell codespell runs codespell --version
    wish 'PyYAML, for tests of the workflows in .github' python3-yaml python3-pyyaml py3-yaml pyyaml runs "$PYTHON" -c 'import yaml'
    wish 'Python-Markdown, for report.html of make bench-full' python3-markdown python3-markdown py3-markdown markdown runs "$PYTHON" -c 'import markdown'
}

has_libfuzzer() {
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' > "$work/try.c"
    clang -fsanitize=fuzzer,address -o "$work/try.out" "$work/try.c" > "$work/log" 2>&1
}

need_fuzz() {
    need 'clang with libFuzzer' clang 'clang compiler-rt' 'clang compiler-rt' llvm has_libfuzzer
}

need_platforms() {
    for platform in $(sh tests/ship/platforms.sh names); do
        need "tools for the platform $platform" "$(sh tests/ship/platforms.sh packages "$platform")" '' '' '' \
            sh tests/ship/platforms.sh has "$platform"
    done
}

need_browser() {
    need_dist
    wish Chromium chromium chromium chromium '' runs sh -c 'command -v chromium || command -v chromium-browser || command -v google-chrome'
    wish chromedriver chromium-driver chromedriver chromium-chromedriver '' runs chromedriver --version
}

# look GROUP: is it all there?
look() {
    debian='' fedora='' alpine='' brew='' missing='' wished=''
    need_build
    [ "$1" = build ] || [ "$1" = dist ] || [ "$1" = deb ] || need_demo
    [ "$1" != dist ] || need_dist
    [ "$1" != deb ] || need_deb
    [ "$1" != test ] || need_test
    [ "$1" != fuzz ] || need_fuzz
    [ "$1" != platforms ] || need_platforms
    [ "$1" != browser ] || need_browser
    [ -z "$missing$wished" ]
}

# ---- what follows from it ----

# The library of mathematics is not one of its own everywhere.
keep_options() {
    links 'int main(void) { return 0; }' -lm && echo -lm > "$work/libraries" || : > "$work/libraries"
    for file in options libraries; do
        cmp -s "$work/$file" "build/$file" || cp "$work/$file" "build/$file"
    done
}

words() {
    printf '%s\n' "$1" | tr -s ' ' '\n' | awk 'NF && !seen[$0]++ { printf " %s", $0 }'
}

say() {
    [ -z "$missing" ] || printf 'This is missing:\n%s' "$missing"
    [ -z "$wished" ] || printf 'It goes on without:\n%s' "$wished"
    [ "$compiler" ] || printf '%s\n' "$compiler_says" | sed '/./s/^/        /'
    printf 'Packages that have it:\n'
    printf '    %-15s apt-get install%s\n' 'Debian, Ubuntu' "$(words "$debian")"
    [ -z "$(words "$fedora")" ] || printf '    %-15s dnf install%s\n' Fedora "$(words "$fedora")"
    [ -z "$(words "$alpine")" ] || printf '    %-15s apk add%s\n' Alpine "$(words "$alpine")"
    [ -z "$(words "$brew")" ] || printf '    %-15s brew install%s\n' macOS "$(words "$brew")"
    [ -z "$missing" ] || printf 'Headers in another place: make CPPFLAGS="-I/the/folder". Another compiler: make CC=name.\n'
    [ "${INSTALL:-}" = 1 ] || printf 'On Debian and Ubuntu, %s installs them.\n' "$remedy"
}

apt_get() {
    # shellcheck disable=SC2086 # empty, or a word
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" > /dev/null
}

# Where that is allowed, and without a question.
install() {
    as_root=
    [ "${INSTALL:-}" = 1 ] && command -v apt-get > /dev/null 2>&1 || return
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2> /dev/null || return
        as_root=sudo
    fi
    packages=$(words "$debian")
    echo "Installing$packages"
    # shellcheck disable=SC2086 # the packages are words
    apt_get install -y $packages 2> /dev/null && return
    apt_get update # the lists of a fresh machine are empty or old
    # shellcheck disable=SC2086
    apt_get install -y $packages
}

case $1 in
build|test) remedy='make deps' ;;
*) remedy="make deps-$1" ;;
esac
look "$1" || { install && look "$1"; } || { say >&2; [ -z "$missing" ] || exit 1; }
keep_options
