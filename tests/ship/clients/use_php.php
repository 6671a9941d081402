<?php
// SPDX-License-Identifier: MIT
// PHP's SQLite3. php.ini names the folder of extensions: sqlite3.extension_dir = /path/to/build
// Say that a blob is one. Numbers that come from a request are strings: cast them with (int).
$db = new SQLite3(':memory:');
$db->enableExceptions(true);
$db->loadExtension('cuckoo.so');

function ask(string $blob, int|string $key): int
{
    global $db;
    $statement = $db->prepare('SELECT cf_contains(?, ?)');
    $statement->bindValue(1, $blob, SQLITE3_BLOB);
    $statement->bindValue(2, $key, is_int($key) ? SQLITE3_INTEGER : SQLITE3_TEXT);
    return $statement->execute()->fetchArray()[0];
}

$db->exec('CREATE TABLE users(id INTEGER, email TEXT)');
$db->exec("INSERT INTO users VALUES (1, 'ada'), (2, 'bob'), (9007199254740993, 'cyd')");
$blob = $db->querySingle('SELECT cf_build(id, 0.000001) FROM users');
$ids = array_map(fn($key) => ask($blob, $key), [1, 3, 'one', 9007199254740993, 9007199254740992]);
$blob = $db->querySingle('SELECT cf_build(email, 0.000001) FROM users');
$texts = array_map(fn($key) => ask($blob, $key), ['bob', 'zoe']);
$db->exec("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')");
$db->exec("INSERT INTO users VALUES (4, 'dan')");
$known = array_map(fn($key) => $db->querySingle("SELECT cf_table_contains('known', '$key')"), ['dan', 'eve']);
printf("ids %s, texts %s, table %s\n", implode(' ', $ids), implode(' ', $texts), implode(' ', $known));
