// SPDX-License-Identifier: MIT
// The first example of a README, in Node, with the installed package: readme.mjs README.md BINDING. Prints "ok", or what
// differs. BINDING is better-sqlite3, node:sqlite, or fake: a database that writes down what it is asked.
import fs from 'fs';
import { createRequire } from 'module';
import { getLoadablePath, load } from 'sqlite-cuckoo';

const [, , file, binding] = process.argv;
const require = createRequire(import.meta.url);
const readme = fs.readFileSync(file, 'utf8');
const [, example, output] = /^```sql\n([^]*?)^```\n```text\n([^]*?)^```/m.exec(readme);
const statements = example.replace(/^(\.|--).*\n/gm, '').split(/(?<=;)\n/).filter((text) => text.trim());
// Without the names of columns, and the line below these.
const expected = output.replace(/^.*\n[- ]+\n/gm, '').trim().split('\n').map((line) => line.split(/\s+/));

function open() {
  if (binding === 'node:sqlite') return new (require('node:sqlite').DatabaseSync)(':memory:', { allowExtension: true });
  return new (require('better-sqlite3'))(':memory:');
}

function run() {
  const db = open();
  load(db);
  const rows = [];
  for (const text of statements) {
    if (/^\s*SELECT/.test(text)) rows.push(...db.prepare(text).all());
    else db.exec(text);
  }
  const got = rows.map((row) => Object.values(row).map(String));
  return JSON.stringify(got) === JSON.stringify(expected) ? 'ok' : `${JSON.stringify(got)}, not ${JSON.stringify(expected)}`;
}

function runFake() {
  const said = [];
  load({ loadExtension: (...all) => said.push(...all) });
  require('sqlite-cuckoo').load({ loadExtension: (...all) => said.push(...all) });
  return said.length === 2 && said.every((path) => path === getLoadablePath() && fs.existsSync(path)) ? 'ok' : String(said);
}

const said = binding === 'fake' ? runFake() : run();
console.log(said);
process.exitCode = said === 'ok' ? 0 : 1;
