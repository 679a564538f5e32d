"""Sweeps on every executor give the same bytes, and what goes wrong is said and leaves nothing that counts as done."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import destage as ds

from conftest import full

RUNS = int(os.environ.get("DESTAGE_ENGINE_RUNS", "120"))
ROOT = Path(__file__).resolve().parents[2]


def write_trace(path: Path, requests: int, seed: int = 1) -> Path:
    lines = ["arrival_ns,op,start_sector,sectors,stream,prev,atomic"]
    x = seed
    for i in range(requests):
        x = (x * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        page = (x >> 33) % (20 if (x >> 40) % 10 < 7 else 400)
        lines.append(f"{1000 * i},{'R' if x >> 62 == 0 else 'W'},{8 * page},8,0,,0")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def grid(tmp_path: Path) -> dict[str, object]:
    write_trace(tmp_path / "a.csv", 400)
    write_trace(tmp_path / "b.csv", 150, seed=7)
    seeds = list(range(-(-RUNS // 8)))
    traces = [tmp_path / "a.csv", tmp_path / "b.csv"]
    return {"trace": traces, "scheme": ["lru", ds.cac("arc")], "cache": ["40KiB", 81920], "read_alloc": "on", "seed": seeds}


@pytest.fixture
def whole(grid: dict[str, object], tmp_path: Path) -> bytes:
    """Results of one process."""
    with pytest.warns(ds.DestageWarning, match="no write names an old address"):
        results = ds.sweep(grid, tmp_path / "whole")
    assert len(results) == -(-RUNS // 8) * 8
    return (tmp_path / "whole" / "results.jsonl").read_bytes()


def same(out: Path, whole: bytes) -> None:
    assert (out / "results.jsonl").read_bytes() == whole
    batches = [path.name for path in (out / "batches").glob("*/*")]
    assert all(name.endswith(".jsonl") for name in batches), batches


def command(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-m", "destage", *map(str, words)]
    return subprocess.run(run, capture_output=True, text=True, **options)  # type: ignore[call-overload,no-any-return]


pytestmark = [
    pytest.mark.filterwarnings("ignore:.*remaps nothing and equals its inner scheme"),
    # Python 3.12 and later say so of every process that has threads.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes(grid: dict[str, object], whole: bytes, tmp_path: Path, start: str) -> None:
    context = multiprocessing.get_context(start)
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        ds.sweep(grid, tmp_path / "o", executor=executor, batch=3)
    same(tmp_path / "o", whole)


def test_threads_and_a_cache(grid: dict[str, object], whole: bytes, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as executor:
        ds.sweep(grid, tmp_path / "o", executor=executor, batch=1, trace_cache=tmp_path / "machine")
    same(tmp_path / "o", whole)
    copies = sorted(path.name for path in (tmp_path / "machine").glob("*/*.csv"))
    assert copies == ["a.csv", "b.csv"]
    assert len(list((tmp_path / "machine").glob("*/*.decoded"))) == 2


def test_processes_share_a_decoded_copy(grid: dict[str, object], whole: bytes, tmp_path: Path) -> None:
    with ProcessPoolExecutor(2) as executor:
        ds.sweep(grid, tmp_path / "o", executor=executor, batch=1, trace_cache=tmp_path / "machine", trace_memory=1024)
    same(tmp_path / "o", whole)
    assert len(list((tmp_path / "machine").glob("*/*.decoded"))) == 2


def test_the_command_gives_the_same(tmp_path: Path) -> None:
    write_trace(tmp_path / "a.csv", 300)
    file = tmp_path / "sweep.toml"
    file.write_text("trace = 'a.csv'\nscheme = ['lru', 'arc']\ncache = '40KiB'\n[[run]]\nseed = [1, 2]\n"
                    "[[run]]\ndevice = ['default', 'ecr-64g']\nset = [['t_read=20us'], ['t_read=40us']]\n")  # fmt: skip
    done = command("sweep", file, "--out", tmp_path / "command")
    assert done.returncode == 0, done.stderr
    grid = {
        "trace": "a.csv", "scheme": ["lru", "arc"], "cache": "40KiB",
        "run": [{"seed": [1, 2]}, {"device": ["default", "ecr-64g"], "set": [{"t_read": "20us"}, {"t_read": "40us"}]}],
    }  # fmt: skip
    swept = [ds.sweep(file, tmp_path / "file"), ds.sweep(grid, tmp_path / "keys", trace_dir=tmp_path, batch=2)]
    expected = (tmp_path / "command" / "results.jsonl").read_bytes()
    for out, results in zip(("file", "keys"), swept):
        same(tmp_path / out, expected)
        assert results.json_lines().encode() == expected
    # A worker of the command goes on with what Python has planned, and the other way round.
    shutil.rmtree(tmp_path / "file" / "batches")
    done = command("sweep", file, "--out", tmp_path / "file", "--shard", "1/1")
    assert done.returncode == 0, done.stderr
    ds.sweep(file, tmp_path / "file")
    same(tmp_path / "file", expected)


def test_what_is_done_is_not_repeated(grid: dict[str, object], whole: bytes, tmp_path: Path) -> None:
    ds.sweep(grid, tmp_path / "o", batch=5)
    files = sorted((tmp_path / "o" / "batches").glob("*/*.jsonl"))
    times = {path: path.stat().st_mtime_ns for path in files}
    files[3].unlink()
    ds.sweep(grid, tmp_path / "o")
    now = {path: path.stat().st_mtime_ns for path in files}
    assert [path for path in files if now[path] != times[path]] == [files[3]]
    same(tmp_path / "o", whole)


class Dying(ProcessPoolExecutor):
    """A pool, one process of which is killed after some batches."""

    left = 5

    def submit(self, *args: object, **kwargs: object) -> Future[object]:  # type: ignore[override]
        self.left -= 1
        if self.left == 0:
            return super().submit(_die)
        return super().submit(*args, **kwargs)  # type: ignore[arg-type]


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_pool_that_breaks_goes_on_with_the_next(grid: dict[str, object], whole: bytes, tmp_path: Path) -> None:
    with pytest.raises(ds.RunError, match="the executor broke: .*the same call continues from there") as raised:
        with Dying(2) as executor:
            ds.sweep(grid, tmp_path / "o", executor=executor, batch=1)
    assert isinstance(raised.value.__cause__, BrokenExecutor)
    assert not (tmp_path / "o" / "results.jsonl").exists()
    with ProcessPoolExecutor(2) as executor:
        ds.sweep(grid, tmp_path / "o", executor=executor)
    same(tmp_path / "o", whole)


def test_addresses_are_fetched_once_per_machine(whole: bytes, grid: dict[str, object], tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/a.csv", (tmp_path / "a.csv").read_bytes())
    memory.pipe("/bucket/b.csv", (tmp_path / "b.csv").read_bytes())
    remote = {**grid, "trace": ["memory://bucket/a.csv", "memory://bucket/b.csv"]}
    with ThreadPoolExecutor(2) as executor:
        ds.sweep(remote, tmp_path / "o", executor=executor, trace_cache=tmp_path / "machine", batch=4)
    same(tmp_path / "o", whole)
    # Another machine, whose store has changed.
    memory.pipe("/bucket/a.csv", b"other")
    shutil.rmtree(tmp_path / "machine")
    with pytest.raises(ds.UsageError, match="is no result|another sweep is there"):
        ds.sweep(remote, tmp_path / "o", trace_cache=tmp_path / "machine")
    hashes = {"memory://bucket/a.csv": "0" * 64}
    with pytest.raises(ds.UsageError, match="its SHA-256 is .*, not 0000"):
        ds.sweep({**remote, "sha256": hashes}, tmp_path / "p", trace_cache=tmp_path / "machine")
    assert not list((tmp_path / "machine").glob(".fetch-*"))


def test_bad_input(grid: dict[str, object], tmp_path: Path) -> None:
    for change, text in [
        ({"schem": "lru"}, "no option `schem`; did you mean `scheme`?"),
        ({"trace": "none.csv"}, "none.csv"),
        ({"trace": []}, "no trace given"),
        ({"seed": object()}, "option `seed` is a object"),
        ({"jobs": 3}, "`jobs` is not a key of a sweep file"),
        ({"seed": []}, "seed = []"),
    ]:
        with pytest.raises(ds.UsageError) as raised:
            ds.sweep({**grid, **change}, tmp_path / "o")
        assert text in str(raised.value)
    with pytest.raises(ds.UsageError, match="neither a number of runs nor a time"):
        ds.sweep(grid, tmp_path / "o", batch="x")
    ds.sweep(grid, tmp_path / "o")
    with pytest.raises(ds.UsageError, match="another sweep is there, sweep.toml"):
        ds.sweep({**grid, "cache": "1MiB"}, tmp_path / "o")
    ds.sweep({**grid, "cache": "1MiB"}, tmp_path / "o", fresh=True)


def test_two_sweeps_in_one_folder(grid: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    with open(tmp_path / "o" / ".destage.lock", "a") as lock:
        fcntl = pytest.importorskip("fcntl")
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ds.UsageError, match="another destage works there"):
            ds.sweep(grid, tmp_path / "o")
    ds.sweep(grid, tmp_path / "o")


def test_a_worker_without_the_trace(grid: dict[str, object], whole: bytes, tmp_path: Path) -> None:
    class Losing(ThreadPoolExecutor):
        def submit(self, *args: object, **kwargs: object) -> Future[object]:  # type: ignore[override]
            (tmp_path / "b.csv").unlink(missing_ok=True)
            return super().submit(*args, **kwargs)  # type: ignore[arg-type]

    with Losing(2) as executor, pytest.raises(ds.UsageError, match="batches failed; the others are done.*has no trace"):
        ds.sweep(grid, tmp_path / "o", executor=executor, batch=4)
    write_trace(tmp_path / "b.csv", 150, seed=7)
    ds.sweep(grid, tmp_path / "o")
    same(tmp_path / "o", whole)


def test_futures_that_are_lost(grid: dict[str, object], whole: bytes, tmp_path: Path) -> None:
    """An executor that loses what its workers did, or never lets them do it."""

    def lost() -> Future[object]:
        future: Future[object] = Future()
        future.set_exception(ValueError("lost"))
        return future

    class Losing(ThreadPoolExecutor):
        submitted = 0

        def submit(self, *args: object, **kwargs: object) -> Future[object]:  # type: ignore[override]
            self.submitted += 1
            kind = self.submitted % 3 if self.submitted <= 120 else 2
            if kind == 0:
                return lost()
            future = super().submit(*args, **kwargs)  # type: ignore[arg-type]
            if kind == 1:
                future.result()
                return lost()
            return future

    with Losing(2) as executor:
        ds.sweep(grid, tmp_path / "o", executor=executor, batch=1)
    same(tmp_path / "o", whole)
    # The 40 that were done are not done again.
    assert executor.submitted == 120 + 40

    class Never(ThreadPoolExecutor):
        submitted = 0

        def submit(self, *args: object, **kwargs: object) -> Future[object]:  # type: ignore[override]
            self.submitted += 1
            return lost()

    with Never(2) as never, pytest.raises(ds.RunError, match="120 of 120 batches failed; .* Batch 0: lost"):
        ds.sweep(grid, tmp_path / "p", executor=never, batch=1)
    assert never.submitted == 3 * 120


@full
def test_dask_with_a_worker_that_is_killed(grid: dict[str, object], whole: bytes, tmp_path: Path) -> None:
    """Two processes of a scheduler, one of which dies in the middle."""
    pytest.importorskip("distributed")
    script = tmp_path / "dask_sweep.py"
    script.write_text(textwrap.dedent("""
        import json, os, signal, sys, threading, time, warnings
        from pathlib import Path
        import dask, destage as ds
        from dask.distributed import Client, LocalCluster

        def main():
            grid, out = json.loads(sys.argv[1]), Path(sys.argv[2])
            # So long somebody may try to reach the one that is dead.
            dask.config.set({"distributed.comm.timeouts.connect": "8s", "temporary-directory": str(out.parent)})
            cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
            with cluster, Client(cluster) as client:
                pids = list(client.run(os.getpid).values())
                killed = []

                def kill():
                    while len(list(out.glob("batches/*/*.jsonl"))) < 8:
                        time.sleep(0.002)
                    os.kill(pids[0], signal.SIGKILL)
                    killed.append(len(list(out.glob("batches/*/*.jsonl"))))

                killer = threading.Thread(target=kill, daemon=True)
                killer.start()
                warnings.simplefilter("ignore")
                results = ds.sweep(grid, out, executor=client.get_executor(), batch=2)
                killer.join(10)
                print(len(results), killed[0], pids[0] in client.run(os.getpid).values())

        if __name__ == "__main__":
            main()
        """))
    keys = {**grid, "trace": [str(path) for path in grid["trace"]], "scheme": ["lru", "cac(arc)"]}  # type: ignore[attr-defined]
    words = [sys.executable, str(script), json.dumps(keys), str(tmp_path / "o")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    runs, killed_at, alive = done.stdout.split()
    assert int(runs) == whole.count(b"\n") and alive == "False"
    assert 8 <= int(killed_at) < int(runs) // 2, "it was killed in the middle"
    same(tmp_path / "o", whole)


@full
def test_mpi(grid: dict[str, object], whole: bytes, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("there is no mpiexec (pip install mpich)")
    script = tmp_path / "mpi_sweep.py"
    script.write_text(textwrap.dedent("""
        import json, sys, warnings
        import destage as ds
        from mpi4py.futures import MPIPoolExecutor

        if __name__ == "__main__":
            warnings.simplefilter("ignore")
            with MPIPoolExecutor() as executor:
                print(len(ds.sweep(json.loads(sys.argv[1]), sys.argv[2], executor=executor, batch=3)), executor.num_workers)
        """))
    keys = {**grid, "trace": [str(path) for path in grid["trace"]], "scheme": ["lru", "cac(arc)"]}  # type: ignore[attr-defined]
    words = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script), json.dumps(keys), str(tmp_path / "o")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(whole.count(b"\n")), "2"]
    same(tmp_path / "o", whole)


@full
def test_submitit_on_slurm(tmp_path: Path) -> None:
    """Shares of the command as an array of Slurm, by submitit."""
    submitit = pytest.importorskip("submitit")
    start = ROOT / "cluster" / "one-node-slurm.sh"
    slurm = subprocess.run([start, "start", tmp_path / "slurm"], capture_output=True, text=True)
    if slurm.returncode == 77:
        pytest.skip(slurm.stderr)
    assert slurm.returncode == 0, slurm.stderr
    try:
        write_trace(tmp_path / "a.csv", 400)
        file = tmp_path / "sweep.toml"
        file.write_text("trace = 'a.csv'\nscheme = ['lru', 'arc']\ncache = '40KiB'\nseed = [1, 2, 3, 4]\n")
        ds.sweep(file, tmp_path / "whole")
        os.environ["SLURM_CONF"] = str(tmp_path / "slurm" / "slurm.conf")
        plan = command("sweep", file, "--out", tmp_path / "o", "--batch", "1", "--plan")
        assert plan.returncode == 0, plan.stderr
        executor = submitit.SlurmExecutor(folder=tmp_path / "logs")
        executor.update_parameters(time=10, array_parallelism=2)
        words = [[sys.executable, "-m", "destage", "sweep", str(file), "--out", str(tmp_path / "o"), "--shard", f"{i}/3"] for i in (1, 2, 3)]
        jobs = executor.map_array(subprocess.check_call, words)
        # Without accounting submitit knows of the end by files only.
        end = time.monotonic() + 300
        results = [job.paths.result_pickle for job in jobs]
        while not all(path.exists() for path in results):
            assert time.monotonic() < end, [job.stderr() for job in jobs]
            time.sleep(0.2)
        ds.sweep(file, tmp_path / "o")
        same(tmp_path / "o", (tmp_path / "whole" / "results.jsonl").read_bytes())
    finally:
        os.environ.pop("SLURM_CONF", None)
        subprocess.run([start, "stop", tmp_path / "slurm"], check=False)


def test_the_page_of_clusters(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "CLUSTER.md").read_text()
    script = tmp_path / "script.py"
    script.write_text(page.split("```python\n")[1].split("```")[0])
    made = command("trace", "synth", "hot-cold", "--requests", 2000, "--to", "msr", "-o", "hm_0.csv", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    subprocess.run(["gzip", "hm_0.csv"], cwd=tmp_path, check=True)
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "swept" / "results.jsonl").read_text().count("\n") == 2 * 2 * 3
