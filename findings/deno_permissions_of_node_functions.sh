#!/bin/sh
# SPDX-License-Identifier: MIT
# Deno 2.9.6 (npm deno): functions of Node that cannot fail in Node throw without a permission. fs.existsSync, which in Node
# answers false for whatever it may not see, throws NotCapable; and process.report.getReport(), by which packages tell musl
# from glibc, needs --allow-sys, for the names of the processors. To load an extension of SQLite by node:sqlite needs
# neither: --allow-ffi is enough. Deno.build.target names the C library without any permission.
# Needs node and npm. Exits with 1 when the behaviour is another one.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-audit --no-fund --loglevel=error --prefix "$folder" deno@2.9.6 > /dev/null 2>&1
cat > ask.mjs <<'END'
import fs from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
const said = (call) => {
  try {
    return String(call());
  } catch (error) {
    return String(error);
  }
};
console.log('existsSync:', said(() => fs.existsSync('/nowhere')));
console.log('getReport:', said(() => process.report.getReport().header.glibcVersionRuntime !== undefined));
console.log('loadExtension:', said(() => new DatabaseSync(':memory:', { allowExtension: true }).loadExtension('/nowhere')));
console.log('target:', /linux-(gnu|musl)|windows|darwin/.test(Deno.build.target));
END
NO_COLOR=1 node_modules/.bin/deno run --no-prompt --allow-ffi ask.mjs | tee said
cat > expected <<'END'
existsSync: NotCapable: Requires read access to "/nowhere", run again with the --allow-read flag
getReport: NotCapable: Requires sys access to "cpus", run again with the --allow-sys flag
loadExtension: Error: Failed to load SQLite extension: /nowhere.so: cannot open shared object file: No such file or directory
target: true
END
diff expected said
