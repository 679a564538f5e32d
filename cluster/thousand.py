"""What many workers ask of the shared folder and of Dask's scheduler, measured on one machine.

    python cluster/thousand.py folder --workers 200                 # needs strace, and `destage` on the path
    python cluster/thousand.py scheduler --workers 200              # needs distributed

`folder`: each worker is a process `destage sweep --shard I/N` under strace, a few at a time; --per-machine workers share
a trace cache. `scheduler`: all workers are in one process, and their tasks sleep. Prints a table in Markdown, with the same
for --scaled workers.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engines import QUIET_DASK

CALLS = "trace=%file,read,pread64,copy_file_range,write,flock,fsync,getdents64"
#: A call of strace -y that returned: its name, its arguments, and what it gave.
CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)(.*)")


def destage(words: list[str], folder: Path) -> float:
    """CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["destage", *words], check=True, cwd=folder, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def counted(log: Path, folder: Path) -> Counter[str]:
    """What a worker asked of the shared folder, and read of its trace there and on its machine."""
    found: Counter[str] = Counter()
    for line in log.read_text(errors="replace").splitlines():
        call = CALL.match(line)
        if call is None:
            continue
        name, arguments, given = call[1], call[2], int(call[3])
        shared = f"{folder}/out" in arguments or '"out' in arguments
        if name in ("read", "pread64"):
            for what, path in (("manifest", "/out/manifest.jsonl>"), ("trace", f"{folder}/t.csv>"), ("machine", "/machine")):
                if path in arguments.split(",")[0]:
                    found[f"B of {what} read"] += max(given, 0)
        elif name == "flock":
            found["locks asked for"] += shared
            found["locks that another had"] += shared and "EAGAIN" in call[4]
        elif name == "fsync":
            found["waits for the disk"] += shared
        elif name == "getdents64":
            found["folders listed"] += shared and given > 0
        elif name != "write" and shared:
            found["calls with a path"] += 1
            created = name.startswith("open") and "O_CREAT" in arguments and given >= 0
            made = created or name.startswith(("mkdir", "rename", "unlink")) and given >= 0
            found["of them changes"] += made
    return found


def folder(args: argparse.Namespace, place: Path) -> None:
    """Every worker in a folder."""
    requests = [f"{1000 * i},{'WR'[i % 3 == 2]},{8 * (i * i % 40)},8,0,,0\n" for i in range(args.requests)]
    (place / "t.csv").write_text("arrival_ns,op,start_sector,sectors,stream,prev,atomic\n" + "".join(requests))
    seeds = list(range(args.workers * args.batches // 10))
    file = f"trace = 't.csv'\nscheme = ['lru', 'fifo', 'arc', 'lirs', 'clock']\ncache = ['40KiB', '80KiB']\nseed = {seeds}\n"
    (place / "s.toml").write_text(file)
    planned = destage(["sweep", "s.toml", "--out", "out", "--batch", "1", "--plan"], place)
    manifest = (place / "out/manifest.jsonl").stat().st_size

    def worker(number: int) -> Counter[str]:
        log, machine = place / f"log-{number}", place / f"machine-{number // args.per_machine}"
        words = ["destage", "sweep", "s.toml", "--out", "out", "--shard", f"{number + 1}/{args.workers}", "--jobs", "1"]
        trace = ["strace", "-f", "-y", "-qq", "-e", CALLS, "-o", str(log), *words, "--trace-cache", str(machine)]
        subprocess.run(trace, check=True, cwd=place, capture_output=True)
        return counted(log, place)

    with ThreadPoolExecutor(args.at_once) as pool:
        workers = list(pool.map(worker, range(args.workers)))
    all_of_it = sum(workers, Counter[str]())
    merged = destage(["sweep", "--out", "out", "--merge"], place)
    files = list((place / "out/batches").glob("*/*"))
    whole = place / "whole"
    destage(["sweep", "s.toml", "--out", str(whole)], place)
    if (place / "out/results.jsonl").read_bytes() != (whole / "results.jsonl").read_bytes():
        sys.exit("the workers give other bytes than one process")
    factor = args.scaled / args.workers
    print(f"| {len(files)} batches | {args.workers} workers | per worker | {args.scaled} workers, {factor * len(files):.0f} batches |")
    print("|--|--:|--:|--:|")
    # The manifest grows with the workers, and all read it; machines with their traces grow as workers do.
    all_of_it["B of manifest read"] += 0
    for what in sorted(all_of_it):
        number = all_of_it[what]
        scaled = number * factor * (factor if what == "B of manifest read" else 1)
        print(f"| {what} | {number:,} | {number / args.workers:,.1f} | {scaled:,.0f} |")
    print(f"| files of batches | {len(files)} | | {factor * len(files):.0f} |")
    print(f"| B of the manifest | {manifest:,} | | {factor * manifest:,.0f} |")
    print(f"| CPU s to plan, to merge | {planned:.2f}, {merged:.2f} | | {factor * planned:.1f}, {factor * merged:.1f} |")


def busy(process: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle(out: str, key: str, seconds: float, batch: int) -> list[str]:
    """A batch that takes no processor: with the arguments and the answer of one that does."""
    time.sleep(seconds)
    return []


async def workers(address: str, number: int, stop: Path) -> None:
    """All workers in this process, until `stop` is there."""
    import contextlib

    from distributed import Worker

    async with contextlib.AsyncExitStack() as stack:
        for _ in range(number):
            await stack.enter_async_context(Worker(address, nthreads=1, dashboard=False))
        while not stop.exists():
            await asyncio.sleep(0.2)


def scheduler(args: argparse.Namespace, place: Path) -> None:
    """Dask's scheduler, and workers that sleep."""
    # All processes have them: 200 workers with the usual ones would keep their process busy by themselves.
    for key, value in QUIET_DASK.items():
        os.environ["DASK_" + key.upper().replace(".", "__").replace("-", "_")] = str(value)
    from distributed import Client

    file = place / "scheduler.json"
    served = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not file.exists():
        time.sleep(0.1)
    with Client(scheduler_file=str(file)) as client:  # type: ignore[no-untyped-call]
        address = client.scheduler.address
        own = [sys.executable, __file__, "workers", "--address", address, "--workers", str(args.workers), "--stop", str(place / "stop")]
        others = subprocess.Popen(own, stderr=subprocess.DEVNULL)
        client.wait_for_workers(args.workers, timeout=300)
        print(f"| tasks of | scheduler: CPU s | of the time | ms for a task | client: CPU s | {args.scaled} workers with 30 s |")
        print("|--|--:|--:|--:|--:|--:|")
        time.sleep(5)
        before, start = busy(served.pid), time.perf_counter()
        time.sleep(20)
        rest = (busy(served.pid) - before) / (time.perf_counter() - start)
        print(f"| none | | {rest:.1%} | | | {rest * args.scaled / args.workers:.0%} for heartbeats |", flush=True)
        for seconds in args.seconds:
            tasks = args.workers * args.batches
            before, own_before, start = busy(served.pid), time.process_time(), time.perf_counter()
            with client.get_executor() as executor:
                out = "/shared/project/folder/of/the/sweep"
                futures = [executor.submit(idle, out, "0" * 32, seconds, batch) for batch in range(tasks)]
                for future in futures:
                    future.result()
            used, wall = busy(served.pid) - before, time.perf_counter() - start
            task = (used - rest * wall) / tasks
            load = args.scaled / 30 * task + rest * args.scaled / args.workers
            print(
                f"| {seconds:g} s | {used:.2f} | {used / wall:.1%} | {1e3 * task:.2f} | {time.process_time() - own_before:.2f} | {load:.0%} |",
                flush=True,
            )
        (place / "stop").touch()
        others.wait()
    served.terminate()
    served.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["folder", "scheduler", "workers"])
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--batches", type=int, default=10, help="of each worker")
    parser.add_argument("--scaled", type=int, default=1000, help="number of workers that is calculated")
    parser.add_argument("--per-machine", type=int, default=20, help="folder: workers that share a trace cache")
    parser.add_argument("--at-once", type=int, default=4, help="folder: workers at the same time")
    parser.add_argument("--requests", type=int, default=2000, help="folder: of the trace")
    parser.add_argument("--seconds", type=float, nargs="+", default=[3.0, 1.0], help="scheduler: of a task")
    parser.add_argument("--address", default="", help=argparse.SUPPRESS)
    parser.add_argument("--stop", type=Path, default=Path(), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.kind == "workers":
        asyncio.run(workers(args.address, args.workers, args.stop))
        return
    with tempfile.TemporaryDirectory(prefix="thousand-") as name:
        {"folder": folder, "scheduler": scheduler}[args.kind](args, Path(name).resolve())


if __name__ == "__main__":
    main()
