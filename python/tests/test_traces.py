"""Traces of files, data frames and columns; what is refused."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import SMALL, requests, without_cost

import destage as ds


def counts(trace: ds.Trace) -> str:
    return repr(ds.run(trace, "lru", cache="64KiB")[0].counts)


def test_columns_of_every_kind_give_the_same_requests(trace, columns):
    expected = counts(trace)
    frames = {
        "lists": columns,
        "numpy": {name: np.array(column) for name, column in columns.items()},
        "narrow": {
            "arrival_ns": np.array(columns["arrival_ns"], dtype="uint64"),
            "op": np.array(columns["op"], dtype="S1"),
            "start_sector": np.array(columns["start_sector"], dtype="uint32"),
            "sectors": np.array(columns["sectors"], dtype="int16"),
        },
        "pandas": pd.DataFrame(columns),
        "categories": pd.DataFrame(columns).astype({"op": "category"}),
        "polars": pl.DataFrame(columns),
        "pyarrow": pa.table(columns),
        "words": {**columns, "op": [{"R": "Read", "W": "write", "T": "Discard", "F": "flush"}[op] for op in columns["op"]]},
    }  # fmt: skip
    for name, frame in frames.items():
        read = ds.read_trace(frame, name=name)
        assert (read.name, len(read), read.format) == (name, len(trace), "generated")
        assert read.duration_ns == trace.duration_ns
        assert counts(read) == expected, name


def test_times_may_be_dates_or_seconds(columns):
    n = 5
    base = {name: column[:n] for name, column in columns.items() if name != "arrival_ns"}
    dates = np.datetime64("2026-01-01") + np.arange(n).astype("timedelta64[us]")
    for arrival in (dates, dates.astype("datetime64[ms]"), np.arange(n).astype("timedelta64[ns]")):
        assert len(ds.read_trace({**base, "arrival_ns": arrival})) == n
    assert ds.read_trace({**base, "arrival_ns": dates}).duration_ns == 4000
    assert ds.read_trace({**base, "arrival_s": [1.5, 2.0, 2.0, 2.25, 3.75]}).duration_ns == 2_250_000_000
    assert ds.read_trace(base).duration_ns == 4000


def test_bytes_are_rounded_outward():
    given = {"op": ["W", "R", "F"], "offset": [511, 4096, 0], "bytes": [2, 1, 0]}
    sectors = {"op": ["W", "R", "F"], "start_sector": [0, 8, 0], "sectors": [2, 1, 0]}
    assert counts(ds.read_trace(given)) == counts(ds.read_trace(sectors))


ROW = {"arrival_ns": [0, 5], "op": ["R", "W"], "start_sector": [0, 8], "sectors": [8, 8]}


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"arrival_ns": [5, 0]}, r"frame: row 1, column arrival_ns: `0`; allowed: a time at or after .*sort the rows"),
        ({"arrival_ns": np.array([0.0, np.nan])}, r"arrival_ns has the type float64, with values .* \(NaN\)"),
        ({"arrival_ns": np.array([0.0, 1.0])}, "whole numbers are needed; seconds go into arrival_s"),
        ({"arrival_ns": np.array(["NaT", "NaT"], dtype="datetime64[ns]")}, "not there"),
        ({"arrival_ns": ["a", "b"]}, "whole numbers of 64 bits are needed"),
        ({"arrival_ns": [0, 2**63]}, "whole numbers of 64 bits are needed"),
        ({"arrival_ns": None, "arrival_s": [0.0, float("nan")]}, "row 1, column arrival_s: `nan`; a finite number"),
        ({"arrival_s": [0.0, 1.0]}, "both columns arrival_ns and arrival_s"),
        ({"op": ["R", "X"]}, r"row 1, column op: `X`; allowed: R \(read\), W"),
        ({"op": ["R", None]}, "row 1, column op: `None`"),
        ({"op": ["R"]}, "columns of different lengths"),
        ({"start_sector": [0, -8]}, "row 1, column start_sector: `-8`; allowed: sector of 512 B"),
        ({"start_sector": [0, 2**39]}, "ending at or below 256 TiB"),
        ({"start_sector": np.array([0, 2**63], dtype="uint64")}, r"numbers above 2\^63 - 1"),
        ({"start_sector": np.zeros((2, 2), dtype=int)}, "has 2 dimensions"),
        ({"start_sector": np.array([True, False])}, "has the type bool"),
        ({"sectors": [8, 0]}, "row 1, column sectors: `0`; allowed: 1 to 4294967295"),
        ({"sectors": [8, 2**32]}, "`4294967296`"),
        ({"sectors": None}, "no column is known as size; its columns: arrival_ns, op, start_sector"),
        ({"stream": [0, -1]}, "column stream: `-1`"),
        ({"fua": [True, 2]}, "row 1, column fua: `2`; allowed: true, false, 1 or 0"),
        ({"start_sector": [0.0, 8.5]}, "whole numbers of 64 bits are needed"),
        ({"start_sector": np.array([0.0, 8.5])}, "has the type float64; whole numbers are needed"),
        ({"start_sector": [0.0, float("inf")]}, "whole numbers of 64 bits are needed"),
        ({"fua": [True]}, "columns of different lengths"),
        ({"op": ["W", "R"], "preflush": [0, 1]}, "row 1, column preflush: `1`; allowed: 0 or false, unless"),
        ({"start_sector": None, "offset": [0, -1]}, "row 1, column offset: `-1`"),
        ({name: [] for name in ROW}, "the trace is empty"),
    ],
)
def test_columns_that_are_no_requests_are_refused(changed, text):
    given = {name: column for name, column in {**ROW, **changed}.items() if column is not None}
    with pytest.raises(ds.UsageError, match=text):
        ds.read_trace(given)


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame])
def test_flags_of_writes_are_kept(frame, tmp_path):
    given = {**ROW, "op": ["W", "W"], "fua": [True, False], "preflush": [1, 1]}
    batch = ds.read_trace(frame(given)).requests()
    assert batch.fua.tolist() == [True, False]
    assert batch.preflush.tolist() == [True, True]
    path = tmp_path / "t.csv"
    path.write_text(
        "arrival_ns,op,start_sector,sectors,stream,prev,atomic,flags\n0,W,0,8,0,,0,fua\n9,W,0,8,0,,0,preflush\n"
    )
    batch = ds.read_trace(path).requests()
    assert (batch.fua.tolist(), batch.preflush.tolist()) == ([True, False], [False, True])


def test_nulls_of_frames_are_refused():
    with pytest.raises(ds.UsageError, match="NaN"):
        ds.read_trace(pl.DataFrame({**ROW, "start_sector": [0, None]}))
    with pytest.raises(ds.UsageError, match="the type object|NaN"):
        ds.read_trace(pd.DataFrame({**ROW, "start_sector": [0, None]}))


def test_what_is_no_trace_is_refused(tmp_path, trace_file, command):
    with pytest.raises(TypeError, match="a trace is a path, a destage.Trace, a data frame, an Arrow table or .*; not int"):
        ds.read_trace(5)
    missing = tmp_path / "no.csv"
    told = command("run", missing, check=False)
    with pytest.raises(ds.UsageError) as raised:
        ds.read_trace(missing)
    assert told.stderr.strip() == f"error: {raised.value}"
    with pytest.raises(ds.UsageError, match="no option|format"):
        ds.read_trace(trace_file, format="msrx")
    with pytest.raises(ds.UsageError, match="is called like the file"):
        ds.read_trace(trace_file, name="x")
    with trace_file.open() as file:
        file.close()
        with pytest.raises(TypeError, match="not TextIOWrapper"):
            ds.read_trace(file)


def test_compressed_files_and_bad_lines(tmp_path, trace_file, trace):
    packed = tmp_path / "mixed.csv.gz"
    packed.write_bytes(gzip.compress(trace_file.read_bytes()))
    read = ds.read_trace(packed)
    assert (read.name, len(read), read.path) == ("mixed", len(trace), str(packed))
    assert counts(read) == counts(trace)
    broken = tmp_path / "broken.csv"
    broken.write_text(trace_file.read_text() + "no line\n")
    with pytest.raises(ds.UsageError, match="line 4002"):
        ds.read_trace(broken)
    with pytest.warns(ds.DestageWarning, match="skipped 1 bad lines") as said:
        read = ds.read_trace(broken, skip_bad_lines=True)
    assert said[0].filename == __file__
    assert len(read) == len(trace)


def test_a_trace_larger_than_its_memory_is_streamed(trace_file, trace, tmp_path):
    read = ds.read_trace(trace_file, trace_memory="4KiB")
    assert len(read) == len(trace)
    results = ds.run(read, ["lru", "arc"], cache="64KiB")
    expected = ds.run(trace, ["lru", "arc"], cache="64KiB")
    assert [without_cost(r.json()) for r in results] == [without_cost(r.json()) for r in expected]
    # Pages in regions of their own, 64 MiB apart: 64 GiB, on a device of 30.
    far = ds.read_trace(_far(tmp_path), trace_memory="4KiB")
    with pytest.warns(ds.DestageWarning, match="were moved together"):
        moved = ds.run(far, cache="64KiB", device="default", closed_loop=1)
    assert moved[0].counts.wrapped_requests == 0
    with pytest.raises(ds.UsageError, match="beyond the"):
        ds.run(far, cache="64KiB", device="default", closed_loop=1, addresses="refuse")


def _far(folder):
    path = folder / "far.csv"
    lines = "".join(f"{i},W,{i << 17},8,0,,0\n" for i in range(1024))
    path.write_text("arrival_ns,op,start_sector,sectors,stream,prev,atomic\n" + lines)
    return path


@pytest.fixture(scope="module")
def volumes_file(tmp_path_factory):
    """A file of three volumes, in the format of MSR Cambridge."""
    path = tmp_path_factory.mktemp("volumes") / "hm.csv"
    rows = []
    for disk in range(3):
        columns = requests(700 + 100 * disk, seed=disk)
        for at, op, start, sectors in zip(*columns.values()):
            if op in "RW":
                word = {"R": "Read", "W": "Write"}[op]
                rows.append((at // 100 + disk, f"hm,{disk},{word},{start * 512},{sectors * 512},0"))
    path.write_text("".join(f"{at},{rest}\n" for at, rest in sorted(rows)))
    return path


@pytest.mark.parametrize("streamed", [False, True])
def test_split_volumes_are_those_of_the_command(volumes_file, command, streamed):
    memory = {"trace_memory": "1KiB"} if streamed else {}
    volumes = ds.read_trace(volumes_file, volumes="split", limit=2000, **memory)
    assert [volume.name for volume in volumes] == ["hm:hm_0", "hm:hm_1", "hm:hm_2"]
    assert sum(map(len, volumes)) == 2000
    line = ["--volumes", "split", "--limit", 2000, "--scheme", "lru", "--scheme", "arc", "--cache", "64KiB", "--cache", 0.1]
    told = command("run", volumes_file, *line, "--format-out", "jsonl")
    expected = [without_cost(record) for record in told.stdout.splitlines()]
    results = ds.run(volumes, ["lru", "arc"], cache=["64KiB", 0.1])
    assert [without_cost(result.json()) for result in results] == expected
    # Runs do not touch them: any of them is there again.
    again = ds.run(volumes[1], ["lru", "arc"], cache=["64KiB", 0.1])
    assert [without_cost(result.json()) for result in again] == expected[4:8]


def test_a_split_volume_is_one_trace(volumes_file, tmp_path):
    first, *_ = ds.read_trace(volumes_file, volumes="split")
    alone = ds.read_trace(volumes_file, volumes="only=hm_0")
    assert isinstance(alone, ds.Trace)
    assert counts(first) == counts(alone)
    logs = [tmp_path / "first.csv", tmp_path / "alone.csv"]
    for trace, log in zip((first, alone), logs):
        ds.run(trace, cache="64KiB", **SMALL, log_requests=log)
    assert logs[0].read_bytes() == logs[1].read_bytes()


def test_a_file_of_one_volume_splits_into_a_list_of_one(trace_file, trace):
    (only,) = ds.read_trace(trace_file, volumes="split")
    assert counts(only) == counts(trace)
