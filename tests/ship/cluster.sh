#!/bin/sh
# SPDX-License-Identifier: MIT
# A cluster of dqlite nodes with filter tables (tests/ship/cluster). The last line is "N passed, N failed".
#   CUCKOO_TEST_SEED=n       repeats what is written
#   CLUSTER_ROUNDS=n         how often a node is killed or stopped; 12 unless given
set -u
out=$PWD/build/cluster
go=${GO:-go}
: "${CC:=cc}"

. tests/ending.sh

need() {
    missing "$1 is missing; on Debian: make deps-cluster, which installs libdqlite-dev, golang-go and" \
        "golang-github-canonical-go-dqlite-dev"
}

mkdir -p "$out"
command -v "$go" > /dev/null || need "the Go compiler ($go)"
echo '#include <dqlite.h>' | $CC -E - > /dev/null 2>&1 || need dqlite.h
# The distribution's Go packages lie in a folder of their own. Nothing is fetched.
export GO111MODULE=off GOPATH="${GOPATH:+$GOPATH:}/usr/share/gocode" GOCACHE="$out/cache" GOTELEMETRY=off
"$go" list github.com/canonical/go-dqlite/driver > /dev/null 2>&1 || need go-dqlite

SKIP_DEPS=1 ${MAKE:-make} -s build/libcuckoo_sqlite.a build/cuckoo.so || exit 1

# go-dqlite asks for -z now, which cgo does not know. Go does not see that the library has changed: hence rm.
rm -f "$out/cluster"
CGO_LDFLAGS_ALLOW='-Wl,-z,now' "$go" build -o "$out/cluster" ./tests/ship/cluster || exit 1
exec timeout -s QUIT 300 "$out/cluster" -dir "$out/nodes" -rounds "${CLUSTER_ROUNDS:-12}" \
    ${CUCKOO_TEST_SEED:+-seed "$CUCKOO_TEST_SEED"}
