#!/bin/sh
# SPDX-License-Identifier: MIT
# Is this tree ready to be published? Says all that it lacks.
#   ready.sh          before the tag, on any machine
#   ready.sh v1.2.3   in the tree that has this tag, which tag.sh has made
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${PYTHON:=python3}"
version=$(sed -n 's/^#define CUCKOO_VERSION "\(.*\)"/\1/p' src/version.h)
lacks=0

lack() {
    printf '%s\n' "$1" >&2
    lacks=$((lacks + 1))
}

# holds COMMAND...: what it says of a fault is what lacks.
holds() {
    said=$("$@" 2>&1 > /dev/null) || lack "$said"
}

# only_licence: is the tree that of the commit before, and LICENSE?
only_licence() {
    [ "$(git diff --name-status HEAD~1 HEAD 2>&1)" = "$(printf 'A\tLICENSE')" ] && cmp -s LICENSE ext/LICENSE
}

holds "$PYTHON" -B .github/release/notes.py "$version"
holds "$PYTHON" -B ext/packages/project.py
if [ $# -gt 0 ]; then
    [ "$1" = "v$version" ] || lack "The tag is $1, and src/version.h says $version: make the tag by .github/release/tag.sh"
    only_licence || lack "The tagged tree is to have LICENSE at its root, and no other change: make the tag by .github/release/tag.sh"
fi
if [ "${GITHUB_REPOSITORY:-}" ]; then # npm compares the two
    here=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY
    [ "$("$PYTHON" -B ext/packages/project.py repository)" = "$here" ] ||
        lack "repository in ext/packages/project.json is to be $here, where this runs"
fi
[ $lacks = 0 ]
