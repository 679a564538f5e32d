"""Runs: traces x schemes x cache sizes."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

from destage import _destage
from destage._errors import UsageError
from destage._policy import Declared
from destage._progress import follow
from destage._results import Results
from destage._scheme import Scheme, SchemeLike, number, scheme_of
from destage._traces import TraceLike, read_trace, several, traces_in
from destage._warn import warn

#: A cache size: text with its unit, bytes, or a share of the footprint as a real number.
CacheSize = Union[str, int, float]

#: Options that name the logs of a single run.
LOGS = ("log_evictions", "log_requests", "series", "timeline")


def run(
    trace: TraceLike | Sequence[TraceLike],
    schemes: SchemeLike | Iterable[SchemeLike] | None = None,
    *,
    cache: CacheSize | Iterable[CacheSize] | None = None,
    device: str | os.PathLike[str] | None = None,
    set: Mapping[str, object] | Iterable[str] | None = None,
    warmup: int | str | None = None,
    page: int | str | None = None,
    read_alloc: str | bool | None = None,
    read_fill: str | None = None,
    charge_metadata: bool = False,
    host_fs: str | Iterable[str] | None = None,
    time_scale: float | str | None = None,
    closed_loop: int | None = None,
    addresses: str | None = None,
    unbalance: bool = False,
    hits_by_size: bool = False,
    flush_at_end: bool = False,
    seed: int | None = None,
    jobs: int | None = None,
    trace_columns: str | None = None,
    memory: int | str | None = None,
    log_evictions: str | os.PathLike[str] | None = None,
    log_requests: str | os.PathLike[str] | None = None,
    series: str | os.PathLike[str] | None = None,
    series_every: int | str | None = None,
    timeline: str | os.PathLike[str] | None = None,
    timeline_from: str | None = None,
    timeline_to: str | None = None,
    charts: bool = False,
    progress: bool | None = None,
) -> Results:
    """Replay traces through caches, as ``destage run`` does, with the same records.

    The interpreter lock is released during the runs, and Ctrl-C ends them.

    A run that is refused, for example because the cache is too small for its scheme, does not end the others. A
    warning names its scheme, its size, and the reason, and ``Results.left_out`` lists it. The same holds for one
    of several traces.

    Parameters
    ----------
    trace:
        A path, a :class:`Trace`, a data frame or dictionary of columns (:func:`read_trace`), or several of them.
    schemes:
        Schemes: text such as ``"cac(lru)"``, results of functions such as :func:`destage.awb`, or your own
        schemes (:class:`destage.Policy`). By default ``"lru"``, or
        ``"drain(lru,low=0.25,high=0.25)"`` on a device with a bounded buffer.
    cache:
        Cache sizes: ``"16MiB"``, bytes, or a share of the pages that the trace touches such as ``0.1``.
        By default the cache size of the device, or 16 MiB without one.
    device:
        Name of a preset (:func:`destage.devices`) or path of a device file. Without a device, hits and flash
        traffic are counted, and nothing takes time.
    set:
        Keys of the device to override, such as ``{"t_read": "75us"}``.
    warmup:
        Warm-up before the measured part: a number of requests, ``"10%"``, or ``"passes=1"``.
    page:
        Page size, such as ``"8KiB"`` or bytes; by default the page size of the device, or 4 KiB without one.
    read_alloc:
        Read allocation: whether a page that missed on a read is inserted into the cache. ``"on"``, ``"off"``, or
        ``"scheme"`` (as each scheme declares); True and False mean on and off.
    read_fill:
        Sectors that a read miss loads into the cache: those of the whole ``"page"``, or the ``"requested"`` ones.
    charge_metadata:
        Subtract the scheme's worst-case metadata from the cache size, so that fewer pages fit.
    host_fs:
        Models of file systems between trace and device, such as ``"lfs"``.
    time_scale:
        Multiply all arrival times by this factor.
    closed_loop:
        Queue depth of a closed loop; the arrival times of the trace are ignored. Needs a device.
    addresses:
        How to handle a trace that has addresses beyond the device: ``"fit"`` (the default) keeps only the 1 MiB
        regions that the trace touches, or smaller ones, and wraps if even pages do not fit; ``"wrap"`` takes
        addresses modulo the size of the device, ``"refuse"`` raises an error.
    unbalance, hits_by_size, flush_at_end:
        Options of the same names, described by ``destage run --help``.
    seed:
        Seed of schemes that draw random numbers, 1 by default.
    jobs:
        Runs at the same time; all processors by default.
    trace_columns:
        Which columns of a table hold what, as in :func:`read_trace`, for what is read here.
    memory:
        Memory limit of the process, such as ``"4GiB"``.
    log_evictions, log_requests, series, series_every, timeline, timeline_from, timeline_to:
        Logs of a single run, described by ``destage run --help``.
    charts:
        Collect the data that :meth:`Results.report` draws over time; slows the runs.
    progress:
        Show a bar of tqdm; by default if tqdm is there and standard error is a terminal.

    Raises
    ------
    UsageError
        Bad usage or input, with the message of the command; or no run is possible.
    RunError
        All runs failed, or one failed for a reason that concerns all of them.

    >>> import destage as ds
    >>> t = ds.read_trace({
    ...     "arrival_ns": range(0, 6000, 1000), "op": ["W"] * 6, "start_sector": [0, 8, 0, 16, 0, 8],
    ...     "sectors": [8] * 6,
    ... })
    >>> r = ds.run(t, ["lru", "fifo"], cache=["8KiB", 1.0])
    >>> [(x.scheme, x.cache_pages, x.counts.page_hits) for x in r]
    [('lru', 2, 2), ('lru', 3, 3), ('fifo', 2, 1), ('fifo', 3, 3)]
    """
    given = [] if schemes is None else several(schemes, Scheme)
    compositions = [scheme_of(scheme) for scheme in given]
    options: dict[str, Any] = {
        "scheme": None if schemes is None else [composition.text for composition in compositions],
        "cache": None if cache is None else [cache_text(size) for size in several(cache)],
        "device": _path(device),
        "set": None if set is None else _set(set),
        "warmup": warmup,
        "page": _bytes(page),
        "read_alloc": ("on" if read_alloc else "off") if isinstance(read_alloc, bool) else read_alloc,
        "read_fill": read_fill,
        "host_fs": None if host_fs is None else several(host_fs),
        "time_scale": number(time_scale) if isinstance(time_scale, float) else time_scale,
        "closed_loop": closed_loop,
        "addresses": addresses,
        "seed": seed,
        "jobs": jobs,
        "memory": _bytes(memory),
        "log_evictions": _path(log_evictions),
        "log_requests": _path(log_requests),
        "series": _path(series),
        "series_every": series_every,
        "timeline": _path(timeline),
        "timeline_from": timeline_from,
        "timeline_to": timeline_to,
    }
    flags = {
        "charge_metadata": charge_metadata, "unbalance": unbalance, "hits_by_size": hits_by_size,
        "flush_at_end": flush_at_end,
    }  # fmt: skip
    options = {key: value for key, value in options.items() if value is not None}
    options |= {key: True for key, wanted in flags.items() if wanted}
    if schemes is not None and not compositions:
        raise UsageError("no scheme given")
    own = _own(compositions)
    results: list[_destage.Record] = []
    left_out: list[str] = []
    traces = traces_in(trace)
    if len(traces) > 1:
        for name in LOGS:
            if options.get(name) is not None:
                raise UsageError(f"{name}: a log is of one run, and these are {len(traces)} traces: run them one by one")
    first: UsageError | None = None
    for one in traces:
        try:
            read = read_trace(one, trace_columns=trace_columns, progress=progress)
            decided = [(one.native, one.decide(read._native) if one.decide else None) for one in own]
            with follow(progress, f"running {read.name}", "requests") as told:
                records, warnings, refused = _destage.run(read._native, options, decided, charts, told)
        except UsageError as error:
            # The fault of one trace is none of the others.
            if len(traces) == 1:
                raise
            first = first or error
            left_out.append(str(error))
            continue
        for warning in warnings:
            warn(warning)
        results += records
        left_out += refused
    if not results:
        raise first or UsageError("no trace given")
    for text in left_out:
        warn(f"left out: {text}")
    return Results._of(results, left_out)


def _own(compositions: list[Scheme]) -> list[Declared]:
    """The schemes of one's own that stand in these, each once."""
    named: dict[str, Declared] = {}
    for declared in (declared for composition in compositions for declared in composition.own):
        name = declared.native.name
        if named.setdefault(name, declared) is not declared:
            raise UsageError(f"two different schemes are called `{name}`; a `name` of its own tells one from the other")
    return list(named.values())


def cache_text(size: CacheSize) -> str:
    """A cache size as the command writes it."""
    if isinstance(size, str):
        return size
    if isinstance(size, bool):
        raise TypeError("a cache size is text, bytes or a share of the footprint; not True or False")
    try:
        return f"{operator.index(size)}B"  # type: ignore[arg-type]
    except TypeError:
        return number(float(size))


def _bytes(size: int | str | None) -> str | None:
    return size if size is None or isinstance(size, str) else f"{operator.index(size)}B"


def _path(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)


def _set(given: Mapping[str, object] | Iterable[str]) -> list[str]:
    if isinstance(given, Mapping):
        return [f"{key}={value}" for key, value in given.items()]
    return several(given)
