#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the tag of the version in src/include/version.h, at HEAD, when the tree is ready.
set -eu
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^#define CUCKOO_VERSION "\(.*\)"/\1/p' src/include/version.h)
[ -z "$(git status --porcelain)" ] || { echo 'tag.sh: there are changes without a commit: commit them first, or take them away' >&2; exit 1; }
sh .github/release/ready.sh
git tag -a -m "cuckoo $version" "v$version"
echo "Made the tag v$version. This publishes it: git push origin v$version"
