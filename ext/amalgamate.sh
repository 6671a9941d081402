#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes cuckoo.c and cuckoo_filter.h: the whole extension, and the C library, in one file for any build system. And
# LICENSE: that of the project, and that of xxHash.
#   amalgamate.sh [FOLDER]    FOLDER: where they go; build/dist
# The same sources give the same bytes. amalgamate.awk does the work; the order of the files is that of the rooms.
# xxhash.h goes into cuckoo.c as it is. CC, CPPFLAGS and build/options say which one.
set -eu
out=${1:-build/dist}
xxhash=$(echo '#include <xxhash.h>' | eval "${CC:-cc} ${CPPFLAGS:-} @build/options -E -x c -" |
    sed -n 's/^# *[0-9]* *"\(.*xxhash[.]h\)".*/\1/p' | head -1)
[ -f "$xxhash" ] || { echo "amalgamate.sh: where is xxhash.h?" >&2; exit 1; }
version=$(awk '$2 == "CUCKOO_VERSION" { gsub(/"/, "", $3); print $3 }' src/include/version.h)
xxhash_version=$(awk '$1 == "#define" && $2 ~ /^XXH_VERSION_(MAJOR|MINOR|RELEASE)$/ { printf "%s%s", dot, $3; dot = "." }' "$xxhash")

# What a program may call: the parts of cuckoo_filter.h, in order.
headers="src/include/version.h ext/cuckoo.h src/include/cuckoo_plan.h src/base/hash.h src/include/cuckoo_inline.h"
headers="$headers src/include/cuckoo_view.h src/include/cuckoo_contains.h src/include/cuckoo_filter.h"
headers="$headers src/include/cuckoo_inspect.h src/include/cuckoo_exact.h src/include/cuckoo_key.h"

# sources HALF: its .c files, from bottom to top.
sources() {
    awk -v half="$1:" '$1 == half { for (i = 2; i <= NF; i++) print substr(half, 1, 3) "/" $i ".c" }' tests/rooms.txt |
        while read -r file; do
            [ ! -f "$file" ] || echo "$file"
        done
}

licence() {
    sed 's/^/** /; s/ *$//' LICENSE
}

# The words of the first comment of xxhash.h.
licence_of_xxhash() {
    awk '/\*\// { exit } NR > 1 { sub(/^ \* ?/, ""); print }' "$xxhash"
}

header_begin() {
    cat << END
/*
** cuckoo_filter.h, version $version - cuckoo filters for SQLite, and for C and C++ without SQLite.
**
** What it declares is compiled from cuckoo.c, which comes with this file, or is in a static library:
**
**      libcuckoofilter.a, or cuckoo.c with CUCKOO_LIBRARY_ONLY      the functions cf_..., without SQLite
**      libcuckoo_sqlite.a, or cuckoo.c with SQLITE_CORE             sqlite3_cuckoo_init
**
** These are all symbols that a linker sees. All names here begin with cf_, CF_ or CUCKOO_, but for that one.
**
** SPDX-License-Identifier: MIT
**
$(licence)
*/
END
}

source_begin() {
    cat << END
/*
** cuckoo.c, version $version - cuckoo filters for SQLite in one file.
**
**      cc -O2 -fPIC -shared cuckoo.c -o cuckoo.so -lm       an extension to load; it needs sqlite3ext.h
**      cc -O2 -DSQLITE_CORE -c cuckoo.c                     to be linked with SQLite; it needs sqlite3.h
**      cc -O2 -DCUCKOO_LIBRARY_ONLY -c cuckoo.c             the C library alone, without SQLite
**      cc -Os -DCUCKOO_LIBRARY_ONLY -DCUCKOO_SMALL -DCUCKOO_READ_ONLY -c cuckoo.c
**                                                           what looks keys up, for small machines
**      cl /O2 /std:c11 /LD cuckoo.c                         an extension to load, by MSVC
**
** It is C11. cuckoo_filter.h says what to call. The file was made of many by a program. What is not public is
** static, and what stands at file scope begins with cf_ or cuckoo_: other code may stand in the same file.
**
**      CUCKOO_API       before public functions cf_...: by default "static", with CUCKOO_LIBRARY_ONLY nothing. An empty
**                       one gives the extension and the functions. For a DLL: __declspec(dllexport).
**      CUCKOO_SMALL     less code and no large table: some calls take several times as long
**      CUCKOO_READ_ONLY leaves out what makes and changes filters; with CUCKOO_LIBRARY_ONLY
**      CUCKOO_ENTRY     before sqlite3_cuckoo_init: by default what exports it; with SQLITE_CORE nothing
**      CUCKOO_DEBUG     checks by assert what the code relies on
**
** It has in it: xxHash $xxhash_version by Yann Collet (https://xxhash.com) under the BSD 2-Clause License, which stands where it
** begins. All the rest:
**
** SPDX-License-Identifier: MIT
**
$(licence)
*/
#ifdef __cplusplus
#error "cuckoo.c is C11: compile it as C; cuckoo_filter.h is for C++, too"
#endif

#ifdef CUCKOO_DEBUG
#include <assert.h>
#define CUCKOO_ASSERT(condition) assert(condition)
#else
#define CUCKOO_ASSERT(condition) ((void)0)
#endif

/* Not every build uses every function. */
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#elif defined(_MSC_VER)
#pragma warning(push)
#pragma warning(disable : 4505)
#endif

#ifndef CUCKOO_API
#ifdef CUCKOO_LIBRARY_ONLY
#define CUCKOO_API
#else
#define CUCKOO_API static
#endif
#endif

#ifdef CUCKOO_READ_ONLY
#define CUCKOO_WRITE_API static /* nobody calls it: compilers leave it out */
#else
#define CUCKOO_WRITE_API CUCKOO_API
#endif

#ifndef CUCKOO_ENTRY
#if defined(SQLITE_CORE)
#define CUCKOO_ENTRY
#elif defined(_WIN32)
#define CUCKOO_ENTRY __declspec(dllexport)
#elif defined(__GNUC__)
#define CUCKOO_ENTRY __attribute__((visibility("default")))
#else
#define CUCKOO_ENTRY
#endif
#endif

END
}

source_end() {
    cat << END

#undef sqlite3_api
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic pop
#elif defined(_MSC_VER)
#pragma warning(pop)
#endif
END
}

mkdir -p "$out"
# shellcheck disable=SC2086,SC2046 # the names are words
{
    header_begin
    awk -f ext/amalgamate.awk $headers
} > "$out/cuckoo_filter.h.new"
# shellcheck disable=SC2086,SC2046
{
    source_begin
    awk -v xxhash="$xxhash" -v xxhash_version="$xxhash_version" -f ext/amalgamate.awk $headers -- $(sources src) $(sources ext)
    source_end
} > "$out/cuckoo.c.new"
{
    cat LICENSE
    printf '\n\nIt contains xxHash, under this licence:\n\n'
    licence_of_xxhash
} > "$out/LICENSE"
mv "$out/cuckoo_filter.h.new" "$out/cuckoo_filter.h"
mv "$out/cuckoo.c.new" "$out/cuckoo.c"
