# SPDX-License-Identifier: MIT
# Ruby's sqlite3. A string is bound as text: make a blob of the filter.
require 'sqlite3'

db = SQLite3::Database.new(':memory:')
db.enable_load_extension(true)
db.load_extension('build/cuckoo')

contains = ->(blob, key) { db.get_first_value('SELECT cf_contains(?, ?)', [SQLite3::Blob.new(blob), key]) }

db.execute('CREATE TABLE users(id INTEGER, email TEXT)')
[[1, 'ada'], [2, 'bob'], [2**53 + 1, 'cyd']].each { |row| db.execute('INSERT INTO users VALUES (?, ?)', row) }
blob = db.get_first_value('SELECT cf_build(id, 0.000001) FROM users')
ids = [1, 3, 'one', 2**53 + 1, 2**53].map { |key| contains.call(blob, key) }
blob = db.get_first_value('SELECT cf_build(email, 0.000001) FROM users')
texts = %w[bob zoe].map { |key| contains.call(blob, key) }
db.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')")
db.execute('INSERT INTO users VALUES (?, ?)', [4, 'dan'])
known = %w[dan eve].map { |key| db.get_first_value("SELECT cf_table_contains('known', ?)", [key]) }
puts "ids #{ids.join(' ')}, texts #{texts.join(' ')}, table #{known.join(' ')}"
