#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes build/deb: the source package for Debian, and what dpkg-buildpackage makes of it. make deb gives it VERSION, URL
# and MAINTAINER. The same sources give the same source package: dates are that of the changelog, owners are root.
set -eu
folder=sqlite-cuckoo-$VERSION
from=ext/packages/debian
to=build/deb/$folder/debian
epoch=$(date -ud "$(sed -n 's/^ -- .*  //p' $from/changelog)" +%s)
rm -rf build/deb
mkdir -p build/deb
tar -c --format=ustar --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --exclude=__pycache__ --exclude='.[!/]*' --transform="s,^,$folder/," LICENSE Makefile README.md ext sql src tests |
    gzip -9n > "build/deb/sqlite-cuckoo_$VERSION.orig.tar.gz"
tar -xzf "build/deb/sqlite-cuckoo_$VERSION.orig.tar.gz" -C build/deb

# A text as a field of debian/copyright has it.
paragraph() {
    sed -e 's/^$/./' -e 's/^/ /'
}

# LICENSE has that of the project, then that of xxHash.
sed -n '4,/^xxHash/{/^xxHash/d;p}' build/dist/LICENSE | sed '1,/./{/^$/d}' | paragraph > build/deb/mit
sed -n '/Copyright.*Yann Collet/,/SUCH DAMAGE/p' build/dist/LICENSE | paragraph > build/deb/xxhash
cp -R $from "$to"
rm "$to/README.md"
find "$to" -type f -exec sed -i -e "s|@VERSION@|$VERSION|" -e "s|@URL@|$URL|" -e "s|@MAINTAINER@|$MAINTAINER|" \
    -e '/^@MIT@$/{' -e 'r build/deb/mit' -e 'd' -e '}' -e '/^@XXHASH@$/{' -e 'r build/deb/xxhash' -e 'd' -e '}' {} +
rm build/deb/mit build/deb/xxhash
cd "build/deb/$folder"
unset CC CPPFLAGS CFLAGS LINKED LDFLAGS LDLIBS MAKEFLAGS MFLAGS MAKELEVEL # those are Debian's
dpkg-buildpackage -us -uc
