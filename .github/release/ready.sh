#!/bin/sh
# SPDX-License-Identifier: MIT
# Is this tree ready to be published? Says all that it lacks.
#   ready.sh          before the tag, on any machine
#   ready.sh v1.2.3   in the tree that has this tag
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${PYTHON:=python3}"
version=$(sed -n 's/^#define CUCKOO_VERSION "\(.*\)"/\1/p' src/include/version.h)
lacks=0

lack() {
    printf '%s\n' "$1" >&2
    lacks=$((lacks + 1))
}

# holds COMMAND...: what it says of a fault is what lacks.
holds() {
    said=$("$@" 2>&1 > /dev/null) || lack "$said"
}

holds "$PYTHON" -B .github/release/notes.py "$version"
[ -z "$("$PYTHON" -B .github/release/notes.py Unreleased 2> /dev/null)" ] ||
    lack "ext/CHANGES.md has lines under ## Unreleased: move them below the heading of $version"
holds "$PYTHON" -B ext/packages/project.py
if [ $# -gt 0 ]; then
    [ "$1" = "v$version" ] || lack "The tag is $1, and src/include/version.h says $version: make the tag by .github/release/tag.sh"
fi
if [ "${GITHUB_REPOSITORY:-}" ]; then # npm compares the two
    here=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY
    [ "$("$PYTHON" -B ext/packages/project.py repository)" = "$here" ] ||
        lack "repository in ext/packages/project.json is to be $here, where this runs"
fi
[ $lacks = 0 ]
