# SPDX-License-Identifier: MIT
"""Stands for the sqlite3 shell where an SQLite comes without one: runs a script on the SQLite of Python's module.

It knows what tests/sql/values.awk leaves of the scripts: .load, .import (one column, of a file or a pipe), .limit length, .mode list,
.headers on.
Values are written as the shell's list mode writes them; SQLite itself turns numbers into text.
"""
import os
import re
import shlex
import sqlite3
import sys


HEADERS = []


def written(db, value):
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.split(b"\0")[0].decode(errors="replace")
    return str(value) if isinstance(value, str) else db.execute("SELECT CAST(? AS TEXT)", (value,)).fetchone()[0]


def run_statement(db, sql):
    cursor = db.execute(sql)
    for number, row in enumerate(cursor):
        if number == 0 and HEADERS:
            print("|".join(column[0] for column in cursor.description))
        print("|".join(written(db, value) for value in row))


def run_command(db, words):
    if words[0] == ".load":
        db.load_extension(words[1])
    elif words[0] == ".import":
        pipe = words[1].startswith("|")
        with (os.popen(words[1][1:]) if pipe else open(words[1], encoding="utf-8")) as lines:
            db.executemany(f"INSERT INTO {words[2]} VALUES (?)", ((line.rstrip("\n"),) for line in lines))
    elif words[:2] == [".limit", "length"]:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, int(words[2]))
    elif words == [".headers", "on"]:
        HEADERS.append(True)
    elif words[0] != ".mode":
        raise sqlite3.Error(f"unknown command {words[0]}")


def guarded(action, *arguments):
    """As in the shell, an error does not end the script."""
    try:
        action(*arguments)
    except sqlite3.Error as error:
        print(f"Error: {error}")


def statements(lines):
    """Statements, and the shell's own commands; comments between them are left out."""
    text = ""
    for line in lines:
        if not text and line.startswith("."):
            yield line
            continue
        for piece in re.split("(?<=;)", line):
            text += piece
            if sqlite3.complete_statement(text):
                yield text
                text = ""
        if re.fullmatch(r"(\s|--.*\n)*", text):
            text = ""


def main():
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.enable_load_extension(True)
    for text in statements(sys.stdin):
        if text.startswith("."):
            guarded(run_command, db, shlex.split(text))
        else:
            guarded(run_statement, db, text)


main()
