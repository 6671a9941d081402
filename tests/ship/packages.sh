#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the packages of build/dist in empty folders, and runs the first example of README.md there. (make dist makes
# them; what is in them, tests/python/extension/test_packages.py looks at.) The last line is "N passed, N failed".
#   NODE, NODE_PATH    another node, and where it finds better-sqlite3
set -u
. tests/ending.sh
root=$PWD
dist=$root/build/dist
work=$root/build/packages
: "${PYTHON:=/usr/bin/python3}" "${SQLITE3:=/usr/bin/sqlite3}" "${NODE:=node}" "${CC:=cc}"
modules=$root/build/clients/node_modules
NODE_PATH=${NODE_PATH:+$NODE_PATH:}$modules
export NODE_PATH NODE_NO_WARNINGS=1 PYTHONDONTWRITEBYTECODE=1
version=$(sed -n 's/^#define CUCKOO_VERSION "\(.*\)"/\1/p' src/include/version.h)
rm -rf "$work"
mkdir -p "$work"
. tests/ship/cases.sh

# empty NAME: a new folder, to work in.
empty() {
    mkdir -p "$work/$1" && cd "$work/$1" || exit 1
}

# sh_block FILE: its commands for the shell.
sh_block() {
    awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$1"
}

# example FILE LINE: the README's example in the shell, loaded by this line; its values against the README's.
example() {
    awk -v load="$2" '/^```sql$/ && !n++ { on = 1; next } /^```/ { on = 0 } on { print /^\.load/ ? load : $0 }' "$1" > example.sql
    # Without the names of columns, and the line below these.
    awk '/^```text$/ && !n++ { on = 1; next } /^```/ { on = 0 } on { print }' "$1" |
        awk '/^[- ]+$/ { held = 0; next } held { print line } { $1 = $1; line = $0; held = 1 } END { if (held) print line }' > expected
    sed 's/^\.mode column/.mode list\n.separator " "/' example.sql | "$SQLITE3" -batch -init /dev/null > got 2>&1
    diff expected got
}

# ---- checksums; the same bytes again ----

sums() {
    cd "$dist" && sha256sum -c --quiet SHA256SUMS
}

again() {
    extension=$(ls build/cuckoo.so build/cuckoo.dylib build/cuckoo.dll 2> /dev/null)
    mkdir -p "$work/again" && cp -p "$dist/cuckoo.c" "$dist/cuckoo_filter.h" "$dist/LICENSE" "$work/again" &&
        "$PYTHON" ext/packages/dist.py --version "$version" --extension "$extension" --static build/libcuckoofilter.a \
        build/libcuckoo_sqlite.a ${wasm:+--wasm "$wasm"} --sqlite "$work"/sources/*/sqlite/* --out "$work/again" && cd "$work/again" && for file in *; do
        cmp "$file" "$dist/$file" || return 1
    done
}

wasm=$(tar tzf "$dist/sqlite-cuckoo-$version.tgz" 2> /dev/null | grep -q '/filter\.mjs$' && echo build/filter.wasm)
[ -f "$dist/SHA256SUMS" ] || missing "there are no packages in build/dist: make dist"
ok 'SHA256SUMS' sums
mkdir -p "$work/sources" && tar xzf "$dist/sqlite_cuckoo-$version.tar.gz" -C "$work/sources"
if [ "$(ls "$dist"/*.whl | wc -l)" -eq 1 ]; then
    ok 'made again: the same bytes' again
fi

# ---- pip ----

# pip_install WORD...: what pip is asked to install, in a new environment. pip has no network, and no cache.
pip_install() {
    empty pip
    rm -rf venv
    "$PYTHON" -m venv venv && venv/bin/pip install --disable-pip-version-check --no-cache-dir --no-index "$@" &&
        venv/bin/python -c "import sqlite_cuckoo; assert sqlite_cuckoo.__version__ == '$version', sqlite_cuckoo.__version__; assert 1 in sqlite_cuckoo.Filter.build([1])" &&
        venv/bin/pip check && venv/bin/pip show -f sqlite-cuckoo | grep -q 'sqlite_cuckoo/cuckoo\.' &&
        [ -f venv/share/man/man1/sqlite-cuckoo.1 ]
}

# The examples of both READMEs: that of the project, and that of the package.
pip_example() {
    cd "$work/pip" && for readme in "$root/README.md" "$root/ext/packages/python/README.md"; do
        venv/bin/python "$root/tests/ship/packages/readme.py" "$readme" || return 1
    done
}

# In the unpacked sources: the commands of their README, in an empty environment.
sdist_readme() {
    cd "$work/pip" && rm -rf venv && "$PYTHON" -m venv venv && cd "$work"/sources/* && sh_block README.md > "$work/pip/commands" &&
        PATH="$work/pip/venv/bin:$PATH" PIP_NO_INDEX=1 PIP_NO_CACHE_DIR=1 sh -e "$work/pip/commands" && pip_example
}

# Without a compiler the error says what to do.
sdist_no_compiler() {
    cd "$work/pip" && ! CC=/nowhere/cc venv/bin/pip install --no-cache-dir --no-index --force-reinstall \
        "$dist/sqlite_cuckoo-$version.tar.gz" > log 2>&1 && grep -q '/nowhere/cc: No such file' log && grep -q 'apt\|Debian' log
}

# command_in FOLDER COMMAND: what it says to be unknown is what was not added, or was deleted.
command_in() {
    cd "$work/$1" && shift && seq 5000 | "$@" build known.cuckoo --fpr 1e-6 && seq 9000 12000 | "$@" add known.cuckoo &&
        seq 9000 9100 | "$@" delete known.cuckoo && seq 14000 | "$@" check known.cuckoo > printed &&
        { seq 5001 9100; seq 12001 14000; } | cmp - printed
}

command_alike() {
    command_in npm "$work/npm/node_modules/.bin/sqlite-cuckoo" && cmp known.cuckoo "$work/pip.cuckoo" &&
        seq 14000 | npx --offline sqlite-cuckoo check known.cuckoo | cmp - printed
}

pip_command() {
    command_in pip venv/bin/sqlite-cuckoo && mv known.cuckoo "$work/pip.cuckoo"
}

# As an application that has the package in a system of its own; apsw is the distribution's.
pip_apsw() {
    cd "$work/pip" && PYTHONPATH=$(echo venv/lib/python3*/site-packages) "$PYTHON" -c '
import apsw, sqlite_cuckoo
db = apsw.Connection(":memory:")
sqlite_cuckoo.load(db)
assert db.cursor().execute("SELECT cf_contains(cf_add(cf_new(9), 5), 5)").fetchall() == [(1,)]'
}

# recipe README: the commands by which it runs a script in SQL.
recipe() {
    sh_block "$1" | sed -n '/^cd /,/^sqlite3 /p' | sed "s#^sqlite3 #$SQLITE3 :memory: #" > recipe && [ "$(wc -l < recipe)" -eq 2 ] &&
        sh -e recipe > said 2>&1 && [ -s said ] && ! grep -E '^(Parse|Runtime|Error)' said
}

pip_recipe() {
    cd "$work/pip" && PATH="$work/pip/venv/bin:$PATH" && recipe "$root/ext/packages/python/README.md"
}

pip_uninstall() {
    cd "$work/pip" && venv/bin/pip uninstall -y sqlite-cuckoo &&
        [ -z "$(find venv -name '*cuckoo*')" ]
}

if ! "$PYTHON" -c 'import venv, ensurepip' 2> /dev/null; then
    skipped "pip: $PYTHON has no venv" python3-venv
elif ! "$PYTHON" -c 'import sqlite3; sqlite3.Connection.enable_load_extension' 2> /dev/null; then
    skipped "pip: the sqlite3 module of $PYTHON loads no extensions" python3
else
    ok 'pip: sources: compiled in an empty virtual environment' pip_install --no-build-isolation "$dist/sqlite_cuckoo-$version.tar.gz"
    ok 'pip: sources: README examples' pip_example
    ok 'pip: sources: the commands of their README' sdist_readme
    ok 'pip: sources: no compiler' sdist_no_compiler
    ok 'pip: installed in an empty virtual environment' pip_install --only-binary :all: --find-links "$dist" "sqlite-cuckoo==$version"
    ok 'pip: README examples' pip_example
    ok 'pip: the command' pip_command
    ok 'pip: a script in SQL, as its README says' pip_recipe
    if "$PYTHON" -c 'import apsw' 2> /dev/null; then
        ok 'pip: apsw' pip_apsw
    else
        skipped 'pip: apsw' python3-apsw
    fi
    ok 'pip: uninstalled, and nothing is left' pip_uninstall
fi

# ---- npm ----

npm_install() {
    empty npm
    echo '{"name": "empty", "version": "1.0.0", "private": true}' > package.json
    npm install --offline --no-audit --no-fund --cache "$work/npm.cache" "$dist/sqlite-cuckoo-$version.tgz" || return 1
    cp "$root/tests/ship/packages/readme.mjs" "$root/tests/ship/packages/filter.mjs" .
    [ -f node_modules/sqlite-cuckoo/index.d.ts ]
}

npm_filter() {
    cd "$work/npm" && "$NODE" filter.mjs
}

npm_recipe() {
    cd "$work/npm" && recipe "$root/ext/packages/npm/README.md"
}

npm_example() {
    cd "$work/npm" && "$NODE" readme.mjs "$root/README.md" "$1"
}

# npm_in RUNTIME: Deno's least permission for compiled code is enough.
npm_in() {
    cd "$work/npm" && case $1 in
    deno) sqlite='{ DatabaseSync } from "node:sqlite"' open='new DatabaseSync(":memory:", { allowExtension: true })' ;;
    bun)  sqlite='{ Database } from "bun:sqlite"' open='new Database(":memory:")' ;;
    esac && cat > "$1.mjs" <<END
import $sqlite;
import { load } from 'sqlite-cuckoo';
import { build } from 'sqlite-cuckoo/filter';
const db = $open;
load(db);
const { found } = db.prepare('SELECT cf_contains(?, ?) + cf_contains(?, ?) AS found').get(...['ada', 'eve'].flatMap((key) => [build(['ada']).bytes(), key]));
console.log(found, db.prepare('SELECT cf_version() AS v').get().v);
END
    "$modules/.bin/$1" run $([ "$1" = bun ] || echo --no-prompt --allow-ffi) "$1.mjs" | grep -Fx "1 $version"
}

# In either format of modules: beside a copy of the folder compiled/ it loads, and alone it says what to do.
npm_bundled() {
    cd "$work/npm" && rm -rf out && mkdir out && cat > bundled.js <<'END'
import { load } from 'sqlite-cuckoo';
import { build } from 'sqlite-cuckoo/filter';
load({ loadExtension: (file) => console.log(require('fs').existsSync(file), build(['ada']).contains('ada')) });
END
    for format in cjs esm; do
        [ $format = cjs ] || sed -i 's/require(.fs.)/process.getBuiltinModule("fs")/' bundled.js
        suffix=$([ $format = cjs ] && echo cjs || echo mjs)
        "$modules/.bin/esbuild" bundled.js --bundle --platform=node --format=$format --outfile=out/bundle.$suffix || return 1
        rm -rf out/compiled
        ! "$NODE" out/bundle.$suffix 2> log && grep 'esbuild --external:sqlite-cuckoo' log || return 1
        cp -r node_modules/sqlite-cuckoo/compiled out
        "$NODE" out/bundle.$suffix | grep -Fx 'true true' || return 1
    done
}

# workerd compiles no WebAssembly from bytes: by its condition, and by ready(module) with the file.
npm_workerd() {
    cd "$work/npm" && rm -rf workers && mkdir workers && cp node_modules/sqlite-cuckoo/filter.wasm workers && cat > own.js <<'END'
import module from 'sqlite-cuckoo/filter.wasm';
import { build, ready } from './node_modules/sqlite-cuckoo/filter.mjs';
export default { async test() {
  let refused = '';
  try { build(['ada']); } catch (error) { refused = error.message; }
  await ready(module);
  if (!/ready\(module\)/.test(refused) || !build(['ada']).contains('ada')) throw new Error(`wrong: ${refused}`);
} };
END
    cat > condition.js <<'END'
import { build, open } from 'sqlite-cuckoo/filter';
export default { test() { if (!open(build(['ada']).bytes()).contains('ada') || build(['ada']).contains('eve')) throw new Error('wrong'); } };
END
    for name in own condition; do
        "$modules/.bin/esbuild" $name.js --bundle --format=esm --conditions=workerd --external:*.wasm --outfile=workers/$name.mjs || return 1
        from=$(sed -n 's/^import module from "\(.*\)";$/\1/p' workers/$name.mjs)
        cat > workers/$name.capnp <<END
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = (compatibilityDate = "2026-01-01", modules = [
    (name = "$name.mjs", esModule = embed "$name.mjs"), (name = "$from", wasm = embed "filter.wasm")]))]);
END
        "$modules/.bin/workerd" test workers/$name.capnp || return 1
    done
}

if ! command -v npm > /dev/null || ! command -v "$NODE" > /dev/null; then
    skipped 'npm: npm or node is missing' npm
else
    ok 'npm: installed in an empty folder' npm_install
    ok 'npm: a script in SQL, as its README says' npm_recipe
    if [ "$wasm" ]; then
        ok 'npm: sqlite-cuckoo/filter, without SQLite' npm_filter
        [ ! -f "$work/pip.cuckoo" ] || ok 'npm: npx sqlite-cuckoo: the files and lines of the command from pip' command_alike
    else
        skipped 'npm: sqlite-cuckoo/filter: made without clang and wasm-ld' 'clang lld'
    fi
    bound=
    for binding in node:sqlite better-sqlite3; do
        if "$NODE" -e "require('$binding')" 2> /dev/null; then
            ok "npm: README example, $binding" npm_example $binding
            bound=yes
        else
            echo "skipped: npm: $binding: it comes with Node from 22.13 on, or by npm install --prefix build/clients better-sqlite3"
        fi
    done
    for runtime in deno bun; do
        if "$modules/.bin/$runtime" --version > /dev/null 2>&1; then
            ok "npm: $runtime" npm_in $runtime
            bound=yes
        else
            skipped "npm: $runtime" "npm install --prefix build/clients $runtime"
        fi
    done
    if "$modules/.bin/esbuild" --version > /dev/null 2>&1; then
        ok 'npm: bundled by esbuild' npm_bundled
    else
        skipped 'npm: bundled by esbuild' "npm install --prefix build/clients esbuild"
    fi
    if "$modules/.bin/esbuild" --version > /dev/null 2>&1 && "$modules/.bin/workerd" --version > /dev/null 2>&1; then
        ok 'npm: sqlite-cuckoo/filter in workerd' npm_workerd
    else
        skipped 'npm: sqlite-cuckoo/filter in workerd' "npm install --prefix build/clients esbuild workerd"
    fi
    ok "npm: load() with a fake database that writes down the call${bound:+, too}" npm_example fake
fi

# ---- archives: each unpacks to a folder that has its name ----

here=$(cd "$dist" && ls cuckoo-"$version"-static-*.tar.gz | sed "s/.*-static-//; s/\.tar\.gz//")
unpacked=$work/archives/cuckoo-$version
loadable=$unpacked-loadable-$here static=$unpacked-static-$here amalgamation=$unpacked-amalgamation

archives() {
    empty archives && for folder in "$loadable" "$static" "$amalgamation"; do
        tar xzf "$dist/${folder##*/}.tar.gz" && [ -f "$folder/README.md" ] && [ -f "$folder/LICENSE" ] || return 1
    done
    [ "$(ls | wc -l)" -eq 3 ]
}

loadable_example() {
    cd "$loadable" && example README.md '.load ./cuckoo'
}

# commands FILE: runs its commands, with our compiler and with clang. What they print is its last block of text.
commands() {
    awk -f "$root/ext/packages/programs.awk" "$1" && awk '/^```text$/ { on = 1; text = ""; next } /^```/ { on = 0 } on { text = text $0 "\n" } END { printf "%s", text }' \
        "$1" > expected
    for compiler in "$CC" $(command -v clang); do
        sh_block "$1" | sed "s#^cc #$compiler #" > commands
        sh -e commands > got && diff expected got || return 1
    done
}

static_programs() {
    cd "$static" && commands README.md
}

amalgamation_example() {
    cd "$amalgamation" && commands README.md && example README.md '.load ./cuckoo'
}

# The filter that a program in C has stored, asked by SQL.
c_and_sql() {
    cd "$amalgamation" && "$SQLITE3" :memory: '.load ./cuckoo' \
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
         SELECT sum(cf_contains(f, 'user ' || i)), sum(cf_contains(f, 'user ' || (5000 + i))) < 200, cf_check(f)
         FROM n, (SELECT readfile('known.cuckoo') AS f)" | grep -Fx '5000|1|ok'
}

at_top() {
    empty "top-$1" && cp "$amalgamation"/cuckoo[._]*[ch] . &&
        sh "$root/tests/ship/packages/at_top.sh" "$1" . "$root/tests/ship/reader.c" &&
        ./reader "$amalgamation/known.cuckoo" | grep -x '5000 of 5000, hardly any others'
}

# script FOLDER: the tour that REFERENCE and others name, in the folder of an archive.
script() {
    cd "$1" && "$SQLITE3" :memory: < sql/tour.sql > said 2>&1 && [ -s said ] && ! grep -E '^(Parse|Runtime|Error)' said
}

ok 'archives: three folders' archives
ok 'archive: loadable: README example in the shell' loadable_example
ok 'archive: static libraries: the programs of their README' static_programs
ok 'archive: amalgamation: compiled as its README says; the example' amalgamation_example
ok 'archive: amalgamation: SQL reads what the program in C has stored' c_and_sql
for compiler in gcc clang; do
    if command -v $compiler > /dev/null; then
        ok "archive: amalgamation: the commands at the top of cuckoo.c, $compiler" at_top $compiler
    else
        skipped "archive: amalgamation: $compiler" $compiler
    fi
done
ok 'archive: loadable: sql/tour.sql' script "$loadable"
ok 'archive: amalgamation: sql/tour.sql' script "$amalgamation"

# ---- Debian ----

deb() {
    cd "$root" && SKIP_DEPS=1 DEB_BUILD_OPTIONS=nocheck "${MAKE:-make}" -s deb && empty deb &&
        for package in "$root"/build/deb/*.deb; do
            dpkg-deb -x "$package" . || return 1
        done
}

# Unpacked, not installed: links within a package and between packages lead somewhere.
deb_used() {
    cd "$work/deb" && [ -z "$(find . -xtype l)" ] &&
        for extension in "$PWD"/usr/lib/*/cuckoo.so "$PWD"/usr/lib/python3/dist-packages/sqlite_cuckoo/cuckoo.so; do
            SQLITE3=$SQLITE3 sh "$root/ext/packages/debian/tests/shell" "${extension%.so}" || return 1
        done
    PYTHONPATH=$PWD/usr/lib/python3/dist-packages "$PYTHON" usr/bin/sqlite-cuckoo --version | grep -x "sqlite-cuckoo $version" &&
        zcat usr/share/man/man1/sqlite-cuckoo.1.gz | grep -x '.Nm sqlite-cuckoo'
}

deb_programs() {
    PKG_CONFIG_SYSROOT_DIR=$work/deb PKG_CONFIG_PATH=$(echo "$work"/deb/usr/lib/*/pkgconfig) \
        sh ext/packages/debian/tests/program "$work/deb/usr/share/doc/libcuckoofilter-dev/examples"
}

deb_copyright() {
    ! grep -r '@[A-Z0-9]*@' "$root"/build/deb/sqlite-cuckoo-*/debian --include=control --include=copyright --include=changelog &&
        grep -c 'Yann Collet\|POSSIBILITY OF SUCH DAMAGE\|AUTHORS OR COPYRIGHT HOLDERS BE' "$work/deb/usr/share/doc/libsqlite3-mod-cuckoo/copyright" |
        grep -x 3
}

deb_lintian() {
    lintian --allow-root --fail-on error,warning "$root"/build/deb/*.changes
}

if ! dpkg-checkbuilddeps "$root/ext/packages/debian/control" 2> /dev/null; then
    skipped 'Debian packages: make deps-deb' 'build-essential debhelper'
else
    ok 'Debian packages' deb
    ok 'Debian packages: used' deb_used
    ok 'Debian packages: the examples of libcuckoofilter-dev' deb_programs
    ok 'Debian packages: the licences, no @NAMES@' deb_copyright
    if command -v lintian > /dev/null; then
        ok 'Debian packages: lintian' deb_lintian
    else
        skipped 'Debian packages: lintian' lintian
    fi
fi

# ---- the recipe for all platforms ----

release_steps() {
    empty release && "$PYTHON" -B "$root/tests/ship/packages/release.py" "$root"
}

if ! "$PYTHON" -c 'import yaml' 2> /dev/null; then
    skipped 'the steps of release.yml' python3-yaml
elif [ "$wasm" ]; then
    ok 'release.yml: its steps for Linux, here' release_steps
fi

finish
