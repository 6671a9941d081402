<?php
// SPDX-License-Identifier: MIT
// PDO, from PHP 8.4 on: older ones load no extensions. execute([...]) binds everything as text: bind
// numbers as PDO::PARAM_INT, and blobs as PDO::PARAM_LOB.
$db = new Pdo\Sqlite('sqlite::memory:');
$db->loadExtension('build/cuckoo.so');

function ask(string $blob, int|string $key): int
{
    global $db;
    $statement = $db->prepare('SELECT cf_contains(?, ?)');
    $statement->bindValue(1, $blob, PDO::PARAM_LOB);
    $statement->bindValue(2, $key, is_int($key) ? PDO::PARAM_INT : PDO::PARAM_STR);
    $statement->execute();
    return $statement->fetchColumn();
}

function value(string $sql): int|string
{
    global $db;
    return $db->query($sql)->fetchColumn();
}

$db->exec('CREATE TABLE users(id INTEGER, email TEXT)');
$db->exec("INSERT INTO users VALUES (1, 'ada'), (2, 'bob'), (9007199254740993, 'cyd')");
$blob = value('SELECT cf_build(id, 0.000001) FROM users');
$ids = array_map(fn($key) => ask($blob, $key), [1, 3, 'one', 9007199254740993, 9007199254740992]);
$blob = value('SELECT cf_build(email, 0.000001) FROM users');
$texts = array_map(fn($key) => ask($blob, $key), ['bob', 'zoe']);
$db->exec("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')");
$db->exec("INSERT INTO users VALUES (4, 'dan')");
$known = array_map(fn($key) => value("SELECT cf_table_contains('known', '$key')"), ['dan', 'eve']);
printf("ids %s, texts %s, table %s\n", implode(' ', $ids), implode(' ', $texts), implode(' ', $known));
