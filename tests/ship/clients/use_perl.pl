# SPDX-License-Identifier: MIT
# Perl's DBD::SQLite. What is not bound with a type is bound as text: say SQL_INTEGER and SQL_BLOB.
use strict;
use warnings;
use DBI qw(:sql_types);

my $db = DBI->connect('dbi:SQLite:dbname=:memory:', '', '', { RaiseError => 1 });
$db->sqlite_enable_load_extension(1);
$db->sqlite_load_extension('build/cuckoo');

sub contains {
    my ($blob, $key, $is_text) = @_;
    my $ask = $db->prepare('SELECT cf_contains(?, ?)');
    $ask->bind_param(1, $blob, SQL_BLOB);
    $is_text ? $ask->bind_param(2, $key) : $ask->bind_param(2, $key, SQL_INTEGER);
    $ask->execute;
    return $ask->fetchrow_array;
}

sub value { return $db->selectrow_array(@_) }

$db->do('CREATE TABLE users(id INTEGER, email TEXT)');
$db->do("INSERT INTO users VALUES (1, 'ada'), (2, 'bob'), (9007199254740993, 'cyd')");
my $blob = value('SELECT cf_build(id, 0.000001) FROM users');
my @ids = (contains($blob, 1), contains($blob, 3), contains($blob, 'one', 'text'),
           contains($blob, 9007199254740993), contains($blob, 9007199254740992));
$blob = value('SELECT cf_build(email, 0.000001) FROM users');
my @texts = map { contains($blob, $_, 'text') } qw(bob zoe);
$db->do("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')");
$db->do('INSERT INTO users VALUES (?, ?)', undef, 4, 'dan');
my @known = map { value("SELECT cf_table_contains('known', ?)", undef, $_) } qw(dan eve);
print "ids @ids, texts @texts, table @known\n";
