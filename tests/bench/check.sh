#!/bin/sh
# SPDX-License-Identifier: MIT
# Counts the instructions of the hot paths (instructions.c) and compares them with tests/bench/instructions.txt.
#   check.sh           make bench-check: fails when a figure is more than 10 % above the committed one
#   check.sh accept    make bench-accept: writes the figures of now to instructions.txt
#   check.sh one-file  the same paths in build/dist/cuckoo.c, compiled by -O2 alone, beside those of the ordinary build
#   check.sh test      tests the comparison itself; the last line is "N passed, N failed"
#
# Instructions depend on the compiler, its options, SQLite, the C library and the machine. instructions.txt names what
# its figures were made with. With other tools, the commit that wrote those figures is built in build/bench/base and
# counted with the tools of here. That needs git, and takes a minute once: the figures of the base are kept.
#
# CC, CFLAGS, MAKE: as in the Makefile. Exit status 1: a path has become longer; 2: this cannot be judged here.
set -u
figures=tests/bench/instructions.txt
out=build/bench
now=$out/instructions.now
counter=$PWD/tests/bench/paths.py
: "${CC:=cc}" "${CFLAGS:=-O2 -flto=auto}" "${MAKE:=make}"

give_up() {
    printf '%s\n' "$@" >&2
    exit 2
}

# What the figures depend on, one line each. The program must be built.
tools() {
    echo "# compiler: $($CC --version | sed 's/^[^ ]* //; q') $CFLAGS"
    echo "# SQLite: $($out/instructions)"
    echo "# C library: $(getconf GNU_LIBC_VERSION 2> /dev/null || echo unknown) on $(uname -m)"
    echo "# valgrind: $(valgrind --version)"
}

# count FOLDER [PROGRAM LIBRARY]: builds the project there and counts; the figures stand in its build/bench/instructions.now.
count() {
    (
        cd "$1" || exit
        program=${2:-$out/instructions} library=${3:-build/cuckoo.so}
        SKIP_DEPS=1 "$MAKE" -s "$library" "$program" || exit
        "${PYTHON:-python3}" "$counter" "$program" "$library" > $now 2> $out/count.log || { cat $out/count.log; exit 1; }
        [ -s $now ]
    ) || give_up "the paths in $1 cannot be counted"
}

# compare OLD NEW: what has changed, and whether that is too much.
compare() {
    awk -F'\t' -v limit=10 '
    /^#/ { next }
    FNR == NR { old[$1] = $2; next }
    { seen[$1] = 1; paths++ }
    !($1 in old) { printf "%-44s%24.1f   new\n", $1, $2; next }
    {
        rise = old[$1] > 0 ? ($2 / old[$1] - 1) * 100 : 0
        longer = rise > limit + 0.001
        mark = longer ? "   TOO MUCH" : ""
        if (rise > 1 || rise < -1)
            printf "%-44s%12.1f%12.1f%+8.1f %%%s\n", $1, old[$1], $2, rise, mark
        too_much += longer
        less += rise < -limit
    }
    END {
        for (name in old)
            if (!(name in seen) && ++gone)
                printf "%-44s%12.1f   is not counted any more\n", name, old[name]
        printf "%d paths: %d more than %d %% longer, %d more than %d %% shorter", paths, too_much, limit, less, limit
        printf "%s\n", gone ? ", " gone " gone" : ""
        if (less && !too_much && !gone)
            print "make bench-accept holds what has been won."
        if (paths == 0)
            print "failed: nothing was counted"
        exit (too_much + gone > 0 || paths == 0)
    }' "$1" "$2"
}

# The commit that wrote the figures, built and counted in build/bench/base with the tools of here. Prints the file.
base_figures() {
    commit=$(git log -1 --format=%H -- $figures 2> /dev/null)
    [ -n "$commit" ] || give_up "This is no git repository, or $figures is not committed: so the commit that wrote" \
        "the figures cannot be counted here, and nothing can be judged. make bench-accept takes the figures of now."
    git diff --quiet HEAD -- $figures || give_up "$figures has changed and is not committed. Commit it first."
    echo "Counting commit $(git log -1 --format='%h (%s)' "$commit") with the tools of here." >&2
    { echo "$commit"; tools; } > $out/base.wanted
    if ! cmp -s $out/base.wanted $out/base/made_with; then
        rm -rf $out/base
        mkdir -p $out/base
        git archive "$commit" | tar -x -C $out/base
        count $out/base >&2
        mv $out/base.wanted $out/base/made_with
    fi
    echo $out/base/$now
}

check() {
    count .
    tools > $out/tools.now
    base=$figures
    if ! grep '^# [a-zA-Z ]*: ' $figures | cmp -s - $out/tools.now; then
        echo "$figures was written with other tools:"
        grep '^# [a-zA-Z ]*: ' $figures | diff - $out/tools.now
        base=$(base_figures) || exit
    fi
    compare "$base" $now && exit 0
    echo "If that is meant: make bench-accept, and say why in the commit that takes $figures along."
    exit 1
}

accept() {
    count .
    [ -e $figures ] && compare $figures $now
    {
        echo "# Instructions per operation; make bench-check compares, make bench-accept writes. See check.sh."
        tools
        cat $now
    } > $figures.new
    mv $figures.new $figures
    echo "$figures has the figures of now. Commit it."
}

one_file() {
    count .
    mv $now $out/instructions.ordinary
    count . $out/instructions_one_file $out/one_file/cuckoo.so
    mv $now $out/instructions.one_file
    compare $out/instructions.ordinary $out/instructions.one_file || echo "Where many paths are longer: see what is not inlined."
}

# ---- the test of the comparison ----

# expect STATUS PATTERN OLD NEW: figures as "name number" lines.
expect() {
    printf '%s\n' "$3" | tr : '\t' > $out/test.old
    printf '%s\n' "$4" | tr : '\t' > $out/test.new
    answer=$(compare $out/test.old $out/test.new)
    if [ $? -eq "$1" ] && printf '%s' "$answer" | grep -q "$2"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'expected status %s and %s, not:\n%s\n' "$1" "$2" "$answer"
    fi
}

self_test() {
    passed=0 failed=0
    mkdir -p $out
    expect 0 '2 paths: 0 more'        'hit:50.0
miss:60.0' 'hit:50.0
miss:60.0'
    expect 0 'hit.*+10.0 %$'          'hit:50.0' 'hit:55.0'
    expect 1 'hit.*+12.0 %.*TOO MUCH' 'hit:50.0' 'hit:56.0'
    expect 0 '1 more than 10 % short' 'hit:50.0' 'hit:40.0'
    expect 1 'miss.*not counted'      'hit:50.0
miss:60.0' 'hit:50.0'
    expect 0 'miss.*new'              'hit:50.0' 'hit:50.0
miss:60.0'
    expect 1 'nothing was counted'    '# old:' '# new:'
    rm -f $out/test.old $out/test.new
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
}

[ "${1:-}" = test ] || command -v valgrind > /dev/null ||
    give_up "Counting needs valgrind: make deps, or apt-get install valgrind."
case ${1:-check} in
check) check ;;
accept) accept ;;
one-file) one_file ;;
test) self_test ;;
*) give_up "usage: check.sh [accept | one-file | test]" ;;
esac
