// SPDX-License-Identifier: MIT
'use strict';

const fs = require('fs');
const path = require('path');

const suffixes = { win32: '.dll', darwin: '.dylib' };

/* musl is told from glibc by what Node says of its own library. */
function isMusl() {
  if (process.platform !== 'linux' || !process.report) return false;
  return !process.report.getReport().header.glibcVersionRuntime;
}

/** The path of the compiled extension for this machine. */
function getLoadablePath() {
  const folder = path.join(__dirname, 'compiled');
  const platform = `${process.platform}-${process.arch}${isMusl() ? '-musl' : ''}`;
  const file = path.join(folder, platform, 'cuckoo' + (suffixes[process.platform] || '.so'));
  if (!fs.existsSync(file)) {
    throw new Error(
      `sqlite-cuckoo: this package has no compiled extension for ${platform}, only for ` +
        `${fs.readdirSync(folder).join(', ')}; build cuckoo.so from its sources, and give that to db.loadExtension`
    );
  }
  return file;
}

/** Registers the functions and virtual tables on an open database of better-sqlite3 or node:sqlite. */
function load(db) {
  if (!db || typeof db.loadExtension !== 'function') {
    throw new TypeError('sqlite-cuckoo: load(db) needs an open Database of better-sqlite3, or a DatabaseSync of node:sqlite');
  }
  try {
    db.loadExtension(getLoadablePath());
  } catch (error) {
    if (error && /not allowed|not authorized/.test(error.message)) {
      throw new Error(
        'sqlite-cuckoo: this database does not allow extensions: open it with ' +
          'new DatabaseSync(path, { allowExtension: true }), and do not call enableLoadExtension(false) before load',
        { cause: error }
      );
    }
    throw error;
  }
}

module.exports = { getLoadablePath, load };
