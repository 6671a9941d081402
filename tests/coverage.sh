#!/bin/sh
# SPDX-License-Identifier: MIT
# Branch coverage of src/ and ext/: unit tests, the static build and the allocation faults, compiled with
# --coverage; gcov adds them up. Prints a line per file and the total; details in build/coverage/*.gcov.
set -eu
: "${CC:=cc}"
make -s SKIP_DEPS=1 $(for t in tests/test_*.c; do echo "build/coverage/$(basename "$t" .c)"; done) \
    build/coverage/oom build/coverage/static_build build/coverage/regressions build/coverage/replay
find build/coverage -name '*.gcda' -delete
for program in build/coverage/test_* build/coverage/static_build build/coverage/regressions \
    build/coverage/oom 'build/coverage/replay 1000'; do
    $program > /dev/null 2>&1 || echo "failed: $program"
done
(
    cd build/coverage
    rm -f ./*.gcov
    gcov -b -o src $(ls src/*.gcno) > src.txt 2>/dev/null
    gcov -b -o ext $(ls ext/*.gcno) > ext.txt 2>/dev/null
)
cat build/coverage/src.txt build/coverage/ext.txt | awk -F"[':%]" '
    /^File/             { file = $2; keep = file ~ /^(src|ext)\// && !(file in seen); seen[file] = 1 }
    /^Lines executed/   { if (keep) { split($0, p, /[:% ]+/); lines = p[3]; nl = $NF; sub(/.* of /, "", nl) } }
    /^Taken at least/   { if (keep) { split($0, p, /[:% ]+/); taken = p[5]; nb = $NF; sub(/.* of /, "", nb)
                          printf "%-24s lines %6.2f %% of %4d   branches %6.2f %% of %4d\n", file, lines, nl, taken, nb
                          tl += nl; hl += nl * lines / 100; tb += nb; hb += nb * taken / 100; keep = 0 } }
    /^No branches/      { if (keep) { printf "%-24s lines %6.2f %% of %4d\n", file, lines, nl
                          tl += nl; hl += nl * lines / 100; keep = 0 } }
    END { printf "%-24s lines %6.2f %% of %4d   branches %6.2f %% of %4d\n", "total", 100 * hl / tl, tl, 100 * hb / tb, tb }'
