# SPDX-License-Identifier: MIT
"""What happens when cf_add_all is given a large filter that is copied for every row."""
import sqlite3
import time

import pytest

import support
from support import BAD_PARAMETER, ask, fails

LENDS_BLOBS = sqlite3.sqlite_version_info >= (3, 43)
KEYS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000) "
SLOW = ["SELECT length(cf_add_all(cf_open(f), i)) FROM filters, n"] + ([] if LENDS_BLOBS else [
    "SELECT length((SELECT cf_add_all(filters.f, i) FROM n)) FROM filters",
    "SELECT length(cf_delete_all((SELECT f FROM filters), i)) FROM n"])
FAST = ["SELECT length(cf_add_all(?1, i)) FROM n",
        "SELECT length(cf_delete_all((SELECT cf_open(f) FROM filters), i)) FROM n",
        "SELECT length(cf_add_all((SELECT cf_open(?1)), i)) FROM n"] + (
    ["SELECT length((SELECT cf_add_all(filters.f, i) FROM n)) FROM filters",
     "SELECT length(cf_add_all(f, i)) FROM filters, n"] if LENDS_BLOBS else [])


@pytest.fixture(scope="module")
def large():
    """A filter of 5 MB and 6,000 keys: some 3,300 copies of it are too many."""
    db = support.connect()
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters VALUES (cf_new(4200000))")
    db.execute("CREATE TABLE n AS " + KEYS + "SELECT i FROM n")
    yield db
    db.close()


@pytest.mark.parametrize("sql", SLOW)
def test_many_copies_of_a_large_filter_are_an_error(large, sql):
    function = "cf_delete_all" if "delete" in sql else "cf_add_all"
    fails(large, BAD_PARAMETER, sql, function=function, says="the filter is copied for every row")


@pytest.mark.parametrize("sql", FAST)
def test_forms_that_do_not_copy_are_never_refused(large, sql):
    blob = ask(large, "SELECT f FROM filters")
    start = time.process_time()
    assert ask(large, sql, *([blob] if "?1" in sql else [])) == len(blob)
    assert time.process_time() - start < 5


def test_key_lists_take_large_filters(large):
    for call in ("cf_add_keys", "cf_delete_keys"):
        assert ask(large, f"SELECT cf_contains({call}(f, (SELECT cf_keys(i) FROM n)), 5) FROM filters") == (call == "cf_add_keys")
