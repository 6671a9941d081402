# SPDX-License-Identifier: MIT
"""sqlite-cuckoo/filter in a real browser: headless Chromium, with a page of tests/ship/browser from a server of this program.

    browser.py [--keys N]     (make test-browser)

The page builds a filter of a million domains, downloads it, reopens it, asks it in a worker, and sends what it found. Its
bytes, and those of the file that was downloaded, must be those of cf_build. It asks filters of all key rules, and an exact one
with ten deltas, for a million keys of all types; its answers must be those of SQL. Without Chromium it says so and ends with 77. The
last line is "N passed, N failed"."""
import argparse
import http.server
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))
import filter_process  # noqa: E402
import support  # noqa: E402

TYPES = {".html": "text/html", ".mjs": "text/javascript", ".js": "text/javascript", ".txt": "text/plain",
         ".json": "application/json"}
POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"  # as strict as a page with WebAssembly may be


def domains(n):
    return [f"{'abcdefghij'[i % 10]}{i * 2654435761 % 2**32:x}.example.{('com', 'org', 'net')[i % 3]}" for i in range(n)]


def serve(folder, received):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            path = folder / self.path.split("?")[0].lstrip("/")
            if path.parent != folder or not path.is_file():
                return self.send_error(404)
            content = path.read_bytes()
            self.send_response(200)
            self.send_header("Content-Type", TYPES.get(path.suffix, "application/octet-stream"))
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self):
            received[self.path.lstrip("/")] = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def run_page(chromium, folder, downloads, received, seconds):
    """Until the page has sent its report and the download is there."""
    profile = folder / "profile"
    (profile / "Default").mkdir(parents=True)
    (profile / "Default/Preferences").write_text(json.dumps(
        {"download": {"default_directory": str(downloads), "prompt_for_download": False}}))
    server = serve(folder, received)
    log = open(folder / "chromium.log", "w", encoding="utf-8")
    process = subprocess.Popen(
        [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         f"--user-data-dir={profile}", f"http://127.0.0.1:{server.server_port}/page.html"], stdout=log, stderr=log)
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until and not ("report" in received and (downloads / "domains.filter").exists()):
            time.sleep(0.1)
    finally:
        process.terminate()
        process.wait(20)
        server.shutdown()
        log.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=1_000_000)
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium or not filter_process.WASM.exists():
        print(f"skipped: {'build/filter.wasm' if chromium else 'Chromium'} is not there; on Debian: chromium clang lld")
        return 77
    results = []

    def check(name, good):
        results.append(good)
        print(f"{'ok   ' if good else 'FAIL '} {name}")

    with tempfile.TemporaryDirectory(prefix="cuckoo-browser-", ignore_cleanup_errors=True) as made:
        folder, downloads, received = Path(made), Path(made) / "downloads", {}
        downloads.mkdir()
        filter_process.write_package(folder)
        for path in (ROOT / "tests/ship/browser").iterdir():
            shutil.copy(path, folder)
        keys = domains(arguments.keys)
        (folder / "domains.txt").write_text("\n".join(keys))
        db = support.connect()
        db.execute("CREATE TABLE k(x)")
        db.executemany("INSERT INTO k VALUES (?)", ((key,) for key in keys))
        blob = support.ask(db, "SELECT cf_build(x, 0.001) FROM k")
        (folder / "sql.filter").write_bytes(blob)
        seed = int(os.environ.get("CUCKOO_TEST_SEED") or random.randrange(2**32))
        print(f"seed {seed}")
        (folder / "cases.json").write_text(json.dumps([
            {"name": name, "blobs": filter_process.wire(blobs), "keys": filter_process.wire(some, True), "answers": answers}
            for name, blobs, some, answers in filter_process.cases(db, random.Random(seed), arguments.keys)]))
        run_page(chromium, folder, downloads, received, 180)
        report = json.loads(received.get("report", b'{"error": "no report within 180 s"}'))
        for name, good in report.get("checks", {}).items():
            check(f"page: {name}", good)
        check(f"page: no error{' but ' + report['error'] if 'error' in report else ''}", "error" not in report)
        check("bytes that the page has sent: those of cf_build", received.get("filter") == blob)
        file = downloads / "domains.filter"
        check("bytes of the file that was downloaded: those of cf_build", file.exists() and file.read_bytes() == blob)
        print(json.dumps(report.get("milliseconds", {})))
        if not all(results):
            print((folder / "chromium.log").read_text(encoding="utf-8", errors="replace")[-2000:])
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return not all(results)


if __name__ == "__main__":
    os.environ.setdefault("CUCKOO_SO", "build/cuckoo.so")
    sys.exit(main())
