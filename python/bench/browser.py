"""How fast the engine of the playground is beside the command: the same runs of LRU in Chromium and natively.

    cargo xtask site
    cargo build --release -p destage-cli
    python python/bench/browser.py [--site target/site/playground] [--destage target/release/destage] [--runs 5]

Prints a table of CPU seconds: of the worker's thread, by /proc, and of the run as its record has it. Medians of pairs
of runs, one after the other. Needs Linux and Chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DEVICES = ["none", "default", "req-block-128g", "enterprise-tlc-1t"]
KEYS = {"scheme": "lru", "cache": "64MiB"}
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
PAGE = """<!doctype html><script type="module">
import { Pool } from './pool.js';
const tell = async (path) => (await fetch(path, { method: 'POST' })).text();
try {
  const pool = new Pool(await WebAssembly.compileStreaming(fetch('destage.wasm')));
  const { runs, keys, devices } = await (await fetch('bench.json')).json();
  const engine = await pool.extra();
  const trace = new File([await (await fetch('trace.csv')).arrayBuffer()], 'trace.csv');
  await engine.ask({ ask: 'read', name: 'trace.csv' }, trace);
  for (const device of devices) {
    for (let run = 0; run < runs; run++) {
      await tell(`native/${device}`);
      await engine.ask({ ask: 'plan', keys: { ...keys, device } });
      await tell(`begin/${device}`);
      await engine.ask({ ask: 'run', number: 0 });
      await tell(`end/${device}`);
    }
  }
  await tell('done/ok');
} catch (error) {
  await tell(`done/${encodeURIComponent(String(error))}`);
}
</script>"""


def worker_seconds() -> float:
    """CPU seconds of all threads that are called as those of Web Workers."""
    total = 0
    for task in Path("/proc").glob("[0-9]*/task/[0-9]*"):
        try:
            if (task / "comm").read_text().startswith("DedicatedWorker"):
                total += int((task / "schedstat").read_text().split()[0])
        except OSError:  # It has ended.
            continue
    return total / 1e9


class Bench:
    """Times that the page has the server measure."""

    def __init__(self, destage: str, trace: Path) -> None:
        self.destage, self.trace = destage, trace
        self.page: dict[str, list[float]] = {device: [] for device in DEVICES}
        self.native: dict[str, list[float]] = {device: [] for device in DEVICES}
        self.begun = 0.0
        self.ended = threading.Event()
        self.fault = ""

    def hear(self, what: str, value: str) -> None:
        if what == "native":
            self.native[value].append(self.run_natively(value))
        elif what == "begin":
            self.begun = worker_seconds()
        elif what == "end":
            self.page[value].append(worker_seconds() - self.begun)
        else:
            self.fault = "" if value == "ok" else value
            self.ended.set()

    def run_natively(self, device: str) -> float:
        with tempfile.TemporaryDirectory() as out:
            options = [f"--{key}={value}" for key, value in {**KEYS, "device": device}.items()]
            words = [self.destage, "run", self.trace, *options, "--jobs=1", "--out", out]
            subprocess.run(words, check=True, capture_output=True)
            record = json.loads(Path(out, "results.jsonl").read_text())
        return float(record["run"]["cpu_s"])


class Handler(SimpleHTTPRequestHandler):
    """The page's files, and what it tells."""

    def __init__(self, *args: Any, bench: Bench, **more: Any) -> None:
        self.bench = bench
        super().__init__(*args, **more)

    def do_POST(self) -> None:
        what, value = self.path.strip("/").split("/", 1)
        self.bench.hear(what, value)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", default="target/site/playground")
    parser.add_argument("--destage", default="target/release/destage")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"there is no browser: {', '.join(BROWSERS)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "site")
        shutil.copytree(args.site, folder)
        trace = folder / "trace.csv"
        synth = [args.destage, "trace", "synth", "hot-cold", "--requests", "1000000", "--output", trace]
        subprocess.run(synth, check=True, capture_output=True)
        (folder / "bench.html").write_text(PAGE)
        (folder / "bench.json").write_text(json.dumps({"runs": args.runs, "keys": KEYS, "devices": DEVICES}))
        bench = Bench(args.destage, trace)
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, bench=bench, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/bench.html"
        words = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={name}/browser", url]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as page:
            ended = bench.ended.wait(timeout=1800)
            page.kill()
        server.shutdown()
    if not ended or bench.fault:
        sys.exit(f"the page says: {bench.fault or 'nothing'}")
    print("| device | page, CPU s | native, CPU s | ratio | ratios of pairs |")
    print("|--|--:|--:|--:|--:|")
    for device in DEVICES:
        pairs = [a / b for a, b in zip(bench.page[device], bench.native[device], strict=True)]
        medians = [statistics.median(times[device]) for times in (bench.page, bench.native)]
        print(
            f"| `{device}` | {medians[0]:.2f} | {medians[1]:.2f} | {medians[0] / medians[1]:.1f} "
            f"| {min(pairs):.1f} to {max(pairs):.1f} |"
        )


if __name__ == "__main__":
    main()
