"""Commands beside runs: hit-ratio curves, figures of traces, generated workloads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from destage import _destage
from destage._errors import RunError, UsageError
from destage._fields import Fields
from destage._scheme import SchemeLike
from destage._frames import READING
from destage._traces import Trace, TraceLike, file_of, read_trace
from destage._warn import warn

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import polars


class Points:
    """Points of curves: indexed, sliced and gone through as a list, and a table, as :class:`destage.Results` is."""

    __slots__ = ("_all",)

    def __init__(self, points: Sequence[Fields]) -> None:
        self._all = list(points)

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, index: int) -> Fields: ...

    @overload
    def __getitem__(self, index: slice) -> Points: ...

    def __getitem__(self, index: int | slice) -> Fields | Points:
        return Points(self._all[index]) if isinstance(index, slice) else self._all[index]

    def __iter__(self) -> Iterator[Fields]:
        return iter(self._all)

    def __eq__(self, other: object) -> bool:
        return self._all == other._all if isinstance(other, Points) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<destage.Points: {len(self)} points of {', '.join(self._columns())}>"

    def _columns(self) -> list[str]:
        return list(dict.fromkeys(name for point in self._all for name in point))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The points as a stream of Arrow's C interface."""
        rows = json.dumps([point.to_dict() for point in self._all])
        return _destage.arrow_of_rows(rows, self._columns())

    def to_pandas(self) -> pandas.DataFrame:
        """The points as a table of pandas."""
        import pandas

        return pandas.DataFrame([point.to_dict() for point in self._all], columns=self._columns())

    def to_polars(self) -> polars.DataFrame:
        """The points as a table of polars."""
        import polars

        return polars.DataFrame(self)


def trace_info(source: TraceLike, **options: Any) -> Fields:
    """Figures of a trace: requests, sizes, footprint, reuse, updates and more.

    Parameters
    ----------
    source:
        A path, a :class:`Trace`, a data frame or dictionary of columns. What is no file is written to a temporary one.
    options:
        How it is read, as :func:`destage.read_trace` says: ``format``, ``limit``, ``volumes``, ``trace_columns`` and others.
    """
    with _file(source, options) as (file, others):
        return _objects(["trace", "info", file, "--json"], others)[0]


def mrc(
    source: TraceLike,
    scheme: SchemeLike | Sequence[SchemeLike] = "lru",
    *,
    cache: str | Sequence[str] = (),
    **options: Any,
) -> Points:
    """Hit ratios over cache sizes: a point for each scheme and size, with the fields of ``destage mrc``.

    They are a table: ``points.to_pandas()``, ``points.to_polars()``, ``pandas.DataFrame(points)``,
    ``polars.DataFrame(points)`` and ``pyarrow.table(points)``.

    Parameters
    ----------
    source:
        A path, a :class:`Trace`, a data frame or dictionary of columns. What is no file is written to a temporary one.
    scheme:
        One scheme or several: expressions, or what the functions of the package build.
    cache:
        Sizes such as ``"16MiB"`` or shares of the footprint such as ``"10%"``; by default two for each power of two.
    options:
        Others of ``destage mrc``: ``page``, ``read_alloc``, ``warmup``, ``sample_rate``, ``sample_pages``, ``seed``,
        ``jobs``, and how the trace is read.
    """
    several = scheme if isinstance(scheme, Sequence) and not isinstance(scheme, str) else [scheme]
    sizes = [cache] if isinstance(cache, str) else list(cache)
    with _file(source, options) as (file, others):
        given = {"scheme": [str(one) for one in several], "cache": sizes, **others}
        return Points(_objects(["mrc", file, "--format-out", "jsonl"], given))


def synth(
    workload: str | None = None,
    *,
    requests: int | None = None,
    seed: int | None = None,
    parts: Sequence[str] = (),
    **options: Any,
) -> Trace:
    """A generated trace; the same arguments give the same requests.

    Parameters
    ----------
    workload:
        Name of a workload, as ``destage trace synth --list`` has them; by default whole-page writes, uniform over
        1 GiB.
    requests, seed:
        Number of requests, and seed of all random numbers.
    parts:
        Parts of a mix, such as ``"writes=0.7,at=zipf(0.9),space=256MiB"``, in place of those of the workload.
    options:
        Others of ``destage trace synth``: ``arrival``, ``gap``, ``writes``.

    >>> len(synth("hot-cold", requests=100))
    100
    """
    given = {"requests": requests, "seed": seed, "part": list(parts), **options}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{workload or 'synth'}.csv"
        words = ["trace", "synth", *([workload] if workload else [])]
        _run([*words, "--output", str(file)], given)
        return read_trace(file, progress=False)


@contextmanager
def _file(source: TraceLike, options: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The path of a trace for a command, and the options of the command."""
    if isinstance(source, (str, os.PathLike)):
        yield os.fspath(source), options
        return
    reading = {name: value for name, value in options.items() if name in READING}
    trace = read_trace(source, **reading)
    if not isinstance(trace, Trace):
        raise UsageError("volumes: read the trace by destage.read_trace, and take its volumes one by one")
    with tempfile.TemporaryDirectory() as folder:
        yield file_of(trace, folder), {name: value for name, value in options.items() if name not in reading}


def _objects(words: list[str], options: dict[str, Any]) -> list[Fields]:
    lines = _run(words, options)
    decoder, found = json.JSONDecoder(), []
    while lines := lines.lstrip():
        value, end = decoder.raw_decode(lines)
        found.append(Fields(value))
        lines = lines[end:]
    return found


def _run(words: list[str], options: dict[str, Any]) -> str:
    """Returns the output of a command, which runs in a process of its own since it writes to standard output."""
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple)):
            words += [f"{option}={one}" for one in value]
        elif value is not None and value is not False:
            words.append(f"{option}={value}")
    done = subprocess.run([sys.executable, "-m", "destage", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        text = done.stderr.partition("error: ")[2] or done.stderr
        # What a terminal may be told of more help is of no use here.
        text = text.partition("\n\nFor more information")[0].partition("\n\nUsage: ")[0]
        raise (UsageError if done.returncode == 2 else RunError)(text.strip())
    for line in done.stderr.splitlines():
        if line.startswith("warning: "):
            warn(line.removeprefix("warning: "))
    return done.stdout
