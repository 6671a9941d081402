// SPDX-License-Identifier: MIT
import fs from 'fs';
import path from 'path';
import { fileURLToPath } from 'url';

// A bundle in the format of CommonJS has no import.meta.url.
const here = import.meta.url ? path.dirname(fileURLToPath(import.meta.url)) : __dirname;
const suffixes = { win32: '.dll', darwin: '.dylib' };

/* The C library of Linux: musl or glibc. Node and Bun know theirs. Deno would ask for a permission. */
function isMusl() {
  if (process.platform !== 'linux') return false;
  if (globalThis.Deno) return /musl/.test(globalThis.Deno.build.target);
  try {
    return !process.report.getReport().header.glibcVersionRuntime;
  } catch (_) {
    return false;
  }
}

/* True as well where it cannot be known: without --allow-read of Deno, which SQLite does not need. */
function isThere(file) {
  try {
    return fs.existsSync(file);
  } catch (_) {
    return true;
  }
}

/** The path of the compiled extension for this machine. */
function getLoadablePath() {
  const platform = `${process.platform}-${process.arch}${isMusl() ? '-musl' : ''}`;
  // SQLite reads no file inside an archive of Electron: those that were left out of it are in the folder beside it.
  const folder = path.join(here, 'compiled').replace(/\.asar(?=[\\/])/, '.asar.unpacked');
  const file = path.join(folder, platform, 'cuckoo' + (suffixes[process.platform] || '.so'));
  if (isThere(file)) return file;
  if (isThere(folder)) {
    throw new Error(
      `sqlite-cuckoo: this package has no compiled extension for ${platform}, only for ` +
        `${fs.readdirSync(folder).join(', ')}; build cuckoo.so from its sources, and give that to db.loadExtension`
    );
  }
  throw new Error(
    `sqlite-cuckoo: there is no ${file}: the compiled extension cannot be part of a bundle. Mark the package as external ` +
      "(esbuild --external:sqlite-cuckoo, webpack externals, Vite ssr.external), or copy its folder compiled/ to " +
      `${here}; for Electron unpack it: asarUnpack: ['**/sqlite-cuckoo/compiled/**']`
  );
}

/** Registers the functions and virtual tables on an open database of better-sqlite3, node:sqlite or bun:sqlite. */
function load(db) {
  if (!db || typeof db.loadExtension !== 'function') {
    throw new TypeError(
      'sqlite-cuckoo: load(db) needs an open Database of better-sqlite3 or bun:sqlite, or a DatabaseSync of node:sqlite'
    );
  }
  try {
    db.loadExtension(getLoadablePath());
  } catch (error) {
    if (error && /not allowed|not authorized|allowExtension is not/.test(error.message)) {
      throw new Error(
        'sqlite-cuckoo: this database does not allow extensions: open it with ' +
          'new DatabaseSync(path, { allowExtension: true }), and do not call enableLoadExtension(false) before load',
        { cause: error }
      );
    }
    throw error;
  }
}

export default { getLoadablePath, load };
export { getLoadablePath, load };
