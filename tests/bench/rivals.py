# SPDX-License-Identifier: MIT
"""Which of a million texts are among a million known ones? Each way that people would take, in a process of its own.

    rivals.py full|quick FOLDER [SEED]    writes rivals.tsv
    rivals.py fill FOLDER KEYS SEED       writes the lists
    rivals.py WAY FOLDER KEYS             one way, in a folder with the lists

Processor seconds, with the reading of the lists, to build and to look all texts up when 1 % and when 50 % are known; peak
memory of the process; bytes that stay on the disk. The lists are tables in the database for SQL, and files of lines for others.
Every answer is checked: an exact way finds as many as there are, a filter at most 2 % more. Ways whose program is not there
are left out: Debian has golang-github-dcso-bloom-cli and python3-flor; npm install --prefix build/clients @duckdb/node-api
bloom-filters.
"""
import json
import os
import random
import resource
import shutil
import subprocess
import sys

import database

COLUMNS = ["way", "exact", "build, s", "1 %, s", "50 %, s", "peak MB", "disk MB"]
JOIN = "SELECT count(*) FROM {0} AS a JOIN known AS k ON k.key = a.key"
INDEX = "CREATE UNIQUE INDEX by_key ON known(key)"
STORE = "CREATE TABLE filters AS SELECT cf_build(key{}) AS f FROM known"
SQL = {  # what is made, and the query for a table of texts
    "SQLite, an index": ([INDEX], JOIN),
    "SQLite, no index": ([], JOIN),
    "an index and a filter within the query": ([INDEX], JOIN + " WHERE cf_contains((SELECT cf_open(cf_build(key)) FROM known), a.key)"),
    "an index and rows=on": ([INDEX, "CREATE VIRTUAL TABLE fast USING cuckoo_filter(content='known(key)', rows=on)"], JOIN.replace("known", "fast")),
    "rowids as values, no index": ([STORE.format(", 0.001, 'value_bits=20', rowid")],
                                   "SELECT count(*) FROM {0} AS a CROSS JOIN cf_values((SELECT cf_open(f) FROM filters), a.key) AS v "
                                   "CROSS JOIN known AS k ON k.rowid = v.value AND k.key = a.key"),
    "a filter in a row*": ([STORE.format("")], "SELECT count(*) FROM {0} AS a WHERE cf_contains((SELECT cf_open(f) FROM filters), key)")}
PYTHON = {"Python, set": "set(known)", "Python, sqlite_cuckoo.Filter*": "__import__('sqlite_cuckoo').Filter.build(known)",
          "Python, flor (Bloom)*": "flor(known)"}
COMMANDS = {  # {0}: the folder, {1}: the list
    "sqlite-cuckoo check*": ("python3 -m sqlite_cuckoo build {0}/f.cuckoo < {0}/known", "python3 -m sqlite_cuckoo check --known --count {0}/f.cuckoo < {0}/{1}"),
    "bloom, of DCSO*": ("bloom create -n {2} -p 0.01 {0}/f.bloom && bloom insert {0}/f.bloom < {0}/known", "bloom check {0}/f.bloom < {0}/{1} | wc -l"),
    "grep -F -x -f": (":", "grep -F -x -c -f {0}/known {0}/{1}"),
    "sort, comm": ("LC_ALL=C sort -o {0}/f.sorted {0}/known", "LC_ALL=C sort {0}/{1} | LC_ALL=C join - {0}/f.sorted | wc -l")}
LINES = "const fs = require('fs'), lines = (name) => fs.readFileSync(name, 'utf8').trimEnd().split('\\n');"
NODE = {  # `make` of the known lines, and whether `it` has a line
    "Node, Set": ("new Set(known)", "it.has(one)"),
    "Node, sqlite-cuckoo/filter*": ("require('./filter.js').build(known)", "it.contains(one)"),
    "Node, bloom-filters*": ("require('bloom-filters').BloomFilter.from(known, 0.01)", "it.has(one)")}
ASK = LINES + """
let last = process.cpuUsage(), said = [];
const lap = () => { const now = process.cpuUsage(last); last = process.cpuUsage(); return (now.user + now.system) / 1e6; };
(async () => {
  const known = lines('known'), it = %s;
  said.push([lap(), 0]);
  for (const name of ['one', 'fifty']) { let n = 0; for (const one of lines(name)) if (%s) n++; said.push([lap(), n]); }
  console.log(JSON.stringify(said));
})();"""
DUCK = LINES + """
let last = process.cpuUsage(), said = [];
const lap = () => { const now = process.cpuUsage(last); last = process.cpuUsage(); return (now.user + now.system) / 1e6; };
(async () => {
  const {DuckDBInstance} = require('@duckdb/node-api'), db = await DuckDBInstance.create('f.duckdb', {threads: '1'}), c = await db.connect();
  for (const name of ['known', 'one', 'fifty']) await c.run(`CREATE TABLE ${name} AS SELECT column0 AS key FROM read_csv('${name}', header=false)`);
  await c.run('CHECKPOINT');
  said.push([lap(), 0]);
  for (const name of ['one', 'fifty']) {
    const found = await c.runAndReadAll(`SELECT count(*)::INTEGER FROM ${name} AS a JOIN known AS k ON k.key = a.key`);
    said.push([lap(), found.getRows()[0][0]]);
  }
  console.log(JSON.stringify(said));
})();"""


def seconds():
    return sum(os.times()[:4])


def lap(step):
    before = seconds()
    answer = step()
    return [seconds() - before, answer]


def lines(name):
    with open(name, encoding="utf-8") as file:
        return file.read().splitlines()


def flor(known):
    import flor as of_debian
    made = of_debian.BloomFilter(n=len(known), p=0.01)
    for one in known:
        made.add(one.encode())
    return type("", (), {"__contains__": lambda self, key: key.encode() in made})()


def answers(way, keys):
    """[seconds, found] of the build and of both lists."""
    lists = ["one", "fifty"]
    if way in SQL:
        db = database.connect("f.db")
        made, query = SQL[way]
        return [lap(lambda: [db.execute(sql) for sql in made] and 0), *(lap(lambda: db.execute(query.format(name)).fetchone()[0]) for name in lists)]
    if way in PYTHON:
        its = []
        return [lap(lambda: its.append(eval(PYTHON[way], {**globals(), "known": lines("known")})) or 0),
                *(lap(lambda: sum(1 for one in lines(name) if one in its[0])) for name in lists)]
    if way in COMMANDS:
        build, check = COMMANDS[way]
        return [lap(lambda: subprocess.run(build.format(".", "", keys), shell=True, check=True) and 0),
                *(lap(lambda: int(subprocess.run(check.format(".", name), shell=True, stdout=subprocess.PIPE, text=True).stdout)) for name in lists)]
    script = DUCK if way not in NODE else ASK % NODE[way]
    return json.loads(subprocess.run(["node", "-e", script], stdout=subprocess.PIPE, check=True).stdout)


def one(way, folder, keys):
    os.chdir(folder)
    files = set(os.listdir())
    before = os.path.getsize("f.db")
    found = answers(way, keys)
    kept = sum(os.path.getsize(name) for name in set(os.listdir()) - files) + os.path.getsize("f.db") - before
    with open("/proc/self/status", encoding="ascii") as status:
        own = int(next(line for line in status if line.startswith("VmHWM")).split()[1])
    peak = max(own if way in (*SQL, *PYTHON) else 0, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    print(json.dumps([found, peak / 1024, kept / 1e6]))


def fill(folder, keys, seed):
    """The lists, as files and as tables."""
    rng = random.Random(seed)
    numbers = rng.sample(range(20 * keys), 3 * keys)
    text = "user-{:09}@example.com".format
    known, strange = [text(i) for i in numbers[:keys]], [text(i) for i in numbers[keys:]]
    lists = {"known": known}
    for name, share in (("one", 0.01), ("fifty", 0.5)):
        lists[name] = rng.sample(known, int(share * keys)) + strange[:keys - int(share * keys)]
        rng.shuffle(lists[name])
    db = database.connect(os.path.join(folder, "base.db"))
    for name, texts in lists.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write("\n".join(texts) + "\n")
        db.execute(f"CREATE TABLE {name}(key TEXT)")
        db.execute("BEGIN")
        db.executemany(f"INSERT INTO {name} VALUES (?)", ((one,) for one in texts))
        db.execute("COMMIT")
    db.close()


def is_there(way):
    modules = [*os.environ.get("NODE_PATH", "").split(":"), "build/clients/node_modules"]
    name = "@duckdb/node-api" if "DuckDB" in way else "bloom-filters" if "bloom-filters" in way else ""
    return (not name or any(os.path.isdir(os.path.join(folder, name)) for folder in modules)) and shutil.which(
        "bloom" if "DCSO" in way else "node" if "Node" in way or name else "python3") and (
        "flor" not in way or not subprocess.run([sys.executable, "-c", "import flor"], stderr=subprocess.DEVNULL).returncode) and (
        "cuckoo/filter" not in way or os.path.exists("build/filter.wasm"))


def packages(folder):
    """Those of Python and Node, as make dist has them."""
    sys.path.insert(0, "ext/packages")
    import dist
    texts = {name: text for name, text in dist.python_package("0").items() if not name.endswith(("md", "sql"))}
    if os.path.exists("build/filter.wasm"):
        texts["filter.js"] = dist.filter_package("0", dist.Path("build/filter.wasm"), "")["filter.js"]
    os.makedirs(os.path.join(folder, "sqlite_cuckoo"))
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    for name in ("cuckoo.so", "_filter.abi3.so"):
        shutil.copy(os.path.join("build", name), os.path.join(folder, "sqlite_cuckoo"))


def measure(size, folder, seed):
    keys, rows = 1_000_000 if size == "full" else 10_000, []
    subprocess.run([sys.executable, os.path.abspath(__file__), "fill", folder, str(keys), str(seed)], check=True)  # this one stays small
    right = [keys // 100, keys // 2]
    packages(folder)
    path = {"NODE_PATH": os.pathsep.join([os.environ.get("NODE_PATH", ""), os.path.abspath("build/clients/node_modules")]),
            "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1", "CUCKOO_SO": os.path.abspath("build/cuckoo.so")}
    for way in (*SQL, "DuckDB", *PYTHON, *COMMANDS, *NODE):
        if not is_there(way) or (size == "full" and way == "grep -F -x -f" and os.sysconf("SC_PHYS_PAGES") * 4096 < 4e9):
            print(f"left out: {way}", flush=True)
            continue
        shutil.copy(os.path.join(folder, "base.db"), os.path.join(folder, "f.db"))
        done = subprocess.run([sys.executable, os.path.abspath(__file__), way, folder, str(keys)], env={**os.environ, **path}, stdout=subprocess.PIPE, check=True)
        found, peak, disk = json.loads(done.stdout)
        for (_, n), expected in zip(found[1:], right):
            if not expected <= n <= (expected + 0.02 * keys if "*" in way else expected):
                raise SystemExit(f"{way}: {n}, not {expected}")
        rows.append([way.rstrip("*"), "no" if "*" in way else "yes", *(f"{taken:.2f}" for taken, _ in found), f"{peak:.0f}", f"{disk:.1f}"])
        for name in os.listdir(folder):
            if name.startswith("f."):
                os.remove(os.path.join(folder, name))
        print(*rows[-1], sep="\t", flush=True)
    return {"rivals": (COLUMNS, rows)}


if __name__ == "__main__":
    if sys.argv[1:2] in (["full"], ["quick"]):
        database.call(measure)
    elif sys.argv[1] == "fill":
        fill(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        one(sys.argv[1], sys.argv[2], int(sys.argv[3]))
