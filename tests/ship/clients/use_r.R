# SPDX-License-Identifier: MIT
# R with RSQLite. 1 is a double and the same key as 1L. Integers above 2^53 are bit64::as.integer64("...").
library(DBI)
con <- dbConnect(RSQLite::SQLite(), ":memory:", loadable.extensions = TRUE)
invisible(dbGetQuery(con, "SELECT load_extension('build/cuckoo')"))

value <- function(sql, ...) dbGetQuery(con, sql, ...)[[1]]
ask <- function(blob, key) value("SELECT cf_contains(?, ?)", params = list(blob, key))
run <- function(sql) invisible(dbExecute(con, sql))

run("CREATE TABLE users(id INTEGER, email TEXT)")
run("INSERT INTO users VALUES (1, 'ada'), (2, 'bob'), (9007199254740993, 'cyd')")
f <- value("SELECT cf_build(id, 0.000001) FROM users")
keys <- list(1, 3L, "one", bit64::as.integer64("9007199254740993"), bit64::as.integer64("9007199254740992"))
ids <- sapply(keys, function(key) ask(f, key))
f <- value("SELECT cf_build(email, 0.000001) FROM users")
texts <- sapply(c("bob", "zoe"), function(key) ask(f, key))
run("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')")
run("INSERT INTO users VALUES (4, 'dan')")
known <- sapply(c("dan", "eve"), function(key) value("SELECT cf_table_contains('known', ?)", params = list(key)))
cat("ids", ids)
cat(", texts", texts)
cat(", table", known)
cat("\n")
