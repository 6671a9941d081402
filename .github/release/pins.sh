#!/bin/sh
# SPDX-License-Identifier: MIT
# Each action in the workflows is named by the hash of a commit, with its version in a comment: is the version there that
# commit? Asks the repositories of the actions.
#   pins.sh [FILE...]    FROM=address of what has these repositories, unless it is GitHub
set -u
[ $# -gt 0 ] || set -- "$(dirname "$0")"/../workflows/*.yml
: "${FROM:=https://github.com}"

# commit ACTION VERSION: the commit of a tag. Of a tag with a message, the line that ends with ^{} has it.
commit() {
    git ls-remote "$FROM/$1" "refs/tags/$2" "refs/tags/$2^{}" | sort -k 2 | tail -1 | cut -f 1
}

grep -hE '^[^#]*uses:' "$@" | sed 's/.*uses: *//' | sort -u | {
    wrong=0
    while read -r use; do
        action=${use%%@*} hash=${use#*@} version=${use##*# }
        hash=${hash%% *}
        if ! printf '%s\n' "$use" | grep -qE '^[^@ /]+/[^@ /]+@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+$'; then
            echo "$use: write owner/name@HASH # v1.2.3, with the hash of the commit in full"
        elif [ "$(commit "$action" "$version")" != "$hash" ]; then
            echo "$use: $FROM/$action has another commit for $version, or none"
        else
            continue
        fi
        wrong=1
    done
    exit $wrong
}
