# SPDX-License-Identifier: MIT
"""A billion keys in filters of eight shards: built, checked, merged, put into filter tables, opened in Node.

    python3 tests/ship/billion.py FOLDER [KEYS [SHARDS]]       KEYS (125,000,000) of each of SHARDS (8)

Run it in the folder of the project, after make and make build/filter.wasm; it loads build/cuckoo.so. Two processes work at
once; full size takes 4 GB of disk. Key i belongs to shard i modulo SHARDS. Each step leaves FOLDER/<step>.json, and is skipped
when that is there: so it may be stopped and called again. Times of a question are processor time. Without Node it says so and
goes on. At the end it writes FOLDER/billion.tsv. A missed key ends it.
"""
import array
import json
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "python")]
import bench_shards  # noqa: E402
import tables  # noqa: E402

ASKED = 100000  # present keys of a shard, and ten times as many absent ones
OPTIONS = "capacity={} seed=7"
COLUMNS = ["step", "minutes", "MB", "memory, MB", "us a question", "asked", "missed", "wrong, %"]
BEGAN = time.monotonic()
NODE = """
import { readFileSync, writeFileSync } from 'node:fs';
const [, , module, path, questions, answers] = process.argv, { open } = await import(module);
const now = () => process.cpuUsage(), ms = (start) => { const used = process.cpuUsage(start); return (used.user + used.system) / 1e3; };
const keys = Array.from(new BigInt64Array(readFileSync(questions).buffer.slice(0)), Number);
let start = now();
const filter = open(readFileSync(path)), opened = ms(start);
start = now();
const single = Uint8Array.from(keys, (key) => (filter.contains(key) ? 1 : 0)), one = ms(start);
start = now();
const many = filter.containsMany(keys), all = ms(start);
writeFileSync(answers, single);
console.log(JSON.stringify({ open_ms: opened, us: (1e3 * one) / keys.length, us_many: (1e3 * all) / keys.length,
  equal: many.every((answer, i) => answer === single[i]), memory: process.resourceUsage().maxRSS / 1024 }));
"""


def say(text):
    print(f"{(time.monotonic() - BEGAN) / 60:6.1f} min  {text}", flush=True)


def memory():
    """The most that this process has had, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Billion:
    def __init__(self, folder, keys, shards):
        self.folder, self.keys, self.shards = os.path.abspath(folder), keys, shards
        self.asked = min(ASKED, keys)
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def step(self, name, work, *arguments):
        """What `work` answers: kept in a file, with the minutes that it took."""
        path = self.path(name + ".json")
        if not os.path.exists(path):
            start = time.monotonic()
            done = work(*arguments)
            if done is None:
                return None
            done["minutes"] = (time.monotonic() - start) / 60
            with open(path + ".new", "w", encoding="utf-8") as file:
                json.dump(done, file)
            os.replace(path + ".new", path)
        with open(path, encoding="utf-8") as file:
            done = json.load(file)
        say(f"{name}: " + ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                                    for key, value in done.items()))
        return done

    def filter(self, shard):
        with open(self.path(f"{shard}.filter"), "rb") as file:
            return file.read()

    def sample(self, shard):
        """Keys of the shard, then ten times as many that are in none, but would be in this one."""
        drawn = random.Random(shard)
        return ([shard + self.shards * drawn.randrange(self.keys) for _ in range(self.asked)],
                [shard - self.shards * drawn.randrange(1, 2**50) for _ in range(10 * self.asked)])

    def build(self, shard):
        db = bench_shards.connect()
        blob = db.execute("WITH n(i) AS (SELECT ?1 UNION ALL SELECT i + ?2 FROM n LIMIT ?3) SELECT cf_build(i, 0.01, ?4) FROM n",
                          (shard, self.shards, self.keys, OPTIONS.format(self.keys))).fetchone()[0]
        with open(self.path(f"{shard}.filter"), "wb") as file:
            file.write(blob)
        return {"MB": len(blob) / 1e6, "memory": memory()}

    def ask(self, blobs, shards):
        """Asks all filters for the samples of the shards: denied keys, wrong answers, microseconds."""
        db, done = bench_shards.connect(), {"asked": 0, "missed": 0, "wrong": 0, "absent": 0, "us": 0.0}
        db.execute("CREATE TABLE asked(k INTEGER)")
        for shard in shards:
            for absent, keys in enumerate(self.sample(shard)):
                db.execute("DELETE FROM asked")
                db.executemany("INSERT INTO asked VALUES (?)", ((key,) for key in keys))
                found, seconds = bench_shards.timed(db, "SELECT sum(cf_contains(?, k)) FROM asked", blobs[0])
                done["absent" if absent else "asked"] += len(keys)
                done["wrong" if absent else "missed"] += found if absent else len(keys) - found
                done["us"] += 1e6 * seconds / 11 / self.asked / len(shards)
        return {**done, "wrong": 100 * done["wrong"] / done["absent"]}

    def check(self, shard):
        """Keys only: `table` looks at every bucket, for nothing damaged is imported."""
        return {**self.ask([self.filter(shard)], [shard]), "memory": memory()}

    def merge(self):
        """Of two shards; that of all would be as long as no blob of SQLite may be."""
        blob, seconds = bench_shards.timed(bench_shards.connect(), "SELECT cf_merge(?, ?)", self.filter(0), self.filter(1))
        return {**self.ask([blob], [0, 1]), "MB": len(blob) / 1e6, "merge_s": seconds, "memory": memory()}

    def table(self, shard):
        """A filter table in a file."""
        path = self.path(f"{shard}.db")
        if os.path.exists(path):
            os.remove(path)
        db = bench_shards.connect(path)
        db.execute(f"CREATE VIRTUAL TABLE shard{shard} USING cuckoo_filter(capacity={self.keys}, fpr=0.01, seed=7)")
        db.execute(f"INSERT INTO shard{shard}(shard{shard}, key) VALUES ('import', ?)", (self.filter(shard),))
        return {"MB": os.path.getsize(path) / 1e6, "memory": memory()}

    def node(self):
        """The first shard, by the C library as WebAssembly."""
        import filter_process
        if not filter_process.WASM.exists() or not shutil.which(filter_process.NODE):
            return say("node: not measured, for build/filter.wasm (make build/filter.wasm) or Node is missing")
        filter_process.write_package(Path(self.folder))
        keys = [key for keys in self.sample(0) for key in keys]
        with open(self.path("0.keys"), "wb") as file:
            array.array("q", keys).tofile(file)
        ran = subprocess.run([filter_process.NODE, "--input-type=module", "-", self.path("filter.mjs"), self.path("0.filter"),
                              self.path("0.keys"), self.path("0.answers")], input=NODE, capture_output=True, text=True)
        if ran.returncode:
            sys.exit(f"Node failed: {ran.stderr}")
        db = bench_shards.connect()
        db.execute("CREATE TABLE asked(k INTEGER)")
        db.executemany("INSERT INTO asked VALUES (?)", ((key,) for key in keys))
        here = bytes(row[0] for row in db.execute("SELECT cf_contains(?, k) FROM asked ORDER BY rowid", (self.filter(0),)))
        with open(self.path("0.answers"), "rb") as file:
            there = file.read()
        return {**json.loads(ran.stdout), "asked": len(keys), "unlike": sum(a != b for a, b in zip(here, there, strict=True))}

    def one(self, call):
        kind, shard = call
        return self.step(f"{kind}-{shard}", getattr(self, kind), shard)

    def each(self, kind):
        """Of all shards, two at once; each in a process of its own, whose memory is measured."""
        with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
            return pool.map(self.one, [(kind, shard) for shard in range(self.shards)], chunksize=1)

    def alone(self, kind):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            return pool.apply(self.step, (kind, getattr(self, kind)))

    def rows(self):
        steps = [(f"{kind}, {self.shards} shards of {self.keys}", self.each(kind)) for kind in ("build", "check", "table")]
        steps += [(kind, [done]) for kind in ("merge", "node") if (done := self.alone(kind))]
        for name, done in steps:
            missed = sum(one.get("missed", 0) + one.get("unlike", 0) + (not one.get("equal", True)) for one in done)
            if missed:
                sys.exit(f"{name}: {missed} keys are missed, or answered otherwise")
            mean = {key: sum(one.get(key, 0) for one in done) / len(done) for key in ("us", "wrong")}
            most = max(one.get("memory", 0) for one in done)
            sums = {key: sum(one.get(key, 0) for one in done) for key in ("minutes", "MB", "asked")}
            asked = [f"{mean['us']:.3f}", sums["asked"], missed] if sums["asked"] else "---"
            yield [name, f"{sums['minutes']:.2f}", f"{sums['MB']:.1f}" if sums["MB"] else "-", f"{most:.0f}", *map(str, asked),
                   f"{mean['wrong']:.3f}" if mean["wrong"] else "-"]

    def run(self):
        say(f"{self.shards} shards of {self.keys} keys")
        tables.write(self.path("billion.tsv"), COLUMNS, list(self.rows()))
        say(f"{self.path('billion.tsv')} is written")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3, 4):
        sys.exit("usage: billion.py FOLDER [KEYS [SHARDS]]")
    Billion(sys.argv[1], *(map(int, (sys.argv[2:] + ["125000000", "8"][len(sys.argv) - 2:])))).run()
