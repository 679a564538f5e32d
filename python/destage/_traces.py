"""Traces: from files, data frames and columns."""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from destage import _destage
from destage._admission import Batch
from destage._errors import UsageError
from destage._progress import follow
from destage._warn import warn

#: Bytes of a sector.
SECTOR = 512
#: Columns that say when, where, and how long, of which each needs one.
CHOICES = (("arrival_ns", "arrival_s"), ("start_sector", "offset"), ("sectors", "bytes"))
#: Columns of flags of writes.
FLAGS = ("fua", "preflush")
KNOWN = (*(name for names in CHOICES for name in names), "op", "stream", *FLAGS)
#: How operations may be written, in any case.
LETTERS = {
    "r": "R", "read": "R", "w": "W", "write": "W", "t": "T", "trim": "T", "discard": "T", "f": "F", "flush": "F",
}  # fmt: skip


class Trace:
    """A decoded block trace. It does not change; runs share it, whatever their number.

    :func:`read_trace` makes one.
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

    def __repr__(self) -> str:
        return f"<destage.Trace {self.name!r}: {len(self)} requests, {self.duration_ns / 1e9:.3f} s>"


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
    memory: str | None = None,
    trace_memory: str | None = None,
    progress: bool | None = None,
) -> Trace | list[Trace]:
    """Read a trace: a file, a data frame, or a dictionary of columns.

    A file may be plain or compressed; all formats of the command are read, and told by their content. The
    options are those of ``destage run``, and become settings of the runs over the trace.

    A data frame (pandas, polars, pyarrow) or dictionary (numpy arrays, lists) has these columns:

    - ``arrival_ns``, whole nanoseconds or numpy's times, or ``arrival_s``, seconds as real numbers; without
      either request i arrives at i us. Times must not go back; the first request arrives at 0;
    - ``op``: R, W, T (trim), F (flush), or read, write, trim, discard, flush, in any case;
    - ``start_sector``, sectors of 512 B, or ``offset``, bytes;
    - ``sectors`` or ``bytes``; what is not whole sectors is rounded outward;
    - ``stream``, if there are several sources: their number;
    - ``fua`` and ``preflush``, if writes have these flags: booleans, or 0 and 1.

    Parameters
    ----------
    source:
        Path, data frame or dictionary.
    name:
        Name of a trace of columns; ``frame`` by default.
    format, limit, skip_bad_lines, tags, event, time_unit:
        How a file is read, as ``destage run --help`` says.
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
        "time_unit": time_unit, "memory": memory, "trace_memory": trace_memory,
        "skip_bad_lines": skip_bad_lines or None,
    }  # fmt: skip
    options = {key: value for key, value in options.items() if value is not None}
    if isinstance(source, (str, os.PathLike)):
        if name is not None:
            raise UsageError("name: a trace of a file is called like the file")
        label = f"reading {os.fspath(source)}"
        with follow(progress, label, "B") as told:
            native, warnings = _destage.read_traces(os.fspath(source), options, told)
        for warning in warnings:
            warn(warning)
        traces = [Trace(one) for one in native]
        return traces if volumes == "split" else traces[0]
    if options:
        raise UsageError(f"{next(iter(options))}: only for traces of files")
    return Trace(_of_columns("frame" if name is None else name, source))


def _of_columns(name: str, source: Any) -> _destage.Trace:
    columns = _columns(source)
    for names in CHOICES:
        if all(column in columns for column in names):
            raise UsageError(f"{name}: both columns {names[0]} and {names[1]}: one of them")
    missing = [" or ".join(names) for names in CHOICES[1:] if not any(column in columns for column in names)]
    missing += ["op"] if "op" not in columns else []
    if missing:
        there = f"there are: {', '.join(map(str, columns))}" if columns else "there is none of them"
        raise UsageError(f"{name}: no column {', '.join(missing)}; {there}")
    letters = _letters(name, columns["op"])
    if "arrival_ns" in columns:
        arrival = _integers(name, "arrival_ns", columns["arrival_ns"])
    elif "arrival_s" in columns:
        arrival = array("q", _nanoseconds(name, columns["arrival_s"]))
    else:
        arrival = array("q", range(0, 1000 * len(letters), 1000))
    start, sectors = _places(name, columns)
    stream = _integers(name, "stream", columns["stream"]) if "stream" in columns else array("q")
    parts = (arrival.tobytes(), letters, start.tobytes(), sectors.tobytes(), stream.tobytes())
    flags = (_flags(name, title, columns[title]) if title in columns else b"" for title in FLAGS)
    return _destage.from_columns(name, *parts, *flags)


def _columns(source: Any) -> dict[str, Any]:
    """The columns that are known, by name."""
    if isinstance(source, Mapping):
        return {str(key): column for key, column in source.items()}
    names = getattr(source, "column_names", None)  # pyarrow
    if names is None:
        names = getattr(source, "columns", None)  # pandas, polars
    if names is None:
        raise TypeError(
            f"a trace is a path, a data frame or a dictionary of columns; not {type(source).__name__}"
        )
    return {str(name): source[name] for name in names if str(name) in KNOWN}


def _plain(column: Any) -> Any:
    """A column as a numpy array, or as a list if it is none of numpy's friends."""
    if hasattr(column, "to_numpy"):
        return column.to_numpy()
    return column


def _integers(name: str, title: str, column: Any) -> Any:
    """A column as signed numbers of 8 bytes."""
    column = _plain(column)
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    if kind is None:
        try:
            return array("q", column)
        except (TypeError, OverflowError) as error:
            raise UsageError(f"{name}: column {title}: whole numbers of 64 bits are needed: {error}") from None
    if getattr(column, "ndim", 1) != 1:
        raise UsageError(f"{name}: column {title} has {column.ndim} dimensions; 1 is needed")
    if kind in "Mm" and title == "arrival_ns":
        times = column.astype(f"{column.dtype.name.split('[')[0]}[ns]").view("int64")
        if (times == -(2**63)).any():
            raise UsageError(f"{name}: column {title} has times that are not there (NaT)")
        return times
    if kind == "u" and column.size and int(column.max()) > 2**63 - 1:
        raise UsageError(f"{name}: column {title} has numbers above 2^63 - 1")
    if kind in "iu":
        return column.astype("int64")
    what = f"column {title} has the type {column.dtype}"
    if kind == "f" and (column != column).any():
        raise UsageError(f"{name}: {what}, with values that are not there (NaN); whole numbers are needed")
    other = "; seconds go into arrival_s" if title == "arrival_ns" else ""
    raise UsageError(f"{name}: {what}; whole numbers are needed{other}")


def _nanoseconds(name: str, column: Any) -> list[int]:
    """Seconds as whole nanoseconds after the first one."""
    column = _plain(column)
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    times = []
    for row, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UsageError(f"{name}: row {row}, column arrival_s: {value!r}; seconds are numbers")
        if not abs(value) < 2**63 / 1e9:
            raise UsageError(f"{name}: row {row}, column arrival_s: `{value}`; a finite number of seconds is needed")
        times.append(round(value * 1e9))
    return times


def _letters(name: str, column: Any) -> bytes:
    column = _plain(column)
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    known: dict[Any, str] = {}
    for value in set(values):
        text = value.decode("ascii", "replace") if isinstance(value, bytes) else value
        letter = LETTERS.get(text.strip().lower()) if isinstance(text, str) else None
        if letter is None:
            row = values.index(value)
            raise UsageError(
                f"{name}: row {row}, column op: `{value}`; allowed: R (read), W (write), T (trim) or F (flush)"
            )
        known[value] = letter
    return "".join([known[value] for value in values]).encode()


def _flags(name: str, title: str, column: Any) -> bytes:
    """A column of booleans as a byte each."""
    column = _plain(column)
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    for row, value in enumerate(values):
        if value not in (False, True):
            raise UsageError(f"{name}: row {row}, column {title}: `{value}`; allowed: true, false, 1 or 0")
    return bytes(map(int, values))


def _places(name: str, columns: dict[str, Any]) -> tuple[Any, Any]:
    """First sectors and numbers of sectors."""

    def numbers(title: str) -> Sequence[int]:
        return _integers(name, title, columns[title])  # type: ignore[no-any-return]

    if "start_sector" in columns and "sectors" in columns:
        return numbers("start_sector"), numbers("sectors")
    titles = ("offset" if "offset" in columns else "start_sector", "bytes" if "bytes" in columns else "sectors")
    first, length = (numbers(title) for title in titles)
    if len(first) != len(length):
        raise UsageError(f"{name}: columns of different lengths")
    starts, sectors = array("q"), array("q")
    units = (1 if titles[0] == "offset" else SECTOR, 1 if titles[1] == "bytes" else SECTOR)
    for row, (at, much) in enumerate(zip(first, length)):
        at, much = int(at), int(much)
        for title, value in zip(titles, (at, much)):
            if not 0 <= value < 2**63 // SECTOR:
                raise UsageError(f"{name}: row {row}, column {title}: `{value}`; allowed: 0 to 256 TiB")
        begin, end = at * units[0], at * units[0] + much * units[1]
        starts.append(begin // SECTOR)
        sectors.append(-(-end // SECTOR) - begin // SECTOR if much else 0)
    return starts, sectors
