"""Commands beside runs: hit-ratio curves, figures of traces, generated workloads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from destage._errors import RunError, UsageError
from destage._fields import Fields
from destage._scheme import SchemeLike
from destage._traces import Trace, read_trace
from destage._warn import warn

#: A path of a trace.
TraceFile = str | os.PathLike[str]


def trace_info(source: TraceFile, **options: Any) -> Fields:
    """Figures of a trace file: requests, sizes, footprint, reuse, updates and more.

    Parameters
    ----------
    source:
        Path of a trace, plain or compressed.
    options:
        How it is read, as :func:`destage.read_trace` says: ``format``, ``limit``, ``volumes`` and others.
    """
    return _objects(["trace", "info", _file(source), "--json"], options)[0]


def mrc(
    source: TraceFile,
    scheme: SchemeLike | Sequence[SchemeLike] = "lru",
    *,
    cache: str | Sequence[str] = (),
    **options: Any,
) -> list[Fields]:
    """Hit ratios over cache sizes: a point for each scheme and size, with the fields of ``destage mrc``.

    ``pandas.DataFrame(points)`` is a table of them.

    Parameters
    ----------
    source:
        Path of a trace, plain or compressed.
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
    given = {"scheme": [str(one) for one in several], "cache": sizes, **options}
    return _objects(["mrc", _file(source), "--format-out", "jsonl"], given)


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


def _file(source: TraceFile) -> str:
    if isinstance(source, Trace):
        raise UsageError(
            f"{source.name}: a path is needed here, not a trace that was read; give the file, and how it is read"
        )
    return os.fspath(source)


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
