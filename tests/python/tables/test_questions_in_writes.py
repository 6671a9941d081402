# SPDX-License-Identifier: MIT
"""A question in a transaction that has written another table: what an interrupt leaves of it, what changes() says, and what is
found when somebody has written to the shadow tables meanwhile."""
import itertools
import sqlite3

import pytest

import support

QUESTIONS = ["SELECT cf_table_contains('f', 'a')", "SELECT count(*) FROM f WHERE key = 'a'"]
KINDS = {"direct": ["CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=1000)", "INSERT INTO f(key) VALUES ('a')"],
         "follows": ["CREATE TABLE t(k)", "INSERT INTO t VALUES ('a')", "CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)')"]}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def db(kind):
    db = support.connect()
    for sql in ["CREATE TABLE o(x)", "INSERT INTO o VALUES (-1), (-2), (-3)", *KINDS[kind]]:
        db.execute(sql)
    return db


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_interrupt_ends_no_transaction_in_silence(db, kind, question):
    for point in itertools.count(1):
        calls = itertools.count(1)
        db.execute("BEGIN")
        db.execute("INSERT INTO o VALUES (1)")
        db.set_progress_handler(lambda: next(calls) == point, 1)
        try:
            said = db.execute(question).fetchall()
        except sqlite3.OperationalError as error:
            said = str(error)
        db.set_progress_handler(None, 1)
        assert db.in_transaction or (kind == "follows" and "interrupted" in said), (point, said)
        assert said == [(1,)] or "interrupted" in said, point
        if db.in_transaction:
            db.execute("ROLLBACK")
        if next(calls) <= point:
            break


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_to_a_direct_table_is_no_change(question):
    db = support.connect()
    for sql in ["CREATE TABLE o(x)", "INSERT INTO o VALUES (1), (2), (3)", *KINDS["direct"], "BEGIN", "DELETE FROM o"]:
        db.execute(sql)
    before = db.total_changes
    assert db.execute(question).fetchone() == (1,)
    assert (db.execute("SELECT changes()").fetchone(), db.total_changes) == ((3,), before)


@pytest.mark.parametrize("question", QUESTIONS)
def test_pages_that_were_written_by_others_and_taken_back(db, kind, question):
    db.execute("BEGIN")
    db.execute("UPDATE f_page SET data = zeroblob(length(data)) WHERE no > 0")
    for done in ("ROLLBACK", None):
        try:
            found = db.execute(question).fetchone()
        except sqlite3.OperationalError as error:  # a filter that follows finds out that rows are missing, and remembers it
            assert kind == "follows" and "rebuild" in str(error)
            found = (1,)
        if done:
            db.execute(done)
    assert found == (1,)


def test_no_rebuild_in_a_trigger_behind_a_table_of_the_same_name(tmp_path):
    db = support.connect()
    db.execute("ATTACH ? AS aux", (str(tmp_path / "aux.db"),))
    for sql in ["CREATE TABLE u(k)", "CREATE TABLE aux.f(x)", "INSERT INTO u VALUES ('a'), ('b')",
                "CREATE VIRTUAL TABLE main.f USING cuckoo_filter(content='u(k)')",
                "CREATE TRIGGER again AFTER DELETE ON u BEGIN INSERT INTO f(f) VALUES ('rebuild'); END",
                "CREATE TEMP TRIGGER first AFTER INSERT ON aux.f BEGIN DELETE FROM u WHERE k = 'a'; END"]:
        db.execute(sql)
    with pytest.raises(sqlite3.OperationalError, match="rebuild"):
        db.execute("INSERT INTO aux.f VALUES (1)")
    db.execute("DROP TRIGGER again")
    assert db.execute("SELECT cf_table_contains('main.f', k) FROM u").fetchall() == [(1,), (1,)]
