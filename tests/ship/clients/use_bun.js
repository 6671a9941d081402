// SPDX-License-Identifier: MIT
// bun:sqlite. On macOS call Database.setCustomSQLite(path) first, because Apple's SQLite loads no extensions.
// Beyond 2^53 bind a BigInt.
import { Database } from 'bun:sqlite';

const db = new Database(':memory:');
db.loadExtension('build/cuckoo');

const value = (sql, ...parameters) => Object.values(db.query(sql).get(...parameters))[0];
const contains = db.query('SELECT cf_contains(?, ?) AS answer');

db.exec('CREATE TABLE users(id INTEGER, email TEXT)');
const add = db.query('INSERT INTO users VALUES (?, ?)');
add.run(1, 'ada');
add.run(2, 'bob');
add.run(9007199254740993n, 'cyd');
let blob = value('SELECT cf_build(id, 0.000001) FROM users');
const ids = [1, 3, '1', 9007199254740993n, 9007199254740992n].map(key => contains.get(blob, key).answer);
blob = value('SELECT cf_build(email, 0.000001) FROM users');
const texts = ['bob', 'zoe'].map(key => contains.get(blob, key).answer);
db.exec("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')");
add.run(4, 'dan');
const known = ['dan', 'eve'].map(key => value("SELECT cf_table_contains('known', ?)", key));
console.log(`ids ${ids.join(' ')}, texts ${texts.join(' ')}, table ${known.join(' ')}`);
