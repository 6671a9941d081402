#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the tag of the version in src/version.h, when the tree is ready. What is tagged is a commit of its own: the tree of
# HEAD with LICENSE at its root, where GitHub and others look for one. No branch has that commit, and no file here changes.
set -eu
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^#define CUCKOO_VERSION "\(.*\)"/\1/p' src/version.h)
[ -z "$(git status --porcelain)" ] || { echo 'tag.sh: there are changes without a commit: commit them first, or take them away' >&2; exit 1; }
sh .github/release/ready.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GIT_INDEX_FILE="$work/index"
git read-tree HEAD
git update-index --add --cacheinfo "100644,$(git rev-parse HEAD:ext/LICENSE),LICENSE"
commit=$(git commit-tree "$(git write-tree)" -p HEAD -m "cuckoo $version")
git tag -a -m "cuckoo $version" "v$version" "$commit"
echo "Made the tag v$version. This publishes it: git push origin v$version"
