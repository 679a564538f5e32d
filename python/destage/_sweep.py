"""Sweeps: traces x schemes x sizes x devices x settings on any executor."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from pathlib import Path
from typing import Any, Optional, Union

from destage import _destage
from destage._errors import DestageError, RunError, UsageError
from destage._progress import follow
from destage._results import Results
from destage._run import cache_text
from destage._frames import READING
from destage._scheme import Scheme
from destage._traces import file_of, read_trace, traces_in
from destage._warn import warn

PathLike = Union[str, "os.PathLike[str]"]
#: A sweep file, or what stands in one.
Grid = Union[PathLike, Mapping[str, Any]]

#: What sweep files are called that no file has.
NAME = "sweep.toml"
#: How often a batch is given to the executor that loses it.
ATTEMPTS = 3


def sweep(
    grid: Grid,
    out: PathLike | None = None,
    *,
    executor: Executor | None = None,
    trace_dir: PathLike | None = None,
    trace_cache: PathLike | None = None,
    batch: int | str | None = None,
    jobs: int | None = None,
    memory: int | str | None = None,
    trace_memory: int | str | None = None,
    fresh: bool = False,
    progress: bool | None = None,
) -> Results:
    """Run all combinations of traces, schemes, sizes, devices and settings, in batches on an executor.

    Finished batches are in the folder ``out``, and the same call continues from there. The results do not depend
    on the executor, the order, or the number of workers: they are the bytes that ``destage sweep`` writes for the
    same sweep file.

    Parameters
    ----------
    grid:
        A sweep file, or its keys: names of options of ``destage run`` with ``_`` or ``-``, and ``trace``. An option
        that takes one value may have a list of values; ``"run"`` is a list of parts with keys of their own.
        Traces are paths, anything else that :func:`destage.read_trace` takes, which is written into ``out``, or addresses for :mod:`fsspec` such as ``s3://bucket/hm_0.csv.gz``; ``"sha256"`` gives
        hashes that they must have.
    out:
        Folder of the sweep, shared by all workers. By default a temporary folder of this machine, which is
        removed at the end.
    executor:
        Executor of the batches: any :class:`concurrent.futures.Executor`, such as a ``ProcessPoolExecutor``,
        ``dask.distributed.Client(...).get_executor()`` or ``mpi4py.futures.MPIPoolExecutor()``. By default this
        process, one batch after the other on all processors.
    trace_dir:
        Folder of traces and device files whose paths are not absolute, by default the folder of the sweep file, or the
        current folder. The workers use it, too.
    trace_cache:
        Folder on each machine into which each trace is copied and decoded once, by its hash, for all workers.
        Addresses are fetched into it, by default into ``destage/traces`` of the user's cache.
    batch:
        Size of a batch: a number of runs, or their estimated time on one processor such as ``"30s"``.
    jobs:
        Runs at the same time in a worker, 1 by default with an executor.
    memory:
        Memory limit of a worker, such as ``"4GiB"``.
    trace_memory:
        Memory of a worker for the requests of one trace, by default a quarter of ``memory``, at most ``"1GiB"``.
        With a ``trace_cache``, runs of larger traces read the decoded copy that all workers of the machine share.
    fresh:
        Remove the sweep in ``out``, and start again.
    progress:
        Show a bar of tqdm; by default if tqdm is there and standard error is a terminal.

    A run that is refused does not end the others: a warning names it with the reason, and
    ``Results.left_out`` lists it.

    Raises
    ------
    UsageError
        Bad usage or input, no run is possible, or ``out`` has another sweep or is in use.
    RunError
        A batch failed, and the others are finished; or the executor broke.

    >>> import destage as ds
    >>> trace = getfixture("tmp_path") / "t.csv"
    >>> _ = trace.write_text("arrival_ns,op,start_sector,sectors,stream,prev,atomic\\n" + "0,W,0,8,0,,0\\n" * 9)
    >>> r = ds.sweep({"trace": trace, "scheme": ["lru", "fifo"], "cache": ["8KiB", "16KiB"], "seed": [1, 2]})
    >>> [(x.scheme, x.cache_pages, x.seed) for x in r][:3]
    [('lru', 2, 1), ('lru', 4, 1), ('fifo', 2, 1)]
    """
    sizes = {"memory": memory, "trace_memory": trace_memory}
    options: dict[str, Any] = {"jobs": jobs}
    options.update({key: f"{size}B" if isinstance(size, int) else size for key, size in sizes.items()})
    if jobs is None and executor is not None:
        options["jobs"] = 1
    options = {key: value for key, value in options.items() if value is not None}
    with contextlib.ExitStack() as stack:
        if out is None:
            out = stack.enter_context(tempfile.TemporaryDirectory(prefix="destage-sweep-"))
        out = os.path.abspath(out)
        keys, name, folder = _keys(grid, out)
        if trace_dir is not None:
            folder = os.path.abspath(trace_dir)
        cache = _cache(trace_cache, keys)
        keys = _with_hashes(keys, cache)
        place = _Place(folder, cache, tuple(options.items()))
        size = None if batch is None else str(batch)
        job, warnings = _destage.sweep_job(json.dumps(keys), name, out, *place.native(), size, fresh)
        # An exception may be kept, and with it what holds the folder.
        stack.callback(job.release)
        for warning in warnings:
            warn(warning)
        _do(job, out, place, executor, progress)
        merged, left_out = job.merge()
        for text in left_out:
            warn(f"left out: {text}")
        results = Results.from_json_lines(Path(merged).read_text(encoding="utf-8"))
        return Results(list(results), left_out)


class _Place:
    """Facts about a worker's machine; small, since they are pickled with every batch."""

    def __init__(self, folder: str, cache: str | None, options: tuple[tuple[str, Any], ...]) -> None:
        self.folder, self.cache, self.options = folder, cache, options

    def native(self) -> tuple[str, str | None, dict[str, Any]]:
        return self.folder, self.cache, dict(self.options)


def _do(
    job: _destage.SweepJob, out: str, place: _Place, executor: Executor | None, progress: bool | None
) -> None:
    """Do the batches that are not done."""
    sizes, todo, key = job.batches(), job.open_batches(), job.key()
    batches = len(todo)
    failed: list[tuple[int, Exception]] = []
    done, total = 0, sum(sizes[batch] for batch in todo)
    with follow(progress, "sweep", "runs") as told:
        for _ in range(ATTEMPTS):
            lost = {}
            for batch, future in _ended(executor, todo, out, key, place):
                try:
                    for warning in future.result():
                        warn(warning)
                except (BrokenExecutor, CancelledError) as error:
                    text = f"the executor broke: {error}; the results so far are in {out}, and the same call continues from there"
                    raise RunError(text) from error
                except DestageError as error:
                    failed.append((batch, error))
                except Exception as error:
                    lost[batch] = error
                    continue
                done += sizes[batch]
                if told is not None:
                    told(done, total)
            # Dask may lose a future with its worker, whether the batch was done or not: the folder says.
            todo = [batch for batch in job.open_batches() if batch in lost]
            done += sum(sizes[batch] for batch in lost if batch not in todo)
            if told is not None:
                told(done, total)
            if not todo:
                break
        failed += [(batch, lost[batch]) for batch in todo]
    if failed:
        batch, first = min(failed, key=lambda one: one[0])
        text = f"{len(failed)} of {batches} batches failed; the others are done. Batch {batch}: {first}"
        kind = UsageError if all(isinstance(one[1], UsageError) for one in failed) else RunError
        raise kind(text) from first


def _ended(
    executor: Executor | None, todo: list[int], out: str, key: str, place: _Place
) -> Iterator[tuple[int, Future[list[str]]]]:
    """The batches as they end."""
    if executor is None:
        for batch in todo:
            future: Future[list[str]] = Future()
            try:
                future.set_result(work(out, key, place, batch))
            except DestageError as error:
                future.set_exception(error)
            yield batch, future
        return
    futures: dict[Future[list[str]], int] = {}
    try:
        for batch in todo:
            futures[executor.submit(work, out, key, place, batch)] = batch
        for future in as_completed(futures):
            yield futures[future], future
    finally:
        # Only if something was raised: those that are under way end by themselves.
        for future in futures:
            future.cancel()


_of_thread = threading.local()


def work(out: str, key: str, place: _Place, batch: int) -> list[str]:
    """Do one batch, in whatever process this is; gives what is to be warned of.

    A thread keeps its worker, which has the trace of its last batch decoded.
    """
    wanted = (os.getpid(), out, key, place.folder, place.cache, place.options)
    if getattr(_of_thread, "wanted", None) != wanted:
        _of_thread.worker = _destage.SweepWorker(out, key, *place.native())
        _of_thread.wanted = wanted
    worker = _of_thread.worker
    path, sha256 = worker.trace(batch)
    if is_address(path):
        if place.cache is None:
            raise UsageError(f"{path}: addresses need a trace_cache")
        fetch(path, place.cache, sha256)
    try:
        return worker.work(batch)  # type: ignore[no-any-return]
    except BaseException:
        # It may have ended in the middle of anything.
        _of_thread.wanted = None
        raise


def is_address(path: str) -> bool:
    """Is it an address for fsspec, and no path?"""
    scheme, found, _ = path.partition("://")
    return bool(found) and scheme.replace("+", "").isalnum()


def fetch(address: str, cache: str, sha256: str | None = None) -> str:
    """Fetch a trace into the cache of this machine, unless it is there; gives its SHA-256.

    Whoever comes second waits for the first. A file that has another hash is refused.
    """
    import fcntl

    name = address.rsplit("/", 1)[-1]
    if sha256 is not None and Path(cache, sha256, name).is_file():
        return sha256
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError as error:
        raise UsageError(f"{address}: addresses need the package fsspec") from error
    os.makedirs(cache, exist_ok=True)
    with open(Path(cache, ".lock-" + hashlib.sha256(address.encode()).hexdigest()[:16]), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if sha256 is not None and Path(cache, sha256, name).is_file():
            return sha256
        hashed = hashlib.sha256()
        with tempfile.NamedTemporaryFile(dir=cache, prefix=".fetch-", delete=False) as copy:
            try:
                with fsspec.open(address, "rb") as remote:
                    while piece := remote.read(1 << 20):
                        hashed.update(piece)
                        copy.write(piece)
                copy.flush()
                os.fsync(copy.fileno())
                found = hashed.hexdigest()
                if sha256 is not None and found != sha256:
                    raise UsageError(
                        f"{address}: not the trace that the sweep was planned with: its SHA-256 is {found}, not {sha256}"
                    )
                target = Path(cache, found, name)
                target.parent.mkdir(exist_ok=True)
                os.replace(copy.name, target)
            except OSError as error:
                raise RunError(f"cannot fetch {address} into {cache}: {error}") from error
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(copy.name)
    return found


def _cache(given: PathLike | None, keys: Mapping[str, Any]) -> str | None:
    """The cache of traces; one of the user's if there are addresses."""
    if given is not None:
        return os.path.abspath(given)
    if not any(is_address(trace) for trace in _traces(keys)):
        return None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(home, "destage", "traces")


def _traces(keys: Mapping[str, Any]) -> list[str]:
    """All traces of a sweep."""
    named = [part.get("trace", []) for part in (keys, *keys.get("run", []))]
    return [trace for traces in named for trace in ([traces] if isinstance(traces, str) else traces)]


def _with_hashes(keys: dict[str, Any], cache: str | None) -> dict[str, Any]:
    """The same with the hash of every address, which is in the cache then."""
    hashes = dict(keys.get("sha256", {}))
    for trace in dict.fromkeys(_traces(keys)):
        if is_address(trace) and cache is not None:
            hashes[trace] = fetch(trace, cache, hashes.get(trace))
    return {**keys, "sha256": hashes} if hashes else keys


def _keys(grid: Grid, out: str) -> tuple[dict[str, Any], str, str]:
    """The keys of a sweep, the name of its file, and the folder of its traces."""
    if not isinstance(grid, Mapping):
        text, name = _destage.sweep_file(os.fspath(grid))
        return json.loads(text), name, os.path.dirname(os.path.abspath(grid))
    keys = {_key(key): value for key, value in grid.items()}
    parts = keys.pop("run", [])
    hashes = keys.pop("sha256", {})

    def values(given: Mapping[str, Any]) -> dict[str, Any]:
        keys = {_key(key): value for key, value in given.items()}
        traces = traces_in(keys.get("trace", []))
        if not all(isinstance(trace, (str, os.PathLike)) for trace in traces):
            # Tables are read here, and how that is done is nothing that workers are told.
            reading = {name: keys.pop(_key(name)) for name in READING if _key(name) in keys}
            keys["trace"] = [_trace_file(trace, reading, out) for trace in traces]
        return {key: _value(key, value) for key, value in keys.items()}

    made = values(keys)
    if parts:
        made["run"] = [values(part) for part in parts]
    if hashes:
        made["sha256"] = dict(hashes)
    return made, NAME, os.getcwd()


def _trace_file(trace: Any, reading: dict[str, Any], out: str) -> str:
    """The path of a trace; what is no file is written into the folder of the sweep, by its content."""
    if isinstance(trace, (str, os.PathLike)):
        if reading:
            raise UsageError(
                f"destage.sweep: {next(iter(reading))}: files and tables are read in different ways; read the tables by "
                "destage.read_trace"
            )
        return os.fspath(trace)
    trace = read_trace(trace, progress=False, **reading)
    if isinstance(trace, list):
        raise UsageError("destage.sweep: volumes: read the table by destage.read_trace, and give its volumes")
    folder = Path(out, "traces")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        file = file_of(trace, made)
        with open(file, "rb") as content:
            hashed = hashlib.sha256()
            while piece := content.read(1 << 20):
                hashed.update(piece)
        place = folder / hashed.hexdigest()[:16]
        place.mkdir(exist_ok=True)
        kept = place / os.path.basename(file)
        os.replace(file, kept)
        return os.fspath(kept)


def _key(key: str) -> str:
    return key.replace("_", "-")


def _value(key: str, value: Any) -> Any:
    """A value as JSON has it, in the words of a sweep file."""
    if isinstance(value, Scheme):
        if value.own:
            raise UsageError(
                "destage.sweep: a scheme of one's own is code that no key tells from its next version; run it with "
                "destage.run, in tasks of the executor"
            )
        return value.text
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        # Keys of a device.
        return [f"{name}={one}" for name, one in value.items()]
    if key == "cache" and not isinstance(value, str) and not isinstance(value, Iterable):
        return cache_text(value)
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, Iterable):
        return [_value(key, one) for one in value]
    if hasattr(value, "__index__"):
        # Seeds may be larger than what TOML has for numbers.
        whole = int(value)
        return whole if whole < 1 << 63 else str(whole)
    if isinstance(value, float):
        return value
    raise UsageError(f"destage.sweep: option `{key}` is a {type(value).__name__}; allowed: text, numbers, True, False and lists")
