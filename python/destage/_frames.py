"""Data frames, Arrow tables and dictionaries of columns, as traces."""

from __future__ import annotations

import datetime
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from destage import _destage
from destage._errors import UsageError

#: Bytes of a sector.
SECTOR = 512
#: Columns that say when, where, and how long, of which each needs one.
CHOICES = (("arrival_ns", "arrival_s"), ("start_sector", "offset"), ("sectors", "bytes"))
#: Columns of flags of writes.
FLAGS = ("fua", "preflush")
#: How operations may be written, in any case.
LETTERS = {
    "r": "R", "read": "R", "w": "W", "write": "W", "t": "T", "trim": "T", "discard": "T", "f": "F", "flush": "F",
}  # fmt: skip
#: How a table is read, besides by its columns.
READING = ("limit", "skip_bad_lines", "volumes", "time_unit", "trace_columns", "restarts")
#: Types of times, as all libraries write them.
TIMES = re.compile(r"datetime|timestamp|timedelta|duration", re.IGNORECASE)
#: What a table has.
FRAMES = ("column_names", "columns", "__arrow_c_stream__", "__arrow_c_array__")
NOT_A_TIME = -(2**63)


def is_frame(source: Any) -> bool:
    """Is it a table, and not several of something?"""
    # What has columns in Arrow and a type of its own is one column.
    names = ("column_names", "columns") if hasattr(type(source), "dtype") else FRAMES
    return isinstance(source, Mapping) or any(hasattr(type(source), name) for name in names)


def traces_of_frame(name: str, source: Any, options: dict[str, Any]) -> tuple[list[_destage.Trace], list[str]]:
    """The traces of a table, and what is to be warned of."""
    columns = _columns(source)
    if not columns:
        raise UsageError(f"{name}: a trace needs columns, and there is none")
    for option in options:
        if option not in READING:
            raise UsageError(f"{option}: only for traces of files")
    own = all(any(column in columns for column in names) for names in (*CHOICES[1:], ("op",)))
    if own and not options:
        return [_of_columns(name, columns)], []
    if str(options.get("volumes", "")).startswith("only="):
        raise UsageError("volumes: take the rows of that volume from the frame")
    plain = [(title, _is_time(column), partial(_cells, name, title, column)) for title, column in columns.items()]
    return _destage.read_frame(name, plain, len(next(iter(columns.values()))), options)


def _of_columns(name: str, columns: dict[str, Any]) -> _destage.Trace:
    """A trace of columns that have the names of destage."""
    for names in CHOICES:
        if all(column in columns for column in names):
            raise UsageError(f"{name}: both columns {names[0]} and {names[1]}: one of them")
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
    """The columns by name."""
    if isinstance(source, Mapping):
        return {str(key): column for key, column in source.items()}
    if type(source).__name__ == "LazyFrame":
        source = source.collect()
    names = getattr(source, "column_names", None)  # pyarrow
    if names is None:
        names = getattr(source, "columns", None)  # pandas, polars
    if names is not None:
        return {str(name): source[name] for name in names}
    if is_frame(source):
        try:
            import pyarrow  # type: ignore[import-untyped]
        except ImportError as error:
            raise UsageError(f"a {type(source).__name__} needs the package pyarrow") from error
        return _columns(pyarrow.table(source))
    raise TypeError(
        "a trace is a path, a destage.Trace, a data frame, an Arrow table or a dictionary of columns; "
        f"not {type(source).__name__}"
    )


def _plain(column: Any) -> Any:
    """A column as a numpy array, or as a list if it is none of numpy's friends."""
    module = type(column).__module__
    if module.startswith("pyarrow"):
        return column.to_numpy(zero_copy_only=False)
    if module.startswith("pandas") and _has_type_of_times(column):
        # Those of a time zone are numbers of another type only in UTC.
        what = "timedelta" if re.match("timedelta|duration", str(column.dtype), re.IGNORECASE) else "datetime"
        return column.to_numpy(dtype=f"{what}64[ns]")
    if hasattr(column, "to_numpy"):
        return column.to_numpy()
    return column


def _list(column: Any) -> list[Any]:
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _has_type_of_times(column: Any) -> bool:
    kind = getattr(column, "dtype", getattr(column, "type", None))
    return kind is not None and TIMES.match(str(kind)) is not None


def _is_time(column: Any) -> bool:
    """Does a column hold times, by its type or that of its first value?"""
    if _has_type_of_times(column):
        return True
    if str(getattr(column, "dtype", "object")).lower() not in ("object", "o"):
        return False
    first = next((value for value in _plain(column) if value is not None), None)
    return isinstance(first, (datetime.datetime, datetime.timedelta))


def _times(name: str, title: str, column: Any) -> Any:
    """Nanoseconds of times."""
    column = _plain(column)
    missing = UsageError(f"{name}: column {title} has times that are not there (NaT)")
    if getattr(getattr(column, "dtype", None), "kind", "O") in "Mm":
        times = column.astype(f"{column.dtype.name.split('[')[0]}[ns]").view("int64")
        if (times == NOT_A_TIME).any():
            raise missing
        return times
    times = array("q")
    for row, value in enumerate(_list(column)):
        if value is None or value != value:
            raise missing
        # Those of pandas have nanoseconds.
        ns = getattr(value, "value", None)
        try:
            if ns is None:
                zero = datetime.datetime(1970, 1, 1, tzinfo=getattr(value, "tzinfo", None) and datetime.timezone.utc)
                past = value if isinstance(value, datetime.timedelta) else value - zero
                ns = (past.days * 86_400 + past.seconds) * 1_000_000_000 + past.microseconds * 1000
            times.append(ns)
        except (TypeError, AttributeError, OverflowError):
            raise UsageError(f"{name}: row {row}, column {title}: `{value}` is no time from 1677 to 2262") from None
    return times


def _cells(name: str, title: str, column: Any) -> tuple[str, bytes, list[bytes]]:
    """The values of a column, as :func:`destage._destage.read_frame` takes them."""
    if _is_time(column):
        return "i", _times(name, title, column).tobytes(), []
    column = _plain(column)
    if getattr(column, "ndim", 1) != 1:
        raise UsageError(f"{name}: column {title} has {column.ndim} dimensions; 1 is needed")
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if kind in "biuf":
        wide = {"u": ("u", "uint64"), "f": ("f", "float64")}.get(kind, ("i", "int64"))
        return wide[0], column.astype(wide[1]).tobytes(), []
    values = _list(column)
    kinds = {type(value) for value in values}
    if kinds == {float}:
        return "f", array("d", values).tobytes(), []
    if kinds <= {int, bool} and all(abs(value) < 2**63 for value in values):
        return "i", array("q", values).tobytes(), []
    known: dict[Any, int] = {}
    numbers = array("q")
    for value in values:
        # What is not there is not equal to itself, or cannot say.
        absent = value is None or type(value).__name__ == "NAType" or value != value
        numbers.append(-1 if absent else known.setdefault(value if isinstance(value, bytes) else str(value), len(known)))
    return "t", numbers.tobytes(), [text if isinstance(text, bytes) else text.encode() for text in known]


def _integers(name: str, title: str, column: Any) -> Any:
    """A column as signed numbers of 8 bytes."""
    if title == "arrival_ns" and _is_time(column):
        return _times(name, title, column)
    column = _plain(column)
    if getattr(getattr(column, "dtype", None), "kind", None) == "O":
        column = _list(column)
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    if kind is None:
        try:
            # A column with a gap is one of real numbers in some libraries.
            whole = (int(v) if isinstance(v, float) and title != "arrival_ns" and v.is_integer() else v for v in column)
            return array("q", whole)
        except (TypeError, OverflowError) as error:
            raise UsageError(f"{name}: column {title}: whole numbers of 64 bits are needed: {error}") from None
    if getattr(column, "ndim", 1) != 1:
        raise UsageError(f"{name}: column {title} has {column.ndim} dimensions; 1 is needed")
    if kind == "u" and column.size and int(column.max()) > 2**63 - 1:
        raise UsageError(f"{name}: column {title} has numbers above 2^63 - 1")
    if kind in "iu":
        return column.astype("int64")
    if kind == "f" and title != "arrival_ns" and (abs(column) <= 2**53).all() and (column % 1 == 0).all():
        return column.astype("int64")
    what = f"column {title} has the type {column.dtype}"
    if kind == "f" and (column != column).any():
        raise UsageError(f"{name}: {what}, with values that are not there (NaN); whole numbers are needed")
    other = "; seconds go into arrival_s" if title == "arrival_ns" else ""
    raise UsageError(f"{name}: {what}; whole numbers are needed{other}")


def _nanoseconds(name: str, column: Any) -> list[int]:
    """Seconds as whole nanoseconds after the first one."""
    values = _list(_plain(column))
    times = []
    for row, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UsageError(f"{name}: row {row}, column arrival_s: {value!r}; seconds are numbers")
        if not abs(value) < 2**63 / 1e9:
            raise UsageError(f"{name}: row {row}, column arrival_s: `{value}`; a finite number of seconds is needed")
        times.append(round(value * 1e9))
    return times


def _letters(name: str, column: Any) -> bytes:
    values = _list(_plain(column))
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
    values = _list(_plain(column))
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
