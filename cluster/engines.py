"""What a sweep costs on each engine with two workers, and that all of them give the same bytes.

    python cluster/engines.py tiny --runs 2000            # runs that take no time: overhead of a task
    python cluster/engines.py real --traces DIR           # 200 runs of real traces on a device: efficiency

Engines: one, processes, dask, mpi, slurm (one-node-slurm.sh, needs root). One that is not installed is left out, loudly.
Prints a table in Markdown. On a machine that others use, wall times say little; `CPU s` then says what an engine adds.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import destage as ds

#: The settings of Dask that docs/CLUSTER.md recommends.
QUIET_DASK = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
HERE = Path(__file__).resolve().parent
WORKERS = 2
REAL = ["cloudphysics-114k.msr.csv.zst", "msnfs-150k.disksim.zst", "hadoop-eternity10-137k.msr.csv.zst",
        "desktop-mayun2-87k.msr.csv.zst", "tencent-cbs-50k.csv.zst"]  # fmt: skip


def grid_of(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The sweep that all engines do."""
    if args.kind == "real":
        return {
            **({"limit": args.limit} if args.limit else {}),
            "trace": [str(Path(args.traces, name)) for name in REAL],
            "scheme": ["lru", "arc", "lirs", "req-block", "prober(lru)"],
            "cache": ["1MiB", "4MiB", "16MiB", "64MiB"],
            "device": "default", "addresses": "wrap", "set": [["t_read=40us"], ["t_read=75us"]],
        }  # fmt: skip
    trace = folder / "tiny.csv"
    lines = [f"{1000 * i},{'WR'[i % 3 == 2]},{8 * (i * i % 40)},8,0,,0\n" for i in range(100)]
    trace.write_text("arrival_ns,op,start_sector,sectors,stream,prev,atomic\n" + "".join(lines))
    seeds = list(range(-(-args.runs // 10)))
    return {"trace": str(trace), "scheme": ["lru", "fifo", "arc", "lirs", "clock"], "cache": ["40KiB", "80KiB"], "seed": seeds}


def spent() -> float:
    """CPU seconds of this process and of those of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def nothing() -> None:
    """Starts a worker."""
    time.sleep(0.2)


def warmed(executor: Executor) -> Executor:
    """The executor with its workers started."""
    for future in [executor.submit(nothing) for _ in range(WORKERS)]:
        future.result()
    return executor


def timed(grid: dict[str, Any], out: Path, executor: Executor | None, batch: Any) -> float:
    """Wall-clock seconds of the sweep."""
    start = time.perf_counter()
    ds.sweep(grid, out, executor=executor, batch=batch, jobs=1)
    return time.perf_counter() - start


def one(grid: dict[str, Any], out: Path, batch: Any) -> float:
    return timed(grid, out, None, batch)


def processes(grid: dict[str, Any], out: Path, batch: Any) -> float:
    with ProcessPoolExecutor(WORKERS) as executor:
        return timed(grid, out, warmed(executor), batch)


def dask(grid: dict[str, Any], out: Path, batch: Any) -> float:
    import dask.config
    from dask.distributed import Client, LocalCluster

    # What workers and scheduler observe of themselves takes a twelfth of a processor.
    dask.config.set(QUIET_DASK)
    cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Client(cluster) as client:
        return timed(grid, out, warmed(client.get_executor()), batch)


def mpi(grid: dict[str, Any], out: Path, batch: Any) -> float:
    import mpi4py  # noqa: F401

    mpiexec = shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or shutil.which("mpiexec")
    if mpiexec is None:
        raise ImportError("there is no mpiexec (pip install mpich)")
    words = [mpiexec, "-n", str(WORKERS + 1), sys.executable, "-m", "mpi4py.futures", __file__, "mpi-inside"]
    done = subprocess.run([*words, json.dumps([grid, str(out), batch])], check=True, capture_output=True, text=True)
    return float(done.stdout)


def mpi_inside(text: str) -> None:
    from mpi4py.futures import MPIPoolExecutor

    grid, out, batch = json.loads(text)
    with MPIPoolExecutor() as executor:
        print(timed(grid, Path(out), warmed(executor), batch))


def in_array(words: list[Any], environment: dict[str, str]) -> None:
    """A job for each worker, to its end."""
    submit = ["sbatch", "--parsable", f"--array=1-{WORKERS}", "--chdir", environment["TMPDIR"], *words]
    job = subprocess.run(submit, check=True, env=environment, capture_output=True, text=True)
    # `sbatch --wait` would look ever more seldom, after a minute every half a minute.
    left = ["squeue", "--noheader", "--jobs", job.stdout.strip()]
    while subprocess.run(left, env=environment, capture_output=True, text=True).stdout.strip():
        time.sleep(0.2)


def slurm(grid: dict[str, Any], out: Path, batch: Any) -> float:
    """The array script of the command."""
    folder = out.parent / "slurm"
    started = subprocess.run([HERE / "one-node-slurm.sh", "start", folder], capture_output=True, text=True)
    if started.returncode != 0:
        raise ImportError(started.stderr.strip())
    try:
        file = out.parent / "sweep.toml"
        file.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in grid.items()))
        environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "TMPDIR": str(out.parent)}
        environment["PATH"] = os.path.dirname(sys.executable) + os.pathsep + environment["PATH"]
        # The controller looks for jobs 3 s after it has started.
        in_array(["--output=/dev/null", "--wrap=true"], environment)
        start = time.perf_counter()
        size = [] if batch is None else ["--batch", str(batch)]
        sweep = ["destage", "sweep", str(file), "--out", str(out)]
        subprocess.run([*sweep, "--plan", *size], check=True, env=environment, stdout=subprocess.DEVNULL)
        in_array([HERE / "sweep.sbatch", file, out, str(WORKERS)], environment)
        subprocess.run(["destage", "sweep", "--out", out, "--merge"], check=True, env=environment, capture_output=True)
        return time.perf_counter() - start
    finally:
        subprocess.run([HERE / "one-node-slurm.sh", "stop", folder], check=False)


ENGINES = {"one": one, "processes": processes, "dask": dask, "mpi": mpi, "slurm": slurm}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["tiny", "real"])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--limit", type=int, help="real: requests of each trace")
    parser.add_argument("--traces", default=os.environ.get("DESTAGE_TRACES", "."))
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--batch", default=None, help="as destage sweep --batch; tiny: 1")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="engines-") as name:
        folder = Path(name)
        grid = grid_of(args, folder)
        batch = args.batch or ("1" if args.kind == "tiny" else None)
        first: bytes | None = None
        serial = 0.0
        print("| engine | wall s | CPU s | CPU s of runs | efficiency | ms for a batch | batches | bytes |")
        print("|--|--:|--:|--:|--:|--:|--:|--|")
        for engine in args.engines.split(","):
            out = folder / engine
            before = spent()
            try:
                wall = ENGINES[engine](grid, out, batch)
            except ImportError as error:
                print(f"| {engine} | left out: {error} |", flush=True)
                continue
            used = spent() - before
            results = (out / "results.jsonl").read_bytes()
            first = first or results
            with (out / "costs.csv").open(newline="") as costs:
                runs = sum(float(row["cpu_s"]) for row in csv.DictReader(costs))
            number = len(list(out.glob("batches/*/*.jsonl")))
            workers = 1 if engine == "one" else WORKERS
            serial = serial or wall
            # What Slurm starts is no child of this process.
            cpu = "-" if engine == "slurm" else f"{used:.2f}"
            same = "same" if results == first else "DIFFERENT"
            print(
                f"| {engine} | {wall:.2f} | {cpu} | {runs:.2f} | {serial / wall / workers:.0%} "
                f"| {1e3 * (wall * workers - runs) / number:.2f} | {number} | {same} |",
                flush=True,
            )
            if results != first:
                sys.exit(f"{engine} gives other bytes than the first engine")


if __name__ == "__main__":
    if sys.argv[1:2] == ["mpi-inside"]:
        mpi_inside(sys.argv[2])
    else:
        main()
