# SPDX-License-Identifier: MIT
# ending.sh - how a runner of tests ends: the last line is "N passed, N failed", and a run that has tested nothing is no success.
# The runners read this file. The status is 0 when something has passed and nothing has failed, 77 when what is needed is not
# here, else 1. make test goes on after 77, and says what was skipped.

# missing WHAT [WHAT...]: nothing can be tested; one line that names what is missing and how to get it.
missing() {
    echo "skipped: $*"
    echo '0 passed, 0 failed'
    exit 77
}

# ending PASSED FAILED: the last line, and the end.
ending() {
    [ "$1" -gt 0 ] || [ "$2" -gt 0 ] || echo 'failed: nothing was tested'
    echo "$1 passed, $2 failed"
    [ "$1" -gt 0 ] && [ "$2" -eq 0 ]
    exit
}
