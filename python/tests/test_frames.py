"""Laws of tables: whatever a request stands in, it is the same request."""

from __future__ import annotations

import datetime
import os
import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import requests

import destage as ds

CASES = 400 if os.environ.get("DESTAGE_FULL") else 40
COLUMNS = ("arrival_ns", "op", "start_sector", "sectors", "stream", "fua", "preflush")
WORDS = {"R": ("R", "read", "Read", " r"), "W": ("W", "WRITE", "w"), "T": ("T", "trim", "discard"), "F": ("F", "flush")}


def content(trace):
    batch = trace.requests()
    return {name: getattr(batch, name).tolist() for name in COLUMNS}


def drawn(seed):
    """Columns that destage knows, and a generator for the rest of a case."""
    draw = random.Random(seed)
    columns = requests(draw.randrange(1, 60), seed=seed)
    rows = len(columns["op"])
    # What a real number of bytes holds exactly, and a microsecond.
    columns["arrival_ns"] = [at // 1000 * 1000 for at in columns["arrival_ns"]]
    columns["stream"] = [draw.randrange(3) for _ in range(rows)]
    for flag in ("fua", "preflush"):
        columns[flag] = [op == "W" and draw.random() < 0.3 for op in columns["op"]]
    return columns, draw


def as_times(column, draw):
    zone = draw.choice([None, datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=2))])
    zero = datetime.datetime(2026, 1, 31, 23, 59, tzinfo=zone)
    return [zero + datetime.timedelta(microseconds=at // 1000) for at in column]


def libraries(columns, draw):
    """The table in each library."""
    arrow = pa.table({name: pa.array(list(column)) for name, column in columns.items()})
    dictionary = arrow.set_column(arrow.column_names.index("op"), "op", arrow["op"].dictionary_encode())
    panda = pd.DataFrame(columns)
    numbers = [name for name in columns if isinstance(columns[name][0], int) and not isinstance(columns[name][0], bool)]
    narrow = {name: draw.choice(["int64", "uint64", "Int64", "int64[pyarrow]", "object"]) for name in numbers}
    polar = pl.DataFrame(columns)
    return {
        "lists": columns,
        "numpy": {name: panda[name].to_numpy() for name in columns},
        "pandas": panda,
        "pandas dtypes": panda.astype({**narrow, "op": draw.choice(["category", "object", "string"])}),
        "pandas of arrow": panda.convert_dtypes(dtype_backend="pyarrow"),
        "polars": polar,
        "polars dtypes": polar.with_columns(pl.col("op").cast(pl.Categorical)),
        "polars lazy": polar.lazy(),
        "arrow": arrow,
        "arrow dictionary": dictionary,
        "arrow batch": arrow.combine_chunks().to_batches()[0],
        "arrow reader": pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches()),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(CASES))
def test_a_table_is_the_same_trace_in_every_library(seed, tmp_path):
    columns, draw = drawn(seed)
    expected = content(ds.read_trace(columns))
    given = {**columns, "op": [draw.choice(WORDS[op]) for op in columns["op"]], "note": ["x"] * len(columns["op"])}
    if draw.random() < 0.5:
        given["offset"] = [sector * 512 for sector in given.pop("start_sector")]
    if draw.random() < 0.5:
        given["bytes"] = [sectors * 512 for sectors in given.pop("sectors")]
    if draw.random() < 0.4:
        given["arrival_ns"] = as_times(given["arrival_ns"], draw)
    elif draw.random() < 0.4:
        given["arrival_ns"] = [datetime.timedelta(microseconds=at // 1000) for at in given["arrival_ns"]]
    elif draw.random() < 0.5:
        given["arrival_s"] = [at / 1e9 for at in given.pop("arrival_ns")]
    for name in ("start_sector", "offset", "sectors", "bytes"):
        if name in given and draw.random() < 0.3:
            given[name] = [float(value) for value in given[name]]
    order = list(given)
    draw.shuffle(order)
    frames = libraries({name: given[name] for name in order}, draw)
    # A stream is no volume, and the columns of a file are not known for those of a frame.
    in_file = {**expected, "stream": [0] * len(expected["stream"])}
    path = tmp_path / "t.parquet"
    for library, frame in frames.items():
        assert content(ds.read_trace(frame)) == expected, library
        match library:
            case "pandas":
                frame.to_parquet(path)
            case "polars":
                frame.write_parquet(path)
            case "arrow":
                pq.write_table(frame, path)
            case _:
                continue
        assert content(ds.read_trace(path)) == in_file, f"Parquet of {library}"


@pytest.mark.parametrize("seed", range(CASES))
def test_a_mapping_reads_the_same_trace_in_every_library(seed, tmp_path):
    columns, draw = drawn(seed)
    known = {name: columns[name] for name in ("arrival_ns", "op", "start_sector", "sectors", "fua", "preflush")}
    expected = content(ds.read_trace(known))
    codes = {"R": 7, "W": 3, "T": 12, "F": 0}
    units = draw.choice([("ns", 1), ("us", 1000)])
    given = {
        "when": [at // units[1] for at in known["arrival_ns"]],
        "what": [codes[op] for op in known["op"]],
        "where": [sector // 1 for sector in known["start_sector"]],
        "much": [sectors * 512 for sectors in known["sectors"]],
        "forced": known["fua"],
        "first": known["preflush"],
        "odd": [None, *[[1, 2]] * (len(known["op"]) - 1)],
    }
    mapping = f"time=when:{units[0]},op=what:7=R,3=W,12=T,0=F,offset=where:sectors,size=much"
    mapping += ",fua=forced,preflush=first"
    if draw.random() < 0.4:
        given["when"] = as_times(known["arrival_ns"], draw)
        mapping = mapping.replace(f"when:{units[0]}", "when")
    given["op"] = draw.choices([5, 6], k=len(known["op"])) if draw.random() < 0.5 else given["what"]
    mapping = mapping.replace("op=what", "op=op") if given["op"] is given["what"] else mapping
    order = list(given)
    draw.shuffle(order)
    frames = libraries_of_mapping({name: given[name] for name in order})
    for library, frame in frames.items():
        read = ds.read_trace(frame, trace_columns=mapping)
        assert content(read) == expected, library
    if isinstance(given["when"][0], int):
        del given["odd"]
        path = tmp_path / "t.parquet"
        pl.DataFrame(given).write_parquet(path)
        assert content(ds.read_trace(path, trace_columns=mapping)) == expected


def libraries_of_mapping(columns):
    panda = pd.DataFrame(columns)
    numbers = {name: column for name, column in columns.items() if name != "odd"}
    polar = pl.DataFrame(numbers)
    return {
        "lists": columns,
        "pandas": panda,
        "pandas text": panda.astype({"what": str, "where": str}),
        "pandas real": panda.astype({"where": "float64", "much": "float32"}),
        "numpy": {name: panda[name].to_numpy() for name in columns},
        "polars": polar,
        "polars text": polar.with_columns(pl.col("what").cast(pl.String)),
        "polars lazy": polar.lazy(),
        "arrow": pa.table(numbers),
        "arrow batch": pa.RecordBatch.from_pydict(numbers),
    }


TINY = {"arrival_ns": [0, 250_000], "op": ["W", "R"], "start_sector": [0, 0], "sectors": [8, 8]}


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, pa.RecordBatch.from_pydict])
def test_every_call_takes_a_table(frame, tmp_path):
    made = frame(TINY)
    trace = ds.read_trace(made)
    assert ds.read_trace(trace) is trace
    ran = ds.run(made, "lru", cache="64KiB")
    assert ran[0].counts.page_hits == 1 and ran[0].trace.name == "frame"
    assert [r.counts.page_hits for r in ds.run([made, trace], "lru", cache="64KiB")] == [1, 1]
    for source in (made, trace):
        assert ds.trace_info(source).requests == 2
        points = ds.mrc(source, cache="64KiB")
        assert [(p.page_hit_ratio, p.trace) for p in points] == [(0.5, "frame")]
    for out in (None, tmp_path / "swept", tmp_path / "swept"):
        swept = ds.sweep({"trace": [made, trace], "scheme": "lru", "cache": ["64KiB", "8KiB"]}, out)
        assert [r.counts.page_hits for r in swept] == [1, 1]
        assert ds.sweep({"trace": made, "scheme": "lru", "cache": "64KiB"})[0].trace.name == "frame"


def test_every_call_takes_a_mapping(tmp_path):
    given = {"t": [5, 6], "k": [1, 0], "lba": [8, 8], "n": [8, 8]}
    mapping = "time=t:us,op=k:1=W,0=R,offset=lba:sectors,size=n:sectors"
    path = tmp_path / "t.parquet"
    pl.DataFrame(given).write_parquet(path)
    for source in (given, pl.DataFrame(given), path):
        read = ds.read_trace(source, trace_columns=mapping)
        assert content(read)["arrival_ns"] == [0, 1000]
        assert ds.trace_info(source, trace_columns=mapping).requests == 2
        assert ds.mrc(source, trace_columns=mapping, cache="64KiB")[0].page_hit_ratio == 0.5
        grid = {"trace": source, "scheme": "lru", "cache": "64KiB", "trace_columns": mapping}
        for ran in (ds.run(source, cache="64KiB", trace_columns=mapping), ds.run(read, cache="64KiB"), ds.sweep(grid)):
            assert ran[0].counts.page_hits == 1
        with pytest.raises(ds.UsageError, match="trace_columns: .* was read already"):
            ds.run(read, trace_columns=mapping)
    assert len(ds.read_trace(given, trace_columns=mapping, limit=1)) == 1


def test_what_a_mapping_cannot_read_is_said():
    given = {"t": [5, 6], "k": [1, 0], "lba": [8, 8], "n": [8, 8]}
    with pytest.raises(ds.UsageError, match=r"^frame: no column is known as .*; its columns: t, k, lba, n; .* \(trace_columns\)"):
        ds.read_trace(given)
    with pytest.raises(ds.UsageError, match="no column `x` for op; its columns: t, k, lba, n"):
        ds.run(given, trace_columns="op=x", cache="64KiB")
    with pytest.raises(ds.UsageError, match=r"row 1, column 2 \(op\): `1` is no kind"):
        ds.read_trace(given, trace_columns="op=k,offset=lba,size=n")
    with pytest.raises(ds.UsageError, match="`lba=x` names no column"):
        ds.read_trace(given, trace_columns="lba=x")
    flagged = {**given, "forced": [True, False]}
    trace = ds.read_trace(flagged, trace_columns="op=k:1=W,0=R,offset=lba*512,size=n*512,fua=forced")
    assert content(trace)["fua"] == [True, False]
    with pytest.raises(ds.UsageError, match="format: only for traces of files"):
        ds.read_trace(TINY, format="msr")
    with pytest.raises(ds.UsageError, match="columns of different lengths"):
        ds.read_trace({**given, "lba": [8]}, trace_columns="op=k:1=W,0=R,offset=lba,size=n")
    with pytest.raises(ds.UsageError, match="2 dimensions"):
        ds.read_trace({**given, "lba": np.zeros((2, 2))}, trace_columns="op=k:1=W,0=R,offset=lba,size=n")
    with pytest.raises(ds.UsageError, match="take the rows of that volume"):
        ds.read_trace(given, volumes="only=1")
    for absent in (None, float("nan")):
        with pytest.raises(ds.UsageError, match="row 2, .*offset.*is not given"):
            ds.read_trace({**given, "lba": [8, absent]}, trace_columns="op=k:1=W,0=R,offset=lba,size=n")
    late = [pd.Timestamp("2026-01-01"), pd.NaT]
    for frame in (pd.DataFrame({**TINY, "arrival_ns": late}), {**TINY, "arrival_ns": late}):
        with pytest.raises(ds.UsageError, match="not there"):
            ds.read_trace(frame)


def test_volumes_of_a_table_lie_one_behind_the_other():
    given = {"time": [0, 1, 2], "op": ["W", "R", "R"], "lba": [0, 0, 0], "sectors": [8, 8, 8], "volume": ["a", "b", "a"]}
    hits = {"stack": 1, "overlay": 2}
    for volumes, expected in hits.items():
        read = ds.read_trace(given, volumes=volumes, time_unit="us")
        assert ds.run(read, cache="64KiB")[0].counts.page_hits == expected
    assert [len(volume) for volume in ds.read_trace(given, volumes="split", time_unit="us")] == [2, 1]
