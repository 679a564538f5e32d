"""Traces that tests share, and the command to compare with."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import destage as ds

# A shell that starts the tests in the background lets them ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

SECTORS = 8

#: Takes long or needs much: only in `cargo xtask full`.
full = pytest.mark.skipif(not os.environ.get("DESTAGE_FULL"), reason="only in cargo xtask full")

#: A device that is prepared in no time.
SMALL: dict[str, Any] = {
    "device": "default",
    "set": {"channels": "2", "blocks_per_plane": "64", "pages_per_block": "32", "op": "0.25"},
    "addresses": "wrap",
}


def requests(number: int, seed: int = 1, pages: int = 600) -> dict[str, list[Any]]:
    """Columns of a trace with skewed addresses, requests of some pages, and all operations."""
    draw = random.Random(seed)
    columns: dict[str, list[Any]] = {
        name: [] for name in ("arrival_ns", "op", "start_sector", "sectors")
    }
    now = 0
    for _ in range(number):
        now += draw.randrange(200_000)
        page = min(int(draw.paretovariate(0.7)), pages)
        op = draw.choices("RWTF", [40, 57, 2, 1])[0]
        columns["arrival_ns"].append(now)
        columns["op"].append(op)
        columns["start_sector"].append(0 if op == "F" else page * SECTORS + draw.choice([0, 0, 0, 3]))
        columns["sectors"].append(0 if op == "F" else draw.choice([8, 8, 16, 40, 5]))
    first = columns["arrival_ns"][0]
    columns["arrival_ns"] = [at - first for at in columns["arrival_ns"]]
    return columns


@pytest.fixture(scope="session")
def columns() -> dict[str, list[Any]]:
    return requests(4000)


@pytest.fixture(scope="session")
def trace_file(columns: dict[str, list[Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same trace as a file of the program's own format."""
    path = tmp_path_factory.mktemp("traces") / "mixed.csv"
    with path.open("w") as out:
        out.write("arrival_ns,op,start_sector,sectors,stream,prev,atomic\n")
        for at, op, start, sectors in zip(*columns.values()):
            out.write(f"{at},{op},{start},{sectors},0,,0\n")
    return path


@pytest.fixture(scope="session")
def trace(trace_file: Path) -> ds.Trace:
    return ds.read_trace(trace_file)


@pytest.fixture(scope="session")
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command of the package."""

    def run(*words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "destage", *map(str, words)]
        return subprocess.run(line, capture_output=True, text=True, check=check)

    return run


def without_cost(line: str) -> str:
    """A record without what the execution cost, which is all that may differ."""
    record = json.loads(line)
    del record["run"]
    return json.dumps(record)


def words(options: dict[str, object]) -> list[str]:
    """The options as the command line has them."""
    line = []
    for key, value in options.items():
        flag = "--" + key.replace("_", "-")
        for one in value if isinstance(value, list) else [value]:
            if key == "set":
                line += [part for pair in one.items() for part in (flag, "=".join(pair))]
            elif one is True:
                line.append(flag)
            elif one is False:
                line += [flag, "off"]
            elif key in ("cache", "page") and isinstance(one, int):
                line += [flag, f"{one}B"]
            else:
                line += [flag, str(one)]
    return line
