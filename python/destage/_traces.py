"""Traces: from files, data frames and columns."""

from __future__ import annotations

import copyreg
import os
from collections.abc import Iterable
from typing import Any, Literal, Union, overload

from destage import _destage
from destage._admission import Batch
from destage._errors import UsageError
from destage._frames import is_frame, traces_of_frame
from destage._progress import follow
from destage._warn import warn

class Trace:
    """A decoded block trace. It does not change; runs share it, whatever their number, and copies are the same trace.

    :func:`read_trace` makes one. Pickled, as for a pool of processes, it is its requests in ``destage-bin`` with what
    is known about it.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _destage.Trace) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Name of the trace: that of the file without folders and extensions."""
        return self._native.name

    @property
    def format(self) -> str:
        """Format of the file, or ``generated`` for columns."""
        return self._native.format

    @property
    def path(self) -> str | None:
        """The file, if it is from one."""
        path = self._native.path
        return None if path is None else os.fspath(path)

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the file as it is stored, in hexadecimal."""
        return self._native.sha256

    @property
    def duration_ns(self) -> int:
        """Time from the first request to the last, in nanoseconds."""
        return self._native.duration_ns

    def footprint_pages(self, page_bytes: int = 4096) -> int:
        """Pages of ``page_bytes`` bytes that reads and writes touch."""
        return self._native.footprint_pages(page_bytes)

    def requests(self, start: int = 0, stop: int | None = None) -> Batch:
        """The requests from number ``start`` to before ``stop``, as columns of numpy."""
        return Batch(self._native, start, len(self) if stop is None else min(stop, len(self)))

    def __len__(self) -> int:
        """Number of requests."""
        return len(self._native)

    def __copy__(self) -> Trace:
        return self

    def __deepcopy__(self, memo: object) -> Trace:
        return self

    def __repr__(self) -> str:
        return f"<destage.Trace {self.name!r}: {len(self)} requests, {self.duration_ns / 1e9:.3f} s>"


#: A path, a trace, a data frame (pandas, polars, Arrow), or a dictionary of columns.
TraceLike = Union[str, "os.PathLike[str]", Trace, Any]


@overload
def read_trace(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,
    limit: int | None = None,
    skip_bad_lines: bool = False,
    tags: str | None = None,
    volumes: Literal["split"],
    event: str | None = None,
    time_unit: str | None = None,
    trace_columns: str | None = None,
    restarts: str | None = None,
    memory: str | None = None,
    trace_memory: str | None = None,
    progress: bool | None = None,
) -> list[Trace]: ...


@overload
def read_trace(
    source: Any,
    *,
    name: str | None = None,
    format: str | None = None,
    limit: int | None = None,
    skip_bad_lines: bool = False,
    tags: str | None = None,
    volumes: str | None = None,
    event: str | None = None,
    time_unit: str | None = None,
    trace_columns: str | None = None,
    restarts: str | None = None,
    memory: str | None = None,
    trace_memory: str | None = None,
    progress: bool | None = None,
) -> Trace: ...


def read_trace(
    source: Any,
    *,
    name: str | None = None,
    format: str | None = None,
    limit: int | None = None,
    skip_bad_lines: bool = False,
    tags: str | None = None,
    volumes: str | None = None,
    event: str | None = None,
    time_unit: str | None = None,
    trace_columns: str | None = None,
    restarts: str | None = None,
    memory: str | None = None,
    trace_memory: str | None = None,
    progress: bool | None = None,
) -> Trace | list[Trace]:
    """Read a trace: a file, a data frame, an Arrow table, or a dictionary of columns.

    A file may be plain or compressed; all formats of the command are read, and told by their content. The
    options are those of ``destage run``, and become settings of the runs over the trace.

    A data frame (pandas, polars, a ``LazyFrame``), Arrow table, ``RecordBatch``, or dictionary (numpy arrays, lists)
    has these columns:

    - ``arrival_ns``, whole nanoseconds or times, with a time zone or without, or ``arrival_s``, seconds as real numbers; without
      either request i arrives at i us. Times must not go back; the first request arrives at 0;
    - ``op``: R, W, T (trim), F (flush), or read, write, trim, discard, flush, in any case;
    - ``start_sector``, sectors of 512 B, or ``offset``, bytes;
    - ``sectors`` or ``bytes``; what is not whole sectors is rounded outward;
    - ``stream``, if there are several sources: their number;
    - ``fua`` and ``preflush``, if writes have these flags: booleans, or 0 and 1.

    Columns with other names, or ``trace_columns``, are read as those of a file: times may go back, and volumes lie one
    behind the other.

    Parameters
    ----------
    source:
        Path, data frame, Arrow table or dictionary; a :class:`Trace` is given back.
    name:
        Name of a trace of columns; ``frame`` by default.
    trace_columns:
        Which columns of a table hold what, such as ``"time=ts:us,op=kind:1=R,0=W,offset=lba*512,size=n:sectors"``.
    format, limit, skip_bad_lines, tags, event, time_unit, restarts:
        How a file is read, as ``destage run --help`` says. ``limit``, ``skip_bad_lines``, ``time_unit`` and
        ``restarts`` are for frames, too.
    volumes:
        What becomes of the volumes of a file that has several, as ``destage run --help`` says. With ``"split"``
        each is a trace of its own, called ``TRACE:VOLUME``, and what is returned is a list of them, in the order
        in which they appear; :func:`destage.run` takes it as it is.
    memory, trace_memory:
        Sizes such as ``"4GiB"``: memory that may be taken, and for the requests alone; beyond, they go to a
        temporary file.
    progress:
        Show a bar of tqdm; by default if tqdm is there and standard error is a terminal.

    >>> import destage as ds
    >>> t = ds.read_trace({
    ...     "arrival_ns": [0, 1000, 2000], "op": ["W", "R", "W"], "start_sector": [0, 0, 64], "sectors": [8, 8, 16],
    ... }, name="tiny")
    >>> t
    <destage.Trace 'tiny': 3 requests, 0.000 s>
    >>> t.footprint_pages()
    3
    """
    options: dict[str, Any] = {
        "format": format, "limit": limit, "tags": tags, "volumes": volumes, "event": event,
        "time_unit": time_unit, "trace_columns": trace_columns, "restarts": restarts, "memory": memory, "trace_memory": trace_memory,
        "skip_bad_lines": skip_bad_lines or None,
    }  # fmt: skip
    options = {key: value for key, value in options.items() if value is not None}
    if isinstance(source, Trace):
        given = next(iter(options), None if name is None else "name")
        if given is not None:
            raise UsageError(f"{given}: {source.name} was read already; this is said where it is read")
        return source
    if isinstance(source, (str, os.PathLike)):
        if name is not None:
            raise UsageError("name: a trace of a file is called like the file")
        with follow(progress, f"reading {os.fspath(source)}", "B") as told:
            native, warnings = _destage.read_traces(os.fspath(source), options, told)
    else:
        native, warnings = traces_of_frame("frame" if name is None else name, source, options)
    for warning in warnings:
        warn(warning)
    traces = [Trace(one) for one in native]
    return traces if volumes == "split" else traces[0]


def traces_in(given: Any) -> list[Any]:
    """What is given as one trace or several."""
    return [given] if is_frame(given) else several(given, os.PathLike, Trace)


def several(given: Any, *single: type) -> list[Any]:
    """A list of what may be one or several."""
    one = isinstance(given, (str, type, *single)) or not isinstance(given, Iterable)
    return [given] if one else list(given)


def file_of(source: Any, folder: str | os.PathLike[str]) -> str:
    """The path of anything that is a trace; one that is no file is written into ``folder``."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    trace = read_trace(source, progress=False)
    # What stands behind a point is no part of the name of a trace.
    path = os.path.join(folder, trace.name.replace("/", "_").replace(".", "_") + ".dtr")
    trace._native.write(path)
    return path


#: Makes a trace of what :meth:`_destage.Trace.to_bytes` gives, for :mod:`pickle`; a batch has such a trace, too.
copyreg.pickle(_destage.Trace, lambda native: (_destage.trace_of_bytes, native.to_bytes()))
