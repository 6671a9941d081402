# SPDX-License-Identifier: MIT
"""Four jobs, each by what pip or npm has installed alone: bytes, the time of a question, wrong answers. Beside each what is done
without a filter. jobs.sh runs it: jobs.py FOLDER, where node_modules is."""
import os
import re
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import sqlite_cuckoo

FOLDER = Path(sys.argv[1])
NPX = FOLDER / "node_modules/.bin/sqlite-cuckoo"


def line(what, size="", question="", wrong=""):
    print(f"  {what:52} {size:>12} {question:>14} {wrong:>20}", flush=True)


def connect(path=":memory:"):
    db = sqlite3.connect(path, isolation_level=None)
    sqlite_cuckoo.load(db)
    return db


def timed(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def us(seconds, n):
    return f"{seconds / n * 1e6:.2f} us"


def node(*arguments):
    subprocess.run([os.environ["NODE"], "jobs.mjs", *arguments], cwd=FOLDER, check=True)


# ---- what SQL follows, asked in Node ----

def ship():
    line("SQL follows 200,000 users; Node asks twice as many", "bytes", "a question", "wrong")
    db = connect()
    db.execute("CREATE TABLE users(email TEXT COLLATE NOCASE)")
    db.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(content='users(email)')")
    db.executemany("INSERT INTO users VALUES (?)", ((f"User{i}@Example.com",) for i in range(250_000)))
    db.execute("DELETE FROM users WHERE rowid > 200000")
    (FOLDER / "known.cuckoo").write_bytes(db.execute("SELECT cf_export('known')").fetchone()[0])
    node("ship")


# ---- known files, by the command ----

def known():
    line("The files of this machine that packages own", "bytes", "a question", "wrong")
    sums = sorted({found for path in Path("/var/lib/dpkg/info").glob("*.md5sums")
                   for found in re.findall(r"^[0-9a-f]{32}", path.read_text(errors="replace"), re.M)})
    others = [one[1:] + one[0] for one in sums]
    inside = set(sums)
    asked = b"".join(b"%s\n" % one.encode() for two in zip(sums, others) for one in two)
    unknown = b"".join(b"%s\n" % one.encode() for one in others if one not in inside)
    (FOLDER / "sums").write_text("\n".join(sums) + "\n")
    (FOLDER / "asked").write_bytes(asked)

    def run(*command):
        return timed(lambda: subprocess.run(command, cwd=FOLDER, stdin=open(FOLDER / "asked", "rb"), stdout=subprocess.PIPE).stdout)
    printed, seconds = run("grep", "-Fxvf", "sums")
    line("today: grep -Fxvf, with the list", len(sums) * 33, us(seconds, 2 * len(sums)), int(printed != unknown))
    blobs = []
    for name, command in (("sqlite-cuckoo of the wheel", "sqlite-cuckoo"), ("sqlite-cuckoo of npm", str(NPX))):
        with open(FOLDER / "sums", "rb") as lines:
            subprocess.run([command, "build", "sums.cuckoo", "--fpr", "1e-4"], cwd=FOLDER, stdin=lines, check=True)
        blobs.append((FOLDER / "sums.cuckoo").read_bytes())
        printed, seconds = run(command, "check", "sums.cuckoo")
        told = set(printed.split())
        line(name, len(blobs[-1]), us(seconds, 2 * len(sums)),
             f"{len(told & {one.encode() for one in sums})} + {len(set(unknown.split()) - told)} of {len(others)}")
    line("  known ones printed + unknown ones not printed", wrong="equal files" if blobs[0] == blobs[1] else "FILES DIFFER")


# ---- which of 2,000 databases has this key? ----

def which(files=2000, users=500):
    line(f"{files:,} databases of {users} users: who has this one?", "bytes", "a question", "wrong")
    folder = FOLDER / "files"
    folder.mkdir()
    rows = [(f"user-{(file * users + i) % 900000:06d}@example.com", file) for file in range(files) for i in range(users)]
    for file in range(files):
        db = sqlite3.connect(folder / f"{file}.db", isolation_level=None)
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        db.execute("CREATE TABLE users(email TEXT PRIMARY KEY) WITHOUT ROWID")
        db.executemany("INSERT INTO users VALUES (?)", ((email,) for email, _ in rows[file * users:(file + 1) * users]))
        db.execute("COMMIT")
        db.close()

    def has(file, email):
        db = sqlite3.connect(f"file:{folder}/{file}.db?mode=ro", uri=True)
        found = db.execute("SELECT 1 FROM users WHERE email = ?", (email,)).fetchone()
        db.close()
        return found is not None
    found, seconds = timed(lambda: [file for file in range(files) if has(file, "user-012345@example.com")])
    line("today: each file is asked", 0, f"{seconds * 1e3:.1f} ms", int(found != [24, 1824]))
    db = connect()
    db.execute("CREATE TABLE directory(email, file)")
    db.executemany("INSERT INTO directory VALUES (?, ?)", rows)
    blob, = db.execute("SELECT cf_build(email, 0.01, 'value_bits=11', file) FROM directory").fetchone()
    db.execute("CREATE TABLE filters AS SELECT ? AS f", (blob,))
    owners = {}
    for email, file in rows:
        owners.setdefault(email, set()).add(file)
    sample = sorted(owners)[::4500]

    def ask(email):
        return {file for file, in db.execute("SELECT value FROM cf_values((SELECT cf_open(f) FROM filters), ?)", (email,)) if has(file, email)}
    answers, seconds = timed(lambda: [ask(email) for email in sample])
    line("a filter, and the files that it names", len(blob), f"{seconds / len(sample) * 1e3:.3f} ms",
         f"{sum(one != owners[email] for one, email in zip(answers, sample))} of {len(sample)}")
    db.execute("CREATE TABLE told AS SELECT email, value AS file FROM (SELECT DISTINCT email FROM directory), "
               "cf_values((SELECT cf_open(f) FROM filters), email)")
    missing, = db.execute("SELECT count(*) FROM (SELECT email, file FROM directory EXCEPT SELECT * FROM told)").fetchone()
    more, = db.execute("SELECT count(*) FROM (SELECT * FROM told EXCEPT SELECT email, file FROM directory)").fetchone()
    line("  of a million entries: missing", wrong=missing)
    line("  files named that need not be asked", wrong=more)


ship()
print()
line("A million keys, 50,000 members, for who must not err", "bytes", "a question", "wrong")
node("updates")
print()
known()
print()
which()
