// SPDX-License-Identifier: MIT
// libSQL, by its package for Node: as better-sqlite3, but a blob comes as an ArrayBuffer and is bound as a Buffer.
const Database = require('libsql');

const db = new Database(':memory:');
db.loadExtension('build/cuckoo');

const value = (sql, ...parameters) => Object.values(db.prepare(sql).get(...parameters))[0];
const contains = db.prepare('SELECT cf_contains(?, ?) AS answer');

db.exec('CREATE TABLE users(id INTEGER, email TEXT)');
const add = db.prepare('INSERT INTO users VALUES (?, ?)');
add.run(1, 'ada');
add.run(2, 'bob');
add.run(9007199254740993n, 'cyd');
let blob = Buffer.from(value('SELECT cf_build(id, 0.000001) FROM users'));
const ids = [1, 3, 'one', 9007199254740993n, 9007199254740992n].map(key => contains.get(blob, key).answer);
blob = Buffer.from(value('SELECT cf_build(email, 0.000001) FROM users'));
const texts = ['bob', 'zoe'].map(key => contains.get(blob, key).answer);
db.exec("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')");
add.run(4, 'dan');
const known = ['dan', 'eve'].map(key => value("SELECT cf_table_contains('known', ?)", key));

// ALTER COLUMN is libSQL's own: it changes how a column compares, and the filter sees that.
db.exec('ALTER TABLE users ALTER COLUMN email TO email TEXT COLLATE NOCASE');
let refused = '';
try {
  value("SELECT cf_table_contains('known', 'ADA')");
} catch (error) {
  refused = error.message;
}
if (!refused.includes("SELECT cf_table_rebuild('main.known')")) throw new Error(`not refused: ${refused}`);
value("SELECT cf_table_rebuild('known')");
if (value("SELECT cf_table_contains('known', 'ADA')") !== 1) throw new Error('ADA is denied');
console.log(`ids ${ids.join(' ')}, texts ${texts.join(' ')}, table ${known.join(' ')}`);
