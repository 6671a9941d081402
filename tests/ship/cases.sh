# SPDX-License-Identifier: MIT
# For the scripts of this folder: counting cases. Read by ". tests/ship/cases.sh".
passed=0 failed=0

# ok NAME COMMAND...: a case, in a shell of its own; what the command says is shown when it fails.
ok() {
    what=$1
    shift
    if ("$@") > "$work/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok   $what"
    else
        failed=$((failed + 1))
        echo "FAIL $what"
        sed 's/^/     /' "$work/log" | head -20
    fi
}

# skipped WHAT PACKAGES
skipped() {
    echo "skipped: $1 (apt-get install $2)"
}

# package_of COMPILER: its name on Debian and Ubuntu.
package_of() {
    case $1 in
    clang++) echo clang ;;
    musl-gcc) echo musl-tools ;;
    emcc) echo emscripten ;;
    *-w64-mingw32-gcc) echo gcc-mingw-w64 ;;
    *-linux-*-gcc) echo "gcc-${1%-gcc}" ;;
    *) echo "$1" ;;
    esac
}

has() {
    command -v "$1" > /dev/null 2>&1
}

refuses() {
    ! "$@"
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
